// CoordinatorHarness runs a coordinator on simulated threads and time, for
// tests. It sends the coordinator the messages of its tasks.
//
// Used by one thread.
#ifndef WEFT_LIBS_COORDINATOR_TESTING_COORDINATOR_HARNESS_H_
#define WEFT_LIBS_COORDINATOR_TESTING_COORDINATOR_HARNESS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/coordinator/coordinator.h"

namespace weft {

inline constexpr char kWriter[] = "/job:checkpoint_writer/replica:0/task:0";
inline constexpr char kCoordinator[] = "/job:coordinator/replica:0/task:0";
inline constexpr char kPs0[] = "/job:ps/replica:0/task:0";
inline constexpr char kPs1[] = "/job:ps/replica:0/task:1";
inline constexpr char kWorker0[] = "/job:worker/replica:0/task:0";
inline constexpr char kWorker1[] = "/job:worker/replica:0/task:1";
inline constexpr auto kDisagrees = absl::StatusCode::kFailedPrecondition;

inline std::string Cpu(const std::string& task) {
  return task + "/device:CPU:0";
}

inline NamedResource Var(const std::string& name, PartialShape shape = {2, 3},
                         DataType dtype = DT_FLOAT) {
  return {"", name, "Var", dtype, std::move(shape)};
}

inline PlacementNode NodeOf(NamedResource resource, const std::string& device) {
  PlacementNode node;
  node.name = resource.name;
  node.op = "VarHandleOp";
  node.requested_device = device;
  node.kernel_types = {"CPU"};
  node.resource = std::move(resource);
  return node;
}

inline protocol::PlacedResource Held(const std::string& container,
                                     NamedResource resource,
                                     const std::string& device) {
  protocol::PlacedResource held;
  held.resource = std::move(resource);
  held.resource.container = container;
  held.device = device;
  held.num_bytes = 24;
  return held;
}

// An answer of the coordinator, which may not have arrived yet.
template <typename T>
class Pending {
 public:
  // Returns the callback that receives the answer. Must be called once.
  protocol::Coordinator::Answer<T> Done() {
    return [answer = answer_](absl::StatusOr<T> given) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(given);
    };
  }
  bool has_come() const { return answer_->has_value(); }
  absl::StatusOr<T> get() const {
    if (answer_->has_value()) return **answer_;
    return absl::UnknownError("not answered yet");
  }

 private:
  std::shared_ptr<std::optional<absl::StatusOr<T>>> answer_ =
      std::make_shared<std::optional<absl::StatusOr<T>>>();
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() { Start(100); }

  void Start(uint64_t incarnation, absl::Duration interval = absl::Seconds(1),
             Scheduler* scheduler = nullptr, Logger* logger = nullptr) {
    coordinator_.reset();
    incarnation_ = incarnation;
    CoordinatorOptions options;
    options.scheduler = scheduler == nullptr ? &scheduler_ : scheduler;
    options.random = random_.get();
    options.cluster = cluster_;
    options.task = kCoordinator;
    options.incarnation = incarnation;
    options.heartbeat_interval = interval;
    options.heartbeat_timeout =
        interval < absl::InfiniteDuration() ? 5 * interval : interval;
    options.logger = logger == nullptr ? &logger_ : logger;
    coordinator_ = std::make_unique<Coordinator>(options);
  }

  absl::Time In(absl::Duration time) const { return clock_.Now() + time; }

  protocol::JoinRequest JoinOf(const std::string& task,
                               uint64_t incarnation) const {
    protocol::JoinRequest request;
    request.task = task;
    request.incarnation = incarnation;
    request.cluster = cluster_text_;
    request.target = "zmq://somewhere:1";
    request.op_fingerprint = 77;
    DeviceAttributes cpu;
    cpu.name = Cpu(task);
    cpu.device_type = "CPU";
    cpu.incarnation = incarnation;
    request.devices = {cpu};
    return request;
  }

  absl::StatusOr<protocol::JoinReply> Join(
      const protocol::JoinRequest& request) {
    Pending<protocol::JoinReply> reply;
    coordinator_->Join(request, In(absl::Minutes(1)), reply.Done());
    return reply.get();
  }

  // Stops everything that runs on `part` for `time`, and then lets its work
  // continue.
  void PausePart(SimulatedScheduler::Part& part, absl::Duration time) {
    part.Stop();
    scheduler_.AdvanceBy(time);
    part.Resume();
    scheduler_.RunUntilIdle();
  }

  void JoinAs(const std::string& task, uint64_t incarnation = 1) {
    EXPECT_OK(Join(JoinOf(task, incarnation)));
    scheduler_.RunUntilIdle();
  }
  void JoinAll() {
    for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) JoinAs(task);
  }

  absl::StatusOr<protocol::HeartbeatReply> Beat(
      const std::string& task, uint64_t incarnation = 1,
      std::optional<protocol::TaskReport> report = std::nullopt) {
    protocol::HeartbeatRequest request;
    request.task = task;
    request.incarnation = incarnation;
    request.coordinator = incarnation_;
    request.has_report = report.has_value();
    if (report) request.report = *std::move(report);
    Pending<protocol::HeartbeatReply> reply;
    coordinator_->Heartbeat(request, In(absl::Seconds(3)), reply.Done());
    scheduler_.RunUntilIdle();
    return reply.get();
  }

  // Sends a heartbeat and, if the coordinator requests a report, another
  // heartbeat with the report at once, as a task does.
  void BeatAndReport(const std::string& task,
                     const protocol::TaskReport& report) {
    ASSERT_OK_AND_ASSIGN(const protocol::HeartbeatReply reply, Beat(task));
    ASSERT_TRUE(reply.wants_report) << task;
    EXPECT_OK(Beat(task, 1, report));
  }

  protocol::PlacementRequest RequestOf(uint64_t session,
                                       const std::string& task,
                                       std::vector<PlacementNode> nodes) const {
    protocol::PlacementRequest request;
    request.session = session;
    request.task = task;
    request.incarnation = 1;
    request.graph.nodes = std::move(nodes);
    return request;
  }

  Pending<protocol::PlacementReply> BeginPlace(
      const protocol::PlacementRequest& request,
      absl::Duration timeout = absl::Minutes(10),
      std::shared_ptr<Cancellation> cancellation = nullptr) {
    Pending<protocol::PlacementReply> reply;
    coordinator_->Place(request, In(timeout), std::move(cancellation),
                        reply.Done());
    scheduler_.RunUntilIdle();
    return reply;
  }

  absl::StatusOr<std::vector<std::string>> Place(
      const protocol::PlacementRequest& request) {
    ASSIGN_OR_RETURN(protocol::PlacementReply reply, BeginPlace(request).get());
    return reply.devices;
  }
  absl::StatusOr<std::vector<std::string>> Place(
      uint64_t session, const std::string& task,
      std::vector<PlacementNode> nodes) {
    return Place(RequestOf(session, task, std::move(nodes)));
  }

  void EndSession(uint64_t session) {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->EndSession(session, In(absl::Seconds(1)),
                             [&](absl::Status given) { status = given; });
    EXPECT_OK(status);
    scheduler_.RunUntilIdle();
  }

  absl::Status Forget(const std::vector<std::string>& containers,
                      const std::vector<std::string>& filters) {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->ForgetContainers(containers, filters, In(absl::Seconds(1)),
                                   nullptr,
                                   [&](absl::Status given) { status = given; });
    return status;
  }

  void Leave(const std::string& task, uint64_t incarnation = 1,
             const std::string& uuid = "") {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->Leave({task, incarnation, uuid}, In(absl::Seconds(1)),
                        [&](absl::Status given) { status = given; });
    EXPECT_OK(status);
  }

  std::map<std::string, protocol::TaskStatus> Tasks() {
    Pending<protocol::ClusterStatus> reply;
    coordinator_->GetCluster({}, In(absl::Seconds(1)), reply.Done());
    std::map<std::string, protocol::TaskStatus> result;
    const absl::StatusOr<protocol::ClusterStatus> status = reply.get();
    EXPECT_OK(status);
    if (!status.ok()) return result;
    for (const auto& task : status->tasks) result[task.task] = task;
    return result;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  RecordingLogger logger_;
  ClusterSpec cluster_{{"coordinator", {"a:1"}},
                       {"ps", {"b:1", "c:1"}},
                       {"worker", {"d:1", "e:1"}},
                       {"checkpoint_writer", {"f:1"}}};
  std::string cluster_text_ = cluster_.ToString();
  uint64_t incarnation_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_TESTING_COORDINATOR_HARNESS_H_
