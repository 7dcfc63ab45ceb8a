// Master is the role that owns sessions: their graphs, placement and steps. A
// client calls it in the same process or over the bus.
//
// Threads: every method may be called from any thread and does not block:
// waiting for other tasks, at most for the session's operation timeout, holds
// no thread. Each `done` is called exactly once, perhaps before the call
// returns, on any thread: it must return soon and must not wait. ExtendSession,
// MakeCallable and a run with partition graphs read and compile graphs on the
// caller's thread, which may take long.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_MASTER_H_
#define WEFT_LIBS_PROTOCOL_MASTER_MASTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/device/device.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/protocol/worker/worker.h"
#include "libs/tensor/tensor.h"
#include "libs/trace/step_stats.h"

namespace weft::protocol {

// The options of one session, as in TensorFlow's ConfigProto.
struct SessionConfig {
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  // Gives this session its own variables instead of the devices' shared ones.
  bool isolate_session_state = false;
  // The timeout of each call of this session that has no timeout of its own.
  // Infinite for no timeout.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // Partial device names. Only devices that match one of them are used, and the
  // session waits only for their tasks. If empty, all devices are used.
  std::vector<std::string> device_filters;
  GraphOptions graph_options;
  // Whether the client saves and closes the session when it is asked to stop.
  // Draining tasks run the steps of such a session until then, or until their
  // drain time is over.
  bool is_monitored = false;
};

// Nodes to add to a session's graph.
struct GraphExtension {
  // A serialized GraphDef of new nodes only; inputs may name existing ones.
  std::string graph_def;
  // The version of the session as known by the client. Versions begin at 0;
  // each extension increments it.
  int64_t from_version = 0;
};

struct NodePlacement {
  std::string name, op, device;
  // In TensorFlow's log format: "v: (VariableV2): /job:ps/...".
  std::string ToString() const;
};

struct ExtensionResult {
  int64_t version = 0;
  // The placement of each new node, if the session logs placement.
  std::vector<NodePlacement> placement;
};

// A CallableSpec names what a callable feeds, fetches and runs. Feeds and
// fetches are tensor names ("x:0"), targets are node names.
struct CallableSpec {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  // Whether this is a partial run. Its single step begins when the callable is
  // made, and runs as far as the feeds of the RunCallable calls so far allow.
  // The step also ends with the callable.
  bool is_partial = false;
  // For a partial run: an object that is released when the step has ended. May
  // be null.
  std::shared_ptr<const void> keeps_open;
};

// One run of a callable. The memory that the spans view must live until the run
// is done.
struct CallableRun {
  absl::Span<const Tensor> feeds;  // in the order of the spec
  absl::Span<Tensor> fetches;      // filled in the order of the spec
  // For a partial run: the indices in the spec of these feeds and fetches. A
  // call is done when its fetches are available, the last call when the step
  // has ended.
  absl::Span<const int> feed_indices;
  absl::Span<const int> fetch_indices;
  absl::Duration timeout = absl::InfiniteDuration();
  // Ends the run early; must live until the run is done. May be null.
  Cancellation* cancellation = nullptr;
  // How an in-process master may use the calling thread.
  CallingThread thread = CallingThread::kOther;
  // Receives the metadata that `wanted` requests; complete if the run succeeds.
  // Null if nothing is requested.
  MetadataWanted wanted;
  RunMetadata* metadata = nullptr;
};

class Master {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  template <typename T>
  using Answer = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  virtual ~Master() = default;

  // Creates a session. RESOURCE_EXHAUSTED if there are already as many sessions
  // as the limit allows.
  virtual void CreateSession(const SessionConfig& config,
                             Answer<uint64_t> done) = 0;

  // Adds nodes to the graph: all of them, or none if the extension is refused.
  // The extension that made the current version may be sent again, if its
  // answer was lost. Returns ABORTED for an unknown session or another version,
  // INVALID_ARGUMENT if a node cannot be placed. `client`, here and below, ends
  // the call early with its cause. It may be null, and must live until `done`
  // is called and, if its own Cancel calls `done`, until Cancel has returned.
  virtual void ExtendSession(uint64_t session, GraphExtension extension,
                             Cancellation* client,
                             Answer<ExtensionResult> done) = 0;

  // Prunes, partitions and registers the graph of the callable, once. Later
  // extensions do not change it.
  virtual void MakeCallable(uint64_t session, CallableSpec spec,
                            Cancellation* client, Answer<uint64_t> done) = 0;

  virtual void RunCallable(uint64_t session, uint64_t callable,
                           const CallableRun& run, Done done) = 0;

  // Returns the spec of the callable, for error texts; null if unknown. Does
  // not block.
  virtual std::shared_ptr<const CallableSpec> FindSpec(uint64_t /*session*/,
                                                       uint64_t /*callable*/) {
    return nullptr;
  }

  // Returns the error of RunCallable for an unknown session. Does not block.
  virtual absl::Status CheckSession(uint64_t /*session*/) {
    return absl::OkStatus();
  }

  // Releases a callable; OK if it is unknown.
  virtual void ReleaseCallable(uint64_t session, uint64_t callable,
                               Done done) = 0;

  // Cancels running steps, waits for their end and forgets the session.
  virtual void CloseSession(uint64_t session, Done done) = 0;

  // Clears containers on the devices of all tasks that pass the filters (none
  // named: each device's default container). Ends all sessions of this master,
  // and those of other masters that have resources in one of the containers.
  virtual void Reset(const std::vector<std::string>& containers,
                     const std::vector<std::string>& device_filters,
                     Cancellation* client, Done done) = 0;

  // Lists the devices of all tasks of the cluster.
  virtual void ListDevices(Cancellation* client,
                           Answer<std::vector<DeviceAttributes>> done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_MASTER_H_
