// Tests that the request and the reply of the role Files are decoded as they
// were encoded, and that a damaged one is refused or at least harmless.
#include "libs/protocol/files/file_messages.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/codec/messages_inl.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/damage.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

FileRequest SampleRequest(size_t num_bytes) {
  FileRequest request;
  request.action = FileAction::kAppend;
  request.path = "/ckpt/model.index";
  request.to = "/ckpt/other";
  request.file = 0x8000000000000007;
  request.offset = 3 << 20;
  request.bytes = bus::Blob::FromString(std::string(num_bytes, 'b'));
  return request;
}

TEST(FileMessagesTest, RequestsRoundTrip) {
  for (const size_t num_bytes : {size_t{0}, size_t{10}, kMaxFileChunkBytes}) {
    const FileRequest request = SampleRequest(num_bytes);
    ASSERT_OK_AND_ASSIGN(const FileRequest read,
                         ReadFileOperation(WriteFileOperation(request)));
    EXPECT_EQ(read.action, request.action);
    EXPECT_EQ(read.path, request.path);
    EXPECT_EQ(read.to, request.to);
    EXPECT_EQ(read.file, request.file);
    EXPECT_EQ(read.offset, request.offset);
    EXPECT_EQ(read.bytes.view(), request.bytes.view());
  }
  FileRequest some;
  some.action = FileAction::kRead;
  some.size = 1000;
  ASSERT_OK_AND_ASSIGN(const FileRequest read,
                       ReadFileOperation(WriteFileOperation(some)));
  EXPECT_EQ(read.action, FileAction::kRead);
  EXPECT_EQ(read.size, 1000u);
}

TEST(FileMessagesTest, AnswersRoundTrip) {
  FileAnswer answer;
  answer.file = 7;
  answer.size = uint64_t{1} << 40;
  answer.is_directory = true;
  answer.names = {"a", "", "model.index"};
  ASSERT_OK_AND_ASSIGN(const FileAnswer read,
                       ReadFileAnswer(WriteFileAnswer(answer)));
  EXPECT_EQ(read.file, answer.file);
  EXPECT_EQ(read.size, answer.size);
  EXPECT_TRUE(read.is_directory);
  EXPECT_EQ(read.names, answer.names);
  FileAnswer bytes;
  bytes.bytes = bus::Blob::FromString(std::string(5000, 'b'));
  ASSERT_OK_AND_ASSIGN(const FileAnswer piece,
                       ReadFileAnswer(WriteFileAnswer(bytes)));
  EXPECT_EQ(piece.bytes.view(), bytes.bytes.view());
  EXPECT_TRUE(IsFileAnswerReadSoon(WriteFileAnswer(answer)));
  answer.names.assign(10000, "model.index");
  EXPECT_FALSE(IsFileAnswerReadSoon(WriteFileAnswer(answer)));
}

TEST(FileMessagesTest, TooLargeRequestsAreRefused) {
  FileRequest path = SampleRequest(0);
  path.path.assign(kMaxFilePath + 1, 'p');
  EXPECT_THAT(ReadFileOperation(WriteFileOperation(path)),
              StatusIs(kInvalid, "a path of 4097 bytes"));
  FileRequest to = SampleRequest(0);
  to.to.assign(kMaxFilePath + 1, 'p');
  EXPECT_THAT(ReadFileOperation(WriteFileOperation(to)), StatusIs(kInvalid));
  EXPECT_THAT(ReadFileOperation(
                  WriteFileOperation(SampleRequest(kMaxFileChunkBytes + 1))),
              StatusIs(kInvalid, "a piece of 1048577 bytes"));
  FileRequest size;
  size.action = FileAction::kRead;
  size.size = kMaxFileChunkBytes + 1;
  EXPECT_THAT(ReadFileOperation(WriteFileOperation(size)),
              StatusIs(kInvalid, "a read of 1048577 bytes"));
  size.size = UINT32_MAX;
  EXPECT_THAT(ReadFileOperation(WriteFileOperation(size)), StatusIs(kInvalid));
}

// Such bytes would count as written, but are not.
TEST(FileMessagesTest, BytesForNonWritingActionsAreRefused) {
  FileRequest request = SampleRequest(10);
  for (const FileAction action :
       {FileAction::kSync, FileAction::kFlush, FileAction::kClose,
        FileAction::kRead, FileAction::kStat}) {
    request.action = action;
    EXPECT_THAT(ReadFileOperation(WriteFileOperation(request)),
                StatusIs(kInvalid, "bytes for an action that writes none"));
  }
}

TEST(FileMessagesTest, ImpossibleFileSizesAreRefused) {
  FileAnswer answer;
  answer.size = INT64_MAX;
  EXPECT_OK(ReadFileAnswer(WriteFileAnswer(answer)));
  answer.size = UINT64_MAX;
  EXPECT_THAT(ReadFileAnswer(WriteFileAnswer(answer)), StatusIs(kInvalid));
}

TEST(FileMessagesTest, ActionsOfALaterVersionAreUnimplemented) {
  const int last = static_cast<int>(schemas::FileAction::MAX);
  for (const int action : {-1, last + 1, 100, 127}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = schemas::CreateFileOperation(
        builder, static_cast<schemas::FileAction>(action));
    EXPECT_THAT(ReadFileOperation(Finish(body, builder)),
                StatusIs(absl::StatusCode::kUnimplemented))
        << action;
  }
}

// A piece that refers to a large body would keep all of it.
TEST(FileMessagesTest, PieceKeepsOnlyItsOwnBytes) {
  const bus::Message message = WriteFileOperation(SampleRequest(100));
  ASSERT_TRUE(message.attachments.empty());
  ASSERT_OK_AND_ASSIGN(const FileRequest read, ReadFileOperation(message));
  EXPECT_NE(read.bytes.owner(), message.body.owner());
}

TEST(FileMessagesTest, DamagedBytesAreRefusedOrHarmless) {
  ReadDamaged(WriteFileOperation(SampleRequest(2000)),
              [](bus::Message message) {
                return ReadFileOperation(std::move(message)).ok();
              });
  FileAnswer answer;
  answer.file = 7;
  answer.names = {"a", "b"};
  answer.bytes = bus::Blob::FromString(std::string(2000, 'b'));
  ReadDamaged(WriteFileAnswer(answer), [](bus::Message message) {
    return ReadFileAnswer(std::move(message)).ok();
  });
}

}  // namespace
}  // namespace weft::protocol
