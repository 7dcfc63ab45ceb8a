#include "libs/protocol/master/master.h"

#include "absl/strings/str_cat.h"

namespace weft::protocol {

std::string NodePlacement::ToString() const {
  return absl::StrCat(name, ": (", op, "): ", device);
}

}  // namespace weft::protocol
