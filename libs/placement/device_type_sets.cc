#include "libs/placement/device_type_sets.h"

#include <algorithm>
#include <iterator>

#include "libs/graph/placement_graph.h"

namespace weft {
namespace {

DeviceTypes InBoth(const DeviceTypes& a, const DeviceTypes& b) {
  DeviceTypes result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(result));
  return result;
}

}  // namespace

DeviceTypeSets::DeviceTypeSets(const DeviceTypes& all) { Add(all); }

int DeviceTypeSets::Add(DeviceTypes set) {
  const int next = static_cast<int>(sets_.size());
  const auto [it, is_new] = numbers_.emplace(set, next);
  if (is_new) sets_.push_back(std::move(set));
  return it->second;
}

int DeviceTypeSets::Find(const std::vector<std::string>& types) {
  const auto found = found_.find(types);
  if (found != found_.end()) return found->second;
  if (types.size() == 1 && types[0] == kAnyDeviceType) return kAll;
  DeviceTypes sorted = types;
  std::sort(sorted.begin(), sorted.end());
  return found_[types] = Add(InBoth(sorted, sets_[kAll]));
}

int DeviceTypeSets::Intersect(int a, int b) {
  if (a == b || b == kAll) return a;
  if (a == kAll) return b;
  const std::pair<int, int> key = std::minmax(a, b);
  const auto found = intersections_.find(key);
  if (found != intersections_.end()) return found->second;
  return intersections_[key] = Add(InBoth(sets_[a], sets_[b]));
}

}  // namespace weft
