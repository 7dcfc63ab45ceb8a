#include "libs/train/sync_replicas/sync_replicas_waits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/ops/resource/accumulator_ops.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::train {
namespace {

// Timeout of queries besides the runs.
constexpr absl::Duration kTimeout = absl::Seconds(5);
// Interval at which a replica checks whether training has ended, unless options
// make it shorter.
constexpr absl::Duration kLookEvery = absl::Seconds(5);
// Interval of stop request checks: a waiting run ends at the second check.
constexpr absl::Duration kWakeEvery = absl::Milliseconds(250);
// Heartbeat interval of a replica, and interval at which the chief checks which
// replicas have ended.
constexpr absl::Duration kBeatEvery = absl::Seconds(5);
constexpr absl::Duration kLookAtReplicasEvery = absl::Seconds(2);
// Minimum interval, because options may give less than a thread should wait.
constexpr absl::Duration kShortest = absl::Milliseconds(1);
constexpr absl::Duration kLongestSilence = absl::Minutes(10);

}  // namespace

absl::Status SyncReplicasWaits::AddNodes(const Scope& scope,
                                         const SyncReplicasNodes::Ends& ends) {
  RETURN_IF_ERROR(members_.AddNodes(scope));
  if (!asked_.empty()) return absl::OkStatus();
  const Scope named = scope.SubScope("sync_replicas_waits");
  for (const SyncReplicasNodes::Accumulator& accumulator :
       nodes_.accumulators) {
    const Scope beside = named.ColocateWith(accumulator.variable.handle());
    asked_.push_back(
        accumulator.is_sparse
            ? ops::AccumulatorNumAccumulated(beside, accumulator.handle)
            : ops::ResourceAccumulatorNumAccumulated(beside,
                                                     accumulator.handle));
  }
  const auto ask_size = [&](const Scope& at, const ops::Queue& queue,
                            const std::string& name) {
    asked_.push_back(
        queue.Size(at.ColocateWith(queue.handle()).WithName(name)));
  };
  ask_size(named, nodes_.own_tokens(), "num_tokens");
  ask_size(named, ends.all, "num_ends");
  RETURN_IF_ERROR(scope.status());
  // An ending chief writes them in the opposite order, so that an end is never
  // seen without its last_ends entry.
  ask_size(named.WithControlDependencies({Operation(asked_.back())}), ends.last,
           "num_last_ends");
  own_token_op_ = nodes_.EnqueueOwnToken(scope);
  return scope.status();
}

absl::Status SyncReplicasWaits::BeginSession(
    Session& session, const std::function<bool()>& is_exit_requested) {
  ASSIGN_OR_RETURN(const auto answers, session.Run({}, asked_));
  const Counts counts = CountsOf(answers);
  RETURN_IF_ERROR(members_.BeginSession(session, counts.ends));
  {
    absl::MutexLock lock(&leave_mutex_);
    is_exit_requested_ = is_exit_requested;
  }
  absl::MutexLock lock(&mutex_);
  is_waiting_ = false;
  is_in_run_ = false;
  ends_before_ = counts.ends;
  has_ended_ = false;
  return absl::OkStatus();
}

SyncReplicasWaits::Counts SyncReplicasWaits::CountsOf(
    absl::Span<const Tensor> answers) {
  std::vector<int> numbers;
  for (const Tensor& answer : answers) {
    numbers.push_back(answer.scalar<int32_t>());
  }
  const size_t num_accumulators = numbers.size() - 3;
  Counts counts;
  counts.tokens = numbers[num_accumulators];
  counts.ends = numbers[num_accumulators + 1];
  counts.last_ends = numbers[num_accumulators + 2];
  numbers.resize(num_accumulators);
  counts.gradients = std::move(numbers);
  return counts;
}

bool SyncReplicasWaits::has_ended() const {
  absl::MutexLock lock(&mutex_);
  return has_ended_;
}

void SyncReplicasWaits::SetEnded() {
  absl::MutexLock lock(&mutex_);
  has_ended_ = true;
}

void SyncReplicasWaits::ReportLeaving(Session& session) {
  if (IsExitRequested()) members_.ReportLeft(session);
}

// A restarted parameter server has forgotten the ends of earlier training runs.
// If another chief has begun since, this replica ends in the training of that
// chief.
absl::StatusOr<int64_t> SyncReplicasWaits::TrainingThatEnds(Session& session) {
  const size_t ends = nodes_.accumulators.size() + 1;
  ASSIGN_OR_RETURN(const auto answers,
                   session.Run({}, {asked_[ends], asked_[ends + 1]}, {},
                               {.timeout = kTimeout}));
  const int64_t num_ends = answers[0].scalar<int32_t>();
  const bool has_next_chief = answers[1].scalar<int32_t>() == 0;
  absl::MutexLock lock(&mutex_);
  return has_next_chief ? num_ends : std::min<int64_t>(num_ends, ends_before_);
}

absl::Status SyncReplicasWaits::ReportHasEnded(Session& session) {
  ASSIGN_OR_RETURN(const int64_t training, TrainingThatEnds(session));
  ASSIGN_OR_RETURN(const bool are_enough,
                   members_.ReportEnded(session, training));
  if (!are_enough || is_chief_ || has_ended()) return absl::OkStatus();
  return GiveOwnToken(session);
}

absl::StatusOr<SessionRunHook::Others> SyncReplicasWaits::CheckWithoutOwnRuns(
    Session& session) {
  using Others = SessionRunHook::Others;
  EndRun();  // the last run, which found no input
  if (has_ended()) return Others::kAreDone;
  const auto are_too_few = members_.AreTooFewWithoutChief(session, Waiting());
  if (IsSessionLost(are_too_few.status())) return are_too_few.status();
  if (!are_too_few.ok()) return Others::kTrainOn;  // the query was too late
  if (!*are_too_few) {
    return members_.AreOthersTraining() ? Others::kTrainOn : Others::kUnknown;
  }
  SetEnded();
  return Others::kAreDone;
}

void SyncReplicasWaits::UpdateMembers(Session& session, absl::Time now,
                                      Next& next) {
  if (now >= next.beat) {
    next.beat = now + std::min(kBeatEvery, PollInterval());
    members_.Beat(session);
  }
  if (!is_chief_ || now < next.look_at_replicas || has_ended()) return;
  next.look_at_replicas = now + std::min(kLookAtReplicasEvery, PollInterval());
  if (members_.AreTooFew(session, Waiting()).value_or(false)) SetEnded();
}

void SyncReplicasWaits::Advance(bool is_waiting) {
  absl::MutexLock lock(&mutex_);
  is_waiting_ = is_waiting;
  ++advances_;
}

void SyncReplicasWaits::BeginRun() {
  absl::MutexLock lock(&mutex_);
  is_in_run_ = true;
  ++runs_;
}

void SyncReplicasWaits::EndRun() {
  absl::MutexLock lock(&mutex_);
  is_in_run_ = false;
}

void SyncReplicasWaits::EndSession() {
  absl::MutexLock lock(&leave_mutex_);
  is_exit_requested_ = nullptr;
}

int64_t SyncReplicasWaits::Waiting() const {
  absl::MutexLock lock(&mutex_);
  return is_waiting_ ? advances_ : -1;
}

int64_t SyncReplicasWaits::RunUnderWay() const {
  absl::MutexLock lock(&mutex_);
  return is_in_run_ ? runs_ : -1;
}

bool SyncReplicasWaits::IsExitRequested() {
  absl::MutexLock lock(&leave_mutex_);
  return is_exit_requested_ && is_exit_requested_();
}

absl::Duration SyncReplicasWaits::PollInterval() const {
  absl::Duration every = std::min({kLookEvery, options_.log_after, Bound()});
  if (options_.max_wait_for_chief > absl::ZeroDuration()) {
    every = std::min(every, options_.max_wait_for_chief);
  }
  return std::max(kShortest, every);
}

absl::Duration SyncReplicasWaits::WakeEvery() const {
  return std::min(kWakeEvery, PollInterval());
}

void SyncReplicasWaits::Watch(Session& session, Coordinator& coordinator) {
  const Clock& clock = coordinator.clock();
  Wait wait;
  Leaving leaving;
  Next next = {clock.Now() + PollInterval(), clock.Now()};
  while (!coordinator.WaitForStop(WakeEvery())) {
    UpdateMembers(session, clock.Now(), next);
    EndRunIfStopping(session, leaving);
    const int64_t waiting = Waiting();
    if (waiting < 0 || waiting != wait.number) {
      wait = NewWait(waiting, clock.Now());
    } else if (!ContinueWait(session, clock, wait)) {
      return FailRun(session, coordinator, clock.Now() - wait.began);
    }
  }
}

SyncReplicasWaits::Wait SyncReplicasWaits::NewWait(int64_t number,
                                                   absl::Time now) const {
  return {.number = number,
          .began = now,
          .next_look = now + PollInterval(),
          .next_line = now + options_.log_after};
}

// The chief's own steps show whether it waits: only its log lines are handled
// here.
bool SyncReplicasWaits::ContinueWait(Session& session, const Clock& clock,
                                     Wait& wait) {
  const absl::Time now = clock.Now();
  const bool is_to_log = now >= wait.next_line;
  if (is_to_log || (!is_chief_ && now >= wait.next_look)) {
    Look(session, now - wait.began, is_to_log);
    wait.next_look = clock.Now() + PollInterval();
  }
  if (is_to_log) {
    const absl::Duration gap = std::max(
        options_.log_after, std::min(now - wait.began, kLongestSilence));
    wait.next_line = now + gap;
  }
  return now - wait.began < Bound() || has_ended();
}

void SyncReplicasWaits::EndRunIfStopping(Session& session, Leaving& leaving) {
  const int64_t run = RunUnderWay();
  const bool is_asked = IsExitRequested();
  if (run < 0 || (!is_asked && !has_ended())) {
    leaving = Leaving();
  } else if (run != leaving.run) {
    leaving = {.run = run};
  } else if (HasNoToken(session)) {
    if (is_asked && !std::exchange(leaving.is_notified, true)) {
      logger_.Info(
          "The program is asked to leave while its run waits for others: the "
          "run gets a token of SyncReplicasOptimizer, with which it ends.");
    }
    GiveOwnToken(session).IgnoreError();  // retried at the next check
  }
}

// If there is a token, no run waits for it: a failed run is not in progress.
bool SyncReplicasWaits::HasNoToken(Session& session) const {
  const auto size = session.Run({}, asked_[nodes_.accumulators.size()],
                                {.timeout = kTimeout});
  return size.ok() && size->scalar<int32_t>() == 0;
}

// Another replica may take it: it is given again as long as the run waits.
absl::Status SyncReplicasWaits::GiveOwnToken(Session& session) const {
  return session.Run({}, own_token_op_, {.timeout = kTimeout});
}

std::string SyncReplicasWaits::TimeoutError(absl::Duration waited) const {
  if (is_chief_) {
    return absl::StrCat(
        "The chief of SyncReplicasOptimizer has waited ",
        absl::FormatDuration(waited),
        " for the gradients of an update, and gives up "
        "(SyncReplicasHookOptions::max_wait_for_replicas). Do enough replicas "
        "run? Start them, then this program, which goes on from the last "
        "checkpoint.");
  }
  return absl::StrCat(
      "This replica of SyncReplicasOptimizer has waited ",
      absl::FormatDuration(waited),
      " for a token of the next step from queue '",
      nodes_.own_tokens().handle().node()->name(),
      "', and gives up (SyncReplicasHookOptions::max_wait). Does the chief "
      "run, and do enough replicas? If its training has ended, this replica "
      "has nothing left to do; else start the chief, then this program.");
}

// A status of a closed session is not the first error any more.
void SyncReplicasWaits::FailRun(Session& session, Coordinator& coordinator,
                                absl::Duration waited) const {
  coordinator.RequestStop(absl::DeadlineExceededError(TimeoutError(waited)));
  session.Close().IgnoreError();
}

void SyncReplicasWaits::Look(Session& session, absl::Duration waited,
                             bool is_to_log) {
  const auto answers = session.Run({}, asked_, {}, {.timeout = kTimeout});
  if (!answers.ok()) return;  // the waiting run reports the cause
  const Counts counts = CountsOf(*answers);
  // Another chief has begun: this replica joins its training.
  if (!is_chief_ && counts.last_ends == 0) {
    members_.JoinTraining(session, counts.ends);
  }
  if (IsToEnd(counts, waited)) {
    logger_.Info(
        "The chief has ended training, and so does this replica of "
        "SyncReplicasOptimizer.");
    GiveOwnToken(session).IgnoreError();  // retried at the next check
  } else if (is_to_log) {
    members_.Read(session).IgnoreError();
    Log(counts, waited);
  }
}

bool SyncReplicasWaits::IsToEnd(const Counts& counts, absl::Duration waited) {
  if (is_chief_) return false;
  absl::MutexLock lock(&mutex_);
  has_ended_ = counts.last_ends > 0 && (counts.ends > ends_before_ ||
                                        waited >= options_.max_wait_for_chief);
  return has_ended_;
}

std::string SyncReplicasWaits::DescribeMissing(const Counts& counts) const {
  constexpr size_t kMost = 5;
  const int required = nodes_.replicas_to_aggregate;
  std::vector<std::string> missing;
  for (size_t i = 0; i < nodes_.accumulators.size(); ++i) {
    if (counts.gradients[i] >= required) continue;
    missing.push_back(absl::StrCat(nodes_.accumulators[i].variable.name(), " (",
                                   counts.gradients[i], ")"));
  }
  if (missing.empty()) return "";
  const size_t num_missing = missing.size();
  missing.resize(std::min(num_missing, kMost));
  return absl::StrCat(
      required, " are needed of each variable, and have not come of ",
      absl::StrJoin(missing, ", "),
      num_missing > kMost ? absl::StrCat(" and ", num_missing - kMost, " more")
                          : "",
      ". Are all replicas running?", members_.Describe());
}

void SyncReplicasWaits::Log(const Counts& counts, absl::Duration waited) const {
  const std::string missing = DescribeMissing(counts);
  const std::string since = absl::StrCat("SyncReplicasOptimizer has waited ",
                                         absl::FormatDuration(waited), " for ");
  if (is_chief_) {
    if (missing.empty()) return;
    return logger_.Warning(
        absl::StrCat(since, "gradients of replicas: ", missing));
  }
  // It need not wait, but has not reached that point yet.
  if (counts.tokens > 0) return;
  const std::string token =
      absl::StrCat(since, "a token of the next step from queue '",
                   nodes_.own_tokens().handle().node()->name(), "'. ");
  if (counts.last_ends > 0) {
    return logger_.Warning(absl::StrCat(
        token,
        "The chief has ended training; it waits for another one to "
        "begin, up to ",
        absl::FormatDuration(options_.max_wait_for_chief), "."));
  }
  logger_.Warning(absl::StrCat(
      token, missing.empty()
                 ? "All gradients of the step have come, but the chief has "
                   "made no update of them. Is it running?"
                 : absl::StrCat("The next update waits for gradients of "
                                "replicas: ",
                                missing)));
}

}  // namespace weft::train
