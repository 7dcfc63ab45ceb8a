#include "libs/master/session_graph.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/async/free_on.h"
#include "libs/base/exceptions.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/unknown_op.h"
#include "libs/master/coordinator_call.h"

namespace weft {

SessionGraph::SessionGraph(uint64_t session,
                           const protocol::SessionConfig& config,
                           const MasterOptions& options)
    : session_(session),
      config_(config),
      options_(options),
      extensions_(*options.scheduler),
      graph_(options.ops),
      expander_(graph_, options.functions) {}

void SessionGraph::Extend(const OpenCalls::CallPtr& open,
                          protocol::GraphExtension extension,
                          absl::Time deadline, Extended done) {
  auto pending =
      std::make_shared<Extension>(Extension{.open = open,
                                            .extension = std::move(extension),
                                            .deadline = deadline,
                                            .done = std::move(done)});
  extensions_.Lock(deadline, open->cancellation(),
                   [this, pending](const absl::Status& locked) {
                     if (locked.ok()) return ExtendLocked(pending);
                     if (!absl::IsDeadlineExceeded(locked)) {
                       return pending->done(locked);
                     }
                     pending->done(absl::DeadlineExceededError(
                         "An earlier extension of the session's graph is still "
                         "being placed."));
                   });
}

void SessionGraph::ExtendLocked(ExtensionPtr pending) {
  absl::Status begun = pending->open->cancellation()->status();
  if (begun.ok()) begun = BeginExtension(*pending);
  if (!begun.ok()) return Answer(*pending, std::move(begun));
  if (pending->answered) return Answer(*pending, *std::move(pending->answered));
  Place(std::move(pending));
}

void SessionGraph::Answer(Extension& pending,
                          absl::StatusOr<protocol::ExtensionResult> result) {
  extensions_.Unlock();
  pending.done(std::move(result));
}

absl::Status SessionGraph::BeginExtension(Extension& pending) {
  const protocol::GraphExtension& extension = pending.extension;
  absl::MutexLock lock(&mutex_);
  pending.first_id = num_nodes_;
  if (extension.from_version == version_ - 1 &&
      absl::HashOf(extension.graph_def) == last_extension_) {
    pending.answered = last_result_;
    return absl::OkStatus();
  }
  if (extension.from_version != version_) {
    return absl::AbortedError(absl::StrCat("Current version is ", version_,
                                           " but caller expected ",
                                           extension.from_version, "."));
  }
  functions_ = graph_.shared_functions();
  absl::Status begun = CatchExceptions([&]() -> absl::Status {
    mutex_.AssertHeld();
    RETURN_IF_ERROR(Import(pending));
    pending.request = DescribeRequest();
    return absl::OkStatus();
  });
  if (!begun.ok()) Undo();
  return begun;
}

std::shared_ptr<const protocol::PlacementRequest>
SessionGraph::DescribeRequest() {
  protocol::PlacementRequest request = {
      .session = session_,
      .task = options_.task,
      .incarnation = options_.incarnation,
      .graph = DescribeForPlacement(graph_, num_nodes_, options_.device_types),
      .allow_soft_placement = config_.allow_soft_placement,
      .isolated = config_.isolate_session_state,
      .device_filters = config_.device_filters};
  return FreeOn(
      *options_.scheduler, Pool::kGraph,
      std::make_unique<const protocol::PlacementRequest>(std::move(request)));
}

absl::Status SessionGraph::Import(Extension& pending) {
  const std::string& graph_def = pending.extension.graph_def;
  const SessionQuotas& quotas = options_.quotas;
  // The quota is checked before memory is taken for nodes, and again after
  // functions were expanded.
  pending.bytes = static_cast<int64_t>(graph_def.size());
  RETURN_IF_ERROR(quotas.CheckGraph(num_bytes_, pending.bytes, options_.task));
  NullLogger logger;  // the client has logged the warnings
  RETURN_IF_ERROR(ImportGraphDef(graph_def, graph_,
                                 {.adder = &expander_, .logger = &logger}));
  RETURN_IF_ERROR(CheckOps());
  pending.bytes = SessionQuotas::BytesOfGraph(
      graph_def.size(), graph_.num_nodes() - num_nodes_, expander_.num_bytes());
  expander_.EndImport();
  return quotas.CheckGraph(num_bytes_, pending.bytes, options_.task);
}

absl::Status SessionGraph::CheckOps() const {
  for (const Node* node : graph_.nodes().subspan(num_nodes_)) {
    // An unknown node never runs, whatever its name.
    if (!absl::StartsWith(node->type(), "_") || IsUnknown(*node)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Node '", node->name(), "': the op ", node->type(),
        " is created when graphs are partitioned, and must not be in a graph "
        "that is sent to a session. Feed and fetch tensors by their names."));
  }
  return absl::OkStatus();
}

void SessionGraph::Undo() {
  graph_.TruncateTo(num_nodes_);
  graph_.RestoreFunctions(functions_);
  expander_.EndImport();
}

void SessionGraph::Place(ExtensionPtr pending) {
  const auto request = pending->request;
  const auto open = pending->open;
  const absl::Time deadline = pending->deadline;
  AskCoordinatorFor<protocol::PlacementReply>(
      options_, open, deadline,
      absl::StrCat("place nodes of session ", session_), config_.device_filters,
      [this, request](
          absl::Time until, std::shared_ptr<Cancellation> cancellation,
          protocol::Coordinator::Answer<protocol::PlacementReply> answer) {
        options_.coordinator->Place(*request, until, std::move(cancellation),
                                    std::move(answer));
      },
      [this, pending = std::move(pending)](
          absl::StatusOr<protocol::PlacementReply> reply) mutable {
        // Continues on the graph pool, because this may be a control thread
        // that has
        // cancelled the call.
        options_.scheduler->Schedule(Pool::kGraph,
                                     [this, pending = std::move(pending),
                                      reply = std::move(reply)]() mutable {
                                       Placed(*pending, std::move(reply));
                                     });
      });
}

void SessionGraph::Placed(Extension& pending,
                          absl::StatusOr<protocol::PlacementReply> reply) {
  auto result = EndExtension(pending, std::move(reply));
  if (result.ok()) {
    // The extension has taken place, whether or not there is memory for log
    // lines.
    CatchExceptions([&] {
      LogPlacement(*result);
      return absl::OkStatus();
    }).IgnoreError();
  }
  Answer(pending, std::move(result));
}

absl::StatusOr<protocol::ExtensionResult> SessionGraph::EndExtension(
    const Extension& pending, absl::StatusOr<protocol::PlacementReply> reply) {
  absl::MutexLock lock(&mutex_);
  // Operations that may throw come first, so that the version changes as a
  // whole or not at all.
  protocol::ExtensionResult repeated;
  auto result =
      CatchExceptions([&]() -> absl::StatusOr<protocol::ExtensionResult> {
        mutex_.AssertHeld();
        RETURN_IF_ERROR(reply.status());
        RETURN_IF_ERROR(SetDevices(pending, *std::move(reply)));
        protocol::ExtensionResult described = DescribeFrom(pending.first_id);
        described.version = version_ + 1;
        repeated = described;
        Declare(pending);
        return described;
      });
  if (!result.ok()) {
    Undo();
    return result;
  }
  num_nodes_ = graph_.num_nodes();
  ++version_;
  num_bytes_ += pending.bytes;
  last_extension_ = absl::HashOf(pending.extension.graph_def);
  last_result_ = std::move(repeated);
  return result;
}

absl::Status SessionGraph::SetDevices(const Extension& pending,
                                      protocol::PlacementReply reply) {
  const PlacementGraph& placed = pending.request->graph;
  if (reply.devices.size() != placed.nodes.size()) {
    return absl::InternalError(
        "The coordinator returned the placement of another graph.");
  }
  const size_t num_new = graph_.num_nodes() - pending.first_id;
  const size_t num_old = placed.nodes.size() - num_new;
  for (size_t i = 0; i < num_new; ++i) {
    graph_.set_assigned_device(
        graph_.node(pending.first_id + static_cast<int>(i)),
        std::move(reply.devices[num_old + i]));
  }
  return absl::OkStatus();
}

void SessionGraph::Declare(const Extension& pending) {
  if (config_.isolate_session_state) return;
  const PlacementGraph& placed = pending.request->graph;
  const int first_id = pending.first_id;
  std::vector<protocol::PlacedResource> added;
  const size_t num_old = placed.nodes.size() - (graph_.num_nodes() - first_id);
  for (size_t i = num_old; i < placed.nodes.size(); ++i) {
    const PlacementNode& node = placed.nodes[i];
    if (!node.resource) continue;
    const int id = first_id + static_cast<int>(i - num_old);
    protocol::PlacedResource resource{*node.resource,
                                      graph_.node(id)->assigned_device()};
    if (resource.resource.container.empty()) {
      // Each device's default container is named after its job.
      auto device = DeviceName::Parse(resource.device);
      if (device.ok()) resource.resource.container = device->job.value_or("");
    }
    added.push_back(std::move(resource));
  }
  absl::MutexLock lock(&declared_mutex_);
  // Inserting at the end of a vector adds all resources, or none if it throws.
  declared_.insert(declared_.end(), std::make_move_iterator(added.begin()),
                   std::make_move_iterator(added.end()));
}

std::vector<protocol::PlacedResource> SessionGraph::declared() const {
  absl::MutexLock lock(&declared_mutex_);
  return declared_;
}

protocol::ExtensionResult SessionGraph::DescribeFrom(int first_id) const {
  protocol::ExtensionResult result{.version = version_};
  if (!config_.log_device_placement) return result;
  for (const Node* node : graph_.nodes().subspan(first_id)) {
    result.placement.push_back(
        {node->name(), node->type(), node->assigned_device()});
  }
  return result;
}

void SessionGraph::LogPlacement(const protocol::ExtensionResult& result) const {
  if (!options_.log_placement) return;
  for (const protocol::NodePlacement& placed : result.placement) {
    options_.log_placement(placed.ToString());
  }
}

absl::StatusOr<PrunedCallable> SessionGraph::Prune(
    const protocol::CallableSpec& spec) {
  absl::MutexLock lock(&mutex_);
  return PruneCallable(graph_, num_nodes_, spec, options_.unknown_tensor_code,
                       options_.task);
}

}  // namespace weft
