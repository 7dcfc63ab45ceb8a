#include "libs/gradients/gradients.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/aggregate.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

// Gradients flow along edges of these types.
bool IsTrainable(DataType type) {
  type = RemoveRefType(type);
  return IsFloatingType(type) || IsComplexType(type) || type == DT_RESOURCE ||
         type == DT_VARIANT;
}

std::string Describe(const Node& node) {
  return absl::StrCat("'", node.name(), "' (op type: ", node.type(), ")");
}

// For a variable's own read node, the variable: everything that reads it
// counts, by whichever node.
Output VariableOrSelf(const Scope& scope, const Output& x) {
  const ops::Variable variable = ops::FindVariableRead(scope, x);
  return variable ? variable.handle() : x;
}

// One call of AddGradients. Ids are an order in which inputs come first, so
// walking them downwards meets each node when all its consumers are done.
class Walk {
 public:
  Walk(const Scope& scope, absl::Span<const Output> ys,
       absl::Span<const Output> xs, const GradientOptions& options)
      : scope_(scope.CompositeScope("gradients")),
        ys_(ys),
        xs_(xs.begin(), xs.end()),
        options_(options),
        registry_(options.registry == nullptr ? StandardGradients()
                                              : *options.registry) {}

  absl::StatusOr<std::vector<Gradient>> Run() {
    RETURN_IF_ERROR(CheckArguments());
    for (Output& x : xs_) x = VariableOrSelf(scope_, x);
    // What is added below has no part in it.
    const int end = scope_.graph().num_nodes();
    RETURN_IF_ERROR(SeedGradients());
    MarkReached(end);
    MarkWanted(end);
    for (int id = end - 1; id >= 0; --id) {
      if (reached_[id] && wanted_[id]) {
        RETURN_IF_ERROR(Visit(*scope_.graph().node(id)));
      }
    }
    std::vector<Gradient> result;
    for (const Output& x : xs_) result.push_back(Sum(x.output_tensor()));
    RETURN_IF_ERROR(scope_.status());
    return result;
  }

 private:
  absl::Status CheckArguments() {
    RETURN_IF_ERROR(scope_.status());
    const auto is_null = [](const Output& output) { return !output; };
    if (std::any_of(ys_.begin(), ys_.end(), is_null) ||
        std::any_of(xs_.begin(), xs_.end(), is_null)) {
      return absl::InvalidArgumentError(
          "gradients: one of ys or xs is no output");
    }
    if (!options_.grad_ys.empty() && options_.grad_ys.size() != ys_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Passed ", options_.grad_ys.size(), " grad_ys for ",
                       ys_.size(), " ys"));
    }
    return absl::OkStatus();
  }

  Scope ScopeFor(const Node& node) {
    return options_.colocate_gradients_with_ops ? scope_.ColocateWith(&node)
                                                : scope_;
  }

  absl::Status SeedGradients() {
    for (size_t i = 0; i < ys_.size(); ++i) {
      const Output& y = ys_[i];
      const Output given =
          options_.grad_ys.empty() ? Output() : options_.grad_ys[i];
      const std::string name = absl::StrCat("grad_ys_", i);
      const Scope scope = ScopeFor(*y.node());
      Output grad;
      if (given) {
        RETURN_IF_ERROR(CheckGradY(y, given));
        grad = scope.WithName(name).AddOutput("Identity", {given});
      } else {
        ASSIGN_OR_RETURN(grad, OnesLike(scope, y, name));
      }
      RETURN_IF_ERROR(scope_.status());
      grads_[y.output_tensor()].push_back(grad);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckGradY(const Output& y, const Output& grad) {
    if (RemoveRefType(grad.dtype()) == RemoveRefType(y.dtype()) &&
        grad.shape().IsCompatibleWith(y.shape())) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Gradient '", grad.name(), "' (", DataTypeName(grad.dtype()), ", ",
        grad.shape().ToString(), ") does not fit '", y.name(), "' (",
        DataTypeName(y.dtype()), ", ", y.shape().ToString(), ")"));
  }

  absl::StatusOr<Output> OnesLike(const Scope& scope, const Output& y,
                                  const std::string& name) {
    const DataType dtype = RemoveRefType(y.dtype());
    if (IsComplexType(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Gradients of complex tensors must set grad_ys (y = '",
                       y.name(), "', dtype ", DataTypeName(dtype), ")"));
    }
    if (!IsFloatingType(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Gradients need floating-point ys, but '", y.name(),
                       "' is ", DataTypeName(dtype)));
    }
    const Output shape = ShapeOf(scope, y);
    const Scope inner = scope.SubScope(name);
    absl::StatusOr<Output> one = One(inner, dtype);
    RETURN_IF_ERROR(one.status());
    return scope.WithName(inner.prefix()).AddOutput("Fill", {shape, *one});
  }

  // A Const where the shape is known.
  static Output ShapeOf(const Scope& scope, const Output& y) {
    const Scope named = scope.WithName("Shape");
    if (!y.shape().IsFullyDefined()) return named.AddOutput("Shape", {y});
    std::vector<int32_t> dims;
    for (int64_t size : y.shape().dims()) {
      if (size > INT32_MAX) {
        return named.AddOutput("Shape", {y}, {{"out_type", DT_INT64}});
      }
      dims.push_back(static_cast<int32_t>(size));
    }
    return named.ToOutput(Tensor::Vector(absl::Span<const int32_t>(dims)));
  }

  static absl::StatusOr<Output> One(const Scope& scope, DataType dtype) {
    Tensor one = Tensor::Scalar(1.0f);
    if (dtype == DT_DOUBLE) one = Tensor::Scalar(1.0);
    if (dtype == DT_HALF) one = Tensor::Scalar(half(1.0f));
    if (dtype == DT_BFLOAT16) one = Tensor::Scalar(bfloat16(1.0f));
    const Output result = scope.ToOutput(one);
    RETURN_IF_ERROR(scope.status());
    return result;
  }

  // Nodes that an x flows into.
  void MarkReached(int end) {
    reached_.assign(end, false);
    for (const Output& x : xs_) reached_[x.node()->id()] = true;
    for (int id = 0; id < end; ++id) {
      const Node& node = *scope_.graph().node(id);
      for (const OutputTensor& input : node.inputs()) {
        if (input.node != nullptr && input.node->id() < id &&
            IsReached(input)) {
          reached_[id] = true;
        }
      }
    }
  }

  bool IsReached(const OutputTensor& output) const {
    return output.node->id() < static_cast<int>(reached_.size()) &&
           reached_[output.node->id()] &&
           IsTrainable(output.node->output_type(output.index));
  }

  // Nodes that flow into a y.
  void MarkWanted(int end) {
    wanted_.assign(end, false);
    for (const Output& y : ys_) wanted_[y.node()->id()] = true;
    for (int id = end - 1; id >= 0; --id) {
      if (!wanted_[id]) continue;
      for (const OutputTensor& input : scope_.graph().node(id)->inputs()) {
        if (input.node != nullptr) wanted_[input.node->id()] = true;
      }
    }
  }

  // The gradient of an output; remembered, for an x that flows on.
  Gradient Sum(const OutputTensor& output) {
    auto it = grads_.find(output);
    if (it == grads_.end()) return Gradient();
    if (it->second.size() > 1) {
      it->second = {Aggregate(ScopeFor(*output.node), it->second)};
    }
    return it->second[0];
  }

  bool IsStopped(const Node& node) const {
    return std::any_of(
        options_.stop_gradients.begin(), options_.stop_gradients.end(),
        [&](const Output& output) { return output.node() == &node; });
  }

  absl::Status Visit(const Node& node) {
    const bool flows_on =
        std::any_of(node.inputs().begin(), node.inputs().end(),
                    [this](const OutputTensor& input) {
                      return input.node != nullptr && IsReached(input);
                    });
    if (!flows_on || IsStopped(node)) return absl::OkStatus();
    std::vector<Gradient> outputs;
    bool any = false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      outputs.push_back(Sum({&node, i}));
      any = any || !outputs.back().IsNone();
    }
    RETURN_IF_ERROR(scope_.status());
    if (!any) return absl::OkStatus();
    return Differentiate(node, std::move(outputs));
  }

  absl::Status Differentiate(const Node& node, std::vector<Gradient> outputs) {
    const GradientRegistry::Entry* entry = registry_.Find(node.type());
    if (entry == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("No gradient defined for operation ", Describe(node)));
    }
    if (!entry->fn) return absl::OkStatus();  // none by nature
    const Scope scope = ScopeFor(node);
    if (!entry->takes_sparse) {
      for (Gradient& output : outputs) {
        if (output.IsSparse()) output = ToDense(scope, output);
      }
      RETURN_IF_ERROR(scope.status());
    }
    absl::StatusOr<std::vector<Gradient>> inputs = entry->fn(
        scope.SubScope(absl::StrCat(node.name(), "_grad")), node, outputs);
    RETURN_IF_ERROR(Annotate(inputs.ok() ? scope.status() : inputs.status(),
                             absl::StrCat("Gradient of ", Describe(node))));
    return Take(node, *inputs);
  }

  absl::Status Take(const Node& node, const std::vector<Gradient>& inputs) {
    if (static_cast<int>(inputs.size()) != node.num_inputs()) {
      return absl::InternalError(absl::StrCat(
          "Num gradients ", inputs.size(), " generated for op ", Describe(node),
          " do not match num inputs ", node.num_inputs()));
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = node.input(i);
      if (inputs[i].IsNone() || !IsReached(input)) continue;
      RETURN_IF_ERROR(CheckFits(node, i, inputs[i]));
      grads_[input].push_back(inputs[i]);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckFits(const Node& node, int i,
                                const Gradient& gradient) {
    const OutputTensor& input = node.input(i);
    const DataType dtype = RemoveRefType(input.node->output_type(input.index));
    // A resource says nothing of the tensor it holds.
    if (dtype == DT_RESOURCE || dtype == DT_VARIANT) return absl::OkStatus();
    const Output& value =
        gradient.IsSparse() ? gradient.values : gradient.dense;
    if (RemoveRefType(value.dtype()) != dtype) {
      return absl::InternalError(absl::StrCat(
          "Gradient of ", Describe(node), " for input ", i, " is ",
          DataTypeName(value.dtype()), ", not ", DataTypeName(dtype)));
    }
    const PartialShape& shape = input.node->output_shape(input.index);
    if (gradient.IsSparse() || value.shape().IsCompatibleWith(shape)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Incompatible shapes between op input and calculated input gradient. "
        "Forward operation: ",
        node.name(), ". Input index: ", i,
        ". Original input shape: ", shape.ToString(),
        ". Calculated input gradient shape: ", value.shape().ToString()));
  }

  const Scope scope_;
  absl::Span<const Output> ys_;
  std::vector<Output> xs_;
  const GradientOptions& options_;
  const GradientRegistry& registry_;
  std::vector<bool> reached_;  // by node id
  std::vector<bool> wanted_;   // by node id
  // What is known so far of each output's gradient, to be summed.
  absl::flat_hash_map<OutputTensor, std::vector<Gradient>> grads_;
};

}  // namespace

absl::StatusOr<std::vector<Gradient>> AddGradients(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const GradientOptions& options) {
  RETURN_IF_ERROR(scope.status());
  return Walk(scope, ys, xs, options).Run();
}

Output ToDense(const Scope& scope, const Gradient& gradient) {
  if (!gradient.IsSparse()) return gradient.dense;
  const Output rows =
      scope.AddOutput("StridedSlice",
                      {gradient.dense_shape, Tensor::Vector({0}),
                       Tensor::Vector({1}), Tensor::Vector({1})},
                      {{"shrink_axis_mask", 1}});
  if (!rows) return Output();
  return scope.AddOutput("UnsortedSegmentSum",
                         {gradient.values, gradient.indices, rows});
}

}  // namespace weft
