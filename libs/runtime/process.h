// Process: what all tasks and sessions of one operating-system process share:
// time, randomness, threads, memory, kernels, the way to other processes, and
// the tasks that live here.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_H_
#define WEFT_LIBS_RUNTIME_PROCESS_H_

#include <functional>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/bus/traffic.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"
#include "libs/fs/closable_file_system.h"
#include "libs/fs/file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/object_store/object_stores.h"
#include "libs/protocol/landing_memory.h"
#include "libs/protocol/worker.h"
#include "libs/runtime/descriptor_room.h"
#include "libs/runtime/gpu_platform.h"
#include "libs/runtime/landing_allocator.h"
#include "libs/runtime/local_tasks.h"
#include "libs/runtime/memory_bound.h"
#include "libs/runtime/process_usage.h"
#include "libs/runtime/zmq_file_system.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/client_function.h"

namespace weft {

struct ProcessOptions {
  int compute_threads = 0;  // 0: one per core
  bus::TransportOptions transport;
  // Another process that has shown no sign of life for so long is taken for
  // dead: its connections are lost, and steps that need it fail. From 100 ms to
  // an hour. Where the wire is of the caller's making, transport.peer_timeout
  // counts instead.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Gets what other processes do wrong; outlives the process. May be null.
  Logger* logger = nullptr;
  // Where kernels read and write files, but for those of checkpoint writers
  // (zmq_file_system.h); outlives the process. Null: on the machine, and in
  // object stores (libs/object_store/object_stores.h).
  FileSystem* file_system = nullptr;
  // How many bytes of tensors the process may hold: a tensor of 64 MiB and more
  // that would exceed it is RESOURCE_EXHAUSTED before it is made. Null:
  // MemoryBound (memory_bound.h), what the machine has.
  std::function<int64_t()> memory_bound;
  // The machine that it is on, and what that has for all processes there: what
  // several of them are to hold is counted together before it is made
  // (docs/operations/quotas.md). Null: as the system says (memory_bound.h).
  std::function<MachineMemory()> machine_memory;
  // Raises the limit of open descriptors as far as it goes, and says how many
  // there may be. Null: RaiseDescriptorLimit (descriptor_room.h).
  std::function<DescriptorRoom()> descriptor_room;
  // What graphs call of this program, in all of its tasks
  // (docs/user/client_functions.md).
  ClientFunctions client_functions;
  // Whose GPUs its tasks have. Null: GPUs that the host plays, for trying
  // placement (libs/kernels/host_gpu_kernels.h).
  std::shared_ptr<const GpuPlatform> gpu_platform;
  // Whether memory that is freed stays for the next message, once there is a
  // way to other processes (bus::TuneHeapForBulk): it is of the whole
  // operating-system process. False: it goes back to the system as the C
  // library decides.
  bool keep_freed_memory = true;
  // Whether a machine of a cloud is asked whose it is, for object stores.
  bool use_instance_metadata = false;
};

// Outlives everything that was made with it. Thread-safe.
class Process {
 public:
  using WireFactory = std::function<std::unique_ptr<bus::Wire>(Scheduler&)>;

  // The real thing: the system's time and entropy, threads, sockets. Its clock
  // is a MonotoneClock, so that no wait becomes another when the machine's
  // clock is set.
  explicit Process(const ProcessOptions& options = {});
  // Of the caller's making; for tests under a simulated scheduler, which may be
  // shared by several processes. `scheduler` outlives the process; so does what
  // `new_wire` uses, which may be null where no other process is reached.
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
  // writers that it has files at wait for it when they stop. For as long as a
  // monitored session is open. The process outlives it.
  std::shared_ptr<void> ExpectSaves();
  // Files that are open through it, and what else it does at this moment.
  int64_t num_files_in_use() const { return files_in_use_.num_in_use(); }
  BufferPool& buffers() { return buffers_; }
  // What the system says that it uses; reads files of the kernel.
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
  // What it can hold besides what its tensors take now, and what its machine
  // has. Reads files of the kernel.
  protocol::MemoryRoom memory_room();
  // As ProcessOptions::descriptor_room.
  DescriptorRoom descriptor_room();

  // Made when first asked for, with its sockets and threads.
  bus::Transport& transport() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // As ProcessOptions::machine_memory.
  MachineMemory machine_memory();
  ObjectStoresOptions StoresOptions();
  BufferPool::Options PoolOptions();
  ZmqFileSystemOptions FilesOptions();
  // Where there are GPUs and a transport.
  void PrepareLanding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessOptions options_;
  // Destroyed last to first: threads end before what they use.
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Random> random_;
  LocalFileSystem local_file_system_;
  BufferPool buffers_{PoolOptions()};
  const std::shared_ptr<const KernelRegistry> kernels_;
  LocalTasks local_tasks_;
  const std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler* const scheduler_;
  const WireFactory new_wire_;
  LandingAllocator landing_{buffers_};
  protocol::AllocatorLandingMemory landing_memory_{landing_};
  bus::Traffic traffic_;
  absl::Mutex mutex_;
  bool has_gpus_ ABSL_GUARDED_BY(mutex_) = false;
  bool lands_pinned_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<bus::Wire> wire_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<bus::Transport> transport_ ABSL_GUARDED_BY(mutex_);
  ObjectStores object_stores_;
  ZmqFileSystem files_;  // its connections end before the transport
  // Pipelines end on threads of the scheduler, after their sessions.
  ClosableFileSystem files_in_use_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_H_
