// IsOnlyDeclared distinguishes existing resources in a ClusterStatus from those
// that are only declared.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_ONLY_DECLARED_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_ONLY_DECLARED_H_

#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

// Whether open sessions declare the resource and its device has not created it
// yet: then it has neither memory nor a description. An existing one always has
// a description (Resource::DebugString).
inline bool IsOnlyDeclared(const PlacedResource& resource) {
  return resource.num_bytes == 0 && resource.description.empty();
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_ONLY_DECLARED_H_
