#include "benchmarks/training/model_cluster.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/common/replicas.h"
#include "benchmarks/common/service_processes.h"
#include "benchmarks/common/worker_task.h"
#include "libs/graph/import/graph_def.h"

namespace weft::benchmarks {
namespace {

// Returns whether the node is colocated with another node. A variable that is
// colocated with itself, as TensorFlow records it, does not count.
bool FollowsAnother(const Node& node) {
  const auto* classes = node.attr<std::vector<std::string>>("_class");
  if (classes == nullptr) return false;
  const std::string itself = absl::StrCat("loc:@", node.name());
  return std::any_of(classes->begin(), classes->end(),
                     [&](const std::string& c) { return c != itself; });
}

// Requests the devices that ReplicaDeviceSetter would set. Colocated nodes
// request no device, because they are placed with other nodes.
void PlaceReplica(const ClusterSpec& cluster, const std::string& worker_device,
                  Graph& graph) {
  const auto device_of =
      ReplicaDeviceSetter({.worker_device = worker_device, .cluster = cluster});
  Check(device_of.status());
  for (const Node* node : graph.nodes()) {
    if (FollowsAnother(*node)) continue;
    const auto device = (*device_of)({.name = node->name(),
                                      .op = node->type(),
                                      .device = node->requested_device()});
    Check(device.status());
    graph.set_requested_device(node, *device);
  }
}

// One replica, with a server, the graph and a session.
class ModelWorker {
 public:
  ModelWorker(const ClusterSpec& cluster, int index, const std::string& graph,
              const SessionOptions& options)
      : task_(cluster, index) {
    Check(ImportGraphDef(graph, root_.graph()));
    PlaceReplica(cluster, task_.device(), root_.graph());
    session_ = task_.Connect(root_, options);
  }

  void Initialize() {
    Check(session_->RunNamed({}, {}, {"init_all"}).status());
  }

  // Runs a training step and returns its loss.
  float Step() {
    const auto fetched = session_->RunNamed({}, {"loss:0"}, {"train"});
    Check(fetched.status());
    return (*fetched)[0].flat<float>()[0];
  }

 private:
  // Declared in this order, because members are destroyed in reverse order.
  WorkerTask task_;
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

// Runs the process of a worker. The first worker also reports its last loss.
void Work(const ClusterSpec& cluster, int index, const std::string& graph,
          const ModelClusterOptions& options, Lines& main) {
  if (index != 0) main.Read();  // waits until the variables are initialized
  ModelWorker worker(cluster, index, graph, options.session);
  if (index == 0) {
    worker.Initialize();
    main.Write("initialized");
  }
  for (int i = 0; i < kWarmupSteps; ++i) worker.Step();
  float loss = 0;
  ReportTimed(main, [&] {
    const double end = Now() + options.seconds;
    int left = options.steps;
    return TimeSteps([&] {
      loss = worker.Step();
      return --left > 0 && Now() < end;
    });
  });
  if (index == 0) main.Write(absl::StrCat(loss));
  main.Read();  // waits until all workers have finished
}

}  // namespace

void MeasureModelCluster(const std::string& name, const std::string& graph,
                         const ModelClusterOptions& options, Report& report) {
  ServiceProcesses services({{"ps", options.ps}, {"worker", options.workers}},
                            {"worker"});
  Workers workers;
  for (int i = 0; i < options.workers; ++i) {
    workers.emplace_back([&, i](Lines& main) {
      Work(services.spec(), i, graph, options, main);
    });
  }
  const std::vector<Timed> timed = TimeTogether(workers, options.workers);
  const Total total = TotalOf(timed);
  report.Value(name + "_global_steps", total.steps / total.seconds, "steps/s");
  report.Latency(name + "_worker0_step", timed[0].timing);
  report.Value(name + "_loss", std::stod(workers[0].lines().Read()), "nats");
}

}  // namespace weft::benchmarks
