// The fixture of transport_conformance.h: processes connected by the Wires that
// a harness creates.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_FIXTURE_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/traffic.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Creates processes that can reach each other.
class TransportHarness {
 public:
  virtual ~TransportHarness() = default;
  virtual Scheduler& scheduler() = 0;
  // Returns the wire of another process, owned by the harness.
  virtual Wire& NewWire(const std::string& name) = 0;
  // An address where any process can listen, with port 0.
  virtual Address host() = 0;
  // The size of the largest attachment.
  virtual size_t large_bytes() const { return 100'000'000; }
};

using TransportHarnessFactory =
    std::function<std::unique_ptr<TransportHarness>()>;

class TransportConformanceTest
    : public ::testing::TestWithParam<TransportHarnessFactory> {
 protected:
  // A process with its own transport over its own wire.
  struct Process {
    Process(Scheduler& scheduler, uint64_t memory_limit)
        : memory(scheduler, memory_limit) {}
    CountedMemory memory;
    Traffic traffic;
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
                                      uint64_t memory_limit = ~uint64_t{0},
                                      Scheduler* scheduler = nullptr) {
    auto process = std::make_unique<Process>(scheduler_, memory_limit);
    process->random = NewSeededRandom(++num_processes_);
    TransportParts parts;
    parts.wire = &harness_->NewWire(name);
    parts.scheduler = scheduler == nullptr ? &scheduler_ : scheduler;
    parts.random = process->random.get();
    parts.memory = &process->memory;
    parts.traffic = &process->traffic;
    parts.logger = &process->logger;
    process->transport = NewTransport(parts, options);
    return process;
  }

  // Creates a server at `endpoint_` and a client whose channel is `channel_`.
  void Connect(const TransportOptions& options = {},
               uint64_t memory_limit = ~uint64_t{0}) {
    server_ = NewProcess("server", options, memory_limit, server_scheduler_);
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

  // After NewProcess for both.
  void ListenAndDial() {
    Listen();
    channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                        "", &events_);
    ASSERT_TRUE(events_.WaitForConnects(1));
  }
  struct HeldBuffers {
    // Set when an attachment is about to be received.
    std::shared_ptr<Event> reserved;
    std::shared_ptr<Event> land;  // set by the test: it may be received now
  };
  // Holds all receive buffers at the server until the test releases them. Must
  // be called before any attachment arrives.
  HeldBuffers HoldReceiveBuffers() {
    HeldBuffers held{scheduler_.NewEvent(), scheduler_.NewEvent()};
    server_->memory.before_reserve = [this, held] {
      held.reserved->Set();
      held.land->WaitUntil(Now() + kTestTimeout);
    };
    return held;
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

  // Expects that neither process holds any memory.
  void ExpectNothingLeft() {
    channel_.reset();
    endpoint_.reset();
    handler_.TakeHeld();
    handler_.notes.clear();
    EXPECT_TRUE(server_->memory.WaitUntilFree());
    EXPECT_TRUE(client_->memory.WaitUntilFree());
  }

  const std::unique_ptr<TransportHarness> harness_;
  Scheduler& scheduler_;
  RecordingHandler handler_;
  RecordingChannelEvents events_;
  Identity server_identity_ = {"cluster", "/job:ps/task:0", 11, 77};
  Identity client_identity_ = {"", "", 12, 78};
  Scheduler* server_scheduler_ = nullptr;  // null: the same as all others
  uint64_t num_processes_ = 0;
  std::unique_ptr<Process> server_, client_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Channel> channel_;
  Channel::CallId last_call_ = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_FIXTURE_H_
