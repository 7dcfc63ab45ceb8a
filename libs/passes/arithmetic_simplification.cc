#include "libs/passes/arithmetic_simplification.h"

#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "libs/passes/proven_shapes.h"

namespace weft {
namespace {

using Axes = std::vector<int64_t>;

template <typename T>
bool HasBits(const Tensor& scalar, float value) {
  const auto wanted = static_cast<T>(value);
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): -0 is not 0 here
  return std::memcmp(scalar.data(), &wanted, sizeof(T)) == 0;
}

// Compares bits; an integer 0 equals both zeros. Complex numbers are excluded:
// only one part would be compared, and x * 1 is not x if the other part is
// infinite.
bool IsScalar(const Tensor* constant, float value) {
  if (constant == nullptr || constant->rank() != 0) return false;
  switch (constant->dtype()) {
    case DT_FLOAT:
      return HasBits<float>(*constant, value);
    case DT_DOUBLE:
      return HasBits<double>(*constant, value);
    case DT_HALF:
      return HasBits<half>(*constant, value);
    case DT_BFLOAT16:
      return HasBits<bfloat16>(*constant, value);
    case DT_INT8:
      return HasBits<int8_t>(*constant, value);
    case DT_INT16:
      return HasBits<int16_t>(*constant, value);
    case DT_INT32:
      return HasBits<int32_t>(*constant, value);
    case DT_INT64:
      return HasBits<int64_t>(*constant, value);
    case DT_UINT8:
      return HasBits<uint8_t>(*constant, value);
    case DT_UINT16:
      return HasBits<uint16_t>(*constant, value);
    case DT_UINT32:
      return HasBits<uint32_t>(*constant, value);
    case DT_UINT64:
      return HasBits<uint64_t>(*constant, value);
    case DT_BOOL:
      return constant->scalar<bool>() == (value != 0);
    default:
      return false;
  }
}

// An op that returns its first input if the second is `neutral`.
struct NeutralElement {
  absl::string_view op;
  float neutral;
  bool commutes;  // the operands may be swapped
  bool integers_only = false;
};

constexpr NeutralElement kNeutralElements[] = {
    {"Add", -0.0f, true},
    {"AddV2", -0.0f, true},
    {"Div", 1.0f, false},
    {"DivNoNan", 1.0f, false},
    {"FloorDiv", 1.0f, false, /*integers_only=*/true},
    {"LogicalAnd", 1.0f, true},
    {"LogicalOr", 0.0f, true},
    {"Mul", 1.0f, true},
    {"RealDiv", 1.0f, false},
    {"Sub", 0.0f, false},
    {"TruncateDiv", 1.0f, false, /*integers_only=*/true},
};

bool UndoesItself(absl::string_view op) {
  return op == "Conj" || op == "Invert" || op == "LogicalNot" || op == "Neg";
}

Axes InOrder(size_t rank) {
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Returns first[second[i]]; nullopt if one of them is not a permutation of the
// other's length.
std::optional<Axes> Compose(const Axes& first, const Axes& second) {
  if (first.size() != second.size()) return std::nullopt;
  Axes result;
  for (int64_t axis : second) {
    if (axis < 0 || axis >= static_cast<int64_t>(first.size())) {
      return std::nullopt;
    }
    result.push_back(first[axis]);
  }
  return result;
}

// Returns whether a tensor of this shape can surely be reshaped to these sizes.
// The shape function's result does not show this: it assumes that it can.
bool CanBe(const Axes& sizes, const TensorShape& shape) {
  int64_t known = 1;
  int num_unknown = 0;
  for (int64_t size : sizes) {
    if (size == -1) {
      ++num_unknown;
    } else if (size < 0 || size > (int64_t{1} << 31) ||
               known > (int64_t{1} << 31)) {
      return false;
    } else {
      known *= size;
    }
  }
  if (num_unknown == 0) return known == shape.num_elements();
  return num_unknown == 1 && known > 0 && shape.num_elements() % known == 0;
}

class Simplifier {
 public:
  explicit Simplifier(GraphRewrite& rewrite)
      : rewrite_(rewrite), shapes_(rewrite) {}

  void Simplify(const Node& node) {
    if (!rewrite_.IsPure(node) || rewrite_.IsGone(node)) return;
    if (node.num_outputs() != 1 || rewrite_.ConstantValue({&node, 0})) return;
    const OutputTensor same = WhatItGives(node);
    if (same.node != nullptr && rewrite_.MayBypass(node, same)) {
      rewrite_.Bypass(node, same);
    } else if (node.type() == "Reshape") {
      PassOverReshape(node);
    }
  }

 private:
  // Returns a value that the node's output always equals; a null node if there
  // is none.
  OutputTensor WhatItGives(const Node& node) const {
    const std::string& op = node.type();
    for (const NeutralElement& element : kNeutralElements) {
      if (op == element.op) return WithoutNeutral(node, element);
    }
    if (UndoesItself(op)) return Undone(node);
    if (op == "Cast" || op == "Bitcast") return OfSameType(node);
    if (op == "AddN" && node.num_inputs() == 1) return rewrite_.Input(node, 0);
    if (op == "Transpose") return Transposed(node);
    if (op == "Reshape") return Reshaped(node);
    return {};
  }

  const Tensor* Constant(const Node& node, int i) const {
    return rewrite_.FreeConstantValue(rewrite_.Input(node, i));
  }

  OutputTensor WithoutNeutral(const Node& node,
                              const NeutralElement& element) const {
    if (element.integers_only && !IsIntegerType(node.output_type(0))) return {};
    if (IsScalar(Constant(node, 1), element.neutral)) {
      return rewrite_.Input(node, 0);
    }
    if (element.commutes && IsScalar(Constant(node, 0), element.neutral)) {
      return rewrite_.Input(node, 1);
    }
    return {};
  }

  // Returns the producer of the node's first input, if it is another node of
  // this type and no control input must come before. Null otherwise.
  const Node* Inner(const Node& node) const {
    const Node* inner = rewrite_.Input(node, 0).node;
    if (inner->type() != node.type() || !rewrite_.IsPure(*inner) ||
        !rewrite_.ControlInputs(*inner).empty()) {
      return nullptr;
    }
    return inner;
  }

  OutputTensor Undone(const Node& node) const {
    const Node* inner = Inner(node);
    return inner == nullptr ? OutputTensor() : rewrite_.Input(*inner, 0);
  }

  OutputTensor OfSameType(const Node& node) const {
    return node.input_type(0) == node.output_type(0) ? rewrite_.Input(node, 0)
                                                     : OutputTensor();
  }

  OutputTensor Transposed(const Node& node) const {
    const std::optional<Axes> axes = IntegersIn(Constant(node, 1));
    if (!axes) return {};
    const OutputTensor input = rewrite_.Input(node, 0);
    if (LeavesAll(*axes, input)) return input;
    const Node* inner = Inner(node);
    if (inner == nullptr) return {};
    const std::optional<Axes> inner_axes = IntegersIn(Constant(*inner, 1));
    if (!inner_axes) return {};
    // If another permutation turns it into 0, 1, 2, ..., it is a permutation.
    const std::optional<Axes> both = Compose(*inner_axes, *axes);
    const OutputTensor source = rewrite_.Input(*inner, 0);
    return both && LeavesAll(*both, source) ? source : OutputTensor();
  }

  bool LeavesAll(const Axes& axes, const OutputTensor& of) const {
    const std::optional<int> rank = shapes_.RankOf(of);
    return rank && static_cast<size_t>(*rank) == axes.size() &&
           axes == InOrder(axes.size());
  }

  OutputTensor Reshaped(const Node& node) const {
    const std::optional<Axes> sizes = IntegersIn(Constant(node, 1));
    if (!sizes) return {};
    const OutputTensor input = rewrite_.Input(node, 0);
    const std::optional<TensorShape> shape = shapes_.ShapeOf(input);
    if (!shape || !CanBe(*sizes, *shape)) return {};
    const bool same = absl::c_equal(
        *sizes, shape->dims(),
        [](int64_t size, int64_t dim) { return size == dim || size == -1; });
    return same ? input : OutputTensor();
  }

  // Takes the input of the previous Reshape, if that one cannot fail.
  void PassOverReshape(const Node& node) {
    const Node* inner = Inner(node);
    if (inner == nullptr || rewrite_.ConstantValue({inner, 0})) return;
    if (!NeedsOnlyNumberOfElements(node)) return;
    const OutputTensor source = rewrite_.Input(*inner, 0);
    if (!CannotFail(*inner, source) || !rewrite_.MayBeTaken(source)) return;
    if (source.node->assigned_device() != inner->assigned_device()) return;
    rewrite_.SetInput(node, 0, source);
  }

  // With both 0 and -1, an empty tensor's own sizes matter.
  bool NeedsOnlyNumberOfElements(const Node& reshape) const {
    const std::optional<Axes> sizes =
        IntegersIn(rewrite_.ConstantValue(rewrite_.Input(reshape, 1)));
    return sizes && !(absl::c_linear_search(*sizes, 0) &&
                      absl::c_linear_search(*sizes, -1));
  }

  bool CannotFail(const Node& reshape, const OutputTensor& source) const {
    const std::optional<Axes> sizes = IntegersIn(Constant(reshape, 1));
    if (!sizes) return false;
    if (*sizes == Axes{-1}) return true;
    const std::optional<TensorShape> shape = shapes_.ShapeOf(source);
    return shape && CanBe(*sizes, *shape);
  }

  GraphRewrite& rewrite_;
  const ProvenShapes shapes_;
};

}  // namespace

void SimplifyArithmetic(GraphRewrite& rewrite) {
  Simplifier simplifier(rewrite);
  for (const Node* node : rewrite.graph().nodes()) simplifier.Simplify(*node);
}

}  // namespace weft
