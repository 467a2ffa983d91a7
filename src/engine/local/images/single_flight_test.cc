#include "engine/local/images/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/local/images/keyed_mutex.h"

namespace tessera::local {
namespace {

using Flights = SingleFlight<int, int>;

TEST(SingleFlightTest, WorksOnceForAllWhoAskMeanwhile) {
  Flights flights;
  std::atomic<int> runs = 0;
  std::atomic<bool> joined = false;
  auto work = [&](const Flights::Listener& tell, const std::stop_token&) {
    ++runs;
    while (!joined) tell(7);  // until the second caller has heard of it
    return 42;
  };
  int first = 0, second = 0;
  std::atomic<bool> begun = false;
  std::thread one([&] { first = *flights.run("key", [&](int) { begun = true; }, {}, work); });
  while (!begun) std::this_thread::yield();
  std::thread two([&] { second = *flights.run("key", [&](int) { joined = true; }, {}, work); });
  one.join();
  two.join();
  EXPECT_EQ(first, 42);
  EXPECT_EQ(second, 42);
  EXPECT_EQ(runs, 1);
}

TEST(SingleFlightTest, WorksAgainAfterwardsAndForOtherKeys) {
  Flights flights;
  int runs = 0;
  auto work = [&](const Flights::Listener&, const std::stop_token&) { return ++runs; };
  EXPECT_EQ(flights.run("a", {}, {}, work), 1);
  EXPECT_EQ(flights.run("a", {}, {}, work), 2);
  EXPECT_EQ(flights.run("b", {}, {}, work), 3);
}

TEST(SingleFlightTest, WhoGivesUpLeavesAloneAndTheLastOneEndsTheWork) {
  Flights flights;
  std::atomic<int> begun = 0;
  auto work = [&](const Flights::Listener& tell, const std::stop_token& unwanted) {
    while (!unwanted.stop_requested()) tell(1);
    return 0;
  };
  std::stop_source one_gives_up, two_gives_up;
  std::optional<int> one = 1, two = 1;
  std::thread first([&] {
    one = flights.run("key", [&](int) { begun = begun | 1; }, one_gives_up.get_token(), work);
  });
  std::thread second([&] {
    two = flights.run("key", [&](int) { begun = begun | 2; }, two_gives_up.get_token(), work);
  });
  while (begun != 3) std::this_thread::yield();
  one_gives_up.request_stop();
  first.join();
  EXPECT_FALSE(one.has_value());
  begun = 0;
  while (begun != 2) std::this_thread::yield();  // it goes on for the other one
  two_gives_up.request_stop();
  second.join();
  EXPECT_FALSE(two.has_value());
}

TEST(KeyedMutexTest, KeepsOneKeyToOneThread) {
  KeyedMutex mutex;
  int counter = 0;  // under the key "a"
  auto add = [&] {
    for (int i = 0; i < 1000; ++i) {
      KeyedMutex::Lock lock(mutex, "a");
      ++counter;
    }
  };
  KeyedMutex::Lock other(mutex, "b");  // in nobody's way
  std::thread one(add), two(add);
  one.join();
  two.join();
  EXPECT_EQ(counter, 2000);
}

}  // namespace
}  // namespace tessera::local
