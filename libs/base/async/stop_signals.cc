#include "libs/base/async/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler/thread_starter.h"

namespace weft {
namespace {

bool IsReadable(int file) {
  pollfd at{file, POLLIN, 0};
  return poll(&at, 1, 0) > 0;
}

}  // namespace

StopSignals::StopSignals(absl::Duration same_wish)
    : same_wish_(same_wish),
      wake_file_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  signal_file_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_file_ < 0 || wake_file_ < 0) return;
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  SystemThreadStarter starter;
  auto thread = starter.Start([this] { Take(); });
  if (thread.ok()) {
    thread_ = *std::move(thread);
  } else {
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
}

StopSignals::~StopSignals() {
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
  close(signal_file_);
  close(wake_file_);
}

void StopSignals::Wait() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&has_come_));
}

bool StopSignals::HasCome() const {
  {
    absl::MutexLock lock(&mutex_);
    if (has_come_) return true;
  }
  return IsReadable(signal_file_);
}

void StopSignals::Raise() {
  Come();
  Wake();
}

void StopSignals::Come() {
  absl::MutexLock lock(&mutex_);
  has_come_ = true;
}

bool StopSignals::IsEnding() const {
  absl::MutexLock lock(&mutex_);
  return is_ending_;
}

void StopSignals::Wake() const {
  // The write can fail only if the counter is full, and then the file is
  // readable already.
  eventfd_write(wake_file_, 1);
}

void StopSignals::Take() {
  while (!HasCome() && !IsEnding()) WaitForAny(absl::InfiniteDuration());
  if (IsEnding()) return;
  // Come is called before the signal is taken, so that HasCome never returns
  // false again.
  Come();
  DrainSignals();
  const MonotoneClock clock;
  const absl::Time end = clock.Now() + same_wish_;
  for (absl::Duration left = same_wish_; left > absl::ZeroDuration();
       left = end - clock.Now()) {
    WaitForAny(left);
    if (IsEnding()) return;
    DrainSignals();
  }
  // Only this thread unblocks the signals, so that the next signal runs its
  // default action and ends the process.
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  while (!IsEnding()) WaitForAny(absl::InfiniteDuration());
}

void StopSignals::WaitForAny(absl::Duration longest) const {
  pollfd files[] = {{signal_file_, POLLIN, 0}, {wake_file_, POLLIN, 0}};
  const timespec time = absl::ToTimespec(longest);
  const bool has_end = longest != absl::InfiniteDuration();
  ppoll(files, 2, has_end ? &time : nullptr, nullptr);
  eventfd_t wakes;
  eventfd_read(wake_file_, &wakes);
}

void StopSignals::DrainSignals() const {
  signalfd_siginfo signal;
  while (read(signal_file_, &signal, sizeof(signal)) > 0) {
  }
}

}  // namespace weft
