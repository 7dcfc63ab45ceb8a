// GroupRequest is the combined request of nodes that share a device.
//
// It consists of three requests of different precedence, as in TensorFlow
// (colocation_graph.cc): the device of a placed member; the requests of members
// that create variables and other state; the requests of all members. The last
// always agrees with the others, so a device that matches it matches all.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_
#define WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_

#include <string>

#include "absl/status/status.h"
#include "libs/cluster/device_name.h"

namespace weft {

class GroupRequest {
 public:
  GroupRequest() = default;  // requests nothing
  // Return the request of one node: one placed on a device (full name), one
  // that creates state, or any other.
  static GroupRequest OfPlaced(DeviceName device);
  static GroupRequest OfState(DeviceName request);
  static GroupRequest Of(DeviceName request);

  const DeviceName& requested() const { return requested_; }
  bool HasPlaced() const { return !assigned_.IsEmpty(); }

  // Merges the requests of other members. INVALID_ARGUMENT if they conflict;
  // then nothing is changed. With soft placement members may request different
  // types or indexes, which are then left unset. The order of calls does not
  // matter as long as none fails.
  absl::Status MergeFrom(const GroupRequest& other, bool soft_placement);

  // Must be called before MergeFrom(source) when a member takes a reference or
  // a resource from a member of `source`: its group follows that one, whatever
  // it requests. INVALID_ARGUMENT if there is state that cannot move on both
  // sides.
  absl::Status FollowReference(const GroupRequest& source);

  // If no device fits: the request without the type and index that only
  // stateless nodes request, then without those of stateful ones, too. The
  // device of placed members stays.
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
  // Members have requested different ones, with soft placement.
  bool types_differ_ = false;
  bool indexes_differ_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_GROUP_REQUEST_H_
