// RunGuard: ends the program when a piece of work takes too long to end, and
// says which. LimitMemory: bounds what the program may take from the system.
// For tests of what must end whatever it is given.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_RUN_GUARD_H_
#define WEFT_INTEGRATION_TESTS_TESTING_RUN_GUARD_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

// From now on the program gets no more than `bytes` beyond what it has: a
// tensor that is larger is refused, and std::bad_alloc ends the program.
void LimitMemory(int64_t bytes);

// Has a thread of its own. Thread-safe.
class RunGuard {
 public:
  // `limit` is for each piece of work.
  explicit RunGuard(absl::Duration limit);
  ~RunGuard();
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;

  // `what` is printed if Begin is not called again, nor the guard destroyed,
  // within the limit.
  void Begin(std::string what);

 private:
  void Watch();

  const absl::Duration limit_;
  absl::Mutex mutex_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  int64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_RUN_GUARD_H_
