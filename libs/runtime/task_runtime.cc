#include "libs/runtime/task_runtime.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/clock.h"
#include "libs/base/join.h"
#include "libs/base/status.h"
#include "libs/bus/transport.h"
#include "libs/device/device_memory.h"
#include "libs/passes/run_passes.h"
#include "libs/protocol/peer_checks.h"
#include "libs/resource/queue.h"
#include "libs/resource/variable.h"
#include "libs/runtime/graph_bytes.h"
#include "libs/runtime/running_step.h"

namespace weft {
namespace {

absl::Status UnknownOn(const std::string& task, absl::string_view what) {
  return absl::AbortedError(absl::StrCat(
      what, " is not known on ", task, ". Possibly this task has restarted."));
}

absl::Status Deleted(uint64_t session) {
  return MarkDerived(absl::AbortedError(
      absl::StrCat("Session ", session, " has been deleted.")));
}

absl::Status Released(const protocol::PartitionRegistration& registration) {
  return MarkDerived(absl::AbortedError(
      absl::StrCat("Registration ", registration.registration, " of session ",
                   registration.session.session, " has been released.")));
}

}  // namespace

TaskRuntime::TaskRuntime(std::vector<std::unique_ptr<Device>> devices,
                         const TaskRuntimeOptions& options)
    : devices_(std::make_move_iterator(devices.begin()),
               std::make_move_iterator(devices.end())),
      options_(options),
      reclaimer_(std::make_shared<Reclaimer>(*options.scheduler)),
      value_reclaimer_(std::make_shared<Reclaimer>(*options.scheduler)),
      shared_resources_(NewResources()),
      steps_(options.max_unclaimed_bytes_per_session, *options.scheduler,
             value_reclaimer_, options.task) {}

TaskRuntime::~TaskRuntime() {
  {
    // A registration keeps its session alive, so sessions are emptied by hand.
    absl::MutexLock lock(&mutex_);
    for (auto& [id, session] : sessions_) session->registrations.clear();
    sessions_.clear();
    for (auto& [incarnation, peer] : peers_) {
      if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
    }
    for (const auto& resources : shared_resources_) resources->ClearAll();
  }
  // Before the reclaimers, which get what these let go of.
  (void)cancelling_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
  reclaimer_->WaitUntilNone();
  value_reclaimer_->WaitUntilNone();
}

void TaskRuntime::Session::AddContainers(const Registration::Containers& more) {
  for (const Registration::Container& container : more) {
    if (!containers.insert(container).second) continue;
    registered_bytes += static_cast<int64_t>(container.name.size()) + 64;
  }
}

TaskRuntime::Session::~Session() {
  for (const auto& local_functions : functions) local_functions->EndSession();
  for (const auto& resources : own_resources) resources->ClearAll();
}

std::vector<std::shared_ptr<ResourceManager>> TaskRuntime::NewResources()
    const {
  std::vector<std::shared_ptr<ResourceManager>> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    result.push_back(
        std::make_shared<ResourceManager>(options_.default_container));
  }
  return result;
}

std::vector<protocol::PlacedResource> TaskRuntime::SharedResources() const {
  std::vector<protocol::PlacedResource> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    for (ResourceManager::Entry& entry : shared_resources_[i]->List()) {
      // Names that begin so are private to a kernel.
      if (absl::StartsWith(entry.name, "_")) continue;
      result.push_back(
          {.resource = {std::move(entry.container), std::move(entry.name),
                        std::move(entry.type_name), entry.info.dtype,
                        entry.info.shape},
           .device = devices_[i]->name(),
           .num_bytes = entry.info.num_bytes,
           .description = std::move(entry.description)});
    }
  }
  return result;
}

std::vector<protocol::DeviceUse> TaskRuntime::MemoryInUse() const {
  std::vector<protocol::DeviceUse> result;
  for (const auto& device : devices_) {
    const DeviceMemory memory = MemoryOf(*device);
    if (memory.limit == 0) continue;
    result.push_back({device->name(), memory.total, memory.in_use});
  }
  return result;
}

ResourceTotals TaskRuntime::CountResources() const {
  std::vector<std::shared_ptr<Resource>> resources;
  for (const auto& shared : shared_resources_) shared->AppendAll(resources);
  std::vector<std::shared_ptr<Session>> sessions;
  {
    absl::ReaderMutexLock lock(&mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  for (const auto& session : sessions) {
    for (const auto& own : session->own_resources) own->AppendAll(resources);
  }
  ResourceTotals totals;
  for (const std::shared_ptr<Resource>& resource : resources) {
    if (resource->type_name() == Variable::kTypeName) {
      ++totals.variables;
      totals.variable_bytes += resource->info().num_bytes;
    } else if (resource->type_name() == Queue::kTypeName) {
      ++totals.queues;
      totals.queue_elements += static_cast<const Queue&>(*resource).size();
    }
  }
  return totals;
}

std::map<std::string, int64_t> TaskRuntime::CountWaits() const {
  std::map<std::string, int64_t> waits;
  for (const auto& registration : RegistrationsOf(std::nullopt)) {
    registration->CountWaits(waits);
  }
  return waits;
}

std::vector<DeviceAttributes> TaskRuntime::Devices() const {
  std::vector<DeviceAttributes> result;
  for (const auto& device : devices_) result.push_back(device->attributes());
  return result;
}

void TaskRuntime::GetStatusWhenConnected(absl::Time, DevicesDone done) {
  done(Devices());
}

void TaskRuntime::CreateWorkerSession(
    const protocol::WorkerSession& session,
    const protocol::WorkerSessionOptions& options, absl::Time, Done done) {
  done(AddSession(session, options));
}

absl::Status TaskRuntime::CheckAdmits(const Session& session) const {
  if (is_draining_ && session.is_monitored && !IsMonitoredByOther(session)) {
    return absl::OkStatus();
  }
  return stopped_;
}

absl::Status TaskRuntime::AddSession(
    const protocol::WorkerSession& session,
    const protocol::WorkerSessionOptions& options) {
  const auto created = reclaimer_->Own(std::make_unique<Session>());
  created->devices = devices_;
  created->master_incarnation = session.master_incarnation;
  created->is_monitored = options.is_monitored;
  if (options.is_monitored && options_.expect_saves) {
    created->expects_saves = options_.expect_saves();
  }
  if (options.isolated) created->own_resources = NewResources();
  const auto& resources =
      options.isolated ? created->own_resources : shared_resources_;
  for (size_t i = 0; i < devices_.size(); ++i) {
    using Kept =
        std::pair<std::shared_ptr<Device>, std::shared_ptr<ResourceManager>>;
    created->functions.push_back(
        std::make_shared<LocalFunctions>(LocalFunctions::Options{
            .kernels = options_.kernels,
            .device = devices_[i].get(),
            .random = options_.random,
            .rewrite = devices_[i]->device_type() == "CPU" ? RewriteFunctionBody
                                                           : nullptr,
            .keeps = std::make_shared<Kept>(devices_[i], resources[i])}));
  }
  const bool is_awaited = IsMonitoredByOther(*created);
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckAdmits(*created));
  if (ended_sessions_.Contains({session.master_incarnation, session.session})) {
    return Deleted(session.session);
  }
  RETURN_IF_ERROR(CheckRoomFor(session));
  const auto [it, is_new] = sessions_.emplace(session.session, created);
  if (it->second->master_incarnation != session.master_incarnation) {
    return absl::AlreadyExistsError(absl::StrCat(
        "Session ", session.session, " on ", options_.task,
        " is another master's. Create a session of another number."));
  }
  if (!is_new) return absl::OkStatus();
  if (is_awaited) monitored_.Begin();
  steps_.AddSession(session);
  // Of a master that is lost, or was never here: nobody else would end it.
  const bool is_own = session.master_incarnation == options_.incarnation;
  if (!is_own && !peers_.contains(session.master_incarnation)) {
    BeginLease(session.master_incarnation, peers_[session.master_incarnation]);
  }
  return absl::OkStatus();
}

absl::Status TaskRuntime::CheckRoomFor(
    const protocol::WorkerSession& session) const {
  if (sessions_.contains(session.session) ||
      sessions_.size() < static_cast<uint64_t>(options_.max_sessions)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      options_.task, " takes part in ", sessions_.size(),
      " sessions of all masters, as many as it may. Close some, or raise "
      "max_worker_sessions there."));
}

void TaskRuntime::DeleteWorkerSession(const protocol::WorkerSession& session,
                                      absl::Time, Done done) {
  {
    absl::MutexLock lock(&mutex_);
    ended_sessions_.Add({session.master_incarnation, session.session});
  }
  RemoveSession(session, Deleted(session.session));
  done(absl::OkStatus());
}

TaskRuntime::Sessions::const_iterator TaskRuntime::FindSession(
    const protocol::WorkerSession& session) const {
  const auto it = sessions_.find(session.session);
  if (it == sessions_.end()) return it;
  const bool is_its_own =
      it->second->master_incarnation == session.master_incarnation;
  return is_its_own ? it : sessions_.end();
}

void TaskRuntime::RemoveSession(const protocol::WorkerSession& session,
                                const absl::Status& cause) {
  RemovedSession removed;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = FindSession(session);
    if (it == sessions_.end()) return;
    removed = TakeOut(it, cause);
  }
  removed.cancel_steps();
}

// One of the same number that is made afterwards is in both tables.
TaskRuntime::RemovedSession TaskRuntime::TakeOut(Sessions::const_iterator it,
                                                 const absl::Status& cause) {
  RemovedSession removed;
  removed.cancel_steps = steps_.RemoveSession(it->first, cause);
  removed.session = it->second;
  removed.expects_saves = std::move(removed.session->expects_saves);
  removed.registrations = std::move(removed.session->registrations);
  sessions_.erase(it);
  if (IsMonitoredByOther(*removed.session)) monitored_.End();
  return removed;
}

void TaskRuntime::CancelSteps(std::vector<RemovedSession> sessions) {
  for (RemovedSession& session : sessions) session.cancel_steps();
}

void TaskRuntime::CancelStepsSoon(std::vector<RemovedSession> sessions) {
  if (sessions.empty()) return;
  cancelling_.Begin();
  options_.scheduler->Schedule(
      Pool::kControl, [this, sessions = std::move(sessions)]() mutable {
        CancelSteps(std::move(sessions));  // and lets go of them
        cancelling_.End();
      });
}

absl::Status TaskRuntime::CheckGoesOn(Sessions::const_iterator it) const {
  const bool is_monitored = it != sessions_.end() && it->second->is_monitored;
  return is_draining_ && is_monitored ? absl::OkStatus() : stopped_;
}

absl::StatusOr<std::shared_ptr<TaskRuntime::Session>> TaskRuntime::SessionFor(
    const protocol::PartitionRegistration& registration) const {
  const uint64_t id = registration.session.session;
  const auto it = FindSession(registration.session);
  RETURN_IF_ERROR(CheckGoesOn(it));
  if (it == sessions_.end()) {
    return UnknownOn(options_.task, absl::StrCat("Session ", id));
  }
  if (ended_registrations_.Contains({id, registration.registration})) {
    return Released(registration);
  }
  return it->second;
}

int TaskRuntime::num_sessions() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(sessions_.size());
}

int TaskRuntime::num_registrations() const {
  absl::ReaderMutexLock lock(&mutex_);
  size_t count = 0;
  for (const auto& [id, session] : sessions_) {
    count += session->registrations.size();
  }
  return static_cast<int>(count);
}

void TaskRuntime::Register(const protocol::PartitionRegistration& registration,
                           absl::Time deadline, RegisterDone done) {
  absl::StatusOr<std::shared_ptr<Registration>> added =
      AddRegistration(registration);
  if (!added.ok()) return done(added.status());
  // No step of it begins before that is answered.
  AfterHolds((*added)->variables(),
             [this, graph = *added, wants = registration.wants_new_variables,
              deadline, done = std::move(done)]() mutable {
               protocol::NewVariables made;
               if (wants) made = FindNewVariables(*graph);
               ConnectTo(graph->edges().outgoing, deadline,
                         [made = std::move(made), done = std::move(done)](
                             const absl::Status& status) mutable {
                           if (!status.ok()) return done(status);
                           done(std::move(made));
                         });
             });
}

protocol::NewVariables TaskRuntime::FindNewVariables(
    const Registration& graph) const {
  protocol::NewVariables made;
  if (!options_.memory_room) return made;
  for (const auto& [key, bytes] : graph.variables().assigned) {
    if (bytes == 0) continue;
    const auto variable =
        key.resources->Lookup<Variable>(key.container, key.name);
    if (variable.ok() && (*variable)->IsInitialized()) continue;
    made.Add(key.name, bytes);
  }
  if (made.bytes < protocol::NewVariables::kConsiderable) return {};
  made.room = options_.memory_room();
  return made;
}

void TaskRuntime::ConnectTo(const RemoteEdges& edges, absl::Time deadline,
                            Done done) {
  // By their first edge, so that a simulation repeats.
  const std::map<uint64_t, protocol::Worker*> sorted(edges.begin(),
                                                     edges.end());
  std::vector<protocol::Worker*> receivers;
  for (const auto& [edge, worker] : sorted) {
    if (std::find(receivers.begin(), receivers.end(), worker) ==
        receivers.end()) {
      receivers.push_back(worker);
    }
  }
  const auto finish =
      JoinCalls(static_cast<int>(receivers.size()) + 1, std::move(done));
  for (protocol::Worker* worker : receivers) {
    worker->GetStatusWhenConnected(
        deadline,
        [finish](const absl::StatusOr<std::vector<DeviceAttributes>>& status) {
          finish(status.status());
        });
  }
  finish(absl::OkStatus());
}

absl::StatusOr<size_t> TaskRuntime::FindDevice(const std::string& name) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i]->name() == name) return i;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("A partition for ", name, " came to ", options_.task,
                   ", which has no such device."));
}

absl::StatusOr<int64_t> TaskRuntime::CountNewFunctions(
    const protocol::PartitionRegistration& registration,
    const Session& session) const {
  int64_t bytes = 0;
  for (const protocol::DevicePartition& partition : registration.partitions) {
    ASSIGN_OR_RETURN(const size_t i, FindDevice(partition.device));
    bytes += session.functions[i]->BytesToAdd(*partition.graph);
  }
  return bytes;
}

absl::Status TaskRuntime::AddFunctions(
    const protocol::PartitionRegistration& registration, const Session& session,
    int64_t& added) const {
  for (const protocol::DevicePartition& partition : registration.partitions) {
    ASSIGN_OR_RETURN(const size_t i, FindDevice(partition.device));
    ASSIGN_OR_RETURN(const int64_t bytes,
                     session.functions[i]->Add(*partition.graph));
    added += bytes;
  }
  return absl::OkStatus();
}

// Others may add the same functions meanwhile: they count twice until then.
absl::StatusOr<std::shared_ptr<TaskRuntime::Session>>
TaskRuntime::BeginRegistration(
    const protocol::PartitionRegistration& registration, int64_t graph_bytes) {
  std::shared_ptr<Session> session;
  {
    absl::ReaderMutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(session, SessionFor(registration));
  }
  ASSIGN_OR_RETURN(const int64_t reserved,
                   CountNewFunctions(registration, *session));
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(
        CheckRegistered(registration, *session, graph_bytes, reserved));
    session->function_bytes += reserved;
  }
  int64_t added = 0;
  const absl::Status status = AddFunctions(registration, *session, added);
  absl::MutexLock lock(&mutex_);
  session->function_bytes -= reserved - added;
  RETURN_IF_ERROR(status);
  return session;
}

absl::StatusOr<std::shared_ptr<Registration>> TaskRuntime::AddRegistration(
    const protocol::PartitionRegistration& registration) {
  const uint64_t id = registration.session.session;
  const int64_t bytes = BytesOfGraphs(registration.partitions);
  ASSIGN_OR_RETURN(const std::shared_ptr<Session> session,
                   BeginRegistration(registration, bytes));
  ASSIGN_OR_RETURN(auto compiled, Compile(registration, session));
  compiled->set_num_bytes(bytes);
  RETURN_IF_ERROR(CheckAwaited(compiled->variables()));
  absl::MutexLock lock(&mutex_);
  // It may have been deleted meanwhile; a registration would keep it alive.
  ASSIGN_OR_RETURN(const auto found, SessionFor(registration));
  if (found != session) {
    return UnknownOn(options_.task, absl::StrCat("Session ", id));
  }
  RETURN_IF_ERROR(CheckRegistered(registration, *session, bytes, 0));
  const auto [it, is_new] = session->registrations.emplace(
      registration.registration, std::move(compiled));
  if (!is_new) return it->second;
  session->registered_bytes += bytes;
  session->AddContainers(it->second->containers());
  return it->second;
}

absl::Status TaskRuntime::CheckRegistered(
    const protocol::PartitionRegistration& registration, const Session& session,
    int64_t graph_bytes, int64_t function_bytes) const {
  const bool is_new =
      !session.registrations.contains(registration.registration);
  const int64_t more_bytes = (is_new ? graph_bytes : 0) + function_bytes;
  const uint64_t id = registration.session.session;
  const size_t before = session.registrations.size();
  if (is_new &&
      before >= static_cast<uint64_t>(options_.max_registrations_per_session)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.task, ": session ", id, " has ", before,
                     " graphs registered. Release callables, or raise "
                     "max_callables_per_session there."));
  }
  const int64_t bytes = session.registered_bytes + session.function_bytes;
  if (more_bytes <= options_.max_registered_bytes_per_session - bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      options_.task, ": session ", id, " has no room for a graph of ",
      more_bytes, " bytes: its registered graphs and functions take ", bytes,
      " of the ", options_.max_registered_bytes_per_session,
      " that they may. Release callables, feed large constants, or raise "
      "max_registered_bytes_per_session there."));
}

absl::Status TaskRuntime::CheckAwaited(const VariableUses& uses) const {
  absl::btree_set<VariableKey> missing;
  for (const VariableKey& key : uses.awaited) {
    const auto variable =
        key.resources->Lookup<Variable>(key.container, key.name);
    if (!variable.ok() || !(*variable)->IsInitialized()) missing.insert(key);
  }
  if (missing.empty()) return absl::OkStatus();
  const absl::btree_set<std::string> lacking =
      FindLacking(missing, uses.awaited);
  if (lacking.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "Variables not initialized: ", absl::StrJoin(lacking, ", "), ". On ",
      options_.task,
      ", others of this graph have got their values from a session that is "
      "ready and has no variables of these names, so nobody will initialise "
      "them. All programs of a training have to make the same variables."));
}

// Steps begin meanwhile, as in FindWriters.
absl::btree_set<std::string> TaskRuntime::FindLacking(
    const absl::btree_set<VariableKey>& variables,
    const absl::btree_set<VariableKey>& awaited) const {
  absl::btree_set<std::string> lacking;
  for (const SessionGraphs& session : AllGraphs()) {
    std::vector<const VariableUses*> graphs;
    for (const auto& [number, registration] : session.registrations) {
      graphs.push_back(&registration->variables());
    }
    for (const VariableKey& key : variables) {
      const auto knows_it = [&](const VariableUses* graph) {
        return graph->touched.contains(key);
      };
      if (HasInitialized(graphs, awaited, key.resources) &&
          absl::c_none_of(graphs, knows_it)) {
        lacking.insert(key.name);
      }
    }
  }
  return lacking;
}

absl::StatusOr<std::shared_ptr<Registration>> TaskRuntime::Compile(
    const protocol::PartitionRegistration& registration,
    std::shared_ptr<Session> session) const {
  std::vector<Registration::DevicePlan> plans;
  VariableUses variables;
  Registration::Containers containers;
  for (const protocol::DevicePartition& partition : registration.partitions) {
    ASSIGN_OR_RETURN(Registration::DevicePlan plan,
                     CompilePartition(partition, *session));
    AddContainers(*partition.graph, *plan.resources, containers);
    VariableUses uses = FindVariableUses(*partition.graph, *plan.resources);
    // A device's own memory is bounded there.
    if (plan.device->context() != nullptr) uses.assigned.clear();
    variables.Add(uses);
    plans.push_back(std::move(plan));
  }
  ASSIGN_OR_RETURN(
      Registration::Edges edges,
      FindEdges(registration.partitions, options_.task, options_.peers));
  return reclaimer_->Own(std::make_unique<Registration>(
      std::move(session), std::move(plans), FindEnds(registration.partitions),
      std::move(edges), std::move(variables), std::move(containers),
      options_.scheduler, options_.file_system, options_.metrics));
}

absl::StatusOr<Registration::DevicePlan> TaskRuntime::CompilePartition(
    const protocol::DevicePartition& partition, Session& session) const {
  ASSIGN_OR_RETURN(const size_t i, FindDevice(partition.device));
  ResourceManager* resources = session.own_resources.empty()
                                   ? shared_resources_[i].get()
                                   : session.own_resources[i].get();
  ASSIGN_OR_RETURN(
      auto plan,
      Plan::Compile(*partition.graph,
                    {.kernels = options_.kernels,
                     .device = devices_[i].get(),
                     .random = options_.random,
                     .stateful_kernels = &session.stateful_kernels,
                     .functions = session.functions[i].get(),
                     .default_container = &resources->default_container()}));
  return Registration::DevicePlan{std::move(plan), devices_[i].get(),
                                  resources};
}

void TaskRuntime::Deregister(const protocol::WorkerSession& session,
                             uint64_t registration) {
  std::shared_ptr<Registration> removed;  // let go of without the lock
  absl::MutexLock lock(&mutex_);
  const auto it = FindSession(session);
  if (it == sessions_.end()) return;
  auto found = it->second->registrations.find(registration);
  if (found == it->second->registrations.end()) {
    return ended_registrations_.Add({session.session, registration});
  }
  removed = std::move(found->second);
  it->second->registrations.erase(found);
  it->second->registered_bytes -= removed->num_bytes();
  auto& released = it->second->released;
  std::erase_if(released,
                [](const auto& entry) { return entry.second.expired(); });
  const VariableUses& uses = removed->variables();
  if (!uses.written.empty() || uses.writes_unknown) {
    released.emplace_back(registration, removed);
  }
}

absl::StatusOr<std::shared_ptr<Registration>> TaskRuntime::FindRegistration(
    const protocol::WorkerSession& session, uint64_t registration) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = FindSession(session);
  RETURN_IF_ERROR(CheckGoesOn(it));
  if (it != sessions_.end()) {
    auto found = it->second->registrations.find(registration);
    if (found != it->second->registrations.end()) return found->second;
  }
  return UnknownOn(options_.task,
                   absl::StrCat("Registration ", registration, " of session ",
                                session.session));
}

void TaskRuntime::Run(const protocol::PartitionStep& step, Done done) {
  auto registration = FindRegistration(step.session, step.registration);
  if (!registration.ok()) return done(registration.status());
  if (absl::Status status = (*registration)->Check(step); !status.ok()) {
    return done(std::move(status));
  }
  const bool is_shared =
      step.session.master_incarnation != options_.incarnation ||
      !(*registration)->edges().peers.all.empty();
  protocol::Worker* master = nullptr;
  const bool sends = !(*registration)->edges().outgoing.empty();
  if (sends && step.with_answer != nullptr) {
    master = options_.peers->Find(step.with_answer->master_task);
  }
  RunningStep::Start(*std::move(registration), step,
                     is_shared ? &steps_ : nullptr, master, std::move(done));
}

void TaskRuntime::Deliver(std::vector<protocol::Push> pushes) {
  for (protocol::Push& push : pushes) steps_.Deliver(std::move(push));
}

void TaskRuntime::Abort(const protocol::StepId& step, uint64_t steps_over_below,
                        const absl::Status& cause, Done done) {
  for (const std::string& task : steps_.Abort(step, steps_over_below, cause)) {
    protocol::Worker* const receiver = options_.peers->Find(task);
    if (receiver != nullptr) receiver->AbandonPushes(step);
  }
  done(absl::OkStatus());
}

std::vector<std::shared_ptr<Registration>> TaskRuntime::RegistrationsOf(
    std::optional<uint64_t> master_incarnation) const {
  std::vector<std::shared_ptr<Registration>> result;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [id, session] : sessions_) {
    if (master_incarnation.has_value() &&
        session->master_incarnation != *master_incarnation) {
      continue;
    }
    for (const auto& [registration, compiled] : session->registrations) {
      result.push_back(compiled);
    }
  }
  return result;
}

void TaskRuntime::DescribeWaits(const protocol::StepId& step, absl::Time,
                                WaitsDone done) {
  std::vector<std::string> waits;
  for (const auto& registration : RegistrationsOf(step.master_incarnation)) {
    if (!registration->DescribeWaits(step.step, waits)) continue;
    if (waits.size() > kMaxWaits) waits.resize(kMaxWaits);
    return done(std::move(waits));
  }
  done(absl::NotFoundError(
      absl::StrCat("Step ", step.step, " does not run on ", options_.task)));
}

void TaskRuntime::SetMaster(std::weak_ptr<protocol::StepHolds> master) {
  absl::MutexLock lock(&mutex_);
  master_ = std::move(master);
}

void TaskRuntime::HoldSteps(const protocol::StepHold& hold, absl::Time,
                            HoldDone done) {
  using Action = protocol::StepHold::Action;
  if (hold.action == Action::kHoldVariables) return done(HoldVariables(hold));
  auto answer = [done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) return done(status);
    done(std::vector<protocol::VariableWriter>());
  };
  if (hold.action == Action::kReleaseVariables) {
    return answer(ReleaseVariables(hold.holder));
  }
  std::shared_ptr<protocol::StepHolds> master;
  {
    absl::ReaderMutexLock lock(&mutex_);
    master = master_.lock();
  }
  // One that has ended runs no steps.
  if (master == nullptr) return answer(absl::OkStatus());
  master->HoldSteps(hold, std::move(answer));
}

absl::Status TaskRuntime::EndedBefore(const protocol::StepId& holder) const {
  return absl::CancelledError(absl::StrCat("Step ", holder.step,
                                           " had ended before it came to hold "
                                           "variables on ",
                                           options_.task));
}

absl::StatusOr<std::vector<protocol::VariableWriter>>
TaskRuntime::HoldVariables(const protocol::StepHold& hold) {
  ASSIGN_OR_RETURN(
      const auto registration,
      FindRegistration({hold.holder.master_incarnation, hold.session},
                       hold.registration));
  const absl::btree_set<VariableKey>& variables =
      registration->variables().touched;
  if (registration->variables().MayWrite(variables)) {
    return absl::InvalidArgumentError(
        absl::StrCat("A step that marks variables on ", options_.task,
                     " for a save also writes some of them: it would wait for "
                     "itself. Run the save alone."));
  }
  RETURN_IF_ERROR(AddHold(hold, variables));
  // What is registered from here on waits for its end.
  Writers writers = FindWriters(variables);
  VariableHolds::Hold refused;
  const absl::Status kept = NoteWriters(hold.holder, writers, refused);
  if (kept.ok()) return std::move(writers.named);
  End(std::move(refused));
  return kept;
}

absl::Status TaskRuntime::AddHold(
    const protocol::StepHold& hold,
    const absl::btree_set<VariableKey>& variables) {
  absl::MutexLock lock(&mutex_);
  if (ended_holds_.Contains(hold.holder)) return EndedBefore(hold.holder);
  if (holds_.size() >= kMaxHolds) {
    return absl::ResourceExhaustedError(absl::StrCat(
        options_.task, " holds variables for ", kMaxHolds, " steps"));
  }
  VariableHolds::Hold held;
  held.variables = variables;
  held.lease = options_.scheduler->ScheduleAt(
      Pool::kControl, options_.scheduler->clock().Now() + hold.lease,
      [self = weak_from_this(), holder = hold.holder] {
        if (auto runtime = self.lock()) {
          (void)runtime->ReleaseVariables(holder);  // nobody asks
        }
      });
  const Scheduler::TimerId lease = held.lease;
  if (holds_.Add(hold.holder, std::move(held))) return absl::OkStatus();
  options_.scheduler->CancelTimer(lease);
  return absl::AlreadyExistsError(absl::StrCat(options_.task,
                                               " holds variables for step ",
                                               hold.holder.step, " already"));
}

absl::Status TaskRuntime::NoteWriters(const protocol::StepId& holder,
                                      const Writers& writers,
                                      VariableHolds::Hold& refused) {
  absl::MutexLock lock(&mutex_);
  VariableHolds::Hold* const held = holds_.Find(holder);
  if (held == nullptr) return EndedBefore(holder);
  if (writers.named.size() > kMaxWriters) {
    refused = holds_.Take(holder);
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.task, " has ", writers.named.size(),
                     " graphs that write the variables, and can name ",
                     kMaxWriters, ". Release callables."));
  }
  for (const uint64_t incarnation : writers.absent) {
    if (const std::string task = TaskOf(incarnation); !task.empty()) {
      refused = holds_.Take(holder);
      return absl::AbortedError(absl::StrCat(
          task, ", whose steps write the variables, has connected to ",
          options_.task, " while others were held off. Save again."));
    }
  }
  held->absent = writers.absent;
  return absl::OkStatus();
}

std::vector<TaskRuntime::SessionGraphs> TaskRuntime::AllGraphs() const {
  std::vector<SessionGraphs> all;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [id, session] : sessions_) {
    const uint64_t incarnation = session->master_incarnation;
    SessionGraphs& graphs = all.emplace_back(
        SessionGraphs{TaskOf(incarnation), {incarnation, id}, {}});
    graphs.registrations.assign(session->registrations.begin(),
                                session->registrations.end());
    for (const auto& [number, entry] : session->released) {
      if (auto running = entry.lock()) {
        graphs.registrations.emplace_back(number, std::move(running));
      }
    }
  }
  return all;
}

// Steps begin meanwhile: there may be tens of thousands to look at.
TaskRuntime::Writers TaskRuntime::FindWriters(
    const absl::btree_set<VariableKey>& variables) const {
  Writers writers;
  for (const SessionGraphs& graphs : AllGraphs()) {
    for (const auto& [number, registration] : graphs.registrations) {
      if (!registration->variables().MayWrite(variables)) continue;
      if (graphs.task.empty()) {
        writers.absent.insert(graphs.session.master_incarnation);
        break;
      }
      writers.named.push_back({graphs.task, graphs.session, number});
    }
  }
  return writers;
}

std::string TaskRuntime::TaskOf(uint64_t master_incarnation) const {
  if (master_incarnation == options_.incarnation) return options_.task;
  const auto it = peers_.find(master_incarnation);
  if (it == peers_.end() || it->second.connections == 0) return "";
  return it->second.task;
}

absl::Status TaskRuntime::ReleaseVariables(const protocol::StepId& holder) {
  VariableHolds::Hold released;
  {
    absl::MutexLock lock(&mutex_);
    if (holds_.Find(holder) == nullptr) {
      ended_holds_.Add(holder);
      return absl::FailedPreconditionError(
          absl::StrCat(options_.task, " does not hold variables for step ",
                       holder.step, " any more"));
    }
    released = holds_.Take(holder);
  }
  End(std::move(released));
  return absl::OkStatus();
}

void TaskRuntime::EndHoldsOf(uint64_t master_incarnation) {
  std::vector<VariableHolds::Hold> ended;
  std::shared_ptr<protocol::StepHolds> master;
  {
    absl::MutexLock lock(&mutex_);
    const auto peer = peers_.find(master_incarnation);
    if (peer != peers_.end() && peer->second.connections > 0) return;
    ended = holds_.TakeOf(master_incarnation);
    master = master_.lock();
  }
  for (VariableHolds::Hold& hold : ended) End(std::move(hold));
  if (master != nullptr) master->EndHolds(master_incarnation);
}

void TaskRuntime::EndHoldsWithout(uint64_t master_incarnation) {
  std::vector<VariableHolds::Hold> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended = holds_.TakeWithout(master_incarnation);
  }
  for (VariableHolds::Hold& hold : ended) End(std::move(hold));
}

void TaskRuntime::End(VariableHolds::Hold hold) {
  options_.scheduler->CancelTimer(hold.lease);
  for (auto& then : hold.waiting) then();
}

void TaskRuntime::AfterHolds(const VariableUses& uses,
                             absl::AnyInvocable<void()> then) {
  {
    absl::MutexLock lock(&mutex_);
    if (VariableHolds::Hold* const hold = holds_.FindFor(uses)) {
      hold->waiting.push_back([this, uses, then = std::move(then)]() mutable {
        AfterHolds(uses, std::move(then));
      });
      return;
    }
  }
  then();
}

// A request may have waited for long: whoever gave it up may have had others
// make anew meanwhile what it would clear.
absl::Status TaskRuntime::CheckWanted(absl::Time deadline,
                                      const Cancellation& client) const {
  RETURN_IF_ERROR(client.status());
  if (options_.scheduler->clock().Now() < deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("The reset came to ", options_.task,
                   " after its deadline and has cleared nothing there. Reset "
                   "again, if it is still wanted."));
}

void TaskRuntime::ClearContainers(const std::vector<std::string>& containers,
                                  absl::Time deadline,
                                  const std::shared_ptr<Cancellation>& client,
                                  Done done) {
  absl::Status wanted = CheckWanted(deadline, *client);
  if (!wanted.ok()) return done(std::move(wanted));
  const std::vector<std::string> defaults = {""};
  Registration::Containers cleared;
  for (const auto& resources : shared_resources_) {
    for (const std::string& name : containers.empty() ? defaults : containers) {
      cleared.insert({resources.get(),
                      name.empty() ? resources->default_container() : name});
    }
  }
  EndSessionsThatUse(cleared);
  for (const auto& resources : shared_resources_) {
    for (const std::string& name : containers.empty() ? defaults : containers) {
      resources->ClearContainer(name);
    }
  }
  // Those that have registered a graph meanwhile.
  EndSessionsThatUse(cleared);
  done(absl::OkStatus());
}

// Before their resources go, so that their steps end with this and with no
// NOT_FOUND.
void TaskRuntime::EndSessionsThatUse(
    const Registration::Containers& containers) {
  const absl::Status cause = absl::AbortedError(
      absl::StrCat("A reset by another task's master has cleared a container "
                   "on ",
                   options_.task,
                   " in which the session has resources. Make a new session, "
                   "and give variables their values again."));
  std::vector<RemovedSession> ended;
  {
    absl::MutexLock lock(&mutex_);
    for (const uint64_t id : SessionsThatUse(containers)) {
      const auto it = sessions_.find(id);
      ended_sessions_.Add({it->second->master_incarnation, id});
      ended.push_back(TakeOut(it, cause));
    }
  }
  CancelSteps(std::move(ended));
}

std::vector<uint64_t> TaskRuntime::SessionsThatUse(
    const Registration::Containers& containers) const {
  std::vector<uint64_t> found;
  for (const auto& [id, session] : sessions_) {
    const bool uses = absl::c_any_of(
        session->containers,
        [&](const auto& container) { return containers.contains(container); });
    if (uses) found.push_back(id);
  }
  return found;
}

std::vector<uint64_t> TaskRuntime::OthersOf(const std::string& task,
                                            uint64_t incarnation,
                                            bool connected) const {
  std::vector<uint64_t> result;
  for (const auto& [other, peer] : peers_) {
    if (other == incarnation || peer.task != task) continue;
    if ((peer.connections > 0) == connected) result.push_back(other);
  }
  return result;
}

bool TaskRuntime::IsTaken(const std::string& task, uint64_t incarnation) const {
  for (const auto& [other, peer] : peers_) {
    if (other == incarnation || peer.task != task) continue;
    if (peer.is_claimed || (peer.connections > 0 && !peer.claims)) return true;
  }
  return false;
}

absl::Status TaskRuntime::PeerConnected(const std::string& task,
                                        uint64_t incarnation) {
  std::vector<uint64_t> predecessors;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(
        protocol::CheckIsOneTask(incarnation, task, TaskOf(incarnation)));
    PeerState& peer = peers_[incarnation];
    peer.task = task;
    peer.has_ended = false;
    if (peer.connections++ == 0) {
      peer.claims =
          !std::exchange(peer.is_claimed, false) && IsTaken(task, incarnation);
    }
    if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
    peer.lease = 0;
    if (!peer.claims) {
      predecessors = OthersOf(task, incarnation, /*connected=*/false);
      steps_.PeerConnected(task);
    }
  }
  EndHoldsWithout(incarnation);
  for (uint64_t other : predecessors) DropPredecessor(task, other);
  return absl::OkStatus();
}

void TaskRuntime::DropPredecessor(const std::string& task,
                                  uint64_t incarnation) {
  DropMaster(incarnation, absl::AbortedError(absl::StrCat("The task ", task,
                                                          " has restarted.")));
}

bool TaskRuntime::PeerLost(const std::string& task, uint64_t incarnation,
                           const absl::Status& why) {
  const absl::Status cause = absl::UnavailableError(
      absl::StrCat("The connection between ", options_.task, " and ", task,
                   " was lost: ", why.message()));
  const bool has_ended = why == bus::TaskHasEnded(task);
  const bool is_claimant = LoseConnection(incarnation, has_ended);
  EndHoldsOf(incarnation);
  StepTable::Loss lost;
  if (!is_claimant) lost = steps_.PeerLost(task, cause);
  const bool driven = steps_.CancelStepsOf(incarnation, MarkDerived(cause));
  for (const protocol::StepId& step : lost.ended) AbortAt(task, step, cause);
  return lost.was_needed || driven;
}

bool TaskRuntime::DropUnusedConnection(const std::string& task,
                                       uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  const auto it = peers_.find(incarnation);
  if (it == peers_.end() || it->second.connections < 2) return false;
  --it->second.connections;
  if (!it->second.claims) steps_.ConnectionClosed(task);
  return true;
}

bool TaskRuntime::LoseConnection(uint64_t incarnation, bool has_ended) {
  absl::MutexLock lock(&mutex_);
  const auto it = peers_.find(incarnation);
  if (it == peers_.end() || it->second.connections == 0) return false;
  PeerState& peer = it->second;
  peer.has_ended |= has_ended;
  if (--peer.connections > 0) return peer.claims;
  peer.is_claimed =
      !peer.claims &&
      !OthersOf(peer.task, incarnation, /*connected=*/true).empty();
  BeginLease(incarnation, peer);
  return peer.claims;
}

bool TaskRuntime::HasMonitoredSession(uint64_t incarnation) const {
  return absl::c_any_of(sessions_, [&](const auto& entry) {
    return entry.second->master_incarnation == incarnation &&
           entry.second->is_monitored;
  });
}

absl::Duration TaskRuntime::LeaseOf(uint64_t incarnation,
                                    const PeerState& peer) const {
  const absl::Duration lease =
      peer.is_claimed ? std::min(options_.claim_grace, options_.master_lease)
                      : options_.master_lease;
  if (!is_draining_) return lease;
  if (peer.has_ended || !HasMonitoredSession(incarnation)) {
    return absl::ZeroDuration();
  }
  return std::min(lease, options_.drain_lease);
}

void TaskRuntime::BeginLease(uint64_t incarnation, PeerState& peer) {
  if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
  peer.lease = options_.scheduler->ScheduleAt(
      Pool::kControl,
      options_.scheduler->clock().Now() + LeaseOf(incarnation, peer),
      [self = weak_from_this(), incarnation, loss = ++peer.losses] {
        if (auto runtime = self.lock()) {
          runtime->LeaseExpired(incarnation, loss);
        }
      });
}

bool TaskRuntime::EndClaims(const std::string& task, uint64_t incarnation) {
  const std::vector<uint64_t> successors =
      OthersOf(task, incarnation, /*connected=*/true);
  for (const uint64_t successor : successors) {
    PeerState& peer = peers_.at(successor);
    if (!std::exchange(peer.claims, false)) continue;
    for (int i = 0; i < peer.connections; ++i) steps_.PeerConnected(task);
  }
  return !successors.empty();
}

void TaskRuntime::AbortAt(const std::string& task, const protocol::StepId& step,
                          const absl::Status& cause) {
  protocol::Worker* worker =
      options_.peers ? options_.peers->Find(task) : nullptr;
  if (worker == nullptr) return;
  const absl::Time deadline =
      options_.scheduler->clock().Now() + options_.master_lease;
  // As soon as there is a connection again.
  worker->GetStatusWhenConnected(
      deadline,
      [worker, step,
       cause](const absl::StatusOr<std::vector<DeviceAttributes>>& status) {
        if (!status.ok()) return;
        worker->Abort(step, 0, cause, [](const absl::Status&) {});
      });
}

// Whether it is back is asked under the lock under which its sessions are
// taken out: those that it makes from then on live.
void TaskRuntime::LeaseExpired(uint64_t incarnation, uint64_t loss) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    auto it = peers_.find(incarnation);
    if (it == peers_.end() || it->second.connections > 0) return;
    if (it->second.losses != loss) return;  // it was back meanwhile
    sessions = EndLease(incarnation, it->second);
  }
  CancelSteps(std::move(sessions));
}

std::vector<TaskRuntime::RemovedSession> TaskRuntime::EndLease(
    uint64_t incarnation, PeerState& peer) {
  const bool was_claimed = std::exchange(peer.is_claimed, false);
  if (!was_claimed || EndClaims(peer.task, incarnation)) {
    return ForgetMaster(
        incarnation, absl::AbortedError(absl::StrCat(
                         "The session's master", peer.task.empty() ? "" : ", ",
                         peer.task, ", was lost and did not come back.")));
  }
  BeginLease(incarnation, peer);
  return {};
}

void TaskRuntime::DropMaster(uint64_t incarnation, const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions = ForgetMaster(incarnation, cause);
  }
  CancelStepsSoon(std::move(sessions));
}

std::vector<TaskRuntime::RemovedSession> TaskRuntime::ForgetMaster(
    uint64_t incarnation, const absl::Status& cause) {
  auto peer = peers_.find(incarnation);
  if (peer != peers_.end() && peer->second.connections <= 0) {
    if (peer->second.lease != 0) {
      options_.scheduler->CancelTimer(peer->second.lease);
    }
    peers_.erase(peer);
  }
  std::vector<RemovedSession> sessions;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (it->second->master_incarnation != incarnation) {
      ++it;
      continue;
    }
    const uint64_t id = it->first;
    sessions.push_back(TakeOut(it, MarkDerived(cause)));
    it = sessions_.upper_bound(id);  // all iterators are invalid now
  }
  return sessions;
}

void TaskRuntime::Drain(const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = cause;
    is_draining_ = true;
    std::vector<uint64_t> lost;
    for (auto& [incarnation, peer] : peers_) {
      if (peer.connections > 0) continue;
      if (LeaseOf(incarnation, peer) == absl::ZeroDuration()) {
        lost.push_back(incarnation);
      } else {
        BeginLease(incarnation, peer);
      }
    }
    for (const uint64_t incarnation : lost) {
      for (RemovedSession& session : ForgetMaster(incarnation, cause)) {
        sessions.push_back(std::move(session));
      }
    }
  }
  CancelSteps(std::move(sessions));
}

void TaskRuntime::Stop(const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  std::vector<VariableHolds::Hold> holds;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = cause;
    is_draining_ = false;
    while (!sessions_.empty()) {
      sessions.push_back(TakeOut(sessions_.begin(), cause));
    }
    holds = holds_.TakeAll();
  }
  CancelSteps(std::move(sessions));
  for (VariableHolds::Hold& hold : holds) End(std::move(hold));
}

}  // namespace weft
