#include "libs/master/step_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/clock.h"

namespace weft {
namespace {

// The number of checks per interval. So a line is at most a fifth of the
// interval late.
constexpr int kTicks = 5;
// How long a task that is asked for its waits may take to answer. A task that
// does not answer delays the line by this.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

std::string Describe(const absl::StatusOr<std::vector<std::string>>& waits) {
  if (waits.ok() && waits->empty()) return "runs it";
  if (waits.ok())
    return absl::StrCat("waits for ", absl::StrJoin(*waits, ", "));
  // The task has just ended its part of the step, or has not begun it yet.
  if (absl::IsNotFound(waits.status()))
    return "has not begun it, or just ended";
  if (absl::IsDeadlineExceeded(waits.status())) return "does not answer";
  return absl::StrCat("can't be asked: ", waits.status().message());
}

// Answers collects the answers of the tasks of one step. The last answer logs
// the line.
class Answers {
 public:
  Answers(std::string head, size_t num_tasks, Logger& logger)
      : logger_(logger), head_(std::move(head)), left_(num_tasks) {}

  void Add(std::string text) {
    std::vector<std::string> texts;
    {
      absl::MutexLock lock(&mutex_);
      texts_.push_back(std::move(text));
      if (--left_ > 0) return;
      texts.swap(texts_);
    }
    std::sort(texts.begin(), texts.end());
    logger_.Warning(absl::StrCat(head_, absl::StrJoin(texts, "; ")));
  }

 private:
  Logger& logger_;
  const std::string head_;
  absl::Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> texts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StepWatch::StepWatch(StepWatchOptions options)
    : options_(std::move(options)),
      tick_(options_.interval / kTicks),
      // If nothing is logged, the watch pretends to tick, so that steps do not
      // start the timer.
      is_ticking_(options_.logger == nullptr ||
                  options_.interval == absl::InfiniteDuration()) {}

void StepWatch::BeginTicking() {
  absl::MutexLock lock(&mutex_);
  if (stopped_ || is_ticking_.exchange(true)) return;
  const absl::Time now = options_.scheduler->clock().Now();
  if (marks_.empty()) marks_.push_back({now, options_.steps->next()});
  timer_ =
      options_.scheduler->ScheduleAt(now + tick_, [weak = weak_from_this()] {
        if (auto watch = weak.lock()) watch->Tick();
      });
}

void StepWatch::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    if (timer_ != 0) options_.scheduler->CancelTimer(timer_);
    timer_ = 0;
  }
  in_flight_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
}

void StepWatch::Tick() {
  const absl::Time now = options_.scheduler->clock().Now();
  uint64_t slow_below = 0;
  {
    absl::MutexLock lock(&mutex_);
    timer_ = 0;
    if (stopped_) return;
    in_flight_.Begin();
    slow_below = SlowBelow(now);
  }
  if (slow_below > 0) ReportAll(options_.find(slow_below), now);
  // A step that begins from here on starts the timer itself.
  is_ticking_.store(false);
  if (options_.steps->HasRunning()) {
    BeginTicking();
  } else {
    // The marks say nothing about later steps. A step that begins before this
    // is marked at the next tick.
    absl::MutexLock lock(&mutex_);
    marks_.clear();
  }
  in_flight_.End();
}

uint64_t StepWatch::SlowBelow(absl::Time now) {
  uint64_t slow_below = 0;
  while (!marks_.empty() && marks_.front().when <= now - options_.interval) {
    slow_below = marks_.front().number;
    // The last one stays, as long as there is no other.
    if (marks_.size() == 1 || marks_[1].when > now - options_.interval) break;
    marks_.pop_front();
  }
  marks_.push_back({now, options_.steps->next()});
  if (options_.steps->finished_below() >= slow_below) return 0;
  return now - found_ < options_.interval ? 0 : slow_below;
}

// Empty if all running steps wait for their clients.
void StepWatch::ReportAll(std::vector<SlowStep> slow, absl::Time now) {
  std::vector<std::pair<SlowStep, absl::Duration>> due;
  {
    absl::MutexLock lock(&mutex_);
    std::map<uint64_t, Reported> before;
    before.swap(reported_);
    if (!slow.empty()) found_ = now;
    for (SlowStep& step : slow) {
      if (auto known = before.extract(step.session)) {
        reported_.insert(std::move(known));
      }
      const std::optional<absl::Duration> age = Due(step, now);
      if (age) due.emplace_back(std::move(step), *age);
    }
  }
  for (auto& [step, age] : due) {
    if (step.awaits_variables) {
      ReportAwaited(step, age);
    } else {
      Report(std::move(step), age);
    }
  }
}

std::optional<absl::Duration> StepWatch::Due(const SlowStep& slow,
                                             absl::Time now) {
  const Reported fresh{slow.step.step, DoublingTimes(now - options_.interval,
                                                     options_.interval)};
  Reported& reported = reported_.try_emplace(slow.session, fresh).first->second;
  if (reported.step != slow.step.step) reported = fresh;
  std::optional<absl::Duration> age;
  for (; reported.times.next() <= now; reported.times.Advance()) {
    age = reported.times.age();
  }
  return age;
}

void StepWatch::ReportAwaited(const SlowStep& slow, absl::Duration age) {
  if (options_.why_no_values == nullptr) return;
  options_.why_no_values(
      [&logger = *options_.logger,
       head = absl::StrCat("Session ", slow.session, " has waited more than ",
                           absl::FormatDuration(age),
                           " until its variables have values: ")](
          const std::string& why) {
        if (!why.empty()) logger.Info(absl::StrCat(head, why));
      });
}

void StepWatch::Report(SlowStep slow, absl::Duration age) {
  std::string head =
      absl::StrCat("Session ", slow.session, " has waited more than ",
                   absl::FormatDuration(age), " for step ", slow.step.step,
                   " (", slow.what, ")");
  if (slow.others > 0) {
    absl::StrAppend(&head, " and ", slow.others, " more");
  }
  absl::StrAppend(&head, ": ");
  auto answers = std::make_shared<Answers>(
      std::move(head), slow.unanswered.size(), *options_.logger);
  const absl::Time deadline = options_.scheduler->clock().Now() + kAnswerTime;
  for (const auto& [task, worker] : slow.unanswered) {
    worker->DescribeWaits(
        slow.step, deadline,
        [answers,
         task = task](const absl::StatusOr<std::vector<std::string>>& waits) {
          answers->Add(absl::StrCat(task, " ", Describe(waits)));
        });
  }
}

}  // namespace weft
