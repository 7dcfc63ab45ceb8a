#include "libs/executor/ready_loop.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/executor/node_run.h"
#include "libs/executor/propagate.h"

namespace weft {
namespace {

// The minimum cost of handing a node over to another thread, approximately.
constexpr uint64_t kHandOverNanoseconds = 10'000;
// The input size at which a cheap kernel takes about as long as a hand-over.
constexpr uint64_t kHandOverBytes = 64 << 10;

// Limits of a loop on a thread that reads from the bus: the inputs of a kernel,
// and the time for all of them (transport.h); how many nodes run between two
// checks of that time.
constexpr size_t kReaderBytes = 4 << 10;
constexpr absl::Duration kReaderBudget = absl::Microseconds(20);
constexpr int kNodesBetweenClocks = 16;
constexpr uint32_t kRunsBetweenTimes = 8;  // see IsTimed

thread_local ReadyLoop* current_loop = nullptr;

const NodeItem& ItemOf(const Ready& ready) {
  return ready.iteration->state.plan.nodes[ready.node];
}

Slot* InputsOf(const Ready& ready) {
  return ready.iteration->slots.get() + ItemOf(ready).first_input;
}

// Returns the cost of a hand-over. The other thread must wake up, and so must
// the consumer's thread afterwards. On a virtual machine that takes longer than
// most nodes of a small model.
uint64_t HandOverNanoseconds(const Scheduler& scheduler) {
  const PoolProgress* const pools = PoolProgress::Of(scheduler);
  if (pools == nullptr) return kHandOverNanoseconds;
  const int64_t wake = absl::ToInt64Nanoseconds(pools->wake_time());
  return std::max(kHandOverNanoseconds, 2 * static_cast<uint64_t>(wake));
}

void NoteCost(const NodeItem& item, absl::Duration took) {
  const int64_t sample =
      std::clamp<int64_t>(absl::ToInt64Nanoseconds(took), 1, int64_t{1} << 30);
  const int64_t old = item.cost_or_zero();
  const int64_t cost = old == 0 ? sample : (3 * old + sample) / 4;
  item.cost->nanoseconds.store(static_cast<uint32_t>(cost),
                               std::memory_order_relaxed);
}

// Returns the expected duration of a run; before the first run, the maximum.
uint64_t ExpectedNanoseconds(const NodeItem& item, const Slot* inputs) {
  if (!item.is_cheap) {
    const uint64_t cost = item.cost_or_zero();
    return cost == 0 ? std::numeric_limits<uint64_t>::max() : cost;
  }
  return InputBytes(item, inputs) * kHandOverNanoseconds / kHandOverBytes;
}

// Returns the output of a Switch to which its value goes, or -1 if the kernel
// must run to report an error.
int OutputTaken(const Slot* inputs) {
  const Tensor& predicate = inputs[1].tensor;
  if (!predicate.shape().IsScalar()) return -1;
  return predicate.scalar<bool>() ? 1 : 0;
}

// Returns the input of a Merge that has a value, or null.
Slot* FindCome(Slot* inputs, int num_inputs) {
  for (Slot* input = inputs; input != inputs + num_inputs; ++input) {
    if (input->is_ref() || input->tensor.IsInitialized()) return input;
  }
  return nullptr;
}

// Ends an asynchronous kernel, on any thread, perhaps inside ComputeAsync.
// Takes over its token.
void EndAsync(AsyncEntry& entry, const absl::Status& status) {
  entry.waits.store(false, std::memory_order_relaxed);
  const Ready ran = entry.ready;
  StepState& state = ran.iteration->state;
  const NodeItem& item = ItemOf(ran);
  ReadyList ready;
  absl::Status result =
      status.ok() ? CheckOutputs(item, entry.outputs.get()) : status;
  if (result.ok()) {
    const bool is_dead =
        ran.is_dead || (item.is_recv && entry.outputs[0].is_dead);
    if (state.trace != nullptr) {
      state.trace->NodeRan(item, entry.begin, 0, entry.outputs.get(), is_dead);
    }
    const Outputs outputs = {entry.outputs.get(), item.num_outputs};
    ClearInputs(item, *ran.iteration, outputs);
    if (is_dead) ClearOutputs(outputs);
    Propagate(ran, is_dead, outputs, ready);
  } else {
    state.Fail(item, result);
  }
  ReadyLoop* current = ReadyLoop::Current();
  if (current != nullptr && &current->state() == &state) {
    current->Add(ready);
    state.ReleaseToken();
  } else if (ready.empty()) {
    state.ReleaseToken();
  } else if (current != nullptr) {
    ContinueOnPool(state, ready);
  } else {
    ReadyLoop loop(state, RunWhere::kReader);
    loop.Add(ready);
    loop.Run();
  }
}

absl::Status DoneIsLost() {
  return absl::ResourceExhaustedError(
      "the kernel ended without a result, most likely by an exception for lack "
      "of memory");
}

// The `done` of an asynchronous kernel. If it is destroyed without a call by an
// exception, or by a thread that works on the step, the node fails: otherwise
// the step would wait for it forever. Elsewhere its destructor does nothing,
// for it may outlive what the step uses: a scheduler that ends destroys
// closures without running them. Other code must not drop it.
class AsyncDone {
 public:
  explicit AsyncDone(AsyncEntry& entry) : entry_(&entry) {}
  AsyncDone(AsyncDone&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  AsyncDone& operator=(AsyncDone&&) = delete;
  ~AsyncDone() {
    if (entry_ != nullptr) Fail(*entry_);
  }

  void operator()(const absl::Status& status) {
    EndAsync(*std::exchange(entry_, nullptr), status);
  }

 private:
  static void Fail(AsyncEntry& entry) {
    if (std::current_exception() != nullptr) {
      return EndAsync(entry, CurrentExceptionStatus());
    }
    ReadyLoop* const loop = ReadyLoop::Current();
    if (std::uncaught_exceptions() == 0 && !IsOfStep(loop, entry)) return;
    if (loop != nullptr && loop->FailsLater(entry)) return;
    EndAsync(entry, StatusWithoutThrowing(DoneIsLost));
  }
  static bool IsOfStep(ReadyLoop* loop, const AsyncEntry& entry) {
    return loop != nullptr && &loop->state() == &entry.ready.iteration->state;
  }

  AsyncEntry* entry_;
};

}  // namespace

ReadyLoop::ReadyLoop(StepState& state, RunWhere where)
    : state_(state), where_(where), outer_(std::exchange(current_loop, this)) {}

ReadyLoop::~ReadyLoop() {
  if (current_loop == this) current_loop = outer_;
}

ReadyLoop* ReadyLoop::Current() { return current_loop; }

void ContinueOnPool(StepState& state, const ReadyList& nodes) {
  if (nodes.size() == 1) {
    // A single node is captured by value, which is small enough for the closure
    // to
    // need no memory.
    state.context.scheduler->Schedule(Pool::kCompute, [node = nodes[0]] {
      ReadyLoop loop(node.iteration->state, RunWhere::kPool);
      loop.Add({node});
      loop.Run();
    });
    return;
  }
  state.context.scheduler->Schedule(
      Pool::kCompute, [&state, list = std::make_unique<ReadyList>(nodes)] {
        ReadyLoop loop(state, RunWhere::kPool);
        loop.Add(*list);
        loop.Run();
      });
}

void ReadyLoop::Add(const ReadyList& nodes) {
  // If there is nothing else to do, the node runs here whatever its cost.
  if (nodes.size() == 1 && !HasMore()) return Keep(nodes[0]);
  for (const Ready& node : nodes) {
    if (where_ == RunWhere::kReader || !IsLong(node)) {
      ready_.push_back(node);
    } else if (!has_kept_) {
      Keep(node);
    } else if (IsWorthHandingOver(node)) {
      state_.AddToken();
      ContinueOnPool(state_, {node});
    } else {
      waiting_nanoseconds_ += ItemOf(node).cost_or_zero();
      ready_.push_back(node);
    }
  }
}

bool ReadyLoop::IsLong(const Ready& ready) const {
  const NodeItem& item = ItemOf(ready);
  if (ready.is_dead || item.kind == NodeKind::kAsync) return false;
  if (item.kind != NodeKind::kKernel || item.moves_input) return false;
  return ExpectedNanoseconds(item, InputsOf(ready)) > kHandOverNanoseconds;
}

// Returns whether a long-running node should run on another thread: it takes
// longer than the hand-over, or would have to wait longer on this thread.
bool ReadyLoop::IsWorthHandingOver(const Ready& ready) const {
  const uint64_t most = HandOverNanoseconds(*state_.context.scheduler);
  return ExpectedNanoseconds(ItemOf(ready), InputsOf(ready)) > most ||
         waiting_nanoseconds_ + ItemOf(kept_).cost_or_zero() > most;
}

bool ReadyLoop::MayRunOnReader(const Ready& ready) {
  const NodeItem& item = ItemOf(ready);
  const bool runs_kernel = !ready.is_dead && (item.kind == NodeKind::kKernel ||
                                              item.kind == NodeKind::kAsync);
  if (runs_kernel && !item.is_cheap) return false;
  // A cheap asynchronous kernel moves its inputs, and so does _Send, except for
  // strings.
  if (runs_kernel && item.kind == NodeKind::kKernel && !item.moves_input &&
      InputBytes(item, InputsOf(ready)) > kReaderBytes) {
    return false;
  }
  if (--nodes_until_clock_ > 0) return true;
  nodes_until_clock_ = kNodesBetweenClocks;
  const absl::Time now = state_.context.scheduler->clock().Now();
  if (give_up_at_ == absl::InfinitePast()) give_up_at_ = now + kReaderBudget;
  return now < give_up_at_;
}

void ReadyLoop::Drop() {
  state_.NoteDropped();
  ready_.clear();
  has_kept_ = false;
}

Outputs ReadyLoop::PlaceOutputs(const Ready& ready, const NodeItem& item) {
  if (item.direct_slot >= 0) {
    return {ready.iteration->slots.get() + item.direct_slot, 1};
  }
  if (item.num_outputs == 0) return {};
  if (outputs_ == nullptr) outputs_ = state_.TakeOutputs();
  return {outputs_.get(), item.num_outputs};
}

template <bool kTraced>
void ReadyLoop::RunNode(const Ready& ready) {
  const NodeItem& item = state_.plan.nodes[ready.node];
  Slot* inputs = ready.iteration->slots.get() + item.first_input;
  if constexpr (kTraced) begin_ = state_.trace->Now();
  if (ready.is_dead && !item.revives && !item.runs_when_dead) {
    return Complete<kTraced>(ready, item, true, {});
  }
  if (item.num_refs > 0) {
    absl::Status status = ReadRefs(state_.plan, item, inputs, WhenLockedHere());
    if (!status.ok()) return End(ready, item, status);
  }
  if constexpr (kTraced) sent_bytes_ = InputBytes(item, inputs);
  switch (item.kind) {
    case NodeKind::kKernel:
      return RunKernel<kTraced>(ready, item);
    case NodeKind::kAsync:
      return RunAsync<kTraced>(ready, item);
    case NodeKind::kForward:
      if (item.num_consts > 0) return RunOnConst<kTraced>(ready, item);
      return CompleteInPlace<kTraced>(ready, item, {inputs, 1});
    case NodeKind::kSwitch: {
      // A traced node always runs its kernel, because a trace has all outputs,
      // including the unused ones of a Merge.
      const int taken = kTraced ? -1 : OutputTaken(inputs);
      if (taken < 0) return RunKernel<kTraced>(ready, item);
      return CompleteInPlace<kTraced>(ready, item, {inputs, 2, taken});
    }
    case NodeKind::kMerge: {
      Slot* came = kTraced ? nullptr : FindCome(inputs, item.num_inputs);
      if (came == nullptr) return RunKernel<kTraced>(ready, item);
      return CompleteInPlace<kTraced>(ready, item, {came, 1});
    }
    case NodeKind::kArg: {
      const Outputs outputs = PlaceOutputs(ready, item);
      outputs.slots[0].tensor = state_.args[item.index];
      return Complete<kTraced>(ready, item, false, outputs);
    }
    case NodeKind::kRetval:
      if (item.num_consts > 0) return RunOnConst<kTraced>(ready, item);
      state_.retvals[item.index] = std::move(inputs[0].tensor);
      return Complete<kTraced>(ready, item, false, {});
  }
}

// Runs a forwarding node on a constant, or a node that returns a constant:
// copies the constant.
template <bool kTraced>
void ReadyLoop::RunOnConst(const Ready& ready, const NodeItem& item) {
  const Slot& input = InputsOf(ready)[0];
  if (item.kind == NodeKind::kRetval) {
    state_.retvals[item.index] = input.tensor;
    return Complete<kTraced>(ready, item, false, {});
  }
  const Outputs outputs = PlaceOutputs(ready, item);
  outputs.slots[0] = input;
  Complete<kTraced>(ready, item, false, outputs);
}

bool ReadyLoop::MayTakeLong(const Ready& ready, const NodeItem& item) const {
  return !item.is_cheap ||
         ExpectedNanoseconds(item, InputsOf(ready)) > kHandOverNanoseconds;
}

// Returns whether this run of the node is timed. A kernel that is much cheaper
// than a hand-over is timed in one run of eight, because reading the clock
// twice takes a tenth of the time of many such kernels.
bool ReadyLoop::IsTimed(const NodeItem& item) {
  if (item.cost == nullptr) return false;
  const uint32_t nanoseconds = item.cost_or_zero();
  if (nanoseconds == 0 || nanoseconds > kHandOverNanoseconds / 4) return true;
  // Concurrent runs may count as one.
  const uint32_t runs = item.cost->runs.load(std::memory_order_relaxed) + 1;
  item.cost->runs.store(runs, std::memory_order_relaxed);
  return runs % kRunsBetweenTimes == 0;
}

absl::Status ReadyLoop::ComputeTimed(const NodeItem& item,
                                     OpKernelContext& context) {
  const Clock& clock = state_.context.scheduler->clock();
  const absl::Time begin = clock.Now();
  absl::Status status = item.kernel->Compute(context);
  NoteCost(item, clock.Now() - begin);
  return status;
}

absl::Status ReadyLoop::Compute(const NodeItem& item,
                                OpKernelContext& context) {
  return CatchExceptions([&] {
    return IsTimed(item) ? ComputeTimed(item, context)
                         : item.kernel->Compute(context);
  });
}

template <bool kTraced>
void ReadyLoop::RunKernel(const Ready& ready, const NodeItem& item) {
  if (state_.outbox != nullptr && !item.is_send &&
      (MayTakeLong(ready, item) || state_.outbox->IsUrgent())) {
    state_.outbox->Flush();
  }
  const Outputs outputs = PlaceOutputs(ready, item);
  OpKernelContext context(state_.context, item.view,
                          absl::MakeSpan(InputsOf(ready), item.num_inputs),
                          absl::MakeSpan(outputs.slots, outputs.size),
                          ready.iteration->position(), WhenLockedHere());
  const absl::Status status = Compute(item, context);
  if (status.ok() && AreAsPromised(item, outputs.slots)) {
    state_.NoteLaunch(item);
    return Complete<kTraced>(ready, item, ready.is_dead && !item.revives,
                             outputs);
  }
  const absl::Status error =
      status.ok() ? CheckOutputs(item, outputs.slots) : status;
  ClearOutputs(outputs);
  End(ready, item, error);
}

void ReadyLoop::End(const Ready& ready, const NodeItem& item,
                    const absl::Status& status) {
  if (!IsGivenUp(status)) return state_.Fail(item, status);
  state_.AddToken();
  ContinueOnPool(state_, {ready});
}

WhenLocked ReadyLoop::WhenLockedHere() const {
  return where_ == RunWhere::kReader ? WhenLocked::kGiveUp : WhenLocked::kWait;
}

template <bool kTraced>
void ReadyLoop::RunAsync(const Ready& ready, const NodeItem& item) {
  // Sends held values first, because a node that is not cheap may do much
  // before it waits, such as run a function's body.
  if (state_.outbox != nullptr && !item.is_cheap) state_.outbox->Flush();
  AsyncEntry& entry = ready.iteration->async_entries[item.async_index];
  entry.ready = ready;
  entry.context.emplace(state_.context, item.view,
                        absl::MakeSpan(InputsOf(ready), item.num_inputs),
                        absl::MakeSpan(entry.outputs.get(), item.num_outputs),
                        ready.iteration->position());
  state_.AddToken();
  entry.waits.store(true, std::memory_order_relaxed);
  if constexpr (kTraced) entry.begin = begin_;
  ComputeAsync(item, entry);
}

// Starts an asynchronous kernel. A kernel that throws has either kept `done`,
// which will end it, or lost it. The same holds for a kernel that catches an
// exception of a function that it calls, and then perhaps drops `done`.
void ReadyLoop::ComputeAsync(const NodeItem& item, AsyncEntry& entry) {
  starting_ = &entry;
  const absl::Status status = CatchExceptions([&] {
    item.async->ComputeAsync(*entry.context, AsyncDone(entry));
    return absl::OkStatus();
  });
  starting_ = nullptr;
  if (!std::exchange(is_done_lost_, false)) return;
  EndAsync(entry, status.ok() ? DoneIsLost() : status);
}

template <bool kTraced>
void ReadyLoop::Complete(const Ready& ready, const NodeItem& item, bool is_dead,
                         const Outputs& outputs) {
  if constexpr (kTraced) {
    // As in TensorFlow, nodes that were not run are not traced; a dead value is
    // sent.
    if (!is_dead || item.runs_when_dead) {
      state_.trace->NodeRan(item, begin_, sent_bytes_, outputs.slots, is_dead);
    }
  }
  ClearInputs(item, *ready.iteration, outputs);
  HandOn(ready, is_dead, outputs);
}

template <bool kTraced>
void ReadyLoop::CompleteInPlace(const Ready& ready, const NodeItem& item,
                                const Outputs& outputs) {
  if constexpr (kTraced) {
    state_.trace->NodeRan(item, begin_, sent_bytes_, outputs.slots,
                          /*is_dead=*/false);
  }
  HandOn(ready, /*is_dead=*/false, outputs);
}

void ReadyLoop::HandOn(const Ready& ready, bool is_dead,
                       const Outputs& outputs) {
  fresh_.clear();
  Propagate(ready, is_dead, outputs, fresh_);
  if (fresh_.size() == 1 && !HasMore()) {
    Keep(fresh_[0]);
  } else if (!fresh_.empty()) {
    Add(fresh_);
  }
}

void ReadyLoop::Run() {
  Ready ready;
  ReadyList for_pool;
  while (Next(ready)) {
    if (state_.IsStopped()) {
      Drop();
      for_pool.clear();
    } else if (where_ == RunWhere::kReader && !MayRunOnReader(ready)) {
      for_pool.push_back(ready);
    } else if (state_.trace == nullptr) {
      RunNode<false>(ready);
    } else {
      RunNode<true>(ready);
    }
  }
  current_loop = outer_;
  if (outputs_ != nullptr) state_.GiveBack(std::move(outputs_));
  if (state_.outbox != nullptr && !(for_pool.empty() && state_.IsLastToken())) {
    state_.outbox->Flush();
  }
  if (for_pool.empty()) {
    state_.ReleaseToken();
  } else {
    ContinueOnPool(state_, for_pool);
  }
}

}  // namespace weft
