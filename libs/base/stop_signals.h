// StopSignals: SIGINT and SIGTERM as something a main can wait for.
#ifndef WEFT_LIBS_BASE_STOP_SIGNALS_H_
#define WEFT_LIBS_BASE_STOP_SIGNALS_H_

#include <csignal>

namespace weft {

// To be made before any thread is started: threads inherit that they leave
// these signals alone.
class StopSignals {
 public:
  StopSignals();
  // Returns when the first has come. Another one then ends the process at once.
  void Wait();

 private:
  sigset_t signals_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_STOP_SIGNALS_H_
