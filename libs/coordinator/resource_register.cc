// Stores what is known about resources. Comparisons are in
// resource_comparison.cc.
#include "libs/coordinator/resource_register.h"

#include <algorithm>

#include "libs/cluster/device_name.h"
#include "libs/coordinator/device_owner.h"

namespace weft {
namespace {

bool IsFullName(const std::string& device) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  return name.ok() && name->IsFull() && name->ToString() == device;
}

bool IsWellFormed(const protocol::PlacedResource& resource) {
  return !resource.resource.container.empty() && IsFullName(resource.device);
}

// Spreads a number over 64 bits (the finalizer of SplitMix64), so that the
// exclusive or of several results identifies a set of numbers.
uint64_t Spread(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

}  // namespace

// Returns the reported properties of the object, completed by those that were
// declared. If the object itself leaves its shape open, the declared shape is
// ignored.
ResourceFacts ResourceRegister::Entry::Left() const {
  if (!held) return last;
  ResourceFacts left = last.MergedWith(*held);
  if (held->dtype != DT_INVALID) left.shape = held->shape;
  return left;
}

ResourceRegister::Key ResourceRegister::KeyOf(const NamedResource& resource) {
  return {resource.container, resource.name, resource.kind};
}

std::set<std::string> ResourceRegister::Homes(
    const NamedResource& resource) const {
  std::set<std::string> homes;
  const auto add = [&](const std::string& container, bool is_default) {
    ++num_looks_;
    const auto it = entries_.find({container, resource.name, resource.kind});
    if (it == entries_.end()) return;
    for (const auto& [device, entry] : it->second.entries) {
      ++num_looks_;
      if (!is_default || JobOfDevice(device) == container) homes.insert(device);
    }
  };
  if (!resource.container.empty()) {
    add(resource.container, /*is_default=*/false);
    return homes;
  }
  for (const auto& [job, count] : jobs_) add(job, /*is_default=*/true);
  return homes;
}

// ---- sessions ----

void ResourceRegister::Declare(const Owner& owner,
                               absl::Span<const NodeResource> placed) {
  for (const NodeResource& one : placed) {
    DeclareOne(owner, one.resource, one.device);
  }
  ListPrograms();
}

ResourceRegister::Session& ResourceRegister::FindOrAddSession(
    const Owner& owner) {
  const auto [it, is_new] = sessions_.try_emplace(owner.session);
  Session& session = it->second;
  if (is_new) {
    session.task = owner.task;
    session.task_number = FindOrAddNumber(owner.task);
    sessions_of_[owner.task].insert(owner.session);
  }
  return session;
}

void ResourceRegister::DeclareOne(const Owner& owner,
                                  const NamedResource& resource,
                                  const std::string& device) {
  Session& session = FindOrAddSession(owner);
  Entry& entry = FindOrAdd(KeyOf(resource), device);
  const DeclaringSession by(session.task_number, owner.session);
  ResourceFacts facts = FactsOf(resource);
  const bool is_new =
      session.places
          .try_emplace(entry.number, Declared{&entry, session.num_declared})
          .second;
  if (is_new) {
    ++session.num_declared;
    NoteChange(owner.session, session, entry);
  } else {
    // A session may declare a resource several times, sometimes with more known
    // properties.
    facts = TakeDeclaration(entry, by).MergedWith(facts);
  }
  AddDeclaration(entry, by, facts);
  entry.last = entry.last.MergedWith(facts);
  entry.last_task = session.task;
  entry.unconfirmed_at = 0;
  NoteWhetherShared(entry);
}

void ResourceRegister::AddDeclaration(Entry& entry, DeclaringSession by,
                                      const ResourceFacts& facts) {
  for (Declaration& one : entry.declared) {
    if (one.facts != facts) continue;
    one.by.insert(by);
    return;
  }
  entry.declared.push_back({facts, {by}});
}

ResourceFacts ResourceRegister::TakeDeclaration(Entry& entry,
                                                DeclaringSession by) {
  ResourceFacts facts;
  for (auto it = entry.declared.begin(); it != entry.declared.end(); ++it) {
    if (it->by.erase(by) == 0) continue;
    facts = it->facts;
    if (it->by.empty()) entry.declared.erase(it);
    break;
  }
  return facts;
}

void ResourceRegister::NoteChange(uint64_t id, Session& session,
                                  const Entry& entry) {
  if (entry.task == session.task) return;
  session.program ^= Spread(entry.number);
  if (!std::exchange(session.is_stale, true)) stale_.push_back(id);
}

void ResourceRegister::ListPrograms() {
  for (const uint64_t id : stale_) {
    const auto it = sessions_.find(id);
    if (it == sessions_.end()) continue;
    Session& session = it->second;
    Unlist(id, session);
    session.is_stale = false;
    session.listed = session.program;
    if (session.listed == 0) continue;
    programs_[session.listed].emplace(session.task_number, id);
  }
  stale_.clear();
}

void ResourceRegister::Unlist(uint64_t id, const Session& session) {
  const auto it = programs_.find(session.listed);
  if (it == programs_.end()) return;
  it->second.erase({session.task_number, id});
  if (it->second.empty()) programs_.erase(it);
}

void ResourceRegister::EndSession(uint64_t session) {
  EndDeclarations(session);
  if (has_reports_) ended_.Add(session);
}

void ResourceRegister::EndDeclarations(uint64_t session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  ++timestamp_;
  const DeclaringSession by(it->second.task_number, session);
  for (const auto& [number, place] : it->second.places) {
    Entry& entry = *place.entry;
    TakeDeclaration(entry, by);
    if (entry.declared.empty()) {
      MarkUnconfirmed(entry);
    } else {
      NoteWhetherShared(entry);
    }
  }
  Unlist(session, it->second);
  const auto of_task = sessions_of_.find(it->second.task);
  of_task->second.erase(session);
  if (of_task->second.empty()) sessions_of_.erase(of_task);
  sessions_.erase(it);
}

void ResourceRegister::MarkUnconfirmed(Entry& entry) {
  const auto task = tasks_.find(entry.task);
  // A task that has not joined has no resources.
  if (task == tasks_.end()) return Erase(entry);
  entry.unconfirmed_at = timestamp_;
  task->second.wanted = timestamp_;
  NoteWhetherShared(entry);
}

std::vector<protocol::PlacedResource> ResourceRegister::OnlyDeclaredOn(
    const std::string& task) const {
  std::vector<protocol::PlacedResource> result;
  for (const Entry* const entry : EntriesOn(task)) {
    if (entry->declared.empty() || entry->held.has_value()) continue;
    protocol::PlacedResource& one = result.emplace_back();
    one.resource = {entry->key->container, entry->key->name, entry->key->kind,
                    entry->last.dtype, entry->last.shape};
    one.device = *entry->device;
  }
  return result;
}

std::map<std::string, int> ResourceRegister::SessionsOfTasks() const {
  std::map<std::string, int> counts;
  for (const auto& [id, session] : sessions_) {
    if (!session.places.empty()) ++counts[session.task];
  }
  return counts;
}

std::map<std::string, std::map<std::string, int>>
ResourceRegister::SessionsByContainer() const {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto& [id, session] : sessions_) {
    std::set<std::string> containers;
    for (const auto& [number, place] : session.places) {
      containers.insert(place.entry->key->container);
    }
    for (const std::string& container : containers) {
      ++counts[session.task][container];
    }
  }
  return counts;
}

std::vector<uint64_t> ResourceRegister::SessionsOf(
    const std::string& task) const {
  const auto it = sessions_of_.find(task);
  if (it == sessions_of_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

// ---- tasks and their reports ----

void ResourceRegister::AddTask(const std::string& task) { tasks_[task]; }

void ResourceRegister::DropTask(const std::string& task) {
  if (tasks_.erase(task) == 0) return;
  for (Entry* const entry : EntriesOn(task)) Erase(*entry);
  for (const uint64_t session : SessionsOf(task)) EndDeclarations(session);
  ListPrograms();
}

bool ResourceRegister::Report(const std::string& task,
                              const protocol::TaskReport& report) {
  const auto state = tasks_.find(task);
  if (state == tasks_.end()) return false;
  state->second.is_asked = false;
  // Resources in a report that was made before containers were cleared are
  // ignored, because a newer report will follow.
  const bool is_young = state->second.answered >= state->second.cleared;
  if (is_young) ReportHeld(task, state->second, report.resources);
  ReportSessions(task, state->second, report.sessions);
  ListPrograms();
  return is_young;
}

void ResourceRegister::ReportSessions(
    const std::string& task, Task& state,
    const std::vector<protocol::DeclaredResources>& sessions) {
  absl::flat_hash_set<uint64_t> open;
  for (const protocol::DeclaredResources& declared : sessions) {
    open.insert(declared.session);
    if (HasEnded(declared.session)) continue;
    const auto known = sessions_.find(declared.session);
    if (known != sessions_.end() && known->second.task != task) continue;
    for (const protocol::PlacedResource& one : declared.resources) {
      if (!IsWellFormed(one)) continue;
      DeclareOne({declared.session, task}, one.resource, one.device);
    }
  }
  std::vector<uint64_t> ended;
  for (const uint64_t id : SessionsOf(task)) {
    Session& session = sessions_.at(id);
    if (open.contains(id)) {
      session.missed = 0;
    } else if (session.missed == 0) {
      state.wanted = session.missed = ++timestamp_;
    } else if (session.missed <= state.answered) {
      ended.push_back(id);
    }
  }
  // Reports of a task arrive in order. If a later report contains the session
  // again, that report is right: the master learned late that the session was
  // placed.
  for (const uint64_t id : ended) EndDeclarations(id);
}

void ResourceRegister::ReportHeld(
    const std::string& task, Task& state,
    const std::vector<protocol::PlacedResource>& resources) {
  absl::flat_hash_set<uint64_t> seen;
  for (const protocol::PlacedResource& one : resources) {
    if (!IsWellFormed(one) || TaskOfDevice(one.device) != task) continue;
    Entry& entry = FindOrAdd(KeyOf(one.resource), one.device);
    seen.insert(entry.number);
    entry.held = FactsOf(one.resource);
    if (entry.unconfirmed_at <= state.answered) entry.unconfirmed_at = 0;
  }
  for (Entry* const entry : EntriesOn(task)) {
    if (seen.contains(entry->number)) continue;
    entry->held.reset();
    if (entry->declared.empty() && entry->unconfirmed_at <= state.answered)
      Erase(*entry);
  }
  state.reported = std::max(state.reported, state.answered);
}

bool ResourceRegister::Answer(const std::string& task) {
  const auto it = tasks_.find(task);
  if (it == tasks_.end()) return false;
  Task& state = it->second;
  if (state.is_asked) return true;
  state.answered = timestamp_;
  state.is_asked = has_reports_ && state.wanted > state.reported;
  return state.is_asked;
}

void ResourceRegister::AnswerJoin(const std::string& task) {
  const auto it = tasks_.find(task);
  if (it == tasks_.end()) return;
  it->second.answered = timestamp_;
  it->second.is_asked = false;
}

void ResourceRegister::Want(const std::string& task) {
  const auto it = tasks_.find(task);
  if (it != tasks_.end()) it->second.wanted = ++timestamp_;
}

void ResourceRegister::WantSessions() {
  for (const auto& [task, sessions] : sessions_of_) Want(task);
}

bool ResourceRegister::IsSettled(const std::string& task,
                                 uint64_t since) const {
  const auto it = tasks_.find(task);
  return it == tasks_.end() || it->second.reported >= since;
}

void ResourceRegister::Forget(const ContainerFilter& filter) {
  ++timestamp_;
  for (auto& [task, state] : tasks_) {
    if (filter.PassesTask(task)) state.cleared = state.wanted = timestamp_;
  }
  std::vector<Entry*> cleared;
  for (const auto& [task, entries] : on_task_) {
    if (!filter.PassesTask(task)) continue;
    for (const auto& [number, entry] : entries) {
      if (filter.Passes(entry->key->container, *entry->device)) {
        cleared.push_back(entry);
      }
    }
  }
  for (Entry* const entry : cleared) Erase(*entry);
  ListPrograms();
}

// ---- entries ----

ResourceRegister::Entry& ResourceRegister::FindOrAdd(
    const Key& key, const std::string& device) {
  const auto devices = entries_.try_emplace(key).first;
  const auto [it, is_new] = devices->second.entries.try_emplace(device);
  Entry& entry = it->second;
  if (!is_new) return entry;
  entry.number = ++num_entries_made_;
  entry.key = &devices->first;
  entry.device = &it->first;
  entry.devices = &devices->second;
  entry.task = TaskOfDevice(device);
  on_task_[entry.task].emplace(entry.number, &entry);
  ++jobs_[JobOfDevice(device)];
  return entry;
}

void ResourceRegister::Erase(Entry& entry) {
  for (const Declaration& one : entry.declared) {
    for (const auto& [task, id] : one.by) {
      Session& session = sessions_.at(id);
      session.places.erase(entry.number);
      NoteChange(id, session, entry);
    }
  }
  const auto on_task = on_task_.find(entry.task);
  on_task->second.erase(entry.number);
  if (on_task->second.empty()) on_task_.erase(on_task);
  const auto job = jobs_.find(JobOfDevice(*entry.device));
  if (--job->second == 0) jobs_.erase(job);
  const auto devices = entries_.find(*entry.key);
  devices->second.shared.erase(entry.number);
  devices->second.entries.erase(devices->second.entries.find(*entry.device));
  if (devices->second.entries.empty()) entries_.erase(devices);
}

void ResourceRegister::NoteWhetherShared(Entry& entry) {
  if (IsShared(entry)) {
    entry.devices->shared.emplace(entry.number, &entry);
  } else {
    entry.devices->shared.erase(entry.number);
  }
}

bool ResourceRegister::IsShared(const Entry& entry) const {
  const int own = NumberOf(entry.task);
  for (const Declaration& one : entry.declared) {
    if (one.by.begin()->first != own || one.by.rbegin()->first != own) {
      return true;
    }
  }
  return entry.declared.empty() && !entry.last_task.empty() &&
         entry.last_task != entry.task;
}

std::vector<ResourceRegister::Entry*> ResourceRegister::EntriesOn(
    const std::string& task) const {
  std::vector<Entry*> result;
  const auto it = on_task_.find(task);
  if (it == on_task_.end()) return result;
  for (const auto& [number, entry] : it->second) result.push_back(entry);
  return result;
}

int ResourceRegister::NumberOf(const std::string& task) const {
  const auto it = task_numbers_.find(task);
  return it == task_numbers_.end() ? -1 : it->second;
}

int ResourceRegister::FindOrAddNumber(const std::string& task) {
  const int next = static_cast<int>(task_numbers_.size());
  return task_numbers_.try_emplace(task, next).first->second;
}

int ResourceRegister::num_entries() const {
  size_t count = 0;
  for (const auto& [key, devices] : entries_) count += devices.entries.size();
  return static_cast<int>(count);
}

}  // namespace weft
