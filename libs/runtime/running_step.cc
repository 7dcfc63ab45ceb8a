#include "libs/runtime/running_step.h"

#include <utility>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Returns the allocator of host memory; null if the device itself works in host
// memory.
Allocator* HostAllocatorOf(const Device& device) {
  DeviceContext* const context = device.context();
  return context == nullptr ? nullptr : &context->pinned_allocator();
}

RunWhere Where(protocol::CallingThread thread, bool is_last) {
  switch (thread) {
    // If the calling thread waits for the step, it runs the last plan. Other
    // threads run the other plans.
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

void RunningStep::Start(std::shared_ptr<Registration> registration,
                        const protocol::PartitionStep& request,
                        StepTable* table, protocol::Worker* master,
                        protocol::Worker::Done done) {
  std::unique_ptr<RunningStep> step = registration->TakeStep();
  step->table_ = table;
  step->master_ = master;
  step->with_answer_ = request.with_answer;
  step->registration_ = std::move(registration);
  step->BeginTrace(request.trace);
  step->NoteBegan();
  if (absl::Status status = step->Prepare(request); !status.ok()) {
    step->NoteEnded(status);
    step->EndTrace(/*is_wanted=*/false);
    std::shared_ptr<Registration> owner = std::move(step->registration_);
    owner->GiveBack(std::move(step));
    return done(std::move(status));
  }
  step->done_ = std::move(done);
  step.release()->StartPlans(request);  // Finish takes ownership again
}

void RunningStep::BeginTrace(protocol::PartitionTrace* trace) {
  trace_ = trace;
  if (trace_ == nullptr) return;
  trace_->begun = registration_->scheduler()->clock().Now();
  for (const Registration::DevicePlan& plan : registration_->plans()) {
    device_traces_.push_back(
        std::make_unique<DeviceTrace>(plan.device->name()));
  }
}

void RunningStep::EndTrace(bool is_wanted) {
  if (trace_ == nullptr) return;
  for (const auto& device : device_traces_) {
    if (is_wanted) trace_->stats.dev_stats.push_back(device->Take());
  }
  device_traces_.clear();
  trace_->ended = registration_->scheduler()->clock().Now();
  trace_ = nullptr;
}

void RunningStep::NoteBegan() {
  metrics_ = registration_->metrics();
  if (metrics_ == nullptr) return;
  metrics_->steps_begun.Add();
  began_ = registration_->scheduler()->clock().Now();
}

void RunningStep::NoteEnded(const absl::Status& status) {
  if (metrics_ == nullptr) return;
  if (!status.ok()) metrics_->step_errors.Add();
  metrics_->step_seconds.Observe(registration_->scheduler()->clock().Now() -
                                 began_);
}

absl::Status RunningStep::Prepare(const protocol::PartitionStep& request) {
  id_ = {request.session.master_incarnation, request.step};
  if (!step_resources_) {
    step_resources_ = std::make_unique<ResourceManager>("step");
  }
  if (table_ != nullptr) {
    ASSIGN_OR_RETURN(exchange_,
                     table_->Begin(request, &registration_->edges().peers));
    exchange_->BeginSending(&registration_->edges().outgoing);
  } else if (registration_->plans().size() > 1 || request.client != nullptr) {
    exchange_ = std::make_shared<StepExchange>(request.session, request.step);
  }
  client_ = request.client;
  if (client_ != nullptr) exchange_->BeginWithClient(client_);
  cancellation_ = request.cancellation;
  return absl::OkStatus();
}

void RunningStep::StartPlans(const protocol::PartitionStep& request) {
  const std::vector<Registration::DevicePlan>& plans = registration_->plans();
  const int num_plans = static_cast<int>(plans.size());
  // The extra part ends after this loop, so that the step outlives the loop.
  join_.Begin(num_plans + 1);
  AbortExchangeWhenCancelled();
  for (int i = 0; i < num_plans; ++i) {
    StepArgs args;
    args.context = {
        .step_id = request.step,
        .cancellation = cancellation_.get(),
        .scheduler = registration_->scheduler(),
        .device = plans[i].device,
        .allocator = &plans[i].device->allocator(),
        .host_allocator = HostAllocatorOf(*plans[i].device),
        .resources = plans[i].resources,
        .step_resources = step_resources_.get(),
        .rendezvous = exchange_.get(),
        .file_system = registration_->file_system(),
        .checkpoint_metrics = metrics_ ? &metrics_->checkpoints : nullptr};
    args.args = request.feeds;
    args.retvals = request.fetches;
    args.outbox = exchange_.get();
    if (trace_ != nullptr) args.trace = device_traces_[i].get();
    weft::Start(plans[i].plan, args, Where(request.thread, i == num_plans - 1),
                [this](const absl::Status& status) {
                  // Other plans may wait for values that this plan has sent.
                  if (registration_->plans().size() > 1 && exchange_) {
                    exchange_->Flush();
                  }
                  PlanDone(status);
                });
  }
  PlanDone(absl::OkStatus());
}

void RunningStep::AbortExchangeWhenCancelled() {
  if (exchange_ == nullptr) return;
  const auto abort = [this](const absl::Status& cause) {
    if (client_ != nullptr) client_->Abort(cause);
    exchange_->Abort(cause);
  };
  cancellation_token_ = cancellation_->Register(abort);
  if (cancellation_token_ == 0) abort(cancellation_->status());
}

void RunningStep::PlanDone(const absl::Status& status) {
  if (join_.EndPart(status)) Finish();
}

void RunningStep::SendRemaining() {
  if (master_ != nullptr) {
    with_answer_->pushes = exchange_->TakeHeldFor(*master_);
  }
  exchange_->Flush();
}

void RunningStep::Finish() {
  if (cancellation_token_ != 0) cancellation_->Deregister(cancellation_token_);
  cancellation_token_ = 0;
  absl::Status status = join_.TakeError();
  if (status.ok() && exchange_ != nullptr) SendRemaining();
  // A step without an error may have been cancelled, for example because a
  // value could not be sent. The receiver must be notified of that.
  if (status.ok() && cancellation_->IsCancelled()) {
    status = cancellation_->status();
  }
  if (table_ != nullptr) status = table_->End(id_, std::move(status));
  if (!status.ok() && exchange_ != nullptr) exchange_->AbandonSent();
  NoteEnded(status);
  if (!status.ok() && table_ != nullptr) table_->Reclaim(std::move(exchange_));
  exchange_.reset();
  client_.reset();
  cancellation_.reset();
  step_resources_->ClearAll();
  EndTrace(/*is_wanted=*/status.ok());
  protocol::Worker::Done done = std::move(done_);
  std::shared_ptr<Registration> registration = std::move(registration_);
  registration->GiveBack(std::unique_ptr<RunningStep>(this));
  done(std::move(status));
}

}  // namespace weft
