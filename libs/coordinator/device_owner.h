// Functions that find the task and the job of a device, given its full name.
#ifndef WEFT_LIBS_COORDINATOR_DEVICE_OWNER_H_
#define WEFT_LIBS_COORDINATOR_DEVICE_OWNER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace weft {

// Returns "/job:ps/replica:0/task:0" for
// "/job:ps/replica:0/task:0/device:CPU:0".
inline std::string TaskOfDevice(const std::string& device) {
  return device.substr(0, device.find("/device:"));
}

// Returns the job of the device: "ps" for
// "/job:ps/replica:0/task:0/device:CPU:0". The name of the device's default
// container is the same.
inline std::string JobOfDevice(const std::string& device) {
  absl::string_view job = device;
  if (!absl::ConsumePrefix(&job, "/job:")) return "";
  return std::string(job.substr(0, job.find('/')));
}

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_DEVICE_OWNER_H_
