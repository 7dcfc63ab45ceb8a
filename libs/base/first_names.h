// FirstNames formats a list of names for an error or a log line. If there are
// too many names, it shortens the list.
#ifndef WEFT_LIBS_BASE_FIRST_NAMES_H_
#define WEFT_LIBS_BASE_FIRST_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {

// Returns the first `most` names of a container of strings, and the number of
// the others: "a, b, c and 997 more".
template <typename Names>
std::string FirstNames(const Names& names, size_t most) {
  const size_t named = std::min(names.size(), most);
  std::string text =
      absl::StrJoin(names.begin(), std::next(names.begin(), named), ", ");
  if (named < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - named, " more");
  }
  return text;
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_FIRST_NAMES_H_
