#include "libs/fs/failing_file_system.h"

#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

// Decorated passes the conformance tests because a FailingFileSystem without
// injected failures behaves like the underlying file system.
struct Decorated : public FailingFileSystem {
  Decorated() : FailingFileSystem(memory) {}
  MemoryFileSystem memory;
};

INSTANTIATE_TEST_SUITE_P(
    Failing, FileSystemConformanceTest, ::testing::Values([] {
      auto file_system = std::make_unique<Decorated>();
      EXPECT_OK(file_system->CreateDirectories("/a"));
      return FileSystemHarness{std::move(file_system), "/a"};
    }));

TEST(FailingFileSystemTest, FailedAtomicWriteKeepsOldOrNewContents) {
  const absl::Status failure = absl::UnavailableError("disk on fire");
  bool succeeded = false;
  for (int64_t n = 0; !succeeded; ++n) {
    MemoryFileSystem memory;
    FailingFileSystem fs(memory);
    ASSERT_OK(fs.WriteFileAtomically("/file", "old"));
    fs.FailAllFrom(n, failure);
    const absl::Status written = fs.WriteFileAtomically("/file", "new");
    succeeded = written.ok();
    const std::string contents = memory.ReadFile("/file").value();
    EXPECT_TRUE(contents == "old" || contents == "new") << contents;
    if (succeeded) {
      EXPECT_EQ(contents, "new");
    } else {
      EXPECT_EQ(written, failure);
    }
  }
}

TEST(FailingFileSystemTest, OneOperationFails) {
  MemoryFileSystem memory;
  FailingFileSystem fs(memory);
  fs.FailOperation(1, absl::InternalError("once"));
  EXPECT_OK(fs.CreateDirectory("/a"));
  EXPECT_THAT(fs.CreateDirectory("/b"),
              StatusIs(absl::StatusCode::kInternal, "once"));
  EXPECT_OK(fs.CreateDirectory("/b"));
  EXPECT_EQ(fs.num_operations(), 3);
}

TEST(FailingFileSystemTest, FullDiskWritesUpToItsLimit) {
  MemoryFileSystem memory;
  FailingFileSystem fs(memory);
  fs.LimitSpace(5);
  ASSERT_OK_AND_ASSIGN(auto file, fs.NewWritableFile("/file"));
  EXPECT_OK(file->Append("123"));
  EXPECT_THAT(file->Append("456"),
              StatusIs(absl::StatusCode::kResourceExhausted, "/file"));
  EXPECT_THAT(file->Append("7"),
              StatusIs(absl::StatusCode::kResourceExhausted, "No space left"));
  EXPECT_EQ(memory.ReadFile("/file").value(), "12345");
  fs.Heal();
  EXPECT_OK(file->Append("8"));
}

}  // namespace
}  // namespace weft
