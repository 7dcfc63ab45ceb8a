#include "libs/train/sync_replicas_waits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/ops/resource/accumulator_ops.h"

namespace weft::train {

absl::Status SyncReplicasWaits::AddNodes(const Scope& scope) {
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
  const ops::Queue& tokens = nodes_.own_tokens();
  asked_.push_back(
      tokens.Size(named.ColocateWith(tokens.handle()).WithName("num_tokens")));
  return scope.status();
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
  absl::Duration wait = log_after_;
  int64_t seen = -1;
  while (!coordinator.WaitForStop(wait)) {
    const int64_t waiting = Waiting();
    const bool is_same = waiting >= 0 && waiting == seen;
    if (is_same) Log(session, wait);
    wait = is_same ? wait * 2 : log_after_;
    seen = waiting;
  }
}

std::string SyncReplicasWaits::WhatIsMissing(
    absl::Span<const Tensor> counts) const {
  constexpr size_t kMost = 5;
  const int required = nodes_.replicas_to_aggregate;
  std::vector<std::string> missing;
  for (size_t i = 0; i < nodes_.accumulators.size(); ++i) {
    const int32_t count = counts[i].scalar<int32_t>();
    if (count >= required) continue;
    missing.push_back(
        absl::StrCat(nodes_.accumulators[i].variable.name(), " (", count, ")"));
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

void SyncReplicasWaits::Log(Session& session, absl::Duration waited) const {
  const auto counts =
      session.Run({}, asked_, {}, {.timeout = absl::Seconds(5)});
  if (!counts.ok()) return;  // what waits will say why
  const std::string missing = WhatIsMissing(*counts);
  const std::string since = absl::StrCat("SyncReplicasOptimizer has waited ",
                                         absl::FormatDuration(waited), " for ");
  if (is_chief_) {
    if (missing.empty()) return;
    return logger_.Warning(
        absl::StrCat(since, "gradients of replicas: ", missing));
  }
  // It need not wait, but has not come so far yet.
  if (counts->back().scalar<int32_t>() > 0) return;
  logger_.Warning(absl::StrCat(
      since, "a token of the next step from queue '",
      nodes_.own_tokens().handle().node()->name(), "'. ",
      missing.empty()
          ? "All gradients of the step have come, but the chief has made no "
            "update of them. Is it running?"
          : absl::StrCat("The next update waits for gradients of replicas: ",
                         missing)));
}

}  // namespace weft::train
