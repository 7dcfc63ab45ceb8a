// Device is a place where kernels run, with a name, type and memory.
#ifndef WEFT_LIBS_DEVICE_DEVICE_H_
#define WEFT_LIBS_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/device/device_context.h"
#include "libs/tensor/buffer.h"

namespace weft {

struct DeviceAttributes {
  std::string name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  std::string device_type;   // "CPU", "GPU"
  int64_t memory_limit = 0;  // bytes; 0: unknown
  uint64_t incarnation = 0;  // new at each start of the process; never 0
  std::string physical_description;
};

// Thread-safe; lives as long as its task.
class Device {
 public:
  Device(DeviceAttributes attributes, Allocator& allocator)
      : attributes_(std::move(attributes)), allocator_(allocator) {}
  virtual ~Device() = default;

  const DeviceAttributes& attributes() const { return attributes_; }
  const std::string& name() const { return attributes_.name; }
  const std::string& device_type() const { return attributes_.device_type; }
  // The allocator of the memory that kernels work in.
  Allocator& allocator() const { return allocator_; }
  // Null if kernels work in host memory and have finished when they return.
  virtual DeviceContext* context() const { return nullptr; }

 private:
  const DeviceAttributes attributes_;
  Allocator& allocator_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_DEVICE_H_
