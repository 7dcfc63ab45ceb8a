// DeviceTypeSets numbers sets of device types, so that a graph of many nodes
// compares numbers. Types without devices are left out.
//
// Not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_DEVICE_TYPE_SETS_H_
#define WEFT_LIBS_PLACEMENT_DEVICE_TYPE_SETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "libs/placement/candidates.h"

namespace weft {

class DeviceTypeSets {
 public:
  static constexpr int kAll = 0;

  // `all`: the types of the existing devices.
  explicit DeviceTypeSets(const DeviceTypes& all);

  const DeviceTypes& Get(int set) const { return sets_[set]; }
  // In any order.
  int Find(const std::vector<std::string>& types);
  int Intersect(int a, int b);

 private:
  int Add(DeviceTypes set);

  std::vector<DeviceTypes> sets_;
  absl::flat_hash_map<DeviceTypes, int> numbers_;
  // By the node's own list, unsorted.
  absl::flat_hash_map<std::vector<std::string>, int> found_;
  absl::flat_hash_map<std::pair<int, int>, int> intersections_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_DEVICE_TYPE_SETS_H_
