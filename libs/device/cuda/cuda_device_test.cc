// Tests the errors on a machine without a GPU, or of a build without CUDA.
#include "libs/device/cuda/cuda_device.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

TEST(CudaDeviceTest, MissingGpuIsExplained) {
  const absl::StatusOr<int> count = CudaDeviceCount();
  if (count.ok()) {
    EXPECT_GT(*count, 0);
    return;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(count.status())) << count.status();
  EXPECT_THAT(std::string(count.status().message()),
              testing::HasSubstr("no GPU: "));
}

TEST(CudaDeviceTest, NoDeviceIsCreatedUnlessRequested) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto random = NewSeededRandom(1);
  CudaDeviceOptions options;
  options.count = 0;
  const auto none = NewCudaDevices(kTask, options, *scheduler, *random);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->empty());
}

TEST(CudaDeviceTest, TooManyDevicesIsAnError) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto random = NewSeededRandom(1);
  CudaDeviceOptions options;
  options.count = 1000;
  EXPECT_FALSE(NewCudaDevices(kTask, options, *scheduler, *random).ok());
}

}  // namespace
}  // namespace weft
