// WalkFunctions holds the functions with state that one walk of a dataset
// calls; their state restarts with the walk. Datasets that are walked
// repeatedly (of a repeat, or of a flat_map's function) continue with the same
// state, as in TensorFlow.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_
#define WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/attr_value.h"
#include "libs/kernels/session_functions.h"

namespace weft {

class WalkFunctions {
 public:
  // Returns the walk's copy of `function`, which `functions` returned for
  // `name`. Both must outlive this object.
  absl::StatusOr<const RunnableFunction*> Find(const RunnableFunction* function,
                                               const NameAttrList& name,
                                               SessionFunctions& functions)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  FunctionRuntime& Anew(SessionFunctions& functions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // A walk may call functions of several sessions if they share iterators.
  std::map<const SessionFunctions*, std::shared_ptr<FunctionRuntime>> anew_
      ABSL_GUARDED_BY(mutex_);
  FlatHashMap<const RunnableFunction*, const RunnableFunction*> found_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_WALK_FUNCTIONS_H_
