// Tests recurrent networks. Their variables have TensorFlow's names and shapes,
// and their outputs match TensorFlow's formulas. Sequences end at their
// lengths, and gradients match numerical differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<Output>;

constexpr int kBatch = 3, kSteps = 4, kDepth = 2, kUnits = 2;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Returns the weight at row i and column j, the test pattern of all weights.
double Weight(int i, int j) { return 0.1 * (i + 1) - 0.07 * j; }

// Returns an initializer that sets all elements of a variable with Weight.
ops::Initializer Pattern() {
  return [](const Scope& scope, const TensorShape& shape, DataType dtype,
            const ops::PartitionInfo*) {
    Tensor value(dtype, shape);
    const int64_t columns = shape.dim(shape.rank() - 1);
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      value.mutable_flat<double>()[i] =
          Weight(static_cast<int>(shape.rank() == 1 ? 0 : i / columns),
                 static_cast<int>(i % columns));
    }
    return scope.ToOutput(value);
  };
}

// Returns the product of the row x and a matrix of Weight with `columns`
// columns.
std::vector<double> Times(const std::vector<double>& x, int columns) {
  std::vector<double> result(columns);
  for (int j = 0; j < columns; ++j) {
    for (size_t i = 0; i < x.size(); ++i) {
      result[j] += x[i] * Weight(static_cast<int>(i), j);
    }
  }
  return result;
}

std::vector<double> Joined(const std::vector<double>& a,
                           const std::vector<double>& b) {
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// The state of one row of the batch in the formulas below.
struct State {
  std::vector<double> c = std::vector<double>(kUnits);
  std::vector<double> h = std::vector<double>(kUnits);
};

State BasicLstm(const std::vector<double>& x, const State& s) {
  const auto gates = Times(Joined(x, s.h), 4 * kUnits);
  State next;
  for (int u = 0; u < kUnits; ++u) {
    const double i = gates[u], j = gates[kUnits + u], f = gates[2 * kUnits + u],
                 o = gates[3 * kUnits + u];
    next.c[u] = s.c[u] * Sigmoid(f + 1) + Sigmoid(i) * std::tanh(j);
    next.h[u] = std::tanh(next.c[u]) * Sigmoid(o);
  }
  return next;
}

State PeepholeLstm(const std::vector<double>& x, const State& s) {
  const auto gates = Times(Joined(x, s.h), 4 * kUnits);
  State next;
  for (int u = 0; u < kUnits; ++u) {
    const double w = Weight(0, u);
    const double i = gates[u] + w * s.c[u], j = gates[kUnits + u],
                 f = gates[2 * kUnits + u] + w * s.c[u],
                 o = gates[3 * kUnits + u];
    next.c[u] = s.c[u] * Sigmoid(f + 1) + Sigmoid(i) * std::tanh(j);
    next.h[u] = std::tanh(next.c[u]) * Sigmoid(o + w * next.c[u]);
  }
  next.h = Times(next.h, kUnits);  // projected to the same size
  return next;
}

State Gru(const std::vector<double>& x, const State& s) {
  auto gates = Times(Joined(x, s.h), 2 * kUnits);
  std::vector<double> reset(kUnits);
  for (int u = 0; u < kUnits; ++u) {
    reset[u] = Sigmoid(gates[u] + 1) * s.h[u];
  }
  const auto candidate = Times(Joined(x, reset), kUnits);
  State next;
  for (int u = 0; u < kUnits; ++u) {
    const double update = Sigmoid(gates[kUnits + u] + 1);
    next.h[u] = update * s.h[u] + (1 - update) * std::tanh(candidate[u]);
  }
  return next;
}

class DynamicRnnTest : public testing::Test {
 protected:
  DynamicRnnTest() {
    values_ = Tensor(DT_DOUBLE, {kBatch, kSteps, kDepth});
    for (int i = 0; i < kBatch * kSteps * kDepth; ++i) {
      values_.mutable_flat<double>()[i] = std::sin(i * 1.7);
    }
    inputs_ = ops::Placeholder(root_.WithName("inputs"), DT_DOUBLE,
                               {.shape = {-1, -1, kDepth}});
  }

  Scope WithPattern() const {
    return ops::VariableScope(root_, "model", {.initializer = Pattern()});
  }

  absl::StatusOr<std::vector<Tensor>> Run(const Values& fetches) {
    Process process({.compute_threads = 2});
    ASSIGN_OR_RETURN(auto session,
                     Session::Connect("", root_, {.process = &process}));
    RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root_)));
    return session->Run({{inputs_, values_}}, fetches);
  }

  std::vector<double> InputAt(int row, int step) const {
    const double* x =
        values_.flat<double>().data() + (row * kSteps + step) * kDepth;
    return {x, x + kDepth};
  }

  // Runs `cell` over sequences of the given lengths. Checks the outputs and the
  // final h against `formula`.
  void ExpectFormula(nn::RNNCell& cell,
                     State (*formula)(const std::vector<double>&, const State&),
                     const std::vector<int>& lengths) {
    const auto [outputs, state] = nn::DynamicRnn(
        WithPattern(), cell, inputs_,
        {.sequence_length =
             Input(Tensor::Vector(absl::Span<const int32_t>(lengths)))});
    ASSERT_OK(root_.status());
    ASSERT_OK_AND_ASSIGN(const auto got, Run({outputs, state.back()}));
    ASSERT_EQ(got[0].shape(), TensorShape({kBatch, kSteps, kUnits}));
    for (int row = 0; row < kBatch; ++row) {
      State expected;
      for (int step = 0; step < kSteps; ++step) {
        const bool live = step < lengths[row];
        if (live) expected = formula(InputAt(row, step), expected);
        for (int u = 0; u < kUnits; ++u) {
          const double output =
              got[0].flat<double>()[(row * kSteps + step) * kUnits + u];
          EXPECT_NEAR(output, live ? expected.h[u] : 0, 1e-12)
              << row << " " << step << " " << u;
        }
      }
      for (int u = 0; u < kUnits; ++u) {
        EXPECT_NEAR(got[1].flat<double>()[row * kUnits + u], expected.h[u],
                    1e-12);
      }
    }
  }

  std::vector<std::string> VariableNames() const {
    std::vector<std::string> names;
    for (const ops::Variable& v : ops::TrainableVariables(root_)) {
      names.push_back(v.name() + v.shape().ToString());
    }
    return names;
  }

  Scope root_ = Scope::Root();
  Tensor values_;
  Output inputs_;
};

TEST_F(DynamicRnnTest, BasicLSTMCellMatchesItsFormula) {
  nn::BasicLSTMCell cell(kUnits);
  ExpectFormula(cell, BasicLstm, {4, 0, 2});
  EXPECT_THAT(VariableNames(),
              ElementsAre("model/rnn/basic_lstm_cell/kernel[4,8]",
                          "model/rnn/basic_lstm_cell/bias[8]"));
}

TEST_F(DynamicRnnTest, LSTMCellMatchesItsFormula) {
  nn::LSTMCell cell(kUnits, {.use_peepholes = true, .num_proj = kUnits});
  ExpectFormula(cell, PeepholeLstm, {1, 4, 3});
  EXPECT_THAT(VariableNames(),
              ElementsAre("model/rnn/lstm_cell/kernel[4,8]",
                          "model/rnn/lstm_cell/bias[8]",
                          "model/rnn/lstm_cell/w_f_diag[2]",
                          "model/rnn/lstm_cell/w_i_diag[2]",
                          "model/rnn/lstm_cell/w_o_diag[2]",
                          "model/rnn/lstm_cell/projection/kernel[2,2]"));
}

// All sequences are shorter than the inputs. The outputs after the end of the
// longest sequence are zeros.
TEST_F(DynamicRnnTest, GRUCellMatchesItsFormula) {
  nn::GRUCell cell(kUnits);
  ExpectFormula(cell, Gru, {2, 0, 1});
  EXPECT_THAT(VariableNames(),
              ElementsAre("model/rnn/gru_cell/gates/kernel[4,4]",
                          "model/rnn/gru_cell/gates/bias[4]",
                          "model/rnn/gru_cell/candidate/kernel[4,2]",
                          "model/rnn/gru_cell/candidate/bias[2]"));
}

TEST_F(DynamicRnnTest, StackedCellsAndTimeMajorInput) {
  std::vector<std::unique_ptr<nn::RNNCell>> cells;
  cells.push_back(std::make_unique<nn::GRUCell>(3));
  cells.push_back(std::make_unique<nn::BasicLSTMCell>(kUnits));
  nn::MultiRNNCell cell(std::move(cells));
  const auto plain = nn::DynamicRnn(WithPattern(), cell, inputs_);
  const Output by_time = ops::Transpose(root_, inputs_, {1, 0, 2});
  const auto transposed =
      nn::DynamicRnn(WithPattern(), cell, by_time, {.time_major = true});
  ASSERT_OK(root_.status());
  EXPECT_EQ(VariableNames()[2],
            "model/rnn/multi_rnn_cell/cell_0/gru_cell/candidate/kernel[5,3]");
  EXPECT_EQ(VariableNames().size(), 6u);  // each variable is created once
  ASSERT_OK_AND_ASSIGN(
      const auto got,
      Run({plain.outputs,
           ops::Transpose(root_, transposed.outputs, {1, 0, 2})}));
  EXPECT_TRUE(SameBits(got[0], got[1]));
}

TEST_F(DynamicRnnTest, GradientsMatchNumericalDifferences) {
  for (const bool with_lengths : {false, true}) {
    const Scope root = Scope::Root();
    const Output x =
        ops::Placeholder(root, DT_DOUBLE, {.shape = {kBatch, kSteps, kDepth}});
    nn::LSTMCell cell(kUnits, {.initializer = Pattern()});
    nn::DynamicRnnOptions options;
    if (with_lengths) {
      options.sequence_length = Input(Tensor::Vector({3, 0, 2}));
    }
    const auto [outputs, state] = nn::DynamicRnn(root, cell, x, options);
    Process process({.compute_threads = 2});
    ASSERT_OK_AND_ASSIGN(auto session,
                         Session::Connect("", root, {.process = &process}));
    ASSERT_OK(session->Run(ops::GlobalVariablesInitializer(root)));
    const Evaluate evaluate = [&](const FeedList& feeds,
                                  const Values& fetches) {
      return session->Run(feeds, fetches);
    };
    ASSERT_OK_AND_ASSIGN(const double error,
                         MaxGradientError(root, {outputs, state[0], state[1]},
                                          {x}, {values_}, evaluate));
    EXPECT_LT(error, 1e-6);
  }
}

TEST_F(DynamicRnnTest, InvalidInputsAreRejected) {
  nn::BasicLSTMCell cell(kUnits);
  const Scope root = Scope::Root();
  nn::DynamicRnn(root, cell, ops::Placeholder(root, DT_FLOAT, {.shape = {2}}));
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "inputs must have rank 3, not shape [2]"));
  const Scope other = Scope::Root();
  nn::BasicLSTMCell second(kUnits);
  nn::DynamicRnn(other, second,
                 ops::Placeholder(other, DT_FLOAT, {.shape = {2, 3, -1}}));
  EXPECT_THAT(other.status(), StatusIs(kInvalid,
                                       "Cell 'basic_lstm_cell': inputs must be "
                                       "[batch, depth] with a known depth"));
}

}  // namespace
}  // namespace weft
