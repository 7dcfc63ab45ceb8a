// DnnlMatMul multiplies bfloat16 matrices with oneDNN on CPUs with bfloat16
// instructions (AVX512_BF16, AMX), which is at least twice as fast as any
// product of floats.
//
// Sums are floats, rounded once. The work is split over the Scheduler's
// threads.
#ifndef WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_
#define WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_

#include <array>
#include <cstdint>
#include <memory>

#include "libs/kernels/common/dnnl_plans.h"
#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/float16.h"

namespace weft {

struct DnnlLibrary;

// Belongs to a kernel; caches oneDNN primitives of the last shapes.
// Thread-safe.
class DnnlMatMul {
 public:
  // Uses the library, if it exists and the CPU supports bfloat16.
  DnnlMatMul();
  ~DnnlMatMul();

  // Computes c = op(a) op(b). Returns false if oneDNN has no good
  // implementation for this product, or without memory; `c` is then undefined.
  // REQUIRES: no size is 0.
  bool Run(OpKernelContext& context, const MatMulArgs& args, const bfloat16* a,
           const bfloat16* b, bfloat16* c);

 private:
  class Plan;
  using SharedPlan = std::shared_ptr<const Plan>;
  // Sizes, strides and which operand is transposed.
  using Key = std::array<int64_t, 8>;

  // Returns null if there is no good implementation.
  SharedPlan PlanFor(const MatMulArgs& args, int threads);

  const DnnlLibrary* const library_;  // null: Run always returns false
  DnnlPlans<Key, Plan> plans_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_
