#include "integration_tests/testing/trainer.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"

namespace weft {
namespace {

// Timeout of a call that creates or extends a session.
constexpr absl::Duration kOperationTimeout = absl::Seconds(20);
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
// Time after the last fault until each step must succeed.
constexpr absl::Duration kSettling = absl::Seconds(30);
constexpr int kCalmSuccesses = 5;
// Number of callables that are created and released before the end.
constexpr int kReleased = 3;
// A step whose master was lost may still run for this time, because its abort
// may be late, or may wait until a connection that loses messages is restored.
constexpr absl::Duration kUnconfirmedTime = absl::Seconds(30);
// A loss is noticed within this time, even if a schedule stalls threads for
// long.
constexpr absl::Duration kNoticed = absl::Seconds(5);

// Indices of the fetches of a step.
enum Fetch {
  kLoss,
  kAcross,
  kRatioValue,
  kEcho,
  kCounted = kEcho + kNumServers
};

bool Mentions(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

// Returns whether the status is one of TensorFlow's errors for reading or
// writing uninitialized variables.
bool IsUninitialised(const absl::Status& status) {
  return (absl::IsFailedPrecondition(status) &&
          Mentions(status, "uninitialized")) ||
         (absl::IsNotFound(status) && Mentions(status, "/Var does not exist"));
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options)
    : options_(options),
      cluster_(*options.cluster),
      name_(absl::StrCat("client", options.index)),
      target_(cluster_.target("worker", options.index)),
      random_(NewSeededRandom(options.seed)),
      program_(options.index, options.on_gpus) {}

Trainer::~Trainer() = default;

void Trainer::Violate(const std::string& what) {
  violations_.push_back(absl::StrCat(
      name_, " at ", absl::FormatDuration(Now() - absl::UnixEpoch()), ": ",
      what));
}

bool Trainer::IsCalm() const { return Now() >= calm_since_ + kSettling; }

bool Trainer::IsDisturbed() const {
  return calm_since_ == absl::InfiniteFuture();
}

void Trainer::Start() {
  cluster_.scheduler().Schedule(Pool::kBlocking, [this] { Run(); });
}

void Trainer::CalmDown() { calm_since_ = Now(); }

void Trainer::OnStuck(bool is_stuck) {
  is_anyone_stuck_ = is_stuck;
  unconfirmed_until_ = Now() + kUnconfirmedTime;
  ++losses_;
}

void Trainer::Resume() { resume_->Set(); }

void Trainer::RestAs(Rest rest) {
  std::unique_ptr<Event> go_on = cluster_.scheduler().NewEvent();
  std::swap(resume_, go_on);
  rest_ = rest;
  resume_->Wait();
}

void Trainer::PauseFor(absl::Duration duration) {
  cluster_.scheduler().NewEvent()->WaitUntil(Now() + duration);
}

// Pauses between steps. Short pauses allow many steps, and long pauses reveal
// late effects.
void Trainer::Pause() {
  if (!IsDisturbed()) return PauseFor(absl::Seconds(5));
  const uint64_t longest = Chance(4) == 0 ? 4000 : 400;
  PauseFor(absl::Milliseconds(1 + Chance(longest)));
}

void Trainer::Run() {
  process_ = cluster_.NewProcess(name_);
  while (calm_successes_ < kCalmSuccesses && !gives_up_) Train();
  RestAs(Rest::kTrained);
  ReleaseCallables();
  RestAs(Rest::kReleased);
  session_.reset();
  process_.reset();
  rest_ = Rest::kEnded;
}

void Trainer::Train() {
  if (is_dying_) {
    session_.reset();
    process_.reset();
    process_ = cluster_.NewProcess(name_);
    is_dying_ = false;
  }
  if (session_ == nullptr && !Connect()) return Pause();
  const bool takes = options_.index == 1 && IsDisturbed() && Chance(4) == 0;
  takes ? TryToken() : TryStep();
  if (takes) Pause();
}

bool Trainer::Connect() {
  auto session = Session::Connect(target_, program_.root,
                                  {.operation_timeout = kOperationTimeout,
                                   .connect_timeout = kConnectTimeout,
                                   .process = process_.get()});
  if (!session.ok()) {
    CheckError(session.status(), /*is_poisoned=*/false);
    return false;
  }
  session_ = *std::move(session);
  return true;
}

void Trainer::Begin(bool is_poisoned, Attempt* attempt) {
  attempt->id = static_cast<float>(next_id_++ * kNumTrainers + options_.index);
  attempt->is_poisoned = is_poisoned;
  attempt->has_long_timeout = Chance(2) == 0;
  attempt->losses = losses_;
  for (int p = 0; p < kNumServers; ++p) {
    attempt->lives[p] = options_.life_of(Server(p));
    ++counts_[p].attempted;
  }
  if (options_.index == 0) options_.tokens->sent.insert(attempt->id);
}

void Trainer::TryStep() {
  Attempt attempt;
  Begin(/*is_poisoned=*/IsDisturbed() && Chance(10) == 0, &attempt);
  const auto values = RunStep(attempt);
  if (values.ok()) {
    ++num_succeeded_;
    if (IsCalm()) ++calm_successes_;
    CheckValues(attempt, *values);
    return Pause();
  }
  ++num_failed_;
  Failed(attempt, values.status());
}

// Returns a timeout between some milliseconds and some seconds. So late
// messages arrive at steps that wait, that have just ended, and that follow.
absl::Duration Trainer::DrawTimeout() {
  const int64_t longest = 4000 >> Chance(9);
  return absl::Milliseconds(1 + Chance(longest));
}

absl::StatusOr<std::vector<Tensor>> Trainer::RunStep(const Attempt& attempt) {
  std::vector<Output> fetches = {program_.loss, program_.across,
                                 program_.ratio};
  for (const Output& echo : program_.echo) fetches.push_back(echo);
  for (const Output& counted : program_.counted) fetches.push_back(counted);
  std::vector<Operation> targets;
  for (const Output& updated : program_.updated) targets.push_back(updated);
  if (options_.index == 0) targets.push_back(program_.enqueue);
  const int divisor = attempt.is_poisoned ? 0 : 1;
  const FeedList feeds = {{program_.id, Tensor::Scalar(attempt.id)},
                          {program_.divisor, Tensor::Scalar(divisor)}};
  absl::Duration timeout = DrawTimeout();
  if (attempt.has_long_timeout) timeout = kOperationTimeout;
  if (IsCalm()) timeout = absl::Seconds(10);
  const RunOptions options = {.timeout = timeout};
  if (Chance(8) != 0) return session_->Run(feeds, fetches, targets, options);
  // Runs the same step with a callable that is released afterwards.
  ASSIGN_OR_RETURN(auto callable,
                   session_->MakeCallable({program_.id, program_.divisor},
                                          fetches, targets));
  return callable->Run({feeds[0].second, feeds[1].second}, options);
}

void Trainer::CheckValues(const Attempt& attempt,
                          const std::vector<Tensor>& values) {
  if (attempt.is_poisoned) Violate("a step that divides by zero succeeded");
  const float loss = values[kLoss].scalar<float>();
  if (std::fmod(loss, kNumWeights) != 0) {
    Violate(
        absl::StrCat("weights were read in the middle of an update: ", loss));
  }
  if (values[kAcross].scalar<float>() != attempt.id) {
    Violate("a value of another step came from the other server");
  }
  for (int p = 0; p < kNumServers; ++p) {
    if (values[kEcho + p].scalar<float>() != attempt.id) {
      Violate("a value of another step came from the worker");
    }
    Count& count = counts_[p];
    const int life = options_.life_of(Server(p));
    // The life of a server is odd while it stops. A stopping server may still
    // increment the count.
    if (life == attempt.lives[p] && life % 2 == 0 && life != count.life) {
      Violate(absl::StrCat(CountName(options_.index, p),
                           " was incremented on a restarted server"));
    }
    if (life != count.life) continue;
    ++count.acknowledged;
    const float counted = values[kCounted + p].scalar<float>();
    if (counted < count.acknowledged || counted > count.attempted) {
      Violate(absl::StrCat(CountName(options_.index, p), " is ", counted, ", ",
                           count.acknowledged, " were acknowledged, ",
                           count.attempted, " attempted"));
    }
  }
}

void Trainer::Failed(const Attempt& attempt, const absl::Status& status) {
  CheckError(status, attempt.is_poisoned);
  // No fault lasts as long as this timeout, so the loss should have been
  // reported before. (Before its first step, a run waits for missing tasks
  // without returning "Timed out".)
  if (attempt.has_long_timeout && Mentions(status, "Timed out after")) {
    Violate(absl::StrCat("a step hangs instead of reporting a loss: ",
                         status.ToString()));
  }
  // Waits until both ends of a cut connection have noticed the loss, unless
  // they were stalled.
  PauseFor(absl::IsUnavailable(status) ? kNoticed : absl::Milliseconds(1));
  // If the client has lost its master or has not waited for the reply, it
  // cannot know when the step ends.
  const bool knows = attempt.losses == losses_ && !is_anyone_stuck_ &&
                     !Mentions(status, "deadline passed before its answer");
  const bool is_certain = knows && Now() > unconfirmed_until_;
  if (!knows) unconfirmed_until_ = Now() + kUnconfirmedTime;
  const Counts counts = Peek();
  GiveUpSessionIfLost(status);
  if (session_ != nullptr && IsUninitialised(status)) Initialise();
  Pause();
  if (is_certain && !IsUninitialised(status))
    CheckNoLateEffects(attempt, counts);
}

void Trainer::CheckNoLateEffects(const Attempt& attempt, const Counts& counts) {
  const Counts later = Peek();
  for (int p = 0; p < kNumServers; ++p) {
    if (options_.life_of(Server(p)) != attempt.lives[p]) continue;
    if (counts[p] == later[p]) continue;
    Violate(absl::StrCat(CountName(options_.index, p), " changed from ",
                         counts[p].value_or(NAN), " to ",
                         later[p].value_or(NAN),
                         " after the step's error was returned"));
  }
}

Trainer::Counts Trainer::Peek() const {
  Counts result(kNumServers);
  for (int p = 0; p < kNumServers; ++p) {
    const std::shared_ptr<TaskRuntime> runtime = cluster_.runtime("ps", p);
    if (runtime == nullptr) continue;
    auto variable = runtime->resources(0).Lookup<Variable>(
        "", CountName(options_.index, p));
    if (!variable.ok()) continue;
    auto value = (*variable)->Read();
    if (value.ok()) result[p] = value->scalar<float>();
  }
  return result;
}

void Trainer::TryToken() {
  const auto token =
      session_->Run({}, program_.token, {.timeout = absl::Milliseconds(1500)});
  if (!token.ok()) {
    CheckError(token.status(), /*is_poisoned=*/false);
    return GiveUpSessionIfLost(token.status());
  }
  const float value = token->scalar<float>();
  TokenBook& book = *options_.tokens;
  if (book.sent.count(value) == 0) {
    Violate(absl::StrCat("token ", value, " was received but never sent"));
  }
  if (!book.received.insert(value).second) {
    Violate(absl::StrCat("token ", value, " was received twice"));
  }
}

void Trainer::Initialise() {
  for (int p = 0; p < kNumServers; ++p) {
    if (session_ == nullptr || !InitialiseOn(p)) return;
  }
}

bool Trainer::IsMissing(const ops::Variable& variable) {
  const auto value =
      session_->Run({}, variable.value(), {.timeout = absl::Seconds(5)});
  if (value.ok() || IsUninitialised(value.status())) return !value.ok();
  CheckError(value.status(), /*is_poisoned=*/false);
  GiveUpSessionIfLost(value.status());
  return false;
}

bool Trainer::InitialiseOn(int p) {
  // The first client initializes the shared variables, and the others wait
  // until it has done so.
  std::vector<const ops::Variable*> own = {&program_.count[p]};
  if (options_.index == 0) own.push_back(&program_.weights[p]);
  for (const ops::Variable* variable : own) {
    if (!IsMissing(*variable)) {
      if (session_ == nullptr) return false;
      continue;
    }
    const int life = options_.life_of(Server(p));
    Count& count = counts_[p];
    const bool is_count = variable == own[0];
    if (is_count && count.life == life && count.is_initialised) {
      Violate(absl::StrCat(CountName(options_.index, p),
                           " is no longer initialized"));
    }
    // A failed initialization may have taken effect, so attempted updates may
    // still count.
    const float attempted = Now() > unconfirmed_until_ ? 0 : count.attempted;
    if (is_count) count = {.life = life, .attempted = attempted};
    const absl::Status status = session_->Run({}, variable->initializer(),
                                              {.timeout = absl::Seconds(5)});
    if (is_count) count.is_initialised = status.ok();
    if (status.ok()) continue;
    CheckError(status, /*is_poisoned=*/false);
    GiveUpSessionIfLost(status);
    return false;
  }
  return true;
}

void Trainer::CheckError(const absl::Status& status, bool is_poisoned) {
  const std::string text = status.ToString();
  if (IsCalm()) {
    Violate(absl::StrCat("failed long after the last fault: ", text));
  }
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (Mentions(status, "/job:") || Mentions(status, "zmq://")) return;
      return Violate(absl::StrCat("the error names no task: ", text));
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return;
    case absl::StatusCode::kInvalidArgument:
      if (is_poisoned && Mentions(status, kRatio)) return;
      break;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      // These errors are acceptable: a restarted server has no variables, and a
      // restarted worker has ended its sessions.
      if (IsUninitialised(status) || Mentions(status, "closed")) return;
      break;
    default:
      break;
  }
  Violate(absl::StrCat("unexpected error: ", text));
}

// Releases the session if it may be lost, so that a new one is created, like
// TensorFlow's monitored session. Sometimes keeps the session, to test retries
// with it.
void Trainer::GiveUpSessionIfLost(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status) || absl::IsInvalidArgument(status) ||
      IsUninitialised(status)) {
    return;
  }
  if (absl::IsUnavailable(status) && Chance(2) == 0) return;
  session_.reset();
}

void Trainer::ReleaseCallables() {
  for (int i = 0; i < kReleased && session_ != nullptr; ++i) {
    auto callable = session_->MakeCallable({}, {program_.loss});
    if (!callable.ok()) {
      return CheckError(callable.status(), /*is_poisoned=*/false);
    }
    const auto values = (*callable)->Run();
    if (!values.ok()) CheckError(values.status(), /*is_poisoned=*/false);
  }
}

}  // namespace weft
