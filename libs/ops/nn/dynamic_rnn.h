// DynamicRnn runs a recurrent cell in a loop over sequences of any length, like
// tf.nn.dynamic_rnn.
//
//   nn::GRUCell cell(128);
//   auto [outputs, state] = nn::DynamicRnn(
//       root, cell, inputs, {.sequence_length = Input(lengths)});
//
// Errors stick to the scope; outputs are then null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_
#define WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_

#include <optional>
#include <vector>

#include "libs/ops/nn/rnn_cells.h"
#include "libs/ops/scope.h"

namespace weft::nn {

struct DynamicRnnOptions {
  // The length of each sequence, int32 or int64 [batch]. After its end, outputs
  // are zeros and the state is unchanged. Not set: all sequences have full
  // length.
  std::optional<Input> sequence_length;
  std::vector<Output> initial_state;  // empty: zeros
  // The type of the initial zero state; DT_INVALID: that of the inputs.
  DataType dtype = DT_INVALID;
  int parallel_iterations = 32;
  // True: inputs and outputs are [time, batch, ...], which saves two
  // transposes. False: [batch, time, ...].
  bool time_major = false;
};
struct RnnOutputs {
  Output outputs;             // [batch, time, cell.output_size()]
  std::vector<Output> state;  // after the last step
};
// `inputs`: [batch, time, depth], where depth must be known. Variables are in
// the variable scope named by `scope`, or "rnn": "rnn/basic_lstm_cell/kernel".
RnnOutputs DynamicRnn(const Scope& scope, RNNCell& cell, const Output& inputs,
                      const DynamicRnnOptions& options = {});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_DYNAMIC_RNN_H_
