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
  // Another process without heartbeats for this long counts as dead: its
  // connections are lost, and steps that need it fail. From 100 ms to an hour.
  // If the caller supplies the wire, transport.peer_timeout is used instead.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Logs protocol violations of other processes; must outlive the process. May
  // be null.
  Logger* logger = nullptr;
  // The file system of kernels, except for files of checkpoint writers
  // (zmq_file_system.h); must outlive the process. Null: the machine's, and
  // object stores (libs/object_store/object_stores.h).
  FileSystem* file_system = nullptr;
  // The maximum bytes of tensors of the process: a tensor of 64 MiB or more
  // that would exceed it fails with RESOURCE_EXHAUSTED before it is allocated.
  // Null: MemoryBound (memory_bound.h), what the machine has.
  std::function<int64_t()> memory_bound;
  // The machine of the process, and its memory for all processes: what several
  // of them are about to allocate is added up first
  // (docs/operations/quotas.md). Null: as reported by the system
  // (memory_bound.h).
  std::function<MachineMemory()> machine_memory;
  // Raises the limit of open descriptors as far as possible, and returns it.
  // Null: RaiseDescriptorLimit (descriptor_usage.h).
  std::function<DescriptorUsage()> descriptor_usage;
  // The functions of this program that graphs call, in all of its tasks
  // (docs/user/client_functions.md).
  ClientFunctions client_functions;
  // The GPUs of its tasks. Null: host GPUs, for testing placement
  // (libs/kernels/host_gpu_kernels.h).
  std::shared_ptr<const GpuPlatform> gpu_platform;
  // Whether freed memory is kept for the next message, once there is a
  // transport (bus::TuneHeapForBulk): this affects the whole operating-system
  // process. False: the C library decides when it returns memory to the system.
  bool keep_freed_memory = true;
  // Whether a cloud machine's identity is used for object stores.
  bool use_instance_metadata = false;
};

// Must outlive everything created with it. Thread-safe.
class Process {
 public:
  using WireFactory = std::function<std::unique_ptr<bus::Wire>(Scheduler&)>;

  // A real process: the system's time and entropy, threads, sockets. Its clock
  // is a MonotoneClock, so that setting the system time changes no wait.
  explicit Process(const ProcessOptions& options = {});
  // With components of the caller; for tests under a simulated scheduler, which
  // several processes may share. `scheduler` must outlive the process; so must
  // whatever `new_wire` uses, which may be null if no other process is reached.
  Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
          Scheduler& scheduler, WireFactory new_wire,
          const ProcessOptions& options = {});
  ~Process();

  Random& random() { return *random_; }
  Scheduler& scheduler() { return *scheduler_; }
  const Clock& clock() const { return scheduler_->clock(); }
  // Paths "zmq://HOST:PORT/PATH" are files of the checkpoint writer there,
  // "s3://BUCKET/PATH" and "gs://BUCKET/PATH" those of object stores.
  FileSystem& file_system() { return files_in_use_; }
  // While the result lives, this process may have a save to write: checkpoint
  // writers where it has files wait for it when they stop. Held while a
  // monitored session is open. The process must outlive it.
  std::shared_ptr<void> ExpectSaves();
  // The number of files open through it, and of its running operations.
  int64_t num_files_in_use() const { return files_in_use_.num_in_use(); }
  BufferPool& buffers() { return buffers_; }
  // The resource usage reported by the system; reads files of /proc.
  ProcessUsage usage() { return ReadProcessUsage(local_file_system_); }
  const KernelRegistry& kernels() const { return *kernels_; }
  bool has_gpu_platform() const { return options_.gpu_platform != nullptr; }
  // GPUs for one task; see ProcessOptions::gpu_platform.
  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewGpus(
      absl::string_view task, int count);
  LocalTasks& local_tasks() { return local_tasks_; }

  // Of the transport, once there is one.
  const bus::Traffic& traffic() const { return traffic_; }
  // As ProcessOptions::memory_bound.
  int64_t memory_bound();
  // The memory that the process can use in addition to its current tensors, and
  // the memory of its machine. Reads files of /proc.
  protocol::AvailableMemory available_memory();
  // As ProcessOptions::descriptor_usage.
  DescriptorUsage descriptor_usage();

  // Created on first use, with its sockets and threads.
  bus::Transport& transport() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // As ProcessOptions::machine_memory.
  MachineMemory machine_memory();
  ObjectStoresOptions StoresOptions();
  BufferPool::Options PoolOptions();
  ZmqFileSystemOptions FilesOptions();
  // Called if there are GPUs and a transport.
  void PrepareReceiveBuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessOptions options_;
  // Destroyed last to first: threads end before the objects that they use.
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
  // Destroyed first: pipelines end on threads of the scheduler, after their
  // sessions, and may still have open files.
  ClosableFileSystem files_in_use_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_PROCESS_H_
