// A task of job checkpoint_writer, and the zmq:// paths of other processes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"
#include "libs/runtime/process/process.h"
#include "libs/server/server.h"

namespace weft {
namespace {

// A worker and some writers, each in a process and with a disk of its own, and
// a client.
class WritersWorld {
 public:
  explicit WritersWorld(int num_writers = 1) {
    EXPECT_OK(cluster_.AddTask("worker", 0, "localhost:999"));
    for (int i = 0; i < num_writers; ++i) {
      EXPECT_OK(cluster_.AddTask("checkpoint_writer", i,
                                 absl::StrCat("localhost:", 1000 + i)));
    }
    worker_ = Start("worker", 0, {});
    for (int i = 0; i < num_writers; ++i) {
      writers_.push_back(Start("checkpoint_writer", i, {}));
    }
    client_ = NewProcess("client", &clients_disk_);
  }

  struct Member {
    std::unique_ptr<MemoryFileSystem> disk;
    std::unique_ptr<Process> process;
    std::unique_ptr<Server> server;
  };
  Member Start(const std::string& job, int index, ServerOptions options) {
    Member member;
    member.disk = std::make_unique<MemoryFileSystem>();
    EXPECT_OK(member.disk->CreateDirectories("t"));
    member.process = NewProcess(absl::StrCat(job, index), member.disk.get());
    options.job_name = job;
    options.task_index = index;
    options.process = member.process.get();
    options.heartbeat_interval = absl::InfiniteDuration();
    options.heartbeat_timeout = absl::InfiniteDuration();
    options.logger = &logger_;
    auto server = Server::Create(cluster_, options);
    EXPECT_OK(server);
    if (server.ok()) member.server = *std::move(server);
    return member;
  }

  Process& client() { return *client_; }
  FileSystem& files() { return client_->file_system(); }
  Member& worker() { return worker_; }
  Member& writer(int index) { return writers_[index]; }
  // Stops the first writer on another thread, which then sets `stopped`.
  void BeginStop(absl::Duration drain, bool& stopped) {
    scheduler_.Schedule(Pool::kBlocking, [this, drain, &stopped] {
      EXPECT_OK(writer(0).server->Stop(drain));
      stopped = true;
    });
  }
  SimulatedScheduler& scheduler() { return scheduler_; }
  bus::MemoryNetwork& network() { return network_; }
  const ClusterSpec& cluster() const { return cluster_; }

 private:
  std::unique_ptr<Process> NewProcess(const std::string& name,
                                      FileSystem* disk) {
    return std::make_unique<Process>(
        nullptr, NewSeededRandom(++num_processes_), scheduler_,
        [this, name](Scheduler&) { return bus::NewMemoryWire(network_, name); },
        ProcessOptions{.file_system = disk});
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  bus::MemoryNetwork network_{scheduler_};
  NullLogger logger_;
  ClusterSpec cluster_;
  uint64_t num_processes_ = 0;
  MemoryFileSystem clients_disk_;
  Member worker_;
  std::vector<Member> writers_;
  std::unique_ptr<Process> client_;
};

// The environment of a program: a process whose file system knows the writers.
class ProcessFiles : private WritersWorld, public FileSystem {
 public:
  using WritersWorld::WritersWorld;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    return files().NewWritableFile(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) override {
    return files().NewAppendableFile(path);
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    return files().NewRandomAccessFile(path);
  }
  absl::Status FileExists(absl::string_view path) override {
    return files().FileExists(path);
  }
  absl::StatusOr<bool> IsDirectory(absl::string_view path) override {
    return files().IsDirectory(path);
  }
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) override {
    return files().GetFileSize(path);
  }
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) override {
    return files().ListDirectory(path);
  }
  absl::Status CreateDirectory(absl::string_view path) override {
    return files().CreateDirectory(path);
  }
  absl::Status DeleteFile(absl::string_view path) override {
    return files().DeleteFile(path);
  }
  absl::Status DeleteDirectory(absl::string_view path) override {
    return files().DeleteDirectory(path);
  }
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    return files().RenameFile(from, to);
  }
  absl::Status SyncDirectory(absl::string_view path) override {
    return files().SyncDirectory(path);
  }
};

FileSystemHarness HarnessOf(int num_writers, const std::string& directory) {
  return {std::make_unique<ProcessFiles>(num_writers), directory};
}

INSTANTIATE_TEST_SUITE_P(ZmqPaths, FileSystemConformanceTest,
                         testing::Values([] {
                           return HarnessOf(1, "zmq://localhost:1000/t");
                         }));
INSTANTIATE_TEST_SUITE_P(SeveralWriters, FileSystemConformanceTest,
                         testing::Values([] {
                           return HarnessOf(
                               2, "zmq://localhost:1000,localhost:1001/t");
                         }));
// Several writers whose root is the same disk.
INSTANTIATE_TEST_SUITE_P(WritersOfOneDisk, FileSystemConformanceTest,
                         testing::Values([] {
                           return HarnessOf(
                               1, "zmq://localhost:1000,localhost:1000/t");
                         }));

TEST(CheckpointWriterTaskTest, OtherPathsAreLocal) {
  WritersWorld world;
  ASSERT_OK(world.files().WriteFileAtomically("/a", "mine"));
  ASSERT_OK(
      world.files().WriteFileAtomically("zmq://localhost:1000/a", "theirs"));
  EXPECT_EQ(world.files().ReadFile("/a").value(), "mine");
  EXPECT_EQ(world.writer(0).disk->ReadFile("a").value(), "theirs");
  EXPECT_THAT(world.files().RenameFile("/a", "zmq://localhost:1000/b"),
              StatusIs(kInvalid, "is elsewhere"));
}

TEST(CheckpointWriterTaskTest, AddressesAreChecked) {
  WritersWorld world;
  for (const char* path :
       {"zmq://", "zmq:///a", "zmq://nowhere/a", "zmq://localhost:99999/a",
        "zmq://,localhost:1000/a"}) {
    EXPECT_THAT(world.files().FileExists(path), StatusIs(kInvalid, path));
  }
  EXPECT_THAT(world.files().ListDirectory("zmq://localhost:1000,/t"),
              StatusIs(kInvalid, "zmq://localhost:1000,/t"));
}

constexpr char kBoth[] = "zmq://localhost:1000,localhost:1001";

TEST(CheckpointWriterTaskTest, WritersShareTheShards) {
  WritersWorld world(2);
  const std::string t = absl::StrCat(kBoth, "/t");
  const std::string shard =
      absl::StrCat(t, "/m_temp/part-00001-of-00003.data-00000-of-00001");
  ASSERT_OK(world.files().CreateDirectories(absl::StrCat(t, "/m_temp")));
  ASSERT_OK(world.files().WriteFileAtomically(shard, "one"));
  const std::string data = absl::StrCat(t, "/m.data-00001-of-00003");
  ASSERT_OK(world.files().RenameFile(shard, data));
  for (const char* name :
       {"m.index", "m.data-00000-of-00003", "m.data-00002-of-00003"}) {
    ASSERT_OK(
        world.files().WriteFileAtomically(absl::StrCat(t, "/", name), name));
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(world.writer(0).disk->ListDirectory("t").value(),
            (Names{"m.data-00000-of-00003", "m.data-00002-of-00003", "m.index",
                   "m_temp"}));
  EXPECT_EQ(world.writer(1).disk->ListDirectory("t").value(),
            (Names{"m.data-00001-of-00003", "m_temp"}));
  EXPECT_EQ(world.files().ListDirectory(t).value(),
            (Names{"m.data-00000-of-00003", "m.data-00001-of-00003",
                   "m.data-00002-of-00003", "m.index", "m_temp"}));
  EXPECT_EQ(world.files().ReadFile(data).value(), "one");
  EXPECT_THAT(
      world.files().RenameFile(data, absl::StrCat(t, "/m.data-00002-of-00003")),
      StatusIs(kInvalid, "is elsewhere"));
}

// As after the loss of a writer's disk, or after a power failure while
// directories are created.
TEST(CheckpointWriterTaskTest, MissingDirectoryIsCreatedAndDeleted) {
  const std::string folder = absl::StrCat(kBoth, "/t/f");
  for (const int has_it : {0, 1}) {
    WritersWorld world(2);
    FileSystem& disk = *world.writer(has_it).disk;
    ASSERT_OK(disk.CreateDirectories("t/f"));
    ASSERT_OK(disk.WriteFileAtomically("t/f/a", "left"));
    EXPECT_EQ(world.files().ListDirectory(folder).value(),
              std::vector<std::string>{"a"});
    ASSERT_OK(world.files().CreateDirectories(folder));
    EXPECT_OK(world.writer(1 - has_it).disk->FileExists("t/f"));
    ASSERT_OK(world.writer(1 - has_it).disk->DeleteDirectory("t/f"));
    ASSERT_OK(disk.DeleteFile("t/f/a"));
    ASSERT_OK(world.files().DeleteRecursively(folder));
    EXPECT_THAT(disk.FileExists("t/f"), StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(world.files().ListDirectory(folder),
                StatusIs(absl::StatusCode::kNotFound));
  }
}

TEST(CheckpointWriterTaskTest, OnlyWritersKeepFiles) {
  WritersWorld world;
  EXPECT_THAT(world.files().ReadFile("zmq://localhost:999/a"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "/job:worker/replica:0/task:0 keeps no files for "
                       "others. Ask one of: "
                       "/job:checkpoint_writer/replica:0/task:0 at "
                       "zmq://localhost:1000"));
  WritersWorld none(0);
  EXPECT_THAT(
      none.files().ReadFile("zmq://localhost:999/a"),
      StatusIs(absl::StatusCode::kFailedPrecondition, "this cluster has none"));
}

TEST(CheckpointWriterTaskTest, RootMustBeItsOwnDirectory) {
  const ClusterSpec cluster{{"checkpoint_writer", {"localhost:0"}},
                            {"worker", {"localhost:0"}}};
  MemoryFileSystem disk;
  Process process({.compute_threads = 1, .file_system = &disk});
  ServerOptions options{.job_name = "checkpoint_writer", .process = &process};
  options.root = "/none";
  EXPECT_THAT(Server::Create(cluster, options),
              StatusIs(absl::StatusCode::kFailedPrecondition, "--root"));
  options.root = "zmq://localhost:1000/a";
  EXPECT_THAT(Server::Create(cluster, options), StatusIs(kInvalid, "its own"));
}

TEST(CheckpointWriterTaskTest, WriterInThisProcessIsCalledDirectly) {
  const ClusterSpec cluster{{"checkpoint_writer", {"localhost:0"}},
                            {"worker", {"localhost:0"}}};
  MemoryFileSystem disk;
  ASSERT_OK(disk.CreateDirectories("/root"));
  Process process({.compute_threads = 1, .file_system = &disk});
  NullLogger logger;
  ServerOptions options{.job_name = "checkpoint_writer", .process = &process};
  options.root = "/root";
  options.logger = &logger;
  ASSERT_OK_AND_ASSIGN(const auto server, Server::Create(cluster, options));
  const std::string path = absl::StrCat(server->target(), "/a");
  ASSERT_OK(process.file_system().WriteFileAtomically(path, "bytes"));
  EXPECT_EQ(disk.ReadFile("/root/a").value(), "bytes");
  EXPECT_EQ(process.file_system().ReadFile(path).value(), "bytes");
}

// All users share one connection to a writer; beyond the limit, an unused
// connection is closed.
TEST(CheckpointWriterTaskTest, ConnectionsAreSharedAndBounded) {
  WritersWorld world(4);
  ZmqFileSystem files({.scheduler = &world.scheduler(),
                       .random = &world.client().random(),
                       .transport = [&]() -> bus::Transport& {
                         return world.client().transport();
                       },
                       .local_tasks = &world.client().local_tasks(),
                       .others = nullptr,
                       .max_connections = 2});
  const auto path = [](int writer) {
    return absl::StrCat("zmq://localhost:", 1000 + writer, "/a");
  };
  for (int i = 0; i < 12; ++i) {
    ASSERT_OK(files.WriteFileAtomically(path(i % 4), "bytes"));
    world.scheduler().RunUntilIdle();
    int connections = 0;
    for (int writer = 0; writer < 4; ++writer) {
      connections += world.network().num_connections(
          "client", absl::StrCat("checkpoint_writer", writer));
    }
    EXPECT_LE(connections, 2) << i;  // no large messages, so no bulk channels
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto zero, files.NewRandomAccessFile(path(0)));
    ASSERT_OK_AND_ASSIGN(const auto one, files.NewWritableFile(path(1)));
    EXPECT_THAT(files.FileExists(path(2)),
                StatusIs(absl::StatusCode::kResourceExhausted));
    ASSERT_OK(one->Append("x"));
    ASSERT_OK(one->Close());
  }
  EXPECT_OK(files.FileExists(path(2)));
}

TEST(CheckpointWriterTaskTest, StoppingWriterServesClientsUntilIdle) {
  WritersWorld world;
  const auto saves = world.client().ExpectSaves();
  ASSERT_OK_AND_ASSIGN(auto file,
                       world.files().NewWritableFile("zmq://localhost:1000/a"));
  ASSERT_OK(file->Append(std::string(3 << 20, 'x')));
  bool stopped = false;
  world.BeginStop(absl::Minutes(1), stopped);
  world.scheduler().AdvanceBy(absl::Seconds(1));
  EXPECT_FALSE(stopped);
  ASSERT_OK(file->Append("end"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  ASSERT_OK_AND_ASSIGN(file,
                       world.files().NewWritableFile("zmq://localhost:1000/b"));
  ASSERT_OK(file->Close());
  // Another 58 s: a save that begins in the last 2 s of the drain time is too
  // late.
  world.scheduler().AdvanceBy(absl::Milliseconds(57500));
  EXPECT_FALSE(stopped);
  world.scheduler().AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(world.writer(0).disk->GetFileSize("a").value(), (3u << 20) + 3);
  EXPECT_OK(world.writer(0).disk->FileExists("b"));
}

// The chief saves once its step is over.
TEST(CheckpointWriterTaskTest, SaveThatBeginsLateIsWaitedFor) {
  WritersWorld world;
  const auto saves = world.client().ExpectSaves();
  ASSERT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/a", "a"));
  bool stopped = false;
  world.BeginStop(absl::Seconds(10), stopped);
  world.scheduler().AdvanceBy(absl::Milliseconds(7900));
  EXPECT_FALSE(stopped);
  EXPECT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/b", "b"));
  world.scheduler().AdvanceBy(absl::Seconds(3));
  EXPECT_TRUE(stopped);
}

TEST(CheckpointWriterTaskTest, OpenEventFileIsNotWaitedFor) {
  WritersWorld world;
  auto saves = world.client().ExpectSaves();
  ASSERT_OK_AND_ASSIGN(auto events,
                       world.files().NewWritableFile("zmq://localhost:1000/e"));
  ASSERT_OK(events->Append("x"));
  ASSERT_OK(events->Flush());
  bool stopped = false;
  world.BeginStop(absl::Seconds(10), stopped);
  world.scheduler().AdvanceBy(absl::Seconds(3));
  EXPECT_FALSE(stopped) << "its monitored session is open";
  saves.reset();
  world.scheduler().AdvanceBy(absl::Seconds(2));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(world.writer(0).disk->ReadFile("e").value(), "x");
}

TEST(CheckpointWriterTaskTest, DisconnectedClientMayFinishItsSave) {
  WritersWorld world;
  const auto saves = world.client().ExpectSaves();
  ASSERT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/a", "a"));
  bool stopped = false;
  world.BeginStop(absl::Seconds(10), stopped);
  world.scheduler().AdvanceBy(absl::Seconds(1));
  world.network().Cut("client", "checkpoint_writer0");
  world.scheduler().AdvanceBy(absl::Seconds(4));
  EXPECT_FALSE(stopped);
  EXPECT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/b", "b"));
  // A client that does not reconnect is not waited for.
  world.network().Kill("client");
  world.scheduler().AdvanceBy(absl::Seconds(4));
  EXPECT_TRUE(stopped);
}

TEST(CheckpointWriterTaskTest, ClientCutBeforeTheStopMaySave) {
  WritersWorld world;
  const auto saves = world.client().ExpectSaves();
  ASSERT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/a", "a"));
  world.network().Cut("client", "checkpoint_writer0");
  world.scheduler().RunUntilIdle();
  bool stopped = false;
  world.BeginStop(absl::Seconds(10), stopped);
  world.scheduler().AdvanceBy(absl::Seconds(4));
  EXPECT_FALSE(stopped);
  EXPECT_OK(world.files().WriteFileAtomically("zmq://localhost:1000/b", "b"));
  world.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_TRUE(stopped);
}

TEST(CheckpointWriterTaskTest, StoppingWriterAbandonsLongOpenFiles) {
  WritersWorld world;
  ASSERT_OK_AND_ASSIGN(auto file,
                       world.files().NewWritableFile("zmq://localhost:1000/a"));
  ASSERT_OK(world.writer(0).server->Stop(absl::Seconds(5)));
  EXPECT_THAT(file->Close(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace weft
