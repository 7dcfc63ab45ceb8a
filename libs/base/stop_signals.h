// StopSignals: SIGINT and SIGTERM as something a main can wait for.
#ifndef WEFT_LIBS_BASE_STOP_SIGNALS_H_
#define WEFT_LIBS_BASE_STOP_SIGNALS_H_

#include <atomic>
#include <csignal>

namespace weft {

// To be made before any thread is started: threads inherit that they leave
// these signals alone.
class StopSignals {
 public:
  StopSignals();
  // Returns when the first has come. Another one then ends the process at once.
  void Wait();
  // Whether one has come that no Wait has taken: for those who look between
  // two things that they do.
  bool HasCome() const;
  // Has Wait return as if a signal had come. Any thread; nothing happens once
  // Wait has returned.
  void Raise();

 private:
  sigset_t signals_;
  std::atomic<bool> is_over_{false};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_STOP_SIGNALS_H_
