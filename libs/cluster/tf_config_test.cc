#include "libs/cluster/tf_config.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

TEST(TfConfigTest, ClusterAndTaskAreParsed) {
  ASSERT_OK_AND_ASSIGN(
      const TfConfig config,
      TfConfig::Parse(R"({"cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]},
                          "task": {"type": "worker", "index": 1},
                          "environment": "cloud"})"));
  EXPECT_EQ(config.cluster,
            (ClusterSpec{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}}));
  EXPECT_EQ(config.job_name, "worker");
  EXPECT_EQ(config.task_index, 1);
  EXPECT_FALSE(config.IsChief());
}

TEST(TfConfigTest, IndexMayBeLeftOutOrQuoted) {
  ASSERT_OK_AND_ASSIGN(
      const TfConfig first,
      TfConfig::Parse(
          R"({"cluster": {"worker": ["b:2"]}, "task": {"type": "worker"}})"));
  EXPECT_EQ(first.task_index, 0);
  ASSERT_OK_AND_ASSIGN(const TfConfig quoted,
                       TfConfig::Parse(R"({"cluster": {"worker": {"7": "b:2"}},
                          "task": {"type": "worker", "index": "7"}})"));
  EXPECT_EQ(quoted.task_index, 7);
  EXPECT_EQ(quoted.trainer_index(), 0);
}

TEST(TfConfigTest, ChiefIsTheFirstTrainingTask) {
  const ClusterSpec plain{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  const ClusterSpec chief{
      {"chief", {"d:4"}}, {"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  const ClusterSpec master{{"master", {"d:4"}}, {"worker", {"b:2"}}};
  const struct {
    TfConfig config;
    bool is_chief;
    int trainer;
    int trainers;
  } cases[] = {{{plain, "worker", 0}, true, 0, 2},
               {{plain, "worker", 1}, false, 1, 2},
               {{chief, "chief", 0}, true, 0, 3},
               {{chief, "worker", 0}, false, 1, 3},
               {{master, "master", 0}, true, 0, 2},
               {{master, "worker", 0}, false, 1, 2}};
  for (const auto& c : cases) {
    EXPECT_EQ(c.config.IsChief(), c.is_chief) << c.config.cluster.ToString();
    EXPECT_EQ(c.config.trainer_index(), c.trainer);
    EXPECT_EQ(c.config.num_trainers(), c.trainers);
  }
  const TfConfig ps{plain, "ps", 0};
  EXPECT_FALSE(ps.IsTrainer());
  EXPECT_FALSE(ps.IsChief());
}

TEST(TfConfigTest, MalformedTfConfigErrorsNameTheDefect) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{", "not a JSON object: line 1, column 2"},
      {"{}", "no \"cluster\""},
      {R"({"cluster": {}})", "without jobs"},
      {R"({"cluster": "ps|a:1"})", "without jobs"},
      {R"({"cluster": {"ps": 3}})", "\"ps\""},
      {R"({"cluster": {"ps": ["a:1"]}})", "no \"task\""},
      {R"({"cluster": {"ps": ["a:1"]}, "task": 3})", "no \"task\""},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {}})", "no \"type\""},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": 3}})", "no \"type\""},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "worker"}})",
       "Job \"worker\" was not defined"},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 2}})",
       "Task 2 was not defined"},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": -1}})",
       "index -1"},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 1.5}})",
       "index 1.5"},
      {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": "x"}})",
       "index \"x\""},
      {R"({"cluster": {"ps": ["a:1"]},
           "task": {"type": "ps", "index": 18446744073709551615}})",
       "which is none"},
  };
  for (const auto& c : cases) {
    const absl::Status status = TfConfig::Parse(c.text).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, c.says))
        << c.text;
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, "TF_CONFIG"));
  }
}

TEST(TfConfigTest, IsReadFromTheEnvironment) {
  ASSERT_EQ(unsetenv("TF_CONFIG"), 0);
  ASSERT_OK_AND_ASSIGN(const auto none, TfConfig::FromEnvironment());
  EXPECT_FALSE(none.has_value());
  ASSERT_EQ(
      setenv("TF_CONFIG",
             R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}})", 1),
      0);
  ASSERT_OK_AND_ASSIGN(const auto ps, TfConfig::FromEnvironment());
  ASSERT_TRUE(ps.has_value());
  EXPECT_EQ(ps->job_name, "ps");
  ASSERT_EQ(setenv("TF_CONFIG", "{", 1), 0);
  EXPECT_FALSE(TfConfig::FromEnvironment().ok());
  ASSERT_EQ(unsetenv("TF_CONFIG"), 0);
}

TEST(TfConfigTest, DeeplyNestedListsAreRefused) {
  const std::string open(1000000, '['), close(1000000, ']');
  EXPECT_THAT(TfConfig::Parse("{\"cluster\": {\"ps\": " + open + close +
                              "}, \"task\": {\"type\": \"ps\"}}"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weft
