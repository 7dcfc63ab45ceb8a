// DnnlConvolution: convolutions of floats, or of bfloat16 numbers on processors
// that multiply these themselves, and their gradients by oneDNN, where it is
// there and fast.
//
// Images and gradients stay as they are, channels last: what oneDNN gains by
// blocks of channels it loses again by laying them out (measured, AVX2). Only
// the filter is laid out anew, once a call. The work is cut into parts that the
// Scheduler's threads take: images, or bands of rows where images are few. Each
// number of a convolution and of its gradient by the image is made by one part
// in one order, however the work is cut. The gradient by the filter sums over
// images: it is cut by the shape alone, and the parts' sums are added in order,
// so that it does not depend on the number of threads.
#ifndef WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "libs/kernels/dnnl_plans.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

struct DnnlLibrary;

// Belongs to a kernel, which does one pass; keeps what oneDNN has compiled for
// the last shapes. Thread-safe.
class DnnlConvolution {
 public:
  // Of floats or bfloat16 numbers, as `type` says. `library` null: nothing is
  // ever done here.
  DnnlConvolution(const DnnlLibrary* library, ConvolutionPass pass,
                  DataType type);
  ~DnnlConvolution();

  // Whether Run does it.
  bool CanRun(OpKernelContext& context, const Convolution& sizes);

  // `first` and `second` are what the pass takes, plain and in this order:
  // image, filter, gradient. `output` is written whole. False: oneDNN has no
  // good way for such a convolution, and nothing was done.
  // REQUIRES: no size is 0.
  absl::StatusOr<bool> Run(OpKernelContext& context, const Convolution& sizes,
                           const void* first, const void* second, void* output);

 private:
  class Plan;
  using SharedPlan = std::shared_ptr<const Plan>;

  // Null: there is no good way.
  SharedPlan PlanFor(OpKernelContext& context, const Convolution& sizes);

  const DnnlLibrary* const library_;
  const ConvolutionPass pass_;
  const DataType type_;
  DnnlPlans<Convolution, Plan> plans_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_
