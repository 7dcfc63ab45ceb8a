// ForwardingScheduler forwards all work to another scheduler. Tests derive from
// it and override the methods that they observe or disturb.
#ifndef WEFT_LIBS_BASE_TESTING_FORWARDING_SCHEDULER_H_
#define WEFT_LIBS_BASE_TESTING_FORWARDING_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class ForwardingScheduler : public Scheduler {
 public:
  // `to` must outlive this object.
  explicit ForwardingScheduler(Scheduler& to) : to_(to) {}

  void Schedule(Pool pool, Closure closure) override {
    to_.Schedule(pool, std::move(closure));
  }
  using Scheduler::ScheduleAt;
  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override {
    return to_.ScheduleAt(pool, when, std::move(closure));
  }
  bool CancelTimer(TimerId id) override { return to_.CancelTimer(id); }
  std::unique_ptr<Event> NewEvent() override { return to_.NewEvent(); }
  void ParallelFor(int64_t total, int64_t min_range,
                   const std::function<void(int64_t, int64_t)>& work) override {
    to_.ParallelFor(total, min_range, work);
  }
  int num_compute_threads() const override { return to_.num_compute_threads(); }
  const Clock& clock() const override { return to_.clock(); }

 protected:
  Scheduler& to() const { return to_; }

 private:
  Scheduler& to_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_FORWARDING_SCHEDULER_H_
