#include "libs/device/local_devices.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

std::unique_ptr<Device> NewDevice(absl::string_view task_prefix,
                                  absl::string_view type, int index,
                                  absl::string_view description,
                                  Allocator& allocator, Random& random) {
  DeviceAttributes attributes;
  attributes.name = absl::StrCat(task_prefix, "/device:", type, ":", index);
  attributes.device_type = std::string(type);
  attributes.incarnation = random.NextId();
  attributes.physical_description = std::string(description);
  return std::make_unique<Device>(std::move(attributes), allocator);
}

}  // namespace

std::unique_ptr<Device> NewCpuDevice(absl::string_view task_prefix, int index,
                                     Allocator& allocator, Random& random) {
  return NewDevice(task_prefix, "CPU", index, "", allocator, random);
}

std::vector<std::unique_ptr<Device>> NewLocalDevices(
    absl::string_view task_prefix, const LocalDeviceOptions& options,
    Allocator& allocator, Random& random) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < options.cpus; ++i) {
    devices.push_back(NewCpuDevice(task_prefix, i, allocator, random));
  }
  for (int i = 0; i < options.host_gpus; ++i) {
    devices.push_back(NewDevice(task_prefix, "GPU", i,
                                "backed by host memory; for trying placement",
                                allocator, random));
  }
  return devices;
}

}  // namespace weft
