#include "libs/bus/heartbeat.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft::bus {

Heartbeat::Heartbeat(AsyncScope& scope, HeartbeatOptions options)
    : scope_(scope),
      options_(std::move(options)),
      progress_(PoolProgress::Of(scope.scheduler())) {}

absl::Time Heartbeat::Now() const { return scope_.scheduler().clock().Now(); }

void Heartbeat::Start(std::shared_ptr<void> holder) {
  if (options_.timeout == absl::InfiniteDuration()) return;
  absl::MutexLock lock(&mutex_);
  if (stopped_ || timer_ != 0) return;
  heard_ = Now();
  Arm(std::move(holder));
}

void Heartbeat::Stop() {
  Scheduler::TimerId timer = 0;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    std::swap(timer, timer_);
  }
  scope_.CancelTimer(timer);
}

void Heartbeat::Arm(std::shared_ptr<void> holder) {
  timer_ = scope_.ScheduleAt(Now() + tick(),
                             [this, holder = std::move(holder)]() mutable {
                               Tick(std::move(holder));
                             });
}

void Heartbeat::Tick(std::shared_ptr<void> holder) {
  uint64_t ask = 0;
  bool lost = false;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    const absl::Duration quiet = Now() - heard_;
    if (waits_) {
      lost = ++ticks_waited_ >= kTicksToAnswer;
    } else if (quiet >= tick() * (1 + options_.ask_delay)) {
      waits_ = true;
      ticks_waited_ = 0;
      ask = ++last_asked_;
    }
    if (!lost) Arm(std::move(holder));
  }
  if (ask != 0) options_.send(EncodeHeartbeat({.sequence = ask}));
  if (!lost) return;
  options_.lose(absl::UnavailableError(
      absl::StrCat("It has sent no heartbeat for ",
                   absl::FormatDuration(tick() * (1 + kTicksToAnswer)),
                   ": the process is stopped, stuck or cut off")));
}

absl::Status Heartbeat::Receive(std::shared_ptr<void> holder,
                                const Blob& body) {
  ASSIGN_OR_RETURN(const HeartbeatBody heartbeat, DecodeHeartbeat(body));
  if (heartbeat.sequence != 0) {
    PromiseAnswer(std::move(holder), heartbeat.sequence);
  }
  return heartbeat.answers == 0 ? absl::OkStatus() : ReceiveAnswer(heartbeat);
}

void Heartbeat::PromiseAnswer(std::shared_ptr<void> holder, uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  to_answer_ = sequence;
  // A question shows that the other end's control pool has run a timer. The
  // second and later questions also show that its reading thread is alive,
  // because it has read the answer to the question before.
  if (sequence > 1) heard_ = Now();
  if (!std::exchange(probe_scheduled_, true)) {
    stuck_since_ = Now();
    if (progress_ != nullptr) begun_ = progress_->num_begun();
    scope_.Schedule(Pool::kCompute, [this, holder] { ComputeHasBegun(); });
  }
  if (!std::exchange(answer_scheduled_, true)) {
    scope_.Schedule(Pool::kControl, [this, holder] { Answer(); });
  }
}

void Heartbeat::ComputeHasBegun() {
  absl::MutexLock lock(&mutex_);
  probe_scheduled_ = false;
}

absl::Duration Heartbeat::ComputeIsStuckFor() {
  if (!probe_scheduled_) return absl::ZeroDuration();
  if (progress_ != nullptr &&
      std::exchange(begun_, progress_->num_begun()) != begun_) {
    stuck_since_ = Now();
  }
  return std::max(absl::ZeroDuration(), Now() - stuck_since_);
}

void Heartbeat::Answer() {
  HeartbeatBody answer;
  {
    absl::MutexLock lock(&mutex_);
    answer_scheduled_ = false;
    if (stopped_) return;
    answer.answers = std::exchange(to_answer_, 0);
    answer.busy_us =
        static_cast<uint64_t>(absl::ToInt64Microseconds(ComputeIsStuckFor()));
  }
  options_.send(EncodeHeartbeat(answer));
}

absl::Status Heartbeat::ReceiveAnswer(const HeartbeatBody& answer) {
  {
    absl::MutexLock lock(&mutex_);
    if (answer.answers > last_asked_) {
      return absl::InvalidArgumentError(
          "Bad message: unsolicited heartbeat reply");
    }
    if (stopped_ || !waits_ || answer.answers != last_asked_) {
      return absl::OkStatus();
    }
    waits_ = false;
    heard_ = Now();
  }
  const double busy_us = static_cast<double>(answer.busy_us);
  if (busy_us <= absl::ToDoubleMicroseconds(options_.max_busy)) {
    return absl::OkStatus();
  }
  options_.lose(absl::UnavailableError(absl::StrCat(
      "Requests to it have waited for its compute threads, which have started "
      "no work for ",
      absl::FormatDuration(absl::Microseconds(busy_us)), ": they are stuck")));
  return absl::OkStatus();
}

}  // namespace weft::bus
