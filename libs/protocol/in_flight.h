// InFlight: counts what is under way, and lets a destructor wait until nothing
// is.
//
// Threads: thread-safe; WaitForNone is called once, when no more Begin comes.
#ifndef WEFT_LIBS_PROTOCOL_IN_FLIGHT_H_
#define WEFT_LIBS_PROTOCOL_IN_FLIGHT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "libs/base/scheduler.h"

namespace weft::protocol {

class InFlight {
 public:
  explicit InFlight(Scheduler& scheduler) : none_(scheduler.NewEvent()) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void Begin() { count_.fetch_add(1, std::memory_order_relaxed); }
  // The last thing that what is under way does: this may be gone after it.
  void End() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) none_->Set();
  }
  void WaitForNone() {
    End();
    none_->Wait();
  }

 private:
  // One is WaitForNone's own, so that none_ is set only after it was called.
  std::atomic<int64_t> count_{1};
  const std::unique_ptr<Event> none_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_IN_FLIGHT_H_
