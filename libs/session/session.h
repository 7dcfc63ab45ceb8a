// Session: the client's hand on a graph: connects to a master, ships what was
// added to the graph, runs parts of it.
//
//   Scope root = Scope::Root();
//   auto x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   auto y = ops::Mul(root, x, 2.0f);
//   ASSIGN_OR_RETURN(auto session, Session::Connect("", root));
//   ASSIGN_OR_RETURN(Tensor value, session->Run({{x, Tensor::Scalar(3.0f)}},
//   y));
//
// The first run sends the whole graph, later ones what was added since; a graph
// whose building failed is refused with the error that its scopes kept.
//
// Threads: runs may be made from several threads at once, as long as none of
// them adds to the graph. While one of them sends what was added, runs that
// were made before go on, and others wait for it. Close may come at any time.
// Errors are the master's, TensorFlow's codes; the session stays usable after
// each but ABORTED.
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
#include "libs/base/hash_tables.h"
#include "libs/base/in_flight.h"
#include "libs/base/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/graph/graph_def.h"
#include "libs/ops/scope.h"
#include "libs/protocol/blocking_master.h"
#include "libs/protocol/graph_options.h"
#include "libs/protocol/master.h"
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
  // Bound of each run that gives none of its own, and of each other call to
  // the cluster.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // How long Connect waits for the task at the target to be there. TensorFlow
  // waits for ever.
  absl::Duration connect_timeout = absl::Minutes(1);
  // A server that has shown no sign of life for so long is taken for dead, and
  // what was asked of it fails with UNAVAILABLE. Of a Process of its own.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Partial device names: only devices that match one are used, and only their
  // tasks are waited for. Empty: all.
  std::vector<std::string> device_filters;
  // The program saves and closes the session when it is told to stop, as a
  // MonitoredSession does. Tasks that drain go on running its steps until then,
  // or until their drain time is over.
  bool is_monitored = false;
  // Which rewrites of its graphs are wanted, as ConfigProto.graph_options: all,
  // unless it says otherwise.
  GraphOptions graph_options;
  // Devices of an in-process session by type, as ConfigProto.device_count.
  // {"GPU", 2} makes two GPU devices of host memory, so that placement can be
  // tried on a machine without any.
  std::map<std::string, int> device_count;
  // An in-process session logs on stderr what its steps wait for that take
  // longer; of others ServerOptions says it. A session of a server logs there,
  // once, that nobody is at the target, or that its graph is not placed yet.
  // Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  // What the graph calls of this program, in an in-process session
  // (docs/user/client_functions.md). Of a Process of its own; else they are
  // given to that (ProcessOptions), and to servers by their programs
  // (ServerOptions).
  ClientFunctions client_functions;
  // Whose threads and memory an in-process session uses; it must outlive the
  // session. Null: the session makes a Process of its own.
  Process* process = nullptr;
};

struct RunOptions {
  // Infinite: the session's operation_timeout. What takes longer is ended, and
  // DEADLINE_EXCEEDED once nothing of it changes any variable any more.
  absl::Duration timeout = absl::InfiniteDuration();
  // What the RunMetadata of the run is to tell; nothing is recorded for a run
  // that is given none. A step that is traced takes about a microsecond longer
  // for each node.
  TraceLevel trace_level = TraceLevel::kNoTrace;
  bool output_partition_graphs = false;
};

// Values for tensors, by what they replace. INVALID_ARGUMENT for a value of
// another type, and for a tensor that is fed twice.
using FeedList = std::vector<std::pair<Output, Tensor>>;

class Session {
 public:
  // Connects to a target: "" is a session in this process, with variables of
  // its own that end with it; "zmq://host:port" is a server, whose cluster's
  // variables outlive sessions. INVALID_ARGUMENT where the target does not
  // parse, UNAVAILABLE where there is no server within the connect timeout; the
  // scope's error where building the graph failed.
  // Defined by //libs/api, which knows how a target is reached.
  static absl::StatusOr<std::unique_ptr<Session>> Connect(
      const std::string& target, const Scope& scope,
      const SessionOptions& options = {});

  // Clears containers on the devices of a server's cluster, those that pass
  // options.device_filters; none named: each device's default one. Ends all
  // sessions of that server, and those of other servers that have resources in
  // one of the containers: their next use is ABORTED.
  static absl::Status Reset(const std::string& target,
                            const std::vector<std::string>& containers,
                            const SessionOptions& options = {});

  // On a master that the caller has; `scheduler` is what runs wait with.
  // `files` (see file_system) live as long as the master. What is added between
  // two runs may take `max_extension_bytes`, serialised.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
      const Scope& scope, const SessionOptions& options,
      FileSystem* files = nullptr,
      int64_t max_extension_bytes = kMaxGraphDefBytes);

  // Closes, if that was not done, and waits for the `done` of asynchronous
  // runs; so it is not to be called from one.
  ~Session();

  // What became of an asynchronous run: its fetches, in order.
  using RunDone = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;

  // Fetches one tensor.
  absl::StatusOr<Tensor> Run(const Output& fetch) { return Run({}, fetch); }
  absl::StatusOr<Tensor> Run(const FeedList& feeds, const Output& fetch,
                             const RunOptions& options = {},
                             RunMetadata* metadata = nullptr);
  // Runs an operation for what it does.
  absl::Status Run(const Operation& target) { return Run({}, target); }
  absl::Status Run(const FeedList& feeds, const Operation& target,
                   const RunOptions& options = {},
                   RunMetadata* metadata = nullptr);
  // Fetches several tensors and runs targets, in one step. `metadata` here and
  // elsewhere: what the options ask to be told; as it was after an error.
  absl::StatusOr<std::vector<Tensor>> Run(
      const FeedList& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {},
      const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // The same by names, for graphs that were imported: "x:0", "train/update".
  // Values of any shape may be fed, as in TensorFlow's C API; all other calls
  // refuse a shape that contradicts the graph.
  absl::StatusOr<std::vector<Tensor>> RunNamed(
      const std::vector<std::pair<std::string, Tensor>>& feeds,
      const std::vector<std::string>& fetches,
      const std::vector<std::string>& targets, const RunOptions& options = {},
      RunMetadata* metadata = nullptr);

  // A partial run: one step whose feeds come bit by bit, and whose fetches are
  // taken as far as these allow. First all that it will feed, fetch and run is
  // said; each node runs once, as soon as it can. It ends when all was fed and
  // fetched, with an error, or with the session; there is no other way, as in
  // TensorFlow, and until then it takes memory on the cluster, and counts as a
  // callable there. Several threads may feed and fetch at once.
  //
  //   ASSIGN_OR_RETURN(auto run, session->PartialRunSetup({a, b}, {r1, r2}));
  //   ASSIGN_OR_RETURN(auto first, session->PartialRun(run, {{a, one}}, {r1}));
  //   ASSIGN_OR_RETURN(auto rest, session->PartialRun(run, {{b, first[0]}},
  //                                                   {r2}));
  //
  // INVALID_ARGUMENT, which leaves the run as it was, for a feed or fetch that
  // was not said, has had its turn, or needs a feed that has not come.
  absl::StatusOr<std::string> PartialRunSetup(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::vector<Tensor>> PartialRun(
      const std::string& handle, const FeedList& feeds,
      const std::vector<Output>& fetches = {});

  // One (feeds, fetches, targets) made ready: runs of it carry values only.
  class Callable;
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets = {});
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(
      const protocol::CallableSpec& spec);

  // Sends what was added to the graph since the last run; runs do it by
  // themselves. RESOURCE_EXHAUSTED, naming the largest nodes, for more than
  // 2 GiB; so does each run that would send it.
  absl::Status Extend();

  // Cancels what runs (CANCELLED) and ends the session. Later runs fail with
  // FAILED_PRECONDITION.
  absl::Status Close();

  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices();

  // Where nodes were placed, in order of placement; kept only when the session
  // logs placement.
  std::vector<protocol::NodePlacement> Placement() const;

  Scheduler& scheduler() const { return scheduler_; }

  // Files as kernels of this process reach them: the machine's, those of
  // checkpoint writers ("zmq://") and of object stores ("s3://", "gs://"). As
  // long as the session; null for one that Create was given no files for.
  FileSystem* file_system() const { return files_; }

 private:
  Session(std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
          std::shared_ptr<GraphState> state, uint64_t id, FileSystem* files,
          int64_t max_extension_bytes);

  // Names; INVALID_ARGUMENT for what is null.
  static absl::StatusOr<protocol::CallableSpec> SpecOf(
      const std::vector<Output>& feeds, const std::vector<Output>& fetches,
      const std::vector<Operation>& targets);

  struct AsyncRun;
  // A partial run as its client sees it.
  struct OpenPartialRun;
  // What one call of it brings and takes, by position.
  struct PartialCall {
    uint64_t callable = 0;
    std::vector<int> feeds;
    std::vector<int> fetches;
  };
  // What is added to the graph, on its way to the master.
  struct Growth {
    int num_nodes = 0;  // of the graph, then
    int num_functions = 0;
    int from_node = 0;
    int from_function = 0;
    int64_t from_version = 0;
  };

  // A callable of the master, and what it may be fed.
  struct MadeCallable {
    uint64_t id = 0;  // 0: there is none
    FeedShapes feeds;
  };
  // A callable of Run that a thread makes, and the threads that wait for it.
  // Protected by mutex_.
  struct Making {
    std::optional<absl::StatusOr<const MadeCallable*>> made;
    std::vector<std::shared_ptr<Event>> waiting;
  };

  // For this thread, which waits.
  protocol::BlockingMaster master() { return {*master_, scheduler_}; }

  // None when all is sent. Waits while another thread sends. What is under way
  // ends with EndGrowth.
  absl::StatusOr<std::optional<Growth>> BeginGrowth();
  absl::Status EndGrowth(const Growth& growth,
                         absl::StatusOr<protocol::ExtensionResult> result);
  absl::StatusOr<protocol::ExtensionResult> Send(const Growth& growth);
  // The nodes and functions of the growth, serialised.
  absl::StatusOr<std::string> Export(const Growth& growth) const;
  // Wakes those who wait for the end of another thread's growth.
  void WakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the threads that wait for a callable that another thread makes.
  void WakeWaitingForCallables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  enum class FeedCheck { kNone, kShapes };
  absl::StatusOr<std::vector<Tensor>> RunSpec(
      const protocol::CallableSpec& spec, absl::Span<const Tensor> feeds,
      FeedCheck check, const RunOptions& options, RunMetadata* metadata);
  // Of a callable that was made for it; its handle.
  absl::StatusOr<std::string> OpenPartial(uint64_t callable,
                                          const std::vector<Output>& feeds,
                                          const std::vector<Output>& fetches)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes that they have their turn, and that a call is under way.
  absl::StatusOr<PartialCall> TakeTurns(const std::string& handle,
                                        const FeedList& feeds,
                                        const std::vector<Output>& fetches)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // That call is over. The run is, too, after an error, or when all had its
  // turn and no other call is under way.
  void EndPartialCall(const std::string& handle, bool has_failed)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RunCallableAsync(const MadeCallable& callable, std::vector<Tensor> feeds,
                        size_t num_fetches, const RunOptions& options,
                        RunMetadata* metadata, RunDone done);
  // The callable of Run of that key, if it can be run now; else null. Callables
  // of Run live as long as the session.
  const MadeCallable* FindWarm(const std::string& key) const;
  absl::StatusOr<const MadeCallable*> CallableFor(
      const protocol::CallableSpec& spec);
  // Makes the callable, or waits for the thread that makes it: one result for
  // all of them.
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
  // Runs and waits. INVALID_ARGUMENT for a feed whose shape the graph
  // contradicts.
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
  bool is_growing_ ABSL_GUARDED_BY(mutex_) = false;  // a thread sends nodes
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
  // Callables of Run that a thread makes now, likewise.
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
  // The same into the caller's room; for loops that count nanoseconds.
  // REQUIRES: as many places as the callable has fetches.
  absl::Status RunInto(absl::Span<const Tensor> feeds,
                       absl::Span<Tensor> fetches,
                       const RunOptions& options = {},
                       RunMetadata* metadata = nullptr);
  // The same without waiting. `done` is called once, on a thread that may
  // block; until then `metadata` has to live.
  void RunAsync(std::vector<Tensor> feeds, RunDone done,
                const RunOptions& options = {},
                RunMetadata* metadata = nullptr);

 private:
  friend class Session;
  // The master's callable comes later.
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
