#include "libs/session/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/graph/import/graph_def.h"

namespace weft {
namespace {

// Returns a key that differs for different specs, because no node name contains
// these separators.
std::string Key(const protocol::CallableSpec& spec) {
  return absl::StrCat(absl::StrJoin(spec.feeds, ","), "|",
                      absl::StrJoin(spec.fetches, ","), "|",
                      absl::StrJoin(spec.targets, ","));
}

absl::Status CheckNotNull(bool is_null, absl::string_view what) {
  if (!is_null) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("A ", what,
                   " of this run is null: the builder that made "
                   "it failed, or nothing was assigned to it."));
}

absl::Status ClosedError() {
  return absl::FailedPreconditionError("Session has been closed.");
}

// Sets in `run` what the options request. `told` receives the requested
// metadata, and must exist until the run is done.
void AskFor(const RunOptions& options, const RunMetadata* metadata,
            RunMetadata& told, protocol::CallableRun& run) {
  run.wanted = {.trace_level = options.trace_level,
                .output_partition_graphs = options.output_partition_graphs};
  if (metadata != nullptr && run.wanted.any()) run.metadata = &told;
}

}  // namespace

absl::StatusOr<protocol::CallableSpec> Session::SpecOf(
    const std::vector<Output>& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets) {
  protocol::CallableSpec spec;
  for (const Output& feed : feeds) {
    RETURN_IF_ERROR(CheckNotNull(!feed, "feed"));
    spec.feeds.push_back(feed.name());
  }
  for (const Output& fetch : fetches) {
    RETURN_IF_ERROR(CheckNotNull(!fetch, "fetch"));
    spec.fetches.push_back(fetch.name());
  }
  for (const Operation& target : targets) {
    RETURN_IF_ERROR(CheckNotNull(!target, "target"));
    spec.targets.push_back(target.name());
  }
  return spec;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
    const Scope& scope, const SessionOptions& options, FileSystem* files,
    int64_t max_extension_bytes) {
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(
      const uint64_t id,
      protocol::BlockingMaster(*master, scheduler)
          .CreateSession(
              {.allow_soft_placement = options.allow_soft_placement,
               .log_device_placement = options.log_device_placement,
               .isolate_session_state = options.isolate_session_state,
               .operation_timeout = options.operation_timeout,
               .device_filters = options.device_filters,
               .graph_options = options.graph_options,
               .is_monitored = options.is_monitored}));
  return std::unique_ptr<Session>(new Session(std::move(master), scheduler,
                                              scope.shared_state(), id, files,
                                              max_extension_bytes));
}

Session::Session(std::shared_ptr<protocol::Master> master, Scheduler& scheduler,
                 std::shared_ptr<GraphState> state, uint64_t id,
                 FileSystem* files, int64_t max_extension_bytes)
    : master_(std::move(master)),
      scheduler_(scheduler),
      state_(std::move(state)),
      id_(id),
      files_(files),
      max_extension_bytes_(max_extension_bytes) {}

Session::~Session() {
  Close().IgnoreError();
  async_runs_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

// One asynchronous run. It owns the tensors to which the run's spans refer,
// until the run ends.
struct Session::AsyncRun {
  std::vector<Tensor> feeds;
  std::vector<Tensor> fetches;
  RunMetadata told;
  RunMetadata* metadata = nullptr;
  RunDone done;
};

void Session::RunCallableAsync(const MadeCallable& callable,
                               std::vector<Tensor> feeds, size_t num_fetches,
                               const RunOptions& options, RunMetadata* metadata,
                               RunDone done) {
  absl::Status fits = callable.feeds.Check(feeds);
  auto run = std::make_shared<AsyncRun>();
  run->feeds = std::move(feeds);
  run->fetches.resize(num_fetches);
  run->metadata = metadata;
  run->done = std::move(done);
  async_runs_.Begin();
  protocol::CallableRun args{.feeds = run->feeds,
                             .fetches = absl::MakeSpan(run->fetches),
                             .timeout = options.timeout};
  AskFor(options, metadata, run->told, args);
  auto end = [this, run](absl::Status status) {
    // A user's function may block, so it must not run on a thread of a step.
    scheduler_.Schedule(Pool::kBlocking, [this, run, status] {
      if (status.ok()) {
        if (run->metadata != nullptr) *run->metadata = std::move(run->told);
        run->done(std::move(run->fetches));
      } else {
        run->done(status);
      }
      async_runs_.End();
    });
  };
  if (!fits.ok()) return end(std::move(fits));
  master_->RunCallable(id_, callable.id, args, std::move(end));
}

absl::Status Session::Close() {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return absl::OkStatus();
    closed_ = true;
    WakeWaiting();
    WakeWaitingForCallables();
  }
  return master().CloseSession(id_);
}

void Session::WakeWaiting() {
  for (const auto& event : waiting_) event->Set();
  waiting_.clear();
}

void Session::WakeWaitingForCallables() {
  for (const auto& [key, making] : making_) {
    for (const auto& event : making->waiting) event->Set();
  }
}

absl::StatusOr<std::optional<Session::Extension>> Session::BeginExtension() {
  while (true) {
    std::shared_ptr<Event> ended;
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) return ClosedError();
      const int num_nodes = state_->graph.num_nodes();
      if (num_nodes == nodes_sent_) return std::nullopt;
      if (!std::exchange(is_extending_, true)) {
        return Extension{.num_nodes = num_nodes,
                         .num_functions = state_->graph.functions().size(),
                         .from_node = nodes_sent_,
                         .from_function = functions_sent_,
                         .from_version = version_};
      }
      ended = scheduler_.NewEvent();
      waiting_.push_back(ended);
    }
    ended->Wait();
  }
}

absl::Status Session::EndExtension(
    const Extension& extension,
    absl::StatusOr<protocol::ExtensionResult> result) {
  absl::MutexLock lock(&mutex_);
  is_extending_ = false;
  WakeWaiting();
  if (!result.ok()) return result.status();
  // If this throws, the extension is not recorded as sent, and is sent again
  // later.
  placement_.insert(placement_.end(), result->placement.begin(),
                    result->placement.end());
  nodes_sent_ = extension.num_nodes;
  functions_sent_ = extension.num_functions;
  version_ = result->version;
  return absl::OkStatus();
}

// No lock is held while the master places the nodes, because that may take
// minutes.
absl::Status Session::Extend() {
  return CatchExceptions([this]() -> absl::Status {
    RETURN_IF_ERROR(state_->error());
    ASSIGN_OR_RETURN(const std::optional<Extension> extension,
                     BeginExtension());
    if (!extension) return absl::OkStatus();
    // Other threads wait until the extension ends, so EndExtension must be
    // called on all paths.
    return EndExtension(*extension,
                        CatchExceptions([&] { return Send(*extension); }));
  });
}

absl::StatusOr<protocol::ExtensionResult> Session::Send(
    const Extension& extension) {
  ASSIGN_OR_RETURN(std::string graph_def, Export(extension));
  return master().ExtendSession(id_, {.graph_def = std::move(graph_def),
                                      .from_version = extension.from_version});
}

absl::StatusOr<std::string> Session::Export(const Extension& extension) const {
  auto graph_def =
      ExportGraphDef(state_->graph, {.first_id = extension.from_node,
                                     .first_function = extension.from_function,
                                     .max_bytes = max_extension_bytes_});
  if (graph_def.ok()) return graph_def;
  return Append(
      Annotate(graph_def.status(), "The graph can't be sent to the session"),
      "Or call Extend while the graph is built: each call sends the nodes "
      "added since the last one.");
}

absl::StatusOr<std::vector<DeviceAttributes>> Session::ListDevices() {
  return CatchExceptions([this] { return master().ListDevices(); });
}

std::vector<protocol::NodePlacement> Session::Placement() const {
  absl::MutexLock lock(&mutex_);
  return placement_;
}

absl::StatusOr<uint64_t> Session::NewCallable(
    const protocol::CallableSpec& spec) {
  RETURN_IF_ERROR(Extend());
  return master().MakeCallable(id_, spec);
}

void Session::Release(uint64_t callable) {
  master_->ReleaseCallable(id_, callable, [](const absl::Status&) {});
}

const Session::MadeCallable* Session::FindWarm(const std::string& key) const {
  absl::MutexLock lock(&mutex_);
  if (closed_) return nullptr;
  if (state_->graph.num_nodes() != nodes_sent_ && !is_extending_)
    return nullptr;
  auto it = callables_.find(key);
  return it == callables_.end() ? nullptr : it->second.get();
}

absl::StatusOr<const Session::MadeCallable*> Session::CallableFor(
    const protocol::CallableSpec& spec) {
  RETURN_IF_ERROR(state_->error());
  const std::string key = Key(spec);
  // The master validates new nodes at once, even if this run does not need
  // them. If another thread sends the nodes, its call validates them.
  if (const MadeCallable* warm = FindWarm(key)) return warm;
  RETURN_IF_ERROR(Extend());
  return MakeOnce(key, spec);
}

absl::StatusOr<const Session::MadeCallable*> Session::MakeOnce(
    const std::string& key, const protocol::CallableSpec& spec) {
  const std::shared_ptr<Event> ended = scheduler_.NewEvent();
  std::shared_ptr<Making> making;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return ClosedError();
    const auto it = callables_.find(key);
    if (it != callables_.end()) return it->second.get();
    const auto under_way = making_.find(key);
    if (under_way == making_.end()) {
      making_.emplace(key, std::make_shared<Making>());
    } else {
      making = under_way->second;
      making->waiting.push_back(ended);
    }
  }
  if (making == nullptr) {
    return EndMaking(key, CatchExceptions([&] { return Make(key, spec); }));
  }
  ended->Wait();
  absl::MutexLock lock(&mutex_);
  return making->made.has_value() ? *making->made : ClosedError();
}

absl::StatusOr<const Session::MadeCallable*> Session::Make(
    const std::string& key, const protocol::CallableSpec& spec) {
  auto callable = std::make_unique<MadeCallable>();
  callable->feeds = FeedShapes(state_->graph, spec.feeds);
  ASSIGN_OR_RETURN(const uint64_t id, master().MakeCallable(id_, spec));
  callable->id = id;
  const auto keep = [&]() -> absl::StatusOr<const MadeCallable*> {
    absl::MutexLock lock(&mutex_);
    return callables_.emplace(key, std::move(callable)).first->second.get();
  };
  auto kept = CatchExceptions(keep);
  // Release the callable, because the master would otherwise keep it until the
  // end of the session.
  if (!kept.ok()) Release(id);
  return kept;
}

absl::StatusOr<const Session::MadeCallable*> Session::EndMaking(
    const std::string& key, absl::StatusOr<const MadeCallable*> result) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Making> making =
      std::move(making_.extract(key).mapped());
  making->made = result;
  for (const auto& event : making->waiting) event->Set();
  return result;
}

absl::Status Session::RunCallable(const MadeCallable& callable,
                                  absl::Span<const Tensor> feeds,
                                  absl::Span<Tensor> fetches,
                                  const RunOptions& options,
                                  RunMetadata* metadata) {
  SyncCall call(scheduler_);
  protocol::CallableRun run{.feeds = feeds,
                            .fetches = fetches,
                            .timeout = options.timeout,
                            .thread = protocol::CallingThread::kWaits};
  RunMetadata told;
  AskFor(options, metadata, told, run);
  master_->RunCallable(id_, callable.id, run, call.Done());
  RETURN_IF_ERROR(call.Wait());
  if (metadata != nullptr) *metadata = std::move(told);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Session::RunSpec(
    const protocol::CallableSpec& spec, absl::Span<const Tensor> feeds,
    FeedCheck check, const RunOptions& options, RunMetadata* metadata) {
  std::vector<Tensor> results;
  // Exceptions are caught in the preparation, but not in the run itself, during
  // which other threads may use the objects made here.
  const auto prepare = [&]() -> absl::StatusOr<const MadeCallable*> {
    results.resize(spec.fetches.size());
    ASSIGN_OR_RETURN(const MadeCallable* made, CallableFor(spec));
    if (check == FeedCheck::kShapes) RETURN_IF_ERROR(made->feeds.Check(feeds));
    return made;
  };
  ASSIGN_OR_RETURN(const MadeCallable* callable, CatchExceptions(prepare));
  RETURN_IF_ERROR(RunCallable(*callable, feeds, absl::MakeSpan(results),
                              options, metadata));
  return results;
}

absl::StatusOr<std::vector<Tensor>> Session::Run(
    const FeedList& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets, const RunOptions& options,
    RunMetadata* metadata) {
  std::vector<Tensor> values;
  const auto describe = [&]() -> absl::StatusOr<protocol::CallableSpec> {
    RETURN_IF_ERROR(state_->error());
    std::vector<Output> fed;
    for (const auto& [output, value] : feeds) {
      fed.push_back(output);
      values.push_back(value);
    }
    return SpecOf(fed, fetches, targets);
  };
  ASSIGN_OR_RETURN(const protocol::CallableSpec spec,
                   CatchExceptions(describe));
  return RunSpec(spec, values, FeedCheck::kShapes, options, metadata);
}

absl::StatusOr<Tensor> Session::Run(const FeedList& feeds, const Output& fetch,
                                    const RunOptions& options,
                                    RunMetadata* metadata) {
  ASSIGN_OR_RETURN(
      std::vector<Tensor> results,
      Run(feeds, std::vector<Output>{fetch}, {}, options, metadata));
  return std::move(results[0]);
}

absl::Status Session::Run(const FeedList& feeds, const Operation& target,
                          const RunOptions& options, RunMetadata* metadata) {
  return Run(feeds, std::vector<Output>{}, {target}, options, metadata)
      .status();
}

absl::StatusOr<std::vector<Tensor>> Session::RunNamed(
    const std::vector<std::pair<std::string, Tensor>>& feeds,
    const std::vector<std::string>& fetches,
    const std::vector<std::string>& targets, const RunOptions& options,
    RunMetadata* metadata) {
  std::vector<Tensor> values;
  const auto describe = [&]() -> absl::StatusOr<protocol::CallableSpec> {
    protocol::CallableSpec named{.fetches = fetches, .targets = targets};
    for (const auto& [name, value] : feeds) {
      named.feeds.push_back(name);
      values.push_back(value);
    }
    return named;
  };
  ASSIGN_OR_RETURN(const protocol::CallableSpec spec,
                   CatchExceptions(describe));
  return RunSpec(spec, values, FeedCheck::kNone, options, metadata);
}

absl::StatusOr<std::unique_ptr<Session::Callable>> Session::MakeCallable(
    const std::vector<Output>& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets) {
  RETURN_IF_ERROR(state_->error());
  ASSIGN_OR_RETURN(const protocol::CallableSpec spec, CatchExceptions([&] {
                     return SpecOf(feeds, fetches, targets);
                   }));
  return MakeCallable(spec);
}

absl::StatusOr<std::unique_ptr<Session::Callable>> Session::MakeCallable(
    const protocol::CallableSpec& spec) {
  return CatchExceptions([&]() -> absl::StatusOr<std::unique_ptr<Callable>> {
    // The Callable is allocated first: if its allocation failed afterwards, the
    // master would keep an unused callable.
    std::unique_ptr<Callable> callable(new Callable(
        *this, FeedShapes(state_->graph, spec.feeds), spec.fetches.size()));
    ASSIGN_OR_RETURN(callable->made_.id, NewCallable(spec));
    return callable;
  });
}

Session::Callable::~Callable() {
  if (made_.id == 0) return;
  session_.master().ReleaseCallable(session_.id_, made_.id).IgnoreError();
}

absl::StatusOr<std::vector<Tensor>> Session::Callable::Run(
    absl::Span<const Tensor> feeds, const RunOptions& options,
    RunMetadata* metadata) {
  std::vector<Tensor> fetches(num_fetches_);
  RETURN_IF_ERROR(RunInto(feeds, absl::MakeSpan(fetches), options, metadata));
  return fetches;
}

absl::Status Session::Callable::RunInto(absl::Span<const Tensor> feeds,
                                        absl::Span<Tensor> fetches,
                                        const RunOptions& options,
                                        RunMetadata* metadata) {
  RETURN_IF_ERROR(made_.feeds.Check(feeds));
  return session_.RunCallable(made_, feeds, fetches, options, metadata);
}

void Session::Callable::RunAsync(std::vector<Tensor> feeds, RunDone done,
                                 const RunOptions& options,
                                 RunMetadata* metadata) {
  session_.RunCallableAsync(made_, std::move(feeds), num_fetches_, options,
                            metadata, std::move(done));
}

}  // namespace weft
