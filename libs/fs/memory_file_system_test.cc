#include "libs/fs/memory_file_system.h"

#include <memory>
#include <set>
#include <string>

#include "libs/base/random.h"
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

// What may be there after a loss of power, of all that 64 seeds draw.
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

TEST(LosePowerTest, WhatIsSyncedWithItsNameStays) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK(files.WriteFileAtomically("/d/f", "new"));
  };
  const auto look = [](FileSystem& files) {
    return ReadOrNone(files, "/d/f") + ReadOrNone(files, "/d/f.tmp");
  };
  EXPECT_EQ(WhatIsThere(work, look), (std::set<std::string>{"newnone"}));
}

TEST(LosePowerTest, BytesAndNamesThatAreNotSyncedMayBeLost) {
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

TEST(LosePowerTest, ARenameIsThereWholeOrNotAtAll) {
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

TEST(LosePowerTest, AFileThatIsWrittenAnewWithoutASyncMayBeAnything) {
  const auto work = [](FileSystem& files) {
    ASSERT_OK(files.WriteFileAtomically("/d/f", "old"));
    ASSERT_OK_AND_ASSIGN(auto file, files.NewWritableFile("/d/f"));
    ASSERT_OK(file->Append("x"));
    ASSERT_OK(file->Close());
  };
  const auto look = [](FileSystem& files) { return ReadOrNone(files, "/d/f"); };
  EXPECT_EQ(WhatIsThere(work, look), (std::set<std::string>{"", "old", "x"}));
}

// As another machine may tell it.
class WrongSizes : public MemoryFileSystem {
 public:
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view) override {
    return size;
  }
  uint64_t size = 0;
};

TEST(FileSystemTest, WhateverSizeIsToldAFileIsReadToItsEnd) {
  WrongSizes files;
  ASSERT_OK(files.WriteFileAtomically("f", "four"));
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{3}, uint64_t{5}, UINT64_MAX - 1, UINT64_MAX}) {
    files.size = size;
    EXPECT_EQ(files.ReadFile("f").value_or("none"), "four") << size;
  }
}

}  // namespace
}  // namespace weft
