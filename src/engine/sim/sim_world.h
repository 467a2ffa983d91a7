#pragma once
// A simulated machine with a virtual clock: what SimEngine runs containers on. It outlives the
// engine objects, as a real machine outlives the server: destroy the SimEngine (or call its
// crash()), let time pass, and make a new one over the same world.
//
// What containers do follows from their commands: engine/sim/program.h has the words. Images are
// whatever is named, except names that contain "missing". The same seed and the same calls give the
// same course of events, to the millisecond.
//
// Everything here may be called from any thread, advance() from one at a time. Observations and the
// output of sessions are delivered inside of advance(), on its caller's thread.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/sim/options.h"

namespace tessera::engine {

namespace sim {
class Machine;
}

class SimWorld {
 public:
  explicit SimWorld(const SimOptions& options = {});

  // Time. Not to be called in real time, where it passes by itself.
  Instant now() const;
  void advance(Millis by);
  void run_until(Instant end);
  std::optional<Instant> next_event() const;  // nullopt: nothing will happen by itself

  // What goes wrong by chance, from now on.
  void set_faults(const SimFaults& faults);
  // The fault strikes the next `times` times that it could strike the task ("": any task).
  void script(SimFault fault, const std::string& task = {}, int times = 1);
  // The container of the task is gone, without an exit; or those of all, as after a power cut.
  void lose(const std::string& task);
  void lose_all();
  void set_ready(bool ready, const std::string& message);  // what the node's status says

  // Lets a program in "wait" go on, once.
  void release(const TaskRef& ref);

  // The books, kept apart from what runs the containers: for checkers.
  // One sentence each: a device held by two live containers, one of them exclusively; slices beyond
  // the memory of their device; two live attempts of a task; an attempt started after a newer one.
  std::vector<std::string> violations() const;
  std::map<TaskRef, int> starts() const;                     // how often each attempt was started
  std::set<TaskRef> live() const;                            // containers with a live process
  std::map<std::string, std::set<TaskRef>> holders() const;  // of each device in use, by UUID
  std::vector<Running> containers() const;                   // not removed yet, as list() has it

 private:
  friend class SimEngine;
  std::shared_ptr<sim::Machine> machine_;
};

}  // namespace tessera::engine
