// Why two programs that share resources disagree, as far as what both declare
// shows it: "Did the replicas create their variables in another order?" is the
// first question of whoever reads the difference.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_
#define WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "libs/coordinator/resource_difference.h"

namespace weft {

// What one program declares on other tasks than its session's own, in the order
// in which it declares it.
using DeclaredProgram = std::vector<NodeResource>;

// Whole sentences, what is most likely first; at least one. `there` is empty
// where the other program has ended. REQUIRES: at least one difference.
std::vector<std::string> LikelyCauses(
    absl::Span<const ResourceDifference> differences,
    const DeclaredProgram& here, const DeclaredProgram& there);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_DISAGREEMENT_CAUSE_H_
