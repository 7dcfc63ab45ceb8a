#include "libs/master/master.h"

#include <atomic>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/async/join.h"
#include "libs/base/async/or_cancelled.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cluster/device_filters.h"
#include "libs/cluster/device_name.h"
#include "libs/master/call_group.h"
#include "libs/master/coordinator_call.h"
#include "libs/master/master_session.h"
#include "libs/master/missing_chief.h"
#include "libs/master/when_connected.h"

namespace weft {
namespace {

// How often a reset that waits for tasks checks for those that have left.
constexpr absl::Duration kLookForLeft = absl::Seconds(2);

// Returns the tasks of which the filters select at least one device; the
// master's own task passes every filter.
absl::StatusOr<std::vector<std::string>> FilterTasks(
    const MasterOptions& options, const std::vector<std::string>& filters) {
  ASSIGN_OR_RETURN(const DeviceFilters parsed, DeviceFilters::Parse(filters));
  std::vector<std::string> result;
  for (const std::string& task : options.directory->Tasks()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    if (task == options.task || parsed.Passes(name)) result.push_back(task);
  }
  return result;
}

absl::Status ClosedByClient() {
  return absl::CancelledError(
      "Step was cancelled by an explicit call to `Session::Close()`.");
}

// Returns the error of a session that a reset has closed. Its client can
// continue in another session.
absl::Status ClosedByReset() {
  return absl::AbortedError(
      "Step was aborted: Session::Reset() has ended all sessions of this "
      "master.");
}

}  // namespace

Master::Master(MasterOptions options)
    : options_(std::move(options)),
      reclaimer_(std::make_shared<Reclaimer>(*options_.scheduler)),
      watch_(std::make_shared<StepWatch>(StepWatchOptions{
          .scheduler = options_.scheduler,
          .logger = options_.logger,
          .steps = &steps_,
          .interval = options_.log_waits_after,
          .find = [this](uint64_t number) { return FindSlow(number); },
          .why_no_values =
              [this](auto done) {
                AskForMissingChief(options_, std::move(done));
              }})) {}

Master::~Master() {
  End(ClosedByClient());
  reclaimer_->WaitUntilNone();
}

std::vector<std::shared_ptr<MasterSession>> Master::Sessions() const {
  std::map<uint64_t, std::shared_ptr<MasterSession>> sorted;
  {
    absl::ReaderMutexLock lock(&mutex_);
    sorted.insert(sessions_.begin(), sessions_.end());
  }
  std::vector<std::shared_ptr<MasterSession>> result;
  for (auto& [id, session] : sorted) result.push_back(std::move(session));
  return result;
}

std::vector<SlowStep> Master::FindSlow(uint64_t number) const {
  std::vector<SlowStep> result;
  for (const auto& session : Sessions()) {
    auto slow = session->FindSlow(number);
    if (slow) result.push_back(*std::move(slow));
  }
  return result;
}

void Master::CloseAll(const absl::Status& cause,
                      absl::AnyInvocable<void()> done) {
  // The call begins first, so that the master's destructor waits for the end of
  // the removed sessions.
  auto farewell = calls_.Begin(nullptr, nullptr);
  // If the call cannot begin, the master has ended, and has closed all
  // sessions.
  if (!farewell.ok()) return done();
  absl::btree_map<uint64_t, std::shared_ptr<MasterSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions.swap(sessions_);
    for (const auto& [id, session] : sessions) closing_.Add(id, session);
  }
  for (const auto& [id, session] : sessions) NoteTakenOut(*session);
  const auto finish = JoinCalls(
      static_cast<int>(sessions.size()) + 1,
      [done = std::move(done)](const absl::Status&) mutable { done(); });
  for (const auto& [id, session] : sessions) {
    session->Close(cause, *farewell, [finish] { finish(absl::OkStatus()); });
  }
  finish(absl::OkStatus());
}

void Master::End(const absl::Status& cause) {
  watch_->Stop();
  const std::unique_ptr<Event> closed = options_.scheduler->NewEvent();
  CloseAll(cause, [&closed] { closed->Set(); });
  closed->Wait();
  const std::unique_ptr<Event> ended = options_.scheduler->NewEvent();
  calls_.Close(cause, [&ended] { ended->Set(); });
  ended->Wait();
}

void Master::Drain(absl::Time deadline) {
  drain_.Cancel(ShuttingDown());
  // No client can continue with them.
  for (const auto& session : Sessions()) {
    if (session->is_monitored()) continue;
    session->CancelIdlePartialRuns(ShuttingDown());
  }
  monitored_.WaitUntilNone(*options_.scheduler, deadline);
  steps_.WaitUntilNone(*options_.scheduler, deadline);
  End(ShuttingDown());
}

absl::StatusOr<OpenCalls::CallPtr> Master::BeginCall(Cancellation* client) {
  RETURN_IF_ERROR(CheckNotDraining());
  return calls_.Begin(nullptr, client);
}

absl::Status Master::CheckNotDraining() const {
  return drain_.IsCancelled() ? ShuttingDown() : absl::OkStatus();
}

absl::Status Master::CheckServes(const MasterSession& session) const {
  return session.is_monitored() ? absl::OkStatus() : CheckNotDraining();
}

void Master::NoteTakenOut(const MasterSession& session) {
  if (session.is_monitored()) monitored_.End();
}

absl::Status Master::ShuttingDown() const {
  return absl::UnavailableError(
      absl::StrCat("The server of ", options_.task, " is shutting down."));
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::Find(
    uint64_t session) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it != sessions_.end()) return it->second;
  return absl::AbortedError(
      absl::StrCat("Session ", session,
                   " is not found. Possibly, this master has restarted."));
}

void Master::CreateSession(const protocol::SessionConfig& config,
                           Answer<uint64_t> done) {
  done(NewSession(config));
}

absl::StatusOr<uint64_t> Master::NewSession(
    const protocol::SessionConfig& config) {
  const uint64_t id = options_.random->NextId();
  RETURN_IF_ERROR(DeviceFilters::Parse(config.device_filters));
  auto session = reclaimer_->Own(
      std::make_unique<MasterSession>(id, config, options_, steps_, *watch_));
  absl::MutexLock lock(&mutex_);
  // This check needs the lock, because a drain closes the sessions that exist
  // when it begins.
  RETURN_IF_ERROR(CheckNotDraining());
  if (sessions_.size() >= static_cast<uint64_t>(options_.max_sessions)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.task, ": ", sessions_.size(),
                     " sessions are open, which is the limit. Close some, "
                     "connect to another task, or raise max_sessions there."));
  }
  if (session->is_monitored()) monitored_.Begin();
  sessions_[id] = std::move(session);
  return id;
}

void Master::ExtendSession(uint64_t session, protocol::GraphExtension extension,
                           Cancellation* client,
                           Answer<protocol::ExtensionResult> done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  if (absl::Status status = CheckServes(**found); !status.ok()) {
    return done(std::move(status));
  }
  (*found)->Extend(std::move(extension), client, std::move(done));
}

void Master::MakeCallable(uint64_t session, protocol::CallableSpec spec,
                          Cancellation* client, Answer<uint64_t> done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  if (absl::Status status = CheckServes(**found); !status.ok()) {
    return done(std::move(status));
  }
  (*found)->MakeCallable(std::move(spec), client, std::move(done));
}

void Master::RunCallable(uint64_t session, uint64_t callable,
                         const protocol::CallableRun& run, Done done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  if (absl::Status status = CheckServes(**found); !status.ok()) {
    return done(std::move(status));
  }
  (*found)->RunCallable(callable, run, std::move(done));
}

absl::StatusOr<Master::Held> Master::FindHeld(
    const protocol::StepHold& hold) const {
  std::map<uint64_t, absl::btree_set<uint64_t>> callables;
  for (const protocol::VariableWriter& writer : hold.writers) {
    if (writer.session.master_incarnation != options_.incarnation) {
      return absl::AbortedError(absl::StrCat(
          "Another process that is ", options_.task,
          ", too, or was, runs steps that write the variables. Save again once "
          "it is gone."));
    }
    callables[writer.session.session].insert(writer.registration);
  }
  Held held;
  absl::ReaderMutexLock lock(&mutex_);
  for (auto& [id, registrations] : callables) {
    const auto open = sessions_.find(id);
    std::shared_ptr<MasterSession> session = closing_.Find(id);
    if (open != sessions_.end()) session = open->second;
    if (session == nullptr) continue;
    held.emplace_back(std::move(session), std::move(registrations));
  }
  return held;
}

void Master::HoldSteps(const protocol::StepHold& hold, Done done) {
  if (hold.action == protocol::StepHold::Action::kReleaseSteps) {
    return done(ReleaseSteps(hold.holder));
  }
  auto found = FindHeld(hold);
  if (!found.ok()) return done(found.status());
  const Held held = *std::move(found);
  Holding holding{.limit = std::make_shared<Cancellation>()};
  for (const auto& [session, callables] : held) {
    holding.sessions.push_back(session);
  }
  auto limit = holding.limit;
  absl::Status added = AddHolding(hold, std::move(holding));
  if (!added.ok()) return done(std::move(added));
  const auto finish =
      JoinCalls(static_cast<int>(held.size()) + 1,
                OrCancelled<absl::Status>(limit, std::move(done)));
  for (const auto& [session, callables] : held) {
    session->HoldCallables(hold.holder, callables,
                           [finish] { finish(absl::OkStatus()); });
  }
  // A session that has ended meanwhile did not find the hold, so it is released
  // here.
  if (!Holds(hold.holder)) {
    for (const auto& [session, callables] : held) {
      session->ReleaseHold(hold.holder);
    }
  }
  finish(absl::OkStatus());
}

bool Master::Holds(const protocol::StepId& holder) const {
  absl::MutexLock lock(&holds_mutex_);
  return holds_.contains({holder.master_incarnation, holder.step});
}

absl::Status Master::AddHolding(const protocol::StepHold& hold,
                                Holding holding) {
  const absl::Time now = options_.scheduler->clock().Now();
  absl::MutexLock lock(&holds_mutex_);
  if (ended_holds_.Contains(hold.holder)) {
    return absl::CancelledError(
        absl::StrCat("Step ", hold.holder.step,
                     " ended before it could hold steps on ", options_.task));
  }
  if (holds_.size() >= kMaxHolds) {
    return absl::ResourceExhaustedError(absl::StrCat(
        options_.task, " holds steps for ", kMaxHolds, " others already"));
  }
  const auto [it, is_new] = holds_.try_emplace(
      {hold.holder.master_incarnation, hold.holder.step}, std::move(holding));
  if (!is_new) {
    return absl::AlreadyExistsError(absl::StrCat(
        options_.task, " holds steps for step ", hold.holder.step, " already"));
  }
  it->second.wait = options_.scheduler->ScheduleAt(
      Pool::kControl, now + hold.max_wait,
      [self = weak_from_this(), holder = hold.holder,
       limit = it->second.limit] {
        const auto master = self.lock();
        if (master != nullptr) limit->Cancel(master->StillRunning(holder));
      });
  it->second.lease = options_.scheduler->ScheduleAt(
      Pool::kControl, now + hold.lease,
      [self = weak_from_this(), holder = hold.holder] {
        const auto master = self.lock();
        // An error means that the hold was released just now.
        if (master != nullptr) (void)master->ReleaseSteps(holder);
      });
  return absl::OkStatus();
}

absl::Status Master::StillRunning(const protocol::StepId& holder) const {
  std::vector<std::shared_ptr<MasterSession>> sessions;
  {
    absl::MutexLock lock(&holds_mutex_);
    const auto it = holds_.find({holder.master_incarnation, holder.step});
    if (it != holds_.end()) sessions = it->second.sessions;
  }
  std::string which = "a step";
  for (const auto& session : sessions) {
    const auto step = session->FindWaitedFor(holder);
    if (!step) continue;
    which = absl::StrCat("step ", step->step.step, " of session ",
                         step->session, " (", step->what, ")");
    break;
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "On ", options_.task, ", ", which,
      " writes the variables and did not end in time. Raise max_hold, or give "
      "such steps a timeout."));
}

absl::Status Master::ReleaseSteps(const protocol::StepId& holder) {
  Holding released;
  {
    absl::MutexLock lock(&holds_mutex_);
    const auto it = holds_.find({holder.master_incarnation, holder.step});
    if (it == holds_.end()) {
      ended_holds_.Add(holder);
      return absl::FailedPreconditionError(
          absl::StrCat(options_.task, " does not hold steps for step ",
                       holder.step, " any more"));
    }
    released = std::move(it->second);
    holds_.erase(it);
  }
  options_.scheduler->CancelTimer(released.lease);
  options_.scheduler->CancelTimer(released.wait);
  released.limit->Cancel(
      absl::FailedPreconditionError("The hold was ended while it began."));
  for (const auto& session : released.sessions) session->ReleaseHold(holder);
  return absl::OkStatus();
}

void Master::EndHolds(uint64_t master_incarnation) {
  std::vector<protocol::StepId> holders;
  {
    absl::MutexLock lock(&holds_mutex_);
    for (const auto& [key, holding] : holds_) {
      if (key.first == master_incarnation) {
        holders.push_back({key.first, key.second});
      }
    }
  }
  // An error means that the holder itself has released the hold meanwhile.
  for (const protocol::StepId& holder : holders) (void)ReleaseSteps(holder);
}

absl::Status Master::CheckSession(uint64_t session) {
  return Find(session).status();
}

std::shared_ptr<const protocol::CallableSpec> Master::FindSpec(
    uint64_t session, uint64_t callable) {
  auto found = Find(session);
  return found.ok() ? (*found)->FindSpec(callable) : nullptr;
}

int Master::num_sessions() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(sessions_.size());
}

void Master::ReleaseCallable(uint64_t session, uint64_t callable, Done done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  (*found)->ReleaseCallable(callable);
  done(absl::OkStatus());
}

void Master::CloseSession(uint64_t session, Done done) {
  auto found = Find(session);
  if (!found.ok()) return done(found.status());
  auto farewell = calls_.Begin(nullptr, nullptr);  // first, as in CloseAll
  bool is_mine = false;
  if (farewell.ok()) {
    absl::MutexLock lock(&mutex_);
    is_mine = sessions_.erase(session) > 0;
    closing_.Add(session, *found);
  }
  // If another thread took the session out, that thread closes it.
  if (!is_mine) return done(absl::OkStatus());
  NoteTakenOut(**found);
  (*found)->Close(
      ClosedByClient(), *std::move(farewell),
      [done = std::move(done)]() mutable { done(absl::OkStatus()); });
}

struct Master::Resetting {
  OpenCalls::CallPtr open;
  std::vector<std::string> containers;
  std::vector<std::string> device_filters;
  std::vector<std::string> tasks;
  absl::Time deadline;
  Done done;

  // A wait for the connection of one task, until the call is cancelled, the
  // task has left or this one drains.
  struct Wait {
    const std::shared_ptr<Cancellation> ended =
        std::make_shared<Cancellation>();
    CancellationLink call_ended;
    CancellationLink master_drains;
    std::atomic<bool> has_left{false};
  };
  // The waits by task. Complete before the first check for tasks that have
  // left.
  std::map<std::string, std::shared_ptr<Wait>> waits;
  std::atomic<bool> is_waiting{true};
  CancellationLink master_drains;  // ends the wait for the coordinator

  ~Resetting() {
    master_drains.End();
    for (const auto& [task, wait] : waits) {
      wait->call_ended.End();
      wait->master_drains.End();
    }
  }
  // Adds a wait for a task, which `drain` also ends. `drain` must outlive the
  // call.
  std::shared_ptr<Wait> AddWait(const std::string& task, Cancellation& drain) {
    const auto wait = std::make_shared<Wait>();
    wait->call_ended.Begin(open->cancellation().get(), wait->ended);
    wait->master_drains.Begin(&drain, wait->ended);
    waits[task] = wait;
    return wait;
  }
  // Ends the wait for a task that has left: its containers are gone with it.
  void NoteLeft(const std::string& task) {
    const auto found = waits.find(task);
    if (found == waits.end()) return;
    found->second->has_left.store(true);
    found->second->ended->Cancel(
        absl::UnavailableError(absl::StrCat(task, " has left.")));
  }
  void Answer(absl::Status status) {
    is_waiting.store(false);
    open->ReleaseClient();
    done(std::move(status));
  }
};

void Master::Reset(const std::vector<std::string>& containers,
                   const std::vector<std::string>& device_filters,
                   Cancellation* client, Done done) {
  auto open = BeginCall(client);
  if (!open.ok()) return done(open.status());
  auto reset = std::make_shared<Resetting>();
  reset->open = *std::move(open);
  reset->done = std::move(done);
  auto tasks = FilterTasks(options_, device_filters);
  if (!tasks.ok()) return reset->Answer(tasks.status());
  reset->containers = containers;
  reset->device_filters = device_filters;
  reset->tasks = *std::move(tasks);
  reset->deadline =
      options_.scheduler->clock().Now() + options_.placement_timeout;
  CloseAll(ClosedByReset(), [this, reset] { ClearContainers(reset); });
}

// Clears the containers on one task. The call lasts until the task has answered
// or its request is cancelled, because the connections to other tasks may end
// once the master has ended.
void Master::ClearOn(protocol::Worker& worker,
                     const std::shared_ptr<Resetting>& reset,
                     protocol::Worker::Done done) {
  worker.ClearContainers(
      reset->containers, reset->deadline, reset->open->cancellation(),
      [reset, done = std::move(done)](const absl::Status& status) mutable {
        done(status);
      });
}

void Master::ClearContainers(std::shared_ptr<Resetting> reset) {
  const auto& cancellation = reset->open->cancellation();
  if (cancellation->IsCancelled()) return reset->Answer(cancellation->status());
  CallGroup group(*options_.scheduler);
  for (const std::string& task : reset->tasks) {
    protocol::Worker& worker = *options_.directory->Find(task);
    const auto wait = reset->AddWait(task, drain_);
    WhenConnected(
        worker, reset->deadline, wait->ended,
        [wait, done = group.Add(task)](const absl::Status& status) mutable {
          done(wait->has_left.load() ? absl::OkStatus() : status);
        },
        [&worker, reset](protocol::Worker::Done done) {
          ClearOn(worker, reset, std::move(done));
        });
  }
  group.WhenDone(reset->open,
                 {.what = "clear containers",
                  .interval = options_.log_waits_after,
                  .logger = options_.logger},
                 [this, reset](const absl::Status& cleared) {
                   reset->is_waiting.store(false);
                   if (!cleared.ok()) return reset->Answer(cleared);
                   ForgetContainers(reset);
                 });
  SkipLeftTasks(reset);
}

void Master::SkipLeftTasks(const std::shared_ptr<Resetting>& reset) {
  if (!reset->is_waiting.load()) return;
  const auto again = [this, weak = std::weak_ptr<Resetting>(reset)] {
    if (const auto waiting = weak.lock()) SkipLeftTasks(waiting);
  };
  const absl::Time now = options_.scheduler->clock().Now();
  options_.coordinator->GetCluster(
      {.only_states = true}, now + kCoordinatorAnswerTime,
      [this, again, weak = std::weak_ptr<Resetting>(reset)](
          const absl::StatusOr<protocol::ClusterStatus>& cluster) {
        const auto waiting = weak.lock();
        if (waiting == nullptr || !waiting->is_waiting.load()) return;
        options_.scheduler->ScheduleAt(
            Pool::kControl, options_.scheduler->clock().Now() + kLookForLeft,
            again);
        if (!cluster.ok()) return;
        for (const protocol::TaskStatus& task : cluster->tasks) {
          if (task.state == protocol::TaskState::kLeft) {
            waiting->NoteLeft(task.task);
          }
        }
      });
}

void Master::ForgetContainers(std::shared_ptr<Resetting> reset) {
  struct Nothing {};
  // If the drain has already begun, the reset asks only once (see below).
  if (!drain_.IsCancelled()) {
    reset->master_drains.Begin(&drain_, reset->open->cancellation());
  }
  AskCoordinatorFor<Nothing>(
      options_, reset->open, reset->deadline, "have containers forgotten",
      reset->device_filters,
      [this, asked = reset, asks_again = false](
          absl::Time until, std::shared_ptr<Cancellation> cancellation,
          protocol::Coordinator::Answer<Nothing> answer) mutable {
        // A draining task asks once, and does not wait.
        if (absl::Status drains = CheckNotDraining(); !drains.ok()) {
          if (asks_again) return answer(absl::CancelledError(drains.message()));
          until = std::min(until, options_.scheduler->clock().Now() +
                                      kCoordinatorAnswerTime);
        }
        asks_again = true;
        options_.coordinator->ForgetContainers(
            asked->containers, asked->device_filters, until,
            std::move(cancellation),
            [answer = std::move(answer)](const absl::Status& status) mutable {
              if (!status.ok()) return answer(status);
              answer(Nothing());
            });
      },
      [reset](const absl::StatusOr<Nothing>& forgotten) {
        reset->Answer(forgotten.status());
      });
}

// A Listing lasts until it is answered, its client has disconnected or the
// master drains.
struct Master::Listing {
  OpenCalls::CallPtr open;
  CancellationLink master_drains;

  ~Listing() { master_drains.End(); }
};

void Master::ListDevices(Cancellation* client,
                         Answer<std::vector<DeviceAttributes>> done) {
  using Devices = absl::StatusOr<std::vector<DeviceAttributes>>;
  auto open = BeginCall(client);
  if (!open.ok()) return done(open.status());
  auto listing = std::make_shared<Listing>();
  listing->open = *std::move(open);
  listing->master_drains.Begin(&drain_, listing->open->cancellation());
  const OpenCalls::CallPtr& call = listing->open;
  AskCoordinatorFor<std::vector<DeviceAttributes>>(
      options_, call,
      options_.scheduler->clock().Now() + options_.placement_timeout,
      "list the devices of all tasks", {},
      [this](absl::Time until, std::shared_ptr<Cancellation> cancellation,
             auto answer) {
        options_.coordinator->ListDevices({}, until, std::move(cancellation),
                                          std::move(answer));
      },
      [listing, done = std::move(done)](Devices devices) mutable {
        listing->open->ReleaseClient();
        done(std::move(devices));
      });
}

std::vector<protocol::DeclaredResources> Master::Declared() const {
  std::vector<protocol::DeclaredResources> result;
  for (const auto& session : Sessions()) {
    result.push_back({session->id(), session->declared()});
  }
  return result;
}

}  // namespace weft
