#include "libs/protocol/files/file_messages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "libs/protocol/codec/messages_inl.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static_assert(static_cast<int>(FileAction::kSyncDirectory) ==
              static_cast<int>(schemas::FileAction::SyncDirectory));
static_assert(static_cast<int>(FileAction::kExpectNoSaves) ==
              static_cast<int>(schemas::FileAction::ExpectNoSaves));
static_assert(static_cast<int>(FileAction::kAppend) ==
              static_cast<int>(schemas::FileAction::Append));
static_assert(static_cast<int>(FileAction::kRead) ==
              static_cast<int>(schemas::FileAction::Read));

// A body of this size is parsed and copied within microseconds.
constexpr size_t kBodyReadSoon = size_t{32} << 10;

Offset<flatbuffers::String> WritePath(const std::string& path,
                                      FlatBufferBuilder& builder) {
  if (path.empty()) return 0;
  return builder.CreateString(path);
}

absl::StatusOr<std::string> ReadPath(const flatbuffers::String* path,
                                     MessageReader& reader) {
  if (path != nullptr && path->size() > kMaxFilePath) {
    return DamagedMessage(absl::StrCat("a path of ", path->size(),
                                       " bytes, of ", kMaxFilePath,
                                       " that it may have"));
  }
  return reader.ReadString(path);
}

Offset<schemas::Bytes> WritePiece(const bus::Blob& bytes,
                                  FlatBufferBuilder& builder,
                                  Attachments& attachments) {
  if (bytes.size() == 0) return 0;
  return WriteBytes(bytes, builder, attachments);
}

// Bytes in the body are copied: the piece keeps only its own bytes.
absl::StatusOr<bus::Blob> ReadPiece(const schemas::Bytes* bytes,
                                    MessageReader& reader) {
  ASSIGN_OR_RETURN(bus::Blob piece, reader.ReadBytes(bytes));
  if (piece.size() > kMaxFileChunkBytes) {
    return DamagedMessage(absl::StrCat("a piece of ", piece.size(),
                                       " bytes, of ", kMaxFileChunkBytes,
                                       " that it may have"));
  }
  if (bytes == nullptr || bytes->attachment() != 0) return piece;
  return bus::Blob::FromString(std::string(piece.view()));
}

// The announced size must equal the received size.
absl::Status CheckSize(uint64_t said, const bus::Blob& piece) {
  if (said == piece.size()) return absl::OkStatus();
  return DamagedMessage(absl::StrCat("a piece of ", piece.size(),
                                     " bytes, which should have ", said));
}

absl::StatusOr<FileAction> ReadAction(schemas::FileAction action) {
  if (action < schemas::FileAction::MIN || action > schemas::FileAction::MAX) {
    return absl::UnimplementedError(absl::StrCat("the file action has number ",
                                                 static_cast<int>(action),
                                                 ", which is newer than this "
                                                 "task"));
  }
  return static_cast<FileAction>(action);
}

}  // namespace

bus::Message WriteFileOperation(const FileRequest& request) {
  FlatBufferBuilder builder(256);
  Attachments attachments;
  const auto path = WritePath(request.path, builder);
  const auto to = WritePath(request.to, builder);
  const auto bytes = WritePiece(request.bytes, builder, attachments);
  const auto size = request.action == FileAction::kAppend
                        ? static_cast<uint32_t>(request.bytes.size())
                        : request.size;
  return Finish(schemas::CreateFileOperation(
                    builder, static_cast<schemas::FileAction>(request.action),
                    path, to, request.file, request.offset, size, bytes),
                builder, std::move(attachments));
}

absl::StatusOr<FileRequest> ReadFileOperation(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::FileOperation>(std::move(message)));
  const auto& body = reader.body<schemas::FileOperation>();
  FileRequest request;
  ASSIGN_OR_RETURN(request.action, ReadAction(body.action()));
  ASSIGN_OR_RETURN(request.path, ReadPath(body.path(), reader));
  ASSIGN_OR_RETURN(request.to, ReadPath(body.to(), reader));
  request.file = body.file();
  request.offset = body.offset();
  ASSIGN_OR_RETURN(request.bytes, ReadPiece(body.bytes(), reader));
  if (request.action == FileAction::kAppend) {
    RETURN_IF_ERROR(CheckSize(body.size(), request.bytes));
    return request;
  }
  if (request.bytes.size() > 0) {
    return DamagedMessage("bytes for an action that writes none");
  }
  if (body.size() > kMaxFileChunkBytes) {
    return DamagedMessage(absl::StrCat("a read of ", body.size(), " bytes, of ",
                                       kMaxFileChunkBytes,
                                       " that it may ask for"));
  }
  request.size = body.size();
  return request;
}

bus::Message WriteFileAnswer(const FileAnswer& answer) {
  FlatBufferBuilder builder(256);
  Attachments attachments;
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> names = 0;
  if (!answer.names.empty()) {
    names = builder.CreateVectorOfStrings(answer.names);
  }
  const auto bytes = WritePiece(answer.bytes, builder, attachments);
  return Finish(schemas::CreateFileOperationReply(
                    builder, answer.file,
                    answer.bytes.size() > 0 ? answer.bytes.size() : answer.size,
                    answer.is_directory, names, bytes),
                builder, std::move(attachments));
}

absl::StatusOr<FileAnswer> ReadFileAnswer(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::FileOperationReply>(std::move(message)));
  const auto& body = reader.body<schemas::FileOperationReply>();
  FileAnswer answer;
  answer.file = body.file();
  answer.is_directory = body.is_directory();
  ASSIGN_OR_RETURN(answer.names, reader.ReadStrings(body.names()));
  ASSIGN_OR_RETURN(answer.bytes, ReadPiece(body.bytes(), reader));
  if (body.bytes() != nullptr) {
    RETURN_IF_ERROR(CheckSize(body.size(), answer.bytes));
  } else if (body.size() > INT64_MAX) {
    return DamagedMessage(absl::StrCat("a file of ", body.size(), " bytes"));
  } else {
    answer.size = body.size();
  }
  return answer;
}

bool IsFileAnswerReadSoon(const bus::Message& message) {
  return message.body.size() <= kBodyReadSoon;
}

}  // namespace weft::protocol
