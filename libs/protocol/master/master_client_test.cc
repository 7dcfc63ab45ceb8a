// Tests a server's Master as seen from a client: MasterClient and MasterService
// over a simulated network.
#include "libs/protocol/master/master_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/master_service.h"
#include "libs/protocol/testing/recording_master.h"
#include "libs/protocol/testing/two_processes.h"
#include "libs/tensor/testing/sample_tensor.h"

namespace weft::protocol {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MasterClientTest : public testing::Test {
 protected:
  MasterClientTest() {
    service_ = std::make_unique<MasterService>(
        MasterServiceOptions{.master = &master_,
                             .scheduler = &processes_.scheduler(),
                             .allocator = &processes_.server().allocator,
                             .task = "/job:worker/replica:0/task:0",
                             .max_sessions_per_client = 3});
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
                            .operation_timeout = absl::Minutes(10),
                            .logger = &logger_});
  }
  BlockingMaster Ask() { return Ask(*client_); }
  BlockingMaster Ask(Master& master) {
    return {master, processes_.scheduler()};
  }
  // Creates a session of a client that is connected.
  void Connect() {
    Listen();
    client_ = Dial();
    ASSERT_OK_AND_ASSIGN(session_, Ask().CreateSession({}));
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
  RecordingLogger logger_;
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

TEST_F(MasterClientTest, PlacementsAboveTheBodyLimitArrive) {
  constexpr size_t kNodes = 200'000;
  Listen();
  client_ = Dial();
  ASSERT_OK_AND_ASSIGN(session_, Ask().CreateSession({}));
  master_.placement.assign(kNodes,
                           {"tower/layer/with/a/long/name", "VariableV2",
                            "/job:ps/replica:0/task:0/device:CPU:0"});
  ASSERT_OK_AND_ASSIGN(const ExtensionResult extended,
                       Ask().ExtendSession(session_, {"graph", 4}));
  EXPECT_EQ(extended.version, 5);
  ASSERT_EQ(extended.placement.size(), kNodes);
  EXPECT_EQ(extended.placement.back().ToString(),
            master_.placement.back().ToString());
}

TEST_F(MasterClientTest, UnreachableTargetIsLoggedOnce) {
  client_ = Dial();
  client_->CreateSession({}, [](const absl::StatusOr<uint64_t>&) {});
  Pass(absl::Milliseconds(4900));
  EXPECT_THAT(logger_.lines(), IsEmpty());
  client_->CreateSession({}, [](const absl::StatusOr<uint64_t>&) {});
  Pass(absl::Seconds(10));
  EXPECT_THAT(logger_.lines(),
              ElementsAre(AllOf(HasSubstr("Waiting for a server"),
                                HasSubstr("zmq://server:7000"),
                                HasSubstr("is the server running"))));
}

TEST_F(MasterClientTest, ServerFoundSoonIsNotLogged) {
  client_ = Dial();
  client_->CreateSession({}, [](const absl::StatusOr<uint64_t>&) {});
  Pass(absl::Seconds(3));
  Listen();
  Pass(absl::Seconds(30));
  EXPECT_THAT(logger_.lines(), IsEmpty());
}

TEST_F(MasterClientTest, AGraphThatIsNotPlacedIsLoggedOnce) {
  Connect();
  master_.hold = true;
  client_->ExtendSession(session_, {"graph", 0}, nullptr,
                         [this](const absl::StatusOr<ExtensionResult>& result) {
                           results_.push_back(result.status());
                         });
  Pass(absl::Milliseconds(4900));
  EXPECT_THAT(logger_.lines(), IsEmpty());
  Pass(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(),
              ElementsAre(AllOf(HasSubstr("zmq://server:7000"),
                                HasSubstr("to place the graph"))));
  master_.Release();
  processes_.Settle();
  EXPECT_THAT(results_, ElementsAre(IsOk()));
}

TEST_F(MasterClientTest, AGraphThatIsPlacedInTimeIsNotLogged) {
  Connect();
  ASSERT_OK(Ask().ExtendSession(session_, {"graph", 0}));
  Pass(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(), IsEmpty());
}

TEST_F(MasterClientTest, SessionManagementCallsArrive) {
  Listen();
  client_ = Dial();
  SessionConfig config;
  config.isolate_session_state = true;
  config.operation_timeout = absl::Seconds(3);
  config.device_filters = {"/job:ps"};
  ASSERT_OK_AND_ASSIGN(session_, Ask().CreateSession(config));
  EXPECT_THAT(master_.open, ElementsAre(session_));
  EXPECT_TRUE(master_.created[0].isolate_session_state);
  EXPECT_EQ(master_.created[0].operation_timeout, absl::Seconds(3));
  EXPECT_THAT(master_.created[0].device_filters, ElementsAre("/job:ps"));

  master_.placement = {{"x", "VariableV2", "/job:ps/task:0"}};
  const std::string graph(100000, 'g');
  ASSERT_OK_AND_ASSIGN(const ExtensionResult extended,
                       Ask().ExtendSession(session_, {graph, 4}));
  EXPECT_EQ(extended.version, 5);
  EXPECT_EQ(extended.placement[0].ToString(),
            "x: (VariableV2): /job:ps/task:0");
  EXPECT_EQ(master_.extensions[0].graph_def, graph);

  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {{"x:0"}, {"y:0"}, {"z"}}));
  EXPECT_EQ(callable, 1u);
  EXPECT_THAT(master_.made[0].targets, ElementsAre("z"));
  EXPECT_OK(Ask().ReleaseCallable(session_, callable));
  EXPECT_THAT(master_.released, ElementsAre(callable));

  master_.devices = {{"/job:ps/replica:0/task:0/device:CPU:0", "CPU", 1, 2}};
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceAttributes> devices,
                       Ask().ListDevices());
  EXPECT_EQ(devices[0].name, master_.devices[0].name);

  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_THAT(master_.closed, ElementsAre(session_));
  EXPECT_OK(Ask().Reset({"a"}, {"/job:ps"}));
  EXPECT_THAT(master_.resets,
              ElementsAre(ElementsAre("a"), ElementsAre("/job:ps")));
}

TEST_F(MasterClientTest, ErrorsKeepCodeTextAndDerivedMark) {
  Connect();
  EXPECT_THAT(Ask().ExtendSession(99, {"", 0}),
              StatusIs(absl::StatusCode::kAborted, "no such session"));
  master_.answer = MarkDerived(absl::NotFoundError("FetchOutputs node x:0"));
  const auto made = Ask().MakeCallable(session_, {});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(made.status().message(), "FetchOutputs node x:0");
  EXPECT_TRUE(IsDerived(made.status()));
  EXPECT_THAT(Ask().ListDevices(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Ask().ReleaseCallable(session_, 1),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(MasterClientTest, RunSendsFeedsAndReturnsFetches) {
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

TEST_F(MasterClientTest, RunReturnsRequestedMetadata) {
  Connect();
  master_.metadata = {.step_stats = {{{.device = "cpu"}}},
                      .partition_graphs = {""}};
  feeds_ = {SampleTensor(DT_FLOAT, TensorShape({3}))};
  fetches_.resize(1);
  RunMetadata metadata;
  CallableRun run = Run();
  run.wanted = {.trace_level = TraceLevel::kFullTrace};
  run.metadata = &metadata;
  client_->RunCallable(session_, 9, run, done());
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  ASSERT_OK(results_[0]);
  EXPECT_EQ(master_.wanted, run.wanted);
  EXPECT_EQ(metadata, master_.metadata);
  EXPECT_TRUE(SameBits(fetches_[0], feeds_[0]));
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  EXPECT_FALSE(master_.wanted.any());
}

TEST_F(MasterClientTest, ServerEnforcesTheTimeout) {
  Connect();
  master_.hold_runs = true;
  CallableRun run = Run();
  run.timeout = absl::Seconds(2);
  client_->RunCallable(session_, 9, run, done());
  processes_.Settle();
  EXPECT_EQ(master_.last_timeout, absl::Seconds(2));
  Pass(absl::Seconds(3));
  // Only the server can report that it is over.
  EXPECT_THAT(results_, IsEmpty());
  master_.answer = absl::DeadlineExceededError("step 1 took more than 2s");
  master_.EndRun();
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0],
            absl::DeadlineExceededError("step 1 took more than 2s"));
}

TEST_F(MasterClientTest, SilentServerTimesOut) {
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

// A server that has answered is running, even if it cannot reach other tasks.
TEST_F(MasterClientTest, AnswersOfTheServerDoNotAskIfItRuns) {
  Connect();
  master_.answer = absl::UnavailableError("the coordinator is shutting down");
  const absl::Status status = Ask().CreateSession({}).status();
  EXPECT_EQ(status, absl::UnavailableError(
                        "zmq://server:7000: the coordinator is shutting down"));
}

TEST_F(MasterClientTest, MissingServerIsNamedAfterConnectTimeout) {
  client_ = Dial();
  const absl::Time before = processes_.scheduler().clock().Now();
  EXPECT_THAT(Ask().CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable, "zmq://server:7000"));
  EXPECT_EQ(processes_.scheduler().clock().Now() - before, absl::Seconds(30));
  client_->RunCallable(1, 9, Run(), done());
  processes_.Settle();
  ASSERT_EQ(results_.size(), 1u);  // runs do not wait
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kUnavailable,
                                    "is the server running"));
}

TEST_F(MasterClientTest, LateServerIsFound) {
  client_ = Dial();
  processes_.scheduler().ScheduleAt(
      processes_.scheduler().clock().Now() + absl::Seconds(20),
      [this] { Listen(); });
  EXPECT_OK(Ask().CreateSession({}));
}

TEST_F(MasterClientTest, ARefusalIsReportedAtOnce) {
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  client_ = Dial();
  const absl::Time before = processes_.scheduler().clock().Now();
  EXPECT_THAT(
      Ask().CreateSession({}),
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

TEST_F(MasterClientTest, ReconnectingClientKeepsItsSession) {
  Connect();
  processes_.network().Cut("client", "server");
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.open, ElementsAre(session_));
  EXPECT_EQ(service_->num_orphans(), 0);
  EXPECT_OK(Ask().ExtendSession(session_, {"", 0}));
}

TEST_F(MasterClientTest, AClosedSessionHasNoLease) {
  Connect();
  EXPECT_OK(Ask().CloseSession(session_));
  client_.reset();
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.closed, ElementsAre(session_));
}

TEST_F(MasterClientTest, SessionOfDisconnectedClientIsClosed) {
  Listen();
  client_ = Dial();
  master_.while_creating = [this] {
    processes_.network().Cut("client", "server");
    processes_.scheduler().NewEvent()->WaitUntil(
        processes_.scheduler().clock().Now() + absl::Milliseconds(1));
  };
  EXPECT_THAT(Ask().CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable));
  Pass(absl::Seconds(1));
  EXPECT_THAT(master_.closed, ElementsAre(1));
}

TEST_F(MasterClientTest, EndOfOneClientDoesNotAffectOthers) {
  Connect();
  auto other = Dial(34);
  ASSERT_OK_AND_ASSIGN(const uint64_t others, Ask(*other).CreateSession({}));
  other.reset();  // without closing
  Pass(absl::Minutes(10));
  EXPECT_THAT(master_.closed, ElementsAre(others));
  EXPECT_THAT(master_.open, ElementsAre(session_));
}

// Session numbers become known to others, for example in errors of held steps.
TEST_F(MasterClientTest, SessionBelongsToOneClient) {
  Connect();
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {}));
  const auto other = Dial(34);
  processes_.Settle();
  other->RunCallable(session_, callable, Run(), done());
  processes_.Settle();
  const absl::Status answers[] = {
      Ask(*other).ExtendSession(session_, {"", 0}).status(),
      Ask(*other).MakeCallable(session_, {}).status(),
      Ask(*other).ReleaseCallable(session_, callable),
      Ask(*other).CloseSession(session_), results_.at(0)};
  for (const absl::Status& answer : answers) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kAborted, "another client"));
  }
  EXPECT_THAT(master_.extensions, IsEmpty());
  EXPECT_EQ(master_.made.size(), 1u);
  EXPECT_THAT(master_.released, IsEmpty());
  EXPECT_THAT(master_.closed, IsEmpty());
  EXPECT_EQ(master_.num_runs, 0);
  // Its own client still has it, over a new connection as well.
  processes_.network().Cut("client", "server");
  Pass(absl::Seconds(10));
  EXPECT_OK(Ask().ExtendSession(session_, {"", 0}));
}

TEST_F(MasterClientTest, DestructorCancelsPendingCalls) {
  Connect();
  master_.hold_runs = true;
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  client_.reset();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_THAT(results_[0], StatusIs(absl::StatusCode::kCancelled));
  master_.EndRun();
}

TEST_F(MasterClientTest, ServiceDestructorWaitsForMaster) {
  Connect();
  master_.hold_runs = true;
  client_->RunCallable(session_, 9, Run(), done());
  processes_.Settle();
  endpoint_.reset();  // the session's lease is running
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

TEST_F(MasterClientTest, OtherCallsAreServedWhileSomeWait) {
  Connect();
  master_.hold = true;
  std::vector<absl::Status> extended;
  for (int i = 0; i < 200; ++i) {
    client_->ExtendSession(session_, {"", 0}, nullptr,
                           [&](const absl::StatusOr<ExtensionResult>& result) {
                             extended.push_back(result.status());
                           });
  }
  processes_.Settle();
  EXPECT_EQ(master_.num_held(), 200u);
  EXPECT_OK(Ask().CreateSession({}));
  EXPECT_OK(Ask().ListDevices());
  while (master_.num_held() > 0) master_.Release();
  processes_.Settle();
  ASSERT_EQ(extended.size(), 200u);
  for (const absl::Status& status : extended) EXPECT_OK(status);
}

TEST_F(MasterClientTest, ALostConnectionCancelsACallThatWaits) {
  Connect();
  master_.hold = true;
  absl::Status extended;
  client_->ExtendSession(session_, {"", 0}, nullptr,
                         [&](const absl::StatusOr<ExtensionResult>& result) {
                           extended = result.status();
                         });
  processes_.Settle();
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_THAT(extended, StatusIs(absl::StatusCode::kUnavailable));
  bool was_cancelled = false;
  master_.on_extended = [&](const absl::Status& status) {
    was_cancelled = absl::IsUnavailable(status) || absl::IsCancelled(status);
  };
  master_.Release();
  EXPECT_TRUE(was_cancelled);
}

TEST_F(MasterClientTest, ACallThatWaitsForAConnectionCanBeCancelled) {
  client_ = Dial();  // there is no listener
  absl::Status extended = absl::UnknownError("not answered");
  int answers = 0;
  client_->ExtendSession(1, {"", 0}, &cancellation_,
                         [&](const absl::StatusOr<ExtensionResult>& result) {
                           extended = result.status();
                           ++answers;
                         });
  processes_.Settle();
  EXPECT_EQ(answers, 0);
  const absl::Status cause = absl::CancelledError("the user pressed a key");
  cancellation_.Cancel(cause);
  EXPECT_EQ(extended, cause);
  client_->Reset({}, {}, &cancellation_, done());
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0], cause);
  Listen();
  Pass(absl::Minutes(1));
  EXPECT_EQ(answers, 1);
  EXPECT_THAT(master_.resets, IsEmpty());
}

TEST_F(MasterClientTest, ACancelledCallEndsAtBothEnds) {
  Connect();
  master_.hold = true;
  absl::Status extended;
  client_->ExtendSession(session_, {"", 0}, &cancellation_,
                         [&](const absl::StatusOr<ExtensionResult>& result) {
                           extended = result.status();
                         });
  processes_.Settle();
  cancellation_.Cancel(absl::CancelledError("the user pressed a key"));
  processes_.Settle();
  EXPECT_EQ(extended, absl::CancelledError("the user pressed a key"));
  bool was_cancelled = false;
  master_.on_extended = [&](const absl::Status& status) {
    was_cancelled = absl::IsCancelled(status);
  };
  master_.Release();
  EXPECT_TRUE(was_cancelled);
}

// The reset has ended other sessions; this one is made while it still waits for
// tasks.
TEST_F(MasterClientTest, SessionCreatedDuringResetHasALease) {
  Connect();
  master_.hold = true;
  SyncCall<> reset(processes_.scheduler());
  client_->Reset({}, {}, nullptr, reset.Done());
  processes_.Settle();
  ASSERT_EQ(master_.num_held(), 1u);
  auto other = Dial(34);
  ASSERT_OK_AND_ASSIGN(const uint64_t made, Ask(*other).CreateSession({}));
  master_.Release();
  EXPECT_OK(reset.Wait());
  master_.hold = false;
  other.reset();  // without closing
  Pass(absl::Minutes(2));
  EXPECT_THAT(master_.closed, ElementsAre(made));
}

TEST_F(MasterClientTest, LeasesOfOneClientEndTogether) {
  Connect();
  ASSERT_OK(Ask().CreateSession({}));
  ASSERT_OK(Ask().CreateSession({}));
  master_.hold = true;  // ends of sessions are not answered
  client_.reset();
  Pass(absl::Seconds(61));
  EXPECT_EQ(master_.closed.size(), 3u);
  while (master_.num_held() > 0) master_.Release();
}

TEST_F(MasterClientTest, SessionsPerClientAreLimited) {
  Connect();
  ASSERT_OK(Ask().CreateSession({}));
  ASSERT_OK(Ask().CreateSession({}));
  EXPECT_THAT(
      Ask().CreateSession({}),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "/job:worker/replica:0/task:0: this client has 3 sessions"));
  EXPECT_THAT(Ask().CreateSession({}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_sessions_per_client"));
  auto other = Dial(34);
  EXPECT_OK(Ask(*other).CreateSession({}));
  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_OK(Ask().CreateSession({}));
  // A refused session does not count.
  EXPECT_OK(Ask().CloseSession(2));
  master_.answer = absl::UnavailableError("shutting down");
  EXPECT_THAT(Ask().CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable));
  master_.answer = absl::OkStatus();
  EXPECT_OK(Ask().CreateSession({}));
}

TEST_F(MasterClientTest, AMasterThatDrainsClosesSessions) {
  Connect();
  endpoint_->Drain();
  EXPECT_THAT(Ask().CreateSession({}),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  EXPECT_OK(Ask().ReleaseCallable(session_, 9));
  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_THAT(master_.closed, ElementsAre(session_));
}

// The master decides which sessions may.
TEST_F(MasterClientTest, DrainingTaskForwardsSessionCalls) {
  Connect();
  endpoint_->Drain();
  EXPECT_OK(Ask().ExtendSession(session_, {"", 0}));
  EXPECT_OK(Ask().MakeCallable(session_, {.targets = {"x"}}));
}

TEST_F(MasterClientTest, MalformedRequestsAreRefused) {
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
  EXPECT_OK(Ask().ExtendSession(session_, {"", 0}));  // others continue
}

}  // namespace
}  // namespace weft::protocol
