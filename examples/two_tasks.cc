// Trains with variables on a parameter server and computation on a worker. This
// program is their client, and each is a separate process:
//
//   CLUSTER='{"ps": ["localhost:2222"], "worker": ["localhost:2223"]}'
//   bazel run //services/ps -- --cluster="$CLUSTER" &
//   bazel run //services/worker -- --cluster="$CLUSTER" &
//   bazel run //examples:two_tasks -- zmq://localhost:2223
//
// Fits a straight line to five points and prints the decreasing loss. If the
// program is run again, it continues from the weights on the parameter server.
// With `init` it starts over.
#include <cstdio>
#include <string>

#include "examples/usage.h"
#include "libs/api/weft.h"

namespace {

constexpr int kSteps = 200;

struct Model {
  weft::ops::Variable slope, offset;
  weft::Output loss;
  weft::Operation train;
};

// Builds a linear model, and points of y = 2 x - 1 for training.
Model BuildModel(const weft::Scope& root) {
  const weft::Scope ps = root.WithDevice("/job:ps/task:0/cpu:0");
  const weft::Scope worker = root.WithDevice("/job:worker/task:0/cpu:0");
  weft::ops::Variable slope(ps.WithName("slope"), 0.0f);
  weft::ops::Variable offset(ps.WithName("offset"), 0.0f);
  auto x = weft::ops::Const(worker, {0.0f, 1.0f, 2.0f, 3.0f, 4.0f});
  auto y = weft::ops::Const(worker, {-1.0f, 1.0f, 3.0f, 5.0f, 7.0f});
  auto predicted =
      weft::ops::Add(worker, weft::ops::Mul(worker, slope, x), offset);
  auto error = weft::ops::Square(worker, weft::ops::Sub(worker, predicted, y));
  auto loss = weft::ops::Mean(worker, error, 0);
  auto train = weft::train::GradientDescent(0.05f).Minimize(worker, loss);
  return {slope, offset, loss, train};
}

absl::Status Main(const std::string& target, bool init) {
  weft::Scope root = weft::Scope::Root();
  const Model model = BuildModel(root);
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  if (init) {
    RETURN_IF_ERROR(session->Run(weft::ops::GlobalVariablesInitializer(root)));
  }
  for (int step = 0; step < kSteps; ++step) {
    RETURN_IF_ERROR(session->Run(model.train));
  }
  ASSIGN_OR_RETURN(auto values,
                   session->Run({}, {model.slope, model.offset, model.loss}));
  std::printf("y = %.3f x %+.3f, loss %.6f\n", values[0].scalar<float>(),
              values[1].scalar<float>(), values[2].scalar<float>());
  return session->Close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-' ||
      (argc == 3 && std::string(argv[2]) != "init")) {
    return weft::examples::ShowUsage(
        argc, argv, "TARGET [init]",
        "TARGET: a task of a cluster with a ps and a worker, zmq://HOST:PORT. "
        "init: begin with new weights.");
  }
  const absl::Status status = Main(argv[1], argc == 3);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
