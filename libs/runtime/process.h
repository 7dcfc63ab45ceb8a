// Process: what all tasks and sessions of one operating-system process share:
// time, randomness, threads, memory and kernels.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_H_
#define WEFT_LIBS_RUNTIME_PROCESS_H_

#include <memory>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/buffer.h"

namespace weft {

struct ProcessOptions {
  int compute_threads = 0;  // 0: one per core
};

// Outlives everything that was made with it. Thread-safe.
class Process {
 public:
  // The real thing: system clock and entropy, threads.
  explicit Process(const ProcessOptions& options = {});
  // Of the caller's making; for tests under a simulated scheduler.
  Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
          std::unique_ptr<Scheduler> scheduler);
  ~Process();

  const Clock& clock() const { return *clock_; }
  Random& random() { return *random_; }
  Scheduler& scheduler() { return *scheduler_; }
  BufferPool& buffers() { return buffers_; }
  const KernelRegistry& kernels() const { return kernels_; }

 private:
  // Destroyed last to first: threads end before what they use.
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Random> random_;
  BufferPool buffers_;
  KernelRegistry kernels_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_H_
