#include "libs/estimator/run_config.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft::estimator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCluster[] =
    R"("cluster": {"chief": ["a:1"], "ps": ["b:2", "c:3"],
                   "worker": ["d:4", "e:5"]})";

std::string Text(const std::string& cluster, const std::string& task) {
  return "{" + cluster + ", \"task\": " + task + "}";
}

absl::StatusOr<RunConfig> Parse(const std::string& task) {
  return RunConfig::FromTfConfig(Text(kCluster, task), {});
}

std::string ErrorOf(const std::string& text) {
  return std::string(RunConfig::FromTfConfig(text, {}).status().message());
}

TEST(RunConfigTest, SingleProgramIsChief) {
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       RunConfig::FromTfConfig("{}", {.model_dir = "/m"}));
  EXPECT_EQ(config.model_dir, "/m");
  EXPECT_TRUE(config.is_chief);
  EXPECT_EQ(config.master, "");
  EXPECT_EQ(config.num_ps_replicas, 0);
  EXPECT_EQ(config.num_worker_replicas, 1);
  EXPECT_TRUE(config.TrainingSession().device_filters.empty());
}

TEST(RunConfigTest, ChiefFiltersForParameterServersAndItself) {
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       Parse(R"({"type": "chief", "index": 0})"));
  EXPECT_TRUE(config.is_chief);
  EXPECT_EQ(config.master, "zmq://a:1");
  EXPECT_EQ(config.num_ps_replicas, 2);
  EXPECT_EQ(config.num_worker_replicas, 3);
  EXPECT_EQ(config.TaskDevice(), "/job:chief/task:0");
  EXPECT_THAT(config.TrainingSession().device_filters,
              ElementsAre("/job:ps", "/job:chief"));
}

TEST(RunConfigTest, WorkerFiltersOutOtherWorkers) {
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       Parse(R"({"type": "worker", "index": "1"})"));
  EXPECT_FALSE(config.is_chief);
  EXPECT_EQ(config.master, "zmq://e:5");
  EXPECT_THAT(config.TrainingSession().device_filters,
              ElementsAre("/job:ps", "/job:worker/task:1"));
}

TEST(RunConfigTest, EvaluatorHasNoCluster) {
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       Parse(R"({"type": "evaluator", "index": 0})"));
  EXPECT_EQ(config.task_type, "evaluator");
  EXPECT_FALSE(config.is_chief);
  EXPECT_EQ(config.master, "");
  EXPECT_EQ(config.num_ps_replicas, 0);
  EXPECT_EQ(config.num_worker_replicas, 0);
  EXPECT_EQ(config.cluster_spec.num_tasks("ps"), 0);
}

TEST(RunConfigTest, SingleTaskClusterNeedsNoServer) {
  ASSERT_OK_AND_ASSIGN(
      const RunConfig config,
      RunConfig::FromTfConfig(Text(R"("cluster": {"chief": ["a:1"]})",
                                   R"({"type": "chief", "index": 0})"),
                              {}));
  EXPECT_EQ(config.master, "");
  EXPECT_TRUE(config.is_chief);
}

TEST(RunConfigTest, WorkerZeroIsChiefWithoutChiefJob) {
  const auto parse = [](const std::string& task) {
    return RunConfig::FromTfConfig(
        Text(R"("cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]})", task),
        {});
  };
  ASSERT_OK_AND_ASSIGN(const RunConfig chief,
                       parse(R"({"type": "worker", "index": 0})"));
  EXPECT_TRUE(chief.is_chief);
  EXPECT_EQ(chief.num_worker_replicas, 2);
  EXPECT_THAT(chief.TrainingSession().device_filters,
              ElementsAre("/job:ps", "/job:worker/task:0"));
  ASSERT_OK_AND_ASSIGN(const RunConfig worker,
                       parse(R"({"type": "worker", "index": 1})"));
  EXPECT_FALSE(worker.is_chief);
  ASSERT_OK_AND_ASSIGN(const RunConfig ps,
                       parse(R"({"type": "ps", "index": 0})"));
  EXPECT_FALSE(ps.is_chief);
}

TEST(RunConfigTest, EachTrainingTaskHasItsOwnInputShard) {
  const auto shard = [](const std::string& text) {
    const auto config = RunConfig::FromTfConfig(text, {}).value();
    return std::make_pair(config.InputShard().num_shards,
                          config.InputShard().index);
  };
  const std::string workers =
      R"("cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]})";
  const std::string last = R"({"type": "worker", "index": 1})";
  EXPECT_EQ(shard("{}"), std::make_pair(1, 0));
  EXPECT_EQ(shard(Text(kCluster, R"({"type": "chief", "index": 0})")),
            std::make_pair(3, 0));
  EXPECT_EQ(shard(Text(kCluster, last)), std::make_pair(3, 2));
  EXPECT_EQ(shard(Text(workers, last)), std::make_pair(2, 1));
  EXPECT_EQ(shard(Text(kCluster, R"({"type": "ps", "index": 1})")),
            std::make_pair(1, 0));
  EXPECT_EQ(shard(Text(kCluster, R"({"type": "evaluator", "index": 0})")),
            std::make_pair(1, 0));
}

TEST(RunConfigTest, InvalidTfConfigIsRejected) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"task": {"type": "ps"}})"),
              HasSubstr("has no \"cluster\""));
  EXPECT_THAT(ErrorOf(R"({"task": {"type": "worker", "index": 1}})"),
              HasSubstr("the index must be 0"));
  EXPECT_THAT(ErrorOf(Text(kCluster, R"({"index": 0})")),
              HasSubstr("has no \"type\""));
  EXPECT_THAT(ErrorOf(Text(kCluster, R"({"type": "worker"})")),
              HasSubstr("has no \"index\""));
  // Some of these indices are a small number in their last 32 bits, so
  // truncation would accept them.
  for (const char* index :
       {"-1", "-4294967295", "4294967297", "18446744069414584321",
        "18446744073709551615", "1073741824", "1e30", "0.5", "\"-1\"",
        "\"4294967297\"", "\"99999999999999999999\"", "null"}) {
    EXPECT_THAT(
        ErrorOf(Text(kCluster, absl::StrCat(R"({"type": "worker", "index": )",
                                            index, "}"))),
        HasSubstr("0 or more"))
        << index;
  }
  EXPECT_THAT(ErrorOf(Text(kCluster, R"({"type": "worker", "index": 2})")),
              HasSubstr("TF_CONFIG"));
  EXPECT_THAT(ErrorOf(Text(R"("cluster": {"ps": ["a:1", "b:2"]})",
                           R"({"type": "ps", "index": 0})")),
              HasSubstr("exactly one task of job \"chief\""));
  EXPECT_THAT(ErrorOf(Text(R"("cluster": {"chief": ["a:1", "b:2"]})",
                           R"({"type": "chief", "index": 0})")),
              HasSubstr("exactly one task of job \"chief\""));
  EXPECT_THAT(
      ErrorOf(Text(R"("cluster": {"chief": ["a:1"], "master": ["b:2"]})",
                   R"({"type": "chief", "index": 0})")),
      HasSubstr("use only one of them"));
}

TEST(RunConfigTest, WorkerDelayGrowsWithItsIndex) {
  ASSERT_OK_AND_ASSIGN(RunConfig config,
                       Parse(R"({"type": "chief", "index": 0})"));
  EXPECT_EQ(config.LongestDelayOfWorkers(), absl::ZeroDuration());
  config.experimental_max_worker_delay_secs = 60;
  EXPECT_EQ(config.DelayOfWorker(0), absl::Seconds(5));
  EXPECT_EQ(config.LongestDelayOfWorkers(), absl::Seconds(10));
  config.experimental_max_worker_delay_secs = 7;
  EXPECT_EQ(config.LongestDelayOfWorkers(), absl::Seconds(7));
  EXPECT_EQ(RunConfig().LongestDelayOfWorkers(), absl::ZeroDuration());
}

TEST(RunConfigTest, DifferentModelDirsAreRejected) {
  const std::string text = R"({"model_dir": "/one"})";
  EXPECT_OK(RunConfig::FromTfConfig(text, {.model_dir = "/one"}).status());
  EXPECT_THAT(std::string(RunConfig::FromTfConfig(text, {.model_dir = "/two"})
                              .status()
                              .message()),
              HasSubstr("must have the same value"));
}

TEST(RunConfigTest, SaveOptionsAreChecked) {
  EXPECT_OK(RunConfig().Check());
  RunConfig both;
  both.save_checkpoints_steps = 1;
  both.save_checkpoints_secs = 1;
  EXPECT_THAT(both.Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "save_checkpoints_steps"));
  RunConfig negative;
  negative.save_summary_steps = -1;
  EXPECT_THAT(negative.Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         "save_summary_steps"));
}

}  // namespace
}  // namespace weft::estimator
