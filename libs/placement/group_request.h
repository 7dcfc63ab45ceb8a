// GroupRequest: what nodes that share a device ask for together.
//
// Three requests of different weight, as in TensorFlow (colocation_graph.cc):
// where a member is already; what those members ask for that make variables and
// other state; what any member asks for. The last always agrees with the
// others, so a device that fits it fits all.
//
// A value, not synchronised.
#ifndef WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_
#define WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_

#include <string>

#include "absl/status/status.h"
#include "libs/cluster/device_name.h"

namespace weft {

class GroupRequest {
 public:
  GroupRequest() = default;  // asks for nothing
  // Of one node: that was placed on a device (full name); that makes state;
  // of any other.
  static GroupRequest OfPlaced(DeviceName device);
  static GroupRequest OfState(DeviceName request);
  static GroupRequest Of(DeviceName request);

  const DeviceName& requested() const { return requested_; }
  bool HasPlaced() const { return !assigned_.IsEmpty(); }

  // Takes in what other members ask for. INVALID_ARGUMENT where that differs;
  // then nothing is changed. With soft placement members may ask for different
  // types or indexes, which are then left open. The order of calls does not
  // matter as long as none fails.
  absl::Status MergeFrom(const GroupRequest& other, bool soft_placement);

  // To be called before MergeFrom(source) when a member takes a reference or a
  // resource from a member of `source`: its group goes where that is, whatever
  // it asks for. INVALID_ARGUMENT when state that can't move is on both sides.
  absl::Status FollowReference(const GroupRequest& source);

  // When no device fits: without the type and index that only nodes ask for
  // that make no state, then of these too. What was placed stays.
  DeviceName WithoutTypeButOfState() const;
  DeviceName WithoutType() const;

  // Equal for equal requests.
  std::string Key() const;

 private:
  void MergeTypesFrom(const GroupRequest& other);
  void Restrict();

  DeviceName assigned_;
  DeviceName state_;
  DeviceName requested_;
  // Members have asked for different ones, under soft placement.
  bool types_differ_ = false;
  bool indexes_differ_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_
