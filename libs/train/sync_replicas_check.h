// CheckSyncReplicasHooks: finds runs of a SyncReplicasOptimizer whose hook was
// forgotten, which would wait forever.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_CHECK_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"
#include "libs/train/session_run_hook.h"

namespace weft::train {

// The collection of the operations that replicas run, one for each
// SyncReplicasOptimizer of the graph.
inline constexpr absl::string_view kSyncReplicasTrainOps =
    "sync_replicas_train_ops";

// FAILED_PRECONDITION, naming the operation and the hook, where the run needs
// one of these operations that none of `hooks` serves. Looks at what the run
// needs only where the graph has one.
absl::Status CheckSyncReplicasHooks(const Scope& scope, const HookList& hooks,
                                    const SessionRunArgs& args);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_CHECK_H_
