// Runs a cluster of two parameter servers and three workers in one program, and
// a graph whose parts run on three of the tasks. Prints 4.0.
#include <cstdio>
#include <memory>
#include <vector>

#include "libs/api/weft.h"

namespace {

absl::Status Main() {
  const weft::ClusterSpec cluster = {
      {"ps", {"localhost:0", "localhost:0"}},
      {"worker", {"localhost:0", "localhost:0", "localhost:0"}}};
  weft::Process process;
  std::vector<std::unique_ptr<weft::Server>> servers;
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      ASSIGN_OR_RETURN(auto server,
                       weft::Server::Create(cluster, {.job_name = job,
                                                      .task_index = index,
                                                      .process = &process}));
      servers.push_back(std::move(server));
    }
  }

  weft::Scope root = weft::Scope::Root();
  weft::ops::Variable a(root.WithDevice("/job:ps").WithName("a"), 1.0f);
  auto b =
      weft::ops::Add(root.WithDevice("/job:worker").WithName("b"), a, 2.0f);
  auto c =
      weft::ops::Add(root.WithDevice("/job:worker/task:1").WithName("c"), a, b);

  ASSIGN_OR_RETURN(auto session,
                   weft::Session::Connect(servers.front()->target(), root));
  RETURN_IF_ERROR(session->Run(a.initializer()));
  ASSIGN_OR_RETURN(weft::Tensor value, session->Run(c));
  std::printf("%.1f\n", value.scalar<float>());
  return session->Close();
}

}  // namespace

int main() {
  const absl::Status status = Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
