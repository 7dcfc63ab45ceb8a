// ThreadStarter starts threads of the operating system. The system refuses one
// at its limit of threads or of address space, which is an error here and no
// exception.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BASE_THREAD_STARTER_H_
#define WEFT_LIBS_BASE_THREAD_STARTER_H_

#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

class ThreadStarter {
 public:
  using Body = absl::AnyInvocable<void()>;

  virtual ~ThreadStarter() = default;
  // RESOURCE_EXHAUSTED, with the limit to raise: the system starts no further
  // thread; `body` is destroyed then.
  virtual absl::StatusOr<std::thread> Start(Body body) = 0;
};

class SystemThreadStarter : public ThreadStarter {
 public:
  absl::StatusOr<std::thread> Start(Body body) override;
};

// Whether `count` further threads can run at once: starts that many, and two
// more, and ends them. For a library that aborts the process when it is refused
// one. Other threads that start meanwhile may still take the room.
absl::Status CheckThreadsCanStart(ThreadStarter& starter, int count);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_THREAD_STARTER_H_
