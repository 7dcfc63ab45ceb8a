// ThreadEvent: the Event of real threads. One word; Set without a waiter is one
// exchange, a wait sleeps in the kernel after a short spin.
#ifndef WEFT_LIBS_BASE_THREAD_EVENT_H_
#define WEFT_LIBS_BASE_THREAD_EVENT_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/scheduler.h"

namespace weft {

class ThreadEvent : public Event {
 public:
  // `clock` outlives the event.
  explicit ThreadEvent(const Clock& clock) : clock_(clock) {}

  void Set() override;
  bool IsSet() const override {
    return state_.load(std::memory_order_acquire) == kSet;
  }
  bool WaitUntil(absl::Time deadline) override;

 private:
  static constexpr uint32_t kUnset = 0;
  static constexpr uint32_t kWaitedFor = 1;
  static constexpr uint32_t kSet = 2;

  const Clock& clock_;
  std::atomic<uint32_t> state_{kUnset};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_THREAD_EVENT_H_
