// Resource: something with a name that lives in a container on a device and
// outlives steps: variables, tables, queues, accumulators.
#ifndef WEFT_LIBS_RESOURCE_RESOURCE_H_
#define WEFT_LIBS_RESOURCE_RESOURCE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Held by shared_ptr: a step that uses a resource keeps it alive even when its
// container is reset meanwhile. Thread-safe.
class Resource {
 public:
  virtual ~Resource() = default;
  // "Var", "HashTable", ...: part of its key, with container and name.
  virtual absl::string_view type_name() const = 0;
  // One line for people.
  virtual std::string DebugString() const = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_RESOURCE_H_
