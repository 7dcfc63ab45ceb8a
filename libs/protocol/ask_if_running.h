// AskIfRunning adds a question to UNAVAILABLE errors, for the stubs of all
// roles.
#ifndef WEFT_LIBS_PROTOCOL_ASK_IF_RUNNING_H_
#define WEFT_LIBS_PROTOCOL_ASK_IF_RUNNING_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/bus/transport.h"

namespace weft::protocol {

// Returns `unavailable`, with " question" appended if this end made the error:
// "(is the server running?)". A peer that has answered is running.
inline absl::Status AskIfRunning(const absl::Status& unavailable,
                                 absl::string_view question) {
  if (bus::IsAnswer(unavailable)) return bus::WithoutMark(unavailable);
  return Append(unavailable, question);
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_ASK_IF_RUNNING_H_
