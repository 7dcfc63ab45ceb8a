// FileKernel is the base of kernels that access files. Files block, so it runs
// on Pool::kBlocking. Run is called there, by one thread per step.
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
