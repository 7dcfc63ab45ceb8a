// Master: the role that owns sessions: their graphs, placement and steps. A
// client talks to it, in the same process or over the bus.
//
// Threads: every method may be called from any thread, and none waits: what
// waits for other tasks, at most for the session's operation timeout, holds no
// thread. Each `done` is called exactly once, perhaps before the call returns,
// on any thread: it must return soon and must not wait. ExtendSession,
// MakeCallable and a run that wants partition graphs read and compile graphs on
// the caller's thread, which takes its time.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_H_
#define WEFT_LIBS_PROTOCOL_MASTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/device/device.h"
#include "libs/protocol/graph_options.h"
#include "libs/protocol/worker.h"
#include "libs/tensor/tensor.h"
#include "libs/trace/step_stats.h"

namespace weft::protocol {

// What TensorFlow's ConfigProto says of one session.
struct SessionConfig {
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  // Variables of this session's own instead of the devices' shared ones.
  bool isolate_session_state = false;
  // Bound of every call of this session that gives none; infinite: none.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // Partial device names; only devices that match one are used, and only their
  // tasks are waited for. Empty: all.
  std::vector<std::string> device_filters;
  GraphOptions graph_options;
  // The client saves and closes the session when it is told to stop. Tasks that
  // drain go on running its steps until then, or until their drain time is
  // over.
  bool is_monitored = false;
};

// Nodes to add to a session's graph.
struct GraphExtension {
  // A serialised GraphDef of new nodes only; inputs may name older ones.
  std::string graph_def;
  // The version the client believes the session to be at. Versions begin at 0
  // and grow by one with each extension.
  int64_t from_version = 0;
};

struct NodePlacement {
  std::string name, op, device;
  // As TensorFlow logs it: "v: (VariableV2): /job:ps/...".
  std::string ToString() const;
};

struct ExtensionResult {
  int64_t version = 0;
  // Where each new node was placed, when the session logs placement.
  std::vector<NodePlacement> placement;
};

// Feeds and fetches are tensor names ("x:0"), targets are node names.
struct CallableSpec {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  // Of a partial run: its one step begins when the callable is made, and runs
  // as far as the feeds allow that RunCallable brings bit by bit. It ends with
  // the callable, too.
  bool is_partial = false;
  // Of a partial run: released when its step has ended. May be null.
  std::shared_ptr<const void> keeps_open;
};

// One run of a callable. What the spans view lives until the run is done.
struct CallableRun {
  absl::Span<const Tensor> feeds;  // in the order of the spec
  absl::Span<Tensor> fetches;      // filled in the order of the spec
  // Of a partial run: which of the spec's these are. It is done when the
  // fetches are there, the last one when the step has ended.
  absl::Span<const int> feed_indices;
  absl::Span<const int> fetch_indices;
  absl::Duration timeout = absl::InfiniteDuration();
  // Ends the run early; lives until the run is done. May be null.
  Cancellation* cancellation = nullptr;
  // What an in-process master may use the calling thread for.
  CallingThread thread = CallingThread::kOther;
  // What is wanted is put into `metadata`, which is complete when the run ends
  // well. Null: nothing is wanted.
  MetadataWanted wanted;
  RunMetadata* metadata = nullptr;
};

class Master {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  template <typename T>
  using Answer = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  virtual ~Master() = default;

  // RESOURCE_EXHAUSTED when there are as many as may be.
  virtual void CreateSession(const SessionConfig& config,
                             Answer<uint64_t> done) = 0;

  // All or nothing: a refused extension leaves the session at its version. The
  // one that made the current version may be sent again, for an answer that was
  // lost.
  // ABORTED for an unknown session or another version, INVALID_ARGUMENT where
  // a node can't be placed.
  // `client` here and below: ends the call early, with its cause; it may be
  // null, and lives until `done` and, where that comes of its own Cancel, until
  // that has returned.
  virtual void ExtendSession(uint64_t session, GraphExtension extension,
                             Cancellation* client,
                             Answer<ExtensionResult> done) = 0;

  // Prunes, partitions and registers what the callable needs, once. Later
  // extensions do not change it.
  virtual void MakeCallable(uint64_t session, CallableSpec spec,
                            Cancellation* client, Answer<uint64_t> done) = 0;

  virtual void RunCallable(uint64_t session, uint64_t callable,
                           const CallableRun& run, Done done) = 0;

  // What the callable was made of, for error texts; null when unknown. Does not
  // block.
  virtual std::shared_ptr<const CallableSpec> FindSpec(uint64_t /*session*/,
                                                       uint64_t /*callable*/) {
    return nullptr;
  }

  // What RunCallable would say of the session, if it is unknown. Does not
  // block.
  virtual absl::Status CheckSession(uint64_t /*session*/) {
    return absl::OkStatus();
  }

  // OK for a callable that is unknown.
  virtual void ReleaseCallable(uint64_t session, uint64_t callable,
                               Done done) = 0;

  // Cancels what is under way, waits for its end and forgets the session.
  virtual void CloseSession(uint64_t session, Done done) = 0;

  // Clears containers on the devices of all tasks that pass the filters (none
  // named: each device's default one). Ends all sessions of this master, and
  // those of other masters that have resources in one of the containers.
  virtual void Reset(const std::vector<std::string>& containers,
                     const std::vector<std::string>& device_filters,
                     Cancellation* client, Done done) = 0;

  // Of all tasks of the cluster.
  virtual void ListDevices(Cancellation* client,
                           Answer<std::vector<DeviceAttributes>> done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_H_
