// Measures placing a large graph on a large cluster. Run with --config=opt.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "libs/placement/placer.h"

namespace weft {
namespace {

// Layers, each with a variable that is colocated with the one before in blocks
// of ten, a read, an op on it, and a constant.
PlacementGraph Layers(int num_nodes, int num_ps) {
  PlacementGraph graph;
  for (int i = 0; i + 4 <= num_nodes; i += 4) {
    const int layer = i / 4;
    const std::string name = absl::StrCat("layer_", layer);
    graph.nodes.push_back(
        {.name = name,
         .op = "VarHandleOp",
         .requested_device = absl::StrCat("/job:ps/task:", layer / 10 % num_ps),
         .kernel_types = {"CPU", "GPU"},
         .resource = NamedResource{.name = name, .kind = "Var"}});
    if (layer % 10 != 0) {
      graph.nodes.back().colocate_with = {absl::StrCat("layer_", layer - 1)};
    }
    graph.nodes.push_back({.name = absl::StrCat(name, "/read"),
                           .op = "ReadVariableOp",
                           .kernel_types = {"CPU", "GPU"},
                           .inputs = {{i, true}}});
    graph.nodes.push_back({.name = absl::StrCat(name, "/one"),
                           .op = "Const",
                           .kernel_types = {"CPU", "GPU"},
                           .is_generator = true});
    graph.nodes.push_back({.name = absl::StrCat(name, "/add"),
                           .op = "Add",
                           .kernel_types = {"CPU", "GPU"},
                           .inputs = {{i + 1}, {i + 2}}});
  }
  return graph;
}

void BM_PlaceNodes(benchmark::State& state) {
  const int num_nodes = static_cast<int>(state.range(0));
  const int num_tasks = static_cast<int>(state.range(1));
  const PlacementGraph graph = Layers(num_nodes, num_tasks);
  std::vector<DeviceAttributes> devices;
  for (const char* job : {"ps", "worker"}) {
    for (int task = 0; task < num_tasks; ++task) {
      devices.push_back({.name = absl::StrCat("/job:", job, "/replica:0/task:",
                                              task, "/device:CPU:0"),
                         .device_type = "CPU"});
    }
  }
  const PlacementOptions options{.default_task = "/job:worker/replica:0/task:0",
                                 .explain = state.range(2) != 0};
  for (auto _ : state) {
    const auto placement = PlaceNodes(
        graph, devices,
        [](const NamedResource&, const std::string&) { return false; },
        options);
    if (!placement.ok()) std::abort();
  }
  state.SetLabel("goal: 100000 nodes in at most 200 ms");
}
BENCHMARK(BM_PlaceNodes)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"nodes", "tasks", "explain"})
    ->Args({100000, 2, 0})
    ->Args({100000, 500, 0})
    ->Args({100000, 500, 1});

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
