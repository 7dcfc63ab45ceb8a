// The checkpoints that the Saver keeps and deletes, and what the state names:
// in moved and copied directories, and for later processes.
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

// The next save of the same path deletes leftovers of a crashed save, which it
// finds in the marker. It keeps all other files, however similar their names
// are.
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
      // Similar names of other files.
      "model.ckpt-7.data-mine.index", "model.ckpt-7.data-1-of-2x",
      "model.ckpt-9.data-00000-of-00001", "model.ckpt-9.meta",
      "model.ckpt-9.index",
      // Files of saves that are not in the marker.
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

// Checkpoints that another process was about to delete are deleted, except
// those that the state names, even if a dead process named them for deletion.
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

// A checkpoint with two spellings of its path counts as one.
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

// A folder given by its relative and its absolute path.
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

// A disk on which "/alias" is a link to "/job".
class LinkedFiles : public RoutedFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    if (path == unreadable) return absl::UnavailableError("the disk is away");
    return RoutedFileSystem::NewRandomAccessFile(path);
  }
  MemoryFileSystem disk;
  std::string unreadable;  // the path of a temporarily unreadable file

 private:
  absl::StatusOr<Place> Find(absl::string_view path) override {
    std::string target(path);
    if (absl::ConsumePrefix(&path, "/alias")) {
      target = absl::StrCat("/job", path);
    }
    return Place{&disk, nullptr, target};
  }
};

// An old checkpoint with an unreadable index may be the new one under another
// path, or one that the state names.
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
  // The first checkpoint is deleted as soon as it is known not to be one that
  // is kept.
  files.unreadable.clear();
  ASSERT_OK(saver.Save(*session, "/alias/n"));
  EXPECT_FALSE(files.FileExists("/job/m.index").ok());
  EXPECT_OK(saver.Restore(*session, "/alias/n"));

  // Another process was about to delete a checkpoint that the state names now.
  ASSERT_OK(files.WriteFileAtomically("/job/checkpoint",
                                      R"(model_checkpoint_path: "/alias/n")"));
  ASSERT_OK(files.WriteFileAtomically("/job/n.saving", "save 9\ndeleting n\n"));
  files.unreadable = "/alias/n.index";
  ASSERT_OK(next.Save(*session, "/job/n", {.global_step = 2}));
  files.unreadable.clear();
  EXPECT_OK(next.Restore(*session, "/alias/n"));
}

// Files whose names only begin like the checkpoint's are kept.
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

// Training in a copy of a directory, whose state file contains the original's
// paths: once with all files copied, once with only the newest checkpoint.
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

// A crafted marker, or one truncated by a failing disk.
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

// Whatever file operation of the saver fails, its leftovers are gone after the
// next save.
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
    std::erase(files, "m.saving");  // records the failed save for a while
    EXPECT_EQ(files, (Paths{"checkpoint", newest + ".data-00000-of-00001",
                            newest + ".index", newest + ".meta"}))
        << n;
  }
  clock_.Advance(absl::Minutes(20));
  for (int i = 0; i < 2; ++i) ASSERT_OK(save());
  EXPECT_FALSE(files_.FileExists("/job/m.saving").ok());
}

// As in TensorFlow's Saver(max_to_keep=3) (cases max_to_keep and
// max_to_keep_one of its recorded histories).
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
  // m-3 was saved twice. Its data file must not reuse the name of the old one.
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
  // One save every 25 minutes: the first one after an hour is kept, and so is
  // the first one after two hours.
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

// A clock whose wall time can be set, while intervals are not affected.
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
  // A saver that recovers the checkpoint keeps its timestamp.
  clock.Advance(absl::Minutes(30));
  ASSERT_OK(next.RecoverLastCheckpoints(*session, {"/job/m-1"}, timestamps()));
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(timestamps(), (std::vector<double>{saved, saved + 1800}));
  // Setting the wall clock forward by three hours does not count as an hour.
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

// As in TensorFlow, such a save is not counted, so no named checkpoint is
// deleted.
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

// If the graph cannot be written, the state does not name the checkpoint.
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
  // Another saver that recovers these checkpoints does not count them either.
  Saver second(root, options);
  ASSERT_OK(second.RecoverLastCheckpoints(*session, {"/job/m-1", "/job/m-2"}));
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 4}));
  EXPECT_EQ(Files().size(), 13u);
}

// As in TensorFlow, the state of a program that keeps all checkpoints still
// names the earlier ones. A later program with a limit deletes them.
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
  EXPECT_EQ(Files().size(), 13u);  // four checkpoints and the state
  ASSERT_OK(two.RecoverLastCheckpoints(*session, named()));
  save(two, 5);
  EXPECT_EQ(named(), (Paths{"/job/m-4", "/job/m-5"}));
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    const bool is_there =
        files_.FileExists(absl::StrCat("/job/m-", step, ".index")).ok();
    EXPECT_EQ(is_there, step >= 3) << step;  // 3 was not named again
  }
}

// If no task can be queried, as in a graph of TensorFlow, the state omits
// checkpoints that are not found.
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
