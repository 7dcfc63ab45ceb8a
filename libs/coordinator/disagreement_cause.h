// LikelyCauses explains why two programs that share resources disagree, as far
// as that follows from their declarations. For example, the replicas may have
// created their variables in a different order.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_
#define WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "libs/coordinator/resource_difference.h"

namespace weft {

// The resources that one program declares on other tasks than its session's
// own, in the order of declaration.
using DeclaredProgram = std::vector<NodeResource>;

// Returns at least one likely cause as full sentences, the most likely cause
// first. `there` is empty if the other program has ended. REQUIRES: there is at
// least one difference.
std::vector<std::string> LikelyCauses(
    absl::Span<const ResourceDifference> differences,
    const DeclaredProgram& here, const DeclaredProgram& there);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_
