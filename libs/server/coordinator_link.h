// CoordinatorLink: keeps a task a member of its cluster: joins, reports, joins
// again when the coordinator was lost or has started anew, and leaves.
//
//   idle --> joining <--> joined
//              |  |         |
//              v  +------+  |
//           refused      v  v
//                        left
//
// Joins, heartbeats and reports. Joins and heartbeats are small; they are sent,
// and their answers are read, on the control pool, and wait for nothing. A
// report says all that the task holds, so collecting it may wait for locks of
// variables: it is collected on Pool::kGraph and travels beside the heartbeats,
// one at a time. The first one follows the Join.
//
// Only who was joined before leaves while it joins again. Close ends the link
// in any state.
//
// Refusals. They end the link of a task that has never joined: its spec is
// wrong, or its build. One that has joined goes on joining, and says why in the
// log: when a coordinator has died another cluster may have its address for a
// while. Only another process that goes on being the same task ends it, too
// (ALREADY_EXISTS).
//
// Threads: all methods may be called from any thread; Leave and Close block.
// Events come on a thread that must not wait, none after Close has returned.
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
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/protocol/coordinator.h"

namespace weft {

// What the link tells its task.
class CoordinatorLinkEvents {
 public:
  virtual ~CoordinatorLinkEvents() = default;
  // What the task tells of itself. Called on Pool::kGraph, while no lock of the
  // link is held. May wait for locks of variables.
  virtual protocol::TaskReport Report() = 0;
  // Which cluster the task belongs to: the first time that this is certain, and
  // should it ever change.
  virtual void OnClusterKnown(const std::string& uuid) = 0;
  // The coordinator does not want this task in its cluster, for good (see
  // above): FAILED_PRECONDITION or ALREADY_EXISTS, naming both sides. Once; the
  // link ends.
  virtual void OnRefused(const absl::Status& why) = 0;
  // Somebody shuts the cluster down. Once.
  virtual void OnStopRequested() = 0;
  // All tasks of the job have left; told with every heartbeat and report.
  virtual void OnJobFinished(const std::string& job) = 0;
  // This process of a task has left, cleanly. Perhaps more than once.
  virtual void OnTaskLeft(const std::string& task, uint64_t incarnation) = 0;
};

struct CoordinatorLinkOptions {
  Scheduler* scheduler = nullptr;                // outlives the link
  protocol::Coordinator* coordinator = nullptr;  // likewise
  CoordinatorLinkEvents* events = nullptr;       // likewise
  // Without target and report.
  protocol::JoinRequest request;
  // How long another process may go on claiming this task before the link
  // gives up: what is dead is found dead by then. Without another answer in
  // between.
  absl::Duration claim_patience = absl::Seconds(20);
  Logger* logger = nullptr;  // may be null
};

class CoordinatorLink : public std::enable_shared_from_this<CoordinatorLink> {
 public:
  explicit CoordinatorLink(const CoordinatorLinkOptions& options);

  // Begins to join, and returns. `target` is where the task listens.
  void Start(const std::string& target);
  // The coordinator can be reached, perhaps another one than before.
  void OnConnected();
  // It can't be reached any more.
  void OnLost();
  bool joined() const;
  // This process of a task has said that it ends; or another one, or the same,
  // is there. The next heartbeat or report tells the coordinator of a task that
  // has left; a Join tells the next coordinator of those that one before knew.
  void NoteLeft(const std::string& task, uint64_t incarnation);
  void NoteBack(const std::string& task);
  // Whether the coordinator, or a NoteLeft, has said so.
  bool HasLeft(const std::string& task, uint64_t incarnation) const;
  // Tells the coordinator that a task that has joined stops, also one whose
  // connection is being made again; waits a moment for the answer. No heartbeat
  // and no join begins from then on.
  void Leave();
  // Nothing is sent and no event comes any more.
  void Close();

 private:
  enum class State { kIdle, kJoining, kJoined, kRefused, kLeft, kClosed };

  void Join();
  // `told_left`: what the request said.
  void OnJoinAnswered(const std::vector<protocol::LeftTask>& told_left,
                      absl::StatusOr<protocol::JoinReply> reply);
  void NoteCluster(const std::string& uuid);
  void Refused(const absl::Status& why);
  void LogWaiting(const absl::Status& why);
  void BeatLater(absl::Duration delay);
  void Beat();
  void OnBeatAnswered(absl::StatusOr<protocol::HeartbeatReply> reply);
  // Sends one report, unless one is on its way.
  void ReportSoon();
  void Report();
  void OnReportAnswered(absl::StatusOr<protocol::HeartbeatReply> reply);
  // A heartbeat without report, if the task is a member; `timeout` is how long
  // the answer may take.
  bool NewBeat(protocol::HeartbeatRequest& request, absl::Duration& timeout);
  void Send(const protocol::HeartbeatRequest& request, absl::Duration timeout,
            void (CoordinatorLink::*on_answer)(
                absl::StatusOr<protocol::HeartbeatReply>));
  // The coordinator `asked` has answered a heartbeat that said `told_left`;
  // `reported`: and brought a report.
  void NoteAnswered(uint64_t asked, bool reported,
                    const std::vector<protocol::LeftTask>& told_left,
                    protocol::HeartbeatReply& reply)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ToldLeft(const std::vector<protocol::LeftTask>& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Handles what the answers to heartbeats and to reports have in common.
  // Returns false if the task is no longer a member.
  bool TakeAnswer(const absl::StatusOr<protocol::HeartbeatReply>& reply);
  void TellEvents(const protocol::HeartbeatReply& reply);
  // Returns the tasks that have left since.
  std::vector<protocol::LeftTask> TakeLeft(
      const protocol::HeartbeatReply& reply) ABSL_LOCKS_EXCLUDED(mutex_);
  void JoinLater(absl::Duration pause);
  // Runs `method` on `pool` after `delay`, instead of what was to run later;
  // nothing, where the link is in another state by now.
  void After(State state, Pool pool, absl::Duration delay,
             void (CoordinatorLink::*method)());
  bool HasJoined() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return coordinator_ != 0;
  }
  bool IsClosed() const;
  // False once the link is closed; else events may be called until End.
  bool BeginEvents();

  const CoordinatorLinkOptions options_;
  InFlight in_flight_;
  mutable absl::Mutex mutex_;
  std::string target_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kIdle;
  bool is_joining_ ABSL_GUARDED_BY(mutex_) = false;  // a Join is under way
  // Set when that has been answered; null while there is none.
  std::shared_ptr<Event> join_answered_ ABSL_GUARDED_BY(mutex_);
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;  // the connection
  // There has been a connection since the Join that is under way began, which
  // may be answered by whoever was there before.
  bool is_another_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_reporting_ ABSL_GUARDED_BY(mutex_) = false;  // a report is under way
  // The coordinator that was joined last has not heard what the task holds.
  bool owes_report_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_to_stop_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t coordinator_ ABSL_GUARDED_BY(mutex_) = 0;  // joined last; 0: none
  std::string cluster_uuid_ ABSL_GUARDED_BY(mutex_);  // empty: not known yet
  // The incarnations of tasks that have left, of all coordinators; and how new
  // this is, by the one that was joined last.
  std::map<std::string, uint64_t> left_ ABSL_GUARDED_BY(mutex_);
  uint64_t left_version_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of left_: what no coordinator has been told yet.
  std::map<std::string, uint64_t> untold_left_ ABSL_GUARDED_BY(mutex_);
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  absl::Duration slice_ ABSL_GUARDED_BY(mutex_);  // of the next Join
  absl::Time last_logged_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time claimed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // Of the heartbeats; a new Join begins another row of them.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_COORDINATOR_LINK_H_
