#include "libs/executor/stateful_kernels.h"

#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/session_kernel.h"

namespace weft {

// `create` runs under the lock, so that two plans that are compiled at the same
// time get the same kernel. That is allowed because constructors of kernels do
// not wait.
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

void StatefulKernels::EndSession() {
  std::vector<std::shared_ptr<OpKernel>> kernels;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, kernel] : kernels_) kernels.push_back(kernel);
  }
  for (const auto& kernel : kernels) {
    if (auto* ending = dynamic_cast<SessionKernel*>(kernel.get())) {
      ending->EndSession();
    }
  }
}

}  // namespace weft
