#include "integration_tests/testing/saving_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft {
namespace {

// Elements of a variable, enough for several chunks if chunks are small.
constexpr int kNumElements = 500;
// Timeout of a call that creates or extends a session. It also applies to
// saves.
constexpr absl::Duration kOperationTimeout = absl::Seconds(20);
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
// Time after the last fault until all calls must succeed.
constexpr absl::Duration kSettling = absl::Seconds(40);
constexpr int kCalmSuccesses = 3;
// Approximate number of steps of the other client during a save.
constexpr uint64_t kStepsASave = 5;
// A step whose master was lost may still run for this time.
constexpr absl::Duration kUnconfirmedTime = absl::Seconds(30);
// Maximum duration of a save under any faults. A save opens and closes some
// dozens of files, and each call may be lost and retried.
constexpr absl::Duration kLongestSave = absl::Minutes(5);

bool HasText(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

bool IsEmptyServer(const absl::Status& status) {
  return (absl::IsFailedPrecondition(status) &&
          HasText(status, "uninitialized")) ||
         (absl::IsNotFound(status) && HasText(status, "/Var does not exist"));
}

std::string WeightsName(int p) { return absl::StrCat("w_", p); }
std::string SlotName(int p) { return WeightsName(p) + "/Momentum"; }

Tensor Filled(float value) {
  Tensor tensor(DT_FLOAT, TensorShape({kNumElements}));
  for (float& element : tensor.mutable_flat<float>()) element = value;
  return tensor;
}

// Returns the value of all elements if they are equal, or else nullopt.
std::optional<float> OnlyValue(const Tensor& tensor) {
  const auto values = tensor.flat<float>();
  const bool same = std::all_of(values.begin(), values.end(), [&](float value) {
    return value == values[0];
  });
  return same ? std::optional<float>(values[0]) : std::nullopt;
}

}  // namespace

SavedProgram::SavedProgram(const std::string& writer,
                           train::SaverOptions options)
    : folder(absl::StrCat(writer, "/job")) {
  const auto server = [&](int p) {
    return root.WithDevice(absl::StrCat("/job:ps/task:", p));
  };
  global_step = train::GetOrCreateGlobalStep(server(0));
  std::vector<train::GradientAndVariable> gradients;
  const Output ones =
      ops::Const(root.WithDevice("/job:worker/task:0"), Filled(1));
  for (int p = 0; p < kNumSavingServers; ++p) {
    weights[p] = ops::Variable(server(p).WithName(WeightsName(p)), Filled(0));
    gradients.push_back({ones, weights[p]});
  }
  train::Momentum optimizer(1.0f, 1.0f);
  train =
      optimizer.ApplyGradients(root, gradients, {.global_step = global_step});
  for (int p = 0; p < kNumSavingServers; ++p) {
    slots[p] = optimizer.GetSlot(weights[p], "momentum");
  }
  init = ops::GlobalVariablesInitializer(root);
  options.sharded = true;
  options.max_to_keep = kNumKept;
  saver.emplace(root, std::move(options));
}

int64_t SaveBook::NumberOf(const std::string& prefix) {
  int64_t number = -1;
  (void)absl::SimpleAtoi(prefix.substr(prefix.rfind('-') + 1), &number);
  return number;
}

std::string DescribeTornValues(const SavedValues& values, bool steps) {
  for (int p = 0; p < kNumSavingServers; ++p) {
    const auto weight = OnlyValue(values.weights[p]);
    const auto slot = OnlyValue(values.slots[p]);
    if (!weight.has_value() || !slot.has_value()) {
      return absl::StrCat("partial update in ",
                          weight.has_value() ? SlotName(p) : WeightsName(p));
    }
    // After n updates the slot is n. The variable is minus the sum of all
    // values that the slot had.
    if (*weight != -*slot * (*slot + 1) / 2) {
      return absl::StrCat(WeightsName(p), " is ", *weight, ", but its slot ",
                          *slot);
    }
    const int64_t step = values.global_step.scalar<int64_t>();
    if (steps && static_cast<int64_t>(*slot) != step) {
      return absl::StrCat(WeightsName(p), " is of step ", *slot,
                          ", but the global step ", step);
    }
  }
  return "";
}

absl::StatusOr<SavedValues> ReadSaved(FileSystem& disk,
                                      const std::string& prefix) {
  ASSIGN_OR_RETURN(const auto reader,
                   checkpoint::BundleReader::Open(disk, prefix));
  SavedValues values;
  const auto read = [&](const std::string& name) {
    return reader->Read(name, HeapAllocator());
  };
  for (int p = 0; p < kNumSavingServers; ++p) {
    ASSIGN_OR_RETURN(values.weights[p], read(WeightsName(p)));
    ASSIGN_OR_RETURN(values.slots[p], read(SlotName(p)));
  }
  ASSIGN_OR_RETURN(values.global_step, read("global_step"));
  return values;
}

SavingClient::SavingClient(const SavingClientOptions& options)
    : options_(options),
      cluster_(*options.cluster),
      name_(absl::StrCat("client", options.index)),
      target_(cluster_.target("worker", options.index)),
      writer_(cluster_.target("checkpoint_writer", 0)),
      random_(NewSeededRandom(options.seed)) {}

SavingClient::~SavingClient() = default;

void SavingClient::Violate(const std::string& what) {
  violations_.push_back(absl::StrCat(
      name_, " at ", absl::FormatDuration(Now() - absl::UnixEpoch()), ": ",
      what));
}

bool SavingClient::IsCalm() const { return Now() >= calm_since_ + kSettling; }

void SavingClient::CalmDown() { calm_since_ = Now(); }

void SavingClient::Start() {
  cluster_.scheduler().Schedule(Pool::kBlocking, [this] { Run(); });
}

void SavingClient::OnStuck(bool is_stuck) {
  is_anyone_stuck_ = is_stuck;
  book().unconfirmed_until = Now() + kUnconfirmedTime;
  ++losses_;
}

void SavingClient::RestAs(Rest rest) {
  std::unique_ptr<Event> go_on = cluster_.scheduler().NewEvent();
  std::swap(resume_, go_on);
  rest_ = rest;
  resume_->Wait();
}

void SavingClient::PauseFor(absl::Duration duration) {
  cluster_.scheduler().NewEvent()->WaitUntil(Now() + duration);
}

// Pauses between steps. After the faults, pauses are long, because nothing is
// left to observe.
void SavingClient::Pause() {
  if (calm_since_ < Now()) return PauseFor(absl::Seconds(5));
  PauseFor(absl::Milliseconds(1 + Chance(Chance(4) == 0 ? 1000 : 100)));
}

void SavingClient::Run() {
  Restart();
  while (calm_successes_ < kCalmSuccesses && !gives_up_) TakeTurn();
  RestAs(Rest::kSaved);
  session_.reset();
  program_.reset();
  process_.reset();
  rest_ = Rest::kEnded;
}

void SavingClient::Restart() {
  session_.reset();
  program_.reset();
  process_.reset();
  process_ = cluster_.NewProcess(name_);
  program_ = std::make_unique<SavedProgram>(
      writer_, train::SaverOptions{.consistency = options_.consistency,
                                   .file_system = &process_->file_system(),
                                   .clock = &cluster_.scheduler().clock(),
                                   .random = &process_->random()});
  is_dying_ = false;
}

void SavingClient::TakeTurn() {
  if (is_dying_) {
    if (is_chief()) book().may_train = false;
    Restart();
  }
  if (session_ == nullptr && !Connect()) {
    return PauseFor(absl::Milliseconds(1 + Chance(1000)));
  }
  is_chief() ? TrainAndSave() : TrainAsWorker();
}

bool SavingClient::Connect() {
  auto session = Session::Connect(target_, program_->root,
                                  {.operation_timeout = kOperationTimeout,
                                   .connect_timeout = kConnectTimeout,
                                   .process = process_.get()});
  if (!session.ok()) {
    CheckError(session.status(), "a session");
    return false;
  }
  session_ = *std::move(session);
  return true;
}

bool SavingClient::TakeStep() {
  const int losses = losses_;
  const absl::Status status =
      session_->Run({}, {}, {program_->train}, {.timeout = kOperationTimeout})
          .status();
  if (!status.ok()) StepFailed(status, losses);
  return status.ok();
}

void SavingClient::StepFailed(const absl::Status& status, int losses) {
  CheckError(status, "a step");
  book().may_train = false;
  book().is_exact_now = false;
  // If the client has lost its master or has not waited for the reply, it
  // cannot know when the step ends.
  const bool knows = losses == losses_ && !is_anyone_stuck_ &&
                     !absl::IsUnavailable(status) &&
                     !HasText(status, "deadline passed before its answer");
  if (!knows) book().unconfirmed_until = Now() + kUnconfirmedTime;
  GiveUpSessionIfLost(status);
}

void SavingClient::TrainAsWorker() {
  if (!book().may_train) {
    if (IsCalm() && gives_up_) return;
    return PauseFor(absl::Milliseconds(1 + Chance(300)));
  }
  ++book().num_training;
  const bool ok = TakeStep();
  --book().num_training;
  if (ok && IsCalm()) ++calm_successes_;
  if (!book().is_saving || Chance(kStepsASave) == 0) Pause();
}

void SavingClient::TrainAndSave() {
  if (!book().may_train && !RestoreOrInitialize()) {
    return PauseFor(absl::Milliseconds(1 + Chance(2000)));
  }
  for (uint64_t left = 1 + Chance(3); left > 0 && book().may_train; --left) {
    // After a failed step, its resources, such as a connection, take time to
    // become available again.
    if (!TakeStep()) return PauseFor(absl::Milliseconds(1 + Chance(100)));
    Pause();
  }
  if (book().may_train) Save();
  Pause();
}

bool SavingClient::RestoreOrInitialize() {
  if (book().num_training > 0) return false;
  const auto newest =
      checkpoint::LatestCheckpoint(process_->file_system(), program_->folder);
  if (!newest.ok()) {
    CheckError(newest.status(), "finding the newest checkpoint");
    return false;
  }
  const bool is_certain = Now() > book().unconfirmed_until;
  if (!newest->has_value() && book().last_reported > 0) {
    Violate("the checkpoint has disappeared");
  }
  if (!(newest->has_value() ? Restore(**newest) : Initialize())) return false;
  const auto torn = FindTornValues();
  if (!torn.has_value()) return false;
  // A checkpoint that was saved in an inexact state may contain partial steps.
  // Then training starts over.
  if (is_certain && !torn->empty()) {
    if (newest->has_value() && book().is_exact[SaveBook::NumberOf(**newest)]) {
      Violate(absl::StrCat("restored ", **newest, ", but ", *torn));
    }
    if (!Initialize()) return false;
  }
  book().is_exact_now = is_certain;
  book().may_train = true;
  return true;
}

bool SavingClient::Initialize() {
  const absl::Status status = session_->Run(program_->init);
  if (status.ok()) return true;
  CheckError(status, "the initialization");
  GiveUpSessionIfLost(status);
  return false;
}

bool SavingClient::Restore(const std::string& newest) {
  if (SaveBook::NumberOf(newest) < book().last_reported) {
    Violate(absl::StrCat("the newest is ", newest, ", but ",
                         book().last_reported, " was reported"));
  }
  const absl::Status status = program_->saver->Restore(*session_, newest);
  if (status.ok()) return true;
  CheckError(status, "restoring");
  GiveUpSessionIfLost(status);
  return false;
}

std::optional<std::string> SavingClient::FindTornValues() {
  const auto values = session_->Run(
      {}, {program_->weights[0], program_->slots[0], program_->weights[1],
           program_->slots[1], program_->global_step});
  if (!values.ok()) {
    CheckError(values.status(), "reading the restored variables");
    GiveUpSessionIfLost(values.status());
    return std::nullopt;
  }
  const SavedValues restored = {
      {(*values)[0], (*values)[2]}, {(*values)[1], (*values)[3]}, (*values)[4]};
  return DescribeTornValues(
      restored, options_.consistency == train::SaveConsistency::kStep);
}

void SavingClient::Save() {
  SaveBook& book = this->book();
  const int64_t number = ++book.last_begun;
  book.is_exact[number] = book.is_exact_now;
  const absl::Time begun = Now();
  book.is_saving = true;
  const auto saved =
      program_->saver->Save(*session_, program_->folder + "/model",
                            {.global_step = number, .write_meta_graph = false});
  book.is_saving = false;
  if (!book.is_exact_now) book.is_exact[number] = false;
  if (Now() - begun > kLongestSave) {
    Violate(absl::StrCat("a save took ", absl::FormatDuration(Now() - begun)));
  }
  if (!saved.ok()) return SaveFailed(saved.status());
  book.last_reported = number;
  ++num_saves_;
  if (IsCalm()) ++calm_successes_;
}

void SavingClient::SaveFailed(const absl::Status& status) {
  ++num_failed_saves_;
  CheckError(status, "a save");
  if (IsEmptyServer(status)) {
    book().may_train = false;
    book().is_exact_now = false;
  }
  GiveUpSessionIfLost(status);
  PauseFor(absl::Milliseconds(1 + Chance(500)));
}

void SavingClient::CheckError(const absl::Status& status,
                              const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", status.ToString());
  if (IsCalm()) Violate("failed long after the last fault: " + text);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (HasText(status, "/job:") || HasText(status, "zmq://")) return;
      return Violate("the error names no task: " + text);
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return;
    case absl::StatusCode::kResourceExhausted:
      if (HasText(status, "No space left")) return;
      break;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      if (IsEmptyServer(status) || HasText(status, "closed") ||
          HasText(status, "hold")) {
        return;
      }
      break;
    default:
      break;
  }
  Violate("unexpected error: " + text);
}

void SavingClient::GiveUpSessionIfLost(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status) || IsEmptyServer(status) ||
      absl::IsResourceExhausted(status)) {
    return;
  }
  if (absl::IsUnavailable(status) && Chance(2) == 0) return;
  session_.reset();
}

}  // namespace weft
