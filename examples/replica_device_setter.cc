// Assigns variables to two parameter servers and all other nodes to workers:
//
//   replica_device_setter                        # runs a cluster here
//   replica_device_setter zmq://localhost:2222   # a task of a cluster with
//                                                # 2 ps and 2 workers
//
// Prints the devices that the setter chooses for five variables, and then the
// placement of each node of a small graph and the result of the graph.
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"

namespace {

// Prints the devices that the setter chooses for five variables, which needs no
// cluster.
absl::Status ShowFiveVariables() {
  weft::Scope root = weft::Scope::Root();
  auto model =
      root.WithDeviceFunction(weft::ReplicaDeviceSetter({.ps_tasks = 2}));
  for (int i = 1; i <= 5; ++i) {
    weft::ops::Variable v(model.WithName(absl::StrCat("v", i)),
                          static_cast<float>(i));
    RETURN_IF_ERROR(root.status());
    std::printf("%s is on %s\n", v.name().c_str(),
                v.handle().node()->requested_device().c_str());
  }
  return absl::OkStatus();
}

absl::Status Main(const std::string& target, bool is_remote) {
  RETURN_IF_ERROR(ShowFiveVariables());

  weft::Scope root = weft::Scope::Root();
  auto model = root.WithDeviceFunction(weft::ReplicaDeviceSetter(
      {.ps_tasks = 2, .ps_device = "/job:ps", .worker_device = "/job:worker"}));
  // Uses reference variables like tf.Variable. They have the nodes v1,
  // v1/Assign and v1/read.
  const weft::ops::VariableOptions by_reference = {.use_resource = false};
  weft::ops::Variable v1(model.WithName("v1"), 1.0f, by_reference);
  weft::ops::Variable v2(model.WithName("v2"), 2.0f, by_reference);
  weft::ops::Variable v3(model.WithName("v3"), 3.0f, by_reference);
  auto s = weft::ops::Add(model.WithName("add"), v1, v2);
  auto task1 = model.WithDevice("/task:1");
  auto p1 = weft::ops::Mul(task1.WithName("mul"), 2.0f, s);
  auto p2 = weft::ops::Mul(task1.WithDevice("/cpu:0").WithName("mul"), 3.0f, s);

  ASSIGN_OR_RETURN(
      auto session,
      weft::Session::Connect(target, root, {.log_device_placement = true}));
  RETURN_IF_ERROR(session->Run(weft::ops::GlobalVariablesInitializer(root)));
  // If the master is another process, it has printed the placement there, so it
  // is printed here, too.
  if (is_remote) {
    for (const auto& node : session->Placement()) {
      std::printf("%s\n", node.ToString().c_str());
    }
  }
  ASSIGN_OR_RETURN(auto values, session->Run({}, {s, p1, p2, v3}));
  std::printf("s = %.1f, p1 = %.1f, p2 = %.1f, v3 = %.1f\n",
              values[0].scalar<float>(), values[1].scalar<float>(),
              values[2].scalar<float>(), values[3].scalar<float>());
  return session->Close();
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_remote = argc > 1;
  return weft::examples::RunOnCluster(
      argc, argv, {{"ps", 2}, {"worker", 2}},
      [&](const std::string& target) { return Main(target, is_remote); });
}
