#include "libs/train/optimizers/slot_keys.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weft::train {
namespace {

std::string TensorFlowsKey(const std::string& full_name,
                           const std::string& part, const std::string& slot) {
  return absl::StrCat(full_name, "/", slot.substr(part.size() + 1));
}

// Returns "m/emb/part_0" for "m/emb/part_12"; other names unchanged.
std::string FirstPart(std::string part) {
  size_t end = part.size();
  while (end > 0 && absl::ascii_isdigit(part[end - 1])) --end;
  if (end < part.size()) part.replace(end, std::string::npos, "0");
  return part;
}

}  // namespace

SlotKeys KeysOfSlot(const std::string& full_name, const std::string& part,
                    const std::string& slot) {
  const size_t at = slot.rfind(part);
  if (at == std::string::npos || slot.size() <= at + part.size() + 1) return {};
  const std::string name = slot.substr(at + part.size() + 1);
  const std::string first = FirstPart(part);
  return {
      .of_all_parts = absl::StrCat(full_name, "/", name),
      .of_part = TensorFlowsKey(full_name, part, slot),
      .of_first_part = TensorFlowsKey(
          full_name, first, absl::StrCat(slot.substr(0, at), first, "/", name)),
  };
}

std::vector<std::string> OtherKeys(const SlotKeys& keys,
                                   const std::string& key) {
  if (key != keys.of_all_parts && key != keys.of_part) return {};
  std::vector<std::string> others;
  for (const std::string& other :
       {keys.of_all_parts, keys.of_part, keys.of_first_part}) {
    if (other != key && !absl::c_linear_search(others, other)) {
      others.push_back(other);
    }
  }
  return others;
}

}  // namespace weft::train
