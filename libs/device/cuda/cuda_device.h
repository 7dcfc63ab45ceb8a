// CudaDevice: a GPU of NVIDIA's, with memory and streams of its own. Whoever
// was built without CUDA has none, and is told so.
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
#include "libs/base/scheduler.h"
#include "libs/device/cuda/cuda_types.h"
#include "libs/device/device.h"
#include "libs/device/device_memory.h"

namespace weft {

class CudaBlas;

// What the hardware is.
struct CudaProperties {
  int ordinal = 0;  // among the GPUs that the process sees
  std::string model;
  int compute_major = 0;  // compute capability 9.0: 9 and 0
  int compute_minor = 0;
  int multiprocessors = 0;
  int64_t memory = 0;  // bytes
};

// Thread-safe. Buffers may outlive it, which keep their memory; nothing else
// that it gave out does. The destructor returns when all that was launched has
// ended, and each `done` has been called; in a `done`, where the last of a
// session may go, it leaves that to another thread of the scheduler.
class CudaDevice : public Device, public HasDeviceMemory {
 public:
  ~CudaDevice() override;

  DeviceContext* context() const override;
  DeviceMemory memory() const override;
  int64_t AskFreeMemory() const override;

  // The compute stream, for launches by the calling thread: it makes this the
  // thread's device, so ask for it right before them.
  cudaStream_t stream() const;
  // Products of matrices on that stream.
  CudaBlas& blas() const;

  const CudaProperties& properties() const;

 private:
  friend class CudaDeviceMaker;
  class State;
  CudaDevice(DeviceAttributes attributes, std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

struct CudaDeviceOptions {
  int count = -1;  // of the first GPUs that are seen; -1: all
  // The share of a GPU's memory that its device may take; 0: nearly all that
  // is free when it starts.
  double memory_fraction = 0;
  // Takes memory piece by piece as it is needed, and not all at the start.
  bool allow_growth = true;
  // Takes and gives back memory for each buffer alone, which is slow, so that
  // compute-sanitizer sees what goes beyond one. Needs allow_growth.
  bool exact_memory = false;
};

// GPUs that the process sees (CUDA_VISIBLE_DEVICES has its say).
// FAILED_PRECONDITION with the reason where there can be none: built without
// CUDA, no driver, a driver that is too old, or no GPU.
absl::StatusOr<int> CudaDeviceCount();

// "PREFIX/device:GPU:0" and so on. INVALID_ARGUMENT when there are fewer than
// `options.count`, or the fraction is none; FAILED_PRECONDITION as above;
// another code when a GPU cannot be used (another process has it for itself).
// `scheduler` outlives the devices: its threads wait for the GPU, up to three
// for each (Pool::kOwnThread).
absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewCudaDevices(
    absl::string_view task_prefix, const CudaDeviceOptions& options,
    Scheduler& scheduler, Random& random);

// So many bytes of host memory, taken at once, that every GPU copies from and
// to while it does other things; null where they are not to be had. Gives
// nothing beyond; buffers may outlive it.
std::unique_ptr<Allocator> NewCudaHostMemory(size_t bytes);

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_DEVICE_H_
