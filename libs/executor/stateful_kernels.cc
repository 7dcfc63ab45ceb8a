#include "libs/executor/stateful_kernels.h"

#include "libs/base/status.h"

namespace weft {

// `create` runs under the lock: two plans that are compiled at once must end
// up with one kernel, and a constructor waits for nothing.
absl::StatusOr<std::shared_ptr<OpKernel>> StatefulKernels::GetOrCreate(
    const std::string& name,
    const std::function<absl::StatusOr<std::unique_ptr<OpKernel>>()>& create) {
  absl::MutexLock lock(&mutex_);
  auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second;
  ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, create());
  std::shared_ptr<OpKernel>& kept = kernels_[name];
  kept = std::move(kernel);
  return kept;
}

}  // namespace weft
