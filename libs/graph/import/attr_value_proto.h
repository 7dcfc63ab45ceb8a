// Conversion of AttrValue to and from TensorFlow's message of the same name.
// Only for .cc files that include protobuf messages. Functions without state.
#ifndef WEFT_LIBS_GRAPH_IMPORT_ATTR_VALUE_PROTO_H_
#define WEFT_LIBS_GRAPH_IMPORT_ATTR_VALUE_PROTO_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/attr_value.h"

namespace weft {

namespace tf {
class AttrValue;
}  // namespace tf

// Converts a message to an AttrValue. `type` is the attr's type in its OpDef
// ("list(int)"), or empty if unknown; it determines the kind of an empty list.
// INVALID_ARGUMENT for values that cannot be read, and for placeholders unless
// the node is `in_function`.
absl::StatusOr<AttrValue> AttrValueFromProto(const tf::AttrValue& proto,
                                             absl::string_view type,
                                             bool in_function = false);

// Converts `value` to a message and overwrites `proto` with it.
void AttrValueToProto(const AttrValue& value, tf::AttrValue* proto);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_ATTR_VALUE_PROTO_H_
