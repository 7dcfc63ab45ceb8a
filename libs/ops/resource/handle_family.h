// The ops of one kind of handle. What lives outside of tensors (a queue, a
// table, a stack, ...) has a handle, and TensorFlow 1.x has the ops on it once
// for each kind of handle, under names of their own: QueueSize takes a
// reference, QueueSizeV2 a resource. A HandleFamily adds the ops of one kind,
// so that what they share is said once.
//
// A value; it may not outlive the registry that it adds to.
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

// What an op is called for each kind of handle; null where there is none.
struct HandleOpNames {
  const char* of_reference = nullptr;
  const char* of_resource = nullptr;
  const char* of_strings = nullptr;  // arrays of tensors alone have these
};

class HandleFamily {
 public:
  HandleFamily(OpRegistry& registry, HandleKind kind)
      : registry_(registry), kind_(kind) {}

  // The two that most have.
  static std::array<HandleFamily, 2> ReferencesAndResources(
      OpRegistry& registry) {
    return {HandleFamily(registry, HandleKind::kReference),
            HandleFamily(registry, HandleKind::kResource)};
  }

  bool is_resource() const { return kind_ == HandleKind::kResource; }

  // An op that makes a handle, its output 0. The shape function is there;
  // further outputs are scalars.
  OpDefBuilder Maker(const HandleOpNames& names,
                     absl::string_view output = "handle") const;
  // An op that takes one, its input 0.
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
