// What a Transport over any Wire owes its users; the test of each Wire
// instantiates this suite with a factory of harnesses.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Processes that can reach each other.
class TransportHarness {
 public:
  virtual ~TransportHarness() = default;
  virtual Scheduler& scheduler() = 0;
  // The wire of another process; the harness keeps it.
  virtual Wire& NewWire(const std::string& name) = 0;
  // Where any process can listen, with port 0.
  virtual Address host() = 0;
};

using TransportHarnessFactory =
    std::function<std::unique_ptr<TransportHarness>()>;

class TransportConformanceTest
    : public ::testing::TestWithParam<TransportHarnessFactory> {
 protected:
  // One process: a transport of its own over a wire of its own.
  struct Process {
    explicit Process(uint64_t memory_limit) : memory(memory_limit) {}
    CountedMemory memory;
    std::unique_ptr<Random> random;
    RecordingLogger logger;
    std::unique_ptr<Transport> transport;
  };

  TransportConformanceTest()
      : harness_(GetParam()()),
        scheduler_(harness_->scheduler()),
        handler_(scheduler_),
        events_(scheduler_) {}

  std::unique_ptr<Process> NewProcess(const std::string& name,
                                      const TransportOptions& options = {},
                                      uint64_t memory_limit = ~uint64_t{0}) {
    auto process = std::make_unique<Process>(memory_limit);
    process->random = NewSeededRandom(++num_processes_);
    TransportParts parts;
    parts.wire = &harness_->NewWire(name);
    parts.scheduler = &scheduler_;
    parts.random = process->random.get();
    parts.memory = &process->memory;
    parts.logger = &process->logger;
    process->transport = NewTransport(parts, options);
    return process;
  }

  // A server at `endpoint_` and a client whose channel is `channel_`.
  void Connect(const TransportOptions& options = {},
               uint64_t memory_limit = ~uint64_t{0}) {
    server_ = NewProcess("server", options, memory_limit);
    client_ = NewProcess("client", options, memory_limit);
    Listen();
    channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                        "/job:ps/task:0", &events_);
    ASSERT_TRUE(events_.WaitForConnects(1)) << "never connected";
  }
  void Listen() {
    auto endpoint = server_->transport->Listen(harness_->host(),
                                               server_identity_, handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }

  Answer Call(Message request, const CallOptions& options = {}) {
    Answer answer(scheduler_);
    last_call_ = channel_->Call(std::move(request), options, answer.callback());
    return answer;
  }
  static std::string TextOf(const absl::StatusOr<Message>& message) {
    if (!message.ok()) return message.status().ToString();
    return std::string(message->body.view());
  }
  absl::Time Now() const { return scheduler_.clock().Now(); }

  // Nothing is left of anything in either process.
  void ExpectNothingLeft() {
    channel_.reset();
    endpoint_.reset();
    handler_.TakeHeld();
    handler_.notes.clear();
    EXPECT_EQ(server_ ? server_->memory.reserved() : 0, 0);
    EXPECT_EQ(client_ ? client_->memory.reserved() : 0, 0);
  }

  const std::unique_ptr<TransportHarness> harness_;
  Scheduler& scheduler_;
  RecordingHandler handler_;
  RecordingChannelEvents events_;
  Identity server_identity_ = {"cluster", "/job:ps/task:0", 11, 77};
  Identity client_identity_ = {"", "", 12, 78};
  uint64_t num_processes_ = 0;
  std::unique_ptr<Process> server_, client_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Channel> channel_;
  Channel::CallId last_call_ = 0;
};

TEST_P(TransportConformanceTest, ARequestIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (const uint8_t method : {kEcho, kSlowEcho}) {
    const Answer answer = Call(NewMessage(method, "hi", {"small", "", "one"}));
    const absl::StatusOr<Message> reply = answer.Wait();
    ASSERT_OK(reply);
    EXPECT_EQ(reply->method, method);
    EXPECT_EQ(reply->body.view(), "hi");
    ASSERT_EQ(reply->attachments.size(), 3);
    EXPECT_EQ(reply->attachments[0].view(), "small");
    EXPECT_EQ(reply->attachments[1].size(), 0);
    EXPECT_EQ(reply->attachments[2].view(), "one");
    EXPECT_EQ(answer.times(), 1);
  }
}

TEST_P(TransportConformanceTest, BothEndsKnowEachOther) {
  client_identity_ = {"cluster", "/job:worker/task:3", 12, 78};
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_TRUE(channel_->peer().has_value());
  EXPECT_EQ(channel_->peer()->task, "/job:ps/task:0");
  EXPECT_EQ(channel_->peer()->incarnation, 11);
  EXPECT_EQ(channel_->peer()->cluster_uuid, "cluster");
  ASSERT_EQ(handler_.connects.size(), 1);
  const Identity& identity = handler_.connects[0].identity;
  EXPECT_EQ(identity.task, "/job:worker/task:3");
  EXPECT_EQ(identity.incarnation, 12);
  EXPECT_EQ(identity.op_fingerprint, 78);
}

TEST_P(TransportConformanceTest, AnErrorCrossesAsItIs) {
  handler_.fail_with = MarkDerived(absl::AbortedError("step 3 was aborted"));
  handler_.fail_with.SetPayload(kErrorNodePayload, absl::Cord("layer/MatMul"));
  handler_.fail_with.SetPayload(kErrorTaskPayload,
                                absl::Cord("/job:ps/task:0"));
  ASSERT_NO_FATAL_FAILURE(Connect());
  const absl::StatusOr<Message> reply = Call(NewMessage(kFail, "")).Wait();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kAborted, "step 3"));
  EXPECT_TRUE(IsDerived(reply.status()));
  EXPECT_EQ(reply.status().GetPayload(kErrorNodePayload), "layer/MatMul");
  EXPECT_EQ(reply.status().GetPayload(kErrorTaskPayload), "/job:ps/task:0");
}

TEST_P(TransportConformanceTest, ACallThatIsLetGoOfFails) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  EXPECT_THAT(Call(NewMessage(kLetGo, "")).Wait(),
              StatusIs(absl::StatusCode::kInternal, "unanswered"));
}

TEST_P(TransportConformanceTest, OneWayMessagesKeepTheirOrder) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i) {
    const uint8_t method = i % 3 == 0 ? kSlowNote : kNote;
    EXPECT_OK(channel_->Send(NewMessage(method, absl::StrCat(i))));
  }
  ASSERT_TRUE(handler_.WaitUntil(
      [&] { return handler_.notes.size() >= size_t{kMessages}; }));
  ASSERT_EQ(handler_.notes.size(), size_t{kMessages});
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(handler_.notes[i].message.body.view(), absl::StrCat(i));
  }
}

TEST_P(TransportConformanceTest, ARequestDoesNotOvertakeAMessageBeforeIt) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (const uint8_t method : {kEcho, kSlowEcho}) {
    handler_.notes.clear();
    for (int i = 0; i < 20; ++i) {
      EXPECT_OK(channel_->Send(NewMessage(kSlowNote, "before")));
    }
    EXPECT_OK(Call(NewMessage(method, "after")).Wait());
    absl::MutexLock lock(&handler_.mutex);
    EXPECT_EQ(handler_.notes.size(), 20);
  }
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
