// DynamicRnn: a recurrent network over sequences of any length: a cell in a
// loop, as tf.nn.dynamic_rnn.
//
//   nn::GRUCell cell(128);
//   auto [outputs, state] = nn::DynamicRnn(
//       root, cell, inputs, {.sequence_length = Input(lengths)});
//
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_
#define WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_

#include <optional>
#include <vector>

#include "libs/ops/nn/rnn_cells.h"
#include "libs/ops/scope.h"

namespace weft::nn {

struct DynamicRnnOptions {
  // The steps of each sequence, int32 or int64 [batch]. After these its outputs
  // are zeros and its state stays as it is. Without it all have all steps.
  std::optional<Input> sequence_length;
  std::vector<Output> initial_state;  // empty: zeros
  // Of the zeros that the state begins with; DT_INVALID: that of the inputs.
  DataType dtype = DT_INVALID;
  int parallel_iterations = 32;
  // Inputs and outputs are [time, batch, ...], which saves two transpositions;
  // else [batch, time, ...].
  bool time_major = false;
};
struct RnnOutputs {
  Output outputs;             // [batch, time, cell.output_size()]
  std::vector<Output> state;  // after the last step
};
// `inputs`: [batch, time, depth], where depth must be known. Variables are in
// the variable scope that `scope` names, "rnn" otherwise:
// "rnn/basic_lstm_cell/kernel".
RnnOutputs DynamicRnn(const Scope& scope, RNNCell& cell, const Output& inputs,
                      const DynamicRnnOptions& options = {});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_
