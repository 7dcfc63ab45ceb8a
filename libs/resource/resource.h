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

// A description of a resource that can be read without using it.
struct ResourceInfo {
  DataType dtype = DT_INVALID;  // DT_INVALID if it has none
  PartialShape shape;           // as declared; of unknown rank if it has none
  int64_t num_bytes = 0;        // memory it holds now
};

// Must be held by shared_ptr: a step that uses a resource keeps it alive even
// if its container is reset meanwhile. Thread-safe.
class Resource {
 public:
  virtual ~Resource() = default;
  // "Var", "HashTable", ...: identifies the resource together with its
  // container and name.
  virtual absl::string_view type_name() const = 0;
  // A one-line description for people.
  virtual std::string DebugString() const = 0;
  virtual ResourceInfo info() const { return {}; }
  // Whether the resource holds kernels of the session that created it, as an
  // iterator holds the functions of its dataset. A kernel must not keep such a
  // resource after the end of its session: each would keep the other alive.
  virtual bool HoldsKernels() const { return false; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_RESOURCE_H_
