// CallingKernel is the base of kernels that call the function of an attr.
// Internal to this folder.
#ifndef WEFT_LIBS_KERNELS_CONTROL_CALLING_KERNEL_H_
#define WEFT_LIBS_KERNELS_CONTROL_CALLING_KERNEL_H_

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

class CallingKernel : public AsyncOpKernel {
 public:
  CallingKernel(const OpKernelConstruction& construction, NameAttrList function)
      : AsyncOpKernel(construction),
        function_(std::move(function)),
        functions_(construction.functions()) {}

 protected:
  // Compiled on the first call, because a function may call itself.
  absl::StatusOr<const RunnableFunction*> Function() const {
    if (functions_ != nullptr) return functions_->Find(function_);
    return absl::UnimplementedError(absl::StrCat(
        "function '", function_.name, "' cannot be called outside a session"));
  }

 private:
  const NameAttrList function_;
  FunctionRuntime* const functions_;
};

// MapDefun, in map_defun_kernel.cc.
absl::StatusOr<std::unique_ptr<OpKernel>> MakeMapDefun(
    const OpKernelConstruction& construction);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_CALLING_KERNEL_H_
