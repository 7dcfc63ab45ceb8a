#include "libs/server/coordinator_link.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/bus/transport.h"

namespace weft {
namespace {

// How long one attempt to join waits for a connection and an answer. If there
// is a connection but no answer in time, the next attempt waits twice as long,
// so that a slow coordinator does not get one request after the other.
constexpr absl::Duration kJoinSlice = absl::Seconds(10);
constexpr absl::Duration kMaxJoinSlice = absl::Minutes(2);
// The pause between attempts that fail at once; also how long a leave waits for
// a connection that was lost.
constexpr absl::Duration kBackoff = absl::Milliseconds(200);
// The pause between attempts that another process refuses. A new process at the
// address is asked at once.
constexpr absl::Duration kRefusedPause = absl::Seconds(30);
// How long a stopping task waits until its leave was sent.
constexpr absl::Duration kFarewell = absl::Seconds(1);
// The minimum interval between log lines about what an unjoined task waits for;
// they are written between attempts.
constexpr absl::Duration kLogInterval = absl::Seconds(10);
// A heartbeat is given up after this many intervals.
constexpr int kBeatTimeoutIntervals = 3;

// Returns whether a refusal ends the link. A task that has never joined was
// started with the wrong spec or build. A task that has joined may meet another
// process at the address of its coordinator, or its coordinator with another
// spec, but its steps need neither. However, if another process has claimed the
// task, one of the two processes must stop.
bool IsForGood(const absl::Status& why, bool has_joined) {
  if (absl::IsAlreadyExists(why)) return true;
  return bus::IsRefusal(why) && !has_joined;
}

// Returns the tasks as a list, without those that have an entry in `except`.
std::vector<protocol::LeftTask> ListOf(
    const std::map<std::string, uint64_t>& left,
    const std::map<std::string, uint64_t>& except = {}) {
  std::vector<protocol::LeftTask> list;
  list.reserve(left.size());
  for (const auto& [task, incarnation] : left) {
    if (!except.contains(task)) list.push_back({task, incarnation});
  }
  return list;
}

}  // namespace

CoordinatorLink::CoordinatorLink(const CoordinatorLinkOptions& options)
    : options_(options), slice_(kJoinSlice) {}

void CoordinatorLink::Start(const std::string& target) {
  {
    absl::MutexLock lock(&mutex_);
    target_ = target;
    state_ = State::kJoining;
  }
  Join();
}

bool CoordinatorLink::joined() const {
  absl::MutexLock lock(&mutex_);
  return state_ == State::kJoined;
}

bool CoordinatorLink::IsClosed() const {
  absl::MutexLock lock(&mutex_);
  return state_ == State::kClosed;
}

bool CoordinatorLink::BeginEvents() {
  absl::MutexLock lock(&mutex_);
  if (state_ == State::kClosed) return false;
  in_flight_.Begin();
  return true;
}

void CoordinatorLink::OnLost() {
  {
    absl::MutexLock lock(&mutex_);
    is_lost_ = true;
    if (state_ != State::kJoined) return;
    state_ = State::kJoining;
  }
  JoinLater(kBackoff);
}

// Joins again, because the coordinator has marked this task lost when its old
// connection ended.
void CoordinatorLink::OnConnected() {
  {
    absl::MutexLock lock(&mutex_);
    is_lost_ = false;
    if (state_ != State::kJoined && state_ != State::kJoining) return;
    state_ = State::kJoining;
    is_another_ = true;
  }
  options_.scheduler->Schedule(Pool::kControl,
                               [self = shared_from_this()] { self->Join(); });
}

void CoordinatorLink::Join() {
  protocol::JoinRequest request = options_.request;
  absl::Duration slice;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kJoining || std::exchange(is_joining_, true)) return;
    is_another_ = false;
    in_flight_.Begin();
    join_answered_ = options_.scheduler->NewEvent();
    request.target = target_;
    request.reports_later = true;
    request.cluster_uuid = cluster_uuid_;
    request.left = ListOf(left_, unsent_left_);
    slice = slice_;
  }
  options_.coordinator->Join(request, options_.scheduler->clock().Now() + slice,
                             [self = shared_from_this(), left = request.left](
                                 absl::StatusOr<protocol::JoinReply> reply) {
                               self->OnJoinAnswered(left, std::move(reply));
                             });
  in_flight_.End();
}

void CoordinatorLink::OnJoinAnswered(
    const std::vector<protocol::LeftTask>& sent_left,
    absl::StatusOr<protocol::JoinReply> reply) {
  const absl::Time now = options_.scheduler->clock().Now();
  absl::Duration interval = absl::InfiniteDuration();
  absl::Duration pause = kBackoff;
  bool is_refused = false;
  std::shared_ptr<Event> answered;
  const auto tell = absl::MakeCleanup([&] { answered->Set(); });
  {
    absl::MutexLock lock(&mutex_);
    is_joining_ = false;
    answered = std::move(join_answered_);
    slice_ = absl::IsDeadlineExceeded(reply.status())
                 ? std::min(2 * slice_, kMaxJoinSlice)
                 : kJoinSlice;
    if (state_ != State::kJoining) return;
    if (reply.ok()) {
      state_ = State::kJoined;
      if (coordinator_ != reply->coordinator) left_version_ = 0;
      coordinator_ = reply->coordinator;
      NoteSentLeft(sent_left);
      owes_report_ = true;
      interval = interval_ = reply->heartbeat_interval;
    }
    if (!absl::IsAlreadyExists(reply.status())) {
      claimed_since_ = absl::InfiniteFuture();
    } else {
      claimed_since_ = std::min(claimed_since_, now);
      if (now - claimed_since_ < options_.claim_timeout) {
        reply = absl::UnavailableError(reply.status().message());
      }
    }
    is_refused = IsForGood(reply.status(), HasJoined());
    if (is_refused) state_ = State::kRefused;
    if (bus::IsRefusal(reply.status()) && !is_another_) pause = kRefusedPause;
  }
  if (reply.ok()) {
    NoteCluster(reply->cluster_uuid);
    ReportSoon();
    return BeatLater(interval);
  }
  if (absl::IsCancelled(reply.status())) return;  // this task stops
  if (is_refused) return Refused(reply.status());
  LogWaiting(reply.status());
  JoinLater(pause);
}

void CoordinatorLink::NoteCluster(const std::string& uuid) {
  {
    absl::MutexLock lock(&mutex_);
    if (uuid.empty() || uuid == cluster_uuid_) return;
    cluster_uuid_ = uuid;
  }
  if (!BeginEvents()) return;
  options_.events->OnClusterKnown(uuid);
  in_flight_.End();
}

void CoordinatorLink::LogWaiting(const absl::Status& why) {
  if (options_.logger == nullptr || !BeginEvents()) return;
  const absl::Time now = options_.scheduler->clock().Now();
  bool is_due = false;
  {
    absl::MutexLock lock(&mutex_);
    is_due = now - last_logged_ >= kLogInterval;
    if (is_due) last_logged_ = now;
  }
  if (is_due && bus::IsRefusal(why)) {
    options_.logger->Warning(
        absl::StrCat("The process at the address of the coordinator refuses "
                     "this task, which has joined the cluster before, "
                     "continues its steps and retries: ",
                     why.message()));
  } else if (is_due) {
    options_.logger->Info(
        absl::StrCat("Waiting to join the cluster: ", why.message()));
  }
  in_flight_.End();
}

void CoordinatorLink::Refused(const absl::Status& why) {
  if (!BeginEvents()) return;
  options_.events->OnRefused(why);
  in_flight_.End();
}

void CoordinatorLink::JoinLater(absl::Duration pause) {
  After(State::kJoining, pause, &CoordinatorLink::Join);
}

void CoordinatorLink::BeatLater(absl::Duration delay) {
  if (delay == absl::InfiniteDuration()) return;
  After(State::kJoined, delay, &CoordinatorLink::Beat);
}

void CoordinatorLink::After(State state, absl::Duration delay,
                            void (CoordinatorLink::*method)()) {
  absl::MutexLock lock(&mutex_);
  // If another thread has changed the state meanwhile, it has started a
  // sequence of calls of its own.
  if (state_ != state) return;
  // Cancels the timer, because only one sequence of calls may run at a time.
  if (timer_ != 0) options_.scheduler->CancelTimer(timer_);
  timer_ = options_.scheduler->ScheduleAt(
      Pool::kControl, options_.scheduler->clock().Now() + delay,
      [self = shared_from_this(), method] { (self.get()->*method)(); });
}

bool CoordinatorLink::NewBeat(protocol::HeartbeatRequest& request,
                              absl::Duration& timeout) {
  request.task = options_.request.task;
  request.incarnation = options_.request.incarnation;
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kJoined) return false;
  request.coordinator = coordinator_;
  request.left_version = left_version_;
  request.left = ListOf(unsent_left_);
  timeout = interval_ * kBeatTimeoutIntervals;
  in_flight_.Begin();
  return true;
}

void CoordinatorLink::Send(const protocol::HeartbeatRequest& request,
                           absl::Duration timeout,
                           void (CoordinatorLink::*on_answer)(
                               absl::StatusOr<protocol::HeartbeatReply>)) {
  options_.coordinator->Heartbeat(
      request, options_.scheduler->clock().Now() + timeout,
      [self = shared_from_this(), on_answer, asked = request.coordinator,
       reported = request.has_report,
       left = request.left](absl::StatusOr<protocol::HeartbeatReply> reply) {
        if (reply.ok()) self->NoteAnswered(asked, reported, left, *reply);
        (self.get()->*on_answer)(std::move(reply));
      });
}

// The version and the tasks that were sent belong to one coordinator. So the
// version in an answer of an earlier coordinator is discarded.
void CoordinatorLink::NoteAnswered(
    uint64_t asked, bool reported,
    const std::vector<protocol::LeftTask>& sent_left,
    protocol::HeartbeatReply& reply) {
  absl::MutexLock lock(&mutex_);
  if (coordinator_ == asked) {
    NoteSentLeft(sent_left);
    if (reported) owes_report_ = false;
  } else {
    reply.left_version = 0;
  }
}

void CoordinatorLink::NoteSentLeft(
    const std::vector<protocol::LeftTask>& told) {
  for (const protocol::LeftTask& task : told) {
    const auto left = unsent_left_.find(task.task);
    if (left == unsent_left_.end() || left->second != task.incarnation)
      continue;
    unsent_left_.erase(left);
  }
}

void CoordinatorLink::Beat() {
  protocol::HeartbeatRequest request;
  absl::Duration timeout;
  if (!NewBeat(request, timeout)) return;
  Send(request, timeout, &CoordinatorLink::OnBeatAnswered);
  in_flight_.End();
}

void CoordinatorLink::ReportSoon() {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kJoined || std::exchange(is_reporting_, true)) return;
  }
  options_.scheduler->Schedule(Pool::kGraph,
                               [self = shared_from_this()] { self->Report(); });
}

void CoordinatorLink::Report() {
  protocol::HeartbeatRequest request;
  absl::Duration timeout;
  if (!NewBeat(request, timeout)) {
    absl::MutexLock lock(&mutex_);
    is_reporting_ = false;
    return;
  }
  request.has_report = true;
  request.report = options_.events->Report();
  Send(request, std::max(timeout, kJoinSlice),
       &CoordinatorLink::OnReportAnswered);
  in_flight_.End();
}

void CoordinatorLink::OnReportAnswered(
    absl::StatusOr<protocol::HeartbeatReply> reply) {
  bool is_on_its_own = false;
  {
    absl::MutexLock lock(&mutex_);
    is_reporting_ = false;
    is_on_its_own = owes_report_ && interval_ == absl::InfiniteDuration();
  }
  // A failed report changes nothing: heartbeats detect a lost coordinator, and
  // the coordinator asks for another report. Without heartbeats it would wait
  // for the first report forever.
  if (!reply.ok() && !is_on_its_own) return;
  if (!TakeAnswer(reply)) return;
  NotifyEvents(*reply);
  if (is_on_its_own) ReportSoon();
}

void CoordinatorLink::OnBeatAnswered(
    absl::StatusOr<protocol::HeartbeatReply> reply) {
  if (!TakeAnswer(reply)) return;
  absl::Duration next;
  {
    absl::MutexLock lock(&mutex_);
    next = interval_;
  }
  BeatLater(next);
  NotifyEvents(*reply);
}

bool CoordinatorLink::TakeAnswer(
    const absl::StatusOr<protocol::HeartbeatReply>& reply) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kJoined) return false;
    if (!reply.ok()) state_ = State::kJoining;
  }
  if (!reply.ok()) JoinLater(kBackoff);
  if (reply.ok() && reply->wants_report) ReportSoon();
  return reply.ok();
}

void CoordinatorLink::NotifyEvents(const protocol::HeartbeatReply& reply) {
  bool tell_to_stop = false;
  {
    absl::MutexLock lock(&mutex_);
    tell_to_stop = reply.stop && !std::exchange(is_stop_notified_, true);
  }
  const std::vector<protocol::LeftTask> left = TakeLeft(reply);
  NoteCluster(reply.cluster_uuid);
  if (!BeginEvents()) return;
  for (const protocol::LeftTask& task : left) {
    options_.events->OnTaskLeft(task.task, task.incarnation);
  }
  for (const std::string& job : reply.finished_jobs) {
    options_.events->OnJobFinished(job);
  }
  if (tell_to_stop) options_.events->OnStopRequested();
  in_flight_.End();
}

// Heartbeats and reports are answered concurrently: an old answer has no new
// information. The first answer of a coordinator has all that it knows,
// including what this task has sent it; what it lacks is out of date, except
// for what this task has yet to send.
std::vector<protocol::LeftTask> CoordinatorLink::TakeLeft(
    const protocol::HeartbeatReply& reply) {
  std::vector<protocol::LeftTask> left;
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kJoined || reply.left_version <= left_version_) {
    return left;
  }
  if (left_version_ == 0) left_ = unsent_left_;
  left_version_ = reply.left_version;
  for (const protocol::LeftTask& task : reply.left) {
    if (task.incarnation == 0) {
      left_.erase(task.task);
    } else {
      left_[task.task] = task.incarnation;
      left.push_back(task);
    }
  }
  return left;
}

void CoordinatorLink::NoteLeft(const std::string& task, uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(left_[task], incarnation) == incarnation) return;
  unsent_left_[task] = incarnation;
}

void CoordinatorLink::NoteBack(const std::string& task) {
  absl::MutexLock lock(&mutex_);
  left_.erase(task);
  unsent_left_.erase(task);
}

bool CoordinatorLink::HasLeft(const std::string& task,
                              uint64_t incarnation) const {
  absl::MutexLock lock(&mutex_);
  const auto left = left_.find(task);
  return left != left_.end() && left->second == incarnation;
}

void CoordinatorLink::Leave() {
  absl::Time deadline = options_.scheduler->clock().Now();
  protocol::LeaveRequest farewell{.task = options_.request.task,
                                  .incarnation = options_.request.incarnation};
  std::shared_ptr<Event> join_answered;
  {
    absl::MutexLock lock(&mutex_);
    const bool joins_again = state_ == State::kJoining && HasJoined();
    if (state_ != State::kJoined && !joins_again) return;
    // A heartbeat that the leave overtakes is answered with a request to join
    // again.
    state_ = State::kLeft;
    if (timer_ != 0) options_.scheduler->CancelTimer(timer_);
    timer_ = 0;
    farewell.cluster_uuid = cluster_uuid_;
    deadline += is_lost_ ? kBackoff : kFarewell;
    if (!is_lost_) join_answered = join_answered_;
  }
  // A coordinator that does not know this task yet would ignore its leave.
  if (join_answered != nullptr) join_answered->WaitUntil(deadline);
  // The event is shared, because an answer may arrive after the wait.
  std::shared_ptr<Event> told = options_.scheduler->NewEvent();
  options_.coordinator->Leave(farewell, deadline,
                              [told](const absl::Status&) { told->Set(); });
  told->WaitUntil(deadline);
}

void CoordinatorLink::Close() {
  {
    absl::MutexLock lock(&mutex_);
    state_ = State::kClosed;
    if (timer_ != 0) options_.scheduler->CancelTimer(timer_);
    timer_ = 0;
  }
  in_flight_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
}

}  // namespace weft
