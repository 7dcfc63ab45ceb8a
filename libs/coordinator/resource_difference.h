// ResourceDifference is a conflict between a resource that a session wants to
// share and the same resource elsewhere in the cluster. ToStatus returns its
// error.
//
// Values, not synchronized.
#ifndef WEFT_LIBS_COORDINATOR_RESOURCE_DIFFERENCE_H_
#define WEFT_LIBS_COORDINATOR_RESOURCE_DIFFERENCE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "libs/graph/placement_graph.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

// The properties of a resource in which its declarations must agree.
struct ResourceFacts {
  DataType dtype = DT_INVALID;  // DT_INVALID: unknown
  PartialShape shape;
  std::string definition;  // NamedResource::definition; empty: unknown

  // Returns whether the properties that both sides know are equal.
  bool AgreeWith(const ResourceFacts& other) const;
  // Combines the known properties of both sides. Where they differ, takes those
  // of `other`.
  ResourceFacts MergedWith(const ResourceFacts& other) const;
  friend bool operator==(const ResourceFacts&, const ResourceFacts&) = default;
};

ResourceFacts FactsOf(const NamedResource& resource);

// A resource as declared by a node of a placed graph.
struct NodeResource {
  std::string node;
  NamedResource resource;  // its container is never empty
  std::string device;      // full name
};

struct ResourceDifference {
  NodeResource here;
  std::string here_task;  // task of the session that declares `here`
  std::string there_device;
  ResourceFacts there;
  std::string there_kind;  // Resource::type_name
  // The task of the session that declares `there`; empty: unknown.
  std::string there_task;
  // The session that declares `there`; 0 if no open session declares it.
  uint64_t there_session = 0;
  bool there_is_left() const { return there_session == 0; }
};

// Returns FAILED_PRECONDITION, with the differences side by side, the likely
// causes (disagreement_cause.h), and the remedy. REQUIRES: there is at least
// one difference.
absl::Status ToStatus(absl::Span<const ResourceDifference> differences,
                      absl::Span<const std::string> causes);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_RESOURCE_DIFFERENCE_H_
