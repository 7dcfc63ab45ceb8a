// Finds out whether the chief, whose program initializes the variables, is
// missing.
#ifndef WEFT_LIBS_MASTER_MISSING_CHIEF_H_
#define WEFT_LIBS_MASTER_MISSING_CHIEF_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "libs/master/master.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

// Returns "the chief, worker 0 (/job:worker/replica:0/task:0), has not joined";
// empty if it has. The chief is defined as in TensorFlow: the task of job
// "chief" or "master" if there is one, else the first worker.
std::string DescribeMissingChief(const protocol::ClusterStatus& cluster);

// Calls `done` once with that, when the coordinator answers; with an empty text
// if it does not.
void AskForMissingChief(
    const MasterOptions& options,
    absl::AnyInvocable<void(const std::string& missing)> done);

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MISSING_CHIEF_H_
