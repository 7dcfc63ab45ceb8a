// Measures the coordinator's work for the sessions of a large cluster, all of
// which holds the coordinator's lock. Each worker places the same model on the
// parameter servers. Run with --config=opt.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/coordinator/resource_register.h"

namespace weft {
namespace {

constexpr int kServers = 20;

std::string Server(int i) { return absl::StrCat("/job:ps/replica:0/task:", i); }
std::string Worker(int i) {
  return absl::StrCat("/job:worker/replica:0/task:", i);
}

// Returns the resources of a worker: the model on the parameter servers, and a
// step counter on the worker itself.
std::vector<NodeResource> Model(int worker, int num_resources) {
  std::vector<NodeResource> model;
  const auto add = [&](NamedResource resource, const std::string& task) {
    std::string name = resource.name;
    model.push_back(
        {std::move(name), std::move(resource), task + "/device:CPU:0"});
  };
  for (int i = 1; i < num_resources; ++i) {
    add({"ps", absl::StrCat("model/layer_", i, "/kernel"), "Var", DT_FLOAT,
         PartialShape({1024, 256}), "VarHandleOp"},
        Server(i % kServers));
  }
  add({"worker", "local_step", "Var", DT_INT64, PartialShape({}),
       "VarHandleOp"},
      Worker(worker));
  return model;
}

void BM_ReplicasCome(benchmark::State& state) {
  const int num_workers = static_cast<int>(state.range(0));
  const int num_resources = static_cast<int>(state.range(1));
  for (auto _ : state) {
    ResourceRegister known(/*has_reports=*/true);
    for (int i = 0; i < kServers; ++i) known.AddTask(Server(i));
    for (int i = 0; i < num_workers; ++i) known.AddTask(Worker(i));
    for (int i = 0; i < num_workers; ++i) {
      state.PauseTiming();
      const std::vector<NodeResource> model = Model(i, num_resources);
      state.ResumeTiming();
      const uint64_t session = 1000003u * (i + 1);
      for (const NodeResource& one : model) known.Homes(one.resource);
      const auto comparison =
          known.Compare({session, Worker(i)}, model, known.NextTimestamp());
      if (!comparison.differences.empty()) std::abort();
      known.Declare({session, Worker(i)}, model);
    }
    state.PauseTiming();
    const int num_entries = known.num_entries();
    if (num_entries != num_resources - 1 + num_workers) std::abort();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * num_workers * num_resources);
}
BENCHMARK(BM_ReplicasCome)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"workers", "resources"})
    ->Args({50, 600})
    ->Args({500, 600})
    ->Args({500, 6000});

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
