// RunOnSmallStack runs a closure on the smallest stack that Weft's threads may
// have, for tests of recursive code.
#ifndef WEFT_LIBS_BASE_TESTING_SMALL_STACK_H_
#define WEFT_LIBS_BASE_TESTING_SMALL_STACK_H_

#include <pthread.h>

#include <cstddef>
#include <functional>

#include "absl/base/config.h"

namespace weft {

// glibc gives each thread a stack with the size of the system's stack limit,
// which is 8 MiB by default. If the limit is "unlimited", a thread has 2 MiB.
// Sanitizers make stack frames larger, so tests use 8 MiB with them.
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
inline constexpr size_t kSmallStackBytes = size_t{8} << 20;
#else
inline constexpr size_t kSmallStackBytes = size_t{2} << 20;
#endif

// Runs `work` on a thread with a small stack and waits until it has run.
// Returns false without running `work` if no thread could be started.
inline bool RunOnSmallStack(std::function<void()> work) {
  const auto run = [](void* closure) -> void* {
    (*static_cast<std::function<void()>*>(closure))();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return false;
  const bool has_run =
      pthread_attr_setstacksize(&attributes, kSmallStackBytes) == 0 &&
      pthread_create(&thread, &attributes, run, &work) == 0 &&
      pthread_join(thread, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return has_run;
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_SMALL_STACK_H_
