// Tests checkpoints of a cluster with a checkpoint writer, where no two
// processes share a disk: sharded saves by train::Saver to zmq:// paths are
// written only by the writer and restored from there. Also tests what a program
// observes when the writer dies or its disk is full.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using train::Saver;
using train::SaverOptions;
using Paths = std::vector<std::string>;

constexpr char kWriter[] = "checkpoint_writer";
constexpr char kWriterTask[] = "/job:checkpoint_writer/replica:0/task:0";

Tensor Floats(const TensorShape& shape, float first) {
  Tensor tensor(DT_FLOAT, shape);
  for (float& value : tensor.mutable_flat<float>()) value = first++;
  return tensor;
}

// Disks has a separate disk for each process.
class Disks {
 public:
  // `writers` is the writer's disk; it must outlive this object.
  explicit Disks(FileSystem& writers) : writers_(writers) {}

  FileSystem* Of(const std::string& name) {
    if (name == kWriterTask) return &writers_;
    auto& disk = disks_[name];
    if (disk == nullptr) disk = std::make_unique<MemoryFileSystem>();
    return disk.get();
  }
  // Returns whether no process except the writer has files.
  bool OthersAreEmpty() {
    for (auto& [name, disk] : disks_) {
      for (const char* folder : {"/", "."}) {
        if (!disk->ListDirectory(folder)->empty()) return false;
      }
    }
    return true;
  }

 private:
  FileSystem& writers_;
  std::map<std::string, std::unique_ptr<MemoryFileSystem>> disks_;
};

TestCluster::Options OptionsFor(ClusterKind kind, Disks& disks) {
  TestCluster::Options options;
  options.kind = kind;
  options.jobs = {{"ps", 2}, {"worker", 1}, {kWriter, 1}};
  options.file_system = [&disks](const std::string& name) {
    return disks.Of(name);
  };
  return options;
}

// A program with two variables on two ps tasks, saved by the checkpoint writer.
// The value of `a` is large enough to be streamed.
class Program {
 public:
  explicit Program(TestCluster& cluster, int max_to_keep = 5)
      : Program(cluster, absl::StrCat(cluster.target(kWriter, 0), "/ckpt"),
                max_to_keep) {}
  Program(TestCluster& cluster, const std::string& folder, int max_to_keep)
      : cluster_(cluster),
        folder_(folder),
        a_(ps(0).WithName("a"), Floats({1000, 700}, 1)),
        b_(ps(1).WithName("b"), Floats({4}, 10)),
        train_(ops::AssignAdd(ps(1), b_, ops::Const(ps(1), Floats({4}, 1)))),
        saver_(root_, Options(max_to_keep)),
        init_(ops::GlobalVariablesInitializer(root_)) {
    auto session = Session::Connect(cluster.target("worker", 0), root_,
                                    cluster.session_options());
    EXPECT_OK(session);
    session_ = *std::move(session);
    EXPECT_OK(session_->Run(init_));
  }

  FileSystem& files() {
    return cluster_.session_options().process->file_system();
  }
  const std::string& folder() const { return folder_; }
  Saver& saver() { return saver_; }

  absl::StatusOr<std::string> Save(int64_t step) {
    return saver_.Save(*session_, absl::StrCat(folder_, "/model"),
                       {.global_step = step});
  }
  absl::Status Restore(const std::string& path) {
    return saver_.Restore(*session_, path);
  }
  absl::Status Train() { return session_->Run(train_).status(); }
  Tensor A() { return session_->Run(a_).value_or(Tensor()); }
  Tensor B() { return session_->Run(b_).value_or(Tensor()); }
  absl::StatusOr<std::optional<std::string>> Latest() {
    return checkpoint::LatestCheckpoint(files(), folder_);
  }

 private:
  Scope ps(int index) const {
    return root_.WithDevice(absl::StrCat("/job:ps/task:", index));
  }
  SaverOptions Options(int max_to_keep) {
    SaverOptions options;
    options.sharded = true;
    options.max_to_keep = max_to_keep;
    options.file_system = &files();
    return options;
  }

  TestCluster& cluster_;
  const std::string folder_;
  const Scope root_ = Scope::Root();
  const ops::Variable a_, b_;
  const Output train_;
  Saver saver_;
  const Operation init_;
  std::unique_ptr<Session> session_;
};

// Returns the names in a folder. Names of data files contain the number of
// their save, which is removed.
Paths NamesIn(FileSystem& files, const std::string& folder) {
  Paths names = files.ListDirectory(folder).value_or(Paths());
  for (std::string& name : names) {
    const size_t of = name.find("-of-");
    if (of != std::string::npos) name.resize(of);
  }
  return names;
}

class CheckpointWriterTest : public testing::TestWithParam<ClusterKind> {};

TEST_P(CheckpointWriterTest, ShardedSaveRoundTripsThroughTheWriter) {
  MemoryFileSystem writers;
  Disks disks(writers);
  TestCluster cluster(OptionsFor(GetParam(), disks));
  Program program(cluster);
  ASSERT_OK_AND_ASSIGN(const std::string path, program.Save(1));
  EXPECT_EQ(path, absl::StrCat(program.folder(), "/model-1"));
  // In a cluster of one process, all tasks share a disk. In other clusters the
  // files are on the writer's disk.
  FileSystem& disk =
      GetParam() == ClusterKind::kOneProcess ? *disks.Of("client") : writers;
  EXPECT_EQ(NamesIn(disk, "ckpt"),
            (Paths{"checkpoint", "model-1.data-00000", "model-1.data-00001",
                   "model-1.index", "model-1.meta"}));
  if (GetParam() != ClusterKind::kOneProcess) {
    EXPECT_TRUE(disks.OthersAreEmpty());
  }
  const Tensor saved_b = program.B();
  ASSERT_OK(program.Train());
  EXPECT_FALSE(SameBits(program.B(), saved_b));
  ASSERT_OK(program.Restore(path));
  EXPECT_TRUE(SameBits(program.B(), saved_b));
  EXPECT_TRUE(SameBits(program.A(), Floats({1000, 700}, 1)));
  EXPECT_EQ(program.Latest().value(), path);
}

TEST_P(CheckpointWriterTest, WriterDeletesOldCheckpoints) {
  MemoryFileSystem writers;
  Disks disks(writers);
  TestCluster cluster(OptionsFor(GetParam(), disks));
  Program program(cluster, /*max_to_keep=*/2);
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_OK(program.Train());
    ASSERT_OK(program.Save(step));
  }
  EXPECT_EQ(NamesIn(program.files(), program.folder()),
            (Paths{"checkpoint", "model-2.data-00000", "model-2.data-00001",
                   "model-2.index", "model-2.meta", "model-3.data-00000",
                   "model-3.data-00001", "model-3.index", "model-3.meta"}));
  EXPECT_EQ(program.Latest().value(),
            absl::StrCat(program.folder(), "/model-3"));
  ASSERT_OK_AND_ASSIGN(
      const auto state,
      checkpoint::ReadCheckpointState(program.files(), program.folder()));
  EXPECT_EQ(state.all_model_checkpoint_paths,
            program.saver().LastCheckpoints());
  EXPECT_THAT(program.Restore(absl::StrCat(program.folder(), "/model-1")),
              StatusIs(absl::StatusCode::kNotFound, "model-1"));
}

// A ps without local files reads a remote file as if it were local.
TEST_P(CheckpointWriterTest, OpsWriteMatchAndReadRemoteFiles) {
  MemoryFileSystem writers;
  Disks disks(writers);
  TestCluster cluster(OptionsFor(GetParam(), disks));
  const std::string folder = absl::StrCat(cluster.target(kWriter, 0), "/input");
  const Scope root = Scope::Root();
  const Scope ps = root.WithDevice("/job:ps/task:0");
  const Output path = ops::Placeholder(ps, DT_STRING);
  const Output text = ops::Placeholder(ps, DT_STRING);
  const Operation write = ops::WriteFile(ps, path, text);
  const ops::Queue queue =
      ops::Queue::Fifo(ps, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const Operation add = queue.EnqueueMany(
      ps, {ops::MatchingFiles(ps, absl::StrCat(folder, "/*.txt"))});
  const Operation close = queue.Close(ps);
  const Output line = ops::Reader::TextLine(ps).Read(ps, queue).value;
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  const std::pair<const char*, const char*> files[] = {{"b.txt", "3"},
                                                       {"a.txt", "1\n2\n"}};
  for (const auto& [name, contents] : files) {
    ASSERT_OK(
        session->Run({{path, Tensor::Scalar(absl::StrCat(folder, "/", name))},
                      {text, Tensor::Scalar(contents)}},
                     write));
  }
  ASSERT_OK(session->Run(add));
  ASSERT_OK(session->Run(close));
  Paths lines;
  absl::StatusOr<Tensor> next;
  while ((next = session->Run(line)).ok()) {
    lines.push_back(next->scalar<std::string>());
  }
  EXPECT_THAT(next, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(lines, (Paths{"1", "2", "3"}));
  if (GetParam() != ClusterKind::kOneProcess) {
    EXPECT_TRUE(disks.OthersAreEmpty());
  }
}

// Each writer stores its own shards, and the first writer also stores all other
// files. Together their folders act as one folder.
TEST(SeveralCheckpointWritersTest, TwoWritersStoreOneShardedSave) {
  MemoryFileSystem first;
  Disks disks(first);
  TestCluster::Options options = OptionsFor(ClusterKind::kSimulated, disks);
  options.jobs = {{"ps", 2}, {"worker", 1}, {kWriter, 2}};
  TestCluster cluster(options);
  const std::string one = cluster.target(kWriter, 1);
  const std::string both =
      absl::StrCat(cluster.target(kWriter, 0), ",", one.substr(6));
  Program program(cluster, absl::StrCat(both, "/ckpt"), /*max_to_keep=*/1);
  ASSERT_OK(program.Save(1));
  ASSERT_OK(program.Train());
  const Tensor saved = program.B();
  ASSERT_OK_AND_ASSIGN(const std::string path, program.Save(2));
  EXPECT_EQ(NamesIn(first, "ckpt"), (Paths{"checkpoint", "model-2.data-00000",
                                           "model-2.index", "model-2.meta"}));
  FileSystem& second = *disks.Of("/job:checkpoint_writer/replica:0/task:1");
  EXPECT_EQ(NamesIn(second, "ckpt"), (Paths{"model-2.data-00001"}));
  ASSERT_OK(program.Train());
  ASSERT_OK(program.Restore(path));
  EXPECT_TRUE(SameBits(program.B(), saved));
  EXPECT_TRUE(SameBits(program.A(), Floats({1000, 700}, 1)));
  EXPECT_EQ(program.Latest().value(), path);
  // Without the second writer, its shard is unavailable, but not lost.
  cluster.Crash(kWriter, 1);
  EXPECT_THAT(program.Restore(path),
              StatusIs(absl::StatusCode::kUnavailable, one));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckpointWriterTest,
                         testing::ValuesIn(kAllClusterKinds),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

TEST(CheckpointWriterFailureTest, FullDiskFailsOnlyTheSave) {
  MemoryFileSystem memory;
  FailingFileSystem writers(memory);
  Disks disks(writers);
  TestCluster cluster(OptionsFor(ClusterKind::kSockets, disks));
  Program program(cluster);
  ASSERT_OK_AND_ASSIGN(const std::string first, program.Save(1));
  writers.LimitSpace(1 << 20);
  EXPECT_THAT(program.Save(2), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "No space left on device"));
  EXPECT_OK(program.Train());
  EXPECT_EQ(program.Latest().value(), first);
  writers.Heal();
  const Tensor saved = program.B();
  ASSERT_OK_AND_ASSIGN(const std::string third, program.Save(3));
  ASSERT_OK(program.Train());
  ASSERT_OK(program.Restore(third));
  EXPECT_TRUE(SameBits(program.B(), saved));
  EXPECT_EQ(program.Latest().value(), third);
}

TEST(CheckpointWriterFailureTest, LostWriterFailsOnlyTheSave) {
  GatedFileSystem writers;
  Disks disks(writers);
  TestCluster cluster(OptionsFor(ClusterKind::kSimulated, disks));
  Program program(cluster);
  ASSERT_OK_AND_ASSIGN(const std::string first, program.Save(1));
  writers.Shut(cluster.scheduler(), "model-2");
  absl::StatusOr<std::string> second = absl::UnknownError("not yet");
  cluster.scheduler().Schedule(Pool::kBlocking,
                               [&] { second = program.Save(2); });
  cluster.scheduler().RunUntilIdle();
  EXPECT_GT(writers.num_waiting(), 0);
  EXPECT_OK(program.Train());  // runs while a save waits for the disk
  cluster.Crash(kWriter, 0);
  cluster.scheduler().AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnavailable, "zmq://"));
  EXPECT_OK(program.Train());
  writers.Open();
  cluster.Start(kWriter, 0);
  cluster.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(program.Latest().value(), first);
  EXPECT_FALSE(writers.FileExists("ckpt/model-2.index").ok());
  const Tensor saved = program.B();
  ASSERT_OK_AND_ASSIGN(const std::string third, program.Save(3));
  ASSERT_OK(program.Train());
  ASSERT_OK(program.Restore(third));
  EXPECT_TRUE(SameBits(program.B(), saved));
}

}  // namespace
}  // namespace weft
