#include "libs/cluster/device_filters.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

DeviceName Named(absl::string_view text) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(text);
  EXPECT_OK(name);
  return name.ok() ? *name : DeviceName();
}

TEST(DeviceFiltersTest, AtLeastOneFilterMustMatch) {
  const char kPs1Cpu[] = "/job:ps/replica:0/task:1/device:CPU:0";
  const struct {
    std::vector<std::string> filters;
    bool device_passes;
    bool task_passes;
  } cases[] = {
      {{}, true, true},
      {{""}, true, true},
      {{"/job:ps"}, true, true},
      {{"/job:worker"}, false, false},
      {{"/job:worker", "/job:ps/task:1"}, true, true},
      {{"/job:ps/task:0", "/job:worker/task:0"}, false, false},
      {{"/task:1"}, true, true},
      {{"/cpu:0"}, true, true},
      {{"/job:ps/device:GPU:*"}, false, true},
      {{"/job:ps/cpu:1"}, false, true},
      {{"/job:ps/replica:1"}, false, false},
  };
  for (const auto& c : cases) {
    ASSERT_OK_AND_ASSIGN(const DeviceFilters filters,
                         DeviceFilters::Parse(c.filters));
    const std::string first = c.filters.empty() ? "none" : c.filters[0];
    EXPECT_EQ(filters.Passes(Named(kPs1Cpu)), c.device_passes) << first;
    EXPECT_EQ(filters.PassesTask(Named(kPs1Cpu)), c.task_passes) << first;
    EXPECT_EQ(filters.PassesTask(Named("/job:ps/replica:0/task:1")),
              c.task_passes)
        << first;
  }
}

TEST(DeviceFiltersTest, MalformedFilterIsNamed) {
  EXPECT_THAT(DeviceFilters::Parse({"/job:ps", "/jobs:a"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters: "));
  EXPECT_THAT(DeviceFilters::Parse({"/jobs:a"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "/jobs:a"));
}

}  // namespace
}  // namespace weft
