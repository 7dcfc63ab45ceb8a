#include "libs/bus/zmq/zmq_loop.h"

#include <sched.h>

#include <utility>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

// The loop of this thread. A Send must know whether it runs inside an event,
// and asking the kernel for the thread's number would cost a system call.
thread_local const ZmqLoop* current_loop = nullptr;

constexpr unsigned kWoken = LoopMember::kMessages | LoopMember::kChanges;
constexpr int kRetryMs = 1;  // LoopMember::Next::kRetry
// How long the parked loop's thread waits for the next leader.
constexpr absl::Duration kLeaderTimeout = absl::Milliseconds(2);
// The number of callers that are refused after several have waited at once.
constexpr int kRefusals = 64;

// A tag of the poller: the member's id and, in the low bits, the LoopMember
// signals of its descriptor.
constexpr int kSignalBits = 3;
constexpr uint64_t kSignals = (1 << kSignalBits) - 1;
uint64_t Tag(ZmqLoop::MemberId id, unsigned signals) {
  return id << kSignalBits | signals;
}

}  // namespace

ZmqLoop::~ZmqLoop() {
  if (ended_ != nullptr) {
    stopping_.store(true);
    poller_->WakeUp();
    {
      absl::MutexLock lock(&lead_mutex_);
      if (unpark_ != nullptr) unpark_->Set();
    }
    ended_->Wait();
  }
}

absl::Status ZmqLoop::Start() {
  absl::MutexLock lock(&mutex_);
  if (started_) return absl::OkStatus();
  RETURN_IF_ERROR(poller_->Open());
  ended_ = scheduler_.NewEvent();
  started_ = true;
  scheduler_.Schedule(Pool::kUnbounded, [this] { Run(); });
  return absl::OkStatus();
}

ZmqLoop::MemberId ZmqLoop::Add(std::shared_ptr<LoopMember> member, int messages,
                               int changes) {
  MemberId id;
  {
    absl::MutexLock lock(&mutex_);
    id = next_id_++;
    members_[id] = std::move(member);
  }
  poller_->Add(messages, Tag(id, LoopMember::kMessages));
  poller_->Add(changes, Tag(id, LoopMember::kChanges));
  Wake(id);
  return id;
}

// Each connection once: libzmq takes it, and it is not ready any more.
void ZmqLoop::WatchBacklog(MemberId id, int listener) {
  poller_->AddEdge(listener, Tag(id, LoopMember::kBacklog));
}

void ZmqLoop::Remove(MemberId id, int messages, int changes) {
  poller_->Remove(messages);
  poller_->Remove(changes);
  absl::MutexLock lock(&mutex_);
  members_.erase(id);
}

void ZmqLoop::Wake(MemberId id) {
  if (IsCurrentThread()) return woken_here_.push_back(id);
  {
    absl::MutexLock lock(&mutex_);
    woken_.push_back(id);
    if (woken_.size() > 1) return;  // the first one has woken the loop
  }
  poller_->WakeUp();
}

bool ZmqLoop::IsCurrentThread() const { return current_loop == this; }

void ZmqLoop::Run() {
  running_.store(true);
  current_loop = this;
  std::vector<Turn> turns;
  while (!stopping_.load()) {
    if (lead_wanted_.load()) {
      Park();
    } else {
      Round(turns);
    }
  }
  more_.clear();
  retry_.clear();
  current_loop = nullptr;
  ended_->Set();  // the loop may be gone now
}

void ZmqLoop::Round(std::vector<Turn>& turns) {
  Gather(turns);
  for (Turn& turn : turns) {
    const auto next = turn.member->Poll(turn.signals);
    if (next == LoopMember::Next::kMore) {
      more_.push_back(std::move(turn));
    } else if (next == LoopMember::Next::kRetry) {
      retry_.push_back(std::move(turn));
    }
  }
  turns.clear();
}

bool ZmqLoop::Lead(absl::FunctionRef<bool()> done) {
  if (!BeginLead()) return false;
  current_loop = this;
  std::vector<Turn> turns;
  while (!done()) Round(turns);
  current_loop = nullptr;
  EndLead();
  return true;
}

bool ZmqLoop::BeginLead() {
  if (!running_.load()) return false;
  std::unique_ptr<Event> parked;
  {
    absl::MutexLock lock(&lead_mutex_);
    if (leading_) {
      handover_ = true;
      return false;
    }
    if (refusals_left_ > 0) {
      --refusals_left_;
      return false;
    }
    leading_ = true;
    ++leads_;
    // Work that the last leader left behind is now this leader's. The parked
    // thread must wait, and not poll whether it may come back.
    come_back_ = false;
    if (parked_) return true;
    parked = scheduler_.NewEvent();
    when_parked_ = parked.get();
    lead_wanted_.store(true);
  }
  poller_->WakeUp();
  parked->Wait();
  // The event is set under the lock, and may be destroyed once the lock is
  // free.
  absl::MutexLock lock(&lead_mutex_);
  return true;
}

void ZmqLoop::EndLead() {
  const bool unfinished =
      !more_.empty() || !retry_.empty() || !woken_here_.empty();
  absl::MutexLock lock(&lead_mutex_);
  leading_ = false;
  if (handover_) refusals_left_ = kRefusals;
  if (handover_ || unfinished) {
    come_back_ = true;
    if (unpark_ != nullptr) unpark_->Set();
  }
  handover_ = false;
}

void ZmqLoop::WakeLeader() {
  if (IsCurrentThread()) return;
  absl::MutexLock lock(&lead_mutex_);
  if (leading_) poller_->WakeUp();
}

void ZmqLoop::Park() {
  current_loop = nullptr;
  bool stay = true;
  while (stay) {
    const std::unique_ptr<Event> unpark = scheduler_.NewEvent();
    uint64_t leads = 0;
    {
      absl::MutexLock lock(&lead_mutex_);
      parked_ = true;
      leads = leads_;
      unpark_ = unpark.get();
      if (when_parked_ != nullptr) when_parked_->Set();
      when_parked_ = nullptr;
      if (come_back_ || stopping_.load()) unpark->Set();
    }
    unpark->WaitUntil(scheduler_.clock().Now() + kLeaderTimeout);
    absl::MutexLock lock(&lead_mutex_);
    unpark_ = nullptr;
    stay = !stopping_.load() && (leading_ || (leads_ != leads && !come_back_));
    if (stay) continue;
    parked_ = false;
    come_back_ = false;
    lead_wanted_.store(false);
  }
  current_loop = this;
}

int ZmqLoop::Timeout() {
  if (!more_.empty() || !woken_here_.empty()) return 0;
  return retry_.empty() ? LoopPoller::kForever : kRetryMs;
}

int ZmqLoop::WaitForEvents(absl::Span<uint64_t> tags) {
  const int timeout = Timeout();
  if (timeout >= 0) return poller_->Wait(timeout, tags);
  const Clock& clock = scheduler_.clock();
  const absl::Time sleep_at = clock.Now() + busy_poll_;
  while (clock.Now() < sleep_at) {
    if (const int n = poller_->Wait(0, tags); n != 0) return n;
    sched_yield();  // threads with work go first
  }
  return poller_->Wait(timeout, tags);
}

void ZmqLoop::Gather(std::vector<Turn>& turns) {
  uint64_t tags[LoopPoller::kMaxTags];
  const int n = WaitForEvents(absl::MakeSpan(tags));
  turns.swap(more_);
  for (Turn& turn : retry_) turns.push_back(std::move(turn));
  retry_.clear();
  absl::MutexLock lock(&mutex_);
  for (int i = 0; i < n; ++i) {
    if (tags[i] == LoopPoller::kWakeUpTag) {
      TakeWoken(turns);
    } else {
      AddTurn(tags[i] >> kSignalBits, static_cast<unsigned>(tags[i] & kSignals),
              turns);
    }
  }
  for (const MemberId id : woken_here_) AddTurn(id, kWoken, turns);
  woken_here_.clear();
}

void ZmqLoop::TakeWoken(std::vector<Turn>& turns) {
  poller_->ConsumeWakeUps();
  for (const MemberId id : woken_) AddTurn(id, kWoken, turns);
  woken_.clear();
}

void ZmqLoop::AddTurn(MemberId id, unsigned signals, std::vector<Turn>& turns) {
  const auto found = members_.find(id);
  if (found != members_.end()) turns.push_back({found->second, signals});
}

}  // namespace weft::bus
