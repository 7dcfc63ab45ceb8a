// Explanation: why a node is where it is, in a sentence for people.
//
// A value, not synchronised.
#ifndef WEFT_LIBS_PLACEMENT_EXPLANATION_H_
#define WEFT_LIBS_PLACEMENT_EXPLANATION_H_

#include <string>
#include <vector>

#include "libs/graph/placement_graph.h"
#include "libs/placement/candidates.h"
#include "libs/placement/fits.h"

namespace weft {

// What decided between the devices that fit a group.
enum class Cause {
  kOnlyOne,
  kMemberWasPlaced,  // before, on this device
  kLivesThere,       // a resource of the group
  kOwnTask,          // of the session
  kBetterType,
  kFirstByName,
  kWithConsumers,
  kWithInput,
};

struct Decision {
  const Candidate* device = nullptr;  // null: not decided yet
  Cause cause = Cause::kOnlyOne;
  // kMemberWasPlaced, kLivesThere, kWith...: the node that counted.
  int node = 0;
  const Fit* fit = nullptr;
};

// What a group's members have in common.
struct GroupFacts {
  std::vector<const PlacementNode*> members;
  const DeviceName* requested = nullptr;
  const DeviceTypes* types = nullptr;
  const DeviceTypes* present = nullptr;  // of all devices
  // Whose resource lives on the group's device already; null: none does.
  const PlacementNode* living = nullptr;
};

// For a node that was to be placed. `decider` is the decision's node.
std::string Explain(const PlacementNode& node, const GroupFacts& group,
                    const Decision& decision, const PlacementNode& decider);

// For one that was placed before.
std::string ExplainPlaced(const PlacementNode& node);

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_EXPLANATION_H_
