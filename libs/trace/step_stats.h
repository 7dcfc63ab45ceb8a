// StepStats is the trace of one step: the node runs with their times, devices
// and threads. RunMetadata is the output of a run besides its fetches. Both are
// values, with TensorFlow's serialization (schemas/tf/step_stats.proto,
// config.proto), which TensorBoard, tf.profiler and `weft trace` read.
//
// Times are nanoseconds: starts since the Unix epoch, ends since the start. In
// a step of several tasks all are by the clock of the session's master, as far
// as that can be known (clock_offset.h).
//
// Threads: plain values.
#ifndef WEFT_LIBS_TRACE_STEP_STATS_H_
#define WEFT_LIBS_TRACE_STEP_STATS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// How much of a run is recorded, with TensorFlow's numbers. Weft records the
// same for all levels except kNoTrace.
enum class TraceLevel : uint8_t {
  kNoTrace = 0,
  kSoftwareTrace = 1,
  kHardwareTrace = 2,
  kFullTrace = 3,
};

// One output of a run of a node: its type by TensorFlow's number, shape and
// bytes.
struct OutputStats {
  int32_t slot = 0;
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  int64_t num_bytes = 0;
  bool operator==(const OutputStats&) const = default;
};

// One run of a node's kernel.
struct NodeExecStats {
  std::string node_name;
  int64_t start_nanos = 0;
  int64_t end_rel_nanos = 0;
  // As TensorFlow's: "y = MatMul(x, w)"; for _Send and _Recv, with the device
  // of the other end, "[400B] x/_1 = _Send(x:0 @/job:ps/replica:0/...)".
  std::string timeline_label;
  // 0: a kernel that waits without a thread: a receive, a queue.
  uint32_t thread_id = 0;
  std::vector<OutputStats> output;
  bool operator==(const NodeExecStats&) const = default;
};

// About its size, in memory and serialized.
size_t BytesOf(const NodeExecStats& stats);

struct DeviceStepStats {
  std::string device;  // full name
  // In the order in which they ended.
  std::vector<NodeExecStats> node_stats;
  std::map<uint32_t, std::string> thread_names;
  bool operator==(const DeviceStepStats&) const = default;
};

struct StepStats {
  std::vector<DeviceStepStats> dev_stats;
  bool operator==(const StepStats&) const = default;

  // Converts to another clock, which is `nanos` ahead.
  void Shift(int64_t nanos);
  // Adds those of further devices.
  void Add(StepStats others);
  // For devices whose runs exceed the rest of `max_bytes`, keeps only their
  // number.
  void Limit(size_t max_bytes);
};

// A placeholder for runs that are not included; the last one began then.
NodeExecStats OmittedRuns(size_t num_runs, int64_t last_start_nanos);

struct RunMetadata {
  StepStats step_stats;
  // A serialized GraphDef for each device, after all passes, in the order of
  // their tasks.
  std::vector<std::string> partition_graphs;
  bool operator==(const RunMetadata&) const = default;
};

// The metadata that a RunOptions requests.
struct MetadataWanted {
  TraceLevel trace_level = TraceLevel::kNoTrace;
  bool output_partition_graphs = false;

  bool step_stats() const { return trace_level != TraceLevel::kNoTrace; }
  bool any() const { return step_stats() || output_partition_graphs; }
  bool operator==(const MetadataWanted&) const = default;
};

// Returns RESOURCE_EXHAUSTED beyond the 2 GiB limit of protobuf's readers.
absl::StatusOr<std::string> Serialize(const StepStats& stats);
absl::StatusOr<std::string> Serialize(const RunMetadata& metadata);

// The input is untrusted. INVALID_ARGUMENT if the bytes do not parse. Fields
// without a counterpart in these structs are dropped.
absl::StatusOr<StepStats> ParseStepStats(absl::string_view bytes);
absl::StatusOr<RunMetadata> ParseRunMetadata(absl::string_view bytes);

// The fields of a RunOptions that request metadata, serialized, and back. An
// unknown level counts as kFullTrace.
std::string SerializeRunOptions(const MetadataWanted& wanted);
absl::StatusOr<MetadataWanted> ParseRunOptions(absl::string_view bytes);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_STEP_STATS_H_
