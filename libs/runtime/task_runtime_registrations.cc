// Implements registrations: graphs that this task compiles for masters, until
// they are released.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/async/join.h"
#include "libs/base/status.h"
#include "libs/resource/variable.h"
#include "libs/runtime/graph_bytes.h"
#include "libs/runtime/task_runtime.h"

namespace weft {
namespace {

absl::Status UnknownOn(const std::string& task, absl::string_view what) {
  return absl::AbortedError(absl::StrCat(
      what, " is not known on ", task, ". Possibly this task has restarted."));
}

absl::Status Released(const protocol::PartitionRegistration& registration) {
  return MarkDerived(absl::AbortedError(
      absl::StrCat("Registration ", registration.registration, " of session ",
                   registration.session.session, " has been released.")));
}

}  // namespace

absl::StatusOr<std::shared_ptr<TaskRuntime::Session>> TaskRuntime::SessionFor(
    const protocol::PartitionRegistration& registration) const {
  const uint64_t id = registration.session.session;
  const auto it = FindSession(registration.session);
  RETURN_IF_ERROR(CheckSessionActive(it));
  if (it == sessions_.end()) {
    return UnknownOn(options_.task, absl::StrCat("Session ", id));
  }
  if (ended_registrations_.Contains({id, registration.registration})) {
    return Released(registration);
  }
  return it->second;
}

void TaskRuntime::Register(const protocol::PartitionRegistration& registration,
                           absl::Time deadline, RegisterDone done) {
  absl::StatusOr<std::shared_ptr<Registration>> added =
      AddRegistration(registration);
  if (!added.ok()) return done(added.status());
  // No step of the registration begins before the registration is answered.
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
  if (!options_.available_memory) return made;
  for (const auto& [key, bytes] : graph.variables().assigned) {
    if (bytes == 0) continue;
    const auto variable =
        key.resources->Lookup<Variable>(key.container, key.name);
    if (variable.ok() && (*variable)->IsInitialized()) continue;
    made.Add(key.name, bytes);
  }
  if (made.bytes < protocol::NewVariables::kConsiderable) return {};
  made.available = options_.available_memory();
  return made;
}

void TaskRuntime::ConnectTo(const RemoteEdges& edges, absl::Time deadline,
                            Done done) {
  // Edges are sorted, so that a simulation is reproducible.
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
      absl::StrCat("A partition for ", name, " was sent to ", options_.task,
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

// Other calls may add the same functions concurrently. These functions count
// twice until the calls end.
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
  // The session may have been deleted meanwhile; a registration in it would
  // keep it alive.
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
  return absl::FailedPreconditionError(
      absl::StrCat("Variables not initialized: ", absl::StrJoin(lacking, ", "),
                   ". On ", options_.task,
                   ", others of this graph have got their values from a "
                   "session that is ready and has no variables of these names, "
                   "so they will not be initialized. All programs of a "
                   "training must create the same variables."));
}

// Runs concurrently with steps, like FindWriters, because many graphs may have
// to be checked.
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
    // Memory of a device other than the host's has a limit of its own.
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
  std::shared_ptr<Registration> removed;  // destroyed without the lock
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
  RETURN_IF_ERROR(CheckSessionActive(it));
  if (it != sessions_.end()) {
    auto found = it->second->registrations.find(registration);
    if (found != it->second->registrations.end()) return found->second;
  }
  return UnknownOn(options_.task,
                   absl::StrCat("Registration ", registration, " of session ",
                                session.session));
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

}  // namespace weft
