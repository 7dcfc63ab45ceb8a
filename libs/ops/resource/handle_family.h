// HandleFamily adds the ops for one kind of handle. Objects outside tensors
// (queues, tables, stacks, ...) have handles, and TensorFlow 1.x defines the
// ops on them once for each kind of handle, with different names: QueueSize
// takes a reference, QueueSizeV2 a resource. HandleFamily shares their
// definition.
//
// A value; it must not outlive its registry.
#ifndef WEFT_LIBS_OPS_RESOURCE_HANDLE_FAMILY_H_
#define WEFT_LIBS_OPS_RESOURCE_HANDLE_FAMILY_H_

#include <array>

#include "absl/strings/string_view.h"
#include "libs/graph/op_def.h"

namespace weft {

enum class HandleKind {
  kReference,  // to a vector of two strings, container and name; old graphs
  kStrings,    // the value of that vector
  kResource,   // a DT_RESOURCE scalar; ops on these are stateful
};

// The name of an op for each kind of handle; null if there is none.
struct HandleOpNames {
  const char* of_reference = nullptr;
  const char* of_resource = nullptr;
  const char* of_strings = nullptr;  // only for tensor arrays
};

class HandleFamily {
 public:
  HandleFamily(OpRegistry& registry, HandleKind kind)
      : registry_(registry), kind_(kind) {}

  // The two families that most objects have.
  static std::array<HandleFamily, 2> ReferencesAndResources(
      OpRegistry& registry) {
    return {HandleFamily(registry, HandleKind::kReference),
            HandleFamily(registry, HandleKind::kResource)};
  }

  bool is_resource() const { return kind_ == HandleKind::kResource; }

  // Defines an op that creates a handle, its output 0. Sets the shape function;
  // further outputs are scalars.
  OpDefBuilder Maker(const HandleOpNames& names,
                     absl::string_view output = "handle") const;
  // Defines an op that takes a handle, its input 0.
  OpDefBuilder User(const HandleOpNames& names,
                    absl::string_view input = "handle") const;

  void Add(const OpDefBuilder& builder) const { registry_.Add(builder); }

 private:
  const char* NameOf(const HandleOpNames& names) const;

  OpRegistry& registry_;
  const HandleKind kind_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_RESOURCE_HANDLE_FAMILY_H_
