// ZmqLoop is one thread that serves the sockets of a channel. It sleeps until
// libzmq signals one of them, or until it is woken.
//
// It polls for a while before it sleeps: most messages answer one that was just
// sent, and waking an idle processor costs more than that, tens of microseconds
// on a virtual machine. Meanwhile it yields to other threads.
//
// Threads: all methods may be called from any thread. The thread runs in
// Pool::kUnbounded; members are polled on it, one at a time, without a lock of
// the loop held.
#ifndef WEFT_LIBS_BUS_ZMQ_ZMQ_LOOP_H_
#define WEFT_LIBS_BUS_ZMQ_ZMQ_LOOP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/zmq/loop_poller.h"

namespace weft::bus {

class LoopMember {
 public:
  // Bits of `signals`, which tell a member what to check.
  static constexpr unsigned kMessages = 1;
  static constexpr unsigned kChanges = 2;
  static constexpr unsigned kBacklog = 4;

  enum class Next {
    kSleep,  // until a descriptor is readable or Wake is called
    kMore,   // again, after the other members had their turn
    kRetry,  // again in about a millisecond
  };

  virtual ~LoopMember() = default;
  // Makes progress, or consumes what has signalled the descriptors: a poll must
  // not return at once twice without progress.
  virtual Next Poll(unsigned signals) = 0;
};

class ZmqLoop {
 public:
  using MemberId = uint64_t;  // never 0

  // `busy_poll`: how long it polls before it sleeps.
  ZmqLoop(Scheduler& scheduler, absl::Duration busy_poll,
          std::unique_ptr<LoopPoller> poller = NewEpollPoller())
      : scheduler_(scheduler),
        busy_poll_(busy_poll),
        poller_(std::move(poller)) {}
  // Ends the thread and waits for it. Must not be called on it.
  ~ZmqLoop();

  // Starts the thread unless it runs. RESOURCE_EXHAUSTED: no descriptors, or no
  // threads, are left.
  absl::Status Start();

  // Polls `member` when one of the descriptors is readable, and once at first.
  // REQUIRES: started.
  MemberId Add(std::shared_ptr<LoopMember> member, int messages, int changes);
  // Polls the member with kBacklog for each connection that arrives at
  // `listener`, until that is closed, and once if one waits now.
  void WatchBacklog(MemberId id, int listener);
  // Must be called before the descriptors are closed. A running poll continues.
  void Remove(MemberId id, int messages, int changes);
  // Polls the member soon, with kMessages and kChanges. Unknown ids are
  // ignored.
  void Wake(MemberId id);

  // Whether this thread is the loop's, or leads it.
  bool IsCurrentThread() const;

  // Implements Wire::Lead and Wire::WakeLeader. While a leader polls, the
  // loop's thread is parked; it resumes when the leader requests it or has been
  // absent for some milliseconds, so that a repeated caller finds it parked. If
  // another thread waited beside a leader, the loop's thread takes over, and
  // later callers are refused for a while: alternating would cost more than it
  // saves.
  bool Lead(absl::FunctionRef<bool()> done) ABSL_LOCKS_EXCLUDED(lead_mutex_);
  void WakeLeader() ABSL_LOCKS_EXCLUDED(lead_mutex_);

 private:
  struct Turn {
    std::shared_ptr<LoopMember> member;
    unsigned signals;
  };

  void Run();
  // Waits for events, and polls the members with a turn. Called by the leader.
  void Round(std::vector<Turn>& turns);
  bool BeginLead() ABSL_LOCKS_EXCLUDED(lead_mutex_);
  void EndLead() ABSL_LOCKS_EXCLUDED(lead_mutex_);
  // Leaves the polling to leaders, until there is none.
  void Park() ABSL_LOCKS_EXCLUDED(lead_mutex_);
  int Timeout();
  // As LoopPoller::Wait, but polls for a while before it sleeps.
  int WaitForEvents(absl::Span<uint64_t> tags);
  // Waits, then sets `turns`, which must be empty, to the members with a turn.
  void Gather(std::vector<Turn>& turns);
  void TakeWoken(std::vector<Turn>& turns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddTurn(MemberId id, unsigned signals, std::vector<Turn>& turns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Scheduler& scheduler_;
  const absl::Duration busy_poll_;
  const std::unique_ptr<LoopPoller> poller_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Event> ended_;

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  MemberId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<MemberId, std::shared_ptr<LoopMember>> members_
      ABSL_GUARDED_BY(mutex_);
  std::vector<MemberId> woken_ ABSL_GUARDED_BY(mutex_);

  // A caller wants the loop's thread to park.
  std::atomic<bool> lead_wanted_{false};
  // There is a thread to park: it may start long after Start, or never, if the
  // system refuses threads.
  std::atomic<bool> running_{false};
  absl::Mutex lead_mutex_;
  bool leading_ ABSL_GUARDED_BY(lead_mutex_) = false;
  bool parked_ ABSL_GUARDED_BY(lead_mutex_) = false;
  bool handover_ ABSL_GUARDED_BY(lead_mutex_) = false;  // others wait as well
  // The parked thread must poll again. Never while there is a leader.
  bool come_back_ ABSL_GUARDED_BY(lead_mutex_) = false;
  uint64_t leads_ ABSL_GUARDED_BY(lead_mutex_) = 0;
  int refusals_left_ ABSL_GUARDED_BY(lead_mutex_) = 0;
  Event* when_parked_ ABSL_GUARDED_BY(lead_mutex_) = nullptr;
  Event* unpark_ ABSL_GUARDED_BY(lead_mutex_) = nullptr;

  // Only the polling thread accesses these: the loop's, or the leader's. So
  // they need no lock.
  std::vector<Turn> more_;            // returned kMore: polled again at once
  std::vector<Turn> retry_;           // returned kRetry: polled after kRetryMs
  std::vector<MemberId> woken_here_;  // woken by this thread
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_ZMQ_LOOP_H_
