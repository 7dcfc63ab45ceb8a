// Tests a task's routes to the other tasks and to the coordinator: how they are
// found, and how they end while in use.
#include "libs/server/cluster_directory.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/runtime/process/process.h"
#include "libs/server/coordinator_route.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";

// Events of the worker; runs `on_push_failed` while a push is being sent.
class Events : public protocol::PeerEvents {
 public:
  absl::Status OnPeerConnected(const bus::Identity&) override {
    return absl::OkStatus();
  }
  void OnPeerLost(const std::string&, uint64_t, const absl::Status&) override {}
  void OnPushFailed(const protocol::Push&, const absl::Status&) override {
    on_push_failed();
  }
  void OnPushes(std::vector<protocol::Push>) override {}

  std::function<void()> on_push_failed = [] {};
};

class RouteTest : public ::testing::Test {
 protected:
  // Lets other threads run for a second.
  void Pause() {
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + absl::Seconds(1));
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  bus::MemoryNetwork network_{scheduler_};
  Process process_{nullptr, NewSeededRandom(1), scheduler_, [this](Scheduler&) {
                     return bus::NewMemoryWire(network_, "worker");
                   }};
};

class ClusterDirectoryTest : public RouteTest {
 protected:
  void SetUp() override {
    auto created =
        ClusterDirectory::Create({.process = &process_,
                                  .cluster = {{"ps", {"localhost:1000"}},
                                              {"worker", {"localhost:1001"}}},
                                  .self = {.task = kWorker, .incarnation = 7},
                                  .events = &events_});
    ASSERT_OK(created);
    directory_ = *std::move(created);
  }

  Events events_;
  std::unique_ptr<ClusterDirectory> directory_;
};

// The client of a task must not be destroyed while it is called.
TEST_F(ClusterDirectoryTest, CloseWaitsForOutgoingCalls) {
  bool is_closed = false;
  bool was_closed_meanwhile = false;
  events_.on_push_failed = [&] {
    scheduler_.Schedule(Pool::kBlocking, [&] {
      directory_->Close();
      is_closed = true;
    });
    Pause();
    was_closed_meanwhile = is_closed;
  };
  // There is no connection to the ps yet, so the push fails at once.
  directory_->Find(kPs)->Deliver({{.session = {7, 1}, .step = 1}});
  EXPECT_FALSE(was_closed_meanwhile);
  Pause();
  EXPECT_TRUE(is_closed);
}

TEST_F(ClusterDirectoryTest, CallsAfterCloseAreRefused) {
  directory_->Close();
  absl::Status status;
  directory_->Find(kPs)->GetStatusWhenConnected(
      absl::InfiniteFuture(),
      [&](const absl::StatusOr<std::vector<DeviceAttributes>>& answer) {
        status = answer.status();
      });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "has stopped"));
}

// Runs `on_get_cluster` while that call is being sent.
class BusyCoordinator : public protocol::RecordingCoordinator {
 public:
  void GetCluster(const protocol::ClusterQuery& query, absl::Time deadline,
                  Answer<protocol::ClusterStatus> done) override {
    on_get_cluster();
    RecordingCoordinator::GetCluster(query, deadline, std::move(done));
  }

  std::function<void()> on_get_cluster = [] {};
};

// The worker's route to a coordinator that the ps hosts, in this process or not
// at all.
class CoordinatorRouteTest : public RouteTest {
 protected:
  std::shared_ptr<CoordinatorRoute> NewRoute(
      std::shared_ptr<protocol::Coordinator> hosted = nullptr) {
    return CoordinatorRoute::Create({.process = &process_,
                                     .cluster = cluster_,
                                     .self = {.task = kWorker},
                                     .task = kPs,
                                     .address = {.host = "localhost"},
                                     .hosted = std::move(hosted)});
  }
  void StartCoordinator() {
    ASSERT_OK(process_.local_tasks().Add({.cluster = cluster_.ToString(),
                                          .task = kPs,
                                          .coordinator = coordinator_}));
  }
  absl::Time In(absl::Duration time) { return clock_.Now() + time; }
  // Returns a callback that keeps the status of a call.
  protocol::Coordinator::Done Keep() {
    return [this](absl::Status status) { status_ = std::move(status); };
  }
  template <typename T>
  protocol::Coordinator::Answer<T> KeepStatus() {
    return
        [this](const absl::StatusOr<T>& answer) { status_ = answer.status(); };
  }

  const ClusterSpec cluster_{{"ps", {"localhost:0"}},
                             {"worker", {"localhost:0"}}};
  const std::shared_ptr<BusyCoordinator> coordinator_ =
      std::make_shared<BusyCoordinator>();
  std::optional<absl::Status> status_;
};

TEST_F(CoordinatorRouteTest, CallsArriveWithTheirArguments) {
  const auto route = NewRoute(coordinator_);
  const absl::Time deadline = In(absl::Seconds(9));
  route->Join({.task = kWorker, .incarnation = 7}, deadline,
              KeepStatus<protocol::JoinReply>());
  ASSERT_EQ(coordinator_->joins.size(), 1u);
  EXPECT_EQ(coordinator_->joins[0].task, kWorker);
  EXPECT_EQ(coordinator_->last_deadline, deadline);
  route->ForgetContainers({"container"}, {"/job:ps"}, deadline, nullptr,
                          Keep());
  EXPECT_EQ(coordinator_->forgotten, (std::vector<std::vector<std::string>>{
                                         {"container"}, {"/job:ps"}}));
  route->Leave({kWorker, 7, ""}, deadline, Keep());
  ASSERT_EQ(coordinator_->left.size(), 1u);
  EXPECT_EQ(coordinator_->left[0].incarnation, 7u);
  EXPECT_EQ(coordinator_->last_deadline, deadline);
  coordinator_->answer = absl::InternalError("of the coordinator");
  route->EndSession(3, deadline, Keep());
  EXPECT_EQ(coordinator_->ended, std::vector<uint64_t>{3});
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kInternal, "coordinator"));
}

TEST_F(CoordinatorRouteTest, CallWaitsForAStartingLocalCoordinator) {
  const auto route = NewRoute();
  route->ListDevices({"/job:worker"}, In(absl::Minutes(1)), nullptr,
                     KeepStatus<std::vector<DeviceAttributes>>());
  scheduler_.AdvanceBy(absl::Seconds(30));
  EXPECT_FALSE(status_.has_value());
  StartCoordinator();
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_TRUE(status_.has_value());
  EXPECT_OK(*status_);
  EXPECT_EQ(coordinator_->listed,
            (std::vector<std::vector<std::string>>{{"/job:worker"}}));
}

TEST_F(CoordinatorRouteTest, CallWithoutCoordinatorFailsAtDeadline) {
  const auto route = NewRoute();
  route->EndSession(3, In(absl::Seconds(1)), Keep());
  scheduler_.AdvanceBy(absl::Milliseconds(999));
  EXPECT_FALSE(status_.has_value());
  scheduler_.AdvanceBy(absl::Milliseconds(1));
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kUnavailable, kPs));
}

// Otherwise a program whose tasks stop one after the other would end late.
TEST_F(CoordinatorRouteTest, LeaveWithoutCoordinatorFailsAtOnce) {
  const auto route = NewRoute();
  route->Leave({kWorker, 7, ""}, In(absl::Seconds(1)), Keep());
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(CoordinatorRouteTest, CloseCancelsWaitingCalls) {
  const auto route = NewRoute();
  route->Shutdown(In(absl::Minutes(1)), Keep());
  route->Close();
  StartCoordinator();
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kCancelled, "has stopped"));
  EXPECT_EQ(coordinator_->num_shutdowns, 0);
}

// Holds each call until it is cancelled.
class PatientCoordinator : public protocol::RecordingCoordinator {
 public:
  void ListDevices(const std::vector<std::string>&, absl::Time,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done) override {
    const auto shared = std::make_shared<Answer<std::vector<DeviceAttributes>>>(
        std::move(done));
    cancellation->Register([shared](const absl::Status& cause) {
      std::exchange(*shared, nullptr)(cause);
    });
  }
};

TEST_F(CoordinatorRouteTest, EndWaitsEndsCallsInProgress) {
  const auto route = NewRoute(std::make_shared<PatientCoordinator>());
  route->ListDevices({}, In(absl::Minutes(1)), nullptr,
                     KeepStatus<std::vector<DeviceAttributes>>());
  EXPECT_FALSE(status_.has_value());
  route->EndWaits();
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_,
              StatusIs(absl::StatusCode::kCancelled, "shutting down"));
  // Tools may continue to ask; Close ends that.
  status_.reset();
  route->ListDevices({}, In(absl::Minutes(1)), nullptr,
                     KeepStatus<std::vector<DeviceAttributes>>());
  EXPECT_FALSE(status_.has_value());
  route->Place({}, In(absl::Minutes(1)), nullptr,
               KeepStatus<protocol::PlacementReply>());
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kCancelled));
  status_.reset();
  route->Close();
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(CoordinatorRouteTest, CancelledCallDoesNotDial) {
  const auto route = NewRoute();
  const auto gone = std::make_shared<Cancellation>();
  route->ListDevices({}, In(absl::Minutes(10)), gone,
                     KeepStatus<std::vector<DeviceAttributes>>());
  gone->Cancel(absl::AbortedError("gone"));
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_TRUE(status_.has_value());
  EXPECT_THAT(*status_, StatusIs(absl::StatusCode::kAborted, "gone"));
  StartCoordinator();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(coordinator_->listed.empty());
}

TEST_F(CoordinatorRouteTest, CloseWaitsForOutgoingCalls) {
  const auto route = NewRoute(coordinator_);
  bool is_closed = false;
  bool was_closed_meanwhile = false;
  coordinator_->on_get_cluster = [&] {
    scheduler_.Schedule(Pool::kBlocking, [&] {
      route->Close();
      is_closed = true;
    });
    Pause();
    was_closed_meanwhile = is_closed;
  };
  route->GetCluster({}, In(absl::Minutes(1)),
                    KeepStatus<protocol::ClusterStatus>());
  EXPECT_FALSE(was_closed_meanwhile);
  Pause();
  EXPECT_TRUE(is_closed);
}

}  // namespace
}  // namespace weft
