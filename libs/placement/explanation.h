// Explanation describes, in one sentence, why a node is on its device.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_EXPLANATION_H_
#define WEFT_LIBS_PLACEMENT_EXPLANATION_H_

#include <string>
#include <vector>

#include "libs/graph/placement_graph.h"
#include "libs/placement/candidates.h"
#include "libs/placement/fits.h"

namespace weft {

// The criterion that decided between the devices that fit a group.
enum class Cause {
  kOnlyOne,
  kMemberWasPlaced,  // before, on this device
  kLivesThere,       // a resource of the group exists there
  kOwnTask,          // of the session
  kBetterType,
  kFirstByName,
  kWithConsumers,
  kWithInput,
};

struct Decision {
  const Candidate* device = nullptr;  // null: not decided yet
  Cause cause = Cause::kOnlyOne;
  // kMemberWasPlaced, kLivesThere, kWith...: the decisive node.
  int node = 0;
  const Fit* fit = nullptr;
};

// The common facts of a group's members.
struct GroupFacts {
  std::vector<const PlacementNode*> members;
  const DeviceName* requested = nullptr;
  const DeviceTypes* types = nullptr;
  const DeviceTypes* present = nullptr;  // of all devices
  // The member whose resource already exists on the group's device; null: none.
  const PlacementNode* living = nullptr;
};

// Explains the decision for a node that was to be placed. `decider` is the
// decision's node.
std::string Explain(const PlacementNode& node, const GroupFacts& group,
                    const Decision& decision, const PlacementNode& decider);

// Explains the device of a node that was placed before.
std::string ExplainPlaced(const PlacementNode& node);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_EXPLANATION_H_
