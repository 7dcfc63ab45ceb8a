#include "libs/executor/step_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/member_errors.h"

namespace weft {

Iteration::Iteration(StepState& step, const FrameInfo& frame_info)
    : state(step),
      info(frame_info),
      slots(std::make_unique<Slot[]>(info.num_slots)),
      counters(std::make_unique<std::atomic<int64_t>[]>(info.counters.size())),
      async_entries(std::make_unique<AsyncEntry[]>(info.async_outputs.size())) {
  for (const ConstInput& input : info.const_inputs) {
    slots[input.slot].tensor = input.value;
  }
  for (size_t i = 0; i < info.async_outputs.size(); ++i) {
    async_entries[i].outputs = std::make_unique<Slot[]>(info.async_outputs[i]);
  }
}

void Iteration::ResetCounters() {
  for (size_t i = 0; i < info.counters.size(); ++i) {
    counters[i].store(info.counters[i], std::memory_order_relaxed);
  }
}

void Iteration::ResetSlots() {
  for (int i = 0; i < info.num_slots; ++i) slots[i].Clear();
  for (const ConstInput& input : info.const_inputs) {
    slots[input.slot].tensor = input.value;
  }
  for (size_t i = 0; i < info.async_outputs.size(); ++i) {
    for (int j = 0; j < info.async_outputs[i]; ++j) {
      async_entries[i].outputs[j].Clear();
    }
  }
}

void Iteration::DescribeWaits(std::vector<std::string>& waits) const {
  for (size_t i = 0; i < info.async_waits.size(); ++i) {
    if (!async_entries[i].waits.load(std::memory_order_relaxed)) continue;
    waits.push_back(info.async_waits[i]);
  }
}

void Iteration::CountWaits(std::map<std::string, int64_t>& waits) const {
  for (size_t i = 0; i < info.async_ops.size(); ++i) {
    if (!async_entries[i].waits.load(std::memory_order_relaxed)) continue;
    ++waits[info.async_ops[i]];
  }
}

LoopPosition Iteration::position() const {
  if (frame == nullptr) return {};
  return {frame->id, static_cast<uint64_t>(number)};
}

StepState::StepState(const PlanImpl& plan_of_state)
    : plan(plan_of_state), root(*this, plan.frames[0]), loops(*this) {}

StepState::~StepState() {
  delete[] spare_outputs_.load(std::memory_order_relaxed);
}

std::unique_ptr<Slot[]> StepState::TakeOutputs() {
  Slot* spare = spare_outputs_.exchange(nullptr, std::memory_order_acquire);
  if (spare == nullptr) spare = new Slot[plan.max_outputs];
  return std::unique_ptr<Slot[]>(spare);
}

// Keeps one array of slots for reuse, because most steps run on one thread.
void StepState::GiveBack(std::unique_ptr<Slot[]> outputs) {
  Slot* none = nullptr;
  if (spare_outputs_.compare_exchange_strong(none, outputs.get(),
                                             std::memory_order_release,
                                             std::memory_order_relaxed)) {
    outputs.release();
  }
}

void StepState::Begin(std::shared_ptr<const PlanImpl> keep_plan,
                      const StepArgs& step_args,
                      absl::AnyInvocable<void(absl::Status)> step_done) {
  keep_plan_ = std::move(keep_plan);
  context = step_args.context;
  args = step_args.args;
  retvals = step_args.retvals;
  outbox = step_args.outbox;
  if (step_args.trace != nullptr) {
    trace = std::make_unique<NodeTrace>(plan, *step_args.trace,
                                        context.scheduler->clock());
  }
  done_ = std::move(step_done);
  has_launches_ = context.device->context() != nullptr;
  launched_.Clear();
  root.ResetCounters();
  incomplete_.store(false, std::memory_order_relaxed);
  tokens_.store(1, std::memory_order_relaxed);
  if (plan.may_be_dead) {
    for (int index : plan.retval_indices) retvals[index] = Tensor();
  }
}

void StepState::Fail(const NodeItem& item, const absl::Status& status) {
  NoteDropped();
  if (context.cancellation->IsCancelled()) return;
  {
    // Only the first error is kept; formatting the others would take time.
    absl::MutexLock lock(&mutex_);
    if (!error_.ok()) return;
  }
  absl::Status cause = status;
  if (absl::IsResourceExhausted(status) && has_launches_) {
    // A lost device also fails allocations.
    const absl::Status lost = context.device->context()->Failure();
    if (!lost.ok()) cause = lost;
  }
  const std::string node = TakeFailedNode(cause, item.view.name, item.view.op);
  const absl::Status error =
      Append(cause, absl::StrCat("[[node ", node, ErrorContext(cause)));
  {
    absl::MutexLock lock(&mutex_);
    if (!error_.ok()) return;
    error_ = error;
  }
  context.cancellation->Cancel(MarkDerived(error));
}

// The error must name the device without memory and its user; and on a device
// with its own memory it may belong to a node that ran before.
std::string StepState::ErrorContext(const absl::Status& status) const {
  const std::string on_device = absl::StrCat(" on ", context.device->name());
  if (absl::IsResourceExhausted(status)) {
    return absl::StrCat(on_device, "]]",
                        DescribeMemory(*context.device, context.resources));
  }
  if (absl::IsInternal(status) && has_launches_) {
    return absl::StrCat(on_device, "]]", Describe(launched_.Get()));
  }
  return "]]";
}

absl::Status StepState::Result() const {
  if (incomplete_.load(std::memory_order_relaxed)) {
    absl::MutexLock lock(&mutex_);
    return error_.ok() ? context.cancellation->status() : error_;
  }
  if (!plan.may_be_dead) return absl::OkStatus();
  for (int index : plan.retval_indices) {
    if (retvals[index].IsInitialized()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Retval[", index,
                     "] does not have value: it is in a branch that was not "
                     "taken"));
  }
  return absl::OkStatus();
}

void StepState::Finish() {
  absl::Status result = Result();
  trace.reset();
  if (incomplete_.load(std::memory_order_relaxed)) {
    root.ResetSlots();
    loops.Clear();
    absl::MutexLock lock(&mutex_);
    error_ = absl::OkStatus();
  }
  std::shared_ptr<const PlanImpl> keep = std::move(keep_plan_);
  absl::AnyInvocable<void(absl::Status)> done = std::move(done_);
  DeviceContext* const device = context.device->context();
  const LastNodes::List launched = launched_.Get();
  const uint64_t step_id = context.step_id;
  keep->GiveBack(std::unique_ptr<StepState>(this));
  if (device == nullptr) return done(std::move(result));
  // Work that it launched may still run, and fail.
  device->WhenDone([keep, launched, step_id, result = std::move(result),
                    done = std::move(done)](absl::Status status) mutable {
    if (result.ok() && !status.ok()) {
      result = Append(status, absl::StrCat("[[at the end of step ", step_id,
                                           "]]", Describe(launched)));
    }
    done(std::move(result));
  });
}

}  // namespace weft
