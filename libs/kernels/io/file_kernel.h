// FileKernel: a kernel that reaches files, which block: it runs on the pool for
// what does. Its Run is called from there, by one thread for each step.
#ifndef WEFT_LIBS_KERNELS_IO_FILE_KERNEL_H_
#define WEFT_LIBS_KERNELS_IO_FILE_KERNEL_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "libs/base/exceptions.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

class FileKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) final {
    context.scheduler().Schedule(
        Pool::kBlocking, [this, &context, done = std::move(done)]() mutable {
          done(CatchExceptions([&] { return Run(context); }));
        });
  }

 private:
  virtual absl::Status Run(OpKernelContext& context) const = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IO_FILE_KERNEL_H_
