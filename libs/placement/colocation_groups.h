// ColocationGroups are the groups of nodes of a graph that must share a device,
// with the request of each group.
//
// A node joins the group of the nodes that produce its references and
// resources, and the groups named in its attr _class: those of the nodes with
// these names, or of all nodes that list a name which is not a node's. Rules
// and texts are TensorFlow's (colocation_graph.cc).
//
// Immutable once created, so any thread may read it.
#ifndef WEFT_LIBS_PLACEMENT_COLOCATION_GROUPS_H_
#define WEFT_LIBS_PLACEMENT_COLOCATION_GROUPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/placement_graph.h"
#include "libs/placement/candidates.h"
#include "libs/placement/device_type_sets.h"
#include "libs/placement/request_table.h"

namespace weft {

class ColocationGroups {
 public:
  struct Group {
    int request = 0;  // in requests()
    int types = 0;    // in types(): those with kernels for all members
    int size = 0;
  };

  // INVALID_ARGUMENT names the nodes that cannot share a device, or the node
  // that no device can run, or whose request or input is invalid.
  static absl::StatusOr<ColocationGroups> Create(const PlacementGraph& graph,
                                                 const Candidates& candidates,
                                                 bool soft_placement);

  // The first node of the group identifies it.
  int GroupOf(int node) const { return group_of_[node]; }
  const Group& group(int first_node) const { return groups_[first_node]; }
  // Nodes, in order.
  std::vector<int> MembersOf(int first_node) const;

  const RequestTable& requests() const { return requests_; }
  const DeviceTypeSets& types() const { return types_; }

 private:
  friend class ColocationGroupsBuilder;
  explicit ColocationGroups(const Candidates& candidates)
      : types_(candidates.types()) {}

  std::vector<int> group_of_;  // by node
  std::vector<Group> groups_;  // by first node
  RequestTable requests_;
  DeviceTypeSets types_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_COLOCATION_GROUPS_H_
