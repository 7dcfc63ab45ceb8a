#include "libs/passes/scaling_fusion.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libs/passes/node_fusion.h"

namespace weft {
namespace {

// The order of operands decides which of two NaNs a product is; if one is a
// number, the order does not matter.
template <typename T>
bool IsNumber(const Tensor& constant) {
  const auto value = static_cast<double>(constant.flat<T>()[0]);
  return value == value;
}

// Returns whether it is one number of a type that has kernels.
bool IsOneNumber(const Tensor* constant) {
  if (constant == nullptr || constant->num_elements() != 1) return false;
  switch (constant->dtype()) {
    case DT_FLOAT:
      return IsNumber<float>(*constant);
    case DT_DOUBLE:
      return IsNumber<double>(*constant);
    case DT_HALF:
      return IsNumber<half>(*constant);
    case DT_BFLOAT16:
      return IsNumber<bfloat16>(*constant);
    default:
      return false;
  }
}

// Returns whether a tensor with `rank` dimensions of size 1 can be broadcast to
// these sizes.
bool IsShapeFor(int rank, const Tensor* constant) {
  const auto sizes = IntegersIn(constant);
  return sizes && sizes->size() >= static_cast<size_t>(rank) &&
         TensorShape::Create(*sizes).ok();
}

class ScalingFusion : private NodeFusion {
 public:
  using NodeFusion::NodeFusion;

  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) {
      // Other devices have no kernels.
      if (node->type() != "Mul" || !IsFree(*node) || !IsOnCpu(*node)) continue;
      if (!FuseWith(*node, 0)) FuseWith(*node, 1);
    }
  }

 private:
  // Matches if input `i` is a number that was tiled.
  bool FuseWith(const Node& mul, int i) {
    const Node* repeated = Producer(mul, i, "BroadcastTo");
    if (repeated == nullptr) return false;
    const Tensor* number = Constant(*repeated, 0);
    if (!IsOneNumber(number) ||
        !IsShapeFor(number->rank(), Constant(*repeated, 1))) {
      return false;
    }
    // Numbers are multiplied before they are tiled, by the node that comes
    // first.
    if (IsOneNumber(Constant(mul, 1 - i))) return false;
    const OutputTensor x = rewrite_.Input(mul, 1 - i);
    std::vector<OutputTensor> inputs = ProductBefore(mul, x);
    if (inputs.empty()) inputs = {x};
    inputs.push_back(rewrite_.Input(*repeated, 0));
    inputs.push_back(rewrite_.Input(*repeated, 1));
    const AttrMap attrs = {{"N", static_cast<int64_t>(inputs.size()) - 2},
                           {"T", number->dtype()},
                           {"Tidx", Constant(*repeated, 1)->dtype()},
                           {"shape_first", i == 0}};
    rewrite_.Replace(
        mul, {.op = "_MulInTurn", .inputs = std::move(inputs), .attrs = attrs});
    return true;
  }

  // If `x` is a product with a number whose only consumer is `mul`: returns the
  // other factor and the number; else nothing.
  std::vector<OutputTensor> ProductBefore(const Node& mul,
                                          const OutputTensor& x) const {
    const Node& before = *x.node;
    if (before.type() != "Mul" || !IsFree(before) || IsEndOrAwaited(before) ||
        UsesOf(before).size() != 1 || before.id() >= mul.id() ||
        before.assigned_device() != mul.assigned_device()) {
      return {};
    }
    for (int i = 0; i < 2; ++i) {
      const Tensor* number = Constant(before, i);
      if (!IsOneNumber(number) || number->rank() != 0) continue;
      const OutputTensor of = rewrite_.Input(before, 1 - i);
      const bool may_be_taken =
          rewrite_.MayBeTaken(of) && !IsRefType(of.node->output_type(of.index));
      if (may_be_taken) return {of, rewrite_.Input(before, i)};
    }
    return {};
  }
};

}  // namespace

void FuseScaling(GraphRewrite& rewrite) { ScalingFusion(rewrite).Fuse(); }

}  // namespace weft
