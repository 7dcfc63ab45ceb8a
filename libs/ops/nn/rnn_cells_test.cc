// The variables, shapes and errors of recurrent cells and of DynamicRnn. Values
// are tested with the kernels.
#include "libs/ops/nn/rnn_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/nn/dynamic_rnn.h"

namespace weft::nn {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class RnnCellsTest : public testing::Test {
 protected:
  Output In(const PartialShape& shape, DataType dtype = DT_FLOAT) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  // One step of a batch of 2 rows.
  RNNCell::Step Step(RNNCell& cell, const Output& x) {
    return cell.Call(root_, x, cell.ZeroState(root_, 2, DT_FLOAT));
  }
  // "NAME SHAPE" of each variable.
  std::vector<std::string> Variables() {
    std::vector<std::string> variables;
    for (const ops::Variable& one : ops::TrainableVariables(root_)) {
      variables.push_back(one.name() + " " + one.shape().ToString());
    }
    return variables;
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(RnnCellsTest, BasicLstmHasOneKernelForAllGates) {
  BasicLSTMCell cell(5);
  const RNNCell::Step step = Step(cell, In({2, 3}));
  ASSERT_OK(root_.status());
  EXPECT_THAT(Variables(), UnorderedElementsAre("basic_lstm_cell/kernel [8,20]",
                                                "basic_lstm_cell/bias [20]"));
  EXPECT_THAT(cell.state_size(), ElementsAre(5, 5));
  EXPECT_EQ(step.output.shape(), (PartialShape{2, 5}));
  ASSERT_EQ(step.state.size(), 2u);
  EXPECT_EQ(step.state[0].shape(), (PartialShape{2, 5}));
  EXPECT_EQ(step.state[1], step.output);
}

TEST_F(RnnCellsTest, ProjectionChangesTheOutputSize) {
  LSTMCell cell(5, {.use_peepholes = true, .num_proj = 4});
  const RNNCell::Step step = Step(cell, In({2, 3}));
  ASSERT_OK(root_.status());
  EXPECT_THAT(
      Variables(),
      UnorderedElementsAre("lstm_cell/kernel [7,20]", "lstm_cell/bias [20]",
                           "lstm_cell/w_f_diag [5]", "lstm_cell/w_i_diag [5]",
                           "lstm_cell/w_o_diag [5]",
                           "lstm_cell/projection/kernel [5,4]"));
  EXPECT_THAT(cell.state_size(), ElementsAre(5, 4));
  EXPECT_EQ(step.output.shape(), (PartialShape{2, 4}));
}

TEST_F(RnnCellsTest, GruHasGatesAndACandidate) {
  GRUCell cell(5);
  const RNNCell::Step step = Step(cell, In({2, 3}));
  ASSERT_OK(root_.status());
  EXPECT_THAT(Variables(),
              UnorderedElementsAre("gru_cell/gates/kernel [8,10]",
                                   "gru_cell/gates/bias [10]",
                                   "gru_cell/candidate/kernel [8,5]",
                                   "gru_cell/candidate/bias [5]"));
  EXPECT_THAT(step.state, ElementsAre(step.output));
}

TEST_F(RnnCellsTest, LaterCallsUseTheSameVariables) {
  BasicLSTMCell cell(5);
  const RNNCell::Step first = Step(cell, In({2, 3}));
  cell.Call(root_, In({2, 3}), first.state);
  ASSERT_OK(root_.status());
  EXPECT_EQ(Variables().size(), 2u);
}

TEST_F(RnnCellsTest, StackedCellsConcatenateTheirStates) {
  std::vector<std::unique_ptr<RNNCell>> cells;
  cells.push_back(std::make_unique<GRUCell>(5));
  cells.push_back(std::make_unique<BasicLSTMCell>(4));
  MultiRNNCell cell(std::move(cells));
  EXPECT_THAT(cell.state_size(), ElementsAre(5, 4, 4));
  EXPECT_EQ(cell.output_size(), 4);
  const RNNCell::Step step = Step(cell, In({2, 3}));
  ASSERT_OK(root_.status());
  EXPECT_EQ(step.output.shape(), (PartialShape{2, 4}));
  EXPECT_EQ(step.state.size(), 3u);
  const std::vector<std::string> variables = Variables();
  EXPECT_THAT(
      variables,
      testing::Contains("multi_rnn_cell/cell_1/basic_lstm_cell/kernel [9,16]"));
}

TEST_F(RnnCellsTest, OtherNumberOfStatesIsRejected) {
  BasicLSTMCell cell(5);
  EXPECT_FALSE(cell.Call(root_, In({2, 3}), {In({2, 5})}).output);
  ExpectInvalid("Cell 'basic_lstm_cell': the state has 1 tensors, not 2");
}

TEST_F(RnnCellsTest, OtherDepthThanBeforeIsRejected) {
  GRUCell cell(5);
  Step(cell, In({2, 3}));
  ASSERT_OK(root_.status());
  Step(cell, In({2, 4}));
  ExpectInvalid("Cell 'gru_cell': inputs have depth 4, but had 3 before");
}

TEST_F(RnnCellsTest, DepthMustBeKnown) {
  GRUCell cell(5, {.name = "mine"});
  Step(cell, In({2, -1}));
  ExpectInvalid(
      "Cell 'mine': inputs must be [batch, depth] with a known "
      "depth, not [2,?]");
}

TEST_F(RnnCellsTest, ZeroStateHasARowForEachExample) {
  GRUCell cell(5);
  const std::vector<Output> state = cell.ZeroState(root_, 7, DT_DOUBLE);
  ASSERT_OK(root_.status());
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].shape(), (PartialShape{7, 5}));
  EXPECT_EQ(state[0].dtype(), DT_DOUBLE);
}

TEST_F(RnnCellsTest, DynamicRnnNamesItsVariables) {
  BasicLSTMCell cell(5);
  const RnnOutputs rnn = DynamicRnn(root_, cell, In({2, 7, 3}));
  ASSERT_OK(root_.status());
  EXPECT_THAT(Variables(),
              UnorderedElementsAre("rnn/basic_lstm_cell/kernel [8,20]",
                                   "rnn/basic_lstm_cell/bias [20]"));
  EXPECT_EQ(rnn.state.size(), 2u);
  EXPECT_EQ(rnn.outputs.dtype(), DT_FLOAT);
  // The variables exist outside the loop.
  for (const ops::Variable& one : ops::TrainableVariables(root_)) {
    EXPECT_TRUE(one.initializer().node()->control_inputs().empty());
  }
}

TEST_F(RnnCellsTest, DynamicRnnNeedsAnInputOfRankThree) {
  GRUCell cell(5);
  DynamicRnn(root_, cell, In({2, 3}));
  ExpectInvalid("inputs must have rank 3, not shape [2,3]");
}

TEST_F(RnnCellsTest, SequenceLengthsAreAVector) {
  GRUCell cell(5);
  DynamicRnn(root_, cell, In({2, 7, 3}),
             {.sequence_length = In({2, 1}, DT_INT32)});
  ExpectInvalid("sequence_length must be a vector of length batch_size");
}

}  // namespace
}  // namespace weft::nn
