#include "libs/protocol/testing/fuzz_targets.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/graph/inference_context.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/coordinator/coordinator_messages.h"
#include "libs/protocol/coordinator/placement_messages.h"
#include "libs/protocol/files/file_messages.h"
#include "libs/protocol/master/master_messages.h"
#include "libs/protocol/method.h"
#include "libs/protocol/worker/worker_messages.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft::protocol {
namespace {

// The memory that one message may make a task use for its tensors.
constexpr size_t kMemory = size_t{1} << 20;

bool SameBytes(const bus::Message& a, const bus::Message& b) {
  return a.method == b.method && a.body.view() == b.body.view() &&
         std::equal(a.attachments.begin(), a.attachments.end(),
                    b.attachments.begin(), b.attachments.end(),
                    [](const bus::Blob& x, const bus::Blob& y) {
                      return x.view() == y.view();
                    });
}

// Checks that a message that was read, written, and read again, is written
// identically.
template <typename Read, typename Write>
void Check(const bus::Message& message, Read read, Write write) {
  const auto value = read(message);
  if (!value.ok()) return;
  const absl::StatusOr<bus::Message> written = write(*value);
  RequireForFuzz(written.ok());
  const auto again = read(*written);
  RequireForFuzz(again.ok());
  const absl::StatusOr<bus::Message> second = write(*again);
  RequireForFuzz(second.ok() && SameBytes(*written, *second));
}

// The same for a reader that allocates tensors.
template <typename Read, typename Write>
void CheckTensors(const bus::Message& message, Read read, Write write) {
  const auto read_into_little = [&](bus::Message m) {
    SmallAllocator small(kMemory, 4 * kMemory);
    return read(std::move(m), small);
  };
  Check(message, read_into_little, write);
}

std::vector<int> FirstNumbers(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// A few ops with each kind of argument and attr; integration_tests tests the
// standard ops, which need kernels too.
std::shared_ptr<const OpRegistry> NewOps() {
  auto ops = std::make_shared<OpRegistry>();
  ops->Add(OpDefBuilder("Source")
               .Output("out: T")
               .Attr("T: type")
               .Attr("shape: shape = { unknown_rank: true }")
               .Attr("names: list(string) = []")
               .Attr("sizes: list(int) = []")
               .Shape(shapes::Unknown));
  ops->Add(OpDefBuilder("Double")
               .Input("in: float")
               .Output("out: float")
               .Shape(shapes::Unchanged));
  ops->Add(OpDefBuilder("Join")
               .Input("in: N * T")
               .Output("out: T")
               .Attr("N: int >= 1")
               .Attr("T: {float, int32}")
               .Attr("rate: float = 0.5")
               .Attr("exact: bool = false")
               .Shape(shapes::Unknown));
  return ops;
}

// They never change, so all cases may share them.
const std::shared_ptr<const OpRegistry>& Ops() {
  static const auto* const ops =
      new std::shared_ptr<const OpRegistry>(NewOps());
  return *ops;
}

absl::StatusOr<bus::Message> WriteAgain(const RunCallableRequest& request) {
  std::vector<Tensor> fetches(request.num_fetches);
  CallableRun run;
  run.feeds = request.feeds;
  run.fetches = absl::MakeSpan(fetches);
  run.timeout = request.timeout;
  run.wanted = request.wanted;
  run.feed_indices = request.feed_indices;
  run.fetch_indices = request.fetch_indices;
  RunMetadata metadata;
  if (request.wanted.any()) run.metadata = &metadata;
  return WriteRunCallable(request.session, request.callable, run);
}

absl::StatusOr<bus::Message> WriteAgain(const RunPartitionRequest& request) {
  PartitionStep step;
  step.session = request.session;
  step.registration = request.registration;
  step.step = request.step;
  step.steps_finished_below = request.steps_finished_below;
  step.more_finished = &request.more_finished;
  step.feeds = request.feeds;
  step.feed_indices = request.feed_indices;
  step.fetch_indices = request.fetch_indices;
  PartitionTrace trace;
  if (request.collect_stats) step.trace = &trace;
  return WriteRunPartition(step);
}

// Requests without content.
void CheckEmpty(const bus::Message& message) {
  (void)ReadDone(message);
  (void)ReadListDevices(message);
  (void)ReadGetStatus(message);
  (void)ReadGetCluster(message);
  (void)ReadShutdown(message);
}

void CheckSessionMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kCreateSession:
      return Check(message, ReadCreateSession, WriteCreateSession);
    case Method::kCreateSessionReply:
      return Check(message, ReadCreateSessionReply, WriteCreateSessionReply);
    case Method::kExtendSession:
      return Check(
          message, ReadExtendSession, [](const ExtendSessionRequest& request) {
            return WriteExtendSession(request.session, request.extension);
          });
    case Method::kExtendSessionReply:
      return Check(message, ReadExtendSessionReply, WriteExtendSessionReply);
    case Method::kCloseSession:
      return Check(message, ReadCloseSession, WriteCloseSession);
    case Method::kReset:
      return Check(message, ReadReset, [](const ResetRequest& request) {
        return WriteReset(request.containers, request.device_filters);
      });
    case Method::kListDevicesReply:
      return Check(message, ReadDevices,
                   [](const std::vector<DeviceAttributes>& d) {
                     return WriteDevices(d);
                   });
    default:
      return CheckEmpty(message);
  }
}

void CheckCallableMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kMakeCallable:
      return Check(message, ReadMakeCallable,
                   [](const MakeCallableRequest& request) {
                     return WriteMakeCallable(request.session, request.spec);
                   });
    case Method::kMakeCallableReply:
      return Check(message, ReadMakeCallableReply, WriteMakeCallableReply);
    case Method::kRunCallable:
      return CheckTensors(
          message, ReadRunCallable,
          [](const RunCallableRequest& r) { return WriteAgain(r); });
    case Method::kRunCallableReply:
      return CheckTensors(
          message,
          [&](bus::Message m, Allocator& allocator) {
            return ReadRunCallableReply(std::move(m), c.expected, allocator);
          },
          [](const RunCallableAnswer& answer) {
            return WriteRunCallableReply(answer.fetches, &answer.metadata);
          });
    case Method::kReleaseCallable:
      return Check(message, ReadReleaseCallable,
                   [](const ReleaseCallableRequest& request) {
                     return WriteReleaseCallable(request.session,
                                                 request.callable);
                   });
    default:
      return CheckSessionMessage(c);
  }
}

void CheckPartitionMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kCreateWorkerSession:
      return Check(message, ReadCreateWorkerSession,
                   [](const CreateWorkerSessionRequest& r) {
                     return WriteCreateWorkerSession(r.session, r.options);
                   });
    case Method::kDeleteWorkerSession:
      return Check(message, ReadDeleteWorkerSession, WriteDeleteWorkerSession);
    case Method::kRegisterPartition: {
      // A device's name may contain bytes that no GraphDef can hold: then what
      // is written cannot be read. Workers refuse devices they do not have.
      const auto read = ReadRegister(message, Ops());
      if (read.ok()) (void)WriteRegister(*read);
      return;
    }
    case Method::kRegisterPartitionReply:
      return Check(message, ReadNewVariables, WriteNewVariables);
    case Method::kDeregisterPartition:
      return Check(message, ReadDeregister, [](const DeregisterRequest& r) {
        return WriteDeregister(r.session, r.registration);
      });
    case Method::kClearContainers:
      return Check(message, ReadClearContainers, WriteClearContainers);
    case Method::kDescribeWaits:
      return Check(message, ReadDescribeWaits, WriteDescribeWaits);
    case Method::kDescribeWaitsReply:
      return Check(message, ReadWaits,
                   [](const std::vector<std::string>& waits) {
                     return WriteWaits(waits);
                   });
    case Method::kHoldSteps:
      return Check(message, ReadHoldSteps, WriteHoldSteps);
    case Method::kHoldStepsReply:
      return Check(message, ReadWriters,
                   [](const std::vector<VariableWriter>& writers) {
                     return WriteWriters(writers);
                   });
    default:
      return CheckEmpty(message);
  }
}

void CheckStepMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kRunPartition:
      return CheckTensors(
          message, ReadRunPartition,
          [](const RunPartitionRequest& r) { return WriteAgain(r); });
    case Method::kRunPartitionReply: {
      const std::vector<int> indices = FirstNumbers(c.expected);
      return CheckTensors(
          message,
          [&](bus::Message m, Allocator& allocator) {
            return ReadRunPartitionReply(std::move(m), indices, allocator);
          },
          [&](const RunPartitionAnswer& answer) {
            return WriteRunPartitionReply(
                answer.fetches, indices, answer.pushes,
                answer.trace ? &*answer.trace : nullptr);
          });
    }
    case Method::kAbort:
      return Check(message, ReadAbort, [](const AbortRequest& r) {
        RequireForFuzz(!r.cause.ok());
        return WriteAbort(r.step, r.steps_finished_below, r.cause);
      });
    case Method::kPushes:
      (void)ReadPushHeaders(message);
      return CheckTensors(
          message, ReadPushes,
          [](const std::vector<Push>& pushes) { return WritePushes(pushes); });
    default:
      return CheckPartitionMessage(c);
  }
}

void CheckMembershipMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kJoinCluster:
      return Check(message, ReadJoin, WriteJoin);
    case Method::kJoinClusterReply:
      return Check(message, ReadJoinReply, WriteJoinReply);
    case Method::kTaskHeartbeat:
      return Check(message, ReadHeartbeat, WriteHeartbeat);
    case Method::kTaskHeartbeatReply:
      return Check(message, ReadHeartbeatReply, WriteHeartbeatReply);
    case Method::kLeaveCluster:
      return Check(message, ReadLeave, [](const LeaveRequest& request) {
        return WriteLeave(request);
      });
    case Method::kGetClusterReply:
      return Check(message, ReadClusterStatus, WriteClusterStatus);
    case Method::kListClusterDevices:
      return Check(message, ReadListClusterDevices,
                   [](const ListClusterDevicesCall& call) {
                     return WriteListClusterDevices(call.device_filters,
                                                    call.answer_time);
                   });
    default:
      return CheckEmpty(message);
  }
}

void CheckPlaced(const PlacementGraph& graph) {
  const auto num_nodes = static_cast<int>(graph.nodes.size());
  for (const PlacementNode& node : graph.nodes) {
    for (const PlacementNode::Input& input : node.inputs) {
      RequireForFuzz(input.node >= 0 && input.node < num_nodes);
    }
  }
}

void CheckPlacementMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kPlace:
      return Check(message, ReadPlace, [](const PlaceCall& call) {
        CheckPlaced(call.request.graph);
        return WritePlace(call.request, call.answer_time);
      });
    case Method::kPlaceReply:
      return Check(
          message,
          [&](bus::Message m) {
            return ReadPlaceReply(std::move(m), c.expected);
          },
          WritePlaceReply);
    case Method::kEndSession:
      return Check(message, ReadEndSession, WriteEndSession);
    case Method::kForgetContainers:
      return Check(message, ReadForgetContainers,
                   [](const ForgetContainersRequest& request) {
                     return WriteForgetContainers(request.containers,
                                                  request.device_filters);
                   });
    default:
      return CheckMembershipMessage(c);
  }
}

void CheckFileMessage(const FuzzCase& c) {
  const bus::Message& message = c.message;
  switch (static_cast<Method>(message.method)) {
    case Method::kFileOperation:
      return Check(message, ReadFileOperation, WriteFileOperation);
    case Method::kFileOperationReply:
      (void)IsFileAnswerReadSoon(message);
      return Check(message, ReadFileAnswer, WriteFileAnswer);
    default:
      return CheckEmpty(message);
  }
}

}  // namespace

void FuzzMasterMessage(absl::string_view bytes) {
  CheckCallableMessage(FuzzCaseOf(bytes));
}

void FuzzWorkerMessage(absl::string_view bytes) {
  CheckStepMessage(FuzzCaseOf(bytes));
}

void FuzzCoordinatorMessage(absl::string_view bytes) {
  CheckPlacementMessage(FuzzCaseOf(bytes));
}

void FuzzFileMessage(absl::string_view bytes) {
  CheckFileMessage(FuzzCaseOf(bytes));
}

FuzzCase FuzzCaseOf(absl::string_view bytes) {
  FuzzCase result;
  if (bytes.size() < 2) return result;
  result.message.method = static_cast<uint8_t>(bytes[0]);
  result.expected = static_cast<uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  std::vector<bus::Blob> frames;
  while (bytes.size() >= 2) {
    const size_t length = static_cast<uint8_t>(bytes[0]) +
                          size_t{256} * static_cast<uint8_t>(bytes[1]);
    bytes.remove_prefix(2);
    const size_t size = std::min(length, bytes.size());
    frames.push_back(bus::Blob::FromString(std::string(bytes.substr(0, size))));
    bytes.remove_prefix(size);
  }
  if (frames.empty()) return result;
  result.message.body = std::move(frames[0]);
  result.message.attachments.assign(frames.begin() + 1, frames.end());
  return result;
}

std::string FuzzBytesOf(const FuzzCase& fuzz_case) {
  std::string bytes = {static_cast<char>(fuzz_case.message.method),
                       static_cast<char>(fuzz_case.expected)};
  const auto add = [&](const bus::Blob& frame) {
    bytes.push_back(static_cast<char>(frame.size() % 256));
    bytes.push_back(static_cast<char>(frame.size() / 256));
    bytes.append(frame.view().data(), frame.size());
  };
  add(fuzz_case.message.body);
  for (const bus::Blob& frame : fuzz_case.message.attachments) add(frame);
  return bytes;
}

}  // namespace weft::protocol
