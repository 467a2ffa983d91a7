#pragma once
// Label and field selectors of lists, as Kubernetes writes them.

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/result.h"

namespace tessera::server {

// Comma separated: key=value, key==value, key!=value, key (is there), !key (is not).
class Selector {
 public:
  static Result<Selector> parse(std::string_view text, std::string_view field);

  // Accepts everything.
  bool empty() const { return terms_.empty(); }
  // Whether an object with this JSON text may match: a quick look that spares reading most of a
  // long list. True is no promise.
  bool may_match(std::string_view json) const;
  // Of an object's labels.
  bool matches_labels(const Value& object) const;
  // Of fields by path: "status.phase=Running".
  bool matches_fields(const Value& object) const;

 private:
  enum class Test { kEquals, kDiffers, kPresent, kAbsent };
  struct Term {
    std::string key;
    Test test = Test::kPresent;
    std::string value;
  };
  static bool holds(const Term& term, const Value* found);
  std::vector<Term> terms_;
};

}  // namespace tessera::server
