#include "libs/cluster/cluster_spec.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

TEST(ClusterSpecTest, JsonAndShortFormsAreTheSame) {
  ASSERT_OK_AND_ASSIGN(
      ClusterSpec json,
      ClusterSpec::Parse(R"({"ps": ["a:1"], "worker": ["b:2", "c:3"]})"));
  ASSERT_OK_AND_ASSIGN(ClusterSpec shorter,
                       ClusterSpec::Parse(" ps|a:1,worker|b:2;c:3 "));
  EXPECT_EQ(json, shorter);
  EXPECT_EQ(json, (ClusterSpec{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}}));
  EXPECT_EQ(json.num_tasks("worker"), 2);
  EXPECT_EQ(json.num_tasks("evaluator"), 0);
}

TEST(ClusterSpecTest, ToStringIsReadAgain) {
  ASSERT_OK_AND_ASSIGN(
      ClusterSpec spec,
      ClusterSpec::Parse(R"({"ps": ["a:1"], "worker": {"1": "c:3"}})"));
  ASSERT_OK_AND_ASSIGN(ClusterSpec again, ClusterSpec::Parse(spec.ToString()));
  EXPECT_EQ(spec, again);
  EXPECT_EQ(spec.ToString(), R"({"ps":["a:1"],"worker":{"1":"c:3"}})");
}

TEST(ClusterSpecTest, AddressesOfTasks) {
  const ClusterSpec spec{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  ASSERT_OK_AND_ASSIGN(std::string address, spec.TaskAddress("worker", 1));
  EXPECT_EQ(address, "c:3");
  EXPECT_THAT(spec.TaskAddress("worker", 2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Task 2 was not defined in job \"worker\""));
  EXPECT_THAT(
      spec.TaskAddress("master", 0).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "it has ps, worker"));
}

TEST(ClusterSpecTest, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {
      {"", "is empty"},
      {"{\"ps\": ", "not a JSON object"},
      {"{\"ps\": 3}", "\"ps\""},
      {"{\"ps\": [3]}", "3 is not an address"},
      {"{\"ps\": [\"\"]}", "not an address"},
      {"{\"ps\": {\"x\": \"a:1\"}}", "\"x\" is not a task index"},
      {"{\"ps\": {\"-1\": \"a:1\"}}", "-1"},
      {"{\"p s\": [\"a:1\"]}", "\"p s\""},
      {"ps=a:1", "ps=a:1"},
      {"ps|a:1,ps|b:1", "two addresses"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(ClusterSpec::Parse(c.text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, c.says))
        << c.text;
  }
}

}  // namespace
}  // namespace weft
