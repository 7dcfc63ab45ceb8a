#include "integration_tests/testing/monitored_client.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Elements of a variable, enough for several chunks if chunks are small.
constexpr int kNumElements = 500;
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr int kNumKept = 2;  // number of checkpoints that are kept
// Time after the last fault until all calls must succeed.
constexpr absl::Duration kSettling = absl::Seconds(40);
// A step whose call has failed may still take effect for this time.
constexpr absl::Duration kUnconfirmedTime = absl::Seconds(60);
// Maximum duration of a call that begins after the time kSettling.
constexpr absl::Duration kLongestCalmCall = absl::Minutes(1);
constexpr absl::Duration kMaxWaitForChief = absl::Minutes(5);
// How long a replica that starts after the end of training waits for a chief.
// Shorter than a call timeout.
constexpr absl::Duration kMaxWaitForNextChief = absl::Seconds(10);
// How long the chief waits for the other replicas to end. Longer than the
// restart of a client, and shorter than a call timeout.
constexpr absl::Duration kMaxWaitForEndedReplicas = absl::Seconds(30);
// The capacity of the queue in training with an input.
constexpr int kQueueCapacity = 3;
// steps before the second client starts
constexpr int64_t kStepsOfTheChief = 3;
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(300);

bool HasText(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

Tensor Filled(float value, int64_t num_elements = kNumElements) {
  Tensor tensor(DT_FLOAT, TensorShape({num_elements}));
  for (float& element : tensor.mutable_flat<float>()) element = value;
  return tensor;
}

// A logger that passes each line to a function.
class FunctionLogger : public Logger {
 public:
  explicit FunctionLogger(std::function<void(const std::string& line)> log)
      : log_(std::move(log)) {}
  void Log(Severity, absl::string_view message) override {
    if (log_) log_(std::string(message));
  }

 private:
  const std::function<void(const std::string& line)> log_;
};

}  // namespace

// ---- The program ----

namespace {

// Returns the gradients of step number n for a learning rate of 1. They are -1
// for one half of the elements, which counts steps, and -(2 * n + 1) for the
// other half, which becomes n * n.
Output GradientOfSquares(const Scope& worker, const Output& weights) {
  const Output count = ops::Slice(worker, weights, {0}, {kNumElements / 2});
  const Output minus_one = ops::Const(worker, Filled(-1, kNumElements / 2));
  return ops::Concat(
      worker,
      {minus_one, ops::Sub(worker, minus_one, ops::Mul(worker, count, 2.0f))},
      0);
}

train::SyncReplicasOptions ReplicasOf(MonitoredTraining training, int client) {
  train::SyncReplicasOptions options;
  options.total_num_replicas = kNumMonitoredClients;
  options.replicas_to_aggregate =
      training == MonitoredTraining::kWithBackup ? 1 : kNumMonitoredClients;
  if (training == MonitoredTraining::kNumberedReplicas) {
    options.replica_index = client;
  }
  return options;
}

}  // namespace

namespace {

// Returns an element from a queue. A QueueRunner fills the queue with `value`.
Output FromQueue(const Scope& worker, const std::string& container,
                 const Output& value) {
  const Scope scope = worker.WithContainer(container).WithName("input");
  const auto queue = ops::Queue::Fifo(scope, {DT_FLOAT},
                                      {.shapes = {PartialShape({kNumElements})},
                                       .capacity = kQueueCapacity,
                                       .shared_name = "input"});
  train::AddQueueRunner(
      worker,
      {.queue = queue, .enqueue_ops = {queue.Enqueue(worker, {value})}});
  return queue.Dequeue(worker)[0];
}

}  // namespace

absl::Status CheckWeights(MonitoredTraining training, const Tensor& weights,
                          int64_t step) {
  const auto values = weights.flat<float>();
  const auto count = static_cast<float>(step);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_square = i >= values.size() / 2;
    const float expected = !IsSynchronous(training) ? values[0]
                           : is_square              ? count * count
                                                    : count;
    if (values[i] == expected) continue;
    return absl::DataLossError(
        absl::StrCat("weight ", i, " is ", values[i], ", not ", expected));
  }
  return absl::OkStatus();
}

MonitoredProgram::MonitoredProgram(MonitoredTraining training, int client,
                                   const std::string& input_container,
                                   train::SaverOptions options) {
  const auto server = [&](int p) {
    return root.WithDevice(absl::StrCat("/job:ps/task:", p));
  };
  global_step = train::GetOrCreateGlobalStep(server(0));
  std::vector<train::GradientAndVariable> gradients;
  Output minus_ones = ops::Const(root, Filled(-1));
  const Scope worker =
      root.WithDevice(absl::StrCat("/job:worker/task:", client));
  if (!input_container.empty()) {
    minus_ones = FromQueue(worker, input_container, minus_ones);
  }
  for (int p = 0; p < kNumMonitoredServers; ++p) {
    weights[p] =
        ops::Variable(server(p).WithName(absl::StrCat("w_", p)), Filled(0));
    gradients.push_back({IsSynchronous(training)
                             ? GradientOfSquares(worker, weights[p].value())
                             : minus_ones,
                         weights[p]});
  }
  if (IsSynchronous(training)) {
    sync.emplace(optimizer, ReplicasOf(training, client));
    train =
        sync->ApplyGradients(worker, gradients, {.global_step = global_step});
  } else {
    train =
        optimizer.ApplyGradients(root, gradients, {.global_step = global_step});
  }
  options.sharded = true;
  options.max_to_keep = kNumKept;
  train::ScaffoldOptions scaffold_options;
  scaffold_options.saver =
      std::make_shared<train::Saver>(root, std::move(options));
  scaffold = std::make_shared<train::Scaffold>(scaffold_options);
}

// ---- Steps ----

void StepBook::Begin(int client, absl::Time now) {
  if (is_open_[client]) failed_.push_back(now);
  is_open_[client] = true;
  ++num_late_;
}

void StepBook::Look(int client, absl::Time now) {
  looks_[client] = {now, num_ended_};
}

void StepBook::End(int client, int64_t step) {
  is_open_[client] = false;
  const auto& [looked_at, num_ended] = looks_[client];
  const int64_t ended_since = num_ended_ - num_ended;
  ++num_ended_;
  if (step >= last_step_) return;
  while (!failed_.empty() && looked_at - failed_.front() > kUnconfirmedTime) {
    failed_.pop_front();
  }
  num_late_ = static_cast<int64_t>(failed_.size()) + ended_since +
              std::count(std::begin(is_open_), std::end(is_open_), true);
}

// ---- The hook of a program ----

class MonitoredClient::Hook : public train::SessionRunHook {
 public:
  explicit Hook(MonitoredClient& client) : client_(client) {}

  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator& coordinator) override {
    if (client_.options_.has_input) {
      coordinator.Start("look", [this, &session, &coordinator] {
        return LookOn(session, coordinator);
      });
    }
    ++client_.num_sessions_;
    client_.seen_step_ = -1;
    const int64_t told = client_.book().last_reported;
    ASSIGN_OR_RETURN(const int64_t step, Read(session));
    if (client_.is_chief() && step < told) {
      client_.Violate(absl::StrCat("continues from step ", step,
                                   ", but the checkpoint of ", told,
                                   " was reported"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    client_.book().steps.Begin(client_.options_.index, client_.Now());
    return train::SessionRunArgs();
  }

  absl::Status AfterRun(train::SessionRunContext& context,
                        const train::SessionRunValues&) override {
    StepBook& steps = client_.book().steps;
    steps.Look(client_.options_.index, client_.Now());
    ASSIGN_OR_RETURN(client_.seen_step_, Read(context.session()));
    steps.End(client_.options_.index, client_.seen_step_);
    ++client_.num_steps_;
    return absl::OkStatus();
  }

  absl::Status TrainingHasEnded(Session&) override {
    client_.is_last_ = true;
    return absl::OkStatus();
  }

  // In synchronous training, other replicas may update the step between runs,
  // so the last step is read at the end.
  absl::Status End(Session& session) override {
    if (!IsSynchronous(client_.options_.training)) return absl::OkStatus();
    ASSIGN_OR_RETURN(client_.seen_step_, Read(session));
    return absl::OkStatus();
  }

 private:
  absl::Status LookOn(Session& session, train::Coordinator& coordinator) {
    int64_t seen = 0;
    while (!coordinator.WaitForStop(kBetweenLooks)) {
      ASSIGN_OR_RETURN(const int64_t step, Read(session));
      seen = std::max(seen, step);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<int64_t> Read(Session& session) {
    ASSIGN_OR_RETURN(const Tensor step,
                     session.Run(client_.program_->global_step));
    return step.scalar<int64_t>();
  }

  MonitoredClient& client_;
};

class MonitoredClient::Listener : public train::CheckpointSaverListener {
 public:
  explicit Listener(MonitoredClient& client) : client_(client) {}

  absl::StatusOr<bool> AfterSave(Session&, int64_t step) override {
    int64_t& told = client_.book().last_reported;
    if (step < told) {
      client_.Violate(absl::StrCat("saved step ", step, " after ", told));
    }
    told = step;
    return false;
  }

 private:
  MonitoredClient& client_;
};

// ---- The client ----

MonitoredClient::MonitoredClient(const MonitoredClientOptions& options)
    : options_(options),
      cluster_(*options.cluster),
      name_(absl::StrCat("client", options.index)),
      target_(cluster_.target("worker", options.index)),
      folder_(absl::StrCat(cluster_.target("checkpoint_writer", 0), "/",
                           kMonitoredFolder)),
      random_(NewSeededRandom(options.seed)),
      logger_(std::make_unique<FunctionLogger>(options.log)) {}

MonitoredClient::~MonitoredClient() = default;

void MonitoredClient::Violate(const std::string& what) {
  violations_.push_back(absl::StrCat(
      name_, " at ", absl::FormatDuration(Now() - absl::UnixEpoch()), ": ",
      what));
}

bool MonitoredClient::IsCalm() const {
  return Now() >= calm_since_ + kSettling;
}

void MonitoredClient::CalmDown() { calm_since_ = Now(); }

void MonitoredClient::Start() {
  cluster_.scheduler().Schedule(Pool::kBlocking, [this] { Run(); });
}

void MonitoredClient::Pause() {
  const auto pause =
      absl::Milliseconds(1 + Chance(Chance(4) == 0 ? 1000 : 100));
  cluster_.scheduler().NewEvent()->WaitUntil(Now() + pause);
}

void MonitoredClient::Run() {
  bool is_over = false;
  while (!is_over && !gives_up_) {
    RunProgram();
    is_over = IsOver();
    program_.reset();
    process_.reset();
    Pause();
  }
  is_dying_ = false;
  has_ended_ = true;
}

// Returns whether this program need not be restarted. The chief cannot resume
// from a checkpoint before the end without the other replica, so that replica
// is restarted until the chief has ended. If a chief stops without notifying
// its replicas of the end, another chief follows.
bool MonitoredClient::IsOver() const {
  if (seen_step_ < options_.book->steps.last_step()) return false;
  if (!IsSynchronous(options_.training)) return true;
  return is_chief() ? is_last_ : options_.book->chief_has_ended;
}

void MonitoredClient::RunProgram() {
  ++num_programs_;
  seen_step_ = -1;
  is_dying_ = is_terminated_ = is_last_ = false;
  process_ = cluster_.NewProcess(name_);
  train::SaverOptions saver = {.clock = &cluster_.scheduler().clock(),
                               .random = &process_->random()};
  // While concurrent steps update the variables, a save must not contain a part
  // of an update.
  if (IsSynchronous(options_.training) && options_.save_asynchronously) {
    saver.consistency = train::SaveConsistency::kStep;
  }
  program_ = std::make_unique<MonitoredProgram>(
      options_.training, options_.index, InputContainer(), std::move(saver));
  const auto session =
      train::MonitoredTrainingSession(program_->root, SessionOptions());
  if (!session.ok()) return ProgramFailed(session.status());
  const absl::Status trained = Train(**session);
  const absl::Status status = (*session)->Close(
      is_dying_ ? absl::CancelledError("the program was killed") : trained);
  if (!status.ok()) return ProgramFailed(status);
  CheckFinalOps();
  if (IsOver()) TrainingEnded();
  if (seen_step_ >= book().steps.last_step() || MustLeave()) return;
  Violate(absl::StrCat("training has ended at step ", seen_step_,
                       " without a reason"));
}

// Returns the container of the queue. The queue lives in the worker's process
// and stays closed after the program has exited. So each program uses a new
// queue in a container of its own.
std::string MonitoredClient::InputContainer() const {
  if (!options_.has_input) return "";
  return absl::StrCat("input_", options_.index, "_", num_programs_);
}

train::MonitoredTrainingSessionOptions MonitoredClient::SessionOptions() {
  train::MonitoredTrainingSessionOptions options;
  options.master = target_;
  options.is_chief = is_chief();
  options.checkpoint_dir = folder_;
  options.scaffold = program_->scaffold;
  // Must come before the hook that saves, which saves the initial state of the
  // session.
  const auto hook = std::make_shared<Hook>(*this);
  // In synchronous training, only the chief stops at the last step. The other
  // replica ends with the chief.
  if (is_chief() || !IsSynchronous(options_.training)) {
    options.hooks = {train::StopAtStep(book().steps.last_step())};
  }
  const auto sync_replicas = SyncReplicas();
  if (sync_replicas != nullptr) options.hooks.push_back(sync_replicas);
  if (is_chief()) {
    options.chief_only_hooks = {hook, CheckpointSaver(sync_replicas)};
  } else {
    options.hooks.insert(options.hooks.begin(), hook);
  }
  final_ops_ = nullptr;
  if (options_.has_input && is_chief()) {
    train::SessionRunArgs last = {.fetches = {program_->global_step.value()}};
    final_ops_ =
        std::make_shared<train::FinalOpsHook>(std::move(last), logger_.get());
    options.hooks.push_back(final_ops_);
  } else if (options_.has_input) {
    options.hooks.push_back(std::make_shared<train::GlobalStepWaiterHook>(
        train::GlobalStepWaiterOptions{.wait_until_step = kStepsOfTheChief,
                                       .logger = logger_.get()}));
  }
  options.save_checkpoint_steps = 0;  // the hook CheckpointSaver saves instead
  options.save_summaries_steps = 10;
  options.log_step_count_steps = 10;
  options.config = {.operation_timeout = options_.operation_timeout,
                    .connect_timeout = kConnectTimeout,
                    .process = process_.get()};
  options.stop_grace_period_secs = 30;
  options.max_wait_secs = absl::ToDoubleSeconds(kMaxWaitForChief);
  options.stop_requested = [this] { return MustLeave(); };
  options.scheduler = &cluster_.scheduler();
  options.random = &process_->random();
  options.logger = logger_.get();
  return options;
}

std::shared_ptr<train::SessionRunHook> MonitoredClient::SyncReplicas() {
  if (!program_->sync.has_value()) return nullptr;
  return program_->sync->MakeSessionRunHook(
      is_chief(), {.max_wait_for_chief = kMaxWaitForNextChief,
                   .max_wait_for_ended_replicas = kMaxWaitForEndedReplicas,
                   .random = &process_->random(),
                   .logger = logger_.get()});
}

std::shared_ptr<train::SessionRunHook> MonitoredClient::CheckpointSaver(
    const std::shared_ptr<train::SessionRunHook>& sync_replicas) {
  train::CheckpointSaverOptions options;
  options.checkpoint_dir = folder_;
  options.save_steps = static_cast<int64_t>(2 + Chance(8));
  options.scaffold = program_->scaffold;
  options.listeners = {std::make_shared<Listener>(*this)};
  options.save_asynchronously = options_.save_asynchronously;
  if (sync_replicas != nullptr) options.updating_hooks = {sync_replicas};
  options.clock = &cluster_.scheduler().clock();
  options.logger = logger_.get();
  return std::make_shared<train::CheckpointSaverHook>(std::move(options));
}

absl::Status MonitoredClient::Train(train::MonitoredSession& session) {
  while (!session.ShouldStop()) {
    const bool was_calm = IsCalm();
    const absl::Time begun = Now();
    RETURN_IF_ERROR(session.Run(program_->train));
    if (was_calm && Now() - begun > kLongestCalmCall) {
      Violate(absl::StrCat("a run took ", absl::FormatDuration(Now() - begun)));
    }
    Pause();
  }
  return absl::OkStatus();
}

void MonitoredClient::CheckFinalOps() {
  if (final_ops_ == nullptr || is_dying_) return;
  const std::vector<Tensor>& values = final_ops_->final_ops_values();
  if (values.size() == 1 && values[0].scalar<int64_t>() >= seen_step_) return;
  Violate(
      absl::StrCat("FinalOpsHook reports no step from ", seen_step_, " on"));
}

void MonitoredClient::TrainingEnded() {
  if (!is_chief()) return;
  book().chief_has_ended = true;
  const int64_t told = book().last_reported;
  if (told < book().steps.last_step() || told > book().steps.furthest_step()) {
    Violate(absl::StrCat("training has ended, and the last checkpoint is of ",
                         told, "; expected ", book().steps.last_step(),
                         ", and at most ", book().steps.furthest_step()));
  }
}

void MonitoredClient::ProgramFailed(const absl::Status& status) {
  logger_->Info(absl::StrCat("The program ends: ", status.ToString()));
  if (WaitsForEndedChief(status)) {
    seen_step_ = book().steps.last_step();  // prevents a restart
    return;
  }
  seen_step_ = -1;
  // the program was asked to stop and could not recover in time
  if (MustLeave()) return;
  const std::string wrong = DescribeViolation(status);
  if (!wrong.empty()) Violate(absl::StrCat(wrong, ": ", status.ToString()));
}

// Returns whether `status` says that the variables are lost and the session
// waited in vain for the chief, which has ended and does not restore them.
bool MonitoredClient::WaitsForEndedChief(const absl::Status& status) {
  return book().chief_has_ended && absl::IsDeadlineExceeded(status) &&
         HasText(status, "Session was not ready after waiting");
}

std::string MonitoredClient::DescribeViolation(const absl::Status& status) {
  if (IsCalm()) return "failed long after the last fault";
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
      return HasText(status, "lost when training had ended")
                 ? ""
                 : "training did not recover by itself";
    case absl::StatusCode::kResourceExhausted:
      return HasText(status, "No space left") ? "" : "unexpected error";
    case absl::StatusCode::kDeadlineExceeded:
      if (HasText(status, "Session was not ready after waiting")) return "";
      return options_.operation_timeout < absl::InfiniteDuration()
                 ? ""
                 : "a deadline was exceeded although none was set";
    default:
      return "unexpected error";
  }
}

}  // namespace weft
