#include "report.h"

#include "base/text.h"

namespace tessera::simulation {

void Diary::note(Instant at, std::string words) {
  if (!lines_.empty() && lines_.back().words == words) {
    ++lines_.back().times;
    return;
  }
  lines_.push_back({at, std::move(words)});
  if (lines_.size() > most_) lines_.pop_front();
}

std::vector<std::string> Diary::lines() const {
  std::vector<std::string> out;
  for (const Line& line : lines_)
    out.push_back(cat(format_instant(line.at), "  ", line.words,
                      line.times > 1 ? cat(" (", line.times, " times)") : ""));
  return out;
}

std::string describe(const Report& report) {
  std::string out = cat("seed ", report.options.seed, ":\n");
  for (const std::string& violation : report.violations) out += cat("  ! ", violation, "\n");
  out += "the last actions:\n";
  for (const std::string& line : report.diary.lines()) out += cat("  ", line, "\n");
  out += cat("to repeat it: simulation_test --seed ", report.options.seed, " --runs 1");
  if (report.options.steps > 0) out += cat(" --steps ", report.options.steps);
  if (report.options.bug != Bug::kNone)
    out += cat(" --bug ", enum_names(report.options.bug)[static_cast<size_t>(report.options.bug)]);
  return out + "\n";
}

}  // namespace tessera::simulation
