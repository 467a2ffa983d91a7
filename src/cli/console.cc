#include "cli/console.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "base/text.h"

namespace tessera::cli {

Console::Console(int in, int out, int err)
    : in_(in),
      out_(out),
      err_(err),
      in_terminal_(::isatty(in) == 1),
      out_terminal_(::isatty(out) == 1) {
  // https://no-color.org: set and not empty means no colours.
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bool dumb = terminal && std::string_view(terminal) == "dumb";
  colours_ = out_terminal_ && !dumb && (!no_colour || !*no_colour);
}

void Console::write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;  // the reader is gone; there is nobody to tell
    }
  }
}

void Console::note(std::string_view sentence) const {
  print_error(cat("tessera: ", sentence, "\n"));
}

std::string Console::coloured(Colour colour, std::string_view text) const {
  static constexpr std::string_view kCodes[] = {"32", "33", "31", "2"};
  if (!colours_) return std::string(text);
  return cat("\033[", kCodes[static_cast<size_t>(colour)], "m", text, "\033[0m");
}

Result<std::string> Console::read_input(size_t limit_bytes) const {
  std::string out;
  char buffer[16 << 10];
  for (;;) {
    ssize_t got = ::read(in_, buffer, sizeof buffer);
    if (got == 0) return out;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read standard input");
    out.append(buffer, static_cast<size_t>(got));
    if (out.size() > limit_bytes)
      return error(Code::kExhausted, cat("standard input is larger than ", limit_bytes, " bytes"));
  }
}

}  // namespace tessera::cli
