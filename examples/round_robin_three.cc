// Places the variables of a network on three parameter servers, first round
// robin and then by size:
//
//   round_robin_three                        # runs a cluster in this program
//   round_robin_three zmq://localhost:2222   # a task of a cluster with 3 ps
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"

namespace {

constexpr int kPsTasks = 3;

// Shows the result of one strategy. Each strategy uses its own container. In
// one container, both strategies would place a variable with the same name on
// different servers, which is an error.
absl::Status Show(const std::string& target, const char* title,
                  const char* container, const weft::PsStrategy& strategy) {
  weft::Scope root = weft::Scope::Root().WithContainer(container);
  auto model = root.WithDeviceFunction(weft::ReplicaDeviceSetter(
      {.ps_tasks = kPsTasks, .worker_device = "", .strategy = strategy}));
  const std::vector<weft::ops::Variable> variables = {
      weft::ops::GetVariable(model, "weights_1", {784, 100}),
      weft::ops::GetVariable(model, "biases_1", {100}),
      weft::ops::GetVariable(model, "weights_2", {100, 10}),
      weft::ops::GetVariable(model, "biases_2", {10})};

  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  RETURN_IF_ERROR(session->Run(weft::ops::GlobalVariablesInitializer(root)));
  std::printf("%s:\n", title);
  for (const weft::ops::Variable& variable : variables) {
    ASSIGN_OR_RETURN(weft::Tensor value, session->Run(variable));
    const int64_t bytes = value.num_elements() * int64_t{sizeof(float)};
    std::printf("%-9s %6lld bytes on %s\n", variable.name().c_str(),
                static_cast<long long>(bytes),
                variable.handle().node()->requested_device().c_str());
  }
  return session->Close();
}

absl::Status Main(const std::string& target) {
  RETURN_IF_ERROR(
      Show(target, "round robin", "round_robin", weft::RoundRobin(kPsTasks)));
  return Show(target, "greedy, by bytes", "greedy",
              weft::GreedyLoadBalancing(kPsTasks));
}

}  // namespace

int main(int argc, char** argv) {
  return weft::examples::RunOnCluster(argc, argv, {{"ps", kPsTasks}}, Main);
}
