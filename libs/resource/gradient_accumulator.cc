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

absl::Status GradientAccumulator::Apply(const Cancellation& step,
                                        int64_t local_step,
                                        absl::Span<const Tensor> gradient,
                                        std::optional<int64_t> replica) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    // Nothing of an aborted step lands later.
    if (step.IsCancelled()) return step.status();
    if (local_step < global_step_) return absl::OkStatus();
    if (count_ > 0 && replica.has_value() == kept_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("accumulator '", name_, "' has gradients ",
                       replica ? "without" : "with",
                       " the number of their replica, and gets one ",
                       replica ? "with" : "without",
                       ": all replicas are to say it, or none"));
    }
    if (replica) {
      ASSIGN_OR_RETURN(const bool is_new, Keep(gradient, *replica));
      if (!is_new) return absl::OkStatus();
    } else {
      RETURN_IF_ERROR(sum_->Add(gradient, /*is_first=*/count_ == 0));
    }
    ++count_;
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
    // Nobody else holds its buffers: the first becomes the sum.
    const std::vector<Tensor> gradient = std::move(kept);
    RETURN_IF_ERROR(sum_->Add(gradient, is_first));
    is_first = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> GradientAccumulator::TakeSum() {
  const absl::Status added = AddKept();
  kept_.clear();
  auto taken = sum_->Take(std::exchange(count_, 0));
  if (!added.ok()) return added;
  return taken;
}

void GradientAccumulator::Take(Cancellation& step, int64_t num_required,
                               Taken done) {
  auto attempt = std::make_shared<Attempt>(step, num_required, std::move(done));
  attempt->token = step.Register(
      [self = shared_from_this(), attempt](const absl::Status& cause) {
        self->Cancel(attempt, cause);
      });
  Finished finished;
  if (attempt->token == 0) {
    attempt->result = step.status();
    finished.push_back(std::move(attempt));
  } else {
    absl::MutexLock lock(&mutex_);
    // Over already: it was cancelled since, and its function has been called.
    if (!attempt->over) {
      waiting_.push_back(std::move(attempt));
      Advance(finished);
    }
  }
  Finish(finished);
}

void GradientAccumulator::Cancel(const std::shared_ptr<Attempt>& attempt,
                                 const absl::Status& cause) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    if (attempt->over) return;
    attempt->over = true;
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), attempt),
                   waiting_.end());
    // The next one may ask for fewer.
    Advance(finished);
  }
  Finish(finished);
  attempt->done(cause);
}

void GradientAccumulator::Advance(Finished& finished) {
  while (!waiting_.empty()) {
    Attempt& first = *waiting_.front();
    if (first.step.IsCancelled()) {
      first.result = first.step.status();
    } else if (count_ >= first.num_required) {
      first.result = TakeSum();
      ++global_step_;
    } else {
      return;
    }
    first.over = true;
    finished.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void GradientAccumulator::Finish(const Finished& finished) {
  for (const auto& attempt : finished) {
    if (attempt->token != 0) attempt->step.Deregister(attempt->token);
    attempt->done(std::move(attempt->result));
  }
}

}  // namespace weft
