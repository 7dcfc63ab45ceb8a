#include "libs/ops/nn/rnn_cells.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::nn {
namespace {

using ops::Add;
using ops::Mul;
using ops::Sigmoid;

Output Activate(const Activation& activation, const Scope& scope,
                const Output& x) {
  return activation == nullptr ? ops::Tanh(scope, x) : activation(scope, x);
}

Output Clip(const Scope& scope, const Output& x,
            const std::optional<double>& clip) {
  return clip ? ops::ClipByValue(scope, x, -*clip, *clip) : x;
}

// Adds a number that takes the type of `x`.
Output AddNumber(const Scope& scope, const Output& x, double number) {
  return Add(scope, x, number);
}

void Refuse(const Scope& scope, absl::string_view name,
            absl::string_view what) {
  scope.UpdateStatus(
      absl::InvalidArgumentError(absl::StrCat("Cell '", name, "': ", what)));
}

}  // namespace

std::vector<Output> RNNCell::ZeroState(const Scope& scope,
                                       const Input& batch_size,
                                       DataType dtype) const {
  const Scope inner = scope.CompositeScope("ZeroState");
  const Output rows = inner.ToOutput(batch_size, "batch_size");
  if (!rows) return {};
  std::vector<Output> state;
  for (int64_t size : state_size()) {
    const Output dims =
        ops::Stack(inner, {rows, Tensor::Scalar(static_cast<int32_t>(size))});
    state.push_back(inner.AddOutput("Fill", {dims, 0}, {{"T", dtype}}));
  }
  return state;
}

LayerRNNCell::Step LayerRNNCell::Call(const Scope& scope, const Output& inputs,
                                      const std::vector<Output>& state) {
  if (!scope.ok() || !CheckArguments(scope, inputs, state)) return {};
  const Scope inner = ops::VariableScope(scope, name_);
  if (depth_ < 0) {
    depth_ = inputs.shape().dim(1);
    Build(inner, depth_, RemoveRefType(inputs.dtype()));
  }
  return inner.ok() ? CallBuilt(inner, inputs, state) : Step();
}

bool LayerRNNCell::CheckArguments(const Scope& scope, const Output& inputs,
                                  const std::vector<Output>& state) const {
  if (!inputs || inputs.shape().rank() != 2 || inputs.shape().dim(1) < 0) {
    Refuse(
        scope, name_,
        absl::StrCat("inputs must be [batch, depth] with a known depth, not ",
                     inputs ? inputs.shape().ToString() : "missing"));
  } else if (depth_ >= 0 && inputs.shape().dim(1) != depth_) {
    Refuse(scope, name_,
           absl::StrCat("inputs have depth ", inputs.shape().dim(1),
                        ", but had ", depth_, " before"));
  } else if (state.size() != state_size().size()) {
    Refuse(scope, name_,
           absl::StrCat("the state has ", state.size(), " tensors, not ",
                        state_size().size()));
  }
  return scope.ok();
}

void LayerRNNCell::Add(const Scope& scope, const std::string& name,
                       const PartialShape& shape, DataType dtype,
                       const ops::Initializer& initializer) {
  variables_[name] = ops::GetVariable(
      scope, name, shape, {.dtype = dtype, .initializer = initializer});
}

Output LayerRNNCell::Value(const std::string& name) const {
  const auto it = variables_.find(name);
  return it == variables_.end() ? Output() : it->second.value();
}

Output LayerRNNCell::Linear(const Scope& scope, const std::vector<Output>& x,
                            const std::string& prefix) const {
  const Output joined =
      x.size() == 1 ? x[0]
                    : ops::Concat(scope, InputList(x.begin(), x.end()), 1);
  return ops::BiasAdd(
      scope, ops::MatMul(scope, joined, Value(absl::StrCat(prefix, "kernel"))),
      Value(absl::StrCat(prefix, "bias")));
}

BasicLSTMCell::BasicLSTMCell(int64_t num_units, BasicLSTMCellOptions options)
    : LayerRNNCell(options.name),
      num_units_(num_units),
      options_(std::move(options)) {}

std::vector<int64_t> BasicLSTMCell::state_size() const {
  return {num_units_, num_units_};
}

void BasicLSTMCell::Build(const Scope& scope, int64_t depth, DataType dtype) {
  Add(scope, "kernel", {depth + num_units_, 4 * num_units_}, dtype);
  Add(scope, "bias", {4 * num_units_}, dtype, ops::initializers::Zeros());
}

RNNCell::Step BasicLSTMCell::CallBuilt(const Scope& scope, const Output& inputs,
                                       const std::vector<Output>& state) const {
  const Output &c = state[0], &h = state[1];
  // i = input gate, j = new input, f = forget gate, o = output gate
  const std::vector<Output> gates =
      ops::Split(scope, 1, Linear(scope, {inputs, h}), 4);
  if (gates.size() != 4) return {};
  const Output forget =
      Sigmoid(scope, AddNumber(scope, gates[2], options_.forget_bias));
  const Output fresh = Mul(scope, Sigmoid(scope, gates[0]),
                           Activate(options_.activation, scope, gates[1]));
  const Output new_c = ops::Add(scope, Mul(scope, c, forget), fresh);
  const Output new_h = Mul(scope, Activate(options_.activation, scope, new_c),
                           Sigmoid(scope, gates[3]));
  return {new_h, {new_c, new_h}};
}

LSTMCell::LSTMCell(int64_t num_units, LSTMCellOptions options)
    : LayerRNNCell(options.name),
      num_units_(num_units),
      options_(std::move(options)) {}

std::vector<int64_t> LSTMCell::state_size() const {
  return {num_units_, output_size()};
}

int64_t LSTMCell::output_size() const {
  return options_.num_proj.value_or(num_units_);
}

void LSTMCell::Build(const Scope& scope, int64_t depth, DataType dtype) {
  Add(scope, "kernel", {depth + output_size(), 4 * num_units_}, dtype,
      options_.initializer);
  Add(scope, "bias", {4 * num_units_}, dtype, ops::initializers::Zeros());
  if (options_.use_peepholes) {
    for (const char* name : {"w_f_diag", "w_i_diag", "w_o_diag"}) {
      Add(scope, name, {num_units_}, dtype, options_.initializer);
    }
  }
  if (options_.num_proj) {
    Add(scope, "projection/kernel", {num_units_, *options_.num_proj}, dtype,
        options_.initializer);
  }
}

Output LSTMCell::Gate(const Scope& scope, const Output& gate,
                      const char* weight, const Output& c) const {
  if (!options_.use_peepholes) return Sigmoid(scope, gate);
  return Sigmoid(scope, ops::Add(scope, gate, Mul(scope, Value(weight), c)));
}

Output LSTMCell::Project(const Scope& scope, const Output& h) const {
  if (!options_.num_proj) return h;
  const Output projected = ops::MatMul(scope, h, Value("projection/kernel"));
  return Clip(scope, projected, options_.proj_clip);
}

RNNCell::Step LSTMCell::CallBuilt(const Scope& scope, const Output& inputs,
                                  const std::vector<Output>& state) const {
  const Output &c = state[0], &h = state[1];
  const std::vector<Output> gates =
      ops::Split(scope, 1, Linear(scope, {inputs, h}), 4);
  if (gates.size() != 4) return {};
  const Output forget = Gate(
      scope, AddNumber(scope, gates[2], options_.forget_bias), "w_f_diag", c);
  const Output fresh = Mul(scope, Gate(scope, gates[0], "w_i_diag", c),
                           Activate(options_.activation, scope, gates[1]));
  const Output new_c = Clip(
      scope, ops::Add(scope, Mul(scope, forget, c), fresh), options_.cell_clip);
  const Output new_h =
      Project(scope, Mul(scope, Gate(scope, gates[3], "w_o_diag", new_c),
                         Activate(options_.activation, scope, new_c)));
  return {new_h, {new_c, new_h}};
}

GRUCell::GRUCell(int64_t num_units, GRUCellOptions options)
    : LayerRNNCell(options.name),
      num_units_(num_units),
      options_(std::move(options)) {}

void GRUCell::Build(const Scope& scope, int64_t depth, DataType dtype) {
  const auto bias = [&](const ops::Initializer& otherwise) {
    return options_.bias_initializer ? options_.bias_initializer : otherwise;
  };
  Add(scope, "gates/kernel", {depth + num_units_, 2 * num_units_}, dtype,
      options_.kernel_initializer);
  Add(scope, "gates/bias", {2 * num_units_}, dtype,
      bias(ops::initializers::Ones()));
  Add(scope, "candidate/kernel", {depth + num_units_, num_units_}, dtype,
      options_.kernel_initializer);
  Add(scope, "candidate/bias", {num_units_}, dtype,
      bias(ops::initializers::Zeros()));
}

RNNCell::Step GRUCell::CallBuilt(const Scope& scope, const Output& inputs,
                                 const std::vector<Output>& state) const {
  const Output& h = state[0];
  // r = reset gate, u = update gate
  const std::vector<Output> gates = ops::Split(
      scope, 1, Sigmoid(scope, Linear(scope, {inputs, h}, "gates/")), 2);
  if (gates.size() != 2) return {};
  const Output &r = gates[0], &u = gates[1];
  const Output candidate =
      Activate(options_.activation, scope,
               Linear(scope, {inputs, Mul(scope, r, h)}, "candidate/"));
  const Output new_h = ops::Add(scope, Mul(scope, u, h),
                                Mul(scope, ops::Sub(scope, 1, u), candidate));
  return {new_h, {new_h}};
}

std::vector<int64_t> MultiRNNCell::state_size() const {
  std::vector<int64_t> sizes;
  for (const auto& cell : cells_) {
    const std::vector<int64_t> own = cell->state_size();
    sizes.insert(sizes.end(), own.begin(), own.end());
  }
  return sizes;
}

int64_t MultiRNNCell::output_size() const {
  return cells_.empty() ? 0 : cells_.back()->output_size();
}

RNNCell::Step MultiRNNCell::Call(const Scope& scope, const Output& inputs,
                                 const std::vector<Output>& state) {
  if (!scope.ok()) return {};
  if (cells_.empty() || state.size() != state_size().size()) {
    Refuse(
        scope, "multi_rnn_cell",
        absl::StrCat("the state has ", state.size(), " tensors, not ",
                     state_size().size(), ", for ", cells_.size(), " cells"));
    return {};
  }
  const Scope inner = ops::VariableScope(scope, "multi_rnn_cell");
  Step result = {inputs, {}};
  auto next = state.begin();
  for (size_t i = 0; i < cells_.size(); ++i) {
    const auto end =
        next + static_cast<int64_t>(cells_[i]->state_size().size());
    const Scope own = ops::VariableScope(inner, absl::StrCat("cell_", i));
    Step step = cells_[i]->Call(own, result.output, {next, end});
    result.output = step.output;
    result.state.insert(result.state.end(), step.state.begin(),
                        step.state.end());
    next = end;
  }
  return result;
}

}  // namespace weft::nn
