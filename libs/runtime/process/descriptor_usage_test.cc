#include "libs/runtime/process/descriptor_usage.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "libs/fs/local_file_system.h"

namespace weft {
namespace {

TEST(DescriptorUsageTest, SoftLimitIsRaisedToTheHardLimit) {
  LocalFileSystem files;
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = hard / 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (int i = 0; i < 2; ++i) {
    const DescriptorUsage room = RaiseDescriptorLimit(files);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, hard);
    EXPECT_EQ(limit.rlim_max, hard);
    EXPECT_EQ(static_cast<rlim_t>(room.limit), hard);
    EXPECT_GE(room.open, 3);
  }
}

}  // namespace
}  // namespace weft
