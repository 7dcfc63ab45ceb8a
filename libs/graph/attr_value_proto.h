// AttrValue to and from TensorFlow's message of that name, for .cc files that
// hold protobuf messages. Functions without state.
#ifndef WEFT_LIBS_GRAPH_ATTR_VALUE_PROTO_H_
#define WEFT_LIBS_GRAPH_ATTR_VALUE_PROTO_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/attr_value.h"

namespace weft {

namespace tf {
class AttrValue;
}  // namespace tf

// `type` is the attr's type in its OpDef ("list(int)"), or empty when unknown:
// it gives an empty list its kind. INVALID_ARGUMENT for values that can't be
// read, and for placeholders unless it is a node `in_function` that has them.
absl::StatusOr<AttrValue> AttrValueFromProto(const tf::AttrValue& proto,
                                             absl::string_view type,
                                             bool in_function = false);

// Overwrites `proto`.
void AttrValueToProto(const AttrValue& value, tf::AttrValue* proto);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_ATTR_VALUE_PROTO_H_
