// Session is the client's connection of a graph to a master: it sends new nodes
// of the graph, and runs parts of the graph.
//
//   Scope root = Scope::Root();
//   auto x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   auto y = ops::Mul(root, x, 2.0f);
//   ASSIGN_OR_RETURN(auto session, Session::Connect("", root));
//   ASSIGN_OR_RETURN(Tensor value, session->Run({{x, Tensor::Scalar(3.0f)}},
//   y));
//
// The first run sends the whole graph, later ones the nodes added since; a
// graph that could not be built is refused with the error of its scopes.
//
// Threads: runs may be made from several threads at once, as long as none of
// them adds to the graph. While one of them sends new nodes, runs that were
// made before continue, and others wait for it. Close may be called at any
// time. Errors are the master's, with TensorFlow's codes; the session stays
// usable after each except ABORTED.
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

class Process;  // libs/runtime: threads and memory; only passed through here

struct SessionOptions {
  bool allow_soft_placement = false;
  // Prints "name: (op): device" for each node, once, when it is placed.
  bool log_device_placement = false;
  bool isolate_session_state = false;
  // The timeout of each run without its own, and of each other call to the
  // cluster.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // How long Connect waits for the task at the target. TensorFlow waits
  // forever.
  absl::Duration connect_timeout = absl::Minutes(1);
  // A server without heartbeats for this long counts as dead, and pending calls
  // fail with UNAVAILABLE. For the session's own Process.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Partial device names: only devices that match one are used, and only their
  // tasks are waited for. Empty: all.
  std::vector<std::string> device_filters;
  // The program saves and closes the session when it is asked to stop, as a
  // MonitoredSession does. Draining tasks continue to run its steps until then,
  // or until their drain time is over.
  bool is_monitored = false;
  // The rewrites of its graphs, as ConfigProto.graph_options: all, by default.
  GraphOptions graph_options;
  // Devices of an in-process session by type, as ConfigProto.device_count.
  // {"GPU", 2} creates two GPU devices in host memory, so that placement can be
  // tested on a machine without GPUs.
  std::map<std::string, int> device_count;
  // An in-process session logs on stderr what its slow steps wait for; for
  // other sessions see ServerOptions. A session of a server logs there, once,
  // that the target is unreachable, or that its graph is not placed yet.
  // Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  // The functions of this program that the graph calls, in an in-process
  // session (docs/user/client_functions.md). For its own Process; otherwise
  // they are set in ProcessOptions, and for servers by their programs
  // (ServerOptions).
  ClientFunctions client_functions;
  // The Process whose threads and memory an in-process session uses; it must
  // outlive the session. Null: the session creates its own Process.
  Process* process = nullptr;
};

struct RunOptions {
  // Infinite: the session's operation_timeout. A longer run is ended, and fails
  // with DEADLINE_EXCEEDED once it cannot change any variable any more.
  absl::Duration timeout = absl::InfiniteDuration();
  // The contents of the RunMetadata of the run; nothing is recorded for a run
  // without one. Tracing a step takes about a microsecond per node.
  TraceLevel trace_level = TraceLevel::kNoTrace;
  bool output_partition_graphs = false;
};

// Values for tensors, by the tensor that they replace. INVALID_ARGUMENT for a
// value of another type, and for a tensor that is fed twice.
using FeedList = std::vector<std::pair<Output, Tensor>>;

class Session {
 public:
  // Connects to a target: "" is a session in this process, with its own
  // variables, which end with it; "zmq://host:port" is a server, whose
  // cluster's variables outlive sessions. INVALID_ARGUMENT if the target does
  // not parse, UNAVAILABLE if there is no server within the connect timeout;
  // the scope's error if building the graph failed. Defined by //libs/api,
  // which implements the targets.
  static absl::StatusOr<std::unique_ptr<Session>> Connect(
      const std::string& target, const Scope& scope,
      const SessionOptions& options = {});

  // Clears containers on the devices of a server's cluster that pass
  // options.device_filters; none named: each device's default container. Ends
  // all sessions of that server, and those of other servers that have resources
  // in one of the containers: their next call fails with ABORTED.
  static absl::Status Reset(const std::string& target,
                            const std::vector<std::string>& containers,
                            const SessionOptions& options = {});

  // Uses an existing master; runs wait through `scheduler`. `files` (see
  // file_system) must live as long as the master. The nodes added between two
  // runs may take `max_extension_bytes`, serialized.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
      const Scope& scope, const SessionOptions& options,
      FileSystem* files = nullptr,
      int64_t max_extension_bytes = kMaxGraphDefBytes);

  // Closes the session, unless it is closed, and waits for the `done` of
  // asynchronous runs; so it must not be called from one.
  ~Session();

  // Receives the result of an asynchronous run: its fetches, in order.
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
  // Fetches several tensors and runs targets, in one step. `metadata`, here and
  // elsewhere, receives what the options request; unchanged after an error.
  absl::StatusOr<std::vector<Tensor>> Run(
      const FeedList& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {},
      const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // The same by names, for imported graphs: "x:0", "train/update". Values of
  // any shape may be fed, as in TensorFlow's C API; all other calls refuse a
  // shape that contradicts the graph.
  absl::StatusOr<std::vector<Tensor>> RunNamed(
      const std::vector<std::pair<std::string, Tensor>>& feeds,
      const std::vector<std::string>& fetches,
      const std::vector<std::string>& targets, const RunOptions& options = {},
      RunMetadata* metadata = nullptr);

  // A partial run: one step whose feeds arrive in several calls, and whose
  // fetches are returned as far as these allow. First all its feeds, fetches
  // and targets must be declared; each node runs once, as soon as it can. It
  // ends when everything was fed and fetched, with an error, or with the
  // session; there is no other way, as in TensorFlow, and until then it takes
  // memory on the cluster, and counts as a callable there. Several threads may
  // feed and fetch at once.
  //
  //   ASSIGN_OR_RETURN(auto run, session->PartialRunSetup({a, b}, {r1, r2}));
  //   ASSIGN_OR_RETURN(auto first, session->PartialRun(run, {{a, one}}, {r1}));
  //   ASSIGN_OR_RETURN(auto rest, session->PartialRun(run, {{b, first[0]}},
  //                                                   {r2}));
  //
  // INVALID_ARGUMENT, which leaves the run unchanged, for a feed or fetch that
  // was not declared, was used already, or needs a feed that is missing.
  absl::StatusOr<std::string> PartialRunSetup(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::vector<Tensor>> PartialRun(
      const std::string& handle, const FeedList& feeds,
      const std::vector<Output>& fetches = {});

  // Prepared (feeds, fetches, targets): its runs only carry values.
  class Callable;
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const protocol::CallableSpec& spec);

  // Sends the nodes added to the graph since the last run; runs do it by
  // themselves. RESOURCE_EXHAUSTED, naming the largest nodes, for more than 2
  // GiB; also from each run that would send it.
  absl::Status Extend();

  // Cancels running steps (CANCELLED) and ends the session. Later runs fail
  // with FAILED_PRECONDITION.
  absl::Status Close();

  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices();

  // The placement of nodes, in order; kept only if the session logs placement.
  std::vector<protocol::NodePlacement> Placement() const;

  Scheduler& scheduler() const { return scheduler_; }

  // The files that kernels of this process access: the machine's, those of
  // checkpoint writers ("zmq://") and of object stores ("s3://", "gs://").
  // Valid as long as the session; null if Create was called without files.
  FileSystem* file_system() const { return files_; }

 private:
  Session(std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
          std::shared_ptr<GraphState> state, uint64_t id, FileSystem* files,
          int64_t max_extension_bytes);

  // Returns the names; INVALID_ARGUMENT for null outputs and operations.
  static absl::StatusOr<protocol::CallableSpec> SpecOf(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets);

  struct AsyncRun;
  // The client's state of a partial run.
  struct OpenPartialRun;
  // The feeds and fetches of one call of it, by index.
  struct PartialCall {
    uint64_t callable = 0;
    std::vector<int> feeds;
    std::vector<int> fetches;
  };
  // New nodes of the graph on their way to the master.
  struct Extension {
    int num_nodes = 0;  // of the graph at that time
    int num_functions = 0;
    int from_node = 0;
    int from_function = 0;
    int64_t from_version = 0;
  };

  // A callable of the master, and the shapes of its feeds.
  struct MadeCallable {
    uint64_t id = 0;  // 0: there is none
    FeedShapes feeds;
  };
  // A callable of Run that a thread prepares, and the threads that wait for it.
  // Protected by mutex_.
  struct Making {
    std::optional<absl::StatusOr<const MadeCallable*>> made;
    std::vector<std::shared_ptr<Event>> waiting;
  };

  // The master, with calls that block this thread.
  protocol::BlockingMaster master() { return {*master_, scheduler_}; }

  // None if all is sent. Waits while another thread sends. What it returns must
  // be ended with EndExtension.
  absl::StatusOr<std::optional<Extension>> BeginExtension();
  absl::Status EndExtension(const Extension& extension,
                            absl::StatusOr<protocol::ExtensionResult> result);
  absl::StatusOr<protocol::ExtensionResult> Send(const Extension& extension);
  // The nodes and functions of the extension, serialized.
  absl::StatusOr<std::string> Export(const Extension& extension) const;
  // Wakes the threads that wait for the end of another thread's extension.
  void WakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the threads that wait for a callable that another thread prepares.
  void WakeWaitingForCallables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  enum class FeedCheck { kNone, kShapes };
  absl::StatusOr<std::vector<Tensor>> RunSpec(
      const protocol::CallableSpec& spec, absl::Span<const Tensor> feeds,
      FeedCheck check, const RunOptions& options, RunMetadata* metadata);
  // Opens a run of a callable that was made for it; returns its handle.
  absl::StatusOr<std::string> OpenPartial(uint64_t callable,
                                          const std::vector<Output>& feeds,
                                          const std::vector<Output>& fetches)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that the feeds and fetches are used, and that a call is pending.
  absl::StatusOr<PartialCall> BeginPartialCall(
      const std::string& handle, const FeedList& feeds,
      const std::vector<Output>& fetches) ABSL_LOCKS_EXCLUDED(mutex_);
  // The call has ended. So has the run, after an error, or if everything was
  // used and no other call is pending.
  void EndPartialCall(const std::string& handle, bool has_failed)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RunCallableAsync(const MadeCallable& callable, std::vector<Tensor> feeds,
                        size_t num_fetches, const RunOptions& options,
                        RunMetadata* metadata, RunDone done);
  // The callable of Run for that key, if it can be run now; otherwise null.
  // Callables of Run live as long as the session.
  const MadeCallable* FindWarm(const std::string& key) const;
  absl::StatusOr<const MadeCallable*> CallableFor(
      const protocol::CallableSpec& spec);
  // Prepares the callable, or waits for the thread that prepares it: one result
  // for all of them.
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
  // No caller waits for the release.
  void Release(uint64_t callable);
  // Runs and waits. INVALID_ARGUMENT for a feed whose shape contradicts the
  // graph.
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
  // Callables of Run, by their spec in one string.
  FlatHashMap<std::string, std::unique_ptr<const MadeCallable>> callables_
      ABSL_GUARDED_BY(mutex_);
  // Callables of Run that a thread prepares now, likewise.
  FlatHashMap<std::string, std::shared_ptr<Making>> making_
      ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Must not outlive its session.
class Session::Callable {
 public:
  ~Callable();

  // Values in the order of the callable's feeds; results in that of its
  // fetches.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds = {},
                                          const RunOptions& options = {},
                                          RunMetadata* metadata = nullptr);
  // The same into the caller's tensors, for loops where nanoseconds matter.
  // REQUIRES: as many tensors as the callable has fetches.
  absl::Status RunInto(absl::Span<const Tensor> feeds,
                       absl::Span<Tensor> fetches,
                       const RunOptions& options = {},
                       RunMetadata* metadata = nullptr);
  // The same without waiting. `done` is called once, on a thread that may
  // block; `metadata` must live until then.
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
