#include "tools/conformance/step_player.h"

#include <functional>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft::conformance {
namespace {

using Fetched = absl::StatusOr<std::vector<Tensor>>;

// The results of the fake sessions, and the calls that they record.
struct Script {
  std::function<Fetched(const RunRequest&)> run = [](const RunRequest&) {
    return Fetched(std::vector<Tensor>{});
  };
  absl::Status open, extend, close;
  std::vector<Placement> placements;
  std::vector<RunRequest> requests;
  int opened = 0;
};

class FakeSession : public ReplaySession {
 public:
  explicit FakeSession(Script& script) : script_(script) {}
  Fetched Run(const RunRequest& request) override {
    script_.requests.push_back(request);
    return script_.run(request);
  }
  absl::Status Extend(absl::string_view) override { return script_.extend; }
  absl::Status Close() override { return script_.close; }
  std::vector<Placement> Placements() override { return script_.placements; }

 private:
  Script& script_;
};

class StepPlayerTest : public ::testing::Test, public SessionFactory {
 protected:
  StepPlayerTest() : scheduler_(clock_) {
    case_.directory = "/case";
    case_.sessions["main"].graph = "graph.pb";
    EXPECT_OK(fs_.CreateDirectories("/case"));
    EXPECT_OK(fs_.CreateDirectories("/scratch"));
    EXPECT_OK(fs_.WriteFileAtomically("/case/graph.pb", "graph"));
    tensors_["one"] = Tensor::Scalar(1.0f);
    tensors_["two"] = Tensor::Scalar(2.0f);
  }

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec&, absl::string_view graph_def, bool) override {
    EXPECT_EQ(graph_def, "graph");
    ++script_.opened;
    if (!script_.open.ok()) return script_.open;
    return std::make_unique<FakeSession>(script_);
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope&) override {
    return absl::UnimplementedError("no case here has a saver");
  }
  absl::Status Reset(const std::string&,
                     const std::vector<std::string>&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>&) override {
    return absl::UnimplementedError("no case here needs a cluster");
  }

  StepPlayer& player() {
    if (player_ == nullptr) {
      player_ = std::make_unique<StepPlayer>(case_, tensors_, fs_, "/scratch",
                                             *this, scheduler_);
    }
    return *player_;
  }

  static Step Fetching(const std::string& key) {
    Step step;
    step.fetches = {"y:0"};
    step.expect = {key};
    return step;
  }
  static Step Failing(const std::string& code, const std::string& contains) {
    Step step;
    step.expect_error = {code, contains};
    return step;
  }
  void RunReturns(const Fetched& fetched) {
    script_.run = [fetched](const RunRequest&) { return fetched; };
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_;
  MemoryFileSystem fs_;
  Case case_;
  TensorPack tensors_;
  Script script_;
  std::unique_ptr<StepPlayer> player_;
};

TEST_F(StepPlayerTest, FetchesAreCompared) {
  RunReturns(std::vector<Tensor>{Tensor::Scalar(1.0f)});
  EXPECT_OK(player().Play(Fetching("one")));
  EXPECT_THAT(player().Play(Fetching("two")),
              StatusIs(absl::StatusCode::kUnknown, "y:0: element 0"));
  EXPECT_THAT(player().Play(Fetching("none")),
              StatusIs(absl::StatusCode::kUnknown, "tensors.pb has no none"));
  EXPECT_FALSE(player().Play(Step()).ok());  // one fetch more than expected
  EXPECT_EQ(script_.opened, 1);
}

TEST_F(StepPlayerTest, ErrorsAreExpected) {
  RunReturns(absl::InvalidArgumentError("node x is bad"));
  EXPECT_OK(player().Play(Failing("INVALID_ARGUMENT", "x is")));
  EXPECT_OK(player().Play(Failing("INVALID_ARGUMENT", "")));
  EXPECT_FALSE(player().Play(Failing("INVALID_ARGUMENT", "y is")).ok());
  EXPECT_FALSE(player().Play(Failing("NOT_FOUND", "")).ok());
  EXPECT_FALSE(player().Play(Fetching("one")).ok());
  // Weft's INVALID_ARGUMENT is accepted for these errors, which TensorFlow
  // returns for some bad arguments.
  EXPECT_OK(player().Play(Failing("INTERNAL", "")));
  EXPECT_OK(player().Play(Failing("ABORTED", "")));
  RunReturns(std::vector<Tensor>{});
  EXPECT_FALSE(player().Play(Failing("INVALID_ARGUMENT", "")).ok());
}

TEST_F(StepPlayerTest, RejectedGraphFailsItsRun) {
  script_.open = absl::InvalidArgumentError("no device");
  EXPECT_OK(player().Play(Failing("INVALID_ARGUMENT", "no device")));
  EXPECT_FALSE(player().Play(Fetching("one")).ok());
}

TEST_F(StepPlayerTest, TensorsAndPathsAreFed) {
  Step step;
  step.feeds = {{"x:0", "one"}};
  step.repeat_feeds = {{"x:0", "two"}};
  step.path_feeds = {{"p:0", {"@tmp/a"}, false},
                     {"q:0", {"b", "@tmp/c"}, true}};
  step.timeout = absl::Seconds(3);
  EXPECT_OK(player().Play(step));
  const RunRequest& request = script_.requests[0];
  ASSERT_EQ(request.feeds.size(), 4u);
  EXPECT_EQ(request.feeds[0].second.scalar<float>(), 1);
  EXPECT_EQ(request.feeds[1].second.scalar<float>(), 2);
  EXPECT_EQ(request.feeds[2].second.scalar<std::string>(), "/scratch/a");
  EXPECT_EQ(request.feeds[3].second.flat<std::string>()[0], "/case/b");
  EXPECT_EQ(request.feeds[3].second.flat<std::string>()[1], "/scratch/c");
  EXPECT_EQ(request.timeout, absl::Seconds(3));
}

TEST_F(StepPlayerTest, FilesAreCompared) {
  Step step;
  step.expect_files = {{"@tmp/made", "kept"}};
  ASSERT_OK(fs_.WriteFileAtomically("/case/kept", "abc"));
  EXPECT_FALSE(player().Play(step).ok());
  ASSERT_OK(fs_.WriteFileAtomically("/scratch/made", "abd"));
  EXPECT_THAT(player().Play(step),
              StatusIs(absl::StatusCode::kUnknown, "at byte 2"));
  ASSERT_OK(fs_.WriteFileAtomically("/scratch/made", "abc"));
  EXPECT_OK(player().Play(step));
}

TEST_F(StepPlayerTest, PlacementOfListedNodesIsCompared) {
  script_.placements = {{"a", "/device:CPU:0", ""}, {"b", "/device:CPU:1", ""}};
  Step step;
  step.expect_placement = {{{"b", "/device:CPU:1"}}};
  EXPECT_OK(player().Play(step));
  step.expect_placement = {{{"b", "/device:CPU:0"}}};
  EXPECT_FALSE(player().Play(step).ok());
  step.expect_placement = {{{"c", "/device:CPU:0"}}};
  EXPECT_FALSE(player().Play(step).ok());
}

TEST_F(StepPlayerTest, LogLinesBelongToTheFirstPlacement) {
  script_.placements = {{"b", "", "b: line"}, {"a", "", "a: line"}};
  Step step;
  step.expect_log_lines = {{"a: line", "b: line"}};
  EXPECT_OK(player().Play(step));
  EXPECT_FALSE(player().Play(step).ok());
  step.expect_log_lines = std::vector<std::string>();
  EXPECT_OK(player().Play(step));
}

TEST_F(StepPlayerTest, BackgroundStepIsCheckedWhenJoined) {
  auto release = scheduler_.NewEvent();
  script_.run = [&](const RunRequest& request) -> Fetched {
    if (request.targets.empty()) {
      release->Wait();
      return std::vector<Tensor>{Tensor::Scalar(1.0f)};
    }
    release->Set();
    return std::vector<Tensor>{};
  };
  Step background;
  background.fetches = {"y:0"};
  background.background = "getter";
  ASSERT_OK(player().Play(background));
  Step sleep;
  sleep.action = "sleep";
  sleep.pause = absl::Seconds(1);
  ASSERT_OK(player().Play(sleep));
  Step put;
  put.targets = {"put"};
  ASSERT_OK(player().Play(put));
  Step join;
  join.action = "join";
  join.join = "getter";
  join.expect = {"one"};
  EXPECT_OK(player().Play(join));
  EXPECT_FALSE(player().Play(join).ok());  // the step was already joined
}

TEST_F(StepPlayerTest, BackgroundStepMustEnd) {
  // Shared with the step, because the step may outlive this function: it waits
  // for the event until the player ends.
  std::shared_ptr<Event> release = scheduler_.NewEvent();
  script_.run = [release](const RunRequest&) -> Fetched {
    release->Wait();
    return std::vector<Tensor>{};
  };
  Step background;
  background.background = "getter";
  ASSERT_OK(player().Play(background));
  Step join;
  join.action = "join";
  join.join = "getter";
  EXPECT_THAT(player().Play(join),
              StatusIs(absl::StatusCode::kUnknown, "has not ended after 30s"));
  release->Set();
}

TEST_F(StepPlayerTest, SessionsAreExtendedAndClosed) {
  ASSERT_OK(fs_.WriteFileAtomically("/case/more.pb", "more"));
  Step extend;
  extend.action = "extend";
  extend.graph = "more.pb";
  EXPECT_OK(player().Play(extend));
  script_.extend = absl::InvalidArgumentError("node exists");
  EXPECT_FALSE(player().Play(extend).ok());
  extend.expect_error = {"INVALID_ARGUMENT", "exists"};
  EXPECT_OK(player().Play(extend));
  Step close;
  close.action = "close";
  EXPECT_OK(player().Play(close));
  EXPECT_EQ(script_.opened, 1);
  EXPECT_OK(player().Play(Step()));  // reopens the session
  EXPECT_EQ(script_.opened, 2);
}

TEST_F(StepPlayerTest, SupportedActionsAreKnown) {
  EXPECT_TRUE(StepPlayer::KnowsAction("run"));
  EXPECT_TRUE(StepPlayer::KnowsAction("reset"));
  EXPECT_FALSE(StepPlayer::KnowsAction("dance"));
  Step step;
  step.action = "dance";
  EXPECT_THAT(player().Play(step),
              StatusIs(absl::StatusCode::kUnknown, "dance"));
}

}  // namespace
}  // namespace weft::conformance
