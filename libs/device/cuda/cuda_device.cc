#include "libs/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/device/cuda/cuda_memory.h"
#include "libs/device/cuda/cuda_status.h"
#include "libs/device/cuda/cuda_streams.h"

namespace weft {
namespace {

// Formats CUDA's number 13000 as "13.0".
std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// Explains why CUDA finds no GPU.
absl::Status NoGpu(cudaError_t error) {
  if (error == cudaErrorNoDevice) {
    return absl::FailedPreconditionError(
        "no GPU: the driver sees none; see nvidia-smi, and "
        "CUDA_VISIBLE_DEVICES, which may hide it");
  }
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) {
    return absl::FailedPreconditionError(
        "no GPU: there is no NVIDIA driver (libcuda.so.1) on this machine");
  }
  if (error == cudaErrorInsufficientDriver) {
    return absl::FailedPreconditionError(
        absl::StrCat("no GPU: the driver is for CUDA ", VersionText(driver),
                     ", and this program needs one for ",
                     VersionText(CUDART_VERSION), "; install a newer driver"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no GPU: ", cudaGetErrorName(error), ": ", cudaGetErrorString(error)));
}

absl::StatusOr<CudaProperties> AskProperties(int ordinal) {
  cudaDeviceProp found;
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&found, ordinal),
                             "asking for a GPU's properties"));
  CudaProperties properties;
  properties.ordinal = ordinal;
  properties.model = found.name;
  properties.compute_major = found.major;
  properties.compute_minor = found.minor;
  properties.multiprocessors = found.multiProcessorCount;
  properties.memory = static_cast<int64_t>(found.totalGlobalMem);
  return properties;
}

// In TensorFlow's format.
std::string Describe(const CudaProperties& properties) {
  char bus[32] = "";
  if (cudaDeviceGetPCIBusId(bus, sizeof(bus), properties.ordinal) !=
      cudaSuccess) {
    cudaGetLastError();
  }
  return absl::StrCat("device: ", properties.ordinal,
                      ", name: ", properties.model, ", pci bus id: ", bus,
                      ", compute capability: ", properties.compute_major, ".",
                      properties.compute_minor);
}

absl::Status CheckOptions(const CudaDeviceOptions& options, int seen) {
  if (!(options.memory_fraction >= 0 && options.memory_fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a GPU's memory fraction must lie in [0, 1], and is ",
                     options.memory_fraction));
  }
  if (options.count <= seen) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      options.count, " GPUs are wanted, and ", seen, seen == 1 ? " is" : " are",
      " seen; ask for fewer, or see CUDA_VISIBLE_DEVICES"));
}

}  // namespace

// In the order of construction; streams must end before memory is freed.
class CudaDevice::State {
 public:
  State(CudaProperties p, std::unique_ptr<RegionPool> m,
        std::unique_ptr<Allocator> h)
      : properties(std::move(p)), memory(std::move(m)), pinned(std::move(h)) {}

  const CudaProperties properties;
  const std::unique_ptr<RegionPool> memory;
  const std::unique_ptr<Allocator> pinned;
  std::unique_ptr<CudaBlas> blas;
  std::unique_ptr<CudaStreams> streams;

  void End() {
    streams->Drain();
    blas.reset();  // before its stream
  }
};

CudaDevice::CudaDevice(DeviceAttributes attributes,
                       std::shared_ptr<State> state)
    : Device(std::move(attributes), *state->memory), state_(std::move(state)) {}

CudaDevice::~CudaDevice() {
  if (state_->streams->IsCalledBack()) {
    state_->streams->scheduler().Schedule(Pool::kUnbounded,
                                          [state = state_] { state->End(); });
  } else {
    state_->End();
  }
}

DeviceContext* CudaDevice::context() const { return state_->streams.get(); }

cudaStream_t CudaDevice::stream() const {
  state_->streams->Enter();
  return state_->streams->compute();
}

CudaBlas& CudaDevice::blas() const { return *state_->blas; }

const CudaProperties& CudaDevice::properties() const {
  return state_->properties;
}

DeviceMemory CudaDevice::memory() const {
  DeviceMemory memory;
  memory.total = state_->properties.memory;
  const RegionPoolStats stats = state_->memory->stats();
  memory.in_use = stats.in_use;
  memory.reserved = stats.reserved;
  memory.peak_in_use = stats.peak_in_use;
  memory.limit = stats.limit;
  return memory;
}

int64_t CudaDevice::AskFreeMemory() const {
  const auto now = AskCudaMemory(state_->properties.ordinal);
  return now.ok() ? now->free : 0;
}

// Makes the devices of a task, one by one.
class CudaDeviceMaker {
 public:
  CudaDeviceMaker(absl::string_view task_prefix,
                  const CudaDeviceOptions& options, Scheduler& scheduler,
                  Random& random)
      : task_prefix_(task_prefix),
        options_(options),
        scheduler_(scheduler),
        random_(random) {}

  absl::StatusOr<std::unique_ptr<Device>> Make(int ordinal) {
    DeviceAttributes attributes;
    attributes.name = absl::StrCat(task_prefix_, "/device:GPU:", ordinal);
    attributes.device_type = "GPU";
    attributes.incarnation = random_.NextId();
    auto state = NewState(ordinal, attributes);
    if (!state.ok()) {
      return absl::Status(state.status().code(),
                          absl::StrCat(attributes.name, " cannot be used: ",
                                       state.status().message()));
    }
    return absl::WrapUnique<Device>(
        new CudaDevice(std::move(attributes), *std::move(state)));
  }

 private:
  absl::StatusOr<std::unique_ptr<CudaDevice::State>> NewState(
      int ordinal, DeviceAttributes& attributes) {
    ASSIGN_OR_RETURN(CudaProperties properties, AskProperties(ordinal));
    ASSIGN_OR_RETURN(const CudaFreeMemory memory, AskCudaMemory(ordinal));
    attributes.memory_limit = CudaMemoryLimit(memory, options_.memory_fraction);
    attributes.physical_description = Describe(properties);
    const std::shared_ptr<LaunchClock> clock = NewLaunchClock();
    auto state = std::make_unique<CudaDevice::State>(
        std::move(properties),
        NewCudaPool(ordinal, attributes.memory_limit, options_.exact_memory,
                    clock),
        NewPinnedPool(ordinal));
    RETURN_IF_ERROR(Reserve(*state->memory, attributes.memory_limit));
    ASSIGN_OR_RETURN(state->streams,
                     CudaStreams::Create(ordinal, attributes.name, clock,
                                         *state->pinned, scheduler_));
    state->blas = std::make_unique<CudaBlas>(state->streams->compute());
    return state;
  }

  absl::Status Reserve(RegionPool& pool, int64_t bytes) {
    if (options_.allow_growth || pool.Reserve(static_cast<size_t>(bytes))) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        bytes,
        " bytes of its memory are to be reserved, and are not free; "
        "set a smaller memory fraction, or allow_growth"));
  }

  const absl::string_view task_prefix_;
  const CudaDeviceOptions options_;
  Scheduler& scheduler_;
  Random& random_;
};

absl::StatusOr<int> CudaDeviceCount() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  return NoGpu(error == cudaSuccess ? cudaErrorNoDevice : error);
}

absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewCudaDevices(
    absl::string_view task_prefix, const CudaDeviceOptions& options,
    Scheduler& scheduler, Random& random) {
  std::vector<std::unique_ptr<Device>> devices;
  if (options.count == 0) return devices;
  ASSIGN_OR_RETURN(const int seen, CudaDeviceCount());
  RETURN_IF_ERROR(CheckOptions(options, seen));
  CudaDeviceMaker maker(task_prefix, options, scheduler, random);
  const int count = options.count < 0 ? seen : options.count;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, maker.Make(ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::unique_ptr<Allocator> NewCudaHostMemory(size_t bytes) {
  RegionPoolOptions options = PinnedMemoryOptions(/*ordinal=*/0);
  options.limit = bytes;
  auto pool = std::make_unique<RegionPool>(std::move(options));
  if (!pool->Reserve(bytes)) return nullptr;
  return pool;
}

}  // namespace weft
