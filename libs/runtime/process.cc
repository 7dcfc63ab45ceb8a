#include "libs/runtime/process.h"

#include <algorithm>
#include <utility>

#include "libs/bus/zmq_wire.h"
#include "libs/kernels/host_gpu_kernels.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {
namespace {

void RegisterKernels(KernelRegistry& kernels) {
  RegisterStandardKernels(kernels);
  RegisterHostGpuKernels(kernels);
}

// It is asked for a sign of life at each fourth of the time.
std::unique_ptr<bus::Wire> NewWire(Scheduler& scheduler,
                                   absl::Duration peer_timeout) {
  peer_timeout =
      std::clamp(peer_timeout, absl::Milliseconds(100), absl::Hours(1));
  return bus::NewZmqWire(scheduler,
                         {.heartbeat_interval = peer_timeout / 4,
                          .heartbeat_timeout = peer_timeout / 4 * 3});
}

}  // namespace

Process::Process(const ProcessOptions& options)
    : options_(options),
      clock_(std::make_unique<SystemClock>()),
      random_(NewSystemRandom()),
      own_scheduler_(NewThreadScheduler(
          *clock_, {.compute_threads = options.compute_threads})),
      scheduler_(own_scheduler_.get()),
      new_wire_([timeout = options.peer_timeout](Scheduler& scheduler) {
        return NewWire(scheduler, timeout);
      }) {
  RegisterKernels(kernels_);
}

Process::Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
                 Scheduler& scheduler, WireFactory new_wire,
                 const ProcessOptions& options)
    : options_(options),
      clock_(std::move(clock)),
      random_(std::move(random)),
      scheduler_(&scheduler),
      new_wire_(std::move(new_wire)) {
  RegisterKernels(kernels_);
}

Process::~Process() = default;

bus::Transport& Process::transport() {
  absl::MutexLock lock(&mutex_);
  if (transport_ == nullptr) {
    wire_ = new_wire_(*scheduler_);
    transport_ = bus::NewTransport({.wire = wire_.get(),
                                    .scheduler = scheduler_,
                                    .random = random_.get(),
                                    .memory = &landing_memory_,
                                    .logger = options_.logger},
                                   options_.transport);
  }
  return *transport_;
}

}  // namespace weft
