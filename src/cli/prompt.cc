#include "cli/prompt.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace tessera::cli {

namespace {

// More than anyone types into one line.
constexpr size_t kLineLimit = 4096;

// Typed characters are not shown for as long as this lives.
class Silence {
 public:
  explicit Silence(int fd) : fd_(fd), changed_(::tcgetattr(fd, &before_) == 0) {
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (changed_) ::tcsetattr(fd_, TCSAFLUSH, &quiet);
  }
  ~Silence() {
    if (changed_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int fd_;
  termios before_{};
  bool changed_;
};

Result<std::string> read_line(int fd) {
  std::string out;
  while (out.size() < kLineLimit) {
    char c = 0;
    ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read standard input");
    if (got == 0 && out.empty()) return error(Code::kInvalid, "standard input has ended");
    if (got == 0 || c == '\n') return out;
    out += c;
  }
  return error(Code::kInvalid, "the line is too long");
}

}  // namespace

Result<std::string> ask(const Console& console, std::string_view question, Echo echo) {
  console.print_error(question);
  if (echo == Echo::kOn) return read_line(console.in());
  Result<std::string> answer = [&] {
    Silence silence(console.in());
    return read_line(console.in());
  }();
  console.print_error("\n");
  return answer;
}

}  // namespace tessera::cli
