// The devices of a task that work in host memory: CPUs, and host GPUs,
// which have the type GPU, so that placement can be tested without the
// hardware; kernels/host_gpu_kernels.h provides their kernels.
#ifndef WEFT_LIBS_DEVICE_LOCAL_DEVICES_H_
#define WEFT_LIBS_DEVICE_LOCAL_DEVICES_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/random.h"
#include "libs/device/device.h"

namespace weft {

struct LocalDeviceOptions {
  int cpus = 1;
  int host_gpus = 0;
};

// CPUs, then GPUs, named "PREFIX/device:CPU:0" and so on; `task_prefix` is
// "/job:localhost/replica:0/task:0". `allocator` must outlive the devices.
std::vector<std::unique_ptr<Device>> NewLocalDevices(
    absl::string_view task_prefix, const LocalDeviceOptions& options,
    Allocator& allocator, Random& random);

std::unique_ptr<Device> NewCpuDevice(absl::string_view task_prefix, int index,
                                     Allocator& allocator, Random& random);

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_LOCAL_DEVICES_H_
