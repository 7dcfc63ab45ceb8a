// Tests that no path leads out of the root.
#include "libs/checkpoint_writer/rooted_file_system.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

struct Disk {
  Disk() { EXPECT_OK(disk.CreateDirectories("/root/t")); }
  MemoryFileSystem disk;
};

class OwningRootedFileSystem : private Disk, public RootedFileSystem {
 public:
  OwningRootedFileSystem() : RootedFileSystem(Disk::disk, "/root") {}
};

INSTANTIATE_TEST_SUITE_P(Rooted, FileSystemConformanceTest, testing::Values([] {
                           return FileSystemHarness{
                               std::make_unique<OwningRootedFileSystem>(),
                               "/t"};
                         }));

TEST(RootedFileSystemTest, PathsAreBelowTheRoot) {
  MemoryFileSystem disk;
  const RootedFileSystem files(disk, "/data/root");
  for (const auto& [path, there] :
       std::vector<std::pair<std::string, std::string>>{
           {"/ckpt/model", "/data/root/ckpt/model"},
           {"ckpt/model", "/data/root/ckpt/model"},
           {"//ckpt/./model/", "/data/root/ckpt/model"},
           {"/", "/data/root"},
           {".", "/data/root"},
           {"/..a/b..", "/data/root/..a/b.."}}) {
    EXPECT_EQ(files.PathOf(path).value(), there) << path;
  }
  const RootedFileSystem here(disk, ".");
  EXPECT_EQ(here.PathOf("/ckpt/model").value(), "./ckpt/model");
}

TEST(RootedFileSystemTest, PathsCannotLeaveTheRoot) {
  MemoryFileSystem disk;
  ASSERT_OK(disk.CreateDirectories("/root/a"));
  ASSERT_OK(disk.WriteFileAtomically("/secret", "secret"));
  RootedFileSystem files(disk, "/root");
  for (const std::string path :
       {"..", "/..", "../secret", "/../secret", "/a/../../secret",
        "a/b/../../../secret", "/a/..", "..//secret"}) {
    const auto refused = StatusIs(kInvalid, "may not lead upwards");
    EXPECT_THAT(files.ReadFile(path), refused) << path;
    EXPECT_THAT(files.NewWritableFile(path), refused) << path;
    EXPECT_THAT(files.NewAppendableFile(path), refused) << path;
    EXPECT_THAT(files.FileExists(path), refused) << path;
    EXPECT_THAT(files.IsDirectory(path), refused) << path;
    EXPECT_THAT(files.GetFileSize(path), refused) << path;
    EXPECT_THAT(files.ListDirectory(path), refused) << path;
    EXPECT_THAT(files.CreateDirectory(path), refused) << path;
    EXPECT_THAT(files.DeleteFile(path), refused) << path;
    EXPECT_THAT(files.DeleteDirectory(path), refused) << path;
    EXPECT_THAT(files.RenameFile(path, "/a/b"), refused) << path;
    EXPECT_THAT(files.RenameFile("/a/b", path), refused) << path;
    EXPECT_THAT(files.SyncDirectory(path), refused) << path;
  }
  EXPECT_THAT(files.NewWritableFile(std::string("/a\0/../../b", 10)),
              StatusIs(kInvalid, "zero byte"));
  EXPECT_EQ(disk.ReadFile("/secret").value(), "secret");
}

TEST(RootedFileSystemTest, RootCannotBeDeletedOrRenamed) {
  MemoryFileSystem disk;
  ASSERT_OK(disk.CreateDirectories("/root/a"));
  RootedFileSystem files(disk, "/root");
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(files.DeleteDirectory("/"), denied);
  EXPECT_THAT(files.RenameFile("/", "/b"), denied);
  EXPECT_FALSE(files.DeleteRecursively("/").ok());
  EXPECT_OK(disk.FileExists("/root"));
}

// A FileSystem does not create links. Only the owner of the machine can create
// a link, for example to another disk.
TEST(RootedFileSystemTest, SymlinksBelowTheRootAreFollowed) {
  LocalFileSystem disk;
  const std::string base = absl::StrCat(testing::TempDir(), "/rooted_test");
  (void)disk.DeleteRecursively(base);
  ASSERT_OK(disk.CreateDirectories(absl::StrCat(base, "/root")));
  ASSERT_OK(disk.CreateDirectories(absl::StrCat(base, "/other_disk")));
  ASSERT_EQ(symlink("../other_disk", absl::StrCat(base, "/root/big").c_str()),
            0);
  RootedFileSystem files(disk, absl::StrCat(base, "/root"));
  ASSERT_OK(files.WriteFileAtomically("/big/a", "bytes"));
  EXPECT_EQ(disk.ReadFile(absl::StrCat(base, "/other_disk/a")).value(),
            "bytes");
  // Deletes only the link and not the directory to which it points.
  ASSERT_OK(files.DeleteRecursively("/big"));
  EXPECT_OK(disk.FileExists(absl::StrCat(base, "/other_disk/a")));
  (void)disk.DeleteRecursively(base);
}

}  // namespace
}  // namespace weft
