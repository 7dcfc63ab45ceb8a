// KeysOf lists the keys of a map for an error message that shows the available
// names.
#ifndef WEFT_LIBS_BASE_KEYS_OF_H_
#define WEFT_LIBS_BASE_KEYS_OF_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {

// Returns the keys of a map, in the order of the map, such as "age, job".
template <typename Map>
std::string KeysOf(const Map& map) {
  return absl::StrJoin(map, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first);
  });
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_KEYS_OF_H_
