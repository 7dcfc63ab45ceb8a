#include "libs/base/stop_signals.h"

#include <unistd.h>

namespace weft {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void StopSignals::Wait() {
  int signal = 0;
  sigwait(&signals_, &signal);
  is_over_.store(true);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

bool StopSignals::HasCome() const {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 ||
         sigismember(&pending, SIGTERM) == 1;
}

void StopSignals::Raise() {
  if (!is_over_.load()) kill(getpid(), SIGTERM);
}

}  // namespace weft
