// TrainOpsWithoutHook and CheckSyncReplicasRun find runs of a
// SyncReplicasOptimizer whose hook is missing, which would wait forever.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SYNC_REPLICAS_CHECK_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SYNC_REPLICAS_CHECK_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::train {

// Collection of the operations that replicas run, one for each
// SyncReplicasOptimizer of the graph.
inline constexpr absl::string_view kSyncReplicasTrainOps =
    "sync_replicas_train_ops";

// Returns the train operations that none of `hooks` serves.
std::vector<Operation> TrainOpsWithoutHook(const Scope& scope,
                                           const HookList& hooks);

// FAILED_PRECONDITION, naming the operation and the hook, if the run needs one
// of `without_hook`. The run's dependencies are computed only if that list is
// not empty.
absl::Status CheckSyncReplicasRun(const std::vector<Operation>& without_hook,
                                  const SessionRunArgs& args);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SYNC_REPLICAS_CHECK_H_
