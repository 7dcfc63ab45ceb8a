#include "libs/coordinator/resource_register.h"

#include <algorithm>
#include <iterator>

#include "libs/cluster/device_name.h"
#include "libs/coordinator/device_owner.h"

namespace weft {
namespace {

// Reports that were built before a session ended arrive long before so many
// more have ended.
constexpr size_t kEndedRemembered = 4096;

bool IsFullName(const std::string& device) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  return name.ok() && name->IsFull() && name->ToString() == device;
}

bool IsWellFormed(const protocol::PlacedResource& resource) {
  return !resource.resource.container.empty() && IsFullName(resource.device);
}

}  // namespace

// What is not known of the object itself is as it was declared.
ResourceFacts ResourceRegister::Entry::Left() const {
  return held ? last.MergedWith(*held) : last;
}

ResourceRegister::Key ResourceRegister::KeyOf(const NamedResource& resource) {
  return {resource.name, resource.kind, resource.container};
}

std::set<std::string> ResourceRegister::Homes(
    const NamedResource& resource) const {
  std::set<std::string> homes;
  // An empty container sorts first, and so begins the range of all.
  for (auto it = entries_.lower_bound(KeyOf(resource)); it != entries_.end();
       ++it) {
    const Key& key = it->first;
    if (key.name != resource.name || key.kind != resource.kind) break;
    if (!resource.container.empty() && key.container != resource.container) {
      break;
    }
    for (const auto& [device, entry] : it->second) {
      if (resource.container.empty() && key.container != JobOfDevice(device)) {
        continue;
      }
      homes.insert(device);
    }
  }
  return homes;
}

// Comparing.

std::set<ResourceRegister::Place> ResourceRegister::PlacesOf(
    const Declarer& declarer, absl::Span<const NodeResource> placed) const {
  std::set<Place> places;
  for (const NodeResource& one : placed) {
    places.insert({KeyOf(one.resource), one.device});
  }
  const auto session = sessions_.find(declarer.session);
  if (session == sessions_.end()) return places;
  for (const auto& [place, order] : session->second.places) {
    places.insert(place);
  }
  return places;
}

ResourceRegister::Verdict ResourceRegister::Compare(
    const Declarer& declarer, absl::Span<const NodeResource> placed,
    uint64_t since) const {
  // A program that has a resource on several devices does not disagree with one
  // that has come to only some of them so far.
  const std::set<Place> own = PlacesOf(declarer, placed);
  Verdict verdict;
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) == declarer.task) continue;
    CompareOne(declarer, one, own, since, verdict);
  }
  CompareNamesakes(declarer, placed, own, verdict);
  if (!verdict.differences.empty()) AddCauses(declarer, placed, verdict);
  return verdict;
}

void ResourceRegister::CompareOne(const Declarer& declarer,
                                  const NodeResource& placed,
                                  const std::set<Place>& own, uint64_t since,
                                  Verdict& verdict) const {
  const auto entries = entries_.find(KeyOf(placed.resource));
  if (entries == entries_.end()) return;
  const auto same = entries->second.find(placed.device);
  if (same != entries->second.end()) {
    return CompareOnDevice(declarer, placed, same->second, since, verdict);
  }
  for (const auto& [device, entry] : entries->second) {
    if (own.count({entries->first, device}) > 0) continue;
    CompareElsewhere(declarer, placed, device, entry, since, verdict);
  }
}

void ResourceRegister::CompareOnDevice(const Declarer& declarer,
                                       const NodeResource& placed,
                                       const Entry& entry, uint64_t since,
                                       Verdict& verdict) const {
  const ResourceFacts facts = FactsOf(placed.resource);
  for (const auto& [session, declared] : entry.declared) {
    if (session == declarer.session || declared.AgreeWith(facts)) continue;
    verdict.differences.push_back({placed, declarer.task, placed.device,
                                   declared, placed.resource.kind,
                                   sessions_.at(session).task, session});
    return;
  }
  // What sessions declare says more than what the object is at the moment: its
  // shape may change where a program allows that.
  if (!entry.declared.empty()) return;
  const ResourceFacts left = entry.Left();
  if (left.AgreeWith(facts)) return;
  AddUnlessDoubtful({placed, declarer.task, placed.device, left,
                     placed.resource.kind, entry.last_task},
                    std::max(since, entry.doubted), verdict);
}

void ResourceRegister::CompareElsewhere(const Declarer& declarer,
                                        const NodeResource& placed,
                                        const std::string& device,
                                        const Entry& entry, uint64_t since,
                                        Verdict& verdict) const {
  auto is_of_replica = [&](const std::string& task) {
    return !task.empty() && task != TaskOfDevice(device) &&
           task != declarer.task;
  };
  for (const auto& [session, declared] : entry.declared) {
    const std::string& task = sessions_.at(session).task;
    if (session == declarer.session || !is_of_replica(task)) continue;
    verdict.differences.push_back({placed, declarer.task, device, declared,
                                   placed.resource.kind, task, session});
    return;
  }
  if (!entry.declared.empty() || !is_of_replica(entry.last_task)) return;
  // In another job it is more likely something else of the same name.
  if (JobOfDevice(device) != JobOfDevice(placed.device)) return;
  AddUnlessDoubtful({placed, declarer.task, device, entry.Left(),
                     placed.resource.kind, entry.last_task},
                    std::max(since, entry.doubted), verdict);
}

void ResourceRegister::AddUnlessDoubtful(ResourceDifference difference,
                                         uint64_t since,
                                         Verdict& verdict) const {
  if (!has_reports_) return;
  const std::string task = TaskOfDevice(difference.there_device);
  if (IsSettled(task, since)) {
    verdict.differences.push_back(std::move(difference));
  } else {
    verdict.doubtful_tasks.insert(task);
  }
}

bool ResourceRegister::Declares(const std::set<Place>& places, const Key& key) {
  const auto it = places.lower_bound({key, ""});
  return it != places.end() && it->first == key;
}

bool ResourceRegister::Declares(const Session& session, const Key& key) {
  const auto it = session.places.lower_bound({key, ""});
  return it != session.places.end() && it->first.first == key;
}

void ResourceRegister::CompareNamesakes(const Declarer& declarer,
                                        absl::Span<const NodeResource> placed,
                                        const std::set<Place>& own,
                                        Verdict& verdict) const {
  std::vector<ResourceDifference> found;
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) == declarer.task) continue;
    FindNamesakes(declarer, one, own, found);
  }
  std::map<uint64_t, std::vector<ResourceDifference>> by_session;
  for (ResourceDifference& one : found) {
    by_session[one.there_session].push_back(std::move(one));
  }
  for (auto& [session, differences] : by_session) {
    size_t num_shared = 0;
    for (const auto& [place, order] : sessions_.at(session).places) {
      num_shared += own.count(place);
    }
    if (num_shared <= differences.size()) continue;
    std::move(differences.begin(), differences.end(),
              std::back_inserter(verdict.differences));
    return;
  }
}

void ResourceRegister::FindNamesakes(
    const Declarer& declarer, const NodeResource& placed,
    const std::set<Place>& own, std::vector<ResourceDifference>& found) const {
  const Key key = KeyOf(placed.resource);
  const bool is_default = key.container == JobOfDevice(placed.device);
  for (auto it = entries_.lower_bound({key.name, "", ""});
       it != entries_.end() && it->first.name == key.name; ++it) {
    const Key& other = it->first;
    const bool has_kind = other.kind == key.kind;
    // Which kind a program means is clear only where it has one.
    if (has_kind == (other.container == key.container)) continue;
    if (!has_kind && Declares(own, other)) continue;
    for (const auto& [device, entry] : it->second) {
      if (has_kind && !(is_default && other.container == JobOfDevice(device))) {
        continue;
      }
      for (const auto& [session, declared] : entry.declared) {
        const Session& there = sessions_.at(session);
        if (there.task == TaskOfDevice(device) || there.task == declarer.task ||
            Declares(there, key)) {
          continue;
        }
        found.push_back({placed, declarer.task, device, declared, other.kind,
                         there.task, session});
      }
    }
  }
}

void ResourceRegister::AddCauses(const Declarer& declarer,
                                 absl::Span<const NodeResource> placed,
                                 Verdict& verdict) const {
  DeclaredProgram here = ProgramOf(declarer.session);
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) != declarer.task) here.push_back(one);
  }
  // That which knows most of the other program.
  DeclaredProgram there;
  for (const ResourceDifference& one : verdict.differences) {
    DeclaredProgram program = ProgramOf(one.there_session);
    if (program.size() > there.size()) there = std::move(program);
  }
  verdict.causes = LikelyCauses(verdict.differences, here, there);
}

DeclaredProgram ResourceRegister::ProgramOf(uint64_t session) const {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return {};
  std::map<uint64_t, NodeResource> in_order;
  for (const auto& [place, order] : it->second.places) {
    const auto& [key, device] = place;
    if (TaskOfDevice(device) == it->second.task) continue;
    in_order[order] = {key.name,
                       {key.container, key.name, key.kind, DT_INVALID, {}, ""},
                       device};
  }
  DeclaredProgram program;
  for (auto& [order, one] : in_order) program.push_back(std::move(one));
  return program;
}

// Sessions.

void ResourceRegister::Declare(const Declarer& declarer,
                               absl::Span<const NodeResource> placed) {
  for (const NodeResource& one : placed) {
    DeclareOne(declarer, one.resource, one.device);
  }
}

void ResourceRegister::DeclareOne(const Declarer& declarer,
                                  const NamedResource& resource,
                                  const std::string& device) {
  const Place place(KeyOf(resource), device);
  Entry& entry = FindOrAdd(place);
  Session& session = sessions_[declarer.session];
  session.task = declarer.task;
  if (session.places.emplace(place, session.num_declared).second) {
    ++session.num_declared;
  }
  // A session may say it more than once, here less and there more exactly.
  const auto [declared, is_new] =
      entry.declared.emplace(declarer.session, FactsOf(resource));
  if (!is_new)
    declared->second = declared->second.MergedWith(FactsOf(resource));
  entry.last = entry.last.MergedWith(declared->second);
  entry.last_task = declarer.task;
  entry.doubted = 0;
}

void ResourceRegister::EndSession(uint64_t session) {
  EndDeclarations(session);
  if (!has_reports_ || !ended_.insert(session).second) return;
  ended_order_.push_back(session);
  if (ended_order_.size() <= kEndedRemembered) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

void ResourceRegister::EndDeclarations(uint64_t session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  ++moment_;
  for (const auto& [place, order] : it->second.places) {
    Entry& entry = *Find(place);
    entry.declared.erase(session);
    if (entry.declared.empty()) Doubt(place);
  }
  sessions_.erase(it);
}

void ResourceRegister::Doubt(const Place& place) {
  const auto task = tasks_.find(TaskOfDevice(place.second));
  // What is not there holds nothing.
  if (task == tasks_.end()) return Erase(place);
  Find(place)->doubted = moment_;
  task->second.wanted = moment_;
}

std::map<std::string, int> ResourceRegister::SessionsOfTasks() const {
  std::map<std::string, int> counts;
  for (const auto& [id, session] : sessions_) {
    if (!session.places.empty()) ++counts[session.task];
  }
  return counts;
}

// Tasks and what they report.

void ResourceRegister::AddTask(const std::string& task) { tasks_[task]; }

void ResourceRegister::DropTask(const std::string& task) {
  if (tasks_.erase(task) == 0) return;
  for (const Place& place : PlacesOn(task)) Erase(place);
  std::vector<uint64_t> sessions;
  for (const auto& [id, session] : sessions_) {
    if (session.task == task) sessions.push_back(id);
  }
  for (const uint64_t session : sessions) EndDeclarations(session);
}

bool ResourceRegister::Report(const std::string& task,
                              const protocol::TaskReport& report) {
  const auto state = tasks_.find(task);
  if (state == tasks_.end()) return false;
  // If not, a younger one will come.
  const bool is_young = state->second.told >= state->second.cleared;
  if (is_young) ReportHeld(task, state->second, report.resources);
  ReportSessions(task, state->second, report.sessions);
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
  for (auto& [id, session] : sessions_) {
    if (session.task != task) continue;
    if (open.contains(id)) {
      session.missed = 0;
    } else if (session.missed == 0) {
      state.wanted = session.missed = ++moment_;
    } else if (session.missed <= state.told) {
      ended.push_back(id);
    }
  }
  for (const uint64_t id : ended) EndSession(id);
}

void ResourceRegister::ReportHeld(
    const std::string& task, Task& state,
    const std::vector<protocol::PlacedResource>& resources) {
  std::set<Place> seen;
  for (const protocol::PlacedResource& one : resources) {
    if (!IsWellFormed(one) || TaskOfDevice(one.device) != task) continue;
    const Place place(KeyOf(one.resource), one.device);
    seen.insert(place);
    Entry& entry = FindOrAdd(place);
    entry.held = FactsOf(one.resource);
    if (entry.doubted <= state.told) entry.doubted = 0;
  }
  for (const Place& place : PlacesOn(task)) {
    if (seen.count(place) > 0) continue;
    Entry& entry = *Find(place);
    entry.held.reset();
    if (entry.declared.empty() && entry.doubted <= state.told) Erase(place);
  }
  state.reported = std::max(state.reported, state.told);
}

bool ResourceRegister::Answer(const std::string& task) {
  const auto it = tasks_.find(task);
  if (it == tasks_.end()) return false;
  it->second.told = moment_;
  return has_reports_ && it->second.wanted > it->second.reported;
}

void ResourceRegister::Want(const std::string& task) {
  const auto it = tasks_.find(task);
  if (it != tasks_.end()) it->second.wanted = ++moment_;
}

void ResourceRegister::WantSessions() {
  for (const auto& [id, session] : sessions_) Want(session.task);
}

bool ResourceRegister::IsSettled(const std::string& task,
                                 uint64_t since) const {
  const auto it = tasks_.find(task);
  return it == tasks_.end() || it->second.reported >= since;
}

void ResourceRegister::Forget(const ContainerFilter& filter) {
  ++moment_;
  for (auto& [task, state] : tasks_) {
    if (filter.PassesTask(task)) state.cleared = state.wanted = moment_;
  }
  std::vector<Place> cleared;
  for (const auto& [task, places] : places_) {
    if (!filter.PassesTask(task)) continue;
    for (const Place& place : places) {
      if (filter.Passes(place.first.container, place.second)) {
        cleared.push_back(place);
      }
    }
  }
  for (const Place& place : cleared) Erase(place);
}

// Entries.

ResourceRegister::Entry& ResourceRegister::FindOrAdd(const Place& place) {
  places_[TaskOfDevice(place.second)].insert(place);
  return entries_[place.first][place.second];
}

ResourceRegister::Entry* ResourceRegister::Find(const Place& place) {
  const auto entries = entries_.find(place.first);
  if (entries == entries_.end()) return nullptr;
  const auto entry = entries->second.find(place.second);
  return entry == entries->second.end() ? nullptr : &entry->second;
}

// `place` may lie in a session's set, which is changed here: by value.
void ResourceRegister::Erase(const Place& place) {
  const Place kept = place;
  const Entry* const entry = Find(kept);
  if (entry == nullptr) return;
  for (const auto& [session, declared] : entry->declared) {
    sessions_.at(session).places.erase(kept);
  }
  const auto entries = entries_.find(kept.first);
  entries->second.erase(kept.second);
  if (entries->second.empty()) entries_.erase(entries);
  const auto places = places_.find(TaskOfDevice(kept.second));
  places->second.erase(kept);
  if (places->second.empty()) places_.erase(places);
}

std::vector<ResourceRegister::Place> ResourceRegister::PlacesOn(
    const std::string& task) const {
  const auto it = places_.find(task);
  if (it == places_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

int ResourceRegister::num_entries() const {
  size_t count = 0;
  for (const auto& [key, entries] : entries_) count += entries.size();
  return static_cast<int>(count);
}

}  // namespace weft
