// KeysOf: what there is, for an error that says so.
#ifndef WEFT_LIBS_BASE_KEYS_OF_H_
#define WEFT_LIBS_BASE_KEYS_OF_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {

// The keys of a map, in its order: "age, job".
template <typename Map>
std::string KeysOf(const Map& map) {
  return absl::StrJoin(map, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first);
  });
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_KEYS_OF_H_
