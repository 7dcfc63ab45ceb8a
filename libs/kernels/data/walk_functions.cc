#include "libs/kernels/data/walk_functions.h"

#include "libs/base/status.h"

namespace weft {

FunctionRuntime& WalkFunctions::Anew(SessionFunctions& functions) {
  std::shared_ptr<FunctionRuntime>& anew = anew_[&functions];
  if (anew == nullptr) anew = functions.Anew();
  return *anew;
}

absl::StatusOr<const RunnableFunction*> WalkFunctions::Find(
    const RunnableFunction* function, const NameAttrList& name,
    SessionFunctions& functions) {
  FunctionRuntime* anew = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = found_.find(function);
    if (it != found_.end()) return it->second;
    anew = &Anew(functions);
  }
  // Runs without the lock, because it compiles the function.
  ASSIGN_OR_RETURN(const RunnableFunction* found, anew->Find(name));
  absl::MutexLock lock(&mutex_);
  found_[function] = found;
  return found;
}

}  // namespace weft
