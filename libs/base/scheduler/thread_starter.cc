#include "libs/base/scheduler/thread_starter.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <deque>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/futex.h"

namespace weft {
namespace {

// The number of threads that are probed in addition to those that a caller
// needs, because other callers may start threads meanwhile.
constexpr int kSpareThreads = 2;

absl::Status Refused(const std::system_error& error) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "The system starts no further thread: ", error.code().message(),
      "; raise the limit of threads (ulimit -u, TasksMax of systemd, pids.max "
      "of the container), or of address space (ulimit -v)"));
}

// Waits until the system no longer counts a joined thread, which may take a
// short time.
void AwaitUncounted(pid_t thread) {
  // The wait is limited, because another thread may have got the same id by
  // now.
  constexpr int kMostLooks = 10000;
  for (int i = 0; i < kMostLooks; ++i) {
    if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) return;
    sched_yield();
  }
}

// WaitingThreads holds threads that run until this object is destroyed.
class WaitingThreads {
 public:
  ~WaitingThreads() {
    may_end_.store(1);
    FutexWake(may_end_, INT_MAX);
    for (Waiting& waiting : threads_) waiting.thread.join();
    for (const Waiting& waiting : threads_) AwaitUncounted(waiting.id.load());
  }

  absl::Status Start(ThreadStarter& starter) {
    Waiting& waiting = threads_.emplace_back();
    auto thread = starter.Start([this, &waiting] {
      waiting.id.store(gettid());
      while (may_end_.load() == 0) FutexWait(may_end_, 0);
    });
    if (thread.ok()) {
      waiting.thread = *std::move(thread);
    } else {
      threads_.pop_back();
    }
    return thread.status();
  }

 private:
  struct Waiting {
    std::thread thread;
    std::atomic<pid_t> id{0};
  };

  std::atomic<uint32_t> may_end_{0};
  std::deque<Waiting> threads_;
};

}  // namespace

absl::StatusOr<std::thread> SystemThreadStarter::Start(Body body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Refused(error);
  }
}

absl::Status CheckThreadsCanStart(ThreadStarter& starter, int count) {
  WaitingThreads threads;
  for (int i = 0; i < count + kSpareThreads; ++i) {
    absl::Status started = threads.Start(starter);
    if (!started.ok()) return started;
  }
  return absl::OkStatus();
}

}  // namespace weft
