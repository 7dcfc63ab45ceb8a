#include "integration_tests/testing/run_guard.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace weft {
namespace {

// Writable memory that only this program has; /proc/self/statm tells it in
// pages.
int64_t DataBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  file >> size >> resident >> shared >> text >> library >> data;
  return data * sysconf(_SC_PAGESIZE);
}

}  // namespace

void LimitMemory(int64_t bytes) {
  const auto most = static_cast<rlim_t>(DataBytes() + bytes);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) std::abort();
}

RunGuard::RunGuard(absl::Duration limit)
    : limit_(limit), thread_([this] { Watch(); }) {}

RunGuard::~RunGuard() {
  {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
  }
  thread_.join();
}

void RunGuard::Begin(std::string what) {
  absl::MutexLock lock(&mutex_);
  what_ = std::move(what);
  ++begun_;
}

void RunGuard::Watch() {
  absl::MutexLock lock(&mutex_);
  while (!is_over_) {
    const int64_t begun = begun_;
    const auto has_moved = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_over_ || begun_ != begun;
    };
    if (mutex_.AwaitWithTimeout(absl::Condition(&has_moved), limit_)) continue;
    std::fprintf(stderr, "%s has not ended\n", what_.c_str());
    std::abort();
  }
}

}  // namespace weft
