#include "integration_tests/testing/graph_fuzz_targets.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/bounded_task.h"
#include "integration_tests/testing/node_maker.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/base/text_proto.h"
#include "libs/graph/graph.h"
#include "libs/graph/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process.h"
#include "libs/session/sync_call.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// A small graph can ask for much work; one of these sizes can't.
constexpr int kMaxNodes = 64;
constexpr int64_t kMaxConstantElements = 4096;
constexpr size_t kTensorBytes = size_t{64} << 10;
constexpr size_t kTaskBytes = size_t{16} << 20;
constexpr int kMaxRuns = 4;
constexpr absl::Duration kTimeout = absl::Milliseconds(100);

// libFuzzer calls a function; threads are not to be started for each case.
Process& TheProcess() {
  static auto* const process = new Process({.compute_threads = 2});
  return *process;
}

// Of all tensors inside, as their shapes say; whatever they are part of.
int64_t ConstantElements(const tf::TensorProto& tensor) {
  double elements = 1;
  for (const auto& dim : tensor.tensor_shape().dim()) {
    elements *= static_cast<double>(std::max<int64_t>(dim.size(), 0));
  }
  for (const auto& variant : tensor.variant_val()) {
    for (const auto& inner : variant.tensors()) {
      elements += static_cast<double>(ConstantElements(inner));
    }
  }
  return static_cast<int64_t>(std::min(elements, 1e12));
}

bool IsSmall(const tf::GraphDef& def) {
  if (def.node_size() > kMaxNodes) return false;
  int64_t elements = 0;
  for (const tf::NodeDef& node : def.node()) {
    for (const auto& [name, value] : node.attr()) {
      if (value.has_tensor()) elements += ConstantElements(value.tensor());
      for (const auto& tensor : value.list().tensor()) {
        elements += ConstantElements(tensor);
      }
    }
  }
  return elements <= kMaxConstantElements;
}

// What was understood is written, and understood the same.
void CheckExport(const Graph& graph) {
  const std::string bytes = ExportGraphDef(graph);
  Graph again(graph.registry());
  RequireForFuzz(ImportGraphDef(bytes, again).ok());
  RequireForFuzz(ExportGraphDef(again) == bytes);
}

// One session with the graph.
class Runs {
 public:
  Runs(BoundedTask& task, const Graph& graph) : task_(task), graph_(graph) {
    for (const Node* node : graph.nodes()) {
      const Tensor* value = node->attr<Tensor>(kFedValueAttr);
      if (value == nullptr || node->num_outputs() == 0) continue;
      feeds_.push_back(absl::StrCat(node->name(), ":0"));
      values_.push_back(*value);
    }
  }

  void RunAll(const std::string& bytes) {
    const auto session = task_.master().CreateSession({});
    if (!session.ok()) return;
    session_ = *session;
    if (task_.master().ExtendSession(session_, {bytes, 0}).ok()) {
      const int count = graph_.num_nodes();
      bool goes_on = true;
      for (int i = count - 1; goes_on && i >= 0 && i > count - kMaxRuns; --i) {
        goes_on = RunNode(*graph_.node(i));
      }
      if (goes_on) RunEverything();
    }
    RequireForFuzz(task_.master().CloseSession(session_).ok());
  }

 private:
  // False when no more is to be run: it took too long.
  bool RunNode(const Node& node) {
    protocol::CallableSpec spec;
    spec.targets = {node.name()};
    for (int i = 0; i < std::min(node.num_outputs(), 3); ++i) {
      spec.fetches.push_back(absl::StrCat(node.name(), ":", i));
    }
    // What has no value, or a handle for one, can't be fetched, but be run.
    return Run(spec) && Run({.targets = {node.name()}});
  }

  void RunEverything() {
    protocol::CallableSpec spec;
    for (const Node* node : graph_.nodes())
      spec.targets.push_back(node->name());
    (void)Run(spec);
  }

  bool Run(protocol::CallableSpec spec) {
    spec.feeds = feeds_;
    const auto callable = task_.master().MakeCallable(session_, spec);
    if (!callable.ok()) return true;
    std::vector<Tensor> fetches(spec.fetches.size());
    SyncCall call(task_.scheduler());
    task_.master().RunCallable(session_, *callable,
                               {.feeds = values_,
                                .fetches = absl::MakeSpan(fetches),
                                .timeout = kTimeout,
                                .thread = protocol::CallingThread::kWaits},
                               call.Done());
    const absl::Status status = call.Wait();
    for (const Tensor& fetch : fetches) (void)fetch.ToString();
    return !absl::IsDeadlineExceeded(status);
  }

  BoundedTask& task_;
  const Graph& graph_;
  uint64_t session_ = 0;
  std::vector<std::string> feeds_;
  std::vector<Tensor> values_;
};

void FuzzParsed(const tf::GraphDef& def) {
  if (!IsSmall(def)) return;
  const std::string bytes = def.SerializeAsString();
  Graph graph(StandardOps());
  if (!ImportGraphDef(bytes, graph).ok()) return;
  CheckExport(graph);
  BoundedTask task(TheProcess(), kTensorBytes, kTaskBytes);
  Runs(task, graph).RunAll(bytes);
}

}  // namespace

void FuzzGraphDef(absl::string_view bytes) {
  tf::GraphDef def;
  if (def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    FuzzParsed(def);
  }
}

void FuzzGraphText(absl::string_view text) {
  tf::GraphDef def;
  if (ParseTextProto(text, def, {.allow_unknown_fields = true}).ok()) {
    FuzzParsed(def);
  }
}

}  // namespace weft
