#include "libs/train/sessions/queue_runner.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/resource/queue_ops.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/queue_runner.pb.h"

namespace weft::train {
namespace {

// Errors on which a MonitoredSession replaces the session.
bool IsLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

// Runs one thread: enqueues until a stop or the end of the input.
absl::Status Fill(const QueueRunner& runner, const Operation& enqueue_op,
                  Session& session, Coordinator& coordinator,
                  std::atomic<size_t>& num_running) {
  absl::Status status;
  while (status.ok() && !coordinator.ShouldStop()) {
    status = session.Run(enqueue_op);
  }
  const bool is_last = num_running.fetch_sub(1) == 1;
  if (!absl::c_linear_search(runner.queue_closed_exception_types,
                             status.code())) {
    return status;
  }
  // Errors of closing are ignored: the queue is closed already, or lost.
  if (is_last && runner.close_op) session.Run(runner.close_op).IgnoreError();
  return absl::OkStatus();
}

tf::QueueRunnerDef ToDef(const QueueRunner& runner) {
  tf::QueueRunnerDef def;
  def.set_queue_name(runner.queue.name());
  for (const Operation& op : runner.enqueue_ops) {
    def.add_enqueue_op_name(op.name());
  }
  if (runner.close_op) def.set_close_op_name(runner.close_op.name());
  if (runner.cancel_op) def.set_cancel_op_name(runner.cancel_op.name());
  for (const absl::StatusCode code : runner.queue_closed_exception_types) {
    def.add_queue_closed_exception_types(static_cast<tf::error::Code>(code));
  }
  return def;
}

absl::StatusOr<Operation> FindOperation(const Graph& graph,
                                        const std::string& name) {
  const Node* node = graph.FindNode(name);
  if (node != nullptr) return Operation(node);
  return absl::InvalidArgumentError(
      absl::StrCat("a queue runner of collection 'queue_runners' names the "
                   "operation '",
                   name, "', which is not in the graph"));
}

absl::Status FindOptional(const Graph& graph, const std::string& name,
                          Operation& operation) {
  if (name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(operation, FindOperation(graph, name));
  return absl::OkStatus();
}

absl::StatusOr<QueueRunner> FromDef(const Graph& graph,
                                    const tf::QueueRunnerDef& def) {
  QueueRunner runner;
  ASSIGN_OR_RETURN(const OutputTensor queue,
                   graph.FindOutputTensor(def.queue_name()));
  runner.queue = Output(queue);
  for (const std::string& name : def.enqueue_op_name()) {
    ASSIGN_OR_RETURN(const Operation op, FindOperation(graph, name));
    runner.enqueue_ops.push_back(op);
  }
  RETURN_IF_ERROR(FindOptional(graph, def.close_op_name(), runner.close_op));
  RETURN_IF_ERROR(FindOptional(graph, def.cancel_op_name(), runner.cancel_op));
  if (def.queue_closed_exception_types().empty()) return runner;
  runner.queue_closed_exception_types.clear();
  for (const int code : def.queue_closed_exception_types()) {
    runner.queue_closed_exception_types.push_back(
        static_cast<absl::StatusCode>(code));
  }
  return runner;
}

absl::Status Check(const QueueRunner& runner) {
  const bool has_all = absl::c_all_of(
      runner.enqueue_ops, [](const Operation& op) { return bool{op}; });
  if (runner.queue && has_all && !runner.enqueue_ops.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a queue runner needs a queue and operations that enqueue");
}

Operation CloseOf(const Scope& scope, const Output& queue, bool cancel) {
  if (queue.dtype() == DT_RESOURCE) {
    return ops::QueueClose(scope, queue, cancel);
  }
  return scope.AddNode("QueueClose", {queue},
                       {{"cancel_pending_enqueues", cancel}});
}

// A queue that is never closed never signals the end of the input. Names are
// TensorFlow's, which creates both ops, too.
QueueRunner WithCloseOps(const Scope& scope, QueueRunner runner) {
  const Scope named = scope.ReenterScope("").WithName(
      absl::StrCat(runner.queue.node()->name(), "_Close"));
  if (!runner.close_op) {
    runner.close_op = CloseOf(named, runner.queue, /*cancel=*/false);
  }
  if (!runner.cancel_op) {
    runner.cancel_op = CloseOf(named, runner.queue, /*cancel=*/true);
  }
  return runner;
}

// The contents of the collection that a MetaGraph holds as bytes.
absl::StatusOr<tf::CollectionDef> Collection(const GraphState& state) {
  tf::CollectionDef def;
  const auto found = state.foreign_collections.find(collection::kQueueRunners);
  if (found == state.foreign_collections.end() ||
      def.ParseFromString(found->second)) {
    return def;
  }
  return absl::InternalError("collection 'queue_runners' can't be read");
}

}  // namespace

void StartQueueRunner(const QueueRunner& runner, Session& session,
                      Coordinator& coordinator) {
  auto shared = std::make_shared<const QueueRunner>(runner);
  auto num_running =
      std::make_shared<std::atomic<size_t>>(runner.enqueue_ops.size());
  const std::string name = Operation(runner.queue).name();
  for (const Operation& op : runner.enqueue_ops) {
    coordinator.Start(absl::StrCat("QueueRunner of ", name, ": ", op.name()),
                      [shared, num_running, op, &session, &coordinator] {
                        return Fill(*shared, op, session, coordinator,
                                    *num_running);
                      });
  }
  if (!runner.cancel_op) return;
  coordinator.Start(absl::StrCat("QueueRunner of ", name, ": close_on_stop"),
                    [shared, &session, &coordinator] {
                      coordinator.WaitForStop();
                      // The next session continues with the surviving queue.
                      if (IsLoss(coordinator.requested_error())) {
                        return absl::OkStatus();
                      }
                      session.Run(shared->cancel_op).IgnoreError();
                      return absl::OkStatus();
                    });
}

void AddQueueRunner(const Scope& scope, const QueueRunner& runner) {
  if (!scope.ok()) return;
  const absl::Status status = Check(runner);
  auto def = Collection(scope.state());
  if (!status.ok() || !def.ok()) {
    scope.UpdateStatus(status.ok() ? def.status() : status);
    return;
  }
  const QueueRunner whole = WithCloseOps(scope, runner);
  if (!scope.ok()) return;
  def->mutable_bytes_list()->add_value(ToDef(whole).SerializeAsString());
  scope.state().foreign_collections[std::string(collection::kQueueRunners)] =
      def->SerializeAsString();
}

absl::StatusOr<std::vector<QueueRunner>> QueueRunners(const Scope& scope) {
  ASSIGN_OR_RETURN(const tf::CollectionDef def, Collection(scope.state()));
  std::vector<QueueRunner> runners;
  for (const std::string& bytes : def.bytes_list().value()) {
    tf::QueueRunnerDef runner;
    if (!runner.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          "collection 'queue_runners' contains an item that is not a "
          "QueueRunnerDef");
    }
    ASSIGN_OR_RETURN(QueueRunner found, FromDef(scope.graph(), runner));
    RETURN_IF_ERROR(Check(found));
    runners.push_back(std::move(found));
  }
  return runners;
}

absl::Status StartQueueRunners(const Scope& scope, Session& session,
                               Coordinator& coordinator) {
  ASSIGN_OR_RETURN(const auto runners, QueueRunners(scope));
  for (const QueueRunner& runner : runners) {
    StartQueueRunner(runner, session, coordinator);
  }
  return absl::OkStatus();
}

}  // namespace weft::train
