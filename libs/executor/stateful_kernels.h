// StatefulKernels holds kernels that keep state between steps (random streams,
// readers, iterators). They belong to a session and a node name, are shared by
// all plans of the session, and end with it.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_EXECUTOR_STATEFUL_KERNELS_H_
#define WEFT_LIBS_EXECUTOR_STATEFUL_KERNELS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/hash_tables.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

class StatefulKernels {
 public:
  // Returns the kernel kept under `name`, or keeps the one that `create`
  // returns.
  absl::StatusOr<std::shared_ptr<OpKernel>> GetOrCreate(
      const std::string& name,
      const std::function<absl::StatusOr<std::unique_ptr<OpKernel>>()>& create);

  // Calls EndSession of all SessionKernels.
  void EndSession() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  FlatHashMap<std::string, std::shared_ptr<OpKernel>> kernels_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_STATEFUL_KERNELS_H_
