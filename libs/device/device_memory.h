// DeviceMemory is the memory usage of a device that can report it.
#ifndef WEFT_LIBS_DEVICE_DEVICE_MEMORY_H_
#define WEFT_LIBS_DEVICE_DEVICE_MEMORY_H_

#include <cstdint>

#include "libs/device/device.h"

namespace weft {

// In bytes, at the time of the call. Another process may use memory of the same
// hardware.
struct DeviceMemory {
  int64_t total = 0;     // of the hardware
  int64_t in_use = 0;    // by buffers of this device
  int64_t reserved = 0;  // taken from the hardware for them
  int64_t peak_in_use = 0;
  int64_t limit = 0;  // of `reserved`; 0: the device cannot report it
};

// Implemented by a Device that can report its memory. Thread-safe.
class HasDeviceMemory {
 public:
  virtual ~HasDeviceMemory() = default;
  // Does not call the hardware.
  virtual DeviceMemory memory() const = 0;
  // Unused bytes of the hardware; 0: unknown. May wait for concurrent
  // allocations.
  virtual int64_t AskFreeMemory() const { return 0; }
};

// All 0 for a device that cannot report it, such as a CPU.
inline DeviceMemory MemoryOf(const Device& device) {
  const auto* own = dynamic_cast<const HasDeviceMemory*>(&device);
  return own == nullptr ? DeviceMemory{} : own->memory();
}
inline int64_t FreeMemoryOf(const Device& device) {
  const auto* own = dynamic_cast<const HasDeviceMemory*>(&device);
  return own == nullptr ? 0 : own->AskFreeMemory();
}

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_DEVICE_MEMORY_H_
