#include "libs/fs/closable_file_system.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

constexpr auto kCancelled = absl::StatusCode::kCancelled;

// Decorated passes the conformance tests because an open ClosableFileSystem
// behaves like the underlying file system.
struct Decorated : public RoutedFileSystem {
  absl::StatusOr<Place> Find(absl::string_view path) override {
    return Place{&files, nullptr, std::string(path)};
  }
  ManualClock clock;
  SimulatedScheduler scheduler{clock};
  MemoryFileSystem memory;
  ClosableFileSystem files{memory, scheduler};
};

INSTANTIATE_TEST_SUITE_P(
    Closable, FileSystemConformanceTest, ::testing::Values([] {
      auto file_system = std::make_unique<Decorated>();
      EXPECT_OK(file_system->CreateDirectories("/a"));
      return FileSystemHarness{std::move(file_system), "/a"};
    }));

class ClosableFileSystemTest : public testing::Test {
 protected:
  absl::Time In(absl::Duration time) { return clock_.Now() + time; }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  MemoryFileSystem memory_;
  ClosableFileSystem files_{memory_, scheduler_};
};

TEST_F(ClosableFileSystemTest, CountsOpenFiles) {
  ASSERT_OK(files_.WriteFileAtomically("f", "four"));
  EXPECT_EQ(files_.num_in_use(), 0);
  auto reader = files_.NewRandomAccessFile("f");
  auto writer = files_.NewWritableFile("g");
  ASSERT_OK(reader);
  ASSERT_OK(writer);
  EXPECT_FALSE(files_.NewRandomAccessFile("none").ok());
  EXPECT_EQ(files_.num_in_use(), 2);
  writer->reset();
  EXPECT_EQ(files_.num_in_use(), 1);
  reader->reset();
  EXPECT_EQ(files_.num_in_use(), 0);
}

TEST_F(ClosableFileSystemTest, ClosesWhenTheLastFileIsClosed) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> file,
                       files_.NewWritableFile("f"));
  absl::Status opened, deleted;
  scheduler_.Schedule(Pool::kBlocking, [&] {
    opened = files_.NewRandomAccessFile("f").status();
    EXPECT_OK(file->Append("x"));
    file.reset();
    deleted = files_.DeleteFile("f");
  });
  EXPECT_TRUE(files_.Close(In(absl::Minutes(1))));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(opened, StatusIs(kCancelled, "f: the process"));
  // A deletion could succeed until Close ended, and is refused afterwards.
  EXPECT_TRUE(deleted.ok() || absl::IsCancelled(deleted)) << deleted;
  EXPECT_THAT(files_.FileExists("f"), StatusIs(kCancelled));
}

TEST_F(ClosableFileSystemTest, CloseWaitsUntilDeadline) {
  ASSERT_OK_AND_ASSIGN(const auto file, files_.NewWritableFile("f"));
  const absl::Time deadline = In(absl::Minutes(1));
  EXPECT_FALSE(files_.Close(deadline));
  EXPECT_EQ(clock_.Now(), deadline);
  EXPECT_EQ(files_.num_in_use(), 1);
}

}  // namespace
}  // namespace weft
