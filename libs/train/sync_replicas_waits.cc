#include "libs/train/sync_replicas_waits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/ops/resource/accumulator_ops.h"

namespace weft::train {

absl::Status SyncReplicasWaits::AddNodes(const Scope& scope,
                                         const SyncReplicasNodes::Ends& ends) {
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
  const auto ask_size = [&](const ops::Queue& queue, const std::string& name) {
    asked_.push_back(
        queue.Size(named.ColocateWith(queue.handle()).WithName(name)));
  };
  ask_size(nodes_.own_tokens(), "num_tokens");
  ask_size(ends.all, "num_ends");
  ask_size(ends.last, "num_last_ends");
  own_token_op_ = nodes_.EnqueueOwnToken(scope);
  return scope.status();
}

absl::Status SyncReplicasWaits::BeginSession(Session& session) {
  Counts counts;
  if (!is_chief_) {
    ASSIGN_OR_RETURN(const auto answers, session.Run({}, asked_));
    counts = CountsOf(answers);
  }
  absl::MutexLock lock(&mutex_);
  is_waiting_ = false;
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

void SyncReplicasWaits::Advance(bool is_waiting) {
  absl::MutexLock lock(&mutex_);
  is_waiting_ = is_waiting;
  ++advances_;
}

int64_t SyncReplicasWaits::Waiting() const {
  absl::MutexLock lock(&mutex_);
  return is_waiting_ ? advances_ : -1;
}

void SyncReplicasWaits::Watch(Session& session, Coordinator& coordinator) {
  absl::Duration waited, log_at;
  int64_t seen = -1;
  while (!coordinator.WaitForStop(options_.log_after)) {
    const int64_t waiting = Waiting();
    if (waiting < 0 || waiting != seen) {
      waited = absl::ZeroDuration();
      log_at = options_.log_after;
    } else {
      waited += options_.log_after;
      const bool is_to_log = waited >= log_at;
      if (is_to_log) log_at *= 2;
      if (is_to_log || !is_chief_) Look(session, waited, is_to_log);
      if (!is_chief_ && waited >= options_.max_wait && !has_ended()) {
        return GiveUp(session, coordinator, waited);
      }
    }
    seen = waiting;
  }
}

// That of a session that is closed is not the first error any more.
void SyncReplicasWaits::GiveUp(Session& session, Coordinator& coordinator,
                               absl::Duration waited) const {
  coordinator.RequestStop(absl::DeadlineExceededError(absl::StrCat(
      "This replica of SyncReplicasOptimizer has waited ",
      absl::FormatDuration(waited),
      " for a token of the next step from queue '",
      nodes_.own_tokens().handle().node()->name(),
      "', and gives up (SyncReplicasHookOptions::max_wait). Does the chief "
      "run, and do enough replicas? If its training has ended, this replica "
      "has nothing left to do; else start the chief, then this program.")));
  session.Close().IgnoreError();
}

void SyncReplicasWaits::Look(Session& session, absl::Duration waited,
                             bool is_to_log) {
  const auto answers =
      session.Run({}, asked_, {}, {.timeout = absl::Seconds(5)});
  if (!answers.ok()) return;  // what waits will say why
  const Counts counts = CountsOf(*answers);
  if (IsToEnd(counts, waited)) {
    logger_.Info(
        "The chief has ended training, and so does this replica of "
        "SyncReplicasOptimizer.");
    // Another replica may take it, which then has no need of its own.
    session.Run({}, own_token_op_, {.timeout = absl::Seconds(5)}).IgnoreError();
  } else if (is_to_log) {
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

std::string SyncReplicasWaits::WhatIsMissing(const Counts& counts) const {
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
      ". Are all replicas running?");
}

void SyncReplicasWaits::Log(const Counts& counts, absl::Duration waited) const {
  const std::string missing = WhatIsMissing(counts);
  const std::string since = absl::StrCat("SyncReplicasOptimizer has waited ",
                                         absl::FormatDuration(waited), " for ");
  if (is_chief_) {
    if (missing.empty()) return;
    return logger_.Warning(
        absl::StrCat(since, "gradients of replicas: ", missing));
  }
  // It need not wait, but has not come so far yet.
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
