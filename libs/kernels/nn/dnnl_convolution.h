// DnnlConvolution computes convolutions and their gradients with oneDNN, if it
// is available and fast: for floats, and for bfloat16 on CPUs with bfloat16
// instructions.
//
// Images and gradients keep their layout, channels last: what oneDNN gains with
// blocked channels is lost in converting the layout (measured with AVX2). Only
// the filter is converted, once per call. The work is divided into parts for
// the Scheduler's threads: images, or bands of rows for few images. Each
// element of a convolution and of its gradient with respect to the image is
// computed by one part in one order, however the work is divided. The gradient
// with respect to the filter sums over images: it is divided by the shape
// alone, and the parts' sums are added in order, so that it does not depend on
// the number of threads.
#ifndef WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "libs/kernels/common/dnnl_plans.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

struct DnnlLibrary;

// Belongs to a kernel of one pass; caches oneDNN primitives of the last shapes.
// Thread-safe.
class DnnlConvolution {
 public:
  // For floats or bfloat16, by `type`. With a null `library`, CanRun always
  // returns false.
  DnnlConvolution(const DnnlLibrary* library, ConvolutionPass pass,
                  DataType type);
  ~DnnlConvolution();

  // Returns whether Run supports the convolution.
  bool CanRun(OpKernelContext& context, const Convolution& sizes);

  // `first` and `second` are the pass's inputs without layout changes, in the
  // order image, filter, gradient. `output` is overwritten. Returns false,
  // without any effect, if oneDNN has no good implementation. REQUIRES: no size
  // is 0.
  absl::StatusOr<bool> Run(OpKernelContext& context, const Convolution& sizes,
                           const void* first, const void* second, void* output);

 private:
  class Plan;
  using SharedPlan = std::shared_ptr<const Plan>;

  // Returns null if there is no good implementation.
  SharedPlan PlanFor(OpKernelContext& context, const Convolution& sizes);

  const DnnlLibrary* const library_;
  const ConvolutionPass pass_;
  const DataType type_;
  DnnlPlans<Convolution, Plan> plans_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_DNNL_CONVOLUTION_H_
