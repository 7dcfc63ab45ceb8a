// Resource is the base class of named objects that live in a container on a
// device and outlive steps: variables, tables, queues, accumulators.
#ifndef WEFT_LIBS_RESOURCE_RESOURCE_H_
#define WEFT_LIBS_RESOURCE_RESOURCE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

// ResourceInfo describes a resource and can be read without using the resource.
struct ResourceInfo {
  DataType dtype = DT_INVALID;  // DT_INVALID if it has no type
  PartialShape shape;           // as declared, or of unknown rank
  int64_t num_bytes = 0;        // memory that it holds now
};

// A Resource must be owned by a shared_ptr: a step that uses a resource keeps
// it alive even if its container is reset meanwhile. Resource is thread-safe.
class Resource {
 public:
  virtual ~Resource() = default;
  // Returns the name of the resource's type, such as "Var" or "HashTable".
  // Type, container and name together identify a resource.
  virtual absl::string_view type_name() const = 0;
  // Returns a one-line description for people.
  virtual std::string DebugString() const = 0;
  virtual ResourceInfo info() const { return {}; }
  // Whether the resource holds kernels of the session that created it, as an
  // iterator holds the functions of its dataset. A kernel must not keep such a
  // resource after the end of its session: each would keep the other alive.
  virtual bool HoldsKernels() const { return false; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_RESOURCE_H_
