// Two models use variables with the same names without conflict: first in
// separate containers, and then in one container with different name scopes.
//
//   containers                        # runs a cluster in this program
//   containers zmq://localhost:2222   # a task of a cluster with a ps
#include <cstdio>
#include <string>

#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"

namespace {

constexpr char kDevice[] = "/job:ps/task:0";

struct Model {
  explicit Model(const std::string& container)
      : root(weft::Scope::Root().WithContainer(container)),
        w(root.WithDevice(kDevice).WithName("w"), 0.0f),
        value(weft::ops::Placeholder(root.WithName("value"), weft::DT_FLOAT)),
        set(weft::ops::Assign(root.WithDevice(kDevice), w, value)) {}

  weft::Scope root;
  weft::ops::Variable w;
  weft::Output value;
  weft::Operation set;
};

// Assigns the variable in a separate session. The variable outlives the
// session.
absl::Status Set(const std::string& target, const std::string& container,
                 float value) {
  Model model(container);
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, model.root));
  RETURN_IF_ERROR(
      session->Run({{model.value, weft::Tensor::Scalar(value)}}, model.set));
  return session->Close();
}

absl::Status Show(const std::string& target, const std::string& container) {
  Model model(container);
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, model.root));
  absl::StatusOr<weft::Tensor> value = session->Run(model.w);
  if (absl::IsFailedPrecondition(value.status())) {
    std::printf("%s: w is not initialized\n", container.c_str());
  } else {
    RETURN_IF_ERROR(value);
    std::printf("%s: w = %.1f\n", container.c_str(), value->scalar<float>());
  }
  return session->Close();
}

absl::Status ShowScopes(const std::string& target) {
  weft::Scope root = weft::Scope::Root();
  auto ps = root.WithDevice(kDevice);
  auto first =
      weft::ops::GetVariable(weft::ops::VariableScope(ps, "my_problem_1"), "w",
                             {.initial_value = 3.0f});
  auto second =
      weft::ops::GetVariable(weft::ops::VariableScope(ps, "my_problem_2"), "w",
                             {.initial_value = 4.0f});
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  RETURN_IF_ERROR(session->Run(weft::ops::GlobalVariablesInitializer(root)));
  ASSIGN_OR_RETURN(auto values, session->Run({}, {first, second}));
  std::printf("%s = %.1f\n%s = %.1f\n", first.name().c_str(),
              values[0].scalar<float>(), second.name().c_str(),
              values[1].scalar<float>());
  return session->Close();
}

absl::Status Main(const std::string& target) {
  RETURN_IF_ERROR(Set(target, "model_1", 1.0f));
  RETURN_IF_ERROR(Set(target, "model_2", 2.0f));
  RETURN_IF_ERROR(Show(target, "model_1"));
  RETURN_IF_ERROR(Show(target, "model_2"));
  std::printf("reset of model_1\n");
  RETURN_IF_ERROR(weft::Session::Reset(target, {"model_1"}));
  RETURN_IF_ERROR(Show(target, "model_1"));
  RETURN_IF_ERROR(Show(target, "model_2"));
  return ShowScopes(target);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::examples::RunOnCluster(argc, argv, {{"ps", 1}}, Main);
}
