#include "libs/runtime/process/process.h"

#include <algorithm>
#include <utility>

#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/bus/zmq/zmq_wire.h"
#include "libs/device/local_devices.h"
#include "libs/kernels/standard/standard_kernels.h"

namespace weft {
namespace {

// The number of connections in addition to those that the transport accepts, so
// that it can still answer, and refuse, further ones.
constexpr int kSpare = 64;

// ZeroMQ's own heartbeats are sent four times per timeout; they check the
// system and the network. The transport's Heartbeat checks the program.
std::unique_ptr<bus::Wire> NewWire(Scheduler& scheduler,
                                   const ProcessOptions& options) {
  if (options.keep_freed_memory) bus::TuneHeapForBulk();
  const absl::Duration peer_timeout = options.transport.peer_timeout;
  return bus::NewZmqWire(
      scheduler,
      {.max_connections =
           std::clamp(options.transport.max_connections, 0, 1 << 20) + kSpare,
       .heartbeat_interval = peer_timeout / 4,
       .heartbeat_timeout = peer_timeout / 4 * 3,
       .logger = options.logger});
}

// The size of the pinned memory for received data. Data that does not fit is
// received into other memory.
constexpr size_t kPinnedReceiveBytes = size_t{256} << 20;

// The maximum duration of a pending file operation. Requests to object stores
// that make no progress are given up sooner.
constexpr absl::Duration kLongestUseOfFiles = absl::Minutes(2);

std::shared_ptr<const KernelRegistry> NewKernels(
    const ProcessOptions& options) {
  if (options.gpu_platform == nullptr) {
    return StandardKernels(options.client_functions);
  }
  auto registry = std::make_shared<KernelRegistry>();
  RegisterCpuKernels(*registry, options.client_functions);
  options.gpu_platform->RegisterKernels(*registry);
  return registry;
}

std::unique_ptr<Scheduler> NewScheduler(const Clock& clock,
                                        const ProcessOptions& options) {
  const ThreadSchedulerOptions threads = {.compute_threads =
                                              options.compute_threads};
  if (options.logger == nullptr) return NewThreadScheduler(clock, threads);
  return NewThreadScheduler(
      clock, threads, /*starter=*/nullptr,
      [logger = options.logger](const std::string& message) {
        logger->Warning(message);
      });
}

ProcessOptions WithPeerTimeout(ProcessOptions options) {
  options.peer_timeout =
      std::clamp(options.peer_timeout, absl::Milliseconds(100), absl::Hours(1));
  options.transport.peer_timeout = options.peer_timeout;
  return options;
}

}  // namespace

Process::Process(const ProcessOptions& options)
    : options_(WithPeerTimeout(options)),
      clock_(std::make_unique<MonotoneClock>()),
      random_(NewSystemRandom()),
      kernels_(NewKernels(options)),
      own_scheduler_(NewScheduler(*clock_, options)),
      scheduler_(own_scheduler_.get()),
      new_wire_([this](Scheduler& scheduler) {
        return NewWire(scheduler, options_);
      }),
      object_stores_(StoresOptions()),
      files_(FilesOptions()),
      files_in_use_(files_, *scheduler_) {}

Process::Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
                 Scheduler& scheduler, WireFactory new_wire,
                 const ProcessOptions& options)
    : options_(options),
      clock_(std::move(clock)),
      random_(std::move(random)),
      kernels_(NewKernels(options)),
      scheduler_(&scheduler),
      new_wire_(std::move(new_wire)),
      object_stores_(StoresOptions()),
      files_(FilesOptions()),
      files_in_use_(files_, *scheduler_) {}

// Objects whose destructors use files need the object stores, and these need
// the scheduler, so such objects must be destroyed before the scheduler's
// threads end. A scheduler that the caller owns is simulated: work that it has
// stopped never continues, so the destructor must not wait for it.
Process::~Process() {
  if (own_scheduler_ == nullptr) return;
  files_in_use_.Close(clock().Now() + kLongestUseOfFiles);
}

std::shared_ptr<void> Process::ExpectSaves() {
  files_.BeginExpectingSaves();
  return {this, [](Process* process) { process->files_.EndExpectingSaves(); }};
}

absl::StatusOr<std::vector<std::unique_ptr<Device>>> Process::NewGpus(
    absl::string_view task, int count) {
  if (options_.gpu_platform == nullptr || count == 0) {
    return NewLocalDevices(task, {.cpus = 0, .host_gpus = count}, buffers_,
                           *random_);
  }
  auto devices =
      options_.gpu_platform->NewDevices(task, count, *scheduler_, *random_);
  if (!devices.ok()) return devices;
  absl::MutexLock lock(&mutex_);
  has_gpus_ = true;
  PrepareReceiveBuffers();
  return devices;
}

void Process::PrepareReceiveBuffers() {
  if (!has_gpus_ || transport_ == nullptr) return;
  if (std::exchange(receives_pinned_, true)) return;
  receive_allocator_.UsePinned(
      options_.gpu_platform->NewPinnedMemory(kPinnedReceiveBytes));
}

BufferPool::Options Process::PoolOptions() {
  // A buffer may outlive the process; it allocates no memory then.
  if (options_.memory_bound) return {.memory_bound = options_.memory_bound};
  return {.memory_bound = [this] { return memory_bound(); }};
}

int64_t Process::memory_bound() {
  if (options_.memory_bound) return options_.memory_bound();
  const BufferPoolStats pool = buffers_.stats();
  return MemoryBound(local_file_system_, pool.bytes_in_use + pool.bytes_kept);
}

// Freed memory that the pool keeps counts as available, because the pool
// returns it to the system when memory is short.
protocol::AvailableMemory Process::available_memory() {
  const int64_t bound = memory_bound();
  const BufferPoolStats pool = buffers_.stats();
  const MachineMemory machine = machine_memory();
  protocol::AvailableMemory available;
  if (bound != protocol::AvailableMemory::kUnknown) {
    available.task = std::max<int64_t>(0, bound - pool.bytes_in_use);
  }
  available.machine = machine.machine;
  available.machine_has = std::max<int64_t>(0, machine.available);
  available.kept = pool.bytes_kept;
  return available;
}

DescriptorUsage Process::descriptor_usage() {
  if (options_.descriptor_usage) return options_.descriptor_usage();
  return RaiseDescriptorLimit(local_file_system_);
}

MachineMemory Process::machine_memory() {
  if (options_.machine_memory) return options_.machine_memory();
  return ReadMachineMemory(local_file_system_);
}

ObjectStoresOptions Process::StoresOptions() {
  ObjectStoresOptions options;
  options.scheduler = scheduler_;
  options.random = random_.get();
  options.others = &local_file_system_;
  options.use_instance_metadata = options_.use_instance_metadata;
  return options;
}

ZmqFileSystemOptions Process::FilesOptions() {
  ZmqFileSystemOptions options;
  options.scheduler = scheduler_;
  options.random = random_.get();
  if (new_wire_ != nullptr) {
    options.transport = [this]() -> bus::Transport& { return transport(); };
  }
  options.local_tasks = &local_tasks_;
  options.others =
      options_.file_system != nullptr ? options_.file_system : &object_stores_;
  return options;
}

bus::Transport& Process::transport() {
  absl::MutexLock lock(&mutex_);
  if (transport_ == nullptr) {
    wire_ = new_wire_(*scheduler_);
    transport_ = bus::NewTransport({.wire = wire_.get(),
                                    .scheduler = scheduler_,
                                    .random = random_.get(),
                                    .memory = &receive_memory_,
                                    .logger = options_.logger,
                                    .traffic = &traffic_},
                                   options_.transport);
    PrepareReceiveBuffers();
  }
  return *transport_;
}

}  // namespace weft
