#include "libs/gradients/testing/reference_evaluator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/gradients/testing/reference_ops.h"
#include "libs/ops/scope.h"

namespace weft {
namespace {

using Feeds = std::vector<std::pair<Output, Tensor>>;

const ReferenceOps& Ops() {
  static const auto* const ops = [] {
    auto* made = new ReferenceOps;
    AddReferenceMathOps(*made);
    AddReferenceMatrixOps(*made);
    AddReferenceArrayOps(*made);
    AddReferenceIndexOps(*made);
    return made;
  }();
  return *ops;
}

template <typename T>
ReferenceValue Read(const Tensor& tensor) {
  const auto flat = tensor.flat<T>();
  return {tensor.shape(), {flat.begin(), flat.end()}, false};
}

absl::StatusOr<ReferenceValue> ValueOfTensor(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_DOUBLE:
      return Read<double>(tensor);
    case DT_FLOAT:
      return Read<float>(tensor);
    case DT_INT32:
      return Read<int32_t>(tensor);
    case DT_INT64:
      return Read<int64_t>(tensor);
    case DT_BOOL:
      return Read<bool>(tensor);
    default:
      return absl::UnimplementedError(absl::StrCat(
          "no reference for tensors of ", DataTypeName(tensor.dtype())));
  }
}

template <typename T>
Tensor Write(const ReferenceValue& value) {
  Tensor tensor(DataTypeOf<T>::value, value.shape);
  for (size_t i = 0; i < value.at.size(); ++i) {
    tensor.mutable_flat<T>()[i] = static_cast<T>(value.at[i]);
  }
  return tensor;
}

absl::StatusOr<Tensor> TensorOfValue(const ReferenceValue& value,
                                     DataType dtype) {
  switch (dtype) {
    case DT_DOUBLE:
      return Write<double>(value);
    case DT_FLOAT:
      return Write<float>(value);
    case DT_INT32:
      return Write<int32_t>(value);
    case DT_INT64:
      return Write<int64_t>(value);
    case DT_BOOL:
      return Write<bool>(value);
    default:
      return absl::UnimplementedError(
          absl::StrCat("no reference for tensors of ", DataTypeName(dtype)));
  }
}

// Evaluates nodes on demand, each once.
class Evaluation {
 public:
  explicit Evaluation(const Feeds& feeds) : feeds_(feeds) {}

  absl::StatusOr<Tensor> Fetch(const Output& output) {
    ASSIGN_OR_RETURN(const ReferenceValue value,
                     ValueOf(output.output_tensor()));
    if (!value.is_dead) return TensorOfValue(value, output.dtype());
    return absl::InvalidArgumentError(absl::StrCat(
        "'", output.name(), "' is in a branch that was not taken"));
  }

 private:
  absl::StatusOr<ReferenceValue> ValueOf(const OutputTensor& output) {
    for (const auto& [fed, tensor] : feeds_) {
      if (fed.output_tensor() == output) return ValueOfTensor(tensor);
    }
    RETURN_IF_ERROR(EvaluateOnce(*output.node));
    return values_[output.node][output.index];
  }

  absl::Status EvaluateOnce(const Node& node) {
    if (values_.contains(&node)) return absl::OkStatus();
    ReferenceValues inputs;
    bool is_dead = false;
    for (const OutputTensor& input : node.inputs()) {
      ASSIGN_OR_RETURN(ReferenceValue value, ValueOf(input));
      is_dead = is_dead || value.is_dead;
      inputs.push_back(std::move(value));
    }
    for (const Node* control : node.control_inputs()) {
      RETURN_IF_ERROR(EvaluateOnce(*control));
      is_dead = is_dead || IsDead(values_[control]);
    }
    ASSIGN_OR_RETURN(values_[&node], OutputsOf(node, inputs, is_dead));
    return absl::OkStatus();
  }

  // A Switch runs although one of its outputs is dead.
  static bool IsDead(const ReferenceValues& outputs) {
    return std::all_of(outputs.begin(), outputs.end(),
                       [](const ReferenceValue& x) { return x.is_dead; });
  }

  static absl::StatusOr<ReferenceValues> OutputsOf(
      const Node& node, const ReferenceValues& inputs, bool is_dead) {
    if (node.type() == "Merge") return Merge(inputs);
    if (is_dead) {
      return ReferenceValues(std::max(node.num_outputs(), 1), {{}, {}, true});
    }
    if (node.type() == "Switch") return Switch(inputs);
    // A value that says that it is alive.
    if (node.type() == "NoOp") return ReferenceValues(1);
    if (node.type() == "Const") {
      ASSIGN_OR_RETURN(ReferenceValue value,
                       ValueOfTensor(*node.attr<Tensor>("value")));
      return ReferenceValues{value};
    }
    if (node.type() == "Placeholder") {
      return absl::InvalidArgumentError(
          absl::StrCat("placeholder '", node.name(), "' is not fed"));
    }
    const auto op = Ops().find(node.type());
    if (op != Ops().end()) return op->second(node, inputs);
    return absl::UnimplementedError(absl::StrCat(
        "no reference for op ", node.type(), " (node '", node.name(), "')"));
  }

  static ReferenceValues Switch(const ReferenceValues& inputs) {
    const bool taken = inputs[1].at[0] != 0;
    ReferenceValues outputs = {inputs[0], inputs[0]};
    outputs[taken ? 0 : 1] = {{}, {}, true};
    return outputs;
  }

  static ReferenceValues Merge(const ReferenceValues& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_dead) continue;
      return {inputs[i], ReferenceScalar(static_cast<double>(i))};
    }
    return ReferenceValues(2, {{}, {}, true});
  }

  const Feeds& feeds_;
  std::map<const Node*, ReferenceValues> values_;
};

// Without pattern and without ties, between `low` and `high`; away from whole
// halves, where some functions have corners.
Tensor ValuesFor(const GradientArg& arg, size_t seed) {
  Tensor values(DT_DOUBLE, arg.shape);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    const double place = static_cast<double>(i + 1) * 0.618033989;
    const double part =
        std::fmod(place + static_cast<double>(seed) * 0.347, 1.0);
    double value = arg.low + (arg.high - arg.low) * part;
    const double corner = std::round(value * 2) / 2;
    if (std::abs(value - corner) < 0.01) value = corner + 0.013;
    values.mutable_flat<double>()[i] = value;
  }
  return values;
}

PartialShape ShapeFor(const GradientArg& arg, GradientShapes shapes) {
  if (shapes == GradientShapes::kKnown) return arg.shape;
  if (shapes == GradientShapes::kUnknown) return PartialShape();
  return PartialShape::OfRank(arg.shape.rank());
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> EvaluateByReference(
    const Feeds& feeds, const std::vector<Output>& fetches) {
  Evaluation evaluation(feeds);
  std::vector<Tensor> tensors;
  for (const Output& fetch : fetches) {
    ASSIGN_OR_RETURN(Tensor tensor, evaluation.Fetch(fetch));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::StatusOr<double> OpGradientError(const std::string& op,
                                       const std::vector<GradientArg>& args,
                                       const AttrMap& attrs,
                                       GradientShapes shapes) {
  const Scope root = Scope::Root();
  InputList inputs;
  std::vector<Output> xs, ys;
  std::vector<Tensor> values;
  for (const GradientArg& arg : args) {
    if (arg.is_fixed) {
      inputs.emplace_back(root.ToOutput(arg.fixed));
      continue;
    }
    values.push_back(ValuesFor(arg, xs.size()));
    xs.push_back(root.AddOutput(
        "Placeholder", {},
        {{"dtype", DT_DOUBLE}, {"shape", ShapeFor(arg, shapes)}}));
    inputs.emplace_back(xs.back());
  }
  const Node* node = root.AddNode(op, inputs, attrs);
  RETURN_IF_ERROR(root.status());
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (node->output_type(i) == DT_DOUBLE) ys.push_back(Output(node, i));
  }
  return MaxGradientError(root, ys, xs, values, EvaluateByReference);
}

absl::StatusOr<std::vector<Tensor>> OpGradientsAt(
    const std::string& op, const std::vector<Tensor>& args,
    const AttrMap& attrs) {
  const Scope root = Scope::Root();
  InputList inputs;
  std::vector<Output> xs;
  for (const Tensor& arg : args) {
    inputs.emplace_back(root.ToOutput(arg));
    if (arg.dtype() == DT_DOUBLE) xs.push_back(inputs.back().output());
  }
  const Output y = root.AddOutput(op, inputs, attrs);
  RETURN_IF_ERROR(root.status());
  ASSIGN_OR_RETURN(const std::vector<Gradient> gradients,
                   AddGradients(root, {y}, xs));
  std::vector<Tensor> tensors;
  for (const Gradient& gradient : gradients) {
    tensors.emplace_back();
    if (gradient.IsNone()) continue;
    ASSIGN_OR_RETURN(std::vector<Tensor> fetched,
                     EvaluateByReference({}, {ToDense(root, gradient)}));
    tensors.back() = fetched[0];
  }
  return tensors;
}

}  // namespace weft
