// Tests the Prometheus metrics that tasks serve over HTTP. They match what has
// happened, and docs/operations/metrics.md lists them.
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/metrics/metrics_samples.h"
#include "libs/object_store/curl_http_client.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr char kWriter[] = "checkpoint_writer";

class TaskMetricsTest : public ::testing::Test {
 protected:
  static TestCluster::Options Options(FileSystem* disk) {
    TestCluster::Options options;
    options.kind = ClusterKind::kSockets;
    options.jobs = {{"ps", 1}, {"worker", 1}, {kWriter, 1}};
    options.metrics = true;
    options.file_system = [disk](const std::string&) { return disk; };
    return options;
  }

  std::string Ask(const std::string& job) {
    const auto answer =
        Send(http_, scheduler_, {.url = cluster_.server(job, 0).metrics_url()});
    EXPECT_OK(answer);
    if (!answer.ok()) return "";
    EXPECT_EQ(answer->code, 200);
    return answer->body;
  }
  MetricsSamples Samples(const std::string& job) {
    auto samples = MetricsSamples::Parse(Ask(job));
    EXPECT_OK(samples);
    return samples.ok() ? *std::move(samples) : MetricsSamples();
  }
  // Returns the value of a metric, or -1 if the task does not report it.
  double Value(const std::string& job, const std::string& name,
               const MetricsSamples::Labels& labels = {}) {
    return Samples(job).Sum(name, labels).value_or(-1);
  }
  // Polls until the metric has the value, because another thread updates it.
  // Only the timeout of the test ends a longer wait.
  void AskUntil(const std::string& job, const std::string& name, double value,
                const MetricsSamples::Labels& labels = {}) {
    while (Value(job, name, labels) != value) {
    }
  }
  std::unique_ptr<Session> Connect() {
    auto session = Session::Connect(cluster_.target("worker", 0), root_,
                                    cluster_.session_options());
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }

  MemoryFileSystem disk_;
  TestCluster cluster_{Options(&disk_)};
  Scheduler& scheduler_ = cluster_.session_options().process->scheduler();
  CurlHttpClient http_{{.scheduler = &scheduler_}};
  Scope root_ = Scope::Root();
  const Scope ps_ = root_.WithDevice("/job:ps/task:0");
};

TEST_F(TaskMetricsTest, StepsVariablesAndMessagesAreCounted) {
  ops::Variable x(ps_.WithName("x"), Tensor(DT_FLOAT, TensorShape({100})));
  const Output more =
      ops::AssignAdd(ps_, x, ops::Const(ps_, Tensor(DT_FLOAT, {100})));
  const ops::Variable never(ps_.WithName("never"), 1.0f);
  const Output fails = ops::Neg(ps_, never);
  const auto session = Connect();
  ASSERT_OK(session->Run(x.initializer()));
  EXPECT_EQ(Value("ps", "weft_variable_bytes"), 400);
  const MetricsSamples before = Samples("ps");
  for (int i = 0; i < 10; ++i) ASSERT_OK(session->Run(more));
  EXPECT_FALSE(session->Run(fails).ok());

  EXPECT_EQ(Value("worker", "weft_sessions"), 1);
  EXPECT_EQ(Value("worker", "weft_session_steps_total"), 12);
  EXPECT_EQ(Value("worker", "weft_session_step_seconds_count"), 12);
  EXPECT_EQ(
      Value("worker", "weft_session_step_seconds_bucket", {{"le", "+Inf"}}),
      12);
  EXPECT_GT(Value("worker", "weft_session_step_seconds_sum"), 0);
  EXPECT_EQ(Value("worker", "weft_session_step_errors_total"), 1);
  EXPECT_EQ(Value("worker", "weft_session_running_steps"), 0);
  const MetricsSamples after = Samples("ps");
  EXPECT_EQ(*after.Sum("weft_steps_total") - *before.Sum("weft_steps_total"),
            11);
  EXPECT_EQ(after.Sum("weft_step_errors_total"), 1);
  EXPECT_EQ(after.Sum("weft_running_steps"), 0);
  EXPECT_EQ(after.Sum("weft_session_steps_total"), 0);
  // The ps has sent back at least the sums of ten steps.
  EXPECT_GE(*after.Sum("weft_sent_bytes_total") -
                *before.Sum("weft_sent_bytes_total"),
            10 * 400);
  EXPECT_GE(*after.Sum("weft_received_messages_total") -
                *before.Sum("weft_received_messages_total"),
            10);
  EXPECT_EQ(after.Sum("weft_joined"), 1);
  EXPECT_GE(*after.Sum("weft_tensor_bytes"), 400);
  EXPECT_EQ(after.Sum("weft_cluster_tasks", {{"state", "lost"}}), 0);
  AskUntil("ps", "weft_cluster_tasks", 3, {{"state", "alive"}});
}

TEST_F(TaskMetricsTest, WaitingStepsAndQueuedElementsAreCounted) {
  const Output queue = ops::FIFOQueue(ps_.WithName("jobs"), {DT_FLOAT});
  const Operation put = ops::QueueEnqueue(ps_, queue, {ops::Const(ps_, 4.0f)});
  const Output taken = ops::Neg(root_.WithDevice("/job:worker/task:0"),
                                ops::QueueDequeue(ps_, queue, {DT_FLOAT})[0]);
  const auto session = Connect();
  ASSERT_OK_AND_ASSIGN(const auto take, session->MakeCallable({}, {taken}));
  const std::unique_ptr<Event> ended = scheduler_.NewEvent();
  take->RunAsync({}, [&](const auto& result) {
    EXPECT_OK(result);
    ended->Set();
  });
  AskUntil("ps", "weft_waiting_nodes", 1, {{"op", "QueueDequeueV2"}});
  AskUntil("worker", "weft_waiting_nodes", 1, {{"op", "_Recv"}});
  EXPECT_EQ(Value("ps", "weft_running_steps"), 1);
  EXPECT_EQ(Value("worker", "weft_session_running_steps"), 1);
  EXPECT_EQ(Value("ps", "weft_queues"), 1);
  EXPECT_EQ(Value("ps", "weft_queue_elements"), 0);
  ASSERT_OK(session->Run(put));
  ended->Wait();
  EXPECT_EQ(Value("ps", "weft_waiting_nodes", {{"op", "QueueDequeueV2"}}), -1);
  EXPECT_EQ(Value("worker", "weft_waiting_nodes"), 0);
  ASSERT_OK(session->Run(put));
  EXPECT_EQ(Value("ps", "weft_queue_elements"), 1);
}

TEST_F(TaskMetricsTest, PartialRunsCountAsSteps) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output y = ops::Neg(root_, x);
  const auto session = Connect();
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session->PartialRunSetup({x}, {y}));
  AskUntil("worker", "weft_session_running_steps", 1);
  ASSERT_OK(session->PartialRun(run, {{x, Tensor::Scalar(1.0f)}}, {y}));
  AskUntil("worker", "weft_session_steps_total", 1);
  EXPECT_EQ(Value("worker", "weft_session_running_steps"), 0);
  EXPECT_EQ(Value("worker", "weft_session_step_errors_total"), 0);
}

TEST_F(TaskMetricsTest, SavesAreMeasuredOnTheWritingTask) {
  ops::Variable x(ps_.WithName("x"), Tensor(DT_FLOAT, TensorShape({1000})));
  train::Saver saver(root_, {.sharded = true});
  const auto session = Connect();
  ASSERT_OK(session->Run(x.initializer()));
  ASSERT_OK_AND_ASSIGN(
      const std::string path,
      saver.Save(*session, absl::StrCat(cluster_.target(kWriter, 0), "/m")));
  EXPECT_EQ(Value("ps", "weft_save_seconds_count"), 1);
  EXPECT_EQ(Value("ps", "weft_save_errors_total"), 0);
  EXPECT_GT(Value("ps", "weft_saved_bytes_total"), 4000);
  EXPECT_EQ(Value("worker", "weft_saved_bytes_total"), 0);
  EXPECT_GE(Value(kWriter, "weft_file_written_bytes_total"),
            Value("ps", "weft_saved_bytes_total"));
  ASSERT_OK(saver.Restore(*session, path));
  EXPECT_EQ(Value("ps", "weft_restore_seconds_count"), 1);
  EXPECT_EQ(Value("ps", "weft_restored_bytes_total"), 4000);
  EXPECT_GE(Value(kWriter, "weft_file_read_bytes_total"), 4000);
  EXPECT_EQ(Value(kWriter, "weft_open_files"), 0);
  EXPECT_FALSE(
      saver.Restore(*session, absl::StrCat(path, "-that-is-not")).ok());
  EXPECT_EQ(Value("ps", "weft_restore_errors_total"), 1);
}

// Returns the type of each metric from lines "# TYPE NAME TYPE".
std::map<std::string, std::string> TypesIn(const std::string& text) {
  std::map<std::string, std::string> types;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 4 && words[1] == "TYPE") types[words[2]] = words[3];
  }
  return types;
}

// Returns the type of each metric from the table rows "| `NAME`, `NAME` | TYPE
// | ..." of docs/operations/metrics.md.
std::map<std::string, std::string> TypesOfPage() {
  std::ifstream page("docs/operations/metrics.md");
  std::map<std::string, std::string> types;
  for (std::string line; std::getline(page, line);) {
    if (!absl::StartsWith(line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    const std::vector<std::string> names = absl::StrSplit(cells[0], '`');
    for (size_t i = 1; i < names.size(); i += 2) types[names[i]] = cells[1];
  }
  return types;
}

TEST_F(TaskMetricsTest, DocumentationListsEveryMetric) {
  std::map<std::string, std::string> told;
  for (const char* job : {"ps", "worker", kWriter}) {
    const std::string text = Ask(job);
    for (const auto& [name, type] : TypesIn(text)) told[name] = type;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (line.empty() || line[0] == '#') continue;
      EXPECT_THAT(line,
                  HasSubstr(absl::StrCat("{job=\"", job, "\",task=\"0\"")));
    }
  }
  std::map<std::string, std::string> listed = TypesOfPage();
  // The metric is absent if the system does not report its memory limit.
  if (told.count("weft_memory_bound_bytes") == 0) {
    listed.erase("weft_memory_bound_bytes");
  }
  EXPECT_EQ(listed, told);
}

TEST_F(TaskMetricsTest, RequestsDuringStopAreSafe) {
  const std::string url = cluster_.server("worker", 0).metrics_url();
  std::atomic<bool> stopped{false};
  std::thread asks([&] {
    while (!stopped) {
      Send(http_, scheduler_, {.url = url}).status().IgnoreError();
    }
  });
  cluster_.Stop("worker", 0);
  stopped = true;
  asks.join();
  EXPECT_THAT(Send(http_, scheduler_, {.url = url}),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(TaskMetricsTest, PortInUsePreventsServerStart) {
  const std::string url = cluster_.server("ps", 0).metrics_url();
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(
      url.substr(url.rfind(':') + 1, url.rfind('/') - url.rfind(':') - 1),
      &port))
      << url;
  EXPECT_THAT(Server::CreateLocal({.metrics_port = port}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       "Metrics can't be served at localhost:"));
  ASSERT_OK_AND_ASSIGN(const auto silent, Server::CreateLocal());
  EXPECT_EQ(silent->metrics_url(), "");
}

}  // namespace
}  // namespace weft
