// Kernels of element-wise ops, around loops that know the element type. One
// kernel class serves all types: what differs is the loop.
#ifndef WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_
#define WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/kernels/isa/elementwise_isa.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {

// How long one element takes, roughly; decides how finely work is split.
enum class LoopCost { kLight = 1, kHeavy = 16 };

struct BinaryKernelSpec {
  std::string op;
  std::string type_attr = "T";  // "" for ops without one (LogicalAnd)
  DataType in = DT_INVALID;
  DataType out = DT_INVALID;
  BinaryLoop loop = nullptr;
  LoopCost cost = LoopCost::kLight;
  // What it means that the loop returned false.
  absl::string_view domain_error = "Integer division by zero";
  std::string out_attr;  // what must be `out`, where an op has such an attr
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

// z = f(x, y) with broadcasting. Attr `incompatible_shape_error`, where the op
// has it and it is false, makes operands that do not broadcast unequal.
void RegisterBinaryKernel(KernelRegistry& registry, BinaryKernelSpec spec);
// y = f(x)
void RegisterUnaryKernel(KernelRegistry& registry, UnaryKernelSpec spec);

// Runs `loop` over all elements, on several threads where that pays.
void RunUnaryLoop(Scheduler& scheduler, UnaryLoop loop, LoopCost cost,
                  const Tensor& x, Tensor& out);

// The loop of this processor's instruction set, or `otherwise`.
BinaryLoop BestBinaryLoop(const char* name, DataType type,
                          BinaryLoop otherwise);
UnaryLoop BestUnaryLoop(const char* name, DataType type, UnaryLoop otherwise);
// All that is compiled for this processor's instruction set.
const ElementwiseFunctions& BestElementwise();

// Of those, loops of floats that kernels of other ops are made of.
struct FloatLoops {
  BinaryLoop add, subtract, multiply, divide, maximum;
  UnaryLoop square, log, exp, rsqrt, reciprocal;
};
const FloatLoops& BestFloatLoops();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_ELEMENTWISE_H_
