// Cells of recurrent networks, which compute one step from an input and a
// state. The classes, variables and formulas are those of TensorFlow 1's
// tf.nn.rnn_cell.
//
//   nn::BasicLSTMCell cell(128);
//   nn::RnnOutputs rnn = nn::DynamicRnn(root, cell, inputs);   // dynamic_rnn.h
//
// A cell creates its variables in its first call, in a variable scope with its
// name ("basic_lstm_cell/kernel"), and uses them in all later calls. It belongs
// to one graph. Errors stick to the scope; outputs are then null. Threads: as
// for the scope.
#ifndef WEFT_LIBS_OPS_NN_RNN_CELLS_H_
#define WEFT_LIBS_OPS_NN_RNN_CELLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/variable.h"

namespace weft::nn {

// A function of values alone, such as ops::Tanh.
using Activation = std::function<Output(const Scope& scope, const Input& x)>;

class RNNCell {
 public:
  RNNCell(const RNNCell&) = delete;
  RNNCell& operator=(const RNNCell&) = delete;
  virtual ~RNNCell() = default;

  // The row sizes of the state tensors, and of the output.
  virtual std::vector<int64_t> state_size() const = 0;
  virtual int64_t output_size() const = 0;

  struct Step {
    Output output;              // [batch, output_size]
    std::vector<Output> state;  // each [batch, its size]
  };
  // `inputs`: [batch, depth], where depth must be known. INVALID_ARGUMENT for a
  // state with another number of tensors, and for another depth than before.
  virtual Step Call(const Scope& scope, const Output& inputs,
                    const std::vector<Output>& state) = 0;

  // Zeros for `batch_size` rows, an int32 scalar.
  std::vector<Output> ZeroState(const Scope& scope, const Input& batch_size,
                                DataType dtype) const;

 protected:
  RNNCell() = default;
};

// A cell with variables.
class LayerRNNCell : public RNNCell {
 public:
  Step Call(const Scope& scope, const Output& inputs,
            const std::vector<Output>& state) final;

 protected:
  explicit LayerRNNCell(std::string name) : name_(std::move(name)) {}

  // Creates the variables in `scope`; `depth` is that of the input.
  virtual void Build(const Scope& scope, int64_t depth, DataType dtype) = 0;
  virtual Step CallBuilt(const Scope& scope, const Output& inputs,
                         const std::vector<Output>& state) const = 0;

  // Creates a variable. Null initializer: that of the scope.
  void Add(const Scope& scope, const std::string& name,
           const PartialShape& shape, DataType dtype,
           const ops::Initializer& initializer = nullptr);
  // x * kernel + bias, with the variables "PREFIXkernel" and "PREFIXbias".
  Output Linear(const Scope& scope, const std::vector<Output>& x,
                const std::string& prefix = "") const;
  Output Value(const std::string& name) const;

 private:
  bool CheckArguments(const Scope& scope, const Output& inputs,
                      const std::vector<Output>& state) const;

  const std::string name_;
  int64_t depth_ = -1;  // of the first call
  std::map<std::string, ops::Variable> variables_;
};

struct BasicLSTMCellOptions {
  double forget_bias = 1.0;
  Activation activation;  // null: tanh
  std::string name = "basic_lstm_cell";
};
// State {c, h}: h is the output.
class BasicLSTMCell : public LayerRNNCell {
 public:
  explicit BasicLSTMCell(int64_t num_units, BasicLSTMCellOptions options = {});
  std::vector<int64_t> state_size() const override;
  int64_t output_size() const override { return num_units_; }

 private:
  void Build(const Scope& scope, int64_t depth, DataType dtype) override;
  Step CallBuilt(const Scope& scope, const Output& inputs,
                 const std::vector<Output>& state) const override;

  const int64_t num_units_;
  const BasicLSTMCellOptions options_;
};

struct LSTMCellOptions {
  // Gates depend on c through the variables w_f_diag, w_i_diag, w_o_diag.
  bool use_peepholes = false;
  std::optional<double> cell_clip;  // bound of the absolute value of c
  ops::Initializer initializer;     // of weights; null: the scope's
  // h is projected to this size: variable projection/kernel.
  std::optional<int64_t> num_proj;
  std::optional<double> proj_clip;  // like cell_clip, for the projection
  double forget_bias = 1.0;
  Activation activation;  // null: tanh
  std::string name = "lstm_cell";
};
// State {c, h}: h is the output.
class LSTMCell : public LayerRNNCell {
 public:
  explicit LSTMCell(int64_t num_units, LSTMCellOptions options = {});
  std::vector<int64_t> state_size() const override;
  int64_t output_size() const override;

 private:
  void Build(const Scope& scope, int64_t depth, DataType dtype) override;
  Step CallBuilt(const Scope& scope, const Output& inputs,
                 const std::vector<Output>& state) const override;
  Output Gate(const Scope& scope, const Output& gate, const char* weight,
              const Output& c) const;
  Output Project(const Scope& scope, const Output& h) const;

  const int64_t num_units_;
  const LSTMCellOptions options_;
};

struct GRUCellOptions {
  Activation activation;  // null: tanh
  ops::Initializer kernel_initializer;
  ops::Initializer bias_initializer;  // null: ones for the gates, else zeros
  std::string name = "gru_cell";
};
// State {h}, which is the output.
class GRUCell : public LayerRNNCell {
 public:
  explicit GRUCell(int64_t num_units, GRUCellOptions options = {});
  std::vector<int64_t> state_size() const override { return {num_units_}; }
  int64_t output_size() const override { return num_units_; }

 private:
  void Build(const Scope& scope, int64_t depth, DataType dtype) override;
  Step CallBuilt(const Scope& scope, const Output& inputs,
                 const std::vector<Output>& state) const override;

  const int64_t num_units_;
  const GRUCellOptions options_;
};

// Stacked cells: each takes the output of the previous one. Variables are
// "multi_rnn_cell/cell_0/...". The state is the concatenation of all cells'
// states.
class MultiRNNCell : public RNNCell {
 public:
  explicit MultiRNNCell(std::vector<std::unique_ptr<RNNCell>> cells)
      : cells_(std::move(cells)) {}
  std::vector<int64_t> state_size() const override;
  int64_t output_size() const override;
  Step Call(const Scope& scope, const Output& inputs,
            const std::vector<Output>& state) override;

 private:
  const std::vector<std::unique_ptr<RNNCell>> cells_;
};

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_RNN_CELLS_H_
