// CudaDevice is an NVIDIA GPU, with its own memory and streams. A program built
// without CUDA has none, and gets an error.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_DEVICE_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/cuda/cuda_types.h"
#include "libs/device/device.h"
#include "libs/device/device_memory.h"

namespace weft {

class CudaBlas;

// CudaProperties describes the hardware of one GPU.
struct CudaProperties {
  int ordinal = 0;  // among the GPUs visible to the process
  std::string model;
  int compute_major = 0;  // compute capability 9.0: 9 and 0
  int compute_minor = 0;
  int multiprocessors = 0;
  int64_t memory = 0;  // bytes
};

// Thread-safe. Buffers may outlive it and keep their memory; nothing else that
// it returned may. The destructor returns when all launched work has ended, and
// each `done` has been called; if it runs in a `done`, where a session's last
// reference may be released, it leaves that to another thread of the scheduler.
class CudaDevice : public Device, public HasDeviceMemory {
 public:
  ~CudaDevice() override;

  DeviceContext* context() const override;
  DeviceMemory memory() const override;
  int64_t AskFreeMemory() const override;

  // Returns the compute stream and makes this device the calling thread's
  // current one. Call stream() right before each launch.
  cudaStream_t stream() const;
  // Returns the object that multiplies matrices on the compute stream.
  CudaBlas& blas() const;

  const CudaProperties& properties() const;

 private:
  friend class CudaDeviceMaker;
  class State;
  CudaDevice(DeviceAttributes attributes, std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

struct CudaDeviceOptions {
  int count = -1;  // of the first visible GPUs; -1: all
  // The share of a GPU's memory that its device may take; 0: nearly all that is
  // free when it starts.
  double memory_fraction = 0;
  // Allocates memory piecewise on demand, not all at the start.
  bool allow_growth = true;
  // Allocates and frees each buffer separately, which is slow, so that
  // compute-sanitizer detects out-of-bounds accesses. Needs allow_growth.
  bool exact_memory = false;
};

// Returns the number of visible GPUs (see CUDA_VISIBLE_DEVICES). Returns
// FAILED_PRECONDITION with the reason if no GPU can be used: the build lacks
// CUDA, the driver is missing or too old, or there is no GPU.
absl::StatusOr<int> CudaDeviceCount();

// Returns the devices "PREFIX/device:GPU:0" and so on. Returns INVALID_ARGUMENT
// if there are fewer than `options.count` GPUs, or the memory fraction is
// invalid. Returns FAILED_PRECONDITION like CudaDeviceCount. Returns another
// code if a GPU cannot be used (for example, another process uses it
// exclusively). `scheduler` must outlive the devices: up to three of its
// threads per device wait for the GPU (Pool::kUnbounded).
absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewCudaDevices(
    absl::string_view task_prefix, const CudaDeviceOptions& options,
    Scheduler& scheduler, Random& random);

// Returns an allocator of pinned host memory, or null if none is
// available. All `bytes` are allocated at once, and the allocator never grows.
// Every GPU copies from and to this memory asynchronously. Buffers may outlive
// the allocator.
std::unique_ptr<Allocator> NewCudaHostMemory(size_t bytes);

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_DEVICE_H_
