// Resource: something with a name that lives in a container on a device and
// outlives steps: variables, tables, queues, accumulators.
#ifndef WEFT_LIBS_RESOURCE_RESOURCE_H_
#define WEFT_LIBS_RESOURCE_RESOURCE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

// What others want to know of a resource without touching it.
struct ResourceInfo {
  DataType dtype = DT_INVALID;  // DT_INVALID: it has none
  PartialShape shape;           // as declared; of unknown rank: it has none
  int64_t num_bytes = 0;        // memory it holds now
};

// Held by shared_ptr: a step that uses a resource keeps it alive even when its
// container is reset meanwhile. Thread-safe.
class Resource {
 public:
  virtual ~Resource() = default;
  // "Var", "HashTable", ...: part of its key, with container and name.
  virtual absl::string_view type_name() const = 0;
  // One line for people.
  virtual std::string DebugString() const = 0;
  virtual ResourceInfo info() const { return {}; }
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_RESOURCE_H_
