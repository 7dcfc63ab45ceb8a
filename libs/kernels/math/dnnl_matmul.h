// DnnlMatMul: products of bfloat16 matrices by oneDNN, on processors that
// multiply such numbers themselves (AVX512_BF16, AMX): there it is at least
// twice as fast as any product of floats.
//
// Sums are floats, rounded once. The work is cut into parts that the
// Scheduler's threads take.
#ifndef WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_
#define WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_

#include <array>
#include <cstdint>
#include <memory>

#include "libs/kernels/dnnl_plans.h"
#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/float16.h"

namespace weft {

struct DnnlLibrary;

// Belongs to a kernel; keeps what oneDNN has compiled for the last shapes.
// Thread-safe.
class DnnlMatMul {
 public:
  // The library that is there, if the processor can do what it is wanted for.
  DnnlMatMul();
  ~DnnlMatMul();

  // c = op(a) op(b). False: oneDNN has no good way for such a product, or there
  // was no memory for one, and `c` holds nothing of use.
  // REQUIRES: no size is 0.
  bool Run(OpKernelContext& context, const MatMulArgs& args, const bfloat16* a,
           const bfloat16* b, bfloat16* c);

 private:
  class Plan;
  using SharedPlan = std::shared_ptr<const Plan>;
  // Sizes, strides and which operand is transposed.
  using Key = std::array<int64_t, 8>;

  // Null: there is no good way.
  SharedPlan PlanFor(const MatMulArgs& args, int threads);

  const DnnlLibrary* const library_;  // null: nothing is ever done here
  DnnlPlans<Key, Plan> plans_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_DNNL_MATMUL_H_
