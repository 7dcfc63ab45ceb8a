// CoordinatorLink keeps a task a member of its cluster: it joins, reports,
// joins again when the coordinator was lost or has restarted, and leaves.
//
//   idle --> joining <--> joined
//              |  |         |
//              v  +------+  |
//           refused      v  v
//                        left
//
// Joins, heartbeats and reports. Joins and heartbeats are small; they are sent,
// and their answers are read, on the control pool, and wait for nothing. A
// report contains everything that the task holds, so collecting it may wait for
// locks of variables: it is collected on Pool::kGraph and sent concurrently
// with the heartbeats, one at a time. The first report follows the Join.
//
// A joining task leaves only if it was joined before. Close ends the link in
// any state.
//
// Refusals. They end the link of a task that has never joined: its spec or its
// build is wrong. A task that has joined keeps trying, and logs the reason:
// when a coordinator has died, another cluster may have its address for a
// while. Only another process that persistently claims to be the same task ends
// it, too (ALREADY_EXISTS).
//
// Threads: all methods may be called from any thread; Leave and Close block.
// Events run on a thread that must not wait, none after Close has returned.
#ifndef WEFT_LIBS_SERVER_COORDINATOR_LINK_H_
#define WEFT_LIBS_SERVER_COORDINATOR_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

// CoordinatorLinkEvents notifies the task of a link.
class CoordinatorLinkEvents {
 public:
  virtual ~CoordinatorLinkEvents() = default;
  // Returns the task's report about itself. Called on Pool::kGraph, while no
  // lock of the link is held. May wait for locks of variables.
  virtual protocol::TaskReport Report() = 0;
  // Called with the uuid of the task's cluster when it is first certain, and
  // whenever it changes.
  virtual void OnClusterKnown(const std::string& uuid) = 0;
  // Called once if the coordinator permanently refuses this task (see above);
  // then the link ends. `why` is FAILED_PRECONDITION or ALREADY_EXISTS, naming
  // both sides.
  virtual void OnRefused(const absl::Status& why) = 0;
  // Called once if the cluster is being shut down.
  virtual void OnStopRequested() = 0;
  // Called when all tasks of the job have left, and again with every heartbeat
  // and report.
  virtual void OnJobFinished(const std::string& job) = 0;
  // Called when this process of a task has left cleanly, perhaps more than
  // once.
  virtual void OnTaskLeft(const std::string& task, uint64_t incarnation) = 0;
};

struct CoordinatorLinkOptions {
  Scheduler* scheduler = nullptr;                // must outlive the link
  protocol::Coordinator* coordinator = nullptr;  // must outlive it, too
  CoordinatorLinkEvents* events = nullptr;       // must outlive it, too
  // Without target and report.
  protocol::JoinRequest request;
  // How long another process may claim this task, without another answer in
  // between, before the link gives up. The coordinator detects within that time
  // that the other process is dead.
  absl::Duration claim_timeout = absl::Seconds(20);
  Logger* logger = nullptr;  // may be null
};

class CoordinatorLink : public std::enable_shared_from_this<CoordinatorLink> {
 public:
  explicit CoordinatorLink(const CoordinatorLinkOptions& options);

  // Begins to join, and returns. `target` is where the task listens.
  void Start(const std::string& target);
  // Must be called when the coordinator is connected, perhaps another one than
  // before.
  void OnConnected();
  // Must be called when the connection is lost.
  void OnLost();
  bool joined() const;
  // NoteLeft must be called when a process of a task has announced its end, and
  // NoteBack when a process of the task has connected. A task that has left is
  // reported to the coordinator with the next heartbeat or report. A Join
  // reports to the next coordinator the tasks that an earlier one knew.
  void NoteLeft(const std::string& task, uint64_t incarnation);
  void NoteBack(const std::string& task);
  // Returns whether the coordinator or a NoteLeft has reported that this
  // process of the task has left.
  bool HasLeft(const std::string& task, uint64_t incarnation) const;
  // Notifies the coordinator that a task that has joined stops, even if its
  // connection is being remade. Waits briefly for the answer. From then on, no
  // heartbeat and no join begins.
  void Leave();
  // Ends the link. After that, nothing is sent and no event runs.
  void Close();

 private:
  enum class State { kIdle, kJoining, kJoined, kRefused, kLeft, kClosed };

  void Join();
  // `sent_left` are the tasks that the request contained.
  void OnJoinAnswered(const std::vector<protocol::LeftTask>& sent_left,
                      absl::StatusOr<protocol::JoinReply> reply);
  void NoteCluster(const std::string& uuid);
  void Refused(const absl::Status& why);
  void LogWaiting(const absl::Status& why);
  void BeatLater(absl::Duration delay);
  void Beat();
  void OnBeatAnswered(absl::StatusOr<protocol::HeartbeatReply> reply);
  // Sends one report, unless one is in flight.
  void ReportSoon();
  void Report();
  void OnReportAnswered(absl::StatusOr<protocol::HeartbeatReply> reply);
  // Creates a heartbeat without report, if the task is a member; `timeout` is
  // the time limit for the answer.
  bool NewBeat(protocol::HeartbeatRequest& request, absl::Duration& timeout);
  void Send(const protocol::HeartbeatRequest& request, absl::Duration timeout,
            void (CoordinatorLink::*on_answer)(
                absl::StatusOr<protocol::HeartbeatReply>));
  // Notes that the coordinator `asked` has answered a heartbeat that contained
  // `sent_left` and, if `reported`, a report.
  void NoteAnswered(uint64_t asked, bool reported,
                    const std::vector<protocol::LeftTask>& sent_left,
                    protocol::HeartbeatReply& reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteSentLeft(const std::vector<protocol::LeftTask>& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Handles the common part of answers to heartbeats and reports. Returns false
  // if the task is no longer a member.
  bool TakeAnswer(const absl::StatusOr<protocol::HeartbeatReply>& reply);
  void NotifyEvents(const protocol::HeartbeatReply& reply);
  // Returns the tasks that have newly left.
  std::vector<protocol::LeftTask> TakeLeft(
      const protocol::HeartbeatReply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  void JoinLater(absl::Duration pause);
  // Runs `method` on the control pool after `delay`, replacing the previously
  // scheduled method; has no effect if the link is in another state by now.
  void After(State state, absl::Duration delay,
             void (CoordinatorLink::*method)());
  bool HasJoined() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return coordinator_ != 0;
  }
  bool IsClosed() const;
  // Returns false once the link is closed; otherwise events may be called until
  // End.
  bool BeginEvents();

  const CoordinatorLinkOptions options_;
  InFlight in_flight_;
  mutable absl::Mutex mutex_;
  std::string target_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kIdle;
  bool is_joining_ ABSL_GUARDED_BY(mutex_) = false;  // a Join is in progress
  // Set when the Join has been answered; null while no Join is in progress.
  std::shared_ptr<Event> join_answered_ ABSL_GUARDED_BY(mutex_);
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;  // the connection
  // Whether there has been a new connection since the current Join began. Then
  // the previous server may answer the Join.
  bool is_another_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_reporting_ ABSL_GUARDED_BY(mutex_) = false;  // a report is in flight
  // Whether the coordinator that was joined last has no report of this task
  // yet.
  bool owes_report_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stop_notified_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t coordinator_ ABSL_GUARDED_BY(mutex_) = 0;  // joined last; 0: none
  std::string cluster_uuid_ ABSL_GUARDED_BY(mutex_);  // empty: unknown
  // The incarnations of tasks that have left, from all coordinators; and the
  // version of the one joined last.
  std::map<std::string, uint64_t> left_ ABSL_GUARDED_BY(mutex_);
  uint64_t left_version_ ABSL_GUARDED_BY(mutex_) = 0;
  // The tasks of left_ that were not yet sent to any coordinator.
  std::map<std::string, uint64_t> unsent_left_ ABSL_GUARDED_BY(mutex_);
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  absl::Duration slice_ ABSL_GUARDED_BY(mutex_);  // of the next Join
  absl::Time last_logged_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time claimed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // The timer of the heartbeats. A new Join begins another series of them.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_COORDINATOR_LINK_H_
