// Tests a task's Worker as seen from another process: WorkerClient and
// WorkerService over a simulated network.
#include "libs/protocol/worker/worker_client.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"
#include "libs/graph/inference_context.h"
#include "libs/protocol/master/master_service.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/recording_worker.h"
#include "libs/protocol/testing/two_processes.h"
#include "libs/protocol/worker/worker_messages.h"
#include "libs/protocol/worker/worker_service.h"
#include "libs/tensor/testing/sample_tensor.h"

namespace weft::protocol {
namespace {

constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr char kMasterTask[] = "/job:worker/replica:0/task:0";
constexpr char kOtherTask[] = "/job:worker/replica:0/task:1";
constexpr WorkerSession kSession{11, 7};
constexpr absl::Time kNever = absl::InfiniteFuture();

class RecordingPeerEvents : public PeerEvents {
 public:
  absl::Status OnPeerConnected(const bus::Identity& peer) override {
    connected.push_back(peer);
    return refusal;
  }
  void OnPeerLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) override {
    lost.push_back({task, incarnation, why});
  }
  void OnPushes(std::vector<Push> pushes) override {
    for (Push& push : pushes) with_answers.push_back(std::move(push));
  }
  void OnPushFailed(const Push& push, const absl::Status& why) override {
    failed_pushes.push_back(
        {{push.session.master_incarnation, push.step}, why});
  }
  struct Lost {
    std::string task;
    uint64_t incarnation;
    absl::Status why;
  };
  struct FailedPush {
    StepId step;
    absl::Status why;
  };
  absl::Status refusal;
  std::vector<bus::Identity> connected;
  std::vector<Lost> lost;
  std::vector<FailedPush> failed_pushes;
  std::vector<Push> with_answers;
};

// Records the arguments of each call of a `done`.
class Results {
 public:
  Worker::Done done() {
    return [this](absl::Status status) { all.push_back(std::move(status)); };
  }
  std::vector<absl::Status> all;
};

// A step as a master keeps it.
struct TestStep {
  explicit TestStep(int num_edges) : feeds(num_edges), fetches(num_edges) {}

  PartitionStep step(uint64_t id) {
    PartitionStep step;
    step.session = kSession;
    step.registration = 5;
    step.step = id;
    step.steps_finished_below = id - 2;
    step.feeds = feeds;
    step.fetches = absl::MakeSpan(fetches);
    step.feed_indices = feed_indices;
    step.fetch_indices = fetch_indices;
    step.cancellation = cancellation;
    return step;
  }

  std::vector<Tensor> feeds;
  std::vector<Tensor> fetches;
  std::vector<int> feed_indices;
  std::vector<int> fetch_indices;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

// Keeps requests until the test has them served.
class HoldingHandler : public OneRoleHandler<WorkerService> {
 public:
  using OneRoleHandler::OneRoleHandler;

  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override {
    held.emplace_back(std::move(call), std::move(request));
  }
  void ServeHeld() {
    for (auto& [call, request] : std::exchange(held, {})) {
      OneRoleHandler::OnRequest(std::move(call), std::move(request));
    }
  }

  std::vector<std::pair<std::shared_ptr<bus::IncomingCall>, bus::Message>> held;
};

// A connection that is lost and restored as the test says.
class ScriptedChannel : public bus::Channel {
 public:
  CallId Call(bus::Message /*request*/, const bus::CallOptions& /*options*/,
              Callback callback) override {
    calls.push_back(std::move(callback));
    return calls.size();
  }
  void Cancel(CallId /*call*/) override {}
  absl::Status Send(bus::Message /*message*/) override {
    return absl::OkStatus();
  }
  uint64_t connection() const override { return number; }
  void EndConnection(uint64_t connection,
                     const absl::Status& /*why*/) override {
    ended.push_back(connection);
  }
  void AbandonStep(const bus::StepTag& /*step*/) override {}
  std::optional<bus::Identity> peer() const override { return std::nullopt; }

  uint64_t number = 1;
  std::vector<Callback> calls;
  std::vector<uint64_t> ended;
};

// Dials one ScriptedChannel.
class ScriptedTransport : public bus::Transport {
 public:
  absl::StatusOr<std::unique_ptr<bus::Endpoint>> Listen(
      const bus::Address& /*address*/, const bus::Identity& /*self*/,
      bus::Handler& /*handler*/) override {
    return absl::UnimplementedError("It only dials");
  }
  std::unique_ptr<bus::Channel> Dial(const bus::Address& /*address*/,
                                     const bus::Identity& /*self*/,
                                     const std::string& /*destination*/,
                                     bus::ChannelEvents* /*events*/) override {
    auto dialed = std::make_unique<ScriptedChannel>();
    channel = dialed.get();
    return dialed;
  }
  bool Lead(absl::FunctionRef<bool()> /*done*/) override { return false; }
  void WakeLeader() override {}

  ScriptedChannel* channel = nullptr;
};

class WorkerClientTest : public testing::Test {
 protected:
  WorkerClientTest() { NewService(); }

  void NewService() {
    service_ = std::make_unique<WorkerService>(
        WorkerServiceOptions{.worker = &worker_,
                             .scheduler = &processes_.scheduler(),
                             .allocator = &processes_.server().allocator,
                             .ops = ops_,
                             .abandon_pushes = [this](const StepId& step) {
                               abandoned_.push_back(step);
                             }});
    handler_ = std::make_unique<OneRoleHandler<WorkerService>>(*service_);
  }
  void Listen() {
    auto endpoint = processes_.server().transport->Listen(
        processes_.address(), {.task = kTask, .incarnation = 22}, *handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }
  void Dial() {
    client_ = std::make_unique<WorkerClient>(
        *processes_.client().transport,
        WorkerClientOptions{.address = processes_.address(),
                            .self = {.task = kMasterTask, .incarnation = 11},
                            .task = kTask,
                            .allocator = &processes_.client().allocator,
                            .events = &events_,
                            .clock = &processes_.scheduler().clock()});
  }
  void Connect() {
    Listen();
    Dial();
    processes_.Settle();
    ASSERT_EQ(events_.connected.size(), 1u);
  }
  // Another peer than the master of kSession.
  std::unique_ptr<WorkerClient> DialAs(const bus::Identity& self) {
    auto client = std::make_unique<WorkerClient>(
        *processes_.client().transport,
        WorkerClientOptions{.address = processes_.address(),
                            .self = self,
                            .task = kTask,
                            .allocator = &processes_.client().allocator});
    processes_.Settle();
    return client;
  }
  // Returns the answers to its requests that only a master may send.
  std::vector<absl::Status> AskForMasters(WorkerClient& client) {
    std::vector<absl::Status> answers;
    const auto note = [&](const auto& answer) {
      if constexpr (requires { answer.status(); }) {
        answers.push_back(answer.status());
      } else {
        answers.push_back(answer);
      }
    };
    client.CreateWorkerSession(kSession, {}, kNever, note);
    client.DeleteWorkerSession(kSession, kNever, note);
    client.Register({.session = kSession, .registration = 5}, kNever, note);
    TestStep step(0);
    client.Run(step.step(30), note);
    client.DescribeWaits({11, 30}, kNever, note);
    for (int action = 0; action < 4; ++action) {
      client.HoldSteps(
          {.action = static_cast<StepHold::Action>(action), .holder = {11, 30}},
          kNever, note);
    }
    client.Deregister(kSession, 5);
    processes_.Settle();
    client.Abort({11, 30}, 29, absl::InternalError("mine"), note);
    processes_.Settle();
    return answers;
  }

  TwoProcesses processes_;
  std::shared_ptr<OpRegistry> ops_ = std::make_shared<OpRegistry>();
  RecordingWorker worker_;
  RecordingPeerEvents events_;
  std::vector<StepId> abandoned_;  // being received
  Results results_;
  std::unique_ptr<WorkerService> service_;
  std::unique_ptr<OneRoleHandler<WorkerService>> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  std::unique_ptr<WorkerClient> client_;
};

TEST_F(WorkerClientTest, StatusWaitsForTheTask) {
  worker_.devices = {{"/job:ps/replica:0/task:0/device:CPU:0", "CPU", 1, 2}};
  Dial();
  std::vector<absl::StatusOr<std::vector<DeviceAttributes>>> answers;
  client_->GetStatusWhenConnected(
      kNever, [&](auto devices) { answers.push_back(devices); });
  processes_.scheduler().AdvanceBy(absl::Minutes(1));
  EXPECT_TRUE(answers.empty());
  Listen();
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_OK(answers[0]);
  EXPECT_EQ((*answers[0])[0].name, worker_.devices[0].name);
  ASSERT_EQ(events_.connected.size(), 1u);
  EXPECT_EQ(events_.connected[0].incarnation, 22u);
  EXPECT_TRUE(events_.lost.empty());
}

TEST_F(WorkerClientTest, StatusCallSurvivesAReconnect) {
  Connect();
  std::vector<absl::Status> answers;
  client_->GetStatusWhenConnected(kNever, [&](const auto& devices) {
    answers.push_back(devices.status());
  });
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_TRUE(answers.empty());
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.connected.size(), 2u);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_OK(answers[0]);
}

// The task would repeat its refusal.
TEST_F(WorkerClientTest, RefusedStatusIsNotRetried) {
  Connect();
  worker_.answer = absl::UnavailableError("it is shutting down");
  std::vector<absl::Status> answers;
  client_->GetStatusWhenConnected(kNever, [&](const auto& devices) {
    answers.push_back(devices.status());
  });
  processes_.Settle();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0],
              StatusIs(absl::StatusCode::kUnavailable, "it is shutting down"));
}

TEST_F(WorkerClientTest, StatusWaitsNoLongerThanItsDeadline) {
  Dial();
  std::vector<absl::Status> answers;
  const absl::Time now = processes_.scheduler().clock().Now();
  client_->GetStatusWhenConnected(
      now + absl::Seconds(5),
      [&](const auto& devices) { answers.push_back(devices.status()); });
  processes_.scheduler().AdvanceBy(absl::Seconds(4));
  EXPECT_TRUE(answers.empty());
  processes_.scheduler().AdvanceBy(absl::Seconds(2));
  ASSERT_EQ(answers.size(), 1u);
  // The error of a lost task, from which a training recovers by itself.
  EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kUnavailable,
                                   "/job:ps/replica:0/task:0"));
  EXPECT_THAT(answers[0],
              StatusIs(absl::StatusCode::kUnavailable,
                       "There was no connection in time: There is no listener "
                       "at server:7000 (is it running"));
}

// A training that worked continues when its task is back; one that never did
// fails at once with the reason.
TEST_F(WorkerClientTest, OtherProcessAtTheAddressIsALoss) {
  Connect();
  endpoint_.reset();
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  processes_.scheduler().AdvanceBy(absl::Seconds(5));
  client_->CreateWorkerSession(kSession, {}, kNever, results_.done());
  TestStep step(1);
  client_->Run(step.step(9), results_.done());
  client_->GetStatusWhenConnected(
      processes_.scheduler().clock().Now() + absl::Seconds(5),
      [&](const auto& devices) { results_.all.push_back(devices.status()); });
  processes_.scheduler().AdvanceBy(absl::Seconds(6));
  ASSERT_EQ(results_.all.size(), 3u);
  for (const absl::Status& status : results_.all) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, kTask));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, "another cluster"));
  }
  handler_->refuse_with = absl::OkStatus();
  processes_.scheduler().AdvanceBy(absl::Seconds(31));
  EXPECT_EQ(events_.connected.size(), 2u);
  EXPECT_EQ(events_.lost.size(), 1u);
}

TEST_F(WorkerClientTest, FirstConnectionToOtherProcessIsAnError) {
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  Dial();
  client_->GetStatusWhenConnected(kNever, [&](const auto& devices) {
    results_.all.push_back(devices.status());
  });
  processes_.Settle();
  client_->CreateWorkerSession(kSession, {}, kNever, results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 2u);
  for (const absl::Status& status : results_.all) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "another cluster"));
  }
}

TEST_F(WorkerClientTest, UnresponsiveTaskIsNamed) {
  Connect();
  worker_.hold = true;
  std::vector<absl::Status> answers;
  const absl::Time now = processes_.scheduler().clock().Now();
  client_->GetStatusWhenConnected(
      now + absl::Seconds(5),
      [&](const auto& devices) { answers.push_back(devices.status()); });
  processes_.scheduler().AdvanceBy(absl::Seconds(5));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kDeadlineExceeded,
                                   "/job:ps/replica:0/task:0"));
  ASSERT_EQ(worker_.held.size(), 1u);
  worker_.held[0]();  // too late
  processes_.Settle();
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(WorkerClientTest, DescribeWaitsReturnsWaitsOfAStep) {
  Connect();
  worker_.waits.assign(20, "tensor x:0 from /job:ps/task:0");
  std::vector<absl::StatusOr<std::vector<std::string>>> answers;
  auto keep = [&](auto waits) { answers.push_back(std::move(waits)); };
  client_->DescribeWaits({11, 30}, kNever, keep);
  processes_.Settle();
  worker_.answer = absl::NotFoundError("no such step");
  client_->DescribeWaits({11, 31}, kNever, keep);
  processes_.Settle();
  ASSERT_EQ(answers.size(), 2u);
  ASSERT_OK(answers[0]);
  EXPECT_EQ(*answers[0],
            std::vector<std::string>(Worker::kMaxWaits, worker_.waits[0]));
  EXPECT_THAT(answers[1],
              StatusIs(absl::StatusCode::kNotFound, "no such step"));
  ASSERT_EQ(worker_.described.size(), 1u);
  EXPECT_EQ(worker_.described[0], (StepId{11, 30}));
}

TEST_F(WorkerClientTest, HoldStepsReturnsVariableWriters) {
  Connect();
  worker_.writers = {{"/job:worker/replica:0/task:1", {12, 8}, 4}};
  std::vector<absl::StatusOr<std::vector<VariableWriter>>> answers;
  const auto ask = [&](StepHold::Action action) {
    client_->HoldSteps(
        {.action = action, .holder = {11, 30}, .lease = absl::Seconds(1)},
        kNever, [&](auto writers) { answers.push_back(std::move(writers)); });
    processes_.Settle();
  };
  ask(StepHold::Action::kHoldVariables);
  worker_.answer = absl::FailedPreconditionError("not any more");
  ask(StepHold::Action::kReleaseVariables);
  ASSERT_EQ(answers.size(), 2u);
  ASSERT_OK(answers[0]);
  EXPECT_EQ(*answers[0], worker_.writers);
  EXPECT_THAT(answers[1],
              StatusIs(absl::StatusCode::kFailedPrecondition, "not any more"));
  ASSERT_EQ(worker_.step_holds.size(), 2u);
  EXPECT_EQ(worker_.step_holds[0].holder, (StepId{11, 30}));
  EXPECT_EQ(worker_.step_holds[1].action, StepHold::Action::kReleaseVariables);
}

TEST_F(WorkerClientTest, SessionAndContainerCallsArrive) {
  Connect();
  client_->CreateWorkerSession(kSession, {.isolated = true}, kNever,
                               results_.done());
  client_->DeleteWorkerSession(kSession, kNever, results_.done());
  client_->ClearContainers({"a"}, kNever, std::make_shared<Cancellation>(),
                           results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 3u);
  for (const absl::Status& status : results_.all) EXPECT_OK(status);
  ASSERT_EQ(worker_.created.size(), 1u);
  EXPECT_EQ(worker_.created[0].session.master_incarnation, 11u);
  EXPECT_EQ(worker_.created[0].session.session, 7u);
  EXPECT_TRUE(worker_.created[0].options.isolated);
  ASSERT_EQ(worker_.deleted.size(), 1u);
  EXPECT_EQ(worker_.deleted[0].session, 7u);
  EXPECT_EQ(worker_.cleared, (std::vector<std::vector<std::string>>{{"a"}}));
}

TEST_F(WorkerClientTest, CancelledResetIsNotSent) {
  Connect();
  const auto client = std::make_shared<Cancellation>();
  client->Cancel(absl::CancelledError("enough"));
  client_->ClearContainers({"a"}, kNever, client, results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(worker_.cleared.empty());
}

// For example before the task has processed it.
TEST_F(WorkerClientTest, CancellationOfAResetIsSent) {
  Connect();
  worker_.hold_clears = true;
  const auto client = std::make_shared<Cancellation>();
  client_->ClearContainers({"a"}, kNever, client, results_.done());
  processes_.Settle();
  {
    const std::shared_ptr<Cancellation> clearing = worker_.clearing.lock();
    ASSERT_NE(clearing, nullptr);
    EXPECT_FALSE(clearing->IsCancelled());
    client->Cancel(absl::CancelledError("enough"));
    processes_.Settle();
    EXPECT_TRUE(clearing->IsCancelled());
  }
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kCancelled));
  worker_.held.front()();
  worker_.held.clear();
}

TEST_F(WorkerClientTest, GraphsAreRegisteredAndReleased) {
  ops_->Add(OpDefBuilder("Source")
                .Output("out: float")
                .Shape([](InferenceContext& c) {
                  c.set_output(0, PartialShape::Scalar());
                  return absl::OkStatus();
                }));
  Connect();
  auto graph = std::make_shared<Graph>(ops_);
  ASSERT_OK(graph->AddNode({.name = "a", .op = "Source"}));
  const std::string device = std::string(kTask) + "/device:CPU:0";
  worker_.new_variables.Add("v", 100);
  worker_.new_variables.available.machine = "this one";
  absl::StatusOr<NewVariables> told = absl::UnknownError("did not answer");
  client_->Register({.session = kSession,
                     .registration = 5,
                     .partitions = {{device, graph}},
                     .wants_new_variables = true},
                    kNever, [&](auto made) { told = std::move(made); });
  client_->Deregister(kSession, 5);
  processes_.Settle();
  ASSERT_OK(told);
  EXPECT_EQ(told->bytes, 100);
  EXPECT_EQ(told->largest, "v");
  EXPECT_EQ(told->available.machine, "this one");
  ASSERT_EQ(worker_.registered.size(), 1u);
  EXPECT_TRUE(worker_.registered[0].wants_new_variables);
  EXPECT_EQ(worker_.registered[0].registration, 5u);
  const Node* a = worker_.registered[0].partitions[0].graph->FindNode("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->assigned_device(), device);
  EXPECT_EQ(worker_.deregistered, std::vector<uint64_t>{5});
}

// The task keeps the session for its lease.
TEST_F(WorkerClientTest, ReleaseIsRepeatedAfterReconnect) {
  Connect();
  client_->Deregister(kSession, 1);
  processes_.network().Cut("client", "server");  // while it is in flight
  processes_.Settle();
  EXPECT_TRUE(worker_.deregistered.empty());
  client_->Deregister(kSession, 2);
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.connected.size(), 2u);
  EXPECT_THAT(worker_.deregistered, testing::UnorderedElementsAre(1u, 2u));
  // Once is enough.
  processes_.network().Cut("client", "server");
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.connected.size(), 3u);
  EXPECT_EQ(worker_.deregistered.size(), 2u);
}

// The reading thread sends them, and the task accepts only this many.
TEST_F(WorkerClientTest, ReleasesAfterReconnectAreSentInBatches) {
  constexpr uint64_t kReleases = 200;
  HoldingHandler holding(*service_);
  auto endpoint = processes_.server().transport->Listen(
      processes_.address(), {.task = kTask, .incarnation = 22}, holding);
  ASSERT_OK(endpoint);
  Dial();
  processes_.Settle();
  processes_.network().Cut("client", "server");
  processes_.Settle();
  for (uint64_t i = 1; i <= kReleases; ++i) client_->Deregister(kSession, i);
  // This one ends before it is sent.
  client_->Deregister({11, 8}, 1);
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  ASSERT_EQ(events_.connected.size(), 2u);
  client_->DeleteWorkerSession({11, 8}, kNever, results_.done());
  size_t most = 0;
  for (processes_.Settle(); !holding.held.empty(); processes_.Settle()) {
    most = std::max(most, holding.held.size());
    holding.ServeHeld();
  }
  EXPECT_LE(most, WorkerClient::kMaxReleasesAtOnce + 1);
  EXPECT_EQ(worker_.deregistered.size(), kReleases);
  client_.reset();
}

TEST_F(WorkerClientTest, RestartedTaskReceivesNoReleases) {
  Connect();
  endpoint_.reset();
  processes_.Settle();
  client_->Deregister(kSession, 1);
  auto endpoint = processes_.server().transport->Listen(
      processes_.address(), {.task = kTask, .incarnation = 23}, *handler_);
  ASSERT_OK(endpoint);
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.connected.size(), 2u);
  EXPECT_TRUE(worker_.deregistered.empty());
  client_.reset();
}

TEST_F(WorkerClientTest, DeletingASessionDropsItsReleases) {
  Connect();
  processes_.network().Cut("client", "server");
  processes_.Settle();
  client_->Deregister(kSession, 1);
  client_->Deregister({11, 8}, 1);
  client_->DeleteWorkerSession(kSession, kNever, results_.done());
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(worker_.deregistered.size(), 1u);
}

TEST_F(WorkerClientTest, ErrorsKeepCodeTextAndDerivedMark) {
  Connect();
  worker_.answer = absl::FailedPreconditionError("x is not initialised");
  client_->CreateWorkerSession(kSession, {.isolated = true}, kNever,
                               results_.done());
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  worker_.answer = MarkDerived(absl::CancelledError("another failed"));
  client_->Run(step.step(31), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 3u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(results_.all[i],
              absl::FailedPreconditionError("x is not initialised"));
    EXPECT_FALSE(IsDerived(results_.all[i]));
  }
  EXPECT_EQ(results_.all[2].code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(results_.all[2].message(), "another failed");
  EXPECT_TRUE(IsDerived(results_.all[2]));
}

TEST_F(WorkerClientTest, RunSendsFeedsAndReturnsFetches) {
  Connect();
  worker_.hold_runs = true;
  TestStep step(5);
  step.feeds[1] = SampleTensor(DT_FLOAT, TensorShape({3}));
  step.feeds[2] = SampleTensor(DT_FLOAT, TensorShape({4}));
  step.feeds[3] = SampleTensor(DT_STRING, TensorShape({2}));
  step.feed_indices = {3, 1};
  step.fetch_indices = {0, 4};
  step.fetches[2] = Tensor::Scalar(1.0f);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(worker_.running.size(), 1u);
  const PartitionStep& seen = worker_.running[0].step;
  EXPECT_EQ(seen.session.master_incarnation, 11u);
  EXPECT_EQ(seen.registration, 5u);
  EXPECT_EQ(seen.step, 30u);
  EXPECT_EQ(seen.steps_finished_below, 28u);
  EXPECT_EQ(seen.thread, CallingThread::kReader);
  EXPECT_FALSE(seen.feeds[2].IsInitialized());  // it has no receiver
  EXPECT_TRUE(results_.all.empty());
  worker_.EndRun();
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_OK(results_.all[0]);
  EXPECT_TRUE(SameBits(step.fetches[0], step.feeds[3]));
  EXPECT_TRUE(SameBits(step.fetches[4], step.feeds[1]));
  EXPECT_EQ(step.fetches[2].scalar<float>(), 1.0f);
}

TEST_F(WorkerClientTest, TracedRunReturnsItsTrace) {
  Connect();
  worker_.trace = {.stats = {{{.device = "cpu"}}},
                   .begun = absl::FromUnixSeconds(7),
                   .ended = absl::FromUnixSeconds(9)};
  // More than fits into one control message.
  worker_.trace.stats.dev_stats[0].node_stats.resize(
      20'000, {.timeline_label = std::string(100, 'x')});
  PartitionTrace trace;
  TestStep step(1);
  PartitionStep traced = step.step(30);
  traced.trace = &trace;
  worker_.hold_runs = true;
  client_->Run(traced, results_.done());
  processes_.Settle();
  ASSERT_EQ(worker_.running.size(), 1u);
  // No value waits for the trace.
  EXPECT_EQ(worker_.running[0].step.with_answer, nullptr);
  worker_.EndRun();
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  ASSERT_OK(results_.all[0]);
  EXPECT_EQ(trace.stats, worker_.trace.stats);
  EXPECT_EQ(trace.begun, worker_.trace.begun);
  // The times when it was sent, and when it arrived.
  EXPECT_GT(trace.ended, worker_.trace.ended);
  ASSERT_TRUE(trace.answered.has_value());
  EXPECT_GE(*trace.answered, trace.ended);
}

TEST_F(WorkerClientTest, LargeTensorsAreNotCopied) {
  Connect();
  TestStep step(1);
  step.feeds[0] = SampleTensor(DT_FLOAT, TensorShape({1 << 20}));
  step.feed_indices = step.fetch_indices = {0};
  processes_.server().allocator.allocations = 0;
  processes_.client().allocator.allocations = 0;
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  ASSERT_OK(results_.all[0]);
  EXPECT_TRUE(SameBits(step.fetches[0], step.feeds[0]));
  // The receive buffer, and no other allocation.
  EXPECT_EQ(processes_.server().allocator.allocations, 1);
  EXPECT_EQ(processes_.client().allocator.allocations, 1);
  EXPECT_TRUE(step.fetches[0].RefCountIsOne());
}

TEST_F(WorkerClientTest, CancelledRunEndsWithItsAbortReply) {
  Connect();
  worker_.hold_runs = worker_.hold_aborts = true;
  TestStep step(1);
  step.feeds[0] = Tensor::Scalar(2.0f);
  step.feed_indices = step.fetch_indices = {0};
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  step.cancellation->Cancel(absl::DeadlineExceededError("too slow"));
  processes_.Settle();
  ASSERT_EQ(worker_.aborted.size(), 1u);
  EXPECT_EQ(worker_.aborted[0].step, (StepId{11, 30}));
  EXPECT_EQ(worker_.aborted[0].steps_finished_below, 28u);
  EXPECT_EQ(worker_.aborted[0].cause, absl::DeadlineExceededError("too slow"));
  EXPECT_TRUE(results_.all.empty());  // it may still change something
  worker_.aborted[0].done(absl::OkStatus());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0],
              StatusIs(absl::StatusCode::kDeadlineExceeded, "too slow"));
  EXPECT_TRUE(IsDerived(results_.all[0]));
  worker_.EndRun();  // now its fetches have no receiver
  processes_.Settle();
  EXPECT_EQ(results_.all.size(), 1u);
  EXPECT_FALSE(step.fetches[0].IsInitialized());
}

// The task would continue the step, and it could not be ended.
TEST_F(WorkerClientTest, RefusedAbortEndsTheConnection) {
  Connect();
  worker_.hold_runs = worker_.hold_aborts = true;
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(worker_.running.size(), 1u);
  const std::shared_ptr<Cancellation> there =
      worker_.running[0].step.cancellation;
  step.cancellation->Cancel(absl::CancelledError("by hand"));
  processes_.Settle();
  ASSERT_EQ(worker_.aborted.size(), 1u);
  worker_.aborted[0].done(absl::ResourceExhaustedError("too many requests"));
  processes_.Settle();
  EXPECT_TRUE(there->IsCancelled());
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0],
              StatusIs(absl::StatusCode::kUnavailable, "did not abort a step"));
  EXPECT_EQ(events_.lost.size(), 1u);
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.connected.size(), 2u);
  worker_.EndRun();
}

TEST_F(WorkerClientTest, RefusedAbortOfAPeerEndsTheConnection) {
  Connect();
  worker_.answer = absl::ResourceExhaustedError("too many requests");
  client_->Abort({11, 30}, 0, absl::InternalError("bug"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(events_.lost.size(), 1u);
}

// Steps of the next connection are unaffected.
TEST_F(WorkerClientTest, FailedAbortEndsOnlyItsConnection) {
  ScriptedTransport transport;
  WorkerClient client(transport, {.task = kTask});
  TestStep step(0);
  client.Run(step.step(30), results_.done());
  step.cancellation->Cancel(absl::CancelledError("by hand"));
  client.Abort({11, 31}, 0, absl::InternalError("bug"), results_.done());
  std::vector<bus::Channel::Callback>& calls = transport.channel->calls;
  ASSERT_EQ(calls.size(), 3u);
  transport.channel->number = 2;
  for (const size_t abort : {1, 2}) {
    calls[abort](absl::ResourceExhaustedError("too many requests"));
  }
  EXPECT_EQ(transport.channel->ended, (std::vector<uint64_t>{1, 1}));
  calls[0](absl::UnavailableError("the connection was lost"));
  EXPECT_EQ(results_.all.size(), 2u);
}

TEST_F(WorkerClientTest, CancelledRunMayEndByItself) {
  Connect();
  worker_.hold_runs = worker_.hold_aborts = true;
  TestStep step(1);
  step.feeds[0] = Tensor::Scalar(2.0f);
  step.feed_indices = step.fetch_indices = {0};
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  step.cancellation->Cancel(absl::CancelledError("by hand"));
  processes_.Settle();
  worker_.EndRun();
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_OK(results_.all[0]);
  EXPECT_EQ(step.fetches[0].scalar<float>(), 2.0f);
  worker_.aborted[0].done(absl::OkStatus());
  processes_.Settle();
  EXPECT_EQ(results_.all.size(), 1u);
}

TEST_F(WorkerClientTest, AlreadyCancelledRunIsNotSent) {
  Connect();
  TestStep step(0);
  step.cancellation->Cancel(absl::CancelledError("by hand"));
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(IsDerived(results_.all[0]));
  EXPECT_EQ(worker_.num_runs, 0);
}

TEST_F(WorkerClientTest, CancellationAfterTheRunIsIgnored) {
  Connect();
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  step.cancellation->Cancel(absl::CancelledError("late"));
  processes_.Settle();
  EXPECT_TRUE(worker_.aborted.empty());
}

TEST_F(WorkerClientTest, ALostConnectionEndsRunsAtBothEnds) {
  Connect();
  worker_.hold_runs = true;
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(worker_.running.size(), 1u);
  const std::shared_ptr<Cancellation> there =
      worker_.running[0].step.cancellation;
  EXPECT_FALSE(there->IsCancelled());
  processes_.network().Cut("client", "server");
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kUnavailable, kTask));
  EXPECT_TRUE(there->IsCancelled());
  ASSERT_EQ(events_.lost.size(), 1u);
  EXPECT_EQ(events_.lost[0].task, kTask);
  EXPECT_EQ(events_.lost[0].incarnation, 22u);
  EXPECT_THAT(events_.lost[0].why, StatusIs(absl::StatusCode::kUnavailable));
  worker_.EndRun();
  processes_.Settle();
  EXPECT_EQ(results_.all.size(), 1u);
}

TEST_F(WorkerClientTest, UncountedConnectionIsNotReportedLost) {
  events_.refusal = absl::PermissionDeniedError("another task's incarnation");
  Connect();
  EXPECT_EQ(events_.connected.size(), 1u);
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_TRUE(events_.lost.empty());
}

TEST_F(WorkerClientTest, ReturningTaskIsReachedAgain) {
  Connect();
  processes_.network().Cut("client", "server");
  processes_.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(events_.lost.size(), 1u);
  EXPECT_EQ(events_.connected.size(), 2u);
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_OK(results_.all[0]);
}

TEST_F(WorkerClientTest, CallsWithoutConnectionFailNamingTheTask) {
  Dial();
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  client_->CreateWorkerSession(kSession, {}, kNever, results_.done());
  client_->Abort({11, 30}, 0, absl::CancelledError("x"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 3u);
  for (const absl::Status& status : results_.all) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, kTask));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, "server:7000"));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, "is it running"));
  }
  EXPECT_TRUE(events_.lost.empty());  // it was never there
}

TEST_F(WorkerClientTest, AbortIsAcknowledgedAndKeepsItsCause) {
  Connect();
  client_->Abort({11, 30}, 28, absl::InternalError("bug"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_OK(results_.all[0]);
  ASSERT_EQ(worker_.aborted.size(), 1u);
  EXPECT_EQ(worker_.aborted[0].steps_finished_below, 28u);
  EXPECT_EQ(worker_.aborted[0].cause, absl::InternalError("bug"));
}

// Other tasks must be told that its steps are over, and whether it is alive.
TEST_F(WorkerClientTest, DrainingTaskServesCallsThatEndSteps) {
  Connect();
  endpoint_->Drain();
  client_->GetStatusWhenConnected(kNever, [&](const auto& devices) {
    results_.all.push_back(devices.status());
  });
  client_->DescribeWaits({11, 30}, kNever, [&](const auto& waits) {
    results_.all.push_back(waits.status());
  });
  client_->HoldSteps(
      {.action = StepHold::Action::kReleaseSteps, .holder = {11, 30}}, kNever,
      [&](const auto& writers) { results_.all.push_back(writers.status()); });
  client_->Abort({11, 30}, 28, absl::InternalError("bug"), results_.done());
  client_->DeleteWorkerSession(kSession, kNever, results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 5u);
  for (const absl::Status& status : results_.all) EXPECT_OK(status);
  EXPECT_EQ(worker_.aborted.size(), 1u);
  EXPECT_EQ(worker_.deleted.size(), 1u);
  client_->CreateWorkerSession(kSession, {.isolated = true}, kNever,
                               results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 6u);
  EXPECT_THAT(results_.all[5],
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
}

// If an end overtook the beginning of its session by far, it would be
// forgotten.
TEST_F(WorkerClientTest, SessionCallsRunOnTheControlPool) {
  const bus::Message begin = WriteCreateWorkerSession(kSession, {});
  EXPECT_TRUE(WorkerService::IsControlMessage(begin));
  EXPECT_FALSE(WorkerService::HasReserve(begin.method));
  const bus::Message end = WriteDeleteWorkerSession(kSession);
  EXPECT_TRUE(WorkerService::IsControlMessage(end));
  EXPECT_TRUE(WorkerService::HasReserve(end.method));
}

TEST_F(WorkerClientTest, ReleasesWaitForNoKernel) {
  const bus::Message release = WriteDeregister(kSession, 5);
  EXPECT_TRUE(WorkerService::IsControlMessage(release));
  EXPECT_TRUE(WorkerService::HasReserve(release.method));
}

// A request has a reserve if it runs on the control pool and begins no work.
TEST_F(WorkerClientTest, RequestsWithReserveRunOnTheControlPool) {
  for (int method = 0; method < 256; ++method) {
    bus::Message message;
    message.method = static_cast<uint8_t>(method);
    if (WorkerService::HasReserve(message.method)) {
      EXPECT_TRUE(WorkerService::IsControlMessage(message)) << method;
    }
    if (MasterService::HasReserve(message.method)) {
      EXPECT_TRUE(MasterService::IsControlMessage(message)) << method;
    }
  }
  for (const Method method : {Method::kHoldSteps, Method::kAbort}) {
    EXPECT_TRUE(WorkerService::HasReserve(static_cast<uint8_t>(method)));
  }
  for (const Method method :
       {Method::kReleaseCallable, Method::kCloseSession}) {
    EXPECT_TRUE(MasterService::HasReserve(static_cast<uint8_t>(method)));
  }
}

TEST_F(WorkerClientTest, AnAbortWithALongCauseWaitsForNoKernel) {
  const absl::Status cause = absl::InternalError(std::string(1 << 20, 'x'));
  EXPECT_TRUE(WorkerService::IsControlMessage(WriteAbort({11, 30}, 28, cause)));
}

// By accident or on purpose: each master may act for its own sessions only.
TEST_F(WorkerClientTest, AnotherTaskCannotActForAMaster) {
  Connect();
  const auto other = DialAs({.task = kOtherTask, .incarnation = 12});
  const std::vector<absl::Status> answers = AskForMasters(*other);
  EXPECT_EQ(answers.size(), 10u);
  for (const absl::Status& answer : answers) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kPermissionDenied));
  }
  EXPECT_TRUE(worker_.created.empty() && worker_.deleted.empty());
  EXPECT_TRUE(worker_.registered.empty() && worker_.deregistered.empty());
  EXPECT_TRUE(worker_.described.empty() && worker_.step_holds.empty());
  EXPECT_EQ(worker_.num_runs, 0);
  EXPECT_TRUE(worker_.aborted.empty());
}

// For example, if a value for the step was lost there. Other steps are
// unaffected.
TEST_F(WorkerClientTest, AnotherTaskMayAbortOneStep) {
  Connect();
  const auto other = DialAs({.task = kOtherTask, .incarnation = 12});
  other->Abort({11, 30}, 0, absl::InternalError("lost"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_OK(results_.all[0]);
  EXPECT_EQ(worker_.aborted.size(), 1u);
}

TEST_F(WorkerClientTest, ClientIsNotATask) {
  Connect();
  const auto client = DialAs({.incarnation = 11});
  client->Deliver({Push{kSession, 30, 1, 0, 0, false, Tensor::Scalar(1.0f)}});
  client->ClearContainers({}, kNever, std::make_shared<Cancellation>(),
                          results_.done());
  processes_.Settle();
  client->Abort({11, 30}, 0, absl::InternalError("mine"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 2u);
  for (const absl::Status& answer : results_.all) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kPermissionDenied));
  }
  EXPECT_TRUE(worker_.pushes.empty());
  EXPECT_TRUE(worker_.cleared.empty());
  EXPECT_TRUE(worker_.aborted.empty());
}

// The worker decides which of them it accepts.
TEST_F(WorkerClientTest, DrainingTaskForwardsRunsAndRegistrations) {
  Connect();
  endpoint_->Drain();
  TestStep step(1);
  client_->Run(step.step(9), results_.done());
  client_->Register(
      {.session = kSession, .registration = 5}, kNever,
      [&](const auto& made) { results_.all.push_back(made.status()); });
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 2u);
  for (const absl::Status& status : results_.all) EXPECT_OK(status);
  EXPECT_EQ(worker_.num_runs, 1);
  EXPECT_EQ(worker_.registered.size(), 1u);
}

TEST_F(WorkerClientTest, PushesArrive) {
  Connect();
  const Tensor small = SampleTensor(DT_INT32, TensorShape({2}));
  const Tensor large = SampleTensor(DT_INT32, TensorShape({1 << 18}));
  client_->Deliver({Push{kSession, 30, 1, 0, 0, false, small}});
  client_->Deliver({Push{kSession, 30, 2, 77, 3, true, Tensor()}});
  client_->Deliver({Push{kSession, 30, 3, 0, 0, false, large}});
  processes_.Settle();
  ASSERT_EQ(worker_.pushes.size(), 3u);
  EXPECT_TRUE(SameBits(worker_.pushes[0].tensor, small));
  EXPECT_TRUE(worker_.pushes[1].is_dead);
  EXPECT_EQ(worker_.pushes[1].frame, 77u);
  EXPECT_EQ(worker_.pushes[1].iteration, 3u);
  EXPECT_EQ(worker_.pushes[2].edge, 3u);
  EXPECT_TRUE(SameBits(worker_.pushes[2].tensor, large));
  EXPECT_TRUE(worker_.pushes[2].tensor.RefCountIsOne());
  EXPECT_TRUE(events_.failed_pushes.empty());
}

TEST_F(WorkerClientTest, ValuesForTheMasterComeWithItsAnswer) {
  Connect();
  worker_.hold_runs = true;
  TestStep step(0);
  bool was_done = false;
  client_->Run(step.step(30), [&](const absl::Status& status) {
    EXPECT_OK(status);
    EXPECT_EQ(events_.with_answers.size(), 2u);  // before it is done
    was_done = true;
  });
  processes_.Settle();
  ASSERT_EQ(worker_.running.size(), 1u);
  PartitionStep::WithAnswer* with = worker_.running[0].step.with_answer;
  ASSERT_NE(with, nullptr);
  EXPECT_EQ(with->master_task, kMasterTask);
  with->pushes = {{kSession, 30, 1, 0, 0, false, Tensor::Scalar(2.0f)},
                  {kSession, 30, 2, 0, 0, true, Tensor()}};
  worker_.EndRun();
  processes_.Settle();
  EXPECT_TRUE(was_done);
  EXPECT_EQ(events_.with_answers[0].tensor.scalar<float>(), 2.0f);
  EXPECT_TRUE(events_.with_answers[1].is_dead);
}

TEST_F(WorkerClientTest, PushWithoutMemoryFailsItsEdge) {
  Connect();
  processes_.server().allocator.most = 1 << 19;
  const Tensor large = SampleTensor(DT_INT32, TensorShape({1 << 18}));
  client_->Deliver({Push{kSession, 30, 3, 0, 0, false, large}});
  processes_.Settle();
  ASSERT_EQ(worker_.pushes.size(), 1u);
  EXPECT_EQ(worker_.pushes[0].session.master_incarnation, 11u);
  EXPECT_EQ(worker_.pushes[0].step, 30u);
  EXPECT_EQ(worker_.pushes[0].edge, 3u);
  EXPECT_FALSE(worker_.pushes[0].tensor.IsInitialized());
  EXPECT_THAT(worker_.pushes[0].received,
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// The line is not written by the reading thread.
TEST_F(WorkerClientTest, DroppedPushesAreLoggedOncePerConnection) {
  RecordingLogger logger;
  WorkerService service({.worker = &worker_,
                         .scheduler = &processes_.scheduler(),
                         .allocator = &processes_.server().allocator,
                         .logger = &logger});
  for (uint64_t connection : {1, 2}) {
    const bus::Peer client{.id = connection, .identity = {.incarnation = 5}};
    for (int i = 0; i < 1000; ++i) {
      bus::Message push;
      push.method = static_cast<uint8_t>(Method::kPushes);
      service.OnOneWay(client, std::move(push), absl::OkStatus());
    }
    EXPECT_THAT(logger.lines(), testing::SizeIs(connection - 1));
    processes_.Settle();
    ASSERT_THAT(logger.lines(), testing::SizeIs(connection));
    EXPECT_THAT(logger.lines().back(),
                testing::HasSubstr("W Dropped a push from a client"));
  }
  EXPECT_TRUE(worker_.pushes.empty());
}

TEST_F(WorkerClientTest, PushesOfAnAbortedStepAreNotSent) {
  Connect();
  const Tensor large = SampleTensor(DT_INT32, TensorShape({8 << 20}));
  client_->Deliver({Push{kSession, 30, 3, 0, 0, false, large}});
  client_->Deliver({Push{kSession, 31, 3, 0, 0, false, large}});
  client_->AbandonPushes({11, 30});
  processes_.Settle();
  ASSERT_EQ(worker_.pushes.size(), 2u);
  EXPECT_EQ(worker_.pushes[0].step, 30u);
  EXPECT_THAT(worker_.pushes[0].received,
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(IsDerived(worker_.pushes[0].received));
  EXPECT_EQ(worker_.pushes[1].step, 31u);
  EXPECT_OK(worker_.pushes[1].received);
  EXPECT_TRUE(worker_.pushes[1].tensor.IsInitialized());
}

TEST_F(WorkerClientTest, AbortDropsIncomingPushes) {
  Connect();
  client_->Abort({11, 30}, 0, absl::AbortedError("enough"), results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);
  ASSERT_EQ(abandoned_.size(), 1u);
  EXPECT_EQ(abandoned_[0], (StepId{11, 30}));
}

TEST_F(WorkerClientTest, UnsendablePushIsReported) {
  Dial();
  client_->Deliver({Push{kSession, 30, 1, 0, 0, false, Tensor::Scalar(1.0f)}});
  ASSERT_EQ(events_.failed_pushes.size(), 1u);
  EXPECT_EQ(events_.failed_pushes[0].step, (StepId{11, 30}));
  EXPECT_THAT(events_.failed_pushes[0].why,
              StatusIs(absl::StatusCode::kUnavailable, kTask));
}

TEST_F(WorkerClientTest, DestructorCancelsPendingCalls) {
  Connect();
  worker_.hold_runs = true;
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  client_.reset();
  ASSERT_EQ(results_.all.size(), 1u);
  EXPECT_THAT(results_.all[0], StatusIs(absl::StatusCode::kCancelled));
  step.cancellation->Cancel(absl::CancelledError("late"));
  worker_.EndRun();
  processes_.Settle();
}

TEST_F(WorkerClientTest, ServiceDestructorWaitsForWorker) {
  Connect();
  worker_.hold_runs = true;
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  processes_.Settle();
  endpoint_.reset();
  bool ended = false;
  processes_.scheduler().Schedule(Pool::kCompute, [&] {
    ended = true;
    worker_.EndRun();
  });
  service_.reset();
  EXPECT_TRUE(ended);
}

TEST_F(WorkerClientTest, MalformedRequestsAreRefused) {
  Connect();
  const auto channel = processes_.client().transport->Dial(
      processes_.address(), {.incarnation = 33}, "", nullptr);
  processes_.Settle();
  for (int method = 0; method < 256; ++method) {
    if (!WorkerService::Handles(static_cast<uint8_t>(method)) ||
        method == static_cast<int>(Method::kPushes)) {
      continue;
    }
    std::vector<absl::Status> answers;
    bus::Message message;
    message.method = static_cast<uint8_t>(method);
    message.body = bus::Blob::FromString("not a FlatBuffer at all, is it?");
    channel->Call(std::move(message), {}, [&](const auto& reply) {
      answers.push_back(reply.status());
    });
    processes_.Settle();
    ASSERT_EQ(answers.size(), 1u) << method;
    EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kInvalidArgument));
  }
  bus::Message push;
  push.method = static_cast<uint8_t>(Method::kPushes);
  push.body = bus::Blob::FromString("nor is this one");
  EXPECT_OK(channel->Send(std::move(push)));
  client_->CreateWorkerSession(kSession, {.isolated = true}, kNever,
                               results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 1u);  // others continue
  EXPECT_OK(results_.all[0]);
}

// A handler that gives invalid answers.
class LyingHandler : public bus::Handler {
 public:
  bool IsFast(uint8_t /*method*/) const override { return true; }
  absl::Status OnConnect(const bus::Peer& /*peer*/) override {
    return absl::OkStatus();
  }
  void OnDisconnect(const bus::Peer& /*peer*/,
                    const absl::Status& /*why*/) override {}
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override {
    call->Reply(std::move(request));
  }
  void OnOneWay(const bus::Peer& /*peer*/, bus::Message /*message*/,
                const absl::Status& /*received*/) override {}
};

TEST_F(WorkerClientTest, MalformedAnswersAreInternalErrors) {
  LyingHandler liar;
  auto endpoint = processes_.server().transport->Listen(
      processes_.address(), {.task = kTask, .incarnation = 22}, liar);
  ASSERT_OK(endpoint);
  Dial();
  processes_.Settle();
  TestStep step(0);
  client_->Run(step.step(30), results_.done());
  client_->CreateWorkerSession(kSession, {.isolated = true}, kNever,
                               results_.done());
  processes_.Settle();
  ASSERT_EQ(results_.all.size(), 2u);
  for (const absl::Status& status : results_.all) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, kTask));
  }
  client_.reset();
}

}  // namespace
}  // namespace weft::protocol
