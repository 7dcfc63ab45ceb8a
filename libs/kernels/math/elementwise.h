// Kernels of elementwise ops, based on loops for each element type. One kernel
// class serves all types; only the loop differs.
#ifndef WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_
#define WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/kernels/isa/elementwise_isa.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {

// The approximate time per element, which determines how finely work is split.
enum class LoopCost { kLight = 1, kHeavy = 16 };

struct BinaryKernelSpec {
  std::string op;
  std::string type_attr = "T";  // "" for ops without one (LogicalAnd)
  DataType in = DT_INVALID;
  DataType out = DT_INVALID;
  BinaryLoop loop = nullptr;
  LoopCost cost = LoopCost::kLight;
  // The error if the loop returns false.
  absl::string_view domain_error = "Integer division by zero";
  std::string out_attr;  // attr that must equal `out`, if any
};

struct UnaryKernelSpec {
  std::string op;
  std::string type_attr = "T";
  DataType in = DT_INVALID;
  DataType out = DT_INVALID;
  UnaryLoop loop = nullptr;
  LoopCost cost = LoopCost::kLight;
  std::string out_attr;
};

// z = f(x, y) with broadcasting. If the op has attr `incompatible_shape_error`
// and it is false, operands that do not broadcast compare as unequal.
void RegisterBinaryKernel(KernelRegistry& registry, BinaryKernelSpec spec);
// y = f(x)
void RegisterUnaryKernel(KernelRegistry& registry, UnaryKernelSpec spec);

// Runs `loop` over all elements, on several threads if that pays off.
void RunUnaryLoop(Scheduler& scheduler, UnaryLoop loop, LoopCost cost,
                  const Tensor& x, Tensor& out);

// The loop for this CPU's instruction set, or `otherwise`.
BinaryLoop BestBinaryLoop(const char* name, DataType type,
                          BinaryLoop otherwise);
UnaryLoop BestUnaryLoop(const char* name, DataType type, UnaryLoop otherwise);
// All loops compiled for this CPU's instruction set.
const ElementwiseFunctions& BestElementwise();

// FloatLoops are loops over floats for use in kernels of other ops.
struct FloatLoops {
  BinaryLoop add, subtract, multiply, divide, maximum;
  UnaryLoop square, log, exp, rsqrt, reciprocal;
};
const FloatLoops& BestFloatLoops();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_
