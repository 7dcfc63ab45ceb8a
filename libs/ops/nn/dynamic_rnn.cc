#include "libs/ops/nn/dynamic_rnn.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/row_arrays.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::nn {
namespace {

using Values = std::vector<Output>;

// The loop variables are the time, the flow of the outputs, and the state.
class Recurrence {
 public:
  Recurrence(const Scope& scope, RNNCell& cell,
             const DynamicRnnOptions& options)
      : scope_(scope), cell_(cell), options_(options) {}

  RnnOutputs Build(const Output& inputs) {
    if (!Prepare(inputs)) return {};
    const Output zero = scope_.WithName("time").ToOutput(Tensor::Scalar(0));
    InputList vars = {zero, outputs_.flows()[0]};
    vars.insert(vars.end(), state_.begin(), state_.end());
    const Values last = ops::WhileLoop(
        scope_, vars,
        [&](const Scope& s, const Values& v) {
          return ops::Less(s, v[0], bound_);
        },
        [&](const Scope& s, const Values& v) { return Next(s, v); },
        {.parallel_iterations = options_.parallel_iterations});
    if (last.empty()) return {};
    const Values rows = outputs_.Stack(scope_, steps_, {last[1]});
    if (rows.empty()) return {};
    return {Swapped(rows[0]), {last.begin() + 2, last.end()}};
  }

 private:
  bool Prepare(const Output& inputs) {
    if (!inputs || inputs.shape().rank() != 3) {
      scope_.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("DynamicRnn '", scope_.prefix(),
                       "': inputs must have rank 3, not shape ",
                       inputs ? inputs.shape().ToString() : "missing")));
      return false;
    }
    const Output by_time = Swapped(inputs);
    steps_ = ops::NumRows(scope_, by_time);
    if (!steps_) return false;
    batch_ = BatchSize(by_time);
    const DataType dtype = options_.dtype == DT_INVALID
                               ? RemoveRefType(inputs.dtype())
                               : options_.dtype;
    state_ = options_.initial_state.empty()
                 ? cell_.ZeroState(scope_, batch_, dtype)
                 : options_.initial_state;
    inputs_ = ops::RowArrays::Of(scope_, steps_, {by_time}, "input");
    outputs_ = ops::RowArrays::Empty(scope_, steps_, {dtype}, "output");
    bound_ = steps_;
    if (options_.sequence_length) UseLengths(dtype);
    return scope_.ok();
  }

  Output Swapped(const Output& tensor) const {
    if (options_.time_major) return tensor;
    return ops::Transpose(scope_, tensor, {1, 0, 2});
  }

  Output BatchSize(const Output& by_time) const {
    const int64_t size = by_time.shape().dim(1);
    if (size >= 0) {
      return scope_.WithName("batch_size")
          .ToOutput(Tensor::Scalar(static_cast<int32_t>(size)));
    }
    return scope_.WithName("batch_size")
        .AddOutput("StridedSlice",
                   {ops::Shape(scope_, by_time), Tensor::Vector({1}),
                    Tensor::Vector({2}), Tensor::Vector({1})},
                   {{"shrink_axis_mask", 1}});
  }

  // The loop ends with the longest sequence. The first step always runs, as in
  // TensorFlow, so that outputs have a shape.
  void UseLengths(DataType dtype) {
    lengths_ = ops::CastTo(scope_, *options_.sequence_length, DT_INT32,
                           "sequence_length");
    if (!lengths_) return;
    const PartialShape& shape = lengths_.shape();
    if (shape.has_rank() && shape.rank() != 1) {
      scope_.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("DynamicRnn '", scope_.prefix(),
                       "': sequence_length must be a vector of length "
                       "batch_size, but saw shape: ",
                       shape.ToString())));
      return;
    }
    const Output longest = ops::Max(scope_, lengths_, {0});
    bound_ = ops::Minimum(scope_, steps_, ops::Maximum(scope_, longest, 1));
    const auto size = static_cast<int32_t>(cell_.output_size());
    zero_output_ =
        scope_.WithName("zero_output")
            .AddOutput("Fill",
                       {ops::Stack(scope_, {batch_, Tensor::Scalar(size)}), 0},
                       {{"T", dtype}});
  }

  Values Next(const Scope& scope, const Values& vars) {
    const Values state(vars.begin() + 2, vars.end());
    const Values rows = inputs_.Read(scope, vars[0]);
    if (rows.empty()) return {};
    RNNCell::Step step = cell_.Call(scope, rows[0], state);
    if (!scope.ok()) return {};
    if (lengths_) KeepEnded(scope, vars[0], state, step);
    const Values flows =
        outputs_.Write(scope, vars[0], {step.output}, {vars[1]});
    if (flows.empty()) return {};
    Values next = {ops::Add(scope, vars[0], 1), flows[0]};
    next.insert(next.end(), step.state.begin(), step.state.end());
    return next;
  }

  void KeepEnded(const Scope& scope, const Output& time, const Values& state,
                 RNNCell::Step& step) const {
    const Output ended = ops::GreaterEqual(scope, time, lengths_);
    step.output = ops::Select(scope, ended, zero_output_, step.output);
    for (size_t i = 0; i < step.state.size() && i < state.size(); ++i) {
      step.state[i] = ops::Select(scope, ended, state[i], step.state[i]);
    }
  }

  const Scope scope_;
  RNNCell& cell_;
  const DynamicRnnOptions& options_;
  Output steps_, batch_, bound_, lengths_, zero_output_;
  Values state_;
  ops::RowArrays inputs_, outputs_;
};

}  // namespace

RnnOutputs DynamicRnn(const Scope& scope, RNNCell& cell, const Output& inputs,
                      const DynamicRnnOptions& options) {
  if (!scope.ok()) return {};
  const Scope inner = ops::VariableScope(
      scope, scope.own_name().empty() ? "rnn" : scope.own_name());
  return Recurrence(inner, cell, options).Build(inputs);
}

}  // namespace weft::nn
