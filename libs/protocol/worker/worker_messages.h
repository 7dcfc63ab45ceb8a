// The messages between a master and a task, and among tasks: the requests and
// replies of the role Worker (libs/protocol/worker/worker.h).
//
// schemas/partition.fbs and schemas/push.fbs define the format. Threads:
// functions without state. Input is untrusted; errors are as in
// message_reader.h. Writing fails only for messages with tensors
// (tensor_codec.h) or graphs.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_WORKER_MESSAGES_H_
#define WEFT_LIBS_PROTOCOL_WORKER_WORKER_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/base/clock.h"
#include "libs/bus/message.h"
#include "libs/graph/op_def.h"
#include "libs/protocol/worker/worker.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::protocol {

bus::Message WriteGetStatus();
absl::Status ReadGetStatus(bus::Message message);

struct CreateWorkerSessionRequest {
  WorkerSession session;
  WorkerSessionOptions options;
};
bus::Message WriteCreateWorkerSession(const WorkerSession& session,
                                      const WorkerSessionOptions& options);
absl::StatusOr<CreateWorkerSessionRequest> ReadCreateWorkerSession(
    bus::Message message);

bus::Message WriteDeleteWorkerSession(const WorkerSession& session);
absl::StatusOr<WorkerSession> ReadDeleteWorkerSession(bus::Message message);

// Returns RESOURCE_EXHAUSTED for a graph larger than 2 GiB.
absl::StatusOr<bus::Message> WriteRegister(
    const PartitionRegistration& registration);
// The graphs' nodes are on their partition's device.
absl::StatusOr<PartitionRegistration> ReadRegister(
    bus::Message message, const std::shared_ptr<const OpRegistry>& ops);
// Returns Done if there are none: an older task does the same, and a caller
// that did not request them gets nothing else.
bus::Message WriteNewVariables(const NewVariables& made);
// No number of a peer is negative afterwards; names longer than kMaxNameInReply
// are left out, because errors repeat them.
inline constexpr size_t kMaxNameInReply = 1024;
absl::StatusOr<NewVariables> ReadNewVariables(bus::Message message);

struct DeregisterRequest {
  WorkerSession session;
  uint64_t registration = 0;
};
bus::Message WriteDeregister(const WorkerSession& session,
                             uint64_t registration);
absl::StatusOr<DeregisterRequest> ReadDeregister(bus::Message message);

// A PartitionStep without the fields that are local to a process.
struct RunPartitionRequest {
  WorkerSession session;
  uint64_t registration = 0;
  uint64_t step = 0;
  uint64_t steps_finished_below = 0;
  FinishedSteps more_finished;
  // By feed index; feeds that were not sent are uninitialized tensors.
  std::vector<Tensor> feeds;
  std::vector<int> feed_indices;
  std::vector<int> fetch_indices;
  bool collect_stats = false;
};
absl::StatusOr<bus::Message> WriteRunPartition(const PartitionStep& step);
absl::StatusOr<RunPartitionRequest> ReadRunPartition(bus::Message message,
                                                     Allocator& allocator);
struct RunPartitionAnswer {
  std::vector<Tensor> fetches;
  std::vector<Push> pushes;  // for the requesting task
  std::optional<PartitionTrace> trace;
};
// Writes the fetches named by `indices`. `trace` is null unless requested; by
// `clock` it ends now that it is being written, which may take longer than the
// step did; null: its own end.
absl::StatusOr<bus::Message> WriteRunPartitionReply(
    absl::Span<const Tensor> fetches, absl::Span<const int> indices,
    absl::Span<const Push> pushes, const PartitionTrace* trace = nullptr,
    const Clock* clock = nullptr);
// A fetch for each of `indices`, in their order.
absl::StatusOr<RunPartitionAnswer> ReadRunPartitionReply(
    bus::Message message, absl::Span<const int> indices, Allocator& allocator);

struct AbortRequest {
  StepId step;
  uint64_t steps_finished_below = 0;
  absl::Status cause;  // never OK
};
bus::Message WriteAbort(const StepId& step, uint64_t steps_finished_below,
                        const absl::Status& cause);
absl::StatusOr<AbortRequest> ReadAbort(bus::Message message);

bus::Message WriteDescribeWaits(const StepId& step);
absl::StatusOr<StepId> ReadDescribeWaits(bus::Message message);
// At most Worker::kMaxWaits.
bus::Message WriteWaits(absl::Span<const std::string> waits);
absl::StatusOr<std::vector<std::string>> ReadWaits(bus::Message message);

bus::Message WriteHoldSteps(const StepHold& hold);
// A lease or wait longer than Worker::kMaxLease is shortened to that.
absl::StatusOr<StepHold> ReadHoldSteps(bus::Message message);
// At most Worker::kMaxWriters.
bus::Message WriteWriters(absl::Span<const VariableWriter> writers);
absl::StatusOr<std::vector<VariableWriter>> ReadWriters(bus::Message message);

bus::Message WriteClearContainers(const std::vector<std::string>& containers);
absl::StatusOr<std::vector<std::string>> ReadClearContainers(
    bus::Message message);

// Values for one peer, in the order in which they were produced.
absl::StatusOr<bus::Message> WritePushes(absl::Span<const Push> pushes);
// Whether reading one takes only microseconds; also for other messages.
bool IsRunPartitionReadSoon(const bus::Message& message);
bool IsRunPartitionReplyReadSoon(const bus::Message& message);
bool ArePushesReadSoon(const bus::Message& message);
absl::StatusOr<std::vector<Push>> ReadPushes(bus::Message message,
                                             Allocator& allocator);
// The steps of the pushes, each once, for pushes whose tensors were dropped.
absl::StatusOr<std::vector<Push>> ReadPushHeaders(bus::Message message);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_WORKER_MESSAGES_H_
