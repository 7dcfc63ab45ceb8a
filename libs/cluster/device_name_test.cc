#include "libs/cluster/device_name.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

DeviceName Named(absl::string_view text) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(text);
  EXPECT_TRUE(name.ok()) << name.status();
  return name.ok() ? *name : DeviceName();
}

TEST(DeviceNameTest, PrintsInCanonicalForm) {
  const struct {
    const char* text;
    const char* canonical;
  } cases[] = {
      {"", ""},
      {"/", ""},
      {"/job:*/replica:*/task:*/device:*:*", ""},
      {"/job:worker/replica:0/task:1/device:CPU:0",
       "/job:worker/replica:0/task:1/device:CPU:0"},
      {"/device:CPU:0/task:1/job:worker", "/job:worker/task:1/device:CPU:0"},
      {"/job:ps/task:0/cpu:0", "/job:ps/task:0/device:CPU:0"},
      {"/cpu:0", "/device:CPU:0"},
      {"cpu:0", "/device:CPU:0"},
      {"/cpu", "/device:CPU:*"},
      {"/CPU:*", "/device:CPU:*"},
      {"/gpu:*", "/device:GPU:*"},
      {"/GPU:3", "/device:GPU:3"},
      {"/device:gpu:3", "/device:GPU:3"},
      {"/device:GPU", "/device:GPU:*"},
      {"/device:*", ""},
      {"/device:GPU:*", "/device:GPU:*"},
      {"/device:*:2", "/device:*:2"},
      {"/task:*/job:a/replica:*", "/job:a"},
      {"/gpu:1/replica:2/job:a/task:3", "/job:a/replica:2/task:3/device:GPU:1"},
      {"job:a/task:3", "/job:a/task:3"},
      {"//job:a//task:3/", "/job:a/task:3"},
      {"/device:MY_CHIP:2", "/device:MY_CHIP:2"},
      {"/job:w_1/task:12", "/job:w_1/task:12"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Named(c.text).ToString(), c.canonical) << c.text;
    EXPECT_EQ(Named(c.canonical).ToString(), c.canonical);
  }
}

TEST(DeviceNameTest, MalformedNamesAreRefused) {
  for (const char* text : {"/job:",
                           "/job:1a",
                           "/job:a-b",
                           "/task:x",
                           "/task:-1",
                           "/task:+1",
                           "/task:99999999999",
                           "/jobs:a",
                           "/device",
                           "/device:",
                           "/device:CPU:x",
                           "/device:CPU:0:1",
                           "/tpu:0",
                           "/cpu:0:1",
                           "nonsense",
                           "/job:a:b",
                           "/cpu:0/gpu:0",
                           "/device:CPU:0/cpu:0",
                           "/cpu:",
                           "/cpu:x",
                           "/CpU:0",
                           "/job",
                           "/task",
                           "/replica:",
                           "/job:_a",
                           "/job:a b",
                           "/task:1.0",
                           "/task: 1",
                           "/device:CPU:",
                           "/device::0",
                           "/device:1:0",
                           "/device:CPU:-1",
                           "*"}) {
    absl::StatusOr<DeviceName> name = DeviceName::Parse(text);
    EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(DeviceNameTest, ErrorsNameTheMalformedPart) {
  EXPECT_EQ(DeviceName::Parse("/jobs:a").status().message(),
            "Malformed device specification '/jobs:a': Unknown attribute: "
            "'jobs' in 'jobs:a'");
  EXPECT_EQ(DeviceName::Parse("/cpu:0/gpu:1").status().message(),
            "Malformed device specification '/cpu:0/gpu:1': Cannot specify "
            "multiple device types: CPU and gpu in 'gpu:1'");
}

TEST(DeviceNameTest, FullySpecifiedNameIsRecognized) {
  EXPECT_TRUE(Named("/job:a/replica:0/task:0/cpu:0").IsFull());
  EXPECT_FALSE(Named("/job:a/replica:0/task:0/device:CPU").IsFull());
  EXPECT_FALSE(Named("/job:a/task:0/cpu:0").IsFull());
  EXPECT_TRUE(Named("/job:a/replica:0/task:0").HasTask());
  EXPECT_TRUE(Named("/job:*").IsEmpty());
}

TEST(DeviceNameTest, MergesTwoRequests) {
  const struct {
    const char *a, *b;
    const char* merged;  // if it begins with '!': text in the error
    const char* soft;
  } cases[] = {
      {"/job:a", "/task:1", "/job:a/task:1", "/job:a/task:1"},
      {"/job:a", "/job:b", "!incompatible jobs", "!incompatible jobs"},
      {"/replica:0", "/replica:1", "!incompatible replicas",
       "!incompatible replicas"},
      {"/task:0", "/task:1", "!incompatible tasks", "!incompatible tasks"},
      {"/job:a/cpu:0", "/gpu:0", "!incompatible types", "/job:a"},
      {"/job:a/gpu:0", "/gpu:1", "!incompatible ids", "/job:a/device:GPU:*"},
      {"/gpu:0", "/device:GPU", "/device:GPU:0", "/device:GPU:0"},
      {"/device:GPU", "/device:*:1", "/device:GPU:1", "/device:GPU:1"},
      {"/device:GPU:0", "/device:*:1", "!incompatible ids", "/device:GPU:*"},
      // A different type clears the index too, even if only one of the two
      // names requests an index.
      {"/task:1/device:CPU", "/gpu:1", "!incompatible types", "/task:1"},
      {"/job:a/task:0/gpu:0", "/task:1/cpu:0", "!incompatible tasks",
       "!incompatible tasks"},
      {"", "/job:a/cpu:0", "/job:a/device:CPU:0", "/job:a/device:CPU:0"},
  };
  for (const auto& c : cases) {
    for (bool soft : {false, true}) {
      DeviceName name = Named(c.a);
      const absl::Status status = name.MergeFrom(Named(c.b), soft);
      const std::string expected = soft ? c.soft : c.merged;
      if (expected[0] == '!') {
        EXPECT_NE(std::string(status.message()).find(expected.substr(1)),
                  std::string::npos)
            << status;
        EXPECT_EQ(name, Named(c.a)) << "changed by a refused merge";
      } else {
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(name.ToString(), expected) << c.a << " with " << c.b;
      }
    }
  }
}

TEST(DeviceNameTest, InnerScopeWinsPartByPart) {
  const DeviceName worker = Named("/job:worker/cpu:1");
  EXPECT_EQ(worker.OverriddenBy(Named("/task:1")).ToString(),
            "/job:worker/task:1/device:CPU:1");
  EXPECT_EQ(worker.OverriddenBy(Named("/job:ps/gpu:0")).ToString(),
            "/job:ps/device:GPU:0");
  EXPECT_EQ(worker.OverriddenBy(Named("/gpu")).ToString(),
            "/job:worker/device:GPU:1");
  EXPECT_EQ(worker.OverriddenBy(Named("/job:*/device:*:*")), worker);
  EXPECT_EQ(Named("/job:worker")
                .OverriddenBy(Named("/task:1"))
                .OverriddenBy(Named("/cpu:0"))
                .ToString(),
            "/job:worker/task:1/device:CPU:0");
}

TEST(DeviceNameTest, SpecificationComparesPartByPart) {
  const DeviceName full = Named("/job:a/replica:0/task:2/cpu:0");
  for (const char* text : {"", "/job:a", "/task:2", "/cpu:0", "/device:CPU"}) {
    EXPECT_TRUE(Named(text).IsSpecificationOf(full)) << text;
  }
  for (const char* text : {"/job:b", "/task:1", "/gpu:0", "/cpu:1"}) {
    EXPECT_FALSE(Named(text).IsSpecificationOf(full)) << text;
    EXPECT_FALSE(Named(text).IsCompatibleWith(full)) << text;
  }
  EXPECT_FALSE(full.IsSpecificationOf(Named("/job:a")));
  EXPECT_TRUE(full.IsCompatibleWith(Named("/job:a")));
}

}  // namespace
}  // namespace weft
