// What clients ask of Files (libs/protocol/files.h) and hear from them, to and
// from messages.
//
// The format: schemas/files.fbs. Threads: functions without state. What is read
// may come from anywhere; errors are as in message_reader.h, and UNIMPLEMENTED
// for an action of a later version.
#ifndef WEFT_LIBS_PROTOCOL_FILE_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_FILE_MESSAGES_H_

#include "absl/status/statusor.h"
#include "libs/bus/message.h"
#include "libs/protocol/files.h"

namespace weft::protocol {

bus::Message WriteFileOperation(const FileRequest& request);
// Paths, sizes and pieces are within their bounds.
absl::StatusOr<FileRequest> ReadFileOperation(bus::Message message);

bus::Message WriteFileAnswer(const FileAnswer& answer);
absl::StatusOr<FileAnswer> ReadFileAnswer(bus::Message message);
// Whether an answer is read within microseconds.
bool IsFileAnswerReadSoon(const bus::Message& message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILE_MESSAGES_H_
