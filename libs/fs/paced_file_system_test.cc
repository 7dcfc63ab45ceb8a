#include "libs/fs/paced_file_system.h"

#include <memory>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

struct PacedParts {
  ManualClock clock;
  SimulatedScheduler scheduler{clock, {.seed = 1}};
  MemoryFileSystem base;
};

// OwnPacedFileSystem owns the file system that it decorates.
class OwnPacedFileSystem : public PacedFileSystem {
 public:
  explicit OwnPacedFileSystem(std::unique_ptr<PacedParts> parts)
      : PacedFileSystem(parts->base, {.scheduler = &parts->scheduler}),
        parts_(std::move(parts)) {}

 private:
  const std::unique_ptr<PacedParts> parts_;
};

FileSystemHarness NewHarness() {
  auto files =
      std::make_unique<OwnPacedFileSystem>(std::make_unique<PacedParts>());
  EXPECT_OK(files->CreateDirectories("/a/b"));
  return {std::move(files), "/a/b"};
}

INSTANTIATE_TEST_SUITE_P(Paced, FileSystemConformanceTest,
                         ::testing::Values([] { return NewHarness(); }));

class PacedFileSystemTest : public ::testing::Test {
 protected:
  // Returns how long `work` takes on a thread that may block.
  template <typename Work>
  absl::Duration TimeOf(Work work) {
    const absl::Time begin = parts_.clock.Now();
    absl::Time end = begin;
    parts_.scheduler.Schedule(Pool::kBlocking, [&] {
      work();
      end = parts_.clock.Now();
    });
    parts_.scheduler.AdvanceBy(absl::Minutes(1));
    return end - begin;
  }

  PacedParts parts_;
};

TEST_F(PacedFileSystemTest, RateLimitIsSharedByAllFiles) {
  PacedFileSystem files(parts_.base, {.max_bytes_per_second = 1 << 20,
                                      .scheduler = &parts_.scheduler});
  const std::string megabyte(1 << 20, 'x');
  const absl::Duration took = TimeOf([&] {
    auto a = files.NewWritableFile("/a").value();
    auto b = files.NewWritableFile("/b").value();
    for (int i = 0; i < 5; ++i) {
      EXPECT_OK(a->Append(megabyte));
      EXPECT_OK(b->Append(megabyte));
    }
    EXPECT_OK(a->Append(megabyte + megabyte));
  });
  // The first chunk is written at once, and each other chunk after the chunks
  // before it.
  EXPECT_EQ(took, absl::Seconds(11));
  EXPECT_EQ(parts_.base.GetFileSize("/a").value(), uint64_t{7} << 20);
}

TEST_F(PacedFileSystemTest, IdleTimeIsNotCredited) {
  PacedFileSystem files(parts_.base, {.max_bytes_per_second = 1 << 20,
                                      .scheduler = &parts_.scheduler});
  const std::string megabyte(1 << 20, 'x');
  auto file = files.NewWritableFile("/a").value();
  TimeOf([&] { EXPECT_OK(file->Append(megabyte)); });
  EXPECT_EQ(TimeOf([&] {
              EXPECT_OK(file->Append(megabyte));
              EXPECT_OK(file->Append(megabyte));
            }),
            absl::Seconds(1));
}

TEST_F(PacedFileSystemTest, CancellationEndsTheWait) {
  Cancellation step;
  PacedFileSystem files(parts_.base, {.max_bytes_per_second = 1,
                                      .scheduler = &parts_.scheduler,
                                      .cancellation = &step});
  auto file = files.NewWritableFile("/a").value();
  parts_.scheduler.ScheduleAt(parts_.clock.Now() + absl::Seconds(10), [&] {
    step.Cancel(absl::AbortedError("enough"));
  });
  absl::Status status;
  const absl::Duration took = TimeOf([&] {
    status = file->Append(std::string(1000, 'x'));
    status = file->Append("y");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_LE(took, absl::Seconds(11));
}

TEST_F(PacedFileSystemTest, CancellationEndsUnlimitedAppends) {
  Cancellation step;
  PacedFileSystem files(
      parts_.base, {.scheduler = &parts_.scheduler, .cancellation = &step});
  auto file = files.NewWritableFile("/a").value();
  EXPECT_OK(file->Append("x"));
  step.Cancel(absl::AbortedError("enough"));
  EXPECT_THAT(file->Append("y"),
              StatusIs(absl::StatusCode::kAborted, "enough"));
}

}  // namespace
}  // namespace weft
