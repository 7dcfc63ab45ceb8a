// ThreadEvent is the Event of real threads. It is one word. Set costs one
// exchange if no thread waits. A wait sleeps in the kernel after a short spin.
// An event on the heap is placed in memory of an EventMemory: new (memory)
// ThreadEvent(clock).
#ifndef WEFT_LIBS_BASE_SCHEDULER_THREAD_EVENT_H_
#define WEFT_LIBS_BASE_SCHEDULER_THREAD_EVENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/scheduler/event_memory.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class ThreadEvent final : public Event {
 public:
  // `clock` must outlive the event.
  explicit ThreadEvent(const Clock& clock) : clock_(clock) {}

  static void* operator new(size_t, EventMemory& memory) {
    static_assert(sizeof(ThreadEvent) <= EventMemory::kBytes);
    return memory.Take();
  }
  static void operator delete(void* event) { EventMemory::Give(event); }
  // C++ calls this operator if a constructor throws after placement new.
  // ThreadEvent's constructor does not throw.
  static void operator delete(void* event, EventMemory&) {
    EventMemory::Give(event);
  }

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

#endif  // WEFT_LIBS_BASE_SCHEDULER_THREAD_EVENT_H_
