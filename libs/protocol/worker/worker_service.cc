#include "libs/protocol/worker/worker_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/method.h"
#include "libs/protocol/peer_checks.h"
#include "libs/protocol/worker/worker_messages.h"

namespace weft::protocol {
namespace {

// The number of connections for which it is remembered that a dropped push was
// logged: as many as an endpoint may have (TransportOptions::max_connections).
constexpr size_t kMaxBlamed = 4096;

// A step in flight through the worker: owns what the PartitionStep views.
struct RunningPartition {
  std::shared_ptr<bus::IncomingCall> call;
  RunPartitionRequest request;
  std::vector<Tensor> fetches;  // by fetch index
  PartitionStep::WithAnswer with_answer;
  PartitionTrace trace;
  // The step's own cancellation, with its first error; the call's, which is
  // another one, means that the caller is gone.
  Cancellation cancellation;
  CancellationLink caller_gone;
};

PartitionStep StepOf(const std::shared_ptr<RunningPartition>& shared) {
  RunningPartition& run = *shared;
  PartitionStep step;
  step.session = run.request.session;
  step.registration = run.request.registration;
  step.step = run.request.step;
  step.steps_finished_below = run.request.steps_finished_below;
  step.more_finished = &run.request.more_finished;
  step.feeds = run.request.feeds;
  step.fetches = absl::MakeSpan(run.fetches);
  step.feed_indices = run.request.feed_indices;
  step.fetch_indices = run.request.fetch_indices;
  step.cancellation = std::shared_ptr<Cancellation>(shared, &run.cancellation);
  step.thread = CallingThread::kReader;
  // The trace of a traced step is sent with the answer: a receiver of a value
  // would have to wait for it, unlike in other steps.
  if (run.request.collect_stats) {
    step.trace = &run.trace;
  } else {
    step.with_answer = &run.with_answer;
  }
  return step;
}

void ReplyWithFetches(RunningPartition& run, const absl::Status& status,
                      const Clock& clock) {
  if (!status.ok()) return run.call->Fail(status);
  Answer(*run.call,
         WriteRunPartitionReply(
             run.fetches, run.request.fetch_indices, run.with_answer.pushes,
             run.request.collect_stats ? &run.trace : nullptr, &clock));
}

// Fails the call unless `check` is OK.
bool IsAllowed(bus::IncomingCall& call, const absl::Status& check) {
  if (!check.ok()) call.Fail(check);
  return check.ok();
}

bool IsMaster(bus::IncomingCall& call, uint64_t master_incarnation) {
  return IsAllowed(call, CheckIsMaster(call.peer(), master_incarnation));
}

}  // namespace

WorkerService::WorkerService(const WorkerServiceOptions& options)
    : options_(options), dropped_pushes_(*options.scheduler, options.logger) {}

WorkerService::~WorkerService() { replies_.WaitUntilNone(*options_.scheduler); }

const MethodRow<WorkerService>* WorkerService::FindMethod(uint8_t method) {
  static constexpr MethodRow<WorkerService> kRows[] = {
      {.method = Method::kGetStatus,
       .on_request = &WorkerService::GetStatus,
       .is_fast = true,
       .is_served_while_draining = true},
      {.method = Method::kCreateWorkerSession,
       .on_request = &WorkerService::CreateWorkerSession,
       .is_control = true,
       .begins_work = true},
      {.method = Method::kDeleteWorkerSession,
       .on_request = &WorkerService::DeleteWorkerSession,
       .is_control = true,
       .is_served_while_draining = true},
      // While the task drains, the worker accepts these two only for monitored
      // sessions.
      {.method = Method::kRegisterPartition,
       .on_request = &WorkerService::Register,
       .is_served_while_draining = true},
      {.method = Method::kDeregisterPartition,
       .on_request = &WorkerService::Deregister,
       .on_one_way = &WorkerService::NoteDeregister,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kRunPartition,
       .on_request = &WorkerService::RunPartition,
       .is_fast = true,
       .is_read_soon = IsRunPartitionReadSoon,
       .is_served_while_draining = true},
      {.method = Method::kAbort,
       .on_request = &WorkerService::Abort,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kPushes,
       .on_one_way = &WorkerService::Deliver,
       .is_fast = true,
       .is_read_soon = ArePushesReadSoon},
      {.method = Method::kDescribeWaits,
       .on_request = &WorkerService::DescribeWaits,
       .is_served_while_draining = true},
      // Also ends holds. A request that begins one has the same reserve, of
      // which it needs little: a task accepts only a few holds at once.
      {.method = Method::kHoldSteps,
       .on_request = &WorkerService::HoldSteps,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kClearContainers,
       .on_request = &WorkerService::ClearContainers},
  };
  static constexpr MethodTable kTable(kRows);
  return kTable.Find(method);
}

void WorkerService::GetStatus(Call call, bus::Message request) {
  const absl::Status read = ReadGetStatus(std::move(request));
  if (!read.ok()) return call->Fail(read);
  const absl::Time deadline = call->deadline();
  options_.worker->GetStatusWhenConnected(
      deadline,
      replies_.With<std::vector<DeviceAttributes>>(
          std::move(call), [](const std::vector<DeviceAttributes>& devices) {
            return WriteDevices(devices);
          }));
}

void WorkerService::CreateWorkerSession(Call call, bus::Message request) {
  const auto open = ReadCreateWorkerSession(std::move(request));
  if (!open.ok()) return call->Fail(open.status());
  if (!IsMaster(*call, open->session.master_incarnation)) return;
  const absl::Time deadline = call->deadline();
  options_.worker->CreateWorkerSession(open->session, open->options, deadline,
                                       replies_.Done(std::move(call)));
}

void WorkerService::DeleteWorkerSession(Call call, bus::Message request) {
  const auto session = ReadDeleteWorkerSession(std::move(request));
  if (!session.ok()) return call->Fail(session.status());
  if (!IsMaster(*call, session->master_incarnation)) return;
  const absl::Time deadline = call->deadline();
  options_.worker->DeleteWorkerSession(*session, deadline,
                                       replies_.Done(std::move(call)));
}

void WorkerService::Register(Call call, bus::Message request) {
  const auto registration = ReadRegister(std::move(request), options_.ops);
  if (!registration.ok()) return call->Fail(registration.status());
  if (!IsMaster(*call, registration->session.master_incarnation)) return;
  const absl::Time deadline = call->deadline();
  options_.worker->Register(*registration, deadline,
                            replies_.With<NewVariables>(
                                std::move(call), [](const NewVariables& made) {
                                  return WriteNewVariables(made);
                                }));
}

void WorkerService::RunPartition(Call call, bus::Message request) {
  auto read = ReadRunPartition(std::move(request), *options_.allocator);
  if (!read.ok()) return call->Fail(read.status());
  if (!IsMaster(*call, read->session.master_incarnation)) return;
  auto run = std::make_shared<RunningPartition>();
  run->call = std::move(call);
  run->with_answer.master_task = run->call->peer().identity.task;
  run->request = *std::move(read);
  const std::vector<int>& indices = run->request.fetch_indices;
  const auto last = std::max_element(indices.begin(), indices.end());
  if (last != indices.end()) run->fetches.resize(*last + 1);
  replies_.Begin();
  const PartitionStep step = StepOf(run);
  run->caller_gone.Begin(&run->call->cancellation(), step.cancellation);
  options_.worker->Run(
      step, [this, run = std::move(run)](const absl::Status& status) mutable {
        run->caller_gone.End();
        const bool is_traced = run->request.collect_stats;
        auto reply = [this, run = std::move(run), status]() mutable {
          ReplyWithFetches(*run, status, options_.scheduler->clock());
          run.reset();
          replies_.End();
        };
        if (!is_traced) return reply();
        // A trace takes long to write, and this may be a reading thread.
        options_.scheduler->Schedule(Pool::kCompute, std::move(reply));
      });
}

void WorkerService::Abort(Call call, bus::Message request) {
  const auto abort = ReadAbort(std::move(request));
  if (!abort.ok()) return call->Fail(abort.status());
  const absl::Status may_abort =
      CheckMayAbort(call->peer(), abort->step.master_incarnation,
                    abort->steps_finished_below);
  if (!IsAllowed(*call, may_abort)) return;
  options_.worker->Abort(abort->step, abort->steps_finished_below, abort->cause,
                         replies_.Done(std::move(call)));
  if (options_.abandon_pushes) options_.abandon_pushes(abort->step);
}

void WorkerService::DescribeWaits(Call call, bus::Message request) {
  const auto step = ReadDescribeWaits(std::move(request));
  if (!step.ok()) return call->Fail(step.status());
  if (!IsMaster(*call, step->master_incarnation)) return;
  const absl::Time deadline = call->deadline();
  options_.worker->DescribeWaits(
      *step, deadline,
      replies_.With<std::vector<std::string>>(
          std::move(call), [](const std::vector<std::string>& waits) {
            return WriteWaits(waits);
          }));
}

// To hold variables, the worker examines the graphs of all sessions.
void WorkerService::HoldSteps(Call call, bus::Message request) {
  auto hold = ReadHoldSteps(std::move(request));
  if (!hold.ok()) return call->Fail(hold.status());
  if (!IsMaster(*call, hold->holder.master_incarnation)) return;
  if (hold->action != StepHold::Action::kHoldVariables) {
    return Hold(std::move(call), *hold);
  }
  replies_.Begin();
  options_.scheduler->Schedule(
      Pool::kGraph,
      [this, call = std::move(call), hold = *std::move(hold)]() mutable {
        Hold(std::move(call), hold);
        replies_.End();
      });
}

void WorkerService::Hold(Call call, const StepHold& hold) {
  const absl::Time deadline = call->deadline();
  options_.worker->HoldSteps(
      hold, deadline,
      replies_.With<std::vector<VariableWriter>>(
          std::move(call), [](const std::vector<VariableWriter>& writers) {
            return WriteWriters(writers);
          }));
}

void WorkerService::ClearContainers(Call call, bus::Message request) {
  const auto containers = ReadClearContainers(std::move(request));
  if (!containers.ok()) return call->Fail(containers.status());
  if (!IsAllowed(*call, CheckIsTask(call->peer()))) return;
  const absl::Time deadline = call->deadline();
  options_.worker->ClearContainers(
      *containers, deadline,
      std::shared_ptr<Cancellation>(call, &call->cancellation()),
      replies_.Done(call));
}

void WorkerService::Deregister(Call call, bus::Message request) {
  const auto read = ReadDeregister(std::move(request));
  if (!read.ok()) return call->Fail(read.status());
  if (!IsMaster(*call, read->session.master_incarnation)) return;
  options_.worker->Deregister(read->session, read->registration);
  call->Reply(WriteDone());
}

// Sent by older tasks.
void WorkerService::NoteDeregister(const bus::Peer& peer, bus::Message message,
                                   const absl::Status& /*received*/) {
  const auto read = ReadDeregister(std::move(message));
  if (!read.ok()) return;
  if (!CheckIsMaster(peer, read->session.master_incarnation).ok()) return;
  options_.worker->Deregister(read->session, read->registration);
}

void WorkerService::Deliver(const bus::Peer& peer, bus::Message message,
                            const absl::Status& received) {
  if (const absl::Status is_task = CheckIsTask(peer); !is_task.ok()) {
    return NoteDropped(peer, is_task);
  }
  if (!received.ok()) return DeliverWithout(peer, std::move(message), received);
  // Only the body: the receiver of a tensor must be the only owner of its
  // memory.
  bus::Message unread;
  unread.method = message.method;
  unread.body = message.body;
  auto pushes = ReadPushes(std::move(message), *options_.allocator);
  if (!pushes.ok()) {
    return DeliverWithout(peer, std::move(unread), pushes.status());
  }
  options_.worker->Deliver(*std::move(pushes));
}

void WorkerService::DeliverWithout(const bus::Peer& peer, bus::Message pushes,
                                   const absl::Status& received) {
  auto headers = ReadPushHeaders(std::move(pushes));
  if (!headers.ok()) return NoteDropped(peer, headers.status());
  for (Push& push : *headers) {
    if (!push.is_dead) push.received = received;
  }
  options_.worker->Deliver(*std::move(headers));
}

void WorkerService::NoteDropped(const bus::Peer& peer,
                                const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (blamed_.size() >= kMaxBlamed) blamed_.clear();
    if (!blamed_.insert(peer.id).second) return;
  }
  dropped_pushes_.Log(
      Severity::kWarning,
      absl::StrCat("Dropped a push from ",
                   peer.identity.task.empty() ? "a client" : peer.identity.task,
                   "; others of this connection are dropped without a line: ",
                   why.ToString()));
}

}  // namespace weft::protocol
