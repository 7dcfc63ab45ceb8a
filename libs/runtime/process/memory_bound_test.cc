#include "libs/runtime/process/memory_bound.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
// The size of a pool that holds all memory of the process.
constexpr int64_t kAll = int64_t{1} << 50;

class MemoryBoundTest : public ::testing::Test {
 protected:
  void File(const std::string& path, const std::string& text) {
    const std::string directory = path.substr(0, path.rfind('/'));
    for (size_t i = 1; i != std::string::npos;) {
      i = directory.find('/', i + 1);
      files_.CreateDirectory(directory.substr(0, i)).IgnoreError();
    }
    ASSERT_OK(files_.WriteFileAtomically(path, text));
  }
  void System() {
    File("/proc/meminfo",
         "MemTotal:       2000 kB\nMemAvailable:    1000 kB\nBuffers: 7 kB\n");
    File("/proc/self/statm", "900 10 5 1 0 20 0\n");
  }

  const int64_t resident_ = 10 * sysconf(_SC_PAGESIZE);
  MemoryFileSystem files_;
};

TEST_F(MemoryBoundTest, IsAvailablePlusHeldMemory) {
  EXPECT_EQ(MemoryBound(files_, kAll), kUnknown);
  System();
  EXPECT_EQ(MemoryBound(files_, kAll), 1000 * 1024 + resident_);
}

// The bound excludes memory that the process uses outside the pool.
TEST_F(MemoryBoundTest, MemoryOutsideThePoolIsExcluded) {
  System();
  EXPECT_EQ(MemoryBound(files_, 0), 1000 * 1024);
  EXPECT_EQ(MemoryBound(files_, 100), 1000 * 1024 + 100);
  EXPECT_EQ(MemoryBound(files_, resident_ + 100), 1000 * 1024 + resident_)
      << "some of it is not written";
}

TEST_F(MemoryBoundTest, ParentCgroupMayHaveASmallerLimit) {
  System();
  File("/proc/self/cgroup", "0::/a/b\n");
  File("/sys/fs/cgroup/a/memory.max", "5000\n");
  File("/sys/fs/cgroup/a/memory.current", "3000\n");
  File("/sys/fs/cgroup/a/memory.stat",
       "anon 2000\nactive_file 400\ninactive_file 600\n");
  File("/sys/fs/cgroup/a/b/memory.max", "max\n");
  File("/sys/fs/cgroup/a/b/memory.current", "1\n");
  EXPECT_EQ(MemoryBound(files_, kAll), 2600 + resident_);
  File("/sys/fs/cgroup/a/b/memory.max", "0\n");
  EXPECT_EQ(MemoryBound(files_, kAll), resident_);
}

TEST_F(MemoryBoundTest, CgroupV1LimitsAreApplied) {
  System();
  File("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n");
  File("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  File("/sys/fs/cgroup/memory/memory.usage_in_bytes", "123");
  File("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000\n");
  File("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(MemoryBound(files_, kAll), 6000 + resident_);
}

TEST_F(MemoryBoundTest, MalformedNumbersAreUnknown) {
  File("/proc/meminfo", "MemAvailable: much\n");
  File("/proc/self/statm", "");
  File("/proc/self/cgroup", "nonsense\n0::\n");
  EXPECT_EQ(MemoryBound(files_, kAll), kUnknown);
}

constexpr char kBootId[] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
constexpr char kMounts[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";

TEST_F(MemoryBoundTest, MachineIsIdentifiedByItsBootId) {
  EXPECT_EQ(ReadMachineMemory(files_).machine, "");
  EXPECT_EQ(ReadMachineMemory(files_).available, kUnknown);
  System();
  File("/proc/sys/kernel/random/boot_id", absl::StrCat(kBootId, "\n"));
  File("/proc/self/mountinfo", kMounts);
  File("/proc/self/cgroup", "0::/a\n");
  File("/sys/fs/cgroup/a/memory.max", "9000000\n");
  File("/sys/fs/cgroup/a/memory.current", "3000\n");
  const MachineMemory memory = ReadMachineMemory(files_);
  EXPECT_EQ(memory.machine, kBootId);
  EXPECT_EQ(memory.available, 1000 * 1024);
}

// A process in another control group does not share the group's memory.
TEST_F(MemoryBoundTest, LimitedCgroupCountsAsItsOwnMachine) {
  System();
  File("/proc/sys/kernel/random/boot_id", absl::StrCat(kBootId, "\n"));
  File("/proc/self/cgroup", "0::/a\n");
  File("/sys/fs/cgroup/a/memory.max", "5000\n");
  File("/sys/fs/cgroup/a/memory.current", "3000\n");
  EXPECT_EQ(ReadMachineMemory(files_).machine, "") << "which container?";
  EXPECT_EQ(ReadMachineMemory(files_).available, 2000);
  File("/proc/self/mountinfo", kMounts);
  const MachineMemory memory = ReadMachineMemory(files_);
  EXPECT_EQ(memory.machine, absl::StrCat(kBootId, " 27 0::/a\n"));
  EXPECT_EQ(memory.available, 2000);
}

TEST_F(MemoryBoundTest, ContainerWithOwnMeminfoCountsAsMachine) {
  System();
  File("/proc/sys/kernel/random/boot_id", absl::StrCat(kBootId, "\n"));
  File("/proc/self/mountinfo",
       absl::StrCat(kMounts,
                    "30 22 0:40 /proc/meminfo /proc/meminfo rw - "
                    "fuse.lxcfs lxcfs rw\n"));
  const MachineMemory memory = ReadMachineMemory(files_);
  EXPECT_EQ(memory.machine, absl::StrCat(kBootId, " 27 "));
  EXPECT_EQ(memory.available, 1000 * 1024);
}

TEST_F(MemoryBoundTest, MalformedMachineNameIsUnknown) {
  File("/proc/sys/kernel/random/boot_id", "\n");
  EXPECT_EQ(ReadMachineMemory(files_).machine, "");
  File("/proc/sys/kernel/random/boot_id", std::string(1000, 'x'));
  EXPECT_EQ(ReadMachineMemory(files_).machine, "");
}

TEST_F(MemoryBoundTest, ThisMachineHasABound) {
  LocalFileSystem files;
  const int64_t bound = MemoryBound(files, kAll);
  EXPECT_GT(bound, 1 << 20);
  EXPECT_LT(bound, kUnknown);
  EXPECT_GT(ReadMachineMemory(files).available, 1 << 20);
  EXPECT_LT(ReadMachineMemory(files).available, kUnknown);
}

}  // namespace
}  // namespace weft
