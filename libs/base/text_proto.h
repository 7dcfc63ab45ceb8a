// ParseTextProto: a protobuf message from protobuf's text format, with the
// place of the first mistake.
#ifndef WEFT_LIBS_BASE_TEXT_PROTO_H_
#define WEFT_LIBS_BASE_TEXT_PROTO_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace weft {

struct TextProtoOptions {
  // As in the binary form; else they are mistakes.
  bool allow_unknown_fields = false;
};

// INVALID_ARGUMENT "line 1, column 2: ..." for a text that is none, is nested
// more than 100 deep (as binary messages may not be) or reaches 2 GiB.
absl::Status ParseTextProto(absl::string_view text,
                            google::protobuf::Message& message,
                            const TextProtoOptions& options = {});

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TEXT_PROTO_H_
