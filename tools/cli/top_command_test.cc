// Tests `weft top` with scripted replies of tasks and a manual clock.
#include "tools/cli/top_command.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "tools/cli/json_text.h"

namespace weft::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An HttpClient that answers each URL with the replies given for that URL, one
// after the other.
class ToldHttp : public HttpClient {
 public:
  void Start(HttpRequest request, Done done) override {
    asked.push_back(request.url);
    auto& left = answers[request.url];
    if (left.empty()) return done(absl::UnavailableError("nobody is there"));
    auto answer = std::move(left.front());
    left.pop_front();
    done(std::move(answer));
  }
  void Tell(const std::string& url, std::string body, int code = 200) {
    HttpResponse response;
    response.code = code;
    response.body = std::move(body);
    answers[url].push_back(std::move(response));
  }
  std::vector<std::string> asked;
  std::map<std::string, std::deque<absl::StatusOr<HttpResponse>>> answers;
};

class TopTest : public ::testing::Test {
 protected:
  static std::string Metrics(int steps, double seconds, int sent,
                             int started = 100) {
    const std::string labels = "{job=\"ps\",task=\"1\"}";
    return absl::StrCat(
        "process_start_time_seconds", labels, " ", started,
        "\nprocess_cpu_seconds_total", labels, " ", seconds / 2,
        "\nprocess_resident_memory_bytes", labels, " 1048576",
        "\nweft_steps_total", labels, " ", steps, "\nweft_step_seconds_sum",
        labels, " ", seconds, "\nweft_step_seconds_count", labels, " ", steps,
        "\nweft_sent_bytes_total", labels, " ", sent,
        "\nweft_waiting_nodes{job=\"ps\",task=\"1\",op=\"_Recv\"} 2",
        "\nweft_waiting_nodes{job=\"ps\",task=\"1\",op=\"Barrier\"} 3\n");
  }
  // Runs the command until it has printed `most` views, and collects the views.
  absl::Status Run(std::vector<std::string> words, size_t most = 1) {
    words.insert(words.begin(), "top");
    auto invocation = ParseInvocation(words, {.is_terminal = true});
    if (!invocation.ok()) return invocation.status();
    return RunTopCommand(*invocation, scheduler_, http_,
                         [&](const std::string& view) {
                           views_.push_back(view);
                           return views_.size() < most;
                         });
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  ToldHttp http_;
  std::vector<std::string> views_;
};

TEST_F(TopTest, RatesAreComputedOverTheInterval) {
  http_.Tell("http://a:1/metrics", Metrics(100, 10, 1000));
  http_.Tell("http://a:1/metrics", Metrics(300, 12, 5096));
  ASSERT_OK(Run({"a:1", "--once", "--interval=2s"}));
  EXPECT_THAT(
      views_,
      ElementsAre(
          "TASK  STEPS/S  MS/STEP       SENT  RECEIVED  RUNNING  WAITING  "
          "READY  QUEUED  VARIABLES   MEMORY  CPU\n"
          "ps:1    100.0   10.000  2.0 KiB/s         -        -        5  "
          "    -       -          -  1.0 MiB  50%\n"));
}

TEST_F(TopTest, JsonContainsNumbersOfEachTask) {
  http_.Tell("https://a/x", Metrics(100, 10, 0));
  http_.Tell("https://a/x", Metrics(100, 10, 0));
  ASSERT_OK(Run({"https://a/x", "--once", "--json"}));
  ASSERT_EQ(views_.size(), 1u);
  const Json view = Json::parse(views_[0]);
  ASSERT_EQ(view.size(), 1u);
  EXPECT_EQ(view[0]["task"], "ps:1");
  EXPECT_EQ(view[0]["url"], "https://a/x");
  EXPECT_EQ(view[0]["steps_per_second"], 0);
  EXPECT_TRUE(view[0]["seconds_per_step"].is_null());  // no steps have run
  EXPECT_EQ(view[0]["waiting_nodes"], 5);
}

TEST_F(TopTest, UnreachableTaskIsNamedAndMayReturn) {
  const std::string url = "http://b:2/metrics";
  for (int i = 0; i < 3; ++i)
    http_.Tell("http://a:1/metrics", Metrics(i, i, i));
  http_.Tell(url, "Not found", 404);
  http_.Tell(url, "<html>");
  http_.Tell(url, Metrics(7, 7, 7));
  ASSERT_OK(Run({"a:1", "b:2"}, /*most=*/3));
  EXPECT_THAT(views_[0], HasSubstr("\nhttp://b:2/metrics: \"<html>\" is no"));
  EXPECT_THAT(views_[1], HasSubstr("\nps:1        -         -      - "));
  // Polls again, and no task replies.
  EXPECT_THAT(views_[2], HasSubstr("http://a:1/metrics: nobody is there\n"
                                   "http://b:2/metrics: nobody is there\n"));
}

TEST_F(TopTest, RestartedTaskHasNoRates) {
  http_.Tell("http://a:1/metrics", Metrics(100, 10, 1000, /*started=*/100));
  http_.Tell("http://a:1/metrics", Metrics(300, 12, 5096, /*started=*/101));
  ASSERT_OK(Run({"a:1", "--once"}));
  EXPECT_THAT(views_[0], HasSubstr("ps:1        -        -     -"));
}

TEST_F(TopTest, InvalidMetricsAreHarmless) {
  for (int i = 0; i < 2; ++i) {
    http_.Tell("http://a:1/metrics",
               "weft_variable_bytes NaN\nprocess_resident_memory_bytes 1e300\n"
               "weft_queue_elements -Inf\nweft_steps_total NaN\n");
    http_.Tell("http://b:1/metrics", "");
  }
  ASSERT_OK(Run({"a:1", "b:1", "--once", "--json"}));
  EXPECT_TRUE(Json::parse(views_[0])[0]["variable_bytes"].is_null());
  EXPECT_EQ(Json::parse(views_[0])[1]["task"], "http://b:1/metrics");
}

TEST_F(TopTest, CommandFailsIfNoTaskReplies) {
  EXPECT_THAT(Run({"a:1"}),
              StatusIs(absl::StatusCode::kUnavailable, "nobody is there"));
  http_.Tell("http://a:1/metrics", Metrics(1, 1, 1));
  EXPECT_THAT(Run({"a:1", "--once"}),
              StatusIs(absl::StatusCode::kUnavailable, "nobody is there"));
  EXPECT_THAT(views_, ElementsAre());
}

TEST_F(TopTest, InvalidCallsAreExplained) {
  EXPECT_THAT(Run({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                "`weft top HOST:PORT...`"));
  EXPECT_THAT(Run({"a:1", "--interval=0s"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--interval=0s is not a duration"));
  EXPECT_THAT(Run({"a:1", "--target=zmq://a:1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "has no flag"));
}

}  // namespace
}  // namespace weft::tools
