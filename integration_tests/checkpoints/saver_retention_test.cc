// Tests which checkpoints the Saver keeps, deletes and names in the checkpoint
// state: in moved and copied directories, and for programs that are started
// later.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "integration_tests/testing/saver_test.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/routed_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::saver_tests {
namespace {

using train::Saver;
using train::SaverOptions;

// A crashed save leaves files, which are named in its marker file. The next
// save of the same path deletes them. It keeps all other files, however similar
// their names are.
TEST_F(SaverTest, LeftoversOfSaveAreDeleted) {
  const std::string of_tensorflow(32, 'b');
  const Paths folders = {"model.ckpt-7_temp_00000000000a1b0c",
                         "model.ckpt-7_temp_" + of_tensorflow};
  const Paths other_folders = {"model.ckpt-7_temp",
                               "model.ckpt-7_temp2",
                               "model.ckpt-7_temp_20261125",
                               "model.ckpt-7_temp_00000000000a1b0d",
                               "model.ckpt_temp",
                               "model.ckpt_temp_0123456789abcdef",
                               "model.ckpt-8_temp_00000000000a1b0c",
                               "model.ckpt-8_temp_" + of_tensorflow};
  for (const Paths* names : {&folders, &other_folders}) {
    for (const std::string& name : *names) {
      ASSERT_OK(files_.CreateDirectories("/job/" + name));
    }
  }
  const Paths swept = {"model.ckpt-7.index.tempstate12",
                       "model.ckpt-7.data-00000-of-00001.tempstate3",
                       "model.ckpt-7.data-00000-of-00001",
                       "model.ckpt-9.meta.tmp",
                       "model.ckpt-9.index.tempstate5",
                       folders[0] + "/part-00000-of-00002.index"};
  const Paths stay = {
      // An unfinished save writes no .meta file.
      "model.ckpt-7.meta",
      // Similar names that belong to other files.
      "model.ckpt-7.data-mine.index", "model.ckpt-7.data-1-of-2x",
      "model.ckpt-9.data-00000-of-00001", "model.ckpt-9.meta",
      "model.ckpt-9.index",
      // Files of saves that the marker file does not name.
      "model.ckpt-8.index.tempstate1", "model.ckpt-8.data-00000-of-00001",
      "model.ckpt-8.meta", "model.ckpt-7.index.tempstate",
      "model.ckpt-7_of_mine.meta", "model.ckpt-7.data-00000-of-00001.old",
      "other.data-00000-of-00001"};
  for (const Paths* names : {&swept, &stay}) {
    for (const std::string& name : *names) {
      ASSERT_OK(files_.WriteFileAtomically("/job/" + name, "bytes"));
    }
  }
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/model.ckpt.saving",
      "save 12\nsaving a1b0c model.ckpt-7\nsaving 5 model.ckpt-9\n"
      "saving 6 other\nsaving 7 ../job/model.ckpt-8\nmodel.ckpt-8\n"));
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaveAs("/job/model.ckpt", root);
  for (const std::string& name : swept) {
    EXPECT_FALSE(files_.FileExists("/job/" + name).ok()) << name;
  }
  for (const std::string& name : folders) {
    EXPECT_FALSE(files_.FileExists("/job/" + name).ok()) << name;
  }
  for (const std::string& name : stay) {
    EXPECT_OK(files_.FileExists("/job/" + name)) << name;
  }
  for (const std::string& name : other_folders) {
    EXPECT_OK(files_.FileExists("/job/" + name)) << name;
  }
}

// A process dies before it deletes the checkpoints that it has listed for
// deletion. The next process deletes those that the checkpoint state does not
// name.
TEST_F(SaverTest, OldCheckpointsOfDeadProcessAreDeleted) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver first(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_OK(first.Save(*session, "/job/m",
                         {.global_step = step, .write_state = step != 1}));
  }
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/m.saving",
      "save 9\nsaving 9 m-3\ndeleting m-1\ndeleting m-2\ndeleting m-0\n"));
  Saver second(root, options);
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 4}));
  Paths indexes;
  for (const std::string& name : Files()) {
    if (absl::EndsWith(name, ".index")) indexes.push_back(name);
    EXPECT_FALSE(absl::StartsWith(name, "m-1")) << name;
  }
  EXPECT_EQ(indexes, (Paths{"m-2.index", "m-3.index", "m-4.index"}));
}

// One checkpoint is saved under two spellings of its path. They count as one
// checkpoint.
TEST_F(SaverTest, OtherSpellingOfNewCheckpointIsKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m"));
  for (const char* path : {"/job//m", "/job/./m", "/job/m"}) {
    ASSERT_OK(saver.Save(*session, path));
    EXPECT_EQ(saver.LastCheckpoints(), Paths{path});
    ASSERT_OK(saver.Restore(*session, "/job/m")) << path;
  }
}

// Saves to the same folder, first by its relative path, then by its absolute
// path.
TEST(SaverPathsTest, AbsolutePathOfNewCheckpointIsKept) {
  LocalFileSystem files;
  const std::string name = "saver_paths_test";
  const std::string here = std::filesystem::current_path();
  (void)files.DeleteRecursively(name);
  Process process;
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, name + "/m"));
  const std::string whole = absl::StrCat(here, "/", name, "/m");
  ASSERT_OK(saver.Save(*session, whole));
  ASSERT_OK(saver.Restore(*session, whole));
  (void)files.DeleteRecursively(name);
}

// A file system in which "/alias" is a link to "/job".
class LinkedFiles : public RoutedFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    if (path == unreadable) return absl::UnavailableError("the disk is away");
    return RoutedFileSystem::NewRandomAccessFile(path);
  }
  MemoryFileSystem disk;
  std::string unreadable;  // path of a file that cannot be read for now

 private:
  absl::StatusOr<Place> Find(absl::string_view path) override {
    std::string target(path);
    if (absl::ConsumePrefix(&path, "/alias")) {
      target = absl::StrCat("/job", path);
    }
    return Place{&disk, nullptr, target};
  }
};

// If the index of an old checkpoint is unreadable, its files may belong to the
// new checkpoint under another path, or to one that the checkpoint state names.
// It must be kept.
TEST(SaverPathsTest, PossibleAliasOfCheckpointIsKept) {
  LinkedFiles files;
  ASSERT_OK(files.CreateDirectory("/job"));
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  Saver next(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m"));
  files.unreadable = "/job/m.index";
  ASSERT_OK(saver.Save(*session, "/alias/m"));
  EXPECT_OK(saver.Restore(*session, "/alias/m"));
  // Once its index is readable, the first checkpoint is known to be another one
  // and is deleted.
  files.unreadable.clear();
  ASSERT_OK(saver.Save(*session, "/alias/n"));
  EXPECT_FALSE(files.FileExists("/job/m.index").ok());
  EXPECT_OK(saver.Restore(*session, "/alias/n"));

  // Another process has listed a checkpoint for deletion that the checkpoint
  // state names now.
  ASSERT_OK(files.WriteFileAtomically("/job/checkpoint",
                                      R"(model_checkpoint_path: "/alias/n")"));
  ASSERT_OK(files.WriteFileAtomically("/job/n.saving", "save 9\ndeleting n\n"));
  files.unreadable = "/alias/n.index";
  ASSERT_OK(next.Save(*session, "/job/n", {.global_step = 2}));
  files.unreadable.clear();
  EXPECT_OK(next.Restore(*session, "/alias/n"));
}

// A file is kept if its name only begins with the name of a deleted checkpoint.
TEST_F(SaverTest, CheckpointWithLongerNameIsKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  Saver saver(root, options);
  Saver other(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const char* mine : {"/job/m", "/job/m", "/job/n"}) {
    ASSERT_OK(other.Save(*session, "/job/m.data-aug", {.write_state = false}));
    ASSERT_OK(saver.Save(*session, mine));
    ASSERT_OK(saver.Restore(*session, "/job/m.data-aug"));
    ASSERT_OK(files_.FileExists("/job/m.data-aug.meta"));
  }
  EXPECT_FALSE(files_.FileExists("/job/m.index").ok());
}

TEST_F(SaverTest, StateWithRelativePathsMayBeMoved) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.save_relative_paths = true;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  ASSERT_OK(files_.CreateDirectories("/moved"));
  for (const std::string& name : Files()) {
    ASSERT_OK(files_.RenameFile("/job/" + name, "/moved/" + name));
  }
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/moved"));
  EXPECT_EQ(latest, "/moved/m-1");
}

// Training continues in a copy of a directory whose checkpoint state contains
// the paths of the original. Covers a copy of all files, and a copy of only the
// newest checkpoint.
TEST_F(SaverTest, TrainingInACopyLeavesOriginalUnchanged) {
  for (const std::string copied : {"m-", "m-2"}) {
    const Scope root = Scope::Root();
    const ops::Variable w(root.WithName("w"), Floats({2}, 1));
    SaverOptions options = Options();
    options.max_to_keep = 2;
    Saver first(root, options);
    Saver second(root, options);
    const Output twice = ops::Assign(root, w, ops::Add(root, w, w));
    const auto session = ConnectAndInitialize(root);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 1}));
    ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 2}));
    const std::string copy = "/copy_of_" + copied;
    const Paths original = Files();
    ASSERT_OK(files_.CreateDirectories(copy));
    for (const std::string& name : original) {
      if (name != "checkpoint" && !absl::StartsWith(name, copied)) continue;
      ASSERT_OK_AND_ASSIGN(const std::string bytes,
                           files_.ReadFile("/job/" + name));
      ASSERT_OK(files_.WriteFileAtomically(copy + "/" + name, bytes));
    }
    ASSERT_OK_AND_ASSIGN(const auto state,
                         checkpoint::ReadCheckpointState(files_, copy));
    EXPECT_EQ(state.model_checkpoint_path, copy + "/m-2");
    ASSERT_OK(second.Restore(*session, state.model_checkpoint_path));
    ASSERT_OK(second.RecoverLastCheckpoints(*session,
                                            state.all_model_checkpoint_paths));
    ASSERT_OK(session->Run(twice));
    for (const int64_t step : {3, 4, 5}) {
      ASSERT_OK(second.Save(*session, copy + "/m", {.global_step = step}));
    }
    EXPECT_EQ(Files(), original);
    EXPECT_EQ(Stored("/job/m-2", "w")->flat<float>()[1], 2);
    EXPECT_EQ(second.LastCheckpoints(), (Paths{copy + "/m-4", copy + "/m-5"}));
    EXPECT_FALSE(files_.FileExists(copy + "/m-2.index").ok());
    for (const std::string& name : original) {
      ASSERT_OK(files_.DeleteFile("/job/" + name));
    }
  }
}

// The marker file of unfinished saves is crafted, or was truncated by a failing
// disk.
TEST_F(SaverTest, CorruptSaveMarkerIsHarmless) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(files_.CreateDirectories("/job"));
  for (const std::string& contents :
       {std::string(), std::string("save "), std::string("save 1\nsaving "),
        std::string("save 1\nsaving 1 m-\\"),
        std::string("save 1\ndeleting \\x00\ndeleting /\ndeleting ..\n"
                    "deleting m/../../x\nsaving x m\ndeleting "),
        std::string(2 << 20, 'm')}) {
    ASSERT_OK(files_.WriteFileAtomically("/job/m.saving", contents));
    ASSERT_OK(saver.Save(*session, "/job/m").status());
  }
  EXPECT_EQ(Stored("/job/m", "w")->flat<float>()[1], 2);
}

// One file operation of the saver fails. Whichever it is, the next save removes
// the leftover files.
TEST_F(SaverTest, FailedDeletionsAreRetriedByNextSave) {
  FailingFileSystem failing(files_);
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.file_system = &failing;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(files_.CreateDirectories("/job"));
  int64_t step = 0;
  const auto save = [&] {
    return saver.Save(*session, "/job/m", {.global_step = ++step}).status();
  };
  ASSERT_OK(save());
  const int64_t before = failing.num_operations();
  ASSERT_OK(save());
  const int64_t operations = failing.num_operations() - before;
  ASSERT_GT(operations, 5);
  for (int64_t n = 0; n < operations; ++n) {
    failing.FailOperation(n, absl::UnavailableError("not now"));
    (void)save();
    failing.Heal();
    ASSERT_OK(save()) << n;
    const std::string newest = absl::StrCat("m-", step);
    Paths files = Files();
    // m.saving records the failed save for a while
    std::erase(files, "m.saving");
    EXPECT_EQ(files, (Paths{"checkpoint", newest + ".data-00000-of-00001",
                            newest + ".index", newest + ".meta"}))
        << n;
  }
  clock_.Advance(absl::Minutes(20));
  for (int i = 0; i < 2; ++i) ASSERT_OK(save());
  EXPECT_FALSE(files_.FileExists("/job/m.saving").ok());
}

// Expects the same checkpoints as TensorFlow's Saver(max_to_keep=3). See
// max_to_keep and max_to_keep_one among the recorded TensorFlow histories.
TEST_F(SaverTest, LatestCheckpointsAreKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 3;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3, 5, 3, 8}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  EXPECT_EQ(saver.LastCheckpoints(),
            (Paths{"/job/m-5", "/job/m-3", "/job/m-8"}));
  ASSERT_OK_AND_ASSIGN(const auto state,
                       checkpoint::ReadCheckpointState(files_, "/job"));
  EXPECT_EQ(state.model_checkpoint_path, "/job/m-8");
  EXPECT_EQ(state.all_model_checkpoint_paths, saver.LastCheckpoints());
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-8");
  // Step 3 was saved twice. The new data file must not reuse the name of the
  // old one.
  EXPECT_EQ(Files(), (Paths{"checkpoint", "m-3.data-00000-of-00002",
                            "m-3.index", "m-3.meta", "m-5.data-00000-of-00001",
                            "m-5.index", "m-5.meta", "m-8.data-00000-of-00001",
                            "m-8.index", "m-8.meta"}));
}

TEST_F(SaverTest, PeriodicCheckpointsAreKeptForever) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  options.keep_checkpoint_every = absl::Hours(1);
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  // Saves every 25 minutes. The first save after one hour and the first save
  // after two hours are kept forever.
  for (int64_t i = 0; i < 8; ++i) {
    clock_.Advance(absl::Minutes(25));
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = i}));
  }
  for (int64_t i = 0; i < 8; ++i) {
    const bool stays = i == 2 || i == 4 || i == 7;
    EXPECT_EQ(files_.FileExists(absl::StrCat("/job/m-", i, ".index")).ok(),
              stays)
        << i;
  }
}

// A clock whose wall time can be set independently of its monotonic time.
class SetClock : public ManualClock {
 public:
  absl::Time WallTime() const override { return Now() + ahead; }
  absl::Duration ahead = absl::ZeroDuration();
};

TEST_F(SaverTest, StateUsesWallClock) {
  SetClock clock;
  clock.ahead = absl::Hours(3);
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.clock = &clock;
  options.max_to_keep = 2;
  options.keep_checkpoint_every = absl::Hours(1);
  Saver saver(root, options);
  Saver next(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  const auto timestamps = [this] {
    return checkpoint::ReadCheckpointState(files_, "/job")
        .value()
        .all_model_checkpoint_timestamps;
  };
  const double saved = absl::ToUnixSeconds(clock.WallTime());
  EXPECT_EQ(timestamps(), std::vector<double>{saved});
  // A saver that recovers the checkpoint keeps its original timestamp.
  clock.Advance(absl::Minutes(30));
  ASSERT_OK(next.RecoverLastCheckpoints(*session, {"/job/m-1"}, timestamps()));
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(timestamps(), (std::vector<double>{saved, saved + 1800}));
  // Moving the wall clock forward by three hours does not count as elapsed
  // time.
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 3}));
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 4}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.index").ok());
}

TEST_F(SaverTest, NextProcessContinuesRetention) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver first(root, options);
  Saver second(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 1}));
  ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 2}));
  clock_.Advance(absl::Hours(5));
  ASSERT_OK(second.RecoverLastCheckpoints(
      *session, {"/job/gone", "/job/m-1", "/job/m-2"}, {1, 2, 3}));
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 3}));
  ASSERT_OK_AND_ASSIGN(const auto state,
                       checkpoint::ReadCheckpointState(files_, "/job"));
  ASSERT_EQ(state.all_model_checkpoint_timestamps.size(), 2u);
  EXPECT_EQ(state.all_model_checkpoint_timestamps[0], 3);
  EXPECT_EQ(second.LastCheckpoints(), (Paths{"/job/m-2", "/job/m-3"}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
}

// As in TensorFlow, a save that does not write the checkpoint state is not
// counted. No checkpoint named in the state is deleted.
TEST_F(SaverTest, OldCheckpointsAreKeptWithoutState) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  for (const int64_t step : {2, 3, 4}) {
    ASSERT_OK(saver.Save(*session, "/job/m",
                         {.global_step = step, .write_state = false}));
  }
  ASSERT_OK(saver.Save(
      *session, "/job/m",
      {.global_step = 5, .write_state = false, .write_meta_graph = false}));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1"}));
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-1");
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    EXPECT_OK(files_.FileExists(absl::StrCat("/job/m-", step, ".index")));
  }
}

// Without the option, the graph is not written. If the graph cannot be written,
// the checkpoint state does not name the checkpoint.
TEST_F(SaverTest, WriteMetaGraphOptionIsHonored) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/a", {.write_meta_graph = false}));
  EXPECT_FALSE(files_.FileExists("/job/a.meta").ok());
  ASSERT_OK(files_.CreateDirectory("/job/b.meta"));
  EXPECT_THAT(saver.Save(*session, "/job/b"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "/job/b.meta"));
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/a");
}

TEST_F(SaverTest, ZeroMaxToKeepKeepsAllCheckpoints) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 0;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  EXPECT_EQ(Files().size(), 10u);
  EXPECT_EQ(saver.LastCheckpoints(), Paths());
  // Another saver with max_to_keep=0 recovers these checkpoints and does not
  // count them either.
  Saver second(root, options);
  ASSERT_OK(second.RecoverLastCheckpoints(*session, {"/job/m-1", "/job/m-2"}));
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 4}));
  EXPECT_EQ(Files().size(), 13u);
}

// As in TensorFlow, the checkpoint state written with max_to_keep=0 still names
// earlier checkpoints. A later program with a limit deletes them.
TEST_F(SaverTest, StatePathsCountForLaterLimit) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  Saver five(root, options);
  options.max_to_keep = 0;
  Saver all(root, options);
  options.max_to_keep = 2;
  Saver two(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  const auto named = [&] {
    return checkpoint::ReadCheckpointState(files_, "/job")
        .value_or(checkpoint::CheckpointState())
        .all_model_checkpoint_paths;
  };
  const auto save = [&](Saver& saver, int64_t step) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  };
  for (const int64_t step : {1, 2}) save(five, step);
  ASSERT_OK(all.RecoverLastCheckpoints(*session, named()));
  for (const int64_t step : {3, 4}) save(all, step);
  EXPECT_EQ(named(), (Paths{"/job/m-1", "/job/m-2", "/job/m-4"}));
  save(all, 1);
  EXPECT_EQ(named(), (Paths{"/job/m-2", "/job/m-1"}));
  save(all, 4);
  // three files for each of four checkpoints, and the state
  EXPECT_EQ(Files().size(), 13u);
  ASSERT_OK(two.RecoverLastCheckpoints(*session, named()));
  save(two, 5);
  EXPECT_EQ(named(), (Paths{"/job/m-4", "/job/m-5"}));
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    const bool is_there =
        files_.FileExists(absl::StrCat("/job/m-", step, ".index")).ok();
    // 3 is no longer named, so it is kept
    EXPECT_EQ(is_there, step >= 3) << step;
  }
}

// A graph from TensorFlow has no op that asks a task for its files. Then the
// checkpoint state omits checkpoints that are not found.
TEST_F(SaverTest, StateOmitsCheckpointsNotFound) {
  MemoryFileSystem elsewhere;
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  const Output prefix =
      ops::PlaceholderWithDefault(root.WithName("prefix"), "m", PartialShape());
  const Node* save = root.AddNode(
      "SaveV2",
      {prefix, ops::Const(root, Tensor::Vector<std::string>({"w"})),
       ops::Const(root, Tensor::Vector<std::string>({""})), w},
      {{"dtypes", DataTypeVector{DT_FLOAT}}});
  const Output saved = ops::Identity(
      root.WithName("saved").WithControlDependencies({Operation(save)}),
      prefix);
  const Operation restore = ops::NoOp(root.WithName("restore"));
  SaverOptions options = Options();
  options.file_system = &elsewhere;
  ASSERT_OK_AND_ASSIGN(
      const auto saver,
      Saver::FromSaverDef(root,
                          {.filename_tensor_name = prefix.name(),
                           .save_tensor_name = saved.name(),
                           .restore_op_name = restore.name()},
                          options));
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(saver->Save(*session, "/job/m"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "this program does not find /job/m.index"));
  EXPECT_FALSE(elsewhere.FileExists("/job/checkpoint").ok());
  EXPECT_FALSE(elsewhere.FileExists("/job/m.meta").ok());
  EXPECT_OK(files_.FileExists("/job/m.index"));
}

}  // namespace
}  // namespace weft::saver_tests
