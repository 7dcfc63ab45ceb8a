#include "libs/runtime/process/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

class ProcessUsageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectories("/proc/self/fd"));
  }
  MemoryFileSystem files_;
};

TEST_F(ProcessUsageTest, IsReadFromProcFiles) {
  const int64_t ticks = sysconf(_SC_CLK_TCK);
  ASSERT_OK(files_.WriteFileAtomically(
      "/proc/self/stat", "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 " +
                             std::to_string(3 * ticks) + " " +
                             std::to_string(2 * ticks) + " 0 0 20 0 7 0 " +
                             std::to_string(10 * ticks) +
                             " 4096000 25 18446\n"));
  ASSERT_OK(files_.WriteFileAtomically("/proc/stat",
                                       "cpu 1 2\nbtime 1700000000\nprocs 3\n"));
  ASSERT_OK(files_.WriteFileAtomically(
      "/proc/self/limits",
      "Limit                     Soft Limit           Hard Limit    Units\n"
      "Max open files            1024                 524288        files\n"));
  for (const char* name : {"0", "1", "2", "3"}) {
    ASSERT_OK(
        files_.WriteFileAtomically(std::string("/proc/self/fd/") + name, ""));
  }
  const ProcessUsage usage = ReadProcessUsage(files_);
  EXPECT_EQ(usage.cpu_seconds, 5);
  EXPECT_EQ(usage.start_seconds, 1700000010);
  EXPECT_EQ(usage.threads, 7);
  EXPECT_EQ(usage.virtual_bytes, 4096000);
  EXPECT_EQ(usage.resident_bytes, 25 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(usage.open_fds, 3);
  EXPECT_EQ(usage.max_fds, 1024);
}

TEST_F(ProcessUsageTest, MissingValuesAreZero) {
  MemoryFileSystem nothing;
  EXPECT_EQ(ReadProcessUsage(nothing).resident_bytes, 0);
  ASSERT_OK(files_.WriteFileAtomically("/proc/self/stat", "42 (cut"));
  ASSERT_OK(files_.WriteFileAtomically("/proc/self/limits",
                                       "Max open files unlimited\n"));
  const ProcessUsage usage = ReadProcessUsage(files_);
  EXPECT_EQ(usage.threads, 0);
  EXPECT_EQ(usage.max_fds, 0);
  EXPECT_EQ(usage.open_fds, 0);
}

TEST_F(ProcessUsageTest, ThisProcessHasAUsage) {
  LocalFileSystem files;
  const ProcessUsage usage = ReadProcessUsage(files);
  EXPECT_GT(usage.start_seconds, 1.6e9);
  EXPECT_GT(usage.resident_bytes, 100 << 10);
  EXPECT_GE(usage.virtual_bytes, usage.resident_bytes);
  EXPECT_GE(usage.threads, 1);
  EXPECT_GE(usage.open_fds, 1);
  EXPECT_GT(usage.max_fds, usage.open_fds);
}

}  // namespace
}  // namespace weft
