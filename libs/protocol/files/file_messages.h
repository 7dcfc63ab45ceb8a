// The messages between clients and Files (libs/protocol/files/files.h).
//
// schemas/files.fbs defines the format. Threads: functions without state. Input
// is untrusted; errors are as in message_reader.h, and UNIMPLEMENTED for an
// action of a later version.
#ifndef WEFT_LIBS_PROTOCOL_FILES_FILE_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_FILES_FILE_MESSAGES_H_

#include "absl/status/statusor.h"
#include "libs/bus/message.h"
#include "libs/protocol/files/files.h"

namespace weft::protocol {

bus::Message WriteFileOperation(const FileRequest& request);
// Reads the request. Checks that paths, sizes and pieces are within their
// limits.
absl::StatusOr<FileRequest> ReadFileOperation(bus::Message message);

bus::Message WriteFileAnswer(const FileAnswer& answer);
absl::StatusOr<FileAnswer> ReadFileAnswer(bus::Message message);
// Returns whether an answer can be read within microseconds.
bool IsFileAnswerReadSoon(const bus::Message& message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_FILE_MESSAGES_H_
