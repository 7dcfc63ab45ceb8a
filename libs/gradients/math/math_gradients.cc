#include "libs/gradients/math/math_gradients.h"

#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

// Ops without gradients: their results are not numbers, or do not depend on
// their inputs. Passes create the ops that begin with _, after gradients were
// added.
constexpr const char* kWithoutGradient[] = {"_MulInTurn",
                                            "_FusedConv2D",
                                            "_FusedDepthwiseConv2dNative",
                                            "_FusedElementwise",
                                            "_FusedMatMul",
                                            "_SlicedMatMul",
                                            "ApproximateEqual",
                                            "BitwiseAnd",
                                            "BitwiseOr",
                                            "BitwiseXor",
                                            "Invert",
                                            "LeftShift",
                                            "RightShift",
                                            "PopulationCount",
                                            "Bincount",
                                            "Bucketize",
                                            "DenseBincount",
                                            "Equal",
                                            "NotEqual",
                                            "Less",
                                            "LessEqual",
                                            "Greater",
                                            "GreaterEqual",
                                            "LogicalAnd",
                                            "LogicalOr",
                                            "LogicalNot",
                                            "IsNan",
                                            "IsInf",
                                            "IsFinite",
                                            "All",
                                            "Any",
                                            "ArgMax",
                                            "ArgMin",
                                            "Range",
                                            "LinSpace",
                                            "BroadcastArgs",
                                            "FloorDiv",
                                            "TruncateDiv",
                                            "Floor",
                                            "Ceil",
                                            "Rint",
                                            "Round",
                                            "BroadcastGradientArgs"};

}  // namespace

void RegisterUnaryGradient(GradientRegistry& registry, absl::string_view op,
                           UnaryGradient gradient) {
  registry.Register(
      op,
      [gradient = std::move(gradient)](const Scope& scope, const Node& node,
                                       const std::vector<Gradient>& grads)
          -> absl::StatusOr<std::vector<Gradient>> {
        return std::vector<Gradient>{
            gradient({scope, node.input(0), Output(&node, 0), grads[0].dense})};
      });
}

void RegisterBinaryGradient(GradientRegistry& registry, absl::string_view op,
                            BinaryGradient gradient) {
  registry.Register(
      op,
      [gradient = std::move(gradient)](const Scope& scope, const Node& node,
                                       const std::vector<Gradient>& grads)
          -> absl::StatusOr<std::vector<Gradient>> {
        const BinaryArgs args{scope, node.input(0), node.input(1),
                              Output(&node, 0), grads[0].dense};
        const auto [x, y] = gradient(args);
        const auto [x_sum, y_sum] = SumToShapes(scope, args.x, args.y, x, y);
        return std::vector<Gradient>{x_sum, y_sum};
      });
}

Output Conjugate(const Scope& scope, const Output& x) {
  if (!x || !IsComplexType(RemoveRefType(x.dtype()))) return x;
  return scope.AddOutput("Conj", {x});
}

Output ZeroLike(const Scope& scope, const Output& like) {
  return scope.WithName("zero").ToOutput(
      Tensor(RemoveRefType(like.dtype()), TensorShape()));
}

void RegisterMathGradients(GradientRegistry& registry) {
  RegisterBinaryGradients(registry);
  RegisterUnaryGradients(registry);
  RegisterReductionGradients(registry);
  RegisterMatMulGradients(registry);
  RegisterEinsumGradients(registry);
  for (const char* op : kWithoutGradient) registry.RegisterNone(op);
}

}  // namespace weft
