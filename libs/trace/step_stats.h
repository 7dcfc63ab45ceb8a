// StepStats is the trace of one step: the node runs with their times, devices
// and threads. RunMetadata is what a run returns in addition to its fetches.
// Both are plain values with TensorFlow's serialization
// (schemas/tf/step_stats.proto, config.proto), which TensorBoard, tf.profiler
// and `weft trace` read.
//
// Times are in nanoseconds. The start of a run counts from the Unix epoch, and
// its end from its start. In a step of several tasks, all times are converted
// to the clock of the session's master, with an estimated offset
// (clock_offset.h).
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

// TraceLevel states how much of a run is recorded. It has TensorFlow's numbers.
// Weft records the same for all levels except kNoTrace.
enum class TraceLevel : uint8_t {
  kNoTrace = 0,
  kSoftwareTrace = 1,
  kHardwareTrace = 2,
  kFullTrace = 3,
};

// OutputStats describes one output of a run of a node: its type (TensorFlow's
// number), shape and size in bytes.
struct OutputStats {
  int32_t slot = 0;
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  int64_t num_bytes = 0;
  bool operator==(const OutputStats&) const = default;
};

// NodeExecStats describes one run of a node's kernel.
struct NodeExecStats {
  std::string node_name;
  int64_t start_nanos = 0;
  int64_t end_rel_nanos = 0;
  // The label as in TensorFlow: "y = MatMul(x, w)". For _Send and _Recv it
  // contains the device of the other end: "[400B] x/_1 = _Send(x:0
  // @/job:ps/replica:0/...)".
  std::string timeline_label;
  // Is 0 for a kernel that waits without a thread, such as a receive or an
  // operation on a queue.
  uint32_t thread_id = 0;
  std::vector<OutputStats> output;
  bool operator==(const NodeExecStats&) const = default;
};

// Returns the approximate size of the stats, both in memory and serialized.
size_t BytesOf(const NodeExecStats& stats);

struct DeviceStepStats {
  std::string device;  // full name
  // The runs, in the order in which they ended.
  std::vector<NodeExecStats> node_stats;
  std::map<uint32_t, std::string> thread_names;
  bool operator==(const DeviceStepStats&) const = default;
};

struct StepStats {
  std::vector<DeviceStepStats> dev_stats;
  bool operator==(const StepStats&) const = default;

  // Converts the times to another clock, which is `nanos` ahead.
  void Shift(int64_t nanos);
  // Adds the stats of further devices.
  void Add(StepStats others);
  // Limits the total size to about `max_bytes`. For a device whose runs do not
  // fit into the remaining size, keeps only the number of runs.
  void Limit(size_t max_bytes);
};

// Returns a placeholder for runs that are not included. `last_start_nanos` is
// the time at which the last of them began.
NodeExecStats OmittedRuns(size_t num_runs, int64_t last_start_nanos);

struct RunMetadata {
  StepStats step_stats;
  // The partitioned graphs: a serialized GraphDef for each device, after all
  // passes, in the order of the devices' tasks.
  std::vector<std::string> partition_graphs;
  bool operator==(const RunMetadata&) const = default;
};

// MetadataWanted states which metadata a RunOptions requests.
struct MetadataWanted {
  TraceLevel trace_level = TraceLevel::kNoTrace;
  bool output_partition_graphs = false;

  bool step_stats() const { return trace_level != TraceLevel::kNoTrace; }
  bool any() const { return step_stats() || output_partition_graphs; }
  bool operator==(const MetadataWanted&) const = default;
};

// Return the serialized stats or metadata. RESOURCE_EXHAUSTED if they exceed 2
// GiB, the limit of protobuf's readers.
absl::StatusOr<std::string> Serialize(const StepStats& stats);
absl::StatusOr<std::string> Serialize(const RunMetadata& metadata);

// Parse stats or metadata. The input is untrusted. INVALID_ARGUMENT if the
// bytes do not parse. Fields without a counterpart in these structs are
// dropped.
absl::StatusOr<StepStats> ParseStepStats(absl::string_view bytes);
absl::StatusOr<RunMetadata> ParseRunMetadata(absl::string_view bytes);

// Serialize and parse the fields of a RunOptions that request metadata. An
// unknown level counts as kFullTrace.
std::string SerializeRunOptions(const MetadataWanted& wanted);
absl::StatusOr<MetadataWanted> ParseRunOptions(absl::string_view bytes);

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_STEP_STATS_H_
