#pragma once
// Readers of other people's formats; each takes the rows behind the line of headings.

#include <functional>

#include "simulate/workload.h"

namespace tessera::simulate {

// A text of separated columns. What is missing or no number is an error that names line and column.
class Columns {
 public:
  Columns(std::string_view text, char separator);

  // Whether the headings have these among them.
  bool have(std::initializer_list<std::string_view> names) const;
  bool next();  // goes to the next row that is not empty

  Result<std::string> text(std::string_view column) const;
  Result<int64_t> integer(std::string_view column) const;
  // A number with any decimals, times `scale`, rounded down.
  Result<int64_t> scaled(std::string_view column, int64_t scale) const;
  Error fault(std::string_view column, std::string message) const;

 private:
  std::vector<std::string> lines_, names_, cells_;
  char separator_;
  size_t line_ = 0;
};

Status read_openb_nodes(Columns& rows, Workload& workload);
Status read_openb_pods(Columns& rows, Workload& workload);
Status read_muri(Columns& rows, Workload& workload);
Status read_rfold(Columns& rows, Workload& workload);  // Philly and Lingjun
Status read_sacct(Columns& rows, Workload& workload);

}  // namespace tessera::simulate
