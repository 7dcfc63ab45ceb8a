// Session is the client's connection of a graph to a master. It sends new nodes
// of the graph to the master, and runs parts of the graph.
//
//   Scope root = Scope::Root();
//   auto x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   auto y = ops::Mul(root, x, 2.0f);
//   ASSIGN_OR_RETURN(auto session, Session::Connect("", root));
//   ASSIGN_OR_RETURN(Tensor value, session->Run({{x, Tensor::Scalar(3.0f)}},
//   y));
//
// The first run sends the whole graph, later runs send the nodes added since. A
// graph that could not be built is refused with the error of its scopes.
//
// Threads: several threads may run steps at once if none of them adds to the
// graph. While one thread sends new nodes, prepared runs continue and other
// runs wait. Close may be called at any time. Errors are the master's, with
// TensorFlow's codes. The session stays usable after each error except ABORTED.
#ifndef WEFT_LIBS_SESSION_SESSION_H_
#define WEFT_LIBS_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/hash_tables.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/scope.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/protocol/master/master.h"
#include "libs/session/feed_shapes.h"
#include "libs/tensor/client_function.h"
#include "libs/tensor/tensor.h"
#include "libs/trace/step_stats.h"

namespace weft {

class Process;  // threads and memory; only passed on here

struct SessionOptions {
  bool allow_soft_placement = false;
  // Prints "name: (op): device" for each node, once, when it is placed.
  bool log_device_placement = false;
  bool isolate_session_state = false;
  // The timeout of each other call to the cluster, and of each run that has no
  // timeout of its own.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // How long Connect waits for the target's task; TensorFlow waits forever.
  absl::Duration connect_timeout = absl::Minutes(1);
  // A server that sends no heartbeat for this long is considered dead, and
  // pending calls fail with UNAVAILABLE. Used only for the session's own
  // Process.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Partial device names. The session uses only devices that match one of them,
  // and waits only for the tasks of these devices. Empty: all devices.
  std::vector<std::string> device_filters;
  // Whether the program closes the session, after a last save, when it is asked
  // to stop, as a MonitoredSession does. Until it is closed or their drain time
  // is over, draining tasks continue to run the session's steps.
  bool is_monitored = false;
  // The rewrites of the session's graphs, as in ConfigProto.graph_options. All
  // rewrites are on by default.
  GraphOptions graph_options;
  // The number of devices of each type of an in-process session, as in
  // ConfigProto.device_count. {"GPU", 2} creates two GPU devices in host
  // memory, so that placement can be tested on a machine without GPUs.
  std::map<std::string, int> device_count;
  // After this time, an in-process session logs on stderr what a slow step
  // waits for; for other sessions the server logs that (ServerOptions). A
  // session of a server logs on stderr, once, that the target is unreachable or
  // that the graph is not placed yet. Infinite: nothing is logged.
  absl::Duration log_waits_after = absl::Seconds(5);
  // The functions of this program that the graph of an in-process session may
  // call (docs/user/client_functions.md). Only for a session that creates its
  // own Process. Otherwise they are set in ProcessOptions, and for servers in
  // ServerOptions.
  ClientFunctions client_functions;
  // The Process whose threads and memory an in-process session uses; it must
  // outlive the session. Null: the session creates its own Process.
  Process* process = nullptr;
};

struct RunOptions {
  // The timeout of the run. Infinite: the session's operation_timeout is used.
  // A run that takes longer is cancelled. It fails with DEADLINE_EXCEEDED once
  // it cannot change any variable any more.
  absl::Duration timeout = absl::InfiniteDuration();
  // What the RunMetadata of the run records; nothing if the run has none.
  // Tracing a step takes about a microsecond per node.
  TraceLevel trace_level = TraceLevel::kNoTrace;
  bool output_partition_graphs = false;
};

// A list of tensors and of the values that replace them. A run returns
// INVALID_ARGUMENT for a value of another type, and for a tensor that is fed
// twice.
using FeedList = std::vector<std::pair<Output, Tensor>>;

class Session {
 public:
  // Connects to a target. "" is a session in this process with its own
  // variables, which end with the session. "zmq://host:port" is a server; the
  // variables of its cluster outlive sessions.
  //
  // Returns INVALID_ARGUMENT if the target does not parse, UNAVAILABLE if no
  // server answers within the connect timeout, and the scope's error if
  // building the graph failed. Defined in //libs/api, which implements the
  // targets.
  static absl::StatusOr<std::unique_ptr<Session>> Connect(
      const std::string& target, const Scope& scope,
      const SessionOptions& options = {});

  // Clears containers on those devices of a server's cluster that pass
  // options.device_filters. If `containers` is empty, clears each device's
  // default container. Ends all sessions of that server, and sessions of other
  // servers that have resources in one of the containers. The next call in such
  // a session fails with ABORTED.
  static absl::Status Reset(const std::string& target,
                            const std::vector<std::string>& containers,
                            const SessionOptions& options = {});

  // Creates a session of an existing master. Runs wait through `scheduler`.
  // `files`, which file_system() returns, must exist as long as the master. The
  // nodes added between two runs may take `max_extension_bytes` in serialized
  // form.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
      const Scope& scope, const SessionOptions& options,
      FileSystem* files = nullptr,
      int64_t max_extension_bytes = kMaxGraphDefBytes);

  // Closes the session unless that was done, and waits until the `done`
  // callbacks of asynchronous runs have returned. Must not be called from such
  // a callback.
  ~Session();

  // Receives the result of an asynchronous run: an error, or the values of the
  // fetches in order.
  using RunDone = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;

  // Fetches one tensor.
  absl::StatusOr<Tensor> Run(const Output& fetch) { return Run({}, fetch); }
  absl::StatusOr<Tensor> Run(const FeedList& feeds, const Output& fetch,
                             const RunOptions& options = {},
                             RunMetadata* metadata = nullptr);
  // Runs an operation as a target.
  absl::Status Run(const Operation& target) { return Run({}, target); }
  absl::Status Run(const FeedList& feeds, const Operation& target,
                   const RunOptions& options = {},
                   RunMetadata* metadata = nullptr);
  // Fetches several tensors and runs targets, in one step. In this and the
  // following functions, `metadata` receives what the options request; it is
  // unchanged after an error.
  absl::StatusOr<std::vector<Tensor>> Run(
      const FeedList& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {},
      const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // Runs a step in which tensors and operations are given by name ("x:0",
  // "train/update"), for imported graphs. As in TensorFlow's C API, fed values
  // may have any shape; all other calls refuse a shape that contradicts the
  // graph.
  absl::StatusOr<std::vector<Tensor>> RunNamed(
      const std::vector<std::pair<std::string, Tensor>>& feeds,
      const std::vector<std::string>& fetches,
      const std::vector<std::string>& targets, const RunOptions& options = {},
      RunMetadata* metadata = nullptr);

  // A partial run is one step whose feeds arrive in several calls; each call
  // returns the fetches that can be computed so far. All feeds, fetches and
  // targets of the run are declared first. Each node runs once, as soon as its
  // inputs are available. Several threads may feed and fetch at once.
  //
  // The run ends when everything was fed and fetched, with an error, or with
  // the session. As in TensorFlow, it cannot be ended in another way. Until
  // then it takes memory on the cluster, and counts as a callable there.
  //
  //   ASSIGN_OR_RETURN(auto run, session->PartialRunSetup({a, b}, {r1, r2}));
  //   ASSIGN_OR_RETURN(auto first, session->PartialRun(run, {{a, one}}, {r1}));
  //   ASSIGN_OR_RETURN(auto rest, session->PartialRun(run, {{b, first[0]}},
  //                                                   {r2}));
  //
  // PartialRun returns INVALID_ARGUMENT, and leaves the run unchanged, if a
  // feed or fetch was not declared or was used already, or if a fetch needs a
  // feed that is missing.
  absl::StatusOr<std::string> PartialRunSetup(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::vector<Tensor>> PartialRun(
      const std::string& handle, const FeedList& feeds,
      const std::vector<Output>& fetches = {});

  // A prepared combination of feeds, fetches and targets. Each of its runs
  // sends only values to the master.
  class Callable;
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const protocol::CallableSpec& spec);

  // Sends the nodes that were added to the graph since the last run; each run
  // does this automatically. Extend and such a run return RESOURCE_EXHAUSTED,
  // with the names of the largest nodes, if the new nodes take more than 2 GiB.
  absl::Status Extend();

  // Cancels running steps, which fail with CANCELLED, and ends the session.
  // Later runs fail with FAILED_PRECONDITION.
  absl::Status Close();

  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices();

  // Returns the placement of the nodes, in order. It is recorded only if the
  // session logs placement.
  std::vector<protocol::NodePlacement> Placement() const;

  Scheduler& scheduler() const { return scheduler_; }

  // Returns the file system that kernels of this process use: the machine's
  // files, and those of checkpoint writers ("zmq://") and of object stores
  // ("s3://", "gs://"). Valid while the session exists; null if Create was
  // called without files.
  FileSystem* file_system() const { return files_; }

 private:
  Session(std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
          std::shared_ptr<GraphState> state, uint64_t id, FileSystem* files,
          int64_t max_extension_bytes);

  // Returns the names of the arguments; INVALID_ARGUMENT for null outputs and
  // operations.
  static absl::StatusOr<protocol::CallableSpec> SpecOf(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets);

  struct AsyncRun;
  // The client's state of a partial run.
  struct OpenPartialRun;
  // One call of a partial run: the positions of its feeds and fetches.
  struct PartialCall {
    uint64_t callable = 0;
    std::vector<int> feeds;
    std::vector<int> fetches;
  };
  // New nodes of the graph that are being sent to the master.
  struct Extension {
    int num_nodes = 0;  // of the graph, when they were sent
    int num_functions = 0;
    int from_node = 0;
    int from_function = 0;
    int64_t from_version = 0;
  };

  // A callable of the master, with the shapes of its feeds.
  struct MadeCallable {
    uint64_t id = 0;  // 0: not made
    FeedShapes feeds;
  };
  // The state of a callable that one thread prepares for Run, with the events
  // of threads that wait for it. Guarded by mutex_.
  struct Making {
    std::optional<absl::StatusOr<const MadeCallable*>> made;
    std::vector<std::shared_ptr<Event>> waiting;
  };

  // Returns the master, with calls that block this thread.
  protocol::BlockingMaster master() { return {*master_, scheduler_}; }

  // Returns the nodes to send; nullopt if all were sent. Waits while another
  // thread sends nodes. The caller must end the extension with EndExtension.
  absl::StatusOr<std::optional<Extension>> BeginExtension();
  absl::Status EndExtension(const Extension& extension,
                            absl::StatusOr<protocol::ExtensionResult> result);
  absl::StatusOr<protocol::ExtensionResult> Send(const Extension& extension);
  // Returns the serialized nodes and functions of the extension.
  absl::StatusOr<std::string> Export(const Extension& extension) const;
  // Wakes the threads that wait for the end of another thread's extension.
  void WakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the threads that wait for a callable that another thread prepares.
  void WakeWaitingForCallables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  enum class FeedCheck { kNone, kShapes };
  absl::StatusOr<std::vector<Tensor>> RunSpec(
      const protocol::CallableSpec& spec, absl::Span<const Tensor> feeds,
      FeedCheck check, const RunOptions& options, RunMetadata* metadata);
  // Opens a partial run of `callable`, which was made for this run; returns the
  // run's handle.
  absl::StatusOr<std::string> OpenPartial(uint64_t callable,
                                          const std::vector<Output>& feeds,
                                          const std::vector<Output>& fetches)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that the feeds and fetches are used, and that a call is pending.
  absl::StatusOr<PartialCall> BeginPartialCall(
      const std::string& handle, const FeedList& feeds,
      const std::vector<Output>& fetches) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that a call has ended. After an error, or if everything was used
  // and no other call is pending, the partial run has ended, too.
  void EndPartialCall(const std::string& handle, bool has_failed)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RunCallableAsync(const MadeCallable& callable, std::vector<Tensor> feeds,
                        size_t num_fetches, const RunOptions& options,
                        RunMetadata* metadata, RunDone done);
  // Returns the callable of Run for the key if it can be run now; otherwise
  // null. Callables of Run exist until the session ends.
  const MadeCallable* FindWarm(const std::string& key) const;
  absl::StatusOr<const MadeCallable*> CallableFor(
      const protocol::CallableSpec& spec);
  // Prepares the callable, or waits for the thread that already prepares it.
  // All of these threads get the same result.
  absl::StatusOr<const MadeCallable*> MakeOnce(
      const std::string& key, const protocol::CallableSpec& spec)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<const MadeCallable*> Make(const std::string& key,
                                           const protocol::CallableSpec& spec)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<const MadeCallable*> EndMaking(
      const std::string& key, absl::StatusOr<const MadeCallable*> result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint64_t> NewCallable(const protocol::CallableSpec& spec);
  // Releases a callable at the master without waiting for the answer.
  void Release(uint64_t callable);
  // Runs the callable and waits for the result. Returns INVALID_ARGUMENT for a
  // feed whose shape contradicts the graph.
  absl::Status RunCallable(const MadeCallable& callable,
                           absl::Span<const Tensor> feeds,
                           absl::Span<Tensor> fetches,
                           const RunOptions& options, RunMetadata* metadata);

  const std::shared_ptr<protocol::Master> master_;
  Scheduler& scheduler_;
  const std::shared_ptr<GraphState> state_;
  const uint64_t id_;
  FileSystem* const files_;
  const int64_t max_extension_bytes_;

  InFlight async_runs_;

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_extending_ ABSL_GUARDED_BY(mutex_) = false;  // a thread sends nodes
  std::vector<std::shared_ptr<Event>> waiting_ ABSL_GUARDED_BY(mutex_);
  int nodes_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int functions_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<protocol::NodePlacement> placement_ ABSL_GUARDED_BY(mutex_);
  FlatHashMap<std::string, std::shared_ptr<OpenPartialRun>> partial_runs_
      ABSL_GUARDED_BY(mutex_);
  // Callables of Run; the key is the spec as one string.
  FlatHashMap<std::string, std::unique_ptr<const MadeCallable>> callables_
      ABSL_GUARDED_BY(mutex_);
  // Callables of Run that a thread is preparing; the key is the spec as one
  // string.
  FlatHashMap<std::string, std::shared_ptr<Making>> making_
      ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Must not outlive its session.
class Session::Callable {
 public:
  ~Callable();

  // Runs a step. The values of `feeds` are in the order of the callable's
  // feeds, the results in the order of its fetches.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds = {},
                                          const RunOptions& options = {},
                                          RunMetadata* metadata = nullptr);
  // Runs a step and stores the results in the caller's tensors, for loops where
  // nanoseconds matter. REQUIRES: `fetches` has one tensor for each fetch of
  // the callable.
  absl::Status RunInto(absl::Span<const Tensor> feeds,
                       absl::Span<Tensor> fetches,
                       const RunOptions& options = {},
                       RunMetadata* metadata = nullptr);
  // Runs a step without waiting for it. `done` is called once, on a thread that
  // may block; `metadata` must exist until then.
  void RunAsync(std::vector<Tensor> feeds, RunDone done,
                const RunOptions& options = {},
                RunMetadata* metadata = nullptr);

 private:
  friend class Session;
  // The caller sets the id of the master's callable later.
  Callable(Session& session, FeedShapes feeds, size_t num_fetches)
      : session_(session),
        made_{.feeds = std::move(feeds)},
        num_fetches_(num_fetches) {}

  Session& session_;
  MadeCallable made_;
  const size_t num_fetches_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SESSION_SESSION_H_
