#include "libs/runtime/registration.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"

namespace weft {
namespace {

absl::StatusOr<std::string> TaskOf(const Node& node, absl::string_view attr) {
  const std::string* device = node.attr<std::string>(attr);
  if (device == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("Node ", node.name(), " has no attr ", attr, "."));
  }
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(*device));
  return name.TaskOnly().ToString();
}

absl::StatusOr<protocol::Worker*> FindTask(protocol::WorkerDirectory* directory,
                                           const std::string& task,
                                           const Node& node) {
  protocol::Worker* found = directory ? directory->Find(task) : nullptr;
  if (found != nullptr) return found;
  return absl::NotFoundError(absl::StrCat(
      "Node ", node.name(), " sends to ", task,
      ", which is no task of this cluster. Check the cluster spec."));
}

uint64_t EdgeOf(const Node& node) {
  return static_cast<uint64_t>(*node.attr<int64_t>("edge"));
}

RunWhere Where(protocol::CallingThread thread, bool is_last) {
  switch (thread) {
    // A caller that waits serves the last part; the others run meanwhile.
    case protocol::CallingThread::kWaits:
      return is_last ? RunWhere::kCaller : RunWhere::kPool;
    case protocol::CallingThread::kReader:
      return RunWhere::kReader;
    case protocol::CallingThread::kOther:
      break;
  }
  return RunWhere::kPool;
}

}  // namespace

Registration::Ends FindEnds(
    const std::vector<protocol::DevicePartition>& partitions) {
  Registration::Ends ends;
  for (const protocol::DevicePartition& partition : partitions) {
    for (const Node* node : partition.graph->nodes()) {
      const bool is_arg = node->type() == "_Arg";
      if (!is_arg && node->type() != "_Retval") continue;
      const auto index = static_cast<size_t>(*node->attr<int64_t>("index"));
      if (is_arg) {
        ends.args.push_back({index, node->output_type(0), node->name()});
      } else {
        ends.num_retvals = std::max(ends.num_retvals, index + 1);
      }
    }
  }
  return ends;
}

absl::StatusOr<Registration::Edges> FindEdges(
    const std::vector<protocol::DevicePartition>& partitions,
    const std::string& task, protocol::WorkerDirectory* directory) {
  Registration::Edges edges;
  auto receivers = std::make_shared<PeerTasks>();
  for (const protocol::DevicePartition& partition : partitions) {
    for (const Node* node : partition.graph->nodes()) {
      const bool sends = node->type() == "_Send";
      if (!sends && node->type() != "_Recv") continue;
      ASSIGN_OR_RETURN(const std::string other,
                       TaskOf(*node, sends ? "recv_device" : "send_device"));
      if (other == task) continue;
      edges.peers.all.insert(other);
      (sends ? *receivers : edges.peers.senders).insert(other);
      edges.peers.edges[EdgeOf(*node)] =
          *node->attr<std::string>("tensor_name");
      if (!sends) continue;
      ASSIGN_OR_RETURN(protocol::Worker * worker,
                       FindTask(directory, other, *node));
      edges.outgoing[EdgeOf(*node)] = worker;
    }
  }
  if (!receivers->empty()) edges.peers.receivers = std::move(receivers);
  return edges;
}

Registration::Registration(std::shared_ptr<void> keep_alive,
                           std::vector<Part> parts, Ends ends, Edges edges,
                           Scheduler* scheduler)
    : keep_alive_(std::move(keep_alive)),
      parts_(std::move(parts)),
      ends_(std::move(ends)),
      edges_(std::move(edges)),
      scheduler_(scheduler) {}

Registration::~Registration() = default;

absl::Status Registration::Check(const protocol::PartitionStep& step) const {
  if (step.fetches.size() < ends_.num_retvals) {
    return absl::InvalidArgumentError(
        absl::StrCat("A step asks for ", step.fetches.size(),
                     " fetches of a partition that makes ", ends_.num_retvals));
  }
  for (const Ends::Arg& arg : ends_.args) {
    const DataType given = arg.index < step.feeds.size()
                               ? step.feeds[arg.index].dtype()
                               : DT_INVALID;
    if (given == arg.type) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "A step feeds ", DataTypeName(given), " to node ", arg.node,
        ", which takes ", DataTypeName(arg.type), " (feed ", arg.index, ")"));
  }
  return absl::OkStatus();
}

bool Registration::DescribeWaits(uint64_t step,
                                 std::vector<std::string>& waits) const {
  bool runs = false;
  for (const Part& part : parts_) runs |= part.plan->DescribeWaits(step, waits);
  return runs;
}

std::unique_ptr<RunningStep> Registration::TakeStep() {
  absl::MutexLock lock(&mutex_);
  if (idle_steps_.empty()) return std::make_unique<RunningStep>();
  std::unique_ptr<RunningStep> step = std::move(idle_steps_.back());
  idle_steps_.pop_back();
  return step;
}

void Registration::GiveBack(std::unique_ptr<RunningStep> step) {
  absl::MutexLock lock(&mutex_);
  idle_steps_.push_back(std::move(step));
}

void RunningStep::Start(std::shared_ptr<Registration> registration,
                        const protocol::PartitionStep& request,
                        StepTable* table, protocol::Worker* master,
                        protocol::Worker::Done done) {
  std::unique_ptr<RunningStep> step = registration->TakeStep();
  step->table_ = table;
  step->master_ = master;
  step->with_answer_ = request.with_answer;
  step->registration_ = std::move(registration);
  if (absl::Status status = step->Prepare(request); !status.ok()) {
    std::shared_ptr<Registration> owner = std::move(step->registration_);
    owner->GiveBack(std::move(step));
    return done(std::move(status));
  }
  step->done_ = std::move(done);
  step.release()->StartParts(request);  // Finish takes it back
}

absl::Status RunningStep::Prepare(const protocol::PartitionStep& request) {
  id_ = {request.session.master, request.step};
  if (!step_resources_) {
    step_resources_ = std::make_unique<ResourceManager>("step");
  }
  if (table_ != nullptr) {
    ASSIGN_OR_RETURN(exchange_,
                     table_->Begin(request, &registration_->edges().peers));
    exchange_->BeginSending(&registration_->edges().outgoing);
  } else if (registration_->parts().size() > 1) {
    exchange_ = std::make_shared<StepExchange>(request.session, request.step);
  }
  cancellation_ = request.cancellation;
  return absl::OkStatus();
}

void RunningStep::StartParts(const protocol::PartitionStep& request) {
  const std::vector<Registration::Part>& parts = registration_->parts();
  const int num_parts = static_cast<int>(parts.size());
  // One more than there are parts, so that the step outlives this loop.
  join_.Begin(num_parts + 1);
  AbortExchangeWhenCancelled();
  for (int i = 0; i < num_parts; ++i) {
    StepArgs args;
    args.context = {.step_id = request.step,
                    .cancellation = cancellation_.get(),
                    .scheduler = registration_->scheduler(),
                    .device = parts[i].device,
                    .allocator = &parts[i].device->allocator(),
                    .resources = parts[i].resources,
                    .step_resources = step_resources_.get(),
                    .rendezvous = exchange_.get()};
    args.args = request.feeds;
    args.retvals = request.fetches;
    args.outbox = exchange_.get();
    weft::Start(parts[i].plan, args, Where(request.thread, i == num_parts - 1),
                [this](const absl::Status& status) {
                  // Other parts may wait for what this one has sent.
                  if (registration_->parts().size() > 1 && exchange_) {
                    exchange_->Flush();
                  }
                  PartDone(status);
                });
  }
  PartDone(absl::OkStatus());
}

void RunningStep::AbortExchangeWhenCancelled() {
  if (exchange_ == nullptr) return;
  cancellation_token_ = cancellation_->Register(
      [this](const absl::Status& cause) { exchange_->Abort(cause); });
  if (cancellation_token_ == 0) exchange_->Abort(cancellation_->status());
}

void RunningStep::PartDone(const absl::Status& status) {
  if (join_.EndPart(status)) Finish();
}

void RunningStep::SendTheRest() {
  if (master_ != nullptr) {
    with_answer_->pushes = exchange_->TakeHeldFor(*master_);
  }
  exchange_->Flush();
}

void RunningStep::Finish() {
  if (cancellation_token_ != 0) cancellation_->Deregister(cancellation_token_);
  cancellation_token_ = 0;
  absl::Status status = join_.TakeError();
  if (status.ok() && exchange_ != nullptr) SendTheRest();
  // By a value that did not get away, for one: whoever waits for it is to know.
  if (status.ok() && cancellation_->IsCancelled()) {
    status = cancellation_->status();
  }
  if (table_ != nullptr) status = table_->End(id_, std::move(status));
  exchange_.reset();
  cancellation_.reset();
  step_resources_->ClearAll();
  protocol::Worker::Done done = std::move(done_);
  std::shared_ptr<Registration> registration = std::move(registration_);
  registration->GiveBack(std::unique_ptr<RunningStep>(this));
  done(std::move(status));
}

}  // namespace weft
