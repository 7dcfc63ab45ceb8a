// A server's Master as seen from a client: MasterClient and MasterService over
// a simulated network.
#include "libs/protocol/master_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/master_service.h"
#include "libs/protocol/testing/recording_master.h"
#include "libs/protocol/testing/two_processes.h"
#include "libs/tensor/testing/sample_tensor.h"

namespace weft::protocol {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MasterClientTest : public testing::Test {
 protected:
  MasterClientTest() {
    service_ = std::make_unique<MasterService>(
        MasterServiceOptions{.master = &master_,
                             .scheduler = &processes_.scheduler(),
                             .allocator = &processes_.server().allocator});
    handler_ = std::make_unique<OneRoleHandler<MasterService>>(*service_);
  }

  void Listen() {
    auto endpoint = processes_.server().transport->Listen(
        processes_.address(),
        {.task = "/job:worker/replica:0/task:0", .incarnation = 22}, *handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }
  std::unique_ptr<MasterClient> Dial(uint64_t incarnation = 33) {
    return std::make_unique<MasterClient>(
        *processes_.client().transport,
        MasterClientOptions{.address = processes_.address(),
                            .self = {.incarnation = incarnation},
                            .scheduler = &processes_.scheduler(),
                            .allocator = &processes_.client().allocator,
                            .connect_timeout = absl::Seconds(30),
                            .operation_timeout = absl::Minutes(10)});
  }
  // A session of a client that is connected.
  void Connect() {
    Listen();
    client_ = Dial();
    ASSERT_OK_AND_ASSIGN(session_, client_->CreateSession({}));
  }
  void Pass(absl::Duration time) { processes_.scheduler().AdvanceBy(time); }

  Master::Done done() {
    return [this](absl::Status status) { results_.push_back(status); };
  }
  CallableRun Run() {
    CallableRun run;
    run.feeds = feeds_;
    run.fetches = absl::MakeSpan(fetches_);
    run.cancellation = &cancellation_;
    return run;
  }

  TwoProcesses processes_;
  RecordingMaster master_;
  std::unique_ptr<MasterService> service_;
  std::unique_ptr<OneRoleHandler<MasterService>> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  Cancellation cancellation_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> fetches_;
  std::vector<absl::Status> results_;
  std::unique_ptr<MasterClient> client_;
  uint64_t session_ = 0;
};

TEST_F(MasterClientTest, WhatHappensOnceInAWhile) {
  Listen();
  client_ = Dial();
  SessionConfig config;
  config.isolate_session_state = true;
  config.operation_timeout = absl::Seconds(3);
  config.device_filters = {"/job:ps"};
  ASSERT_OK_AND_ASSIGN(session_, client_->CreateSession(config));
  EXPECT_THAT(master_.open, ElementsAre(session_));
  EXPECT_TRUE(master_.created[0].isolate_session_state);
  EXPECT_EQ(master_.created[0].operation_timeout, absl::Seconds(3));
  EXPECT_THAT(master_.created[0].device_filters, ElementsAre("/job:ps"));

  master_.placement = {{"x", "VariableV2", "/job:ps/task:0"}};
  const std::string graph(100000, 'g');
  ASSERT_OK_AND_ASSIGN(const ExtensionResult extended,
                       client_->ExtendSession(session_, {graph, 4}));
  EXPECT_EQ(extended.version, 5);
  EXPECT_EQ(extended.placement[0].ToString(),
            "x: (VariableV2): /job:ps/task:0");
  EXPECT_EQ(master_.extensions[0].graph_def, graph);

  ASSERT_OK_AND_ASSIGN(
      const uint64_t callable,
      client_->MakeCallable(session_, {{"x:0"}, {"y:0"}, {"z"}}));
  EXPECT_EQ(callable, 1u);
  EXPECT_THAT(master_.made[0].targets, ElementsAre("z"));
  EXPECT_OK(client_->ReleaseCallable(session_, callable));
  EXPECT_THAT(master_.released, ElementsAre(callable));

  master_.devices = {{"/job:ps/replica:0/task:0/device:CPU:0", "CPU", 1, 2}};
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceAttributes> devices,
                       client_->ListDevices());
  EXPECT_EQ(devices[0].name, master_.devices[0].name);

  EXPECT_OK(client_->CloseSession(session_));
  EXPECT_THAT(master_.closed, ElementsAre(session_));
  EXPECT_OK(client_->Reset({"a"}, {"/job:ps"}));
  EXPECT_THAT(master_.resets,
              ElementsAre(ElementsAre("a"), ElementsAre("/job:ps")));
}

TEST_F(MasterClientTest, ErrorsKeepCodeTextAndWhetherTheyAreDerived) {
  Connect();
  EXPECT_THAT(client_->ExtendSession(99, {"", 0}),
              StatusIs(absl::StatusCode::kAborted, "no such session"));
  master_.answer = MarkDerived(absl::NotFoundError("FetchOutputs node x:0"));
  const auto made = client_->MakeCallable(session_, {});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(made.status().message(), "FetchOutputs node x:0");
  EXPECT_TRUE(IsDerived(made.status()));
  EXPECT_THAT(client_->ListDevices(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(client_->ReleaseCallable(session_, 1),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(MasterClientTest, ARunTakesFeedsAndBringsFetches) {
  Connect();
  feeds_ = {SampleTensor(DT_FLOAT, TensorShape({3})),
            SampleTensor(DT_STRING, TensorShape({2})),
            SampleTensor(DT_INT64, TensorShape({1 << 17}))};
  fetches_.resize(3);
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  ASSERT_OK(results_[0]);
  for (size_t i = 0; i < feeds_.size(); ++i) {
    EXPECT_TRUE(SameBits(fetches_[i], feeds_[i])) << i;
  }
  EXPECT_TRUE(fetches_[2].RefCountIsOne());
  EXPECT_EQ(master_.last_timeout, absl::InfiniteDuration());
}

TEST_F(MasterClientTest, ATimeoutIsTheServersToKeep) {
  Connect();
  master_.hold_runs = true;
  CallableRun run = Run();
  run.timeout = absl::Seconds(2);
  client_->RunCallable(session_, 9, run, done());
  processes_.Settle();
  EXPECT_EQ(master_.last_timeout, absl::Seconds(2));
  Pass(absl::Seconds(3));
  EXPECT_THAT(results_, IsEmpty());  // the server has to say that it is over
  master_.answer = absl::DeadlineExceededError("step 1 took more than 2s");
  master_.EndRun();
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0],
            absl::DeadlineExceededError("step 1 took more than 2s"));
}

TEST_F(MasterClientTest, AServerThatIsSilentIsNotWaitedForForEver) {
  Connect();
  master_.hold_runs = true;
  CallableRun run = Run();
  run.timeout = absl::Seconds(2);
  client_->RunCallable(session_, 9, run, done());
  Pass(absl::Minutes(1));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(master_.running.size(), 1u);
  EXPECT_TRUE(master_.running[0].run.cancellation->IsCancelled());
  master_.EndRun();
}

TEST_F(MasterClientTest, ACancelledRunEndsAtBothEnds) {
  Connect();
  master_.hold_runs = true;
  fetches_.resize(1);
  feeds_ = {Tensor::Scalar(1.0f)};
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  cancellation_.Cancel(absl::CancelledError("the user pressed a key"));
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0], absl::CancelledError("the user pressed a key"));
  EXPECT_TRUE(master_.running[0].run.cancellation->IsCancelled());
  master_.EndRun();
  processes_.Settle();
  EXPECT_EQ(results_.size(), 1u);
  EXPECT_FALSE(fetches_[0].IsInitialized());
}

TEST_F(MasterClientTest, NoServerIsNamedAfterTheConnectTimeout) {
  client_ = Dial();
  const absl::Time before = processes_.scheduler().clock().Now();
  EXPECT_THAT(client_->CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable, "zmq://server:7000"));
  EXPECT_EQ(processes_.scheduler().clock().Now() - before, absl::Seconds(30));
  client_->RunCallable(1, 9, Run(), done());
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);  // runs do not wait
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kUnavailable,
                                    "is the server running"));
}

TEST_F(MasterClientTest, AServerThatComesLateIsFound) {
  client_ = Dial();
  processes_.scheduler().ScheduleAt(
      processes_.scheduler().clock().Now() + absl::Seconds(20),
      [this] { Listen(); });
  EXPECT_OK(client_->CreateSession({}));
}

TEST_F(MasterClientTest, ARefusalIsReportedAtOnce) {
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  client_ = Dial();
  const absl::Time before = processes_.scheduler().clock().Now();
  EXPECT_THAT(
      client_->CreateSession({}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "another cluster"));
  EXPECT_LT(processes_.scheduler().clock().Now() - before, absl::Seconds(1));
}

TEST_F(MasterClientTest, ALostConnectionEndsRunsAtBothEnds) {
  Connect();
  master_.hold_runs = true;
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  processes_.network().Cut("client", "server");
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0],
              StatusIs(absl::StatusCode::kUnavailable, "zmq://server:7000"));
  EXPECT_TRUE(master_.running[0].run.cancellation->IsCancelled());
  master_.EndRun();
}

TEST_F(MasterClientTest, ASessionOutlivesItsConnectionByItsLease) {
  Connect();
  processes_.network().Kill("client");
  processes_.Settle();
  EXPECT_EQ(service_->num_orphans(), 1);
  Pass(absl::Seconds(59));
  EXPECT_THAT(master_.open, ElementsAre(session_));
  Pass(absl::Seconds(2));
  EXPECT_THAT(master_.open, IsEmpty());
  EXPECT_THAT(master_.closed, ElementsAre(session_));
  EXPECT_EQ(service_->num_orphans(), 0);
}

TEST_F(MasterClientTest, AClientThatComesBackKeepsItsSession) {
  Connect();
  processes_.network().Cut("client", "server");
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.open, ElementsAre(session_));
  EXPECT_EQ(service_->num_orphans(), 0);
  EXPECT_OK(client_->ExtendSession(session_, {"", 0}));
}

TEST_F(MasterClientTest, AClosedSessionHasNoLease) {
  Connect();
  EXPECT_OK(client_->CloseSession(session_));
  client_.reset();
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.closed, ElementsAre(session_));
}

TEST_F(MasterClientTest, ASessionWhoseClientWentAwayMeanwhileIsClosed) {
  Listen();
  client_ = Dial();
  master_.while_creating = [this] {
    processes_.network().Cut("client", "server");
    processes_.scheduler().NewEvent()->WaitUntil(
        processes_.scheduler().clock().Now() + absl::Milliseconds(1));
  };
  EXPECT_THAT(client_->CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable));
  Pass(absl::Seconds(1));
  EXPECT_THAT(master_.closed, ElementsAre(1));
}

TEST_F(MasterClientTest, OneClientsEndIsNotAnothers) {
  Connect();
  auto other = Dial(34);
  ASSERT_OK_AND_ASSIGN(const uint64_t others, other->CreateSession({}));
  other.reset();  // without closing
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.closed, ElementsAre(others));
  EXPECT_THAT(master_.open, ElementsAre(session_));
}

TEST_F(MasterClientTest, ItsEndEndsWhatIsPending) {
  Connect();
  master_.hold_runs = true;
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  client_.reset();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kCancelled));
  master_.EndRun();
}

TEST_F(MasterClientTest, TheServicesEndWaitsForTheMaster) {
  Connect();
  master_.hold_runs = true;
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  endpoint_.reset();  // the session's lease runs
  bool ended = false;
  processes_.scheduler().Schedule(Pool::kCompute, [&] {
    ended = true;
    master_.EndRun();
  });
  service_.reset();
  EXPECT_TRUE(ended);
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.closed, IsEmpty());
}

TEST_F(MasterClientTest, RequestsThatCanNotBeReadAreRefused) {
  Connect();
  const auto channel = processes_.client().transport->Dial(
      processes_.address(), {.incarnation = 44}, "", nullptr);
  processes_.Settle();
  for (int method = 0; method < 256; ++method) {
    if (!MasterService::Handles(static_cast<uint8_t>(method))) continue;
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
  EXPECT_OK(client_->ExtendSession(session_, {"", 0}));  // others go on
}

}  // namespace
}  // namespace weft::protocol
