#include "libs/device/local_devices.h"

#include <set>

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(LocalDevicesTest, CpusAreListedBeforeGpus) {
  auto random = NewSeededRandom(1);
  auto devices =
      NewLocalDevices("/job:ps/replica:0/task:2", {.cpus = 2, .host_gpus = 1},
                      HeapAllocator(), *random);
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0]->name(), "/job:ps/replica:0/task:2/device:CPU:0");
  EXPECT_EQ(devices[1]->name(), "/job:ps/replica:0/task:2/device:CPU:1");
  EXPECT_EQ(devices[2]->name(), "/job:ps/replica:0/task:2/device:GPU:0");
  EXPECT_EQ(devices[2]->device_type(), "GPU");
}

TEST(LocalDevicesTest, IncarnationsAreDistinctAndNeverZero) {
  auto random = NewSeededRandom(1);
  std::set<uint64_t> seen = {0};
  for (int start = 0; start < 10; ++start) {
    auto device =
        NewCpuDevice("/job:a/replica:0/task:0", 0, HeapAllocator(), *random);
    EXPECT_TRUE(seen.insert(device->attributes().incarnation).second);
  }
}

}  // namespace
}  // namespace weft
