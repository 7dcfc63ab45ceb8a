// The ops of one kind of handle. What lives outside of tensors (a queue, a
// table, a stack, ...) has a handle, and TensorFlow 1.x has the ops on it once
// for each kind of handle, under names that differ by a version: FIFOQueue and
// QueueSize take references, FIFOQueueV2 and QueueSizeV2 resources. A
// HandleFamily adds the ops of one kind, so that what they share is said once.
//
// A value; it may not outlive the registry that it adds to.
#ifndef WEFT_LIBS_OPS_HANDLE_FAMILY_H_
#define WEFT_LIBS_OPS_HANDLE_FAMILY_H_

#include <array>

#include "absl/strings/string_view.h"
#include "libs/graph/op_def.h"

namespace weft {

enum class HandleKind {
  kReference,  // to a vector of two strings, container and name; old graphs
  kStrings,    // the value of that vector
  kResource,   // a DT_RESOURCE scalar; ops on these are stateful
};

class HandleFamily {
 public:
  // `version` makes the name of an op of its plain name, $0: "$0V2".
  HandleFamily(OpRegistry& registry, HandleKind kind, const char* version)
      : registry_(registry), kind_(kind), version_(version) {}

  // The two that most have: of references with plain names, and of resources
  // with names in V2.
  static std::array<HandleFamily, 2> ReferencesAndResources(
      OpRegistry& registry) {
    return {HandleFamily(registry, HandleKind::kReference, "$0"),
            HandleFamily(registry, HandleKind::kResource, "$0V2")};
  }

  bool is_resource() const { return kind_ == HandleKind::kResource; }

  // An op that makes a handle, its output 0. The shape function is there;
  // further outputs are scalars.
  OpDefBuilder Maker(absl::string_view name,
                     absl::string_view output = "handle") const;
  // An op that takes one, its input 0.
  OpDefBuilder User(absl::string_view name,
                    absl::string_view input = "handle") const;

  void Add(const OpDefBuilder& builder) const { registry_.Add(builder); }

 private:
  OpRegistry& registry_;
  const HandleKind kind_;
  const char* const version_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_HANDLE_FAMILY_H_
