// control_flow measures an iteration of a loop, and a training step of a
// recurrent network, in this process.
//
// while_10000: i = 0; while (i < 10000) i = i + 1.
// while_gradient_1000: x = tanh(x * w), repeated 1000 times, for a vector of 16
// elements, with its gradients.
// char_rnn: a training step of examples/char_rnn by gradient descent, with an
// LSTM of 128 units over 32 characters of 16 pieces, with 64 different
// characters.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "benchmarks/common/report.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 200, "Steps to time for each metric.");
ABSL_FLAG(double, seconds, 5.0, "Time limit of each measurement.");

namespace weft::benchmarks {
namespace {

using Values = std::vector<Output>;

Timing Time(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 5,
                 absl::GetFlag(FLAGS_seconds));
}

void MeasureCounter(Report& report) {
  constexpr int kCount = 10000;
  const Scope root = Scope::Root();
  const Values last = ops::WhileLoop(
      root, {0},
      [](const Scope& s, const Values& v) {
        return ops::Less(s, v[0], kCount);
      },
      [](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1)};
      });
  auto session = Session::Connect("", root);
  Check(session.status());
  const Timing timing = Time([&] { Check((*session)->Run(last[0]).status()); });
  report.Latency("while_10000", timing);
  report.Value("while_10000_iteration", timing.Quantile(0.5) / kCount * 1e9,
               "ns/iteration");
}

void MeasureGradient(Report& report) {
  constexpr int kCount = 1000;
  const Scope root = Scope::Root();
  const Output x = root.ToOutput(Tensor(DT_FLOAT, TensorShape({16})));
  const Output w = ops::Fill(root, {16}, 0.5f);
  const Values last = ops::WhileLoop(
      root, {0, x},
      [](const Scope& s, const Values& v) {
        return ops::Less(s, v[0], kCount);
      },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Tanh(s, ops::Mul(s, v[1], w))};
      });
  const auto gradients = AddGradients(root, {last[1]}, {x, w});
  Check(gradients.status());
  const Values fetches = {(*gradients)[0].dense, (*gradients)[1].dense};
  auto session = Session::Connect("", root);
  Check(session.status());
  const Timing timing =
      Time([&] { Check((*session)->Run(FeedList(), fetches).status()); });
  report.Latency("while_gradient_1000", timing);
  report.Value("while_gradient_1000_iteration",
               timing.Quantile(0.5) / kCount * 1e9, "ns/iteration");
}

void MeasureCharRnn(Report& report) {
  constexpr int kBatch = 16, kLength = 32, kCharacters = 64, kUnits = 128;
  const Scope root = Scope::Root();
  root.SetGraphSeed(1);
  Tensor characters(DT_INT32, {kBatch, kLength});
  for (int i = 0; i < kBatch * kLength; ++i) {
    characters.mutable_flat<int32_t>()[i] = (i * 7) % kCharacters;
  }
  const Output fed =
      ops::Placeholder(root, DT_INT32, {.shape = {kBatch, kLength}});
  nn::BasicLSTMCell cell(kUnits);
  const auto [outputs, state] = nn::DynamicRnn(
      root, cell, ops::OneHot(root, fed, kCharacters, 1.0f, 0.0f));
  const auto w = ops::GetVariable(root, "w", {kUnits, kCharacters});
  const Output logits =
      ops::MatMul(root, ops::Reshape(root, outputs, {-1, kUnits}), w);
  const Output loss =
      ops::Mean(root,
                nn::SparseSoftmaxCrossEntropyWithLogits(
                    root, ops::Reshape(root, fed, {-1}), logits),
                {0});
  const Operation train = train::GradientDescent(0.1f).Minimize(root, loss);
  auto session = Session::Connect("", root);
  Check(session.status());
  Check((*session)->Run(ops::GlobalVariablesInitializer(root)));
  const Timing timing = Time([&] {
    Check((*session)->Run({{fed, characters}}, {loss}, {train}).status());
  });
  report.Latency("char_rnn_step", timing);
  report.Value("char_rnn_rate", timing.steps_per_second, "steps/s");
}

void Main() {
  Report report("control_flow");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));
  MeasureCounter(report);
  MeasureGradient(report);
  MeasureCharRnn(report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Loops, their gradients, a recurrent network.");
  weft::benchmarks::Main();
}
