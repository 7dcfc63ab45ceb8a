// Tests of a checkpoint writer's files through RemoteFileSystem, over a
// simulated network and over sockets. They check the contract of FileSystem,
// the order of chunks, the limits, and the errors that a program gets when the
// disk, the connection or the writer fails.
#include "libs/protocol/files/remote_file_system.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/checkpoint_writer/testing/remote_files.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"
#include "libs/tensor/tensor.h"

namespace weft {
namespace {

using protocol::kMaxFileChunkBytes;
using protocol::kMaxUnansweredChunks;
using protocol::kMaxWrittenBytes;
using protocol::RemoteFileSystem;
using protocol::RemoteFileSystemOptions;

constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;

// SimulatedEnd is a RemoteFileSystem that owns the writer to which it is
// connected.
struct SimulatedEnd {
  SimulatedEnd() {
    EXPECT_OK(disk.CreateDirectories("/root/t"));
    files.StartWriter(disk, {.root = "/root"});
  }
  RemoteFileSystemOptions Options() {
    return {.files = files.NewClient(),
            .scheduler = &files.scheduler(),
            .name = "zmq://server:7000"};
  }
  MemoryFileSystem disk;
  SimulatedFiles files;
};

struct SocketEnd {
  SocketEnd() { EXPECT_OK(disk.CreateDirectories("/t")); }
  RemoteFileSystemOptions Options() { return files.ClientOptions(); }
  MemoryFileSystem disk;
  SocketFiles files{disk};
};

template <typename End>
class OwningRemoteFileSystem : private End, public RemoteFileSystem {
 public:
  OwningRemoteFileSystem() : RemoteFileSystem(End::Options()) {}
};

template <typename End>
FileSystemHarness Harness() {
  return {std::make_unique<OwningRemoteFileSystem<End>>(), "/t"};
}

INSTANTIATE_TEST_SUITE_P(RemoteSimulated, FileSystemConformanceTest,
                         testing::Values(Harness<SimulatedEnd>));
INSTANTIATE_TEST_SUITE_P(RemoteSockets, FileSystemConformanceTest,
                         testing::Values(Harness<SocketEnd>));

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

class RemoteFileSystemTest : public testing::Test {
 protected:
  // Runs `work` on another thread than the test, as a kernel does.
  void Begin(Scheduler::Closure work) {
    files_.scheduler().Schedule(Pool::kBlocking, std::move(work));
  }
  static absl::Status Write(FileSystem& files, const std::string& path,
                            const std::string& bytes) {
    ASSIGN_OR_RETURN(auto file, files.NewWritableFile(path));
    RETURN_IF_ERROR(file->Append(bytes));
    RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }
  int64_t WaitingBytes() {
    return files_.writers_memory().stats().bytes_in_use;
  }

  MemoryFileSystem disk_;
  SimulatedFiles files_;
};

// A small chunk overtakes large chunks that are still being sent.
TEST_F(RemoteFileSystemTest, ReorderedChunksAreWrittenInOrder) {
  const std::string bytes = Bytes(5 * kMaxFileChunkBytes + 1000);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    MemoryFileSystem disk;
    SimulatedFiles files(seed);
    files.StartWriter(disk);
    auto remote = files.NewFileSystem();
    ASSERT_OK_AND_ASSIGN(auto a, remote->NewWritableFile("/a"));
    ASSERT_OK_AND_ASSIGN(auto b, remote->NewWritableFile("/b"));
    for (size_t at = 0; at < bytes.size(); at += 300001) {
      ASSERT_OK(a->Append(bytes.substr(at, 300001)));
      ASSERT_OK(b->Append(bytes.substr(at, 300001)));
    }
    ASSERT_OK(a->Close());
    ASSERT_OK(b->Close());
    EXPECT_EQ(disk.ReadFile("/a").value(), bytes) << seed;
    EXPECT_EQ(disk.ReadFile("/b").value(), bytes) << seed;
  }
}

TEST_F(RemoteFileSystemTest, LargeFilesAreReadWhole) {
  const std::string bytes = Bytes(40 * kMaxFileChunkBytes + 17);
  ASSERT_OK(disk_.WriteFileAtomically("/a", bytes));
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  EXPECT_EQ(remote->ReadFile("/a").value(), bytes);
  ASSERT_OK_AND_ASSIGN(const auto file, remote->NewRandomAccessFile("/a"));
  // Small reads at ascending and at other offsets.
  for (const uint64_t offset : {uint64_t{0}, uint64_t{100}, uint64_t{262000},
                                uint64_t{5}, bytes.size() - 10}) {
    std::string buffer(1000, '?');
    ASSERT_OK_AND_ASSIGN(const size_t read,
                         file->Read(offset, buffer.size(), buffer.data()));
    EXPECT_EQ(buffer.substr(0, read), bytes.substr(offset, 1000));
  }
}

// The directory is as large as with a hundred parameter servers that keep all
// checkpoints for some days.
TEST_F(RemoteFileSystemTest, LargeDirectoriesAreListedCompletely) {
  std::vector<std::string> names;
  for (int i = 10'000; i < 19'000; ++i) {
    names.push_back(absl::StrCat(i, std::string(1000, 'n')));
    ASSERT_OK(disk_.WriteFileAtomically("/" + names.back(), ""));
  }
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(const auto listed, remote->ListDirectory("/"));
  EXPECT_TRUE(listed == names) << listed.size();
}

// Many small reads in order must need only a few messages.
TEST_F(RemoteFileSystemTest, SmallReadsAreReadAhead) {
  ASSERT_OK(disk_.WriteFileAtomically("/a", Bytes(1000000)));
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(const auto file, remote->NewRandomAccessFile("/a"));
  int messages = 0;
  files_.network().set_hook([&](const bus::MessageInfo& info) {
    messages +=
        info.to == "server" && info.channel_kind == bus::ChannelKind::kControl;
    return bus::HookResult();
  });
  char buffer[1000];
  for (uint64_t at = 0; at < 1000000; at += 1000) {
    ASSERT_OK(file->Read(at, 1000, buffer));
  }
  EXPECT_LT(messages, 20);
}

// The limits are those of files.h: 16 MiB in the writer and 17 MiB in the
// client.
TEST_F(RemoteFileSystemTest, SlowDiskBoundsMemoryOnBothSides) {
  GatedFileSystem disk;
  disk.Shut(files_.scheduler(), "slow");
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  const std::string bytes = Bytes(64 * kMaxFileChunkBytes);
  size_t accepted = 0;
  absl::Status written = absl::UnknownError("not yet");
  Begin([&] {
    written = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(auto file, remote->NewWritableFile("/slow"));
      for (size_t at = 0; at < bytes.size(); at += 65536) {
        RETURN_IF_ERROR(file->Append(bytes.substr(at, 65536)));
        accepted = at + 65536;
      }
      return file->Close();
    }();
  });
  files_.Settle();
  files_.Pass(absl::Minutes(5));  // shorter than the timeout
  EXPECT_EQ(disk.num_waiting(), 1);
  EXPECT_LE(accepted, kMaxWrittenBytes);
  EXPECT_GT(accepted, kMaxUnansweredChunks * kMaxFileChunkBytes);
  EXPECT_LE(WaitingBytes(),
            int64_t{kMaxUnansweredChunks} * int64_t{kMaxFileChunkBytes});
  EXPECT_GT(WaitingBytes(), 0);
  // Another file of the same client can be written meanwhile.
  ASSERT_OK(Write(*remote, "/fast", bytes));
  EXPECT_EQ(written.code(), absl::StatusCode::kUnknown);
  disk.Open();
  files_.Settle();
  ASSERT_OK(written);
  EXPECT_EQ(disk.ReadFile("/slow").value(), bytes);
  EXPECT_EQ(disk.ReadFile("/fast").value(), bytes);
  EXPECT_EQ(WaitingBytes(), 0);
}

TEST_F(RemoteFileSystemTest, HungDiskFailsAtTheDeadline) {
  GatedFileSystem disk;
  disk.Shut(files_.scheduler(), "stuck");
  files_.StartWriter(disk);
  RemoteFileSystem remote({.files = files_.NewClient(),
                           .scheduler = &files_.scheduler(),
                           .name = "zmq://server:7000",
                           .operation_timeout = absl::Minutes(2)});
  EXPECT_THAT(
      Write(remote, "/stuck", Bytes(10)),
      StatusIs(absl::StatusCode::kDeadlineExceeded, "zmq://server:7000/stuck"));
  disk.Open();
  files_.Settle();
  EXPECT_OK(Write(remote, "/other", Bytes(10)));
  EXPECT_EQ(files_.writer().server().num_open_files(), 0);
}

// After the first timeout, later calls must fail without waiting again.
TEST_F(RemoteFileSystemTest, HungDiskCostsOneTimeout) {
  using What = GatedFileSystem::What;
  using Stuck = std::pair<std::string, What>;
  for (const auto& [stuck, what] :
       {Stuck(".data", What::kAppend), Stuck(".data", What::kSync),
        Stuck(".index", What::kAppend), Stuck(".index", What::kSync)}) {
    GatedFileSystem disk;
    SimulatedFiles files;
    disk.Shut(files.scheduler(), stuck, what);
    files.StartWriter(disk);
    RemoteFileSystem remote({.files = files.NewClient(),
                             .scheduler = &files.scheduler(),
                             .name = "zmq://server:7000",
                             .operation_timeout = absl::Minutes(2)});
    const absl::Time before = files.scheduler().clock().Now();
    const auto random = NewSeededRandom(1);
    ASSERT_OK_AND_ASSIGN(
        auto writer, checkpoint::BundleWriter::Create(remote, "/m", *random));
    ASSERT_OK(writer->Add("a", Tensor::Scalar<int32_t>(1)));
    EXPECT_THAT(writer->Finish(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, stuck));
    writer.reset();
    EXPECT_LT(files.scheduler().clock().Now() - before, absl::Minutes(3));
    disk.Open();
    files.Settle();
    EXPECT_EQ(files.writer().server().num_open_files(), 0) << stuck;
  }
}

TEST_F(RemoteFileSystemTest, CancelledSaveReturnsDespiteHungDisk) {
  GatedFileSystem disk;
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  const auto random = NewSeededRandom(1);
  ASSERT_OK_AND_ASSIGN(
      auto writer, checkpoint::BundleWriter::Create(*remote, "/m", *random));
  ASSERT_OK(writer->Add("a", Tensor::Scalar<int32_t>(1)));
  disk.Shut(files_.scheduler(), "/m");
  const absl::Time before = files_.scheduler().clock().Now();
  writer.reset();
  EXPECT_LE(files_.scheduler().clock().Now() - before, kLeftoverTimeout);
  disk.Open();
  files_.Settle();
  EXPECT_EQ(disk.ListDirectory("/").value(), std::vector<std::string>());
}

// After a failed Sync, the contents of the disk are unknown. So all later calls
// return the first error.
TEST_F(RemoteFileSystemTest, FirstErrorOfFileIsKept) {
  FailingFileSystem disk(disk_);
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(auto file, remote->NewWritableFile("/a"));
  disk.FailOperation(0, absl::InternalError("flush: Input/output error"));
  const auto is_said =
      StatusIs(absl::StatusCode::kInternal, "flush: Input/output error");
  EXPECT_THAT(file->Flush(), is_said);
  disk.Heal();
  EXPECT_THAT(file->Append("more"), is_said);
  EXPECT_THAT(file->Sync(), is_said);
  EXPECT_THAT(file->Close(), is_said);
  files_.Settle();
  EXPECT_EQ(files_.writer().server().num_open_files(), 0);
}

TEST_F(RemoteFileSystemTest, AbandonedFileDoesNotBlock) {
  GatedFileSystem disk;
  disk.Shut(files_.scheduler(), "slow");
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(auto file, remote->NewWritableFile("/slow"));
  // Write the maximum number of pending chunks, and one that is only buffered.
  ASSERT_OK(
      file->Append(Bytes(kMaxUnansweredChunks * kMaxFileChunkBytes + 10)));
  files_.Settle();
  const absl::Time before = files_.scheduler().clock().Now();
  file->Abandon();
  EXPECT_THAT(
      file->Append("more"),
      StatusIs(absl::StatusCode::kFailedPrecondition, "Bad file descriptor"));
  file.reset();
  EXPECT_EQ(files_.scheduler().clock().Now(), before);
  files_.Settle();
  // Memory of the other chunks is released. This chunk is still in memory
  // because its write has begun.
  EXPECT_EQ(WaitingBytes(), int64_t{kMaxFileChunkBytes});
  disk.Open();
  files_.Settle();
  EXPECT_EQ(WaitingBytes(), 0);
  EXPECT_EQ(files_.writer().server().num_open_files(), 0);
  EXPECT_EQ(disk.ReadFile("/slow").value(), Bytes(kMaxFileChunkBytes));
}

TEST_F(RemoteFileSystemTest, FullDiskIsReportedAndNextFileSucceeds) {
  FailingFileSystem disk(disk_);
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  disk.LimitSpace(3 * kMaxFileChunkBytes);
  const absl::Status status =
      Write(*remote, "/a", Bytes(40 * kMaxFileChunkBytes));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "No space left on device"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "zmq://server:7000/a"));
  files_.Settle();
  EXPECT_EQ(files_.writer().server().num_open_files(), 0);
  disk.Heal();
  ASSERT_OK(Write(*remote, "/a", Bytes(10)));
  EXPECT_EQ(disk_.ReadFile("/a").value(), Bytes(10));
}

// Each operation of a small save fails once.
TEST_F(RemoteFileSystemTest, EveryDiskErrorIsReported) {
  FailingFileSystem disk(disk_);
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  const auto save = [&] {
    return remote->WriteFileAtomically("/a", Bytes(3 * kMaxFileChunkBytes));
  };
  ASSERT_OK(save());
  const int64_t before = disk.num_operations();
  ASSERT_OK(save());
  const int64_t operations = disk.num_operations() - before;
  EXPECT_GT(operations, 5);
  for (int64_t i = 0; i < operations; ++i) {
    disk.FailOperation(i, absl::InternalError("write: Input/output error"));
    const absl::Status failed = save();
    disk.Heal();
    // After a successful Sync, the failing operation may be only the Close.
    EXPECT_THAT(failed,
                StatusIs(absl::StatusCode::kInternal, "Input/output error"))
        << i;
    ASSERT_OK(save());
  }
}

TEST_F(RemoteFileSystemTest, LostConnectionEndsOpenFiles) {
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(auto file, remote->NewWritableFile("/a"));
  ASSERT_OK_AND_ASSIGN(auto read, remote->NewRandomAccessFile("/a"));
  ASSERT_OK(file->Append(Bytes(3 * kMaxFileChunkBytes)));
  files_.network().Cut("client", "server");
  files_.Settle();
  EXPECT_THAT(file->Sync(), StatusIs(kGone, "zmq://server:7000"));
  EXPECT_EQ(files_.writer().server().num_open_files(), 0);
  // Files that were open before a reconnect cannot be used any more.
  files_.Pass(absl::Seconds(10));
  char buffer[10];
  EXPECT_THAT(read->Read(0, 10, buffer), StatusIs(kGone, "is not open"));
  EXPECT_FALSE(file->Close().ok());
  EXPECT_OK(Write(*remote, "/a", Bytes(10)));
}

// The connection is lost during an Append, after each of the first messages.
TEST_F(RemoteFileSystemTest, LostConnectionNeverHangsCallers) {
  for (uint64_t cut = 1; cut < 30; ++cut) {
    MemoryFileSystem disk;
    SimulatedFiles files(cut);
    files.StartWriter(disk);
    auto remote = files.NewFileSystem();
    uint64_t messages = 0;
    files.network().set_hook([&](const bus::MessageInfo&) {
      bus::HookResult hook_result;
      if (++messages == cut + 8) hook_result.fate = bus::Fate::kCutHere;
      return hook_result;
    });
    (void)Write(*remote, "/a", Bytes(6 * kMaxFileChunkBytes));
    // The write is small and is repeated after an error, as in a save.
    absl::Status again = Write(*remote, "/a", Bytes(10));
    if (!again.ok()) again = Write(*remote, "/a", Bytes(10));
    EXPECT_OK(again) << cut;
    EXPECT_EQ(disk.ReadFile("/a").value(), Bytes(10)) << cut;
    files.Settle();
    EXPECT_EQ(files.writer().server().num_open_files(), 0) << cut;
  }
}

TEST_F(RemoteFileSystemTest, KilledWriterIsReportedThenReconnected) {
  GatedFileSystem disk;
  disk.Shut(files_.scheduler(), "a");
  files_.StartWriter(disk);
  auto remote = files_.NewFileSystem();
  const absl::Time before = files_.scheduler().clock().Now();
  absl::Status written;
  bool ended = false;
  Begin([&] {
    written = Write(*remote, "/a", Bytes(40 * kMaxFileChunkBytes));
    ended = true;
  });
  files_.Settle();
  EXPECT_FALSE(ended);
  disk.Open();  // ends the waiting calls of the killed writer
  files_.KillWriter();
  files_.Settle();
  ASSERT_TRUE(ended);
  EXPECT_THAT(written, StatusIs(kGone, "zmq://server:7000/a"));
  EXPECT_LE(files_.scheduler().clock().Now() - before, absl::Seconds(10));
  // Without a writer, the first call fails after the connection timeout, and
  // the next call fails at once.
  EXPECT_THAT(remote->DeleteFile("/a"), StatusIs(kGone, "is it"));
  const absl::Time later = files_.scheduler().clock().Now();
  EXPECT_THAT(remote->DeleteFile("/a"), StatusIs(kGone, "zmq://server:7000"));
  EXPECT_EQ(files_.scheduler().clock().Now(), later);
  files_.StartWriter(disk, {.incarnation = 23});
  files_.Pass(absl::Seconds(5));
  EXPECT_OK(Write(*remote, "/b", Bytes(10)));
}

TEST_F(RemoteFileSystemTest, ClientWaitsForWriterToStart) {
  auto remote = files_.NewFileSystem();
  absl::Status written = absl::UnknownError("not yet");
  Begin([&] { written = Write(*remote, "/a", Bytes(10)); });
  files_.Pass(absl::Seconds(3));
  files_.StartWriter(disk_);
  files_.Pass(absl::Seconds(5));
  EXPECT_OK(written);
}

// A paced save pauses between chunks. If the connection is lost during a pause,
// no message is pending that could return the error.
TEST_F(RemoteFileSystemTest, WriterRestartBetweenChunksIsReported) {
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(auto file, remote->NewWritableFile("/a"));
  ASSERT_OK(file->Append(Bytes(kMaxFileChunkBytes)));
  files_.Settle();
  files_.KillWriter();
  files_.Settle();
  files_.StartWriter(disk_, {.incarnation = 23});
  files_.Pass(absl::Seconds(5));
  ASSERT_OK(remote->FileExists("/a"));  // the connection is back
  ASSERT_OK(file->Append(Bytes(kMaxFileChunkBytes)));
  EXPECT_THAT(file->Sync(), StatusIs(kGone, "zmq://server:7000/a"));
}

// Data for a file that was open in the previous writer must not reach a new
// file of the same name in the restarted writer.
TEST_F(RemoteFileSystemTest, RestartedWriterDropsOldOpenFiles) {
  files_.StartWriter(disk_);
  auto remote = files_.NewFileSystem();
  ASSERT_OK_AND_ASSIGN(auto old_file, remote->NewWritableFile("/a"));
  files_.StopWriter();
  files_.Settle();
  files_.StartWriter(disk_, {.incarnation = 23});
  files_.Pass(absl::Seconds(5));
  ASSERT_OK_AND_ASSIGN(auto new_file, remote->NewWritableFile("/a"));
  EXPECT_OK(old_file->Append("old"));  // buffered in the client
  EXPECT_FALSE(old_file->Close().ok());
  ASSERT_OK(new_file->Append("new"));
  ASSERT_OK(new_file->Close());
  EXPECT_EQ(disk_.ReadFile("/a").value(), "new");
}

// Tests of writers that drain while clients are connected.
class DrainingWriterTest : public RemoteFileSystemTest {
 protected:
  DrainingWriterTest() {
    files_.StartWriter(disk_);
    writing_ = files_.NewFileSystem(11);
    EXPECT_OK(Write(*writing_, "/a", "a"));
    writing_->SetExpectsSaves(true);
    files_.Settle();
  }
  // Starts to drain the writer, and sets ended_ when it has drained.
  void BeginDrain() {
    begin_ = Now();
    files_.writer().server().Drain();
    files_.writer().endpoint().Drain();
    Begin([this] {
      in_time_ = files_.writer().server().WaitUntilUnused(
          begin_ + absl::Seconds(10), absl::Seconds(5));
      ended_ = Now();
    });
    files_.Settle();
  }
  absl::Time Now() { return files_.scheduler().clock().Now(); }

  std::unique_ptr<RemoteFileSystem> writing_;
  absl::Time begin_;
  bool in_time_ = false;
  std::optional<absl::Time> ended_;
};

TEST_F(DrainingWriterTest, ClientsMayWriteUntilTheyDisconnect) {
  ASSERT_OK_AND_ASSIGN(auto file, writing_->NewWritableFile("/b"));
  ASSERT_OK(file->Append(Bytes(2 * kMaxFileChunkBytes)));
  BeginDrain();
  ASSERT_OK(file->Append("end"));
  ASSERT_OK(file->Close());
  EXPECT_EQ(disk_.ReadFile("/b").value(),
            Bytes(2 * kMaxFileChunkBytes) + "end");
  EXPECT_OK(Write(*writing_, "/c", "c"));  // the next file of the save
  files_.Pass(absl::Seconds(1));
  EXPECT_FALSE(ended_);
  file.reset();
  writing_.reset();
  files_.Pass(absl::Seconds(2));  // the client may still reconnect
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainingWriterTest, ClientThatOnlyReadMayWrite) {
  writing_.reset();
  auto restored = files_.NewFileSystem(12);
  EXPECT_OK(restored->FileExists("/a"));
  restored->SetExpectsSaves(true);
  files_.Settle();
  BeginDrain();
  files_.Pass(absl::Seconds(1));
  EXPECT_FALSE(ended_);
  EXPECT_OK(Write(*restored, "/b", Bytes(3 * kMaxFileChunkBytes)));
  restored.reset();
  files_.Pass(absl::Seconds(2));  // the client may still reconnect
  EXPECT_TRUE(ended_);
}

TEST_F(DrainingWriterTest, ReconnectedClientMayWrite) {
  files_.network().Cut("client", "server");
  files_.Pass(absl::Seconds(5));  // the client sends no requests
  BeginDrain();
  files_.Pass(absl::Seconds(1));
  EXPECT_FALSE(ended_);
  EXPECT_OK(Write(*writing_, "/b", Bytes(3 * kMaxFileChunkBytes)));
  writing_.reset();
  files_.Pass(absl::Seconds(2));  // the client may still reconnect
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainingWriterTest, NewConnectionsAreRefused) {
  BeginDrain();
  const auto late = files_.NewFileSystem(12);
  EXPECT_THAT(late->NewWritableFile("/b"), StatusIs(kGone, "shutting down"));
}

TEST_F(DrainingWriterTest, WaitsLessForAnIdleOpenFile) {
  ASSERT_OK_AND_ASSIGN(auto events, writing_->NewWritableFile("/events"));
  BeginDrain();
  files_.Pass(absl::Seconds(3));
  ASSERT_OK(events->Append("x"));
  ASSERT_OK(events->Flush());
  const absl::Time written = Now();
  files_.Pass(absl::Seconds(4));
  EXPECT_FALSE(ended_);
  files_.Pass(absl::Seconds(2));
  ASSERT_TRUE(ended_);
  EXPECT_GE(*ended_, written + absl::Seconds(5));
  EXPECT_LT(*ended_, begin_ + absl::Seconds(9));
  EXPECT_TRUE(in_time_);
}

// The program does not have a monitored session, so it will not save again. An
// event file that it keeps open must not delay the drain.
TEST_F(DrainingWriterTest, DoesNotWaitForEventFilesOnly) {
  writing_->SetExpectsSaves(false);
  ASSERT_OK_AND_ASSIGN(auto events, writing_->NewWritableFile("/events"));
  ASSERT_OK(events->Append("x"));
  ASSERT_OK(events->Flush());
  files_.Pass(absl::Seconds(1));
  BeginDrain();
  files_.Pass(absl::Milliseconds(1100));
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(in_time_);
  EXPECT_EQ(disk_.ReadFile("/events").value(), "x");
}

TEST_F(DrainingWriterTest, DrainEndsWithTheLastMonitoredSession) {
  ASSERT_OK_AND_ASSIGN(auto events, writing_->NewWritableFile("/events"));
  const auto other = files_.NewFileSystem(12);
  other->SetExpectsSaves(true);
  EXPECT_OK(other->FileExists("/a"));
  other->SetExpectsSaves(true);
  BeginDrain();
  files_.Pass(absl::Seconds(2));
  writing_->SetExpectsSaves(false);
  files_.Pass(absl::Milliseconds(500));
  EXPECT_FALSE(ended_);
  other->SetExpectsSaves(false);
  files_.Settle();
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainingWriterTest, DrainWaitsForAnOpenSave) {
  writing_->SetExpectsSaves(false);
  ASSERT_OK_AND_ASSIGN(auto file, writing_->NewWritableFile("/b"));
  BeginDrain();
  for (int i = 0; i < 5; ++i) {
    files_.Pass(absl::Milliseconds(600));
    ASSERT_OK(file->Append(Bytes(kMaxFileChunkBytes)));
  }
  EXPECT_FALSE(ended_);
  EXPECT_OK(file->Close());
  files_.Pass(absl::Seconds(10));  // the writer still drains
  EXPECT_TRUE(ended_);
}

// After a reconnect, the client reports again that it expects saves.
TEST_F(DrainingWriterTest, SaveExpectationSurvivesReconnect) {
  ASSERT_OK_AND_ASSIGN(auto events, writing_->NewWritableFile("/events"));
  files_.network().Cut("client", "server");
  files_.Pass(absl::Seconds(5));
  BeginDrain();
  files_.Pass(absl::Seconds(3));
  EXPECT_FALSE(ended_);
  writing_->SetExpectsSaves(false);
  files_.Settle();
  EXPECT_TRUE(ended_);
}

// An evaluator that only looks for checkpoints must not delay the drain.
TEST_F(DrainingWriterTest, ReadsDoNotExtendTheDrain) {
  const auto reading = files_.NewFileSystem(12);
  EXPECT_OK(reading->FileExists("/a"));
  BeginDrain();
  for (int i = 0; i < 3; ++i) {
    files_.Pass(absl::Seconds(1));
    EXPECT_OK(reading->ListDirectory("/"));
    EXPECT_EQ(reading->ReadFile("/a").value(), "a");
  }
  files_.Pass(absl::Seconds(2));
  ASSERT_TRUE(ended_);
  EXPECT_LT(*ended_, begin_ + absl::Seconds(6));
}

}  // namespace
}  // namespace weft
