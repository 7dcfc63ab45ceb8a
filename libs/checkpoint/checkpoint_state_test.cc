#include "libs/checkpoint/checkpoint_state.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft::checkpoint {
namespace {

using Paths = std::vector<std::string>;

class CheckpointStateTest : public ::testing::Test {
 protected:
  CheckpointStateTest() {
    EXPECT_OK(fs_.CreateDirectories("/job"));
    EXPECT_OK(fs_.CreateDirectories("job"));
  }
  std::string TextIn(const std::string& folder) {
    return fs_.ReadFile(folder + "/checkpoint").value_or("none");
  }

  MemoryFileSystem fs_;
};

TEST_F(CheckpointStateTest, TextMatchesTensorFlow) {
  ASSERT_OK(WriteCheckpointState(
      fs_, "/job",
      {"/job/model.ckpt-2", {"/job/model.ckpt-1", "/job/model.ckpt-2"}}));
  EXPECT_EQ(TextIn("/job"),
            "model_checkpoint_path: \"/job/model.ckpt-2\"\n"
            "all_model_checkpoint_paths: \"/job/model.ckpt-1\"\n"
            "all_model_checkpoint_paths: \"/job/model.ckpt-2\"\n");
}

TEST_F(CheckpointStateTest, StateRoundTrips) {
  ASSERT_OK(WriteCheckpointState(
      fs_, "/job",
      {"/job/b \"2\"", {"/job/a", "/job/b \"2\""}, {1.5, 2.5}, 1}));
  ASSERT_OK_AND_ASSIGN(const CheckpointState state,
                       ReadCheckpointState(fs_, "/job"));
  EXPECT_EQ(state.model_checkpoint_path, "/job/b \"2\"");
  EXPECT_EQ(state.all_model_checkpoint_paths,
            (Paths{"/job/a", "/job/b \"2\""}));
  EXPECT_EQ(state.all_model_checkpoint_timestamps,
            (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(state.last_preserved_timestamp, 1);
}

TEST_F(CheckpointStateTest, AllPathsIncludeTheNewest) {
  ASSERT_OK(WriteCheckpointState(fs_, "/job", {"/job/b", {"/job/a"}}));
  ASSERT_OK_AND_ASSIGN(const CheckpointState state,
                       ReadCheckpointState(fs_, "/job"));
  EXPECT_EQ(state.all_model_checkpoint_paths, (Paths{"/job/a", "/job/b"}));
}

// The paths in the file are relative, so that the directory can be moved.
TEST_F(CheckpointStateTest, PathsInRelativeDirectoryAreRelative) {
  const CheckpointState state = {"job/b", {"job/a", "/elsewhere/c", "job/b"}};
  ASSERT_OK(WriteCheckpointState(fs_, "job", state));
  EXPECT_EQ(TextIn("job"),
            "model_checkpoint_path: \"b\"\n"
            "all_model_checkpoint_paths: \"a\"\n"
            "all_model_checkpoint_paths: \"/elsewhere/c\"\n"
            "all_model_checkpoint_paths: \"b\"\n");
  ASSERT_OK_AND_ASSIGN(const CheckpointState read,
                       ReadCheckpointState(fs_, "job"));
  EXPECT_EQ(read.all_model_checkpoint_paths, state.all_model_checkpoint_paths);
  ASSERT_OK(WriteCheckpointState(fs_, "/job", {"/job/b", {"/job/a"}},
                                 /*relative=*/true));
  EXPECT_EQ(TextIn("/job"),
            "model_checkpoint_path: \"b\"\n"
            "all_model_checkpoint_paths: \"a\"\n"
            "all_model_checkpoint_paths: \"b\"\n");
}

// However the directory and the path are written, reading the state returns the
// right checkpoint.
TEST_F(CheckpointStateTest, EquivalentPathSpellingsAreRecognized) {
  struct Case {
    const char* folder;
    const char* path;
    const char* written;
  };
  for (const Case& c :
       {Case{"./job", "job/a", "a"}, Case{"job", "./job//a", "a"},
        Case{"job/", "job/a", "a"}, Case{"job", "jobs/a", "../jobs/a"},
        Case{"x/job", "x/y/a", "../y/a"}, Case{".", "job/a", "job/a"},
        Case{"job", "a", "../a"}, Case{"../x", "a", "a"},
        Case{"job", "/job/a", "/job/a"},
        Case{"s3://b/job", "s3://b/job/a", "a"},
        Case{"s3://b/job", "s3://b/other/a", "s3://b/other/a"},
        Case{"s3://b/job", "s3://c/job/a", "s3://c/job/a"}}) {
    ASSERT_OK(fs_.CreateDirectories(c.folder));
    ASSERT_OK(WriteCheckpointState(fs_, c.folder, {c.path, {}}));
    EXPECT_TRUE(absl::StrContains(
        TextIn(c.folder),
        absl::StrCat("model_checkpoint_path: \"", c.written, "\"\n")))
        << c.folder << " " << c.path << TextIn(c.folder);
  }
}

TEST_F(CheckpointStateTest, InvalidStateIsRejected) {
  EXPECT_THAT(ReadCheckpointState(fs_, "/job"),
              StatusIs(absl::StatusCode::kNotFound, "/job/checkpoint"));
  ASSERT_OK(fs_.WriteFileAtomically("/job/checkpoint", "model: {"));
  EXPECT_THAT(ReadCheckpointState(fs_, "/job"),
              StatusIs(kInvalid, "/job/checkpoint: line 1"));
  ASSERT_OK(fs_.WriteFileAtomically("/job/checkpoint",
                                    "all_model_checkpoint_paths: \"a\""));
  EXPECT_THAT(ReadCheckpointState(fs_, "/job"),
              StatusIs(kInvalid, "model_checkpoint_path is missing"));
  EXPECT_THAT(LatestCheckpoint(fs_, "/job"),
              StatusIs(kInvalid, "model_checkpoint_path is missing"));
  EXPECT_THAT(WriteCheckpointState(fs_, "/job", {"a", {"a"}, {1, 2}}),
              StatusIs(kInvalid, "2 timestamps of 1 checkpoints"));
}

TEST_F(CheckpointStateTest, UnknownFieldsAreIgnored) {
  ASSERT_OK(fs_.WriteFileAtomically(
      "/job/checkpoint", "model_checkpoint_path: \"a\"\nfuture: 1\n"));
  EXPECT_OK(ReadCheckpointState(fs_, "/job"));
}

TEST_F(CheckpointStateTest, LatestCheckpointMustExist) {
  const auto latest = [&] {
    const auto found = LatestCheckpoint(fs_, "/job");
    EXPECT_OK(found);
    return found.value_or(std::nullopt);
  };
  EXPECT_EQ(latest(), std::nullopt);
  ASSERT_OK(WriteCheckpointState(fs_, "/job", {"/job/a", {}}));
  EXPECT_EQ(latest(), std::nullopt);
  ASSERT_OK(fs_.WriteFileAtomically("/job/a.index", ""));
  EXPECT_EQ(latest(), "/job/a");
}

TEST_F(CheckpointStateTest, MovedDirectoryFindsItsCheckpoints) {
  ASSERT_OK(fs_.CreateDirectories("/old"));
  ASSERT_OK(fs_.CreateDirectories("/new"));
  ASSERT_OK(WriteCheckpointState(fs_, "/old", {"/old/b", {"/old/a"}}));
  ASSERT_OK(fs_.RenameFile("/old/checkpoint", "/new/checkpoint"));
  ASSERT_OK(fs_.WriteFileAtomically("/new/b.index", ""));
  ASSERT_OK_AND_ASSIGN(const CheckpointState state,
                       ReadCheckpointState(fs_, "/new"));
  EXPECT_EQ(state.model_checkpoint_path, "/new/b");
  EXPECT_EQ(state.all_model_checkpoint_paths, (Paths{"/old/a", "/new/b"}));
  ASSERT_OK_AND_ASSIGN(const auto latest, LatestCheckpoint(fs_, "/new/"));
  EXPECT_EQ(latest, "/new/b");
}

TEST_F(CheckpointStateTest, NewestPathIsResolvedOnce) {
  const std::string newest = "model_checkpoint_path: \"/elsewhere/b\"\n";
  const auto count_operations = [&](const std::string& text) {
    EXPECT_OK(fs_.WriteFileAtomically("/job/checkpoint", text));
    FailingFileSystem files(fs_);
    EXPECT_OK(ReadCheckpointState(files, "/job"));
    return files.num_operations();
  };
  const std::string all = "all_model_checkpoint_paths: \"/elsewhere/b\"\n";
  EXPECT_EQ(count_operations(newest + all), count_operations(newest));
}

// In a copied directory, the checkpoints of the copy are used and not those of
// the original.
TEST_F(CheckpointStateTest, CopiedDirectoryUsesItsOwnCheckpoints) {
  ASSERT_OK(WriteCheckpointState(fs_, "/job", {"/job/b", {}}));
  ASSERT_OK(fs_.WriteFileAtomically("/job/b.index", ""));
  ASSERT_OK(fs_.CreateDirectories("/copy"));
  ASSERT_OK(fs_.WriteFileAtomically("/copy/checkpoint", TextIn("/job")));
  EXPECT_EQ(LatestCheckpoint(fs_, "/copy").value(), "/job/b");
  ASSERT_OK(fs_.WriteFileAtomically("/copy/b.index", ""));
  EXPECT_EQ(LatestCheckpoint(fs_, "/copy").value(), "/copy/b");
  EXPECT_EQ(LatestCheckpoint(fs_, "/job").value(), "/job/b");
}

TEST_F(CheckpointStateTest, MissingCheckpointIsAnError) {
  EXPECT_EQ(FindLatestCheckpoint(fs_, "/job").value(), std::nullopt);
  ASSERT_OK(WriteCheckpointState(fs_, "/job", {"/old/a", {}}));
  EXPECT_THAT(FindLatestCheckpoint(fs_, "/job"),
              StatusIs(absl::StatusCode::kNotFound,
                       "/job/checkpoint names the checkpoint /old/a, which "
                       "does not exist, and neither does /job/a"));
  ASSERT_OK(fs_.WriteFileAtomically("/job/a.index", ""));
  EXPECT_EQ(FindLatestCheckpoint(fs_, "/job").value(), "/job/a");
}

}  // namespace
}  // namespace weft::checkpoint
