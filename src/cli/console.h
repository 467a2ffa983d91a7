#pragma once
// Where a command reads and prints, and what of it is a terminal.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::cli {

enum class Colour { kGreen, kYellow, kRed, kDim };

// Writes go out at once and whole, from any thread. Nobody owns the descriptors here.
class Console {
 public:
  // The descriptors of the process in an ordinary run; pipes or files in a test.
  explicit Console(int in = 0, int out = 1, int err = 2);

  void print(std::string_view text) const { write_all(out_, text); }
  void print_error(std::string_view text) const { write_all(err_, text); }
  // What a program wrote to its own stream: 1 is standard output, 2 standard error.
  void pass_on(int stream, std::string_view text) const {
    write_all(stream == 2 ? err_ : out_, text);
  }
  // One line for the person on standard error: "tessera: …".
  void note(std::string_view sentence) const;

  // The text in a colour when standard output is a terminal and NO_COLOR is not set.
  std::string coloured(Colour colour, std::string_view text) const;

  // Reads standard input to its end; kExhausted past the limit.
  Result<std::string> read_input(size_t limit_bytes) const;

  int in() const { return in_; }
  int out() const { return out_; }
  int err() const { return err_; }
  bool in_is_terminal() const { return in_terminal_; }
  bool out_is_terminal() const { return out_terminal_; }

 private:
  static void write_all(int fd, std::string_view text);

  int in_, out_, err_;
  bool in_terminal_, out_terminal_, colours_;
};

}  // namespace tessera::cli
