#include "libs/resource/gradient_accumulator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

GradientAccumulator::GradientAccumulator(std::string name,
                                         GradientAccumulatorOptions options,
                                         std::unique_ptr<GradientSum> sum)
    : name_(std::move(name)),
      options_(std::move(options)),
      sum_(std::move(sum)) {}

std::string GradientAccumulator::DebugString() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrCat(options_.is_sparse ? "sparse gradients" : "gradients",
                      " of ", DataTypeName(options_.dtype), " ",
                      options_.shape.ToString(), ", ", count_,
                      " accumulated in global step ", global_step_);
}

int64_t GradientAccumulator::num_accumulated() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

absl::Status GradientAccumulator::SetGlobalStep(const Cancellation& step,
                                                int64_t global_step) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(step.status());
  global_step_ = global_step;
  return absl::OkStatus();
}

absl::Status GradientAccumulator::BeginAnew(const Cancellation& step,
                                            int64_t global_step) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(step.status());
  if (training_ > 0 || has_taken_) Forget();
  ++training_;
  undone_step_ = std::max({undone_step_, latest_step_, global_step_});
  global_step_ = global_step;
  has_taken_in_training_ = false;
  return absl::OkStatus();
}

void GradientAccumulator::Forget() {
  kept_.clear();
  sum_->Forget();
  count_ = 0;
}

int64_t GradientAccumulator::training() const {
  absl::MutexLock lock(&mutex_);
  return training_;
}

bool GradientAccumulator::IsOld(int64_t local_step,
                                std::optional<int64_t> training) const {
  if (local_step < global_step_) return true;
  const bool is_undone = !steps_run_ahead_ && local_step > global_step_ &&
                         local_step <= undone_step_;
  return is_undone ||
         (training_ > 1 && training.value_or(training_) < training_);
}

absl::Status GradientAccumulator::Apply(const Cancellation& step,
                                        int64_t local_step,
                                        absl::Span<const Tensor> gradient,
                                        std::optional<int64_t> replica,
                                        std::optional<int64_t> training) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    // An aborted step must not change the sum after its cancellation.
    if (step.IsCancelled()) return step.status();
    if (IsOld(local_step, training)) return absl::OkStatus();
    if (count_ > 0 && replica.has_value() == kept_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "accumulator '", name_, "' has gradients ",
          replica ? "without" : "with", " a replica number, and got one ",
          replica ? "with" : "without",
          ": either all replicas must be numbered or none"));
    }
    if (replica) {
      ASSIGN_OR_RETURN(const bool is_new, Keep(gradient, *replica));
      if (!is_new) return absl::OkStatus();
    } else {
      RETURN_IF_ERROR(sum_->Add(gradient, /*is_first=*/count_ == 0));
    }
    ++count_;
    steps_run_ahead_ |= has_taken_in_training_ &&
                        local_step > std::max(global_step_, undone_step_);
    latest_step_ = std::max(latest_step_, local_step);
    Advance(finished);
  }
  Finish(finished);
  return absl::OkStatus();
}

absl::StatusOr<bool> GradientAccumulator::Keep(
    absl::Span<const Tensor> gradient, int64_t replica) {
  absl::Span<const Tensor> other;
  if (!kept_.empty()) other = kept_.begin()->second;
  RETURN_IF_ERROR(sum_->Check(gradient, other));
  return kept_
      .emplace(replica, std::vector<Tensor>(gradient.begin(), gradient.end()))
      .second;
}

absl::Status GradientAccumulator::AddKept() {
  bool is_first = true;
  for (auto& [replica, kept] : kept_) {
    // The gradients here share no memory with others, so the first gradient
    // becomes the sum without a copy.
    const std::vector<Tensor> gradient = std::move(kept);
    RETURN_IF_ERROR(sum_->Add(gradient, is_first));
    is_first = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> GradientAccumulator::TakeSum() {
  const absl::Status added = AddKept();
  auto taken = added.ok() ? sum_->Take(count_)
                          : absl::StatusOr<std::vector<Tensor>>(added);
  Forget();
  return taken;
}

void GradientAccumulator::Take(Cancellation& step, int64_t num_required,
                               Taken done) {
  auto attempt = std::make_shared<Attempt>(step, num_required);
  attempt->taken = std::move(done);
  Submit(std::move(attempt));
}

void GradientAccumulator::WhenAccumulated(Cancellation& step,
                                          int64_t num_required, Counted done) {
  auto attempt = std::make_shared<Attempt>(step, num_required);
  attempt->counted = std::move(done);
  Submit(std::move(attempt));
}

void GradientAccumulator::Submit(std::shared_ptr<Attempt> attempt) {
  attempt->token = attempt->step.Register(
      [self = shared_from_this(), attempt](const absl::Status& cause) {
        self->Cancel(attempt, cause);
      });
  Finished finished;
  if (attempt->token == 0) {
    attempt->status = attempt->step.status();
    finished.push_back(std::move(attempt));
  } else {
    absl::MutexLock lock(&mutex_);
    // If the call was already cancelled, the cancellation has called its
    // callback.
    if (!attempt->over) {
      WaitingWith(*attempt).push_back(attempt);
      Advance(finished);
    }
  }
  Finish(finished);
}

GradientAccumulator::Attempts& GradientAccumulator::WaitingWith(
    const Attempt& attempt) {
  return attempt.taken ? takes_ : counts_;
}

void GradientAccumulator::Cancel(const std::shared_ptr<Attempt>& attempt,
                                 const absl::Status& cause) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    if (attempt->over) return;
    attempt->over = true;
    attempt->status = cause;
    std::erase(WaitingWith(*attempt), attempt);
    // The next waiting call may need fewer gradients and complete now.
    Advance(finished);
  }
  Finish(finished);
  Tell(*attempt);
}

void GradientAccumulator::Advance(Finished& finished) {
  AdvanceCounts(finished);
  while (!takes_.empty()) {
    Attempt& first = *takes_.front();
    if (first.step.IsCancelled()) {
      first.status = first.step.status();
    } else if (count_ >= first.num_required) {
      auto average = TakeSum();
      first.status = average.status();
      if (average.ok()) first.average = *std::move(average);
      ++global_step_;
      has_taken_ = true;
      has_taken_in_training_ = true;
    } else {
      return;
    }
    first.over = true;
    finished.push_back(std::move(takes_.front()));
    takes_.pop_front();
  }
}

void GradientAccumulator::AdvanceCounts(Finished& finished) {
  std::erase_if(counts_, [&](const std::shared_ptr<Attempt>& attempt)
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               if (attempt->step.IsCancelled()) {
                                 attempt->status = attempt->step.status();
                               } else if (count_ < attempt->num_required) {
                                 return false;
                               }
                               attempt->count = count_;
                               attempt->over = true;
                               finished.push_back(attempt);
                               return true;
                             });
}

void GradientAccumulator::Finish(const Finished& finished) {
  for (const auto& attempt : finished) {
    if (attempt->token != 0) attempt->step.Deregister(attempt->token);
    Tell(*attempt);
  }
}

void GradientAccumulator::Tell(Attempt& attempt) {
  const absl::Status& status = attempt.status;
  if (attempt.counted) {
    return attempt.counted(status.ok() ? absl::StatusOr<int64_t>(attempt.count)
                                       : status);
  }
  attempt.taken(status.ok() ? absl::StatusOr<std::vector<Tensor>>(
                                  std::move(attempt.average))
                            : status);
}

}  // namespace weft
