#include "libs/executor/call_tree.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The maximum number of nested calls on one thread. The next call is deferred
// to the pool, so that deep calls need no deep stack.
constexpr int kCallsOnOneStack = 16;
// One call in this many is deferred, so that the thread runs other work, too.
constexpr uint64_t kCallsInARow = 256;

}  // namespace

CallTree::CallTree(Scheduler& scheduler, const Cancellation& step, int around)
    : scheduler_(scheduler), step_(step), around_(around) {}

absl::Status CallTree::Enter() {
  if (step_.IsCancelled()) return step_.status();
  if (open_.fetch_add(1, std::memory_order_relaxed) < kMaxCalls) {
    return absl::OkStatus();
  }
  Leave();
  return absl::ResourceExhaustedError(absl::StrCat(
      "more than ", kMaxCalls,
      " calls of functions run at once in a step. A function that calls itself "
      "must come to an end, or start fewer calls before it waits for them."));
}

void CallTree::Run(int depth, StartCall start) {
  if (MayRunHere(depth)) return start();
  PutAside(depth, std::move(start));
}

bool CallTree::MayRunHere(int depth) {
  if ((depth - around_) % kCallsOnOneStack == 0) return false;
  if (deepest_.load(std::memory_order_relaxed) >= depth) return false;
  const uint64_t earlier = started_.fetch_add(1, std::memory_order_relaxed);
  return (earlier + 1) % kCallsInARow != 0;
}

void CallTree::PutAside(int depth, StartCall start) {
  {
    absl::MutexLock lock(&mutex_);
    aside_.emplace(depth, std::move(start));
    deepest_.store(aside_.rbegin()->first, std::memory_order_relaxed);
    if (takers_ >= scheduler_.num_compute_threads()) return;
    ++takers_;
  }
  ScheduleRunNext();
}

void CallTree::ScheduleRunNext() {
  scheduler_.Schedule(Pool::kCompute,
                      [self = shared_from_this()] { self->RunNext(); });
}

void CallTree::RunNext() {
  StartCall start;
  {
    absl::MutexLock lock(&mutex_);
    if (aside_.empty()) {
      --takers_;
      return;
    }
    const auto deepest = std::prev(aside_.end());
    start = std::move(deepest->second);
    aside_.erase(deepest);
    deepest_.store(aside_.empty() ? 0 : aside_.rbegin()->first,
                   std::memory_order_relaxed);
  }
  start();
  ScheduleRunNext();
}

}  // namespace weft
