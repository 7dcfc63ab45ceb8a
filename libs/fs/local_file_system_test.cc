#include "libs/fs/local_file_system.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

FileSystemHarness NewHarness() {
  std::string directory = ::testing::TempDir() + "/weft_fs_XXXXXX";
  return {std::make_unique<LocalFileSystem>(), mkdtemp(directory.data())};
}

// The system would end the path at the zero byte and access another file.
TEST(LocalFileSystemTest, PathsWithZeroBytesAreRefused) {
  const FileSystemHarness harness = NewHarness();
  FileSystem& files = *harness.file_system;
  const std::string mine = harness.directory + "/mine";
  ASSERT_OK(files.WriteFileAtomically(mine, "kept"));
  const std::string path = mine + std::string("\0.index", 7);
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, "x00");
  EXPECT_THAT(files.NewWritableFile(path), refused);
  EXPECT_THAT(files.NewAppendableFile(path), refused);
  EXPECT_THAT(files.NewRandomAccessFile(path), refused);
  EXPECT_THAT(files.IsDirectory(path), refused);
  EXPECT_THAT(files.GetFileSize(path), refused);
  EXPECT_THAT(files.ListDirectory(path), refused);
  EXPECT_THAT(files.CreateDirectory(path), refused);
  EXPECT_THAT(files.DeleteFile(path), refused);
  EXPECT_THAT(files.DeleteDirectory(path), refused);
  EXPECT_THAT(files.RenameFile(path, mine), refused);
  EXPECT_THAT(files.RenameFile(mine, path), refused);
  EXPECT_THAT(files.SyncDirectory(path), refused);
  EXPECT_EQ(files.ReadFile(mine).value_or(""), "kept");
}

// A full disk makes a write fail in the middle. When the file is closed, the
// disk has space again, and the rest must be written exactly once.
TEST(LocalFileSystemTest, BytesWrittenBeforeErrorAppearOnce) {
  const FileSystemHarness harness = NewHarness();
  FileSystem& files = *harness.file_system;
  const std::string path = harness.directory + "/file";
  ASSERT_OK_AND_ASSIGN(auto file, files.NewWritableFile(path));
  std::string bytes;
  for (int i = 0; bytes.size() < 1000; ++i) bytes += std::to_string(i);
  ASSERT_OK(file->Append(bytes));
  // At the file size limit, the system first writes the bytes below the limit,
  // and then fails and sends SIGXFSZ.
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status full = file->Flush();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(full.ok());
  EXPECT_EQ(files.ReadFile(path).value_or(""), bytes.substr(0, 100));
  EXPECT_OK(file->Close());
  EXPECT_EQ(files.ReadFile(path).value_or(""), bytes);
}

// If nobody writes to a pipe, opening it could block forever.
TEST(LocalFileSystemTest, NamedPipeDoesNotBlock) {
  const FileSystemHarness harness = NewHarness();
  const std::string path = harness.directory + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(harness.file_system->ReadFile(path).ok());
}

// The fsync of a directory in /proc returns EINVAL, as on autofs, squashfs and
// some SMB mounts.
TEST(LocalFileSystemTest, DirectoryWithoutSyncSupportIsNotAnError) {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(proc, 0);
  errno = 0;
  ASSERT_EQ(::fsync(proc), -1);
  EXPECT_EQ(errno, EINVAL);
  ::close(proc);
  EXPECT_OK(LocalFileSystem().SyncDirectory("/proc"));
  EXPECT_THAT(LocalFileSystem().SyncDirectory("/proc/none"),
              StatusIs(absl::StatusCode::kNotFound, "/proc/none"));
}

// Takes the capabilities from this thread that let root read any directory.
class WithoutFileCapabilities {
 public:
  WithoutFileCapabilities() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_.data()), 0);
    auto less = before_;
    less[0].effective &=
        ~((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH));
    EXPECT_EQ(::syscall(SYS_capset, &header_, less.data()), 0);
  }
  ~WithoutFileCapabilities() {
    EXPECT_EQ(::syscall(SYS_capset, &header_, before_.data()), 0);
  }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> before_ = {};
};

TEST(LocalFileSystemTest, WriteOnlyDirectoryAcceptsFiles) {
  const FileSystemHarness harness = NewHarness();
  FileSystem& files = *harness.file_system;
  const std::string directory = harness.directory + "/write_only";
  ASSERT_EQ(::mkdir(directory.c_str(), 0300), 0);
  const WithoutFileCapabilities as_user;
  EXPECT_THAT(files.ListDirectory(directory),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_OK(files.SyncDirectory(directory));
  EXPECT_OK(files.WriteFileAtomically(directory + "/file", "text"));
  EXPECT_OK(files.CreateDirectories(directory + "/a/b"));
  EXPECT_EQ(files.ReadFile(directory + "/file").value_or(""), "text");
}

TEST(LocalFileSystemTest, TooLongPathCreatesNoDirectories) {
  const FileSystemHarness harness = NewHarness();
  std::string path = harness.directory;
  for (int i = 0; i < 100'000; ++i) path += "/a";
  EXPECT_FALSE(harness.file_system->CreateDirectories(path).ok());
  EXPECT_TRUE(harness.file_system->ListDirectory(harness.directory)->empty());
}

INSTANTIATE_TEST_SUITE_P(Local, FileSystemConformanceTest,
                         ::testing::Values(NewHarness));

}  // namespace
}  // namespace weft
