// Tests saves that fail because the power, the reply or the process is lost.
// Afterwards the checkpoint state names a complete checkpoint, and leftover
// files are deleted.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/saver_test.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::saver_tests {
namespace {

using train::Saver;
using train::SaverOptions;

// Simulates a power failure at each operation of the second save. Afterwards
// the checkpoint state must name a complete checkpoint, either the first or the
// second. Without a step number in their paths, the second checkpoint replaces
// the first.
class SaverPowerTest
    : public testing::TestWithParam<std::pair<bool, std::optional<int64_t>>> {};

TEST_P(SaverPowerTest, PowerFailureLeavesOldOrNewCheckpoint) {
  SaverOptions options;
  // the save that adds a checkpoint deletes the old one
  options.max_to_keep = 1;
  const auto [sharded, second_step] = GetParam();
  options.sharded = sharded;
  const std::optional<int64_t> first_step =
      second_step ? std::optional<int64_t>(1) : std::nullopt;
  bool is_cut_off = true;
  int old_ones = 0;
  int new_ones = 0;
  for (int64_t n = 0; is_cut_off; ++n) {
    const Scope root = Scope::Root();
    const ops::Variable w(root.WithName("w"), Floats({3}, 1));
    MemoryFileSystem disk({.tracks_syncs = true});
    FailingFileSystem files(disk);
    Process process({.compute_threads = 1, .file_system = &files});
    Saver saver(root, options);
    const Output twice = ops::Assign(root, w, ops::Add(root, w, w));
    const Operation init = ops::GlobalVariablesInitializer(root);
    ASSERT_OK_AND_ASSIGN(const auto session,
                         Session::Connect("", root, {.process = &process}));
    ASSERT_OK(session->Run(init));
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = first_step}));
    ASSERT_OK(session->Run(twice));
    const int64_t before = files.num_operations();
    files.FailAllFrom(n, absl::InternalError("no power"));
    (void)saver.Save(*session, "/job/m", {.global_step = second_step});
    is_cut_off = files.num_operations() - before > n;
    disk.LosePower(*NewSeededRandom(static_cast<uint64_t>(n)));
    ASSERT_OK_AND_ASSIGN(const auto newest,
                         checkpoint::LatestCheckpoint(disk, "/job"));
    ASSERT_TRUE(newest.has_value()) << "operation " << n;
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         checkpoint::BundleReader::Open(disk, *newest));
    ASSERT_OK_AND_ASSIGN(const Tensor stored,
                         reader->Read("w", HeapAllocator()));
    const bool is_old = SameBits(stored, Floats({3}, 1));
    EXPECT_TRUE(is_old || stored.flat<float>()[2] == 6) << "operation " << n;
    EXPECT_TRUE(!second_step || is_old == (*newest == "/job/m-1"));
    ++(is_old ? old_ones : new_ones);
  }
  EXPECT_GT(old_ones, 10);
  EXPECT_GT(new_ones, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Saves, SaverPowerTest,
    testing::Values(std::pair(true, std::optional<int64_t>(2)),
                    std::pair(true, std::optional<int64_t>()),
                    std::pair(false, std::optional<int64_t>(2)),
                    std::pair(false, std::optional<int64_t>())));

// After a save has committed, file operations fail for a while. The saver still
// counts its checkpoints and deletes old ones, so none is leaked.
TEST_F(SaverTest, ErrorsAfterCommitLeakNoCheckpoint) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  const auto save = [&](int64_t step) {
    return saver.Save(*session, "/job/m", {.global_step = step}).status();
  };
  ASSERT_OK(save(1));
  ASSERT_OK(files_.CreateDirectory("/job/m-2.meta"));
  ASSERT_OK(files_.CreateDirectory("/job/m-3.meta"));
  EXPECT_FALSE(save(2).ok());
  EXPECT_FALSE(save(3).ok());
  // The checkpoint state names m-1, so m-1 is not deleted.
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-1");
  ASSERT_OK(save(4));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-3", "/job/m-4"}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.data-00000-of-00001").ok());
  EXPECT_OK(files_.FileExists("/job/m-3.index"));
}

// Cleanup must not fail a save, even if the directory is too long to list or is
// not readable.
TEST(SaverSweepTest, UnlistableDirectoryAcceptsSaves) {
  class Unlisted : public MemoryFileSystem {
   public:
    absl::StatusOr<std::vector<std::string>> ListDirectory(
        absl::string_view path) override {
      if (!is_listed) return absl::ResourceExhaustedError("too many names");
      return MemoryFileSystem::ListDirectory(path);
    }
    bool is_listed = false;
  } files;
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3, 4}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  for (const std::string name : {"/job/m-1", "/job/m-2"}) {
    EXPECT_FALSE(files.FileExists(name + ".index").ok());
    EXPECT_FALSE(files.FileExists(name + ".data-00000-of-00001").ok());
  }
  EXPECT_OK(files.FileExists("/job/m-3.data-00000-of-00001"));
  files.is_listed = true;
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 5}));
  ASSERT_OK_AND_ASSIGN(const Paths left, files.ListDirectory("/job"));
  for (const std::string& name : left) {
    EXPECT_FALSE(absl::StartsWith(name, "m-1.") ||
                 absl::StartsWith(name, "m-2.") ||
                 absl::StartsWith(name, "m-3."))
        << name;
  }
}

// If a directory cannot be listed, only the index of an old checkpoint names
// its data files. So the index is kept until it can be read.
TEST(SaverSweepTest, UnreadableIndexIsKeptForTheNextSave) {
  class FailsOnce : public MemoryFileSystem {
   public:
    absl::StatusOr<Paths> ListDirectory(absl::string_view) override {
      return absl::ResourceExhaustedError("too many names");
    }
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
        absl::string_view path) override {
      if (path == unreadable) {
        unreadable.clear();
        return absl::UnavailableError("503 Slow Down");
      }
      return MemoryFileSystem::NewRandomAccessFile(path);
    }
    std::string unreadable;
  } files;
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  files.unreadable = "/job/m-1.index";
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(files.unreadable, "") << "it was not read";
  EXPECT_OK(files.FileExists("/job/m-1.index"));
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 3}));
  for (const std::string ending : {".index", ".meta", ".data-00000-of-00001"}) {
    EXPECT_FALSE(files.FileExists("/job/m-1" + ending).ok()) << ending;
  }
}

// A file system that commits a save, but loses the reply.
class AnswerIsLost : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    if (interrupts && absl::EndsWith(to, ".index")) {
      return absl::UnavailableError("the saving process is killed here");
    }
    RETURN_IF_ERROR(FailingFileSystem::RenameFile(from, to));
    if (!loses || !absl::EndsWith(to, ".index")) return absl::OkStatus();
    return absl::UnavailableError("the answer is lost");
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    if (path == "/job/checkpoint") RETURN_IF_ERROR(state_error);
    return FailingFileSystem::NewRandomAccessFile(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (!full_for.empty() && absl::StrContains(path, full_for)) {
      clock.Advance(absl::Minutes(16));  // a slow disk may take this long
      return absl::ResourceExhaustedError("the disk is full");
    }
    return FailingFileSystem::NewWritableFile(path);
  }
  absl::Status DeleteFile(absl::string_view path) override {
    if (keeps_marker && absl::EndsWith(path, ".saving")) {
      return absl::UnavailableError("the saving process is killed here");
    }
    return FailingFileSystem::DeleteFile(path);
  }
  bool loses = false;
  bool interrupts = false;
  bool keeps_marker = false;
  std::string full_for;  // the disk is full for paths that contain this text
  ManualClock clock;     // the clock of all savers
  absl::Status state_error;  // returned by reads of the checkpoint state
};

class SaverLostAnswerTest : public testing::Test {
 protected:
  // Creates all savers before the session runs, because savers add nodes to the
  // graph.
  SaverLostAnswerTest() {
    for (int i = 0; i < 8; ++i) {
      SaverOptions options;
      options.max_to_keep = i < 6 ? 5 : 0;
      options.name = absl::StrCat("save_", i);
      options.clock = &files_.clock;
      savers_.push_back(std::make_unique<Saver>(root_, options));
    }
    const Operation init = ops::GlobalVariablesInitializer(root_);
    auto session = Session::Connect("", root_, {.process = &process_});
    EXPECT_OK(session.status());
    session_ = *std::move(session);
    EXPECT_OK(session_->Run(init));
  }
  // Returns an unused saver, which represents the saver of a new process.
  Saver& NewSaver() { return *savers_[num_savers_++]; }
  Saver& NewSaverThatKeepsAll() { return *savers_[6 + num_that_keep_all_++]; }
  absl::Status Save(Saver& saver, int64_t step, bool write_state = true) {
    return saver
        .Save(*session_, "/job/m",
              {.global_step = step, .write_state = write_state})
        .status();
  }
  // Saves step 1 with its checkpoint state, and then a checkpoint of step 2
  // whose reply is lost.
  void LoseTheAnswerOf2(Saver& saver) {
    ASSERT_OK(Save(saver, 1));
    files_.loses = true;
    EXPECT_FALSE(Save(saver, 2).ok());
    files_.loses = false;
    ASSERT_OK(disk_.FileExists("/job/m-2.index"));
  }
  bool IsAnythingLeftOf2() {
    return !disk_.GetMatchingPaths("/job/m-2.*").value().empty();
  }

  MemoryFileSystem disk_;
  AnswerIsLost files_{disk_};
  Process process_{{.compute_threads = 1, .file_system = &files_}};
  Scope root_ = Scope::Root();
  ops::Variable w_{root_.WithName("w"), Floats({3}, 1)};
  int num_savers_ = 0;
  int num_that_keep_all_ = 0;
  std::vector<std::unique_ptr<Saver>> savers_;
  std::unique_ptr<Session> session_;
};

TEST_F(SaverLostAnswerTest, UncountedCheckpointIsDeleted) {
  Saver& saver = NewSaver();
  LoseTheAnswerOf2(saver);
  ASSERT_OK(Save(saver, 3));
  EXPECT_FALSE(IsAnythingLeftOf2());
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1", "/job/m-3"}));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

TEST_F(SaverLostAnswerTest, NextProcessDeletesUncountedCheckpoint) {
  LoseTheAnswerOf2(NewSaver());
  Saver& next = NewSaver();
  ASSERT_OK(next.RecoverLastCheckpoints(*session_, {"/job/m-1"}));
  // For a while the checkpoint state is unreadable, so it is unknown which
  // checkpoints it names.
  files_.state_error = absl::UnavailableError("the state is away");
  EXPECT_THAT(Save(next, 3), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(IsAnythingLeftOf2());
  files_.state_error = absl::OkStatus();
  ASSERT_OK(Save(next, 3));
  EXPECT_FALSE(IsAnythingLeftOf2());
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

// Two saves are interrupted after their data and before their index. Their data
// files have different names, and all are deleted.
TEST_F(SaverLostAnswerTest, DataOfInterruptedSavesIsDeleted) {
  const auto save = [&](Saver& saver) {
    return saver.Save(*session_, "s3://bucket/job/m").status();
  };
  const auto num_data = [&] {
    const Paths names = disk_.ListDirectory("s3://bucket/job").value();
    return absl::c_count_if(names, [](const auto& name) {
      return absl::StrContains(name, ".data-");
    });
  };
  ASSERT_OK(save(NewSaver()));
  files_.interrupts = true;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(save(NewSaver()).ok());
  files_.interrupts = false;
  Saver& next = NewSaver();
  ASSERT_OK(save(next));
  EXPECT_GT(num_data(), 1) << "those saves may still be running";
  files_.clock.Advance(absl::Minutes(16));
  ASSERT_OK(save(next));
  EXPECT_EQ(num_data(), 1);
  EXPECT_OK(next.Restore(*session_, "s3://bucket/job/m"));
}

// The disk has room for the checkpoint, but not for the checkpoint state, which
// would name it.
TEST_F(SaverLostAnswerTest, UnnamedCheckpointIsDeletedAfterRecovery) {
  for (const std::string full_for : {"/job/checkpoint", ".meta"}) {
    for (const bool goes_on : {true, false}) {
      SCOPED_TRACE(absl::StrCat(full_for, goes_on));
      Saver& saver = NewSaver();
      ASSERT_OK(Save(saver, 1));
      files_.full_for = full_for;
      EXPECT_THAT(Save(saver, 2),
                  StatusIs(absl::StatusCode::kResourceExhausted));
      files_.full_for.clear();
      ASSERT_OK(disk_.FileExists("/job/m-2.index"));
      // The session is lost. Training resumes from the checkpoint that the
      // checkpoint state names.
      if (!goes_on) {
        ASSERT_OK(saver.RecoverLastCheckpoints(*session_, {"/job/m-1"}));
      }
      ASSERT_OK(Save(saver, 3));
      EXPECT_EQ(IsAnythingLeftOf2(), goes_on);
      EXPECT_EQ(saver.LastCheckpoints(),
                goes_on ? (Paths{"/job/m-1", "/job/m-2", "/job/m-3"})
                        : (Paths{"/job/m-1", "/job/m-3"}));
      ASSERT_OK(disk_.DeleteRecursively("/job"));
    }
  }
}

TEST_F(SaverLostAnswerTest, CheckpointSavedAgainIsKept) {
  for (const bool write_state : {true, false}) {
    Saver& saver = NewSaver();
    LoseTheAnswerOf2(saver);
    ASSERT_OK(Save(saver, 2, write_state));
    ASSERT_OK(Save(saver, 3));
    ASSERT_OK(Save(saver, 4));
    EXPECT_TRUE(IsAnythingLeftOf2()) << write_state;
    // Another process does not delete the checkpoint either.
    ASSERT_OK(Save(NewSaver(), 5));
    EXPECT_TRUE(IsAnythingLeftOf2()) << write_state;
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

TEST_F(SaverLostAnswerTest, KeepAllSaverKeepsUncountedCheckpoint) {
  Saver& saver = NewSaverThatKeepsAll();
  LoseTheAnswerOf2(saver);
  ASSERT_OK(Save(saver, 3));
  ASSERT_OK(Save(NewSaverThatKeepsAll(), 4));
  EXPECT_TRUE(IsAnythingLeftOf2());
}

// The checkpoint state names a checkpoint although the saver did not count it,
// for example because the next program restored it and did not recover older
// ones.
TEST_F(SaverLostAnswerTest, CheckpointNamedByStateIsKept) {
  for (const bool is_killed : {false, true}) {
    Saver& saver = NewSaver();
    if (is_killed) {
      files_.keeps_marker = true;
    } else {
      LoseTheAnswerOf2(saver);
    }
    ASSERT_OK(Save(saver, 3));
    files_.keeps_marker = false;
    ASSERT_OK(disk_.FileExists("/job/m.saving"));
    Saver& next = NewSaver();
    for (const int64_t step : {4, 5, 6}) ASSERT_OK(Save(next, step));
    EXPECT_OK(disk_.FileExists("/job/m-3.index")) << is_killed;
    EXPECT_FALSE(IsAnythingLeftOf2());
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

// Step 1 was left as uncounted. A saver that keeps all checkpoints keeps it,
// and later savers must not delete it.
TEST_F(SaverLostAnswerTest, CheckpointAdoptedByKeepAllSaverIsKept) {
  files_.keeps_marker = true;
  ASSERT_OK(Save(NewSaver(), 1));
  ASSERT_OK(Save(NewSaverThatKeepsAll(), 2));
  files_.keeps_marker = false;
  Saver& next = NewSaver();
  for (const int64_t step : {3, 4}) ASSERT_OK(Save(next, step));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

TEST_F(SaverLostAnswerTest, CheckpointNamedByAnotherFileIsKept) {
  files_.keeps_marker = true;
  ASSERT_OK(Save(NewSaver(), 1));
  files_.keeps_marker = false;
  Saver& best = NewSaver();
  const auto save = [&](int64_t step) {
    return best
        .Save(*session_, "/job/m",
              {.global_step = step, .latest_filename = "best"})
        .status();
  };
  for (const int64_t step : {2, 3}) ASSERT_OK(save(step));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
  // A checkpoint that neither checkpoint state file names is deleted.
  files_.loses = true;
  EXPECT_FALSE(save(4).ok());
  files_.loses = false;
  ASSERT_OK(Save(NewSaver(), 5));
  EXPECT_FALSE(disk_.FileExists("/job/m-4.index").ok());
  EXPECT_OK(disk_.FileExists("/job/m-3.index"));
}

// If the checkpoint state is unreadable, saves succeed, and leftover files are
// kept.
TEST_F(SaverLostAnswerTest, UnreadableStateDoesNotBlockSaves) {
  for (const absl::Status& error : {absl::PermissionDeniedError("not yours"),
                                    absl::FailedPreconditionError("a folder"),
                                    absl::DataLossError("damaged")}) {
    Saver& saver = NewSaver();
    LoseTheAnswerOf2(saver);
    files_.state_error = error;
    ASSERT_OK(Save(saver, 3)) << error;
    files_.state_error = absl::OkStatus();
    ASSERT_OK(Save(saver, 4));
    EXPECT_TRUE(IsAnythingLeftOf2());
    ASSERT_OK_AND_ASSIGN(const auto latest,
                         checkpoint::LatestCheckpoint(disk_, "/job"));
    EXPECT_EQ(latest, "/job/m-4");
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

// Another process recorded deletions in a directory whose state cannot be read
// now. They are not decided by the state of this directory, and not forgotten.
TEST_F(SaverLostAnswerTest, DeletionInOtherDirectoryWaitsForItsState) {
  Saver& first = NewSaver();
  ASSERT_OK(Save(first, 1, /*write_state=*/false));
  ASSERT_OK(Save(first, 2));
  ASSERT_OK(disk_.WriteFileAtomically("/job/m.saving",
                                      "save 9\ndeleting m-1\ndeleting m-2\n"));
  Saver& next = NewSaver();
  files_.state_error = absl::UnavailableError("the state is away");
  EXPECT_THAT(Save(next, 3), StatusIs(absl::StatusCode::kUnavailable));
  for (const int64_t step : {7, 8}) {
    ASSERT_OK(next.Save(*session_, "/other/m", {.global_step = step}));
    EXPECT_OK(disk_.FileExists("/job/m-1.index"));
    EXPECT_OK(disk_.FileExists("/job/m-2.index"));
  }
  files_.state_error = absl::OkStatus();
  ASSERT_OK(Save(next, 3));
  EXPECT_FALSE(disk_.FileExists("/job/m-1.index").ok());
  EXPECT_OK(disk_.FileExists("/job/m-2.index"));
}

// A file system that calls a function when the graph of a checkpoint is
// written.
class CallsAtGraph : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (on_graph && absl::StrContains(path, ".meta")) {
      std::exchange(on_graph, nullptr)();
    }
    return FailingFileSystem::NewWritableFile(path);
  }
  std::function<void()> on_graph;
};

// After a session is lost, one of its saves may still be running. Recovery must
// not disturb that save.
TEST(SaverTurnTest, RecoveryDoesNotDisturbRunningSave) {
  MemoryFileSystem disk;
  CallsAtGraph files(disk);
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  Saver saver(root);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  files.on_graph = [&] {
    EXPECT_OK(saver.RecoverLastCheckpoints(*session, {"/job/m-1"}));
  };
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(files.on_graph, nullptr);
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1", "/job/m-2"}));
  EXPECT_OK(saver.RecoverLastCheckpoints(*session, {"/job/m-1"}));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1"}));
}

// A sharded save that fails halfway leaves shards. The next save deletes them
// before it begins.
TEST(SaverSweepTest, ShardsOfFailedSaveAreDeletedByNext) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  SaverOptions options;
  options.sharded = true;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  int left = 0;
  for (int64_t n = 0; n < 30; ++n) {
    files.FailAllFrom(n, absl::InternalError("no disk"));
    const auto failed = saver.Save(*session, "/job/m", {.global_step = 2});
    files.Heal();
    if (failed.ok()) break;
    const auto num_folders = [&] {
      return disk.GetMatchingPaths("/job/m-2_temp*").value().size();
    };
    if (num_folders() > 0) ++left;
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 3}));
    EXPECT_EQ(num_folders(), 0u) << "operation " << n;
  }
  EXPECT_GT(left, 0);
}

// A disk whose power fails just before a directory is synced. The sync then
// succeeds, as a retry after a restart does.
class PowerFailsBeforeSync : public FailingFileSystem {
 public:
  explicit PowerFailsBeforeSync(MemoryFileSystem& disk)
      : FailingFileSystem(disk), disk_(disk) {}

  // Cuts the power before the `n`-th sync from now.
  void FailBefore(int n, uint64_t seed) {
    syncs_left_ = n;
    random_ = NewSeededRandom(seed);
  }
  absl::Status SyncDirectory(absl::string_view path) override {
    if (syncs_left_ >= 0 && syncs_left_-- == 0) disk_.LosePower(*random_);
    return FailingFileSystem::SyncDirectory(path);
  }
  void FailNoMore() { syncs_left_ = -1; }
  bool has_failed() const { return syncs_left_ < 0; }

 private:
  MemoryFileSystem& disk_;
  int syncs_left_ = -1;
  std::unique_ptr<Random> random_;
};

// Saves three times with max_to_keep=1. Calls `disturb` before the second save
// and `after` after it. Returns the files in the directory at the end.
Paths AfterADisturbedSave(MemoryFileSystem& disk, FileSystem& files,
                          absl::FunctionRef<void()> disturb,
                          absl::FunctionRef<void()> after) {
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  SaverOptions options;
  options.sharded = true;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const Operation init = ops::GlobalVariablesInitializer(root);
  const auto session = Session::Connect("", root, {.process = &process});
  EXPECT_OK(session.status());
  EXPECT_OK((*session)->Run(init));
  const auto save = [&](int64_t step) {
    return saver.Save(**session, "/job/m", {.global_step = step}).status();
  };
  EXPECT_OK(save(1));
  disturb();
  save(2).IgnoreError();
  after();
  EXPECT_OK(save(3));
  return disk.ListDirectory("/job").value();
}

// Returns all names except the checkpoint state, the marker of unfinished
// saves, and the files of the newest checkpoint (step 3).
Paths LeftBeside(const Paths& names) {
  Paths left;
  for (const std::string& name : names) {
    if (name != "checkpoint" && name != "m.saving" &&
        !absl::StartsWith(name, "m-3.")) {
      left.push_back(name);
    }
  }
  return left;
}

// A file operation fails, and then the power. Old checkpoints may reappear,
// completely or partially. They are deleted again.
TEST(SaverSweepTest, CheckpointsRevivedByPowerLossAreDeleted) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    bool has_failed = true;
    int64_t n = 0;
    for (; has_failed; ++n) {
      MemoryFileSystem disk({.tracks_syncs = true});
      FailingFileSystem files(disk);
      const std::unique_ptr<Random> random = NewSeededRandom(seed);
      int64_t before = 0;
      const Paths names = AfterADisturbedSave(
          disk, files,
          [&] {
            before = files.num_operations();
            files.FailOperation(n, absl::UnavailableError("no disk"));
          },
          [&] {
            has_failed = files.num_operations() - before > n;
            files.Heal();
            disk.LosePower(*random);
          });
      EXPECT_EQ(LeftBeside(names), Paths())
          << "seed " << seed << ", operation " << n;
    }
    EXPECT_GT(n, 20);
  }
}

TEST(SaverSweepTest, FilesRevivedBeforeSyncAreDeleted) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    bool has_failed = true;
    int n = 0;
    for (; has_failed; ++n) {
      MemoryFileSystem disk({.tracks_syncs = true});
      PowerFailsBeforeSync files(disk);
      const Paths names = AfterADisturbedSave(
          disk, files, [&] { files.FailBefore(n, seed); },
          [&] {
            has_failed = files.has_failed();
            files.FailNoMore();
          });
      EXPECT_EQ(LeftBeside(names), Paths())
          << "seed " << seed << ", sync " << n;
    }
    EXPECT_GT(n, 4);
  }
}

}  // namespace
}  // namespace weft::saver_tests
