// WalkFunctions: the functions that keep state between calls, of one walk
// through a dataset: they begin anew with it. Datasets that come again in the
// walk (of a repeat, of a flat_map's function) go on with the same ones, as in
// TensorFlow.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_
#define WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/graph/attr_value.h"
#include "libs/kernels/session_functions.h"

namespace weft {

class WalkFunctions {
 public:
  // What the walk calls for `function`, which `functions` gave for `name`. Both
  // outlive this.
  absl::StatusOr<const RunnableFunction*> Find(const RunnableFunction* function,
                                               const NameAttrList& name,
                                               SessionFunctions& functions)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  FunctionRuntime& Anew(SessionFunctions& functions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // A walk comes to datasets of several sessions where they share iterators.
  std::map<const SessionFunctions*, std::shared_ptr<FunctionRuntime>> anew_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const RunnableFunction*, const RunnableFunction*> found_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_
