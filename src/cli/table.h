#pragma once
// Tables for people: aligned columns, relative ages, amounts.

#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "base/units.h"

namespace tessera::cli {

struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;

  // Columns are as wide as their widest cell, three blanks apart, nothing behind the last one.
  // `widths` remembers them for rows that follow in a later table.
  std::string text(bool with_headers = true, std::vector<size_t>* widths = nullptr) const;
};

// kubectl's short form of a time span: "45s", "12m", "3h", "5d".
std::string short_age(Millis span);
// docker's words: "45 seconds", "About a minute", "3 hours", "2 weeks".
std::string long_age(Millis span);
// squeue's elapsed time: "0:05", "1:02:03", "1-02:03:04".
std::string clock_time(Millis span);
// A text in at most `limit` characters, with an ellipsis when it was cut.
std::string shortened(std::string_view text, size_t limit);
// The text, or "-" for an empty cell.
std::string or_dash(std::string_view text);

// "2", "0.25", "1x10Gi" (a slice of each device), for all replicas together; "-" without any.
std::string gpus_text(const api::JobSpec& spec);

}  // namespace tessera::cli
