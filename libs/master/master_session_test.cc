// A session whose graph grows while the coordinator takes its time.
#include "libs/master/master_session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph_def.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:worker/replica:0/task:0";
constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";

class OneTask : public protocol::WorkerDirectory {
 public:
  explicit OneTask(protocol::Worker& worker) : worker_(worker) {}
  protocol::Worker* Find(const std::string& task) override {
    return task == kTask ? &worker_ : nullptr;
  }
  std::vector<std::string> Tasks() const override { return {kTask}; }

 private:
  protocol::Worker& worker_;
};

// The bytes of a GraphDef: x = Placeholder; y = Identity(x), say.
std::string Nodes(const std::string& placeholder, const std::string& identity) {
  Graph graph(StandardOps());
  auto x = graph.AddNode({.name = placeholder,
                          .op = "Placeholder",
                          .attrs = {{"dtype", DT_FLOAT}}});
  EXPECT_OK(x);
  EXPECT_OK(
      graph.AddNode({.name = identity, .op = "Identity", .inputs = {{*x, 0}}}));
  return ExportGraphDef(graph);
}

class MasterSessionTest : public ::testing::Test {
 protected:
  using Extended = absl::StatusOr<protocol::ExtensionResult>;

  void SetUp() override {
    coordinator_.placement_reply.devices = {kDevice, kDevice};
    ASSERT_OK_AND_ASSIGN(session_, master_.CreateSession({}));
  }

  // Answers what is held, or is asked again, until the test is over.
  void TearDown() override {
    coordinator_.hold = false;
    while (coordinator_.num_held() > 0) coordinator_.Release();
    scheduler_.RunUntilIdle();
  }

  // On a thread of its own, which blocks; as far as that goes without time.
  void Extend(int64_t from_version, const std::string& nodes,
              Extended* result) {
    scheduler_.Schedule(Pool::kBlocking, [=, this] {
      *result = master_.ExtendSession(session_, {nodes, from_version});
      order_.push_back(result);
    });
    scheduler_.RunUntilIdle();
  }

  void Release() {
    coordinator_.Release();
    scheduler_.RunUntilIdle();
  }

  // Feeds 2 to `feed`; `fetch` is that as well.
  absl::Status Run(const std::string& feed, const std::string& fetch) {
    ASSIGN_OR_RETURN(
        const uint64_t callable,
        master_.MakeCallable(session_, {.feeds = {feed}, .fetches = {fetch}}));
    const std::vector<Tensor> feeds = {Tensor::Scalar(2.0f)};
    std::vector<Tensor> fetches(1);
    absl::Status status = absl::UnknownError("the step has not ended");
    master_.RunCallable(session_, callable,
                        {.feeds = feeds, .fetches = absl::MakeSpan(fetches)},
                        [&](absl::Status ended) { status = std::move(ended); });
    RETURN_IF_ERROR(status);
    EXPECT_EQ(fetches[0].scalar<float>(), 2);
    return status;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  protocol::RecordingWorker worker_;
  protocol::RecordingCoordinator coordinator_;
  OneTask directory_{worker_};
  Master master_{{.scheduler = &scheduler_,
                  .random = random_.get(),
                  .ops = StandardOps(),
                  .directory = &directory_,
                  .coordinator = &coordinator_,
                  .task = kTask,
                  .incarnation = 7,
                  .device_types = [](const Node&) {
                    return std::vector<std::string>{"CPU"};
                  }}};
  uint64_t session_ = 0;
  std::vector<const Extended*> order_;  // in which extensions were answered
};

TEST_F(MasterSessionTest, TheOldVersionRunsWhileAnExtensionIsPlaced) {
  Extended first, second;
  Extend(0, Nodes("x", "y"), &first);
  ASSERT_OK(first);
  coordinator_.hold = true;
  Extend(1, Nodes("a", "b"), &second);
  ASSERT_EQ(coordinator_.num_held(), 1u);
  EXPECT_OK(Run("x:0", "y:0"));
  EXPECT_THAT(Run("a:0", "b:0"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "node 'a' is still being placed"));
  EXPECT_THAT(master_.MakeCallable(session_, {.targets = {"b"}}),
              StatusIs(absl::StatusCode::kNotFound, "b"));
  Release();
  ASSERT_OK(second);
  EXPECT_EQ(second->version, 2);
  EXPECT_OK(Run("a:0", "b:0"));
  EXPECT_OK(Run("x:0", "y:0"));
}

TEST_F(MasterSessionTest, OtherSessionsGrowMeanwhile) {
  Extended first;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  ASSERT_EQ(coordinator_.num_held(), 1u);
  const uint64_t held = std::exchange(session_, 0);
  coordinator_.hold = false;
  ASSERT_OK_AND_ASSIGN(session_, master_.CreateSession({}));
  Extended other;
  Extend(0, Nodes("x", "y"), &other);
  ASSERT_OK(other);
  EXPECT_OK(Run("x:0", "y:0"));
  Release();
  session_ = held;
  EXPECT_OK(Run("x:0", "y:0"));
}

TEST_F(MasterSessionTest, ExtensionsArePlacedInTheOrderOfTheirComing) {
  Extended first, second, third;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(1, Nodes("a", "b"), &second);
  Extend(2, Nodes("c", "d"), &third);
  ASSERT_EQ(coordinator_.num_held(), 1u) << "one at a time";
  Release();
  ASSERT_EQ(coordinator_.num_held(), 1u);
  Release();
  Release();
  EXPECT_EQ(order_, (std::vector<const Extended*>{&first, &second, &third}));
  ASSERT_OK(third);
  EXPECT_EQ(third->version, 3);
  EXPECT_OK(Run("c:0", "d:0"));
}

TEST_F(MasterSessionTest, OfTwoExtensionsOfOneVersionTheSecondIsRefused) {
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("a", "b"), &second);
  Release();
  EXPECT_OK(first);
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted,
                               "Current version is 1 but caller expected 0"));
}

// Its client has asked again, for the answer was late.
TEST_F(MasterSessionTest, AnExtensionThatIsSentAgainMeanwhileIsPlacedOnce) {
  Extended first, again;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("x", "y"), &again);
  Release();
  ASSERT_OK(first);
  ASSERT_OK(again);
  EXPECT_EQ(again->version, 1);
  EXPECT_EQ(coordinator_.placements.size(), 1u);
}

TEST_F(MasterSessionTest, ARefusedExtensionLeavesTheOldVersionToTheNext) {
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("x", "z"), &second);
  coordinator_.answer = absl::InvalidArgumentError("no such device");
  Release();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kInvalidArgument, "no such"));
  coordinator_.answer = absl::OkStatus();
  Release();
  ASSERT_OK(second);
  EXPECT_EQ(second->version, 1);
  EXPECT_OK(Run("x:0", "z:0"));
  EXPECT_THAT(Run("x:0", "y:0"),
              StatusIs(absl::StatusCode::kInvalidArgument, "y"));
}

TEST_F(MasterSessionTest, WhoWaitsForItsTurnTooLongIsTold) {
  ASSERT_OK_AND_ASSIGN(
      session_, master_.CreateSession({.operation_timeout = absl::Seconds(3)}));
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(1, Nodes("a", "b"), &second);
  scheduler_.AdvanceBy(absl::Seconds(4));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "An earlier extension"));
  Release();
  EXPECT_OK(first);
}

TEST_F(MasterSessionTest, TasksAreToldOfItsEndUntilTheyHaveHeard) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  ASSERT_OK(Run("x", "y"));
  worker_.num_losses = 2;
  absl::Status closed = absl::UnknownError("not closed");
  scheduler_.Schedule(Pool::kBlocking,
                      [&] { closed = master_.CloseSession(session_); });
  scheduler_.RunUntilIdle();
  EXPECT_OK(closed);
  EXPECT_EQ(worker_.num_losses, 0);
  EXPECT_EQ(worker_.deleted.size(), 3u);
}

}  // namespace
}  // namespace weft
