// Process holds what all tasks and sessions of one operating-system process
// share: time, randomness, threads, memory, kernels, the transport to other
// processes, and the local tasks.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_PROCESS_H_
#define WEFT_LIBS_RUNTIME_PROCESS_PROCESS_H_

#include <functional>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/traffic.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"
#include "libs/fs/closable_file_system.h"
#include "libs/fs/file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/object_store/object_stores.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/process/descriptor_usage.h"
#include "libs/runtime/process/gpu_platform.h"
#include "libs/runtime/process/local_tasks.h"
#include "libs/runtime/process/memory_bound.h"
#include "libs/runtime/process/process_usage.h"
#include "libs/runtime/process/receive_allocator.h"
#include "libs/runtime/process/zmq_file_system.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/client_function.h"

namespace weft {

struct ProcessOptions {
  int compute_threads = 0;  // 0: one per core
  bus::TransportOptions transport;
  // A process is considered dead if it has sent no heartbeat for this long. Its
  // connections are then lost, and steps that need it fail. From 100 ms to an
  // hour. If the caller supplies the wire, transport.peer_timeout is used
  // instead.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Logs protocol violations by other processes. May be null; must outlive the
  // process.
  Logger* logger = nullptr;
  // The file system that kernels use, except for files of checkpoint writers
  // (zmq_file_system.h); must outlive the process. Null: the machine's file
  // system and object stores (libs/object_store/object_stores.h).
  FileSystem* file_system = nullptr;
  // Returns the maximum bytes of all tensors of the process. If a tensor of 64
  // MiB or more would exceed this, its allocation fails with
  // RESOURCE_EXHAUSTED. Null: MemoryBound (memory_bound.h), the memory that the
  // machine has.
  std::function<int64_t()> memory_bound;
  // Returns the machine of the process, and the memory that the machine has for
  // all processes. Before several processes of a machine allocate variables,
  // their needs are added up and compared with this memory
  // (docs/operations/quotas.md). Null: as reported by the system
  // (memory_bound.h).
  std::function<MachineMemory()> machine_memory;
  // Raises the limit of open descriptors as far as possible, and returns it.
  // Null: RaiseDescriptorLimit (descriptor_usage.h).
  std::function<DescriptorUsage()> descriptor_usage;
  // The functions of this program that graphs may call, in all tasks of the
  // process (docs/user/client_functions.md).
  ClientFunctions client_functions;
  // Provides the GPUs of the process's tasks. Null: host GPUs, which are for
  // testing placement (libs/kernels/host_gpu_kernels.h).
  std::shared_ptr<const GpuPlatform> gpu_platform;
  // Whether freed memory is kept for the next message, once the process has a
  // transport (bus::TuneHeapForBulk). This affects the whole operating-system
  // process. False: the C library decides when it returns memory to the system.
  bool keep_freed_memory = true;
  // Whether object stores may be accessed with the cloud identity of the
  // machine.
  bool use_instance_metadata = false;
};

// Must outlive everything that was created with it. Thread-safe.
class Process {
 public:
  using WireFactory = std::function<std::unique_ptr<bus::Wire>(Scheduler&)>;

  // Creates a real process: with the system's time and entropy, threads and
  // sockets. Its clock is a MonotoneClock, so that setting the system time does
  // not affect timeouts.
  explicit Process(const ProcessOptions& options = {});
  // Creates a process from components of the caller, for tests under a
  // simulated scheduler, which several processes may share. `scheduler` must
  // outlive the process, and so must whatever `new_wire` uses. `new_wire` may
  // be null if the process needs no connections to other processes.
  Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
          Scheduler& scheduler, WireFactory new_wire,
          const ProcessOptions& options = {});
  ~Process();

  Random& random() { return *random_; }
  Scheduler& scheduler() { return *scheduler_; }
  const Clock& clock() const { return scheduler_->clock(); }
  // Returns the file system for all paths. Paths "zmq://HOST:PORT/PATH" are
  // files of the checkpoint writer at that address, "s3://BUCKET/PATH" and
  // "gs://BUCKET/PATH" are in object stores.
  FileSystem& file_system() { return files_in_use_; }
  // Announces that this process may write a checkpoint, until the result is
  // destroyed. Checkpoint writers to which the process is connected wait for
  // that before they stop. A monitored session holds the result while it is
  // open. The process must outlive the result.
  std::shared_ptr<void> ExpectSaves();
  // The number of files that are open through file_system(), plus the number of
  // its running operations.
  int64_t num_files_in_use() const { return files_in_use_.num_in_use(); }
  BufferPool& buffers() { return buffers_; }
  // Returns the resource usage of the process, as reported by the system. Reads
  // files of /proc.
  ProcessUsage usage() { return ReadProcessUsage(local_file_system_); }
  const KernelRegistry& kernels() const { return *kernels_; }
  bool has_gpu_platform() const { return options_.gpu_platform != nullptr; }
  // Creates GPUs for one task; see ProcessOptions::gpu_platform.
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewGpus(
      absl::string_view task, int count);
  LocalTasks& local_tasks() { return local_tasks_; }

  // The traffic of the transport, once the transport exists.
  const bus::Traffic& traffic() const { return traffic_; }
  // See ProcessOptions::memory_bound.
  int64_t memory_bound();
  // Returns the memory that the process can use in addition to its current
  // tensors, and the available memory of its machine. Reads files of /proc.
  protocol::AvailableMemory available_memory();
  // See ProcessOptions::descriptor_usage.
  DescriptorUsage descriptor_usage();

  // Returns the transport to other processes. It is created on first use, with
  // its sockets and threads.
  bus::Transport& transport() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // See ProcessOptions::machine_memory.
  MachineMemory machine_memory();
  ObjectStoresOptions StoresOptions();
  BufferPool::Options PoolOptions();
  ZmqFileSystemOptions FilesOptions();
  // Allocates pinned receive buffers. Called if the process has GPUs and a
  // transport.
  void PrepareReceiveBuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessOptions options_;
  // Members are destroyed last to first, so threads end before the objects that
  // they use.
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Random> random_;
  LocalFileSystem local_file_system_;
  BufferPool buffers_{PoolOptions()};
  const std::shared_ptr<const KernelRegistry> kernels_;
  LocalTasks local_tasks_;
  const std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler* const scheduler_;
  const WireFactory new_wire_;
  ReceiveAllocator receive_allocator_{buffers_};
  protocol::AllocatorReceiveMemory receive_memory_{receive_allocator_};
  bus::Traffic traffic_;
  absl::Mutex mutex_;
  bool has_gpus_ ABSL_GUARDED_BY(mutex_) = false;
  bool receives_pinned_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<bus::Wire> wire_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<bus::Transport> transport_ ABSL_GUARDED_BY(mutex_);
  ObjectStores object_stores_;
  ZmqFileSystem files_;  // its connections end before the transport
  // Must be destroyed first: input pipelines end on threads of the scheduler,
  // after their sessions, and may still have files open.
  ClosableFileSystem files_in_use_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_PROCESS_H_
