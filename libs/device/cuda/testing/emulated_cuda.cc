#include "libs/device/cuda/testing/emulated_cuda.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "libs/device/cuda/testing/emulated_cublas.h"
#include "libs/device/cuda/testing/emulated_grid.h"
#include "libs/device/cuda/testing/emulated_memory.h"

// The position at which an event was recorded, and whether the stream has
// reached it.
struct EmulatedRecord {
  CUstream_st* stream = nullptr;  // null once it has
  int device = 0;
  bool has_come = false;
};

// The types behind CUDA's handles.
struct CUevent_st {
  int device = 0;
  std::shared_ptr<EmulatedRecord> record;  // the last one; null: there is none
};

struct CUstream_st {
  // Exactly one of the three is set.
  struct Operation {
    std::function<void()> work;
    std::shared_ptr<EmulatedRecord> record;
    std::shared_ptr<EmulatedRecord> awaited;
  };
  int device = 0;
  std::deque<Operation> operations;
};

namespace weft {
namespace {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

constexpr size_t kMostPinned = size_t{8} << 30;

cudaError_t Told(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// The emulated runtime, under one lock.
class Runtime {
 public:
  static Runtime& Get() {
    static Runtime* const runtime = new Runtime;  // outlives all its users
    return *runtime;
  }

  void Reset(uint64_t seed) {
    const std::lock_guard lock(mutex_);
    random_.seed(seed);
    for (Device& device : devices_) device.failure = cudaSuccess;
    fails_next_ = false;
    resting_calls_ = 0;
  }

  int64_t memory_in_use() {
    const std::lock_guard lock(mutex_);
    size_t bytes = pinned_.in_use();
    for (const Device& device : devices_) bytes += device.memory.in_use();
    return static_cast<int64_t>(bytes);
  }

  void FailNextKernel() {
    const std::lock_guard lock(mutex_);
    fails_next_ = true;
  }

  // Returns the error of the thread's device.
  cudaError_t failure() {
    const std::lock_guard lock(mutex_);
    return devices_[current_device].failure;
  }

  // Allocates on the thread's device.
  cudaError_t Take(void** memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    Device& device = devices_[current_device];
    if (device.failure != cudaSuccess) return device.failure;
    *memory = bytes > static_cast<size_t>(Free(device))
                  ? nullptr
                  : device.memory.Take(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  }

  // Like CUDA, waits for all work of the device first.
  cudaError_t Give(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < EmulatedCuda::kDevices; ++i) {
      if (!devices_[i].memory.Holds(memory, 0)) continue;
      for (CUstream_st* stream : streams_) {
        if (stream->device == i) Finish(*stream);
      }
      devices_[i].memory.Give(memory);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  }

  cudaError_t TakePinned(void** memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    *memory = pinned_.Take(bytes);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  }

  // Frees at once, even if the memory is still in use.
  cudaError_t GivePinned(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    const std::lock_guard lock(mutex_);
    return pinned_.Give(memory) ? cudaSuccess : cudaErrorInvalidValue;
  }

  int64_t free_memory() {
    const std::lock_guard lock(mutex_);
    return Free(devices_[current_device]);
  }

  cudaError_t NewStream(cudaStream_t* stream) {
    const std::lock_guard lock(mutex_);
    *stream = new CUstream_st;
    (*stream)->device = current_device;
    streams_.insert(*stream);
    return cudaSuccess;
  }

  cudaError_t EndStream(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (!streams_.contains(stream)) return cudaErrorInvalidResourceHandle;
    Finish(*stream);
    streams_.erase(stream);
    delete stream;
    return cudaSuccess;
  }

  // Adds work to the stream.
  cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    return Add(stream, {.work = std::move(work)});
  }

  cudaError_t EnqueueKernel(cudaStream_t stream, dim3 blocks, dim3 threads,
                            std::function<void()> thread) {
    return Enqueue(
        stream, [this, stream, blocks, threads, thread = std::move(thread)] {
          RunKernel(devices_[stream->device], blocks, threads, thread);
        });
  }

  // Checks that `count` bytes at `memory` are on the stream's device (if
  // `is_device`), or on no device (otherwise).
  cudaError_t CheckMemory(cudaStream_t stream, const void* memory, size_t count,
                          bool is_device) {
    const std::lock_guard lock(mutex_);
    if (!is_device) {
      for (const Device& device : devices_) {
        if (device.memory.Holds(memory, 0)) return cudaErrorInvalidValue;
      }
      return cudaSuccess;
    }
    const cudaError_t error = Check(stream);
    if (error != cudaSuccess) return error;
    return devices_[stream->device].memory.Holds(memory, count)
               ? cudaSuccess
               : cudaErrorInvalidValue;
  }

  cudaError_t Record(cudaEvent_t event, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (event->device != current_device) return cudaErrorInvalidResourceHandle;
    const auto record = std::make_shared<EmulatedRecord>();
    record->stream = stream;
    record->device = current_device;
    const cudaError_t error = Add(stream, {.record = record});
    if (error == cudaSuccess) event->record = record;
    return error;
  }

  cudaError_t HoldBack(cudaStream_t stream, cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    if (event->record == nullptr) return cudaSuccess;
    return Add(stream, {.awaited = event->record});
  }

  cudaError_t Query(cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    Resume();
    if (event->record == nullptr) return cudaSuccess;
    if (!event->record->has_come) return cudaErrorNotReady;
    return devices_[event->record->device].failure;
  }

  cudaError_t Wait(cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    if (event->record == nullptr) return cudaSuccess;
    RunTo(*event->record);
    OpenOnly(nullptr);
    return devices_[event->record->device].failure;
  }

  cudaError_t Wait(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (!streams_.contains(stream)) return cudaErrorInvalidResourceHandle;
    Finish(*stream);
    return devices_[stream->device].failure;
  }

 private:
  struct Device {
    EmulatedMemory memory{EmulatedCuda::kMemory, /*is_closed=*/true};
    cudaError_t failure = cudaSuccess;  // permanent
  };

  static int64_t Free(const Device& device) {
    return EmulatedCuda::kMemory - static_cast<int64_t>(device.memory.in_use());
  }

  cudaError_t Check(cudaStream_t stream) {
    if (!streams_.contains(stream) || stream->device != current_device) {
      return cudaErrorInvalidResourceHandle;
    }
    return devices_[stream->device].failure;
  }

  cudaError_t Add(cudaStream_t stream, CUstream_st::Operation operation) {
    const cudaError_t error = Check(stream);
    if (error != cudaSuccess) return error;
    stream->operations.push_back(std::move(operation));
    Resume();
    return cudaSuccess;
  }

  void RunKernel(Device& device, dim3 blocks, dim3 threads,
                 const std::function<void()>& thread) {
    std::string error = grid_.Run(blocks, threads, thread);
    if (std::exchange(fails_next_, false)) error = "as a test wants";
    if (error.empty()) return;
    std::fprintf(stderr, "EmulatedCuda: a kernel failed: %s\n", error.c_str());
    device.failure = cudaErrorIllegalAddress;
  }

  // An emulated GPU runs some work now and then, even without a waiting caller,
  // and then rests.
  void Resume() {
    if (resting_calls_ == 0 && random_() % 64 == 0) {
      resting_calls_ = random_() % 256;
    }
    if (resting_calls_ > 0) {
      --resting_calls_;
      return;
    }
    for (CUstream_st* stream : streams_) {
      for (uint64_t left = random_() % 16 < 12 ? 0 : random_() % 4;
           left > 0 && !stream->operations.empty(); --left) {
        RunFirst(*stream);
      }
    }
    OpenOnly(nullptr);
  }

  // Null: none. Opening takes time, so a device stays open until another one
  // works or the call returns.
  void OpenOnly(Device* device) {
    if (open_ == device) return;
    if (open_ != nullptr) open_->memory.Close();
    if (device != nullptr) device->memory.Open();
    open_ = device;
  }

  void RunFirst(CUstream_st& stream) {
    const CUstream_st::Operation first = std::move(stream.operations.front());
    stream.operations.pop_front();
    if (first.awaited) {
      RunTo(*first.awaited);
    } else if (first.record) {
      first.record->has_come = true;
    } else if (devices_[stream.device].failure == cudaSuccess) {
      OpenOnly(&devices_[stream.device]);
      first.work();
    }
  }

  void Finish(CUstream_st& stream) {
    while (!stream.operations.empty()) RunFirst(stream);
    OpenOnly(nullptr);
  }

  // A stream waits for events recorded earlier, so this never recurses into the
  // waiting stream.
  void RunTo(const EmulatedRecord& record) {
    while (!record.has_come) RunFirst(*record.stream);
  }

  std::mutex mutex_;
  std::mt19937_64 random_{1};
  EmulatedGrid grid_{random_};
  Device devices_[EmulatedCuda::kDevices];
  Device* open_ = nullptr;
  EmulatedMemory pinned_{kMostPinned, /*is_closed=*/false};
  std::set<CUstream_st*> streams_;
  bool fails_next_ = false;
  // The number of calls of CUDA's functions for which it still rests.
  uint64_t resting_calls_ = 0;
};

// Checks and copies once the stream has reached the copy.
cudaError_t CheckCopy(const void* to, const void* from, size_t count,
                      cudaMemcpyKind kind, cudaStream_t stream) {
  Runtime& runtime = Runtime::Get();
  const bool is_to_device =
      kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool is_from_device =
      kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const cudaError_t error =
      runtime.CheckMemory(stream, to, count, is_to_device);
  if (error != cudaSuccess) return error;
  return runtime.CheckMemory(stream, from, count, is_from_device);
}

}  // namespace

void EmulatedCuda::Reset(uint64_t seed) {
  Runtime::Get().Reset(seed);
  // The library of a real GPU must not be loaded.
  setenv("WEFT_CUBLAS", "off", 1);
}

void EmulatedCuda::UseCublas(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const use =
      library == nullptr ? nullptr : dlsym(library, "WeftEmulatedCublasUse");
  if (use == nullptr) {
    std::fprintf(stderr, "EmulatedCuda: %s\n", dlerror());
    std::abort();
  }
  reinterpret_cast<decltype(&WeftEmulatedCublasUse)>(use)(
      [](cudaStream_t stream, std::function<void()> work) {
        return static_cast<int>(EmulatedEnqueue(stream, std::move(work)));
      });
  setenv("WEFT_CUBLAS", path.c_str(), 1);
}

int64_t EmulatedCuda::memory_in_use() { return Runtime::Get().memory_in_use(); }

void EmulatedCuda::FailNextKernel() { Runtime::Get().FailNextKernel(); }

void EmulatedLaunch(dim3 blocks, dim3 threads, size_t shared_bytes,
                    cudaStream_t stream, std::function<void()> thread) {
  constexpr unsigned kMostDim = 65535;
  const uint64_t count = uint64_t{threads.x} * threads.y * threads.z;
  const bool are_blocks = blocks.x > 0 && blocks.x <= 0x7fffffff &&
                          blocks.y > 0 && blocks.y <= kMostDim &&
                          blocks.z > 0 && blocks.z <= kMostDim;
  const bool are_threads = count > 0 && count <= 1024 && threads.z <= 64;
  if (!are_blocks || !are_threads || shared_bytes != 0) {
    Told(cudaErrorInvalidConfiguration);
    return;
  }
  Told(
      Runtime::Get().EnqueueKernel(stream, blocks, threads, std::move(thread)));
}

cudaError_t EmulatedEnqueue(cudaStream_t stream, std::function<void()> work) {
  return Told(Runtime::Get().Enqueue(stream, std::move(work)));
}

}  // namespace weft

using weft::EmulatedCuda;
using weft::Runtime;
using weft::Told;

// CUDA's functions, as cuda_runtime_api.h documents them.

cudaError_t cudaGetDeviceCount(int* count) {
  *count = EmulatedCuda::kDevices;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= EmulatedCuda::kDevices) {
    return Told(cudaErrorInvalidDevice);
  }
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "Emulated GPU");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  properties->totalGlobalMem = EmulatedCuda::kMemory;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<size_t>(size), "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= EmulatedCuda::kDevices) {
    return Told(cudaErrorInvalidDevice);
  }
  weft::current_device = device;
  return Told(Runtime::Get().failure());
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = std::exchange(weft::last_error, cudaSuccess);
  const cudaError_t failure = Runtime::Get().failure();
  return failure != cudaSuccess ? failure : error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorIllegalAddress
             ? "an illegal memory access was encountered"
             : cudaGetErrorName(error);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = static_cast<size_t>(Runtime::Get().free_memory());
  *total = EmulatedCuda::kMemory;
  return Told(Runtime::Get().failure());
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return Told(Runtime::Get().Take(memory, bytes));
}

cudaError_t cudaFree(void* memory) { return Told(Runtime::Get().Give(memory)); }

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return Told(Runtime::Get().TakePinned(memory, bytes));
}

cudaError_t cudaFreeHost(void* memory) {
  return Told(Runtime::Get().GivePinned(memory));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return Told(Runtime::Get().NewStream(stream));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Told(Runtime::Get().EndStream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Told(Runtime::Get().Wait(stream));
}

// Queries the device, since no work is ever on cudaStreamLegacy.
cudaError_t cudaStreamQuery(cudaStream_t) {
  return Told(Runtime::Get().failure());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  return Told(Runtime::Get().HoldBack(stream, event));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{.device = weft::current_device};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Told(Runtime::Get().Record(event, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Told(Runtime::Get().Query(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Told(Runtime::Get().Wait(event));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t error = weft::CheckCopy(to, from, count, kind, stream);
  if (error != cudaSuccess) return Told(error);
  return weft::EmulatedEnqueue(stream, [=] { std::memcpy(to, from, count); });
}

cudaError_t cudaMemsetAsync(void* to, int byte, size_t count,
                            cudaStream_t stream) {
  const cudaError_t error = Runtime::Get().CheckMemory(stream, to, count,
                                                       /*is_device=*/true);
  if (error != cudaSuccess) return Told(error);
  return weft::EmulatedEnqueue(stream, [=] { std::memset(to, byte, count); });
}
