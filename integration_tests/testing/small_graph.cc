#include "integration_tests/testing/small_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/node_maker.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/process.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// Larger graphs are rejected, because they could request excessive work.
constexpr int kMaxNodes = 64;
constexpr int64_t kMaxConstantElements = 4096;
constexpr size_t kTensorBytes = size_t{64} << 10;
constexpr size_t kTaskBytes = size_t{16} << 20;
constexpr int kMaxRuns = 4;
constexpr int kMaxFetches = 3;
constexpr absl::Duration kTimeout = absl::Milliseconds(100);

// Returns a process that all cases share. libFuzzer calls a function for each
// case, so threads are started only once.
Process& TheProcess() {
  static auto* const process = new Process({.compute_threads = 2});
  return *process;
}

// Returns the number of elements of all tensors in the proto, computed from
// their shapes.
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

int64_t ConstantElements(const tf::NodeDef& node) {
  int64_t elements = 0;
  for (const auto& [name, value] : node.attr()) {
    if (value.has_tensor()) elements += ConstantElements(value.tensor());
    for (const auto& tensor : value.list().tensor()) {
      elements += ConstantElements(tensor);
    }
  }
  return elements;
}

bool IsSmall(const tf::GraphDef& def) {
  int num_nodes = def.node_size();
  int64_t elements = 0;
  for (const tf::NodeDef& node : def.node()) {
    elements += ConstantElements(node);
  }
  for (const tf::FunctionDef& function : def.library().function()) {
    num_nodes += 1 + function.node_def_size();
    for (const tf::NodeDef& node : function.node_def()) {
      elements += ConstantElements(node);
    }
  }
  return num_nodes <= kMaxNodes && elements <= kMaxConstantElements;
}

int FusedNodes(const std::string& graph) {
  tf::GraphDef def;
  RequireForFuzz(def.ParseFromString(graph));
  return static_cast<int>(std::count_if(
      def.node().begin(), def.node().end(), [](const tf::NodeDef& node) {
        return absl::StartsWith(node.op(), "_Fused");
      }));
}

}  // namespace

SmallGraph::SmallGraph(std::string bytes)
    : bytes_(std::move(bytes)), graph_(StandardOps()) {}

std::unique_ptr<SmallGraph> SmallGraph::Of(const tf::GraphDef& def) {
  if (!IsSmall(def)) return nullptr;
  std::unique_ptr<SmallGraph> small(new SmallGraph(def.SerializeAsString()));
  if (!ImportGraphDef(small->bytes_, small->graph_).ok()) return nullptr;
  for (const Node* node : small->graph_.nodes()) {
    const Tensor* value = node->attr<Tensor>(kFedValueAttr);
    if (value == nullptr || node->num_outputs() == 0) continue;
    small->feeds_.push_back(absl::StrCat(node->name(), ":0"));
    small->values_.push_back(*value);
  }
  return small;
}

protocol::CallableSpec SmallGraph::SpecOf(const Node& node) const {
  protocol::CallableSpec spec;
  spec.feeds = feeds_;
  spec.targets = {node.name()};
  return spec;
}

std::vector<protocol::CallableSpec> SmallGraph::Specs() const {
  std::vector<protocol::CallableSpec> specs;
  const int count = graph_.num_nodes();
  for (int n = count - 1; n >= 0 && n > count - kMaxRuns; --n) {
    const Node& node = *graph_.node(n);
    protocol::CallableSpec spec = SpecOf(node);
    for (int i = 0; i < std::min(node.num_outputs(), kMaxFetches); ++i) {
      spec.fetches.push_back(absl::StrCat(node.name(), ":", i));
    }
    specs.push_back(std::move(spec));
    // A node without outputs, or whose output is a handle, cannot be fetched,
    // so it is a target.
    specs.push_back(SpecOf(node));
  }
  protocol::CallableSpec everything;
  everything.feeds = feeds_;
  for (const Node* node : graph_.nodes()) {
    everything.targets.push_back(node->name());
  }
  specs.push_back(std::move(everything));
  return specs;
}

std::vector<protocol::CallableSpec> SmallGraph::NodeSpecs() const {
  std::vector<protocol::CallableSpec> specs;
  for (const Node* node : graph_.nodes()) specs.push_back(SpecOf(*node));
  return specs;
}

GraphSession::GraphSession(const SmallGraph& graph, const GraphOptions& options)
    : graph_(graph), task_(TheProcess(), kTensorBytes, kTaskBytes) {
  const auto session = master().CreateSession({.graph_options = options});
  RequireForFuzz(session.ok());
  session_ = *session;
  ready_ = master().ExtendSession(session_, {graph_.bytes(), 0}).status();
}

GraphSession::~GraphSession() {
  RequireForFuzz(master().CloseSession(session_).ok());
}

GraphSession::Outcome GraphSession::Run(const protocol::CallableSpec& spec) {
  if (!ready_.ok()) return {ready_, {}};
  const auto callable = master().MakeCallable(session_, spec);
  if (!callable.ok()) return {callable.status(), {}};
  Outcome outcome;
  outcome.fetches.resize(spec.fetches.size());
  RunMetadata metadata;
  SyncCall call(task_.scheduler());
  task_.master().RunCallable(
      session_, *callable,
      {.feeds = graph_.fed_values(),
       .fetches = absl::MakeSpan(outcome.fetches),
       .timeout = kTimeout,
       .thread = protocol::CallingThread::kWaits,
       .wanted = {.output_partition_graphs = counts_fused_},
       .metadata = counts_fused_ ? &metadata : nullptr},
      call.Done());
  outcome.status = call.Wait();
  for (const Tensor& fetch : outcome.fetches) (void)fetch.ToString();
  for (const std::string& graph : metadata.partition_graphs) {
    outcome.fused_nodes += FusedNodes(graph);
  }
  return outcome;
}

std::vector<GraphSession::Outcome> GraphSession::RunAll(
    const std::vector<protocol::CallableSpec>& specs) {
  std::vector<Outcome> outcomes;
  for (const protocol::CallableSpec& spec : specs) {
    outcomes.push_back(Run(spec));
    if (absl::IsDeadlineExceeded(outcomes.back().status)) break;
  }
  return outcomes;
}

}  // namespace weft
