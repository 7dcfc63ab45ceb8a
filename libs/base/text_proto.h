// ParseTextProto parses a message in protobuf's text format and reports the
// position of the first error.
#ifndef WEFT_LIBS_BASE_TEXT_PROTO_H_
#define WEFT_LIBS_BASE_TEXT_PROTO_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace weft {

struct TextProtoOptions {
  // Whether unknown fields are ignored, as in the binary format. If not, they
  // are errors.
  bool allow_unknown_fields = false;
};

// Parses `text` into `message`. Returns INVALID_ARGUMENT "line 1, column 2:
// ..." for a text that does not parse, is nested more than 100 deep (the limit
// of binary messages), or reaches 2 GiB.
absl::Status ParseTextProto(absl::string_view text,
                            google::protobuf::Message& message,
                            const TextProtoOptions& options = {});

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TEXT_PROTO_H_
