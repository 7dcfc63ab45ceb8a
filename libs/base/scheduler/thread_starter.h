// ThreadStarter starts threads of the operating system. The system refuses to
// start a thread at its limit of threads or of address space. A refusal is an
// error here, not an exception.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BASE_SCHEDULER_THREAD_STARTER_H_
#define WEFT_LIBS_BASE_SCHEDULER_THREAD_STARTER_H_

#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

class ThreadStarter {
 public:
  using Body = absl::AnyInvocable<void()>;

  virtual ~ThreadStarter() = default;
  // Starts a thread that runs `body`. Returns RESOURCE_EXHAUSTED, naming the
  // limit to raise, if the system refuses a further thread. `body` is then
  // destroyed.
  virtual absl::StatusOr<std::thread> Start(Body body) = 0;
};

class SystemThreadStarter : public ThreadStarter {
 public:
  absl::StatusOr<std::thread> Start(Body body) override;
};

// Returns OK if `count` further threads can run at once. To find out, it starts
// that many threads and two more, and ends them. It is for libraries that abort
// the process if they are refused a thread. Other threads may still start in
// the meantime and use up the limit.
absl::Status CheckThreadsCanStart(ThreadStarter& starter, int count);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_THREAD_STARTER_H_
