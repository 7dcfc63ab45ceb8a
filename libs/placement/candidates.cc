#include "libs/placement/candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

// A list of a thousand tasks is not readable.
constexpr size_t kMaxListedNames = 100;

bool Precedes(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) {
    return std::make_tuple(TypeRank(c.type), !c.is_own,
                           absl::string_view(c.name),
                           absl::string_view(c.type));
  };
  return rank(a) < rank(b);
}

bool IsOn(const DeviceName& task, const DeviceName& device) {
  return !task.IsEmpty() && task.IsSpecificationOf(device);
}

}  // namespace

int TypeRank(absl::string_view device_type) {
  if (device_type == "GPU") return 0;
  return device_type == "CPU" ? 1 : 2;
}

Candidates::Candidates(absl::Span<const DeviceAttributes> devices,
                       absl::string_view own_task) {
  const DeviceName own =
      DeviceName::Parse(own_task).value_or(DeviceName()).TaskOnly();
  for (const DeviceAttributes& device : devices) {
    absl::StatusOr<DeviceName> parts = DeviceName::Parse(device.name);
    if (!parts.ok()) continue;
    const bool is_own = IsOn(own, *parts);
    candidates_.push_back(
        {device.name, *std::move(parts), device.device_type, is_own});
    types_.push_back(device.device_type);
  }
  std::sort(candidates_.begin(), candidates_.end(), Precedes);
  for (const Candidate& candidate : candidates_) {
    by_name_.emplace(candidate.name, &candidate);
  }
  std::sort(types_.begin(), types_.end());
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
}

std::vector<const Candidate*> Candidates::Matching(
    const DeviceName& request, const DeviceTypes& types) const {
  std::vector<const Candidate*> result;
  for (const Candidate& candidate : candidates_) {
    if (request.IsSpecificationOf(candidate.parts) &&
        std::binary_search(types.begin(), types.end(), candidate.type)) {
      result.push_back(&candidate);
    }
  }
  return result;
}

const Candidate* Candidates::Find(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string Candidates::NamesText() const {
  std::vector<absl::string_view> names;
  for (const Candidate& candidate : candidates_) {
    names.push_back(candidate.name);
  }
  std::sort(names.begin(), names.end());
  if (names.size() <= kMaxListedNames) return absl::StrJoin(names, ", ");
  const size_t left_out = names.size() - kMaxListedNames;
  names.resize(kMaxListedNames);
  return absl::StrCat(absl::StrJoin(names, ", "), ", and ", left_out, " more");
}

}  // namespace weft
