// ResourceHandle is the value of a DT_RESOURCE tensor: the device and the name
// of a resource. It is a name, not a pointer: it may be sent between tasks.
#ifndef WEFT_LIBS_TENSOR_RESOURCE_HANDLE_H_
#define WEFT_LIBS_TENSOR_RESOURCE_HANDLE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

struct ResourceHandle {
  std::string device;     // full name of the device that holds the resource
  std::string container;  // never empty in a handle created by a kernel
  std::string name;
  std::string type_name;  // "Var", "HashTable", ...
  // The contents of the resource, if known to its creator.
  DataType dtype = DT_INVALID;
  PartialShape shape;

  friend bool operator==(const ResourceHandle&,
                         const ResourceHandle&) = default;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_RESOURCE_HANDLE_H_
