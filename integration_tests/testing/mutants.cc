#include "integration_tests/testing/mutants.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "integration_tests/testing/tapped_wire.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/coordinator/coordinator_messages.h"
#include "libs/protocol/method.h"
#include "libs/protocol/worker/worker_messages.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

using bus::ConnectionId;
using bus::ControlMessage;
using bus::MessageKind;
using protocol::Method;

// Marks the id of a call that a tap adds. No caller waits for its reply.
constexpr uint64_t kStrangeCall = uint64_t{1} << 60;

bool Is(const ControlMessage& message, MessageKind kind, Method method) {
  return message.envelope.kind == kind &&
         message.envelope.method == static_cast<uint8_t>(method);
}
bool IsRequest(const ControlMessage& message, Method method) {
  return Is(message, MessageKind::kRequest, method);
}

// Returns a success reply to `request`.
ControlMessage DoneTo(const ControlMessage& request) {
  return WithBody(
      {.kind = MessageKind::kReply, .call_id = request.envelope.call_id},
      protocol::WriteDone());
}

// Loses a request: the caller gets a success reply, but the task never gets the
// request.
template <Method kMethod>
class RequestIsLost : public WireTap {
 public:
  bool OnSend(TappedWire& wire, ConnectionId connection,
              ControlMessage& message) override {
    if (!IsRequest(message, kMethod)) return true;
    wire.Deliver(connection, DoneTo(message));
    return false;
  }
};

// Delivers a request twice, like a bus that resends delivered messages.
class StepsRunTwice : public WireTap {
 public:
  bool OnReceive(TappedWire& wire, ConnectionId connection,
                 ControlMessage& message) override {
    if (!IsRequest(message, Method::kRunPartition)) return true;
    ControlMessage again = message;
    again.envelope.call_id |= kStrangeCall;
    wire.Deliver(connection, again, absl::Milliseconds(100));
    return true;
  }
};

// Delivers old values to the running step, like a task that accepts values of
// any step.
class OldValuesAreLetIn : public WireTap {
 public:
  bool OnSend(TappedWire&, ConnectionId, ControlMessage& message) override {
    Learn(message);
    return true;
  }
  bool OnReceive(TappedWire&, ConnectionId, ControlMessage& message) override {
    Learn(message);
    if (!Is(message, MessageKind::kOneWay, Method::kPushes)) return true;
    auto pushes = protocol::ReadPushes(BodyOf(message), HeapAllocator());
    if (!pushes.ok()) return true;
    for (protocol::Push& push : *pushes) {
      const auto newest = newest_.find(push.session.session);
      if (newest != newest_.end()) {
        push.step = std::max(push.step, newest->second);
      }
    }
    auto written = protocol::WritePushes(*pushes);
    if (written.ok()) message = WithBody(message.envelope, *std::move(written));
    return true;
  }

 private:
  void Learn(const ControlMessage& message) {
    if (!IsRequest(message, Method::kRunPartition)) return;
    auto run = protocol::ReadRunPartition(BodyOf(message), HeapAllocator());
    if (run.ok()) newest_[run->session.session] = run->step;
  }

  std::map<uint64_t, uint64_t> newest_;  // maps a session to its newest step
};

// Loses every 30th message with values, like a network that silently loses
// messages.
class ValuesAreLost : public WireTap {
 public:
  bool OnSend(TappedWire&, ConnectionId, ControlMessage& message) override {
    if (!Is(message, MessageKind::kOneWay, Method::kPushes)) return true;
    return ++count_ % 30 != 0;
  }

 private:
  int count_ = 0;
};

// Reports the end of a step at the wrong time: never, or, with `kTooSoon`,
// before the step has begun.
template <bool kTooSoon>
class StepsAreOverWrongly : public WireTap {
 public:
  bool OnSend(TappedWire&, ConnectionId, ControlMessage& message) override {
    if (IsRequest(message, Method::kAbort)) {
      const auto abort = protocol::ReadAbort(BodyOf(message));
      if (!abort.ok()) return true;
      message = WithBody(message.envelope,
                         protocol::WriteAbort(abort->step, 0, abort->cause));
    }
    if (!IsRequest(message, Method::kRunPartition)) return true;
    auto run = protocol::ReadRunPartition(BodyOf(message), HeapAllocator());
    if (!run.ok()) return true;
    auto written = protocol::WriteRunPartition(
        {.session = run->session,
         .registration = run->registration,
         .step = run->step,
         .steps_finished_below = kTooSoon ? run->step + 1 : 0,
         .feeds = run->feeds,
         .feed_indices = run->feed_indices,
         .fetch_indices = run->fetch_indices});
    if (written.ok()) message = WithBody(message.envelope, *std::move(written));
    return true;
  }
};

// Hides all lost connections.
class LossesAreHidden : public WireTap {
 public:
  bool OnLost() override { return false; }
};

// Returns a function that adds a tap to each process whose name begins with
// `tasks`.
template <typename Tap>
std::function<void(TestCluster::Options&)> Tapping(
    const std::string& tasks = "/job:") {
  return [tasks](TestCluster::Options& cluster) {
    cluster.wrap_wire =
        [tasks](const std::string& name, Scheduler& scheduler,
                std::unique_ptr<bus::Wire> wire) -> std::unique_ptr<bus::Wire> {
      if (!absl::StartsWith(name, tasks)) return wire;
      return std::make_unique<TappedWire>(std::move(wire), scheduler,
                                          std::make_shared<Tap>());
    };
  };
}

}  // namespace

std::vector<Mutant> Mutants() {
  return {
      {"AbortIsLost", Tapping<RequestIsLost<Method::kAbort>>(), 15},
      {"DeregistrationIsLost",
       Tapping<RequestIsLost<Method::kDeregisterPartition>>()},
      {"EndOfASessionIsLost",
       Tapping<RequestIsLost<Method::kDeleteWorkerSession>>()},
      {"StepsRunTwice", Tapping<StepsRunTwice>()},
      {"OldValuesAreLetIn", Tapping<OldValuesAreLetIn>(), 45},
      {"ValuesAreLost", Tapping<ValuesAreLost>()},
      {"NoStepIsEverOver", Tapping<StepsAreOverWrongly<false>>()},
      {"StepsAreOverTooSoon", Tapping<StepsAreOverWrongly<true>>()},
      // The coordinator never learns that a task has ended.
      {"TheDeadAreAlive",
       [](TestCluster::Options& cluster) {
         Tapping<LossesAreHidden>("/job:coordinator")(cluster);
         cluster.heartbeat_timeout = absl::InfiniteDuration();
       }},
      {"IncarnationsAreKept",
       [](TestCluster::Options& cluster) { cluster.new_incarnations = false; }},
      {"LeasesNeverEnd",
       [](TestCluster::Options& cluster) {
         cluster.lease = absl::InfiniteDuration();
       }},
  };
}

}  // namespace weft
