#include "libs/fs/memory_file_system.h"

#include <memory>
#include <set>
#include <string>

#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

FileSystemHarness NewHarness(absl::string_view directory) {
  auto file_system = std::make_unique<MemoryFileSystem>();
  EXPECT_OK(file_system->CreateDirectories(directory));
  return {std::move(file_system), std::string(directory)};
}

INSTANTIATE_TEST_SUITE_P(Absolute, FileSystemConformanceTest,
                         ::testing::Values([] { return NewHarness("/a/b"); }));
INSTANTIATE_TEST_SUITE_P(Relative, FileSystemConformanceTest,
                         ::testing::Values([] { return NewHarness("a/b"); }));

INSTANTIATE_TEST_SUITE_P(TracksSyncs, FileSystemConformanceTest,
                         ::testing::Values([]() -> FileSystemHarness {
                           auto files = std::make_unique<MemoryFileSystem>(
                               MemoryFileSystemOptions{.tracks_syncs = true});
                           EXPECT_OK(files->CreateDirectories("/a/b"));
                           return {std::move(files), "/a/b"};
                         }));

// Runs `work` and returns the states that are possible after a power failure,
// over 64 seeds.
std::set<std::string> WhatIsThere(
    const std::function<void(FileSystem&)>& work,
    const std::function<std::string(FileSystem&)>& look) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    MemoryFileSystem files({.tracks_syncs = true});
    EXPECT_OK(files.CreateDirectories("/d"));
    work(files);
    files.LosePower(*NewSeededRandom(seed));
    seen.insert(look(files));
  }
  return seen;
}

std::string ReadOrNone(FileSystem& files, const std::string& path) {
  return files.ReadFile(path).value_or("none");
}

TEST(LosePowerTest, SyncedFileSurvives) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK(files.WriteFileAtomically("/d/f", "new"));
  };
  const auto look = [](FileSystem& files) {
    return ReadOrNone(files, "/d/f") + ReadOrNone(files, "/d/f.tmp");
  };
  EXPECT_EQ(WhatIsThere(work, look), (std::set<std::string>{"newnone"}));
}

TEST(LosePowerTest, UnsyncedBytesAndNamesMayBeLost) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK_AND_ASSIGN(auto file, files.NewWritableFile("/d/f"));
    ASSERT_OK(file->Append("a"));
    ASSERT_OK(file->Sync());
    ASSERT_OK(file->Append("b"));
    ASSERT_OK(file->Close());
  };
  const auto look = [](FileSystem& files) { return ReadOrNone(files, "/d/f"); };
  EXPECT_EQ(WhatIsThere(work, look),
            (std::set<std::string>{"a", "ab", "none"}));
}

TEST(LosePowerTest, RenameIsAtomic) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK(files.WriteFileAtomically("/d/old", "1"));
    ASSERT_OK(files.WriteFileAtomically("/d/new", "2"));
    ASSERT_OK(files.RenameFile("/d/new", "/d/old"));
  };
  const auto look = [](FileSystem& files) {
    return ReadOrNone(files, "/d/old") + ReadOrNone(files, "/d/new");
  };
  EXPECT_EQ(WhatIsThere(work, look), (std::set<std::string>{"12", "2none"}));
}

TEST(LosePowerTest, UnsyncedRewriteMayHaveAnyContents) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK(files.WriteFileAtomically("/d/f", "old"));
    ASSERT_OK_AND_ASSIGN(auto file, files.NewWritableFile("/d/f"));
    ASSERT_OK(file->Append("x"));
    ASSERT_OK(file->Close());
  };
  const auto look = [](FileSystem& files) { return ReadOrNone(files, "/d/f"); };
  EXPECT_EQ(WhatIsThere(work, look), (std::set<std::string>{"", "old", "x"}));
}

// LosesAnswers simulates a call that is retried because its first reply was
// lost.
class LosesAnswers : public MemoryFileSystem {
 public:
  LosesAnswers() : MemoryFileSystem({.tracks_syncs = true}) {}
  absl::Status CreateDirectory(absl::string_view path) override {
    RETURN_IF_ERROR(MemoryFileSystem::CreateDirectory(path));
    return MemoryFileSystem::CreateDirectory(path);
  }
};

TEST(LosePowerTest, DirectoriesMadeByOthersSurvive) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    LosesAnswers files;
    ASSERT_OK(files.CreateDirectories("/a/b"));
    files.LosePower(*NewSeededRandom(seed));
    EXPECT_OK(files.FileExists("/a/b"));
  }
}

// WrongSizes is a file system that reports wrong file sizes, as a remote
// machine may.
class WrongSizes : public MemoryFileSystem {
 public:
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view) override {
    return size;
  }
  uint64_t size = 0;
};

TEST(FileSystemTest, ReadFileReadsAllDespiteWrongSize) {
  WrongSizes files;
  ASSERT_OK(files.WriteFileAtomically("f", "four"));
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{3}, uint64_t{5}, UINT64_MAX - 1, UINT64_MAX}) {
    files.size = size;
    EXPECT_EQ(files.ReadFile("f").value_or("none"), "four") << size;
  }
}

// UnlistableFileSystem has directories whose listing fails. This must not be
// taken for a directory without matches.
class UnlistableFileSystem : public MemoryFileSystem {
 public:
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) override {
    if (path == path_) return status_;
    return MemoryFileSystem::ListDirectory(path);
  }
  void Fail(std::string path, absl::Status status) {
    path_ = std::move(path);
    status_ = std::move(status);
  }

 private:
  std::string path_;
  absl::Status status_;
};

TEST(MatchingPathsTest, UnlistableDirectoryIsAnError) {
  UnlistableFileSystem fs;
  for (const char* path : {"/a/x", "/b/x"}) {
    ASSERT_OK(fs.CreateDirectories(Dirname(path)));
    ASSERT_OK(fs.WriteFileAtomically(path, "1"));
  }
  fs.Fail("/a", absl::UnavailableError("no writer"));
  EXPECT_THAT(fs.GetMatchingPaths("/a/*").status(),
              StatusIs(absl::StatusCode::kUnavailable, "no writer"));
  EXPECT_THAT(fs.GetMatchingPaths("/*/x").status(),
              StatusIs(absl::StatusCode::kUnavailable, "no writer"));
  // A directory without permission is skipped if it is one of several matches,
  // but it is an error if the pattern names it.
  fs.Fail("/a", absl::PermissionDeniedError("not yours"));
  EXPECT_THAT(fs.GetMatchingPaths("/a/*").status(),
              StatusIs(absl::StatusCode::kPermissionDenied, "not yours"));
  EXPECT_EQ(fs.GetMatchingPaths("/*/x").value(),
            std::vector<std::string>{"/b/x"});
  EXPECT_TRUE(fs.GetMatchingPaths("/none/*").value().empty());
  EXPECT_TRUE(fs.GetMatchingPaths("/b/x/*").value().empty());
}

// In a host, "[" does not begin a class.
TEST(MatchingPathsTest, HostMayNotContainWildcards) {
  class Elsewhere : public MemoryFileSystem {
   public:
    absl::Status FileExists(absl::string_view path) override {
      return path == "zmq://[::1]:7000/ckpt/m" ? absl::OkStatus()
                                               : absl::NotFoundError(path);
    }
    absl::StatusOr<std::vector<std::string>> ListDirectory(
        absl::string_view path) override {
      if (path != "zmq://[::1]:7000/ckpt") return absl::NotFoundError(path);
      return std::vector<std::string>{"m", "n"};
    }
  } fs;
  const std::vector<std::string> found = {"zmq://[::1]:7000/ckpt/m"};
  EXPECT_EQ(fs.GetMatchingPaths("zmq://[::1]:7000/ckpt/m").value(), found);
  EXPECT_EQ(fs.GetMatchingPaths("zmq://[::1]:7000/ckpt/[m]*").value(), found);
}

}  // namespace
}  // namespace weft
