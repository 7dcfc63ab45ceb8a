// Tests of a FileServer with requests of correct clients and of hostile ones.
#include "libs/checkpoint_writer/file_server.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using protocol::FileAction;
using protocol::FileAnswer;
using protocol::FileRequest;
using protocol::Files;
using protocol::kMaxFileChunkBytes;
using protocol::kMaxUnansweredChunks;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kTooMuch = absl::StatusCode::kResourceExhausted;

FileRequest NameRequest(FileAction action, std::string path) {
  FileRequest request;
  request.action = action;
  request.path = std::move(path);
  return request;
}

FileRequest PieceAt(uint64_t file, uint64_t offset, std::string bytes) {
  FileRequest request;
  request.action = FileAction::kAppend;
  request.file = file;
  request.offset = offset;
  request.bytes = bus::Blob::FromString(std::move(bytes));
  return request;
}

FileRequest EndAt(FileAction action, uint64_t file, uint64_t offset) {
  FileRequest request;
  request.action = action;
  request.file = file;
  request.offset = offset;
  return request;
}

class FileServerTest : public testing::Test {
 protected:
  explicit FileServerTest(int per_client = 128, int in_all = 512)
      : server_({.file_system = &disk_,
                 .scheduler = &scheduler_,
                 .random = random_.get(),
                 .task = "/job:checkpoint_writer/replica:0/task:0",
                 .max_open_files_per_client = per_client,
                 .max_open_files = in_all}) {}

  absl::StatusOr<FileAnswer> Do(Files& client, FileRequest request) {
    SyncCall<absl::StatusOr<FileAnswer>> call(scheduler_);
    client.Operate(std::move(request), absl::InfiniteFuture(), nullptr,
                   call.Done());
    return call.Wait();
  }
  uint64_t Open(Files& client, const std::string& path,
                FileAction action = FileAction::kOpenToWrite) {
    auto opened = Do(client, NameRequest(action, path));
    EXPECT_OK(opened);
    return opened.ok() ? opened->file : 0;
  }
  // Starts a request. Its result is appended to the results, which are in the
  // order of completion.
  void Begin(Files& client, FileRequest request,
             absl::Time deadline = absl::InfiniteFuture(),
             std::shared_ptr<Cancellation> cancellation = nullptr) {
    client.Operate(std::move(request), deadline, std::move(cancellation),
                   [this](const absl::StatusOr<FileAnswer>& answer) {
                     answers_.push_back(answer.status());
                   });
  }
  void Settle() { scheduler_.RunUntilIdle(); }
  std::string On(const std::string& path) {
    return disk_.ReadFile(path).value_or("none");
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_, {.seed = 3, .on_deadlock = {}}};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  GatedFileSystem disk_;
  FileServer server_;
  std::vector<absl::Status> answers_;
};

TEST_F(FileServerTest, ChunksAreWrittenInOffsetOrder) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  Begin(*client, EndAt(FileAction::kClose, file, 9));
  Begin(*client, PieceAt(file, 6, "ghi"));
  Begin(*client, PieceAt(file, 3, "def"));
  Settle();
  EXPECT_THAT(answers_, IsEmpty());
  Begin(*client, PieceAt(file, 0, "abc"));
  Settle();
  EXPECT_THAT(answers_, ElementsAre(IsOk(), IsOk(), IsOk(), IsOk()));
  EXPECT_EQ(On("/a"), "abcdefghi");
  EXPECT_EQ(server_.num_open_files(), 0);
}

TEST_F(FileServerTest, DestroyedClientEndsFileWithGap) {
  auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  Begin(*client, PieceAt(file, 3, "def"));
  Settle();
  client.reset();
  Settle();
  EXPECT_THAT(answers_,
              ElementsAre(StatusIs(absl::StatusCode::kUnavailable, "lost")));
  EXPECT_EQ(server_.num_open_files(), 0);
  EXPECT_EQ(On("/a"), "");  // its creator deletes it by name
}

TEST_F(FileServerTest, OverlappingChunksMakeTheFileFail) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  Begin(*client, PieceAt(file, 2, "cdef"));
  Begin(*client, PieceAt(file, 0, "abc"));
  Begin(*client, PieceAt(file, 6, "g"));
  Settle();
  EXPECT_THAT(answers_, ElementsAre(IsOk(), StatusIs(kInvalid, "overlaps"),
                                    StatusIs(kInvalid, "overlaps")));
  EXPECT_THAT(Do(*client, EndAt(FileAction::kClose, file, 3)),
              StatusIs(kInvalid, "overlaps"));
  Settle();
  EXPECT_EQ(server_.num_open_files(), 0);
}

TEST_F(FileServerTest, WrongOffsetsAndSizesAreRejected) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  ASSERT_OK(Do(*client, PieceAt(file, 0, "abc")));
  const uint64_t ahead =
      3 + uint64_t{kMaxUnansweredChunks} * kMaxFileChunkBytes;
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{2}, ahead, ahead * 2, UINT64_MAX}) {
    EXPECT_THAT(Do(*client, PieceAt(file, offset, "x")), StatusIs(kInvalid))
        << offset;
  }
  EXPECT_THAT(
      Do(*client, PieceAt(file, 3, std::string(kMaxFileChunkBytes + 1, 'x'))),
      StatusIs(kInvalid));
  // The rejected requests did not damage the file.
  ASSERT_OK(Do(*client, PieceAt(file, 3, "def")));
  ASSERT_OK(Do(*client, EndAt(FileAction::kClose, file, 6)));
  EXPECT_EQ(On("/a"), "abcdef");
}

TEST_F(FileServerTest, QueuedChunksPerFileAreBounded) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  for (int i = 0; i < 1000; ++i) {
    Begin(*client, PieceAt(file, 1, std::string(1000, 'x')));  // never due
  }
  Settle();
  EXPECT_THAT(answers_, SizeIs(1000 - kMaxUnansweredChunks));
  EXPECT_THAT(answers_, Each(StatusIs(kTooMuch, "no more may be")));
}

// Each reply frees a slot, so that the client may send one more chunk.
TEST_F(FileServerTest, EachReplyAllowsOneMoreChunk) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  uint64_t sent = 0;
  int refused = 0;
  std::function<void()> send = [&] {
    if (sent == 100) return;
    client->Operate(PieceAt(file, sent++, "x"), absl::InfiniteFuture(), nullptr,
                    [&](const absl::StatusOr<FileAnswer>& answer) {
                      refused += answer.ok() ? 0 : 1;
                      send();
                    });
  };
  for (int i = 0; i < kMaxUnansweredChunks; ++i) send();
  Settle();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(On("/a"), std::string(100, 'x'));
}

TEST_F(FileServerTest, ClientsCannotUseFilesOfOthers) {
  const auto one = server_.NewClient();
  const auto other = server_.NewClient();
  const uint64_t file = Open(*one, "/a");
  ASSERT_OK(Do(*one, PieceAt(file, 0, "abc")));
  for (const FileAction action :
       {FileAction::kFlush, FileAction::kSync, FileAction::kClose,
        FileAction::kAbandon, FileAction::kRead}) {
    EXPECT_THAT(Do(*other, EndAt(action, file, 3)),
                StatusIs(kGone, "is not open for this client"));
  }
  EXPECT_THAT(Do(*other, PieceAt(file, 3, "xyz")), StatusIs(kGone));
  ASSERT_OK(Do(*one, EndAt(FileAction::kClose, file, 3)));
  EXPECT_EQ(On("/a"), "abc");
  EXPECT_THAT(Do(*one, EndAt(FileAction::kClose, file, 3)), StatusIs(kGone));
}

TEST_F(FileServerTest, OpenModeIsEnforced) {
  const auto client = server_.NewClient();
  ASSERT_OK(disk_.WriteFileAtomically("/a", "abc"));
  const uint64_t read = Open(*client, "/a", FileAction::kOpenToRead);
  EXPECT_THAT(Do(*client, PieceAt(read, 0, "x")),
              StatusIs(kRefused, "opened for reading"));
  const uint64_t written = Open(*client, "/b");
  EXPECT_THAT(Do(*client, EndAt(FileAction::kRead, written, 0)),
              StatusIs(kRefused, "opened for writing"));
  ASSERT_OK(Do(*client, EndAt(FileAction::kClose, read, 0)));
  ASSERT_OK(Do(*client, EndAt(FileAction::kAbandon, written, 0)));
  Settle();
  EXPECT_EQ(server_.num_open_files(), 0);
}

TEST_F(FileServerTest, OpenFilesPerClientAreBounded) {
  auto client = server_.NewClient();
  for (int i = 0; i < 100000; ++i) {
    Begin(*client, NameRequest(FileAction::kOpenToWrite, "/a"));
  }
  Settle();
  EXPECT_EQ(server_.num_open_files(), 128);
  EXPECT_EQ(std::count_if(answers_.begin(), answers_.end(),
                          [](const absl::Status& s) { return s.ok(); }),
            128);
  EXPECT_THAT(answers_.front(),
              StatusIs(kTooMuch, "raise max_open_files_per_client"));
  // The limit of one client does not affect other clients.
  const auto other = server_.NewClient();
  EXPECT_NE(Open(*other, "/b"), 0u);
  client.reset();
  Settle();
  EXPECT_EQ(server_.num_open_files(), 1);
}

class FewFilesTest : public FileServerTest {
 protected:
  FewFilesTest() : FileServerTest(/*per_client=*/3, /*in_all=*/4) {}
};

TEST_F(FewFilesTest, OpenFilesOfAllClientsAreBounded) {
  const auto one = server_.NewClient();
  const auto other = server_.NewClient();
  ASSERT_OK(disk_.WriteFileAtomically("/r", "abc"));
  for (const char* path : {"/a", "/b", "/c"}) Open(*one, path);
  const uint64_t read = Open(*other, "/r", FileAction::kOpenToRead);
  EXPECT_THAT(Do(*other, NameRequest(FileAction::kOpenToWrite, "/d")),
              StatusIs(kTooMuch, "raise max_open_files there"));
  // A failed open frees its slot.
  ASSERT_OK(Do(*other, EndAt(FileAction::kClose, read, 0)));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Do(*other, NameRequest(FileAction::kOpenToWrite, "/no/d")),
                StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_NE(Open(*other, "/d"), 0u);
}

// A file that was abandoned on a hung disk counts as open until it is closed.
TEST_F(FewFilesTest, FileCountsAsOpenUntilClosed) {
  const auto client = server_.NewClient();
  disk_.Shut(scheduler_, "a");
  for (const char* path : {"/a1", "/a2", "/a3"}) {
    const uint64_t file = Open(*client, path);
    Begin(*client, PieceAt(file, 0, "x"));
    Settle();
    ASSERT_OK(Do(*client, EndAt(FileAction::kAbandon, file, 0)));
  }
  EXPECT_THAT(Do(*client, NameRequest(FileAction::kOpenToWrite, "/b")),
              StatusIs(kTooMuch));
  disk_.Open();
  Settle();
  EXPECT_EQ(server_.num_open_files(), 0);
  EXPECT_NE(Open(*client, "/b"), 0u);
}

TEST_F(FileServerTest, CancelledOperationIsNotStarted) {
  const auto client = server_.NewClient();
  const uint64_t file = Open(*client, "/a");
  auto cancellation = std::make_shared<Cancellation>();
  Begin(*client, PieceAt(file, 3, "def"), absl::InfiniteFuture(), cancellation);
  cancellation->Cancel(absl::CancelledError("not wanted"));
  EXPECT_THAT(answers_, ElementsAre(StatusIs(absl::StatusCode::kCancelled,
                                             "not wanted")));
  // Because the cancelled chunk is missing, the file has a permanent gap, and
  // later chunks fail.
  EXPECT_THAT(Do(*client, PieceAt(file, 0, "abc")),
              StatusIs(absl::StatusCode::kCancelled, "not wanted"));
  answers_.clear();
  auto cancelled = std::make_shared<Cancellation>();
  cancelled->Cancel(absl::CancelledError("not wanted"));
  Begin(*client, NameRequest(FileAction::kCreateDirectory, "/d"),
        absl::InfiniteFuture(), cancelled);
  Begin(*client, NameRequest(FileAction::kCreateDirectory, "/e"),
        absl::InfinitePast());
  Settle();
  EXPECT_THAT(answers_, testing::UnorderedElementsAre(
                            StatusIs(absl::StatusCode::kCancelled),
                            StatusIs(absl::StatusCode::kDeadlineExceeded)));
  EXPECT_FALSE(disk_.FileExists("/d").ok());
  EXPECT_FALSE(disk_.FileExists("/e").ok());
}

// After the cancellation nobody else could close the file.
TEST_F(FileServerTest, FileCancelledDuringOpenIsClosed) {
  auto client = server_.NewClient();
  auto cancellation = std::make_shared<Cancellation>();
  disk_.on_open = [&] {
    cancellation->Cancel(absl::CancelledError("not wanted"));
  };
  Begin(*client, NameRequest(FileAction::kOpenToWrite, "/a"),
        absl::InfiniteFuture(), cancellation);
  Settle();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(absl::StatusCode::kCancelled)));
  disk_.on_open = [&] { clock_.Advance(absl::Minutes(11)); };
  Begin(*client, NameRequest(FileAction::kOpenToWrite, "/b"),
        clock_.Now() + absl::Minutes(10));
  Settle();
  EXPECT_THAT(answers_.back(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(server_.num_open_files(), 0);
  client.reset();
  server_.Drain();
  EXPECT_TRUE(server_.WaitUntilUnused(clock_.Now(), absl::Minutes(1)));
}

// Even if many files of one client hang, other clients are served.
TEST_F(FileServerTest, HungDiskOfOneClientDoesNotBlockOthers) {
  const auto stuck = server_.NewClient();
  const auto other = server_.NewClient();
  disk_.Shut(scheduler_, "stuck");
  std::vector<uint64_t> files;
  for (int i = 0; i < 20; ++i) {
    files.push_back(Open(*stuck, absl::StrCat("/stuck", i)));
  }
  for (const uint64_t one : files) Begin(*stuck, PieceAt(one, 0, "x"));
  Settle();
  EXPECT_EQ(disk_.num_waiting(), 8);
  const uint64_t file = Open(*other, "/a");
  ASSERT_OK(Do(*other, PieceAt(file, 0, "abc")));
  ASSERT_OK(Do(*other, EndAt(FileAction::kClose, file, 3)));
  EXPECT_EQ(On("/a"), "abc");
  disk_.Open();
  Settle();
  EXPECT_THAT(answers_, SizeIs(20));
  EXPECT_THAT(answers_, Each(IsOk()));
}

// After a thousand requests of one client, a request of another client is
// served soon: the first client may get only one more operation before it.
TEST_F(FileServerTest, ClientsAreServedRoundRobin) {
  const auto greedy = server_.NewClient();
  const auto modest = server_.NewClient();
  disk_.Shut(scheduler_, "stuck");
  for (int i = 0; i < 100; ++i) {
    const uint64_t file = Open(*greedy, absl::StrCat("/stuck", i));
    if (i < 7) Begin(*greedy, PieceAt(file, 0, "x"));
    if (i == 6) Settle();
  }
  EXPECT_EQ(disk_.num_waiting(), 7);
  for (int i = 0; i < 1000; ++i) {
    Begin(*greedy, NameRequest(FileAction::kStat, "/"));
  }
  size_t before = 1000;
  modest->Operate(NameRequest(FileAction::kStat, "/"), absl::InfiniteFuture(),
                  nullptr, [&](const absl::StatusOr<FileAnswer>& answer) {
                    EXPECT_OK(answer);
                    before = answers_.size();
                  });
  Settle();
  EXPECT_LT(before, 10u);
  disk_.Open();
  Settle();
  EXPECT_THAT(answers_, SizeIs(1007));
}

TEST_F(FileServerTest, LargeDirectoriesAreListedInPages) {
  const auto client = server_.NewClient();
  for (int i = 0; i < 9000; ++i) {
    ASSERT_OK(
        disk_.NewWritableFile(absl::StrCat("/", i, std::string(1000, 'n'))));
  }
  FileRequest request = NameRequest(FileAction::kListDirectory, "/");
  ASSERT_OK_AND_ASSIGN(FileAnswer page, Do(*client, request));
  EXPECT_GT(page.size, 0u);  // more names follow
  std::vector<std::string> names = page.names;
  while (page.size > 0) {
    // A name that was deleted between two pages is still a valid position.
    ASSERT_OK(disk_.DeleteFile(absl::StrCat("/", names.back())));
    request.to = names.back();
    const uint64_t left = page.size;
    ASSERT_OK_AND_ASSIGN(page, Do(*client, request));
    EXPECT_EQ(page.names.size() + page.size, left);
    names.insert(names.end(), page.names.begin(), page.names.end());
  }
  EXPECT_THAT(names, SizeIs(9000));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  request.to = "a";
  ASSERT_OK_AND_ASSIGN(page, Do(*client, request));
  EXPECT_THAT(page.names, IsEmpty());
}

}  // namespace
}  // namespace weft
