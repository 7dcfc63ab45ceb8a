// Finds conflicts with a placement. The rules are at the top of
// resource_register.h.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "libs/coordinator/device_owner.h"
#include "libs/coordinator/resource_register.h"

namespace weft {
namespace {

// The maximum number of other programs that are compared with the refused one
// to find the cause.
constexpr size_t kMostProgramsTold = 4;

}  // namespace

struct ResourceRegister::Own {
  const Session* session = nullptr;  // null for a new session
  // Registered entries that the new nodes declare again.
  absl::flat_hash_set<uint64_t> entries;
  absl::flat_hash_set<Key> keys;  // keys that the new nodes declare

  bool Has(const Entry& entry) const {
    return entries.contains(entry.number) ||
           (session != nullptr && session->places.contains(entry.number));
  }
};

ResourceRegister::Own ResourceRegister::OwnOf(
    const Owner& owner, absl::Span<const NodeResource> placed) const {
  Own own;
  const auto session = sessions_.find(owner.session);
  if (session != sessions_.end()) own.session = &session->second;
  for (const NodeResource& one : placed) {
    ++num_looks_;
    Key key = KeyOf(one.resource);
    if (const auto it = entries_.find(key); it != entries_.end()) {
      const auto entry = it->second.entries.find(one.device);
      if (entry != it->second.entries.end()) {
        own.entries.insert(entry->second.number);
      }
    }
    own.keys.insert(std::move(key));
  }
  return own;
}

ResourceRegister::Comparison ResourceRegister::Compare(
    const Owner& owner, absl::Span<const NodeResource> placed,
    uint64_t since) const {
  // A program that has a resource on several devices does not disagree with a
  // program that has so far placed the resource on only some of them.
  const Own own = OwnOf(owner, placed);
  Comparison result;
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) == owner.task) {
      CompareOnOwnTask(owner, one, since, result);
    } else {
      CompareOne(owner, one, own, since, result);
    }
  }
  CompareConflicting(owner, placed, own, result);
  if (!result.differences.empty()) AddCauses(owner, placed, result);
  return result;
}

const ResourceRegister::DeclaringSession* ResourceRegister::FirstOfOthers(
    const absl::btree_set<DeclaringSession>& by, int task, int other_task) {
  auto it = by.begin();
  while (it != by.end() && (it->first == task || it->first == other_task)) {
    it = by.lower_bound({it->first + 1, 0});
  }
  return it == by.end() ? nullptr : &*it;
}

void ResourceRegister::CompareOne(const Owner& owner,
                                  const NodeResource& placed, const Own& own,
                                  uint64_t since, Comparison& result) const {
  ++num_looks_;
  const auto devices = entries_.find(KeyOf(placed.resource));
  if (devices == entries_.end()) return;
  const auto same = devices->second.entries.find(placed.device);
  if (same != devices->second.entries.end()) {
    return CompareOnDevice(owner, placed, same->second, since, result);
  }
  for (const auto& [number, entry] : devices->second.shared) {
    ++num_looks_;
    if (own.Has(*entry)) continue;
    CompareElsewhere(owner, placed, *entry, since, result);
  }
}

// Compares a resource on the session's own task. There, a program may continue
// with the resource of an earlier program, unless the type or shape differs.
// Other different attributes are reported by the ops themselves.
void ResourceRegister::CompareOnOwnTask(const Owner& owner,
                                        const NodeResource& placed,
                                        uint64_t since,
                                        Comparison& result) const {
  ++num_looks_;
  const auto devices = entries_.find(KeyOf(placed.resource));
  if (devices == entries_.end()) return;
  const auto same = devices->second.entries.find(placed.device);
  if (same == devices->second.entries.end()) return;
  const Entry& entry = same->second;
  if (!entry.declared.empty()) return;
  ResourceFacts left = entry.Left();
  left.definition.clear();
  if (left.AgreeWith(FactsOf(placed.resource))) return;
  AddLeft(owner, placed, entry, std::move(left), since, result);
}

void ResourceRegister::CompareOnDevice(const Owner& owner,
                                       const NodeResource& placed,
                                       const Entry& entry, uint64_t since,
                                       Comparison& result) const {
  const ResourceFacts facts = FactsOf(placed.resource);
  for (const Declaration& one : entry.declared) {
    ++num_looks_;
    if (one.facts.AgreeWith(facts)) continue;
    auto by = one.by.begin();
    if (by->second == owner.session) ++by;
    if (by == one.by.end()) continue;
    result.differences.push_back({placed, owner.task, placed.device, one.facts,
                                  placed.resource.kind,
                                  sessions_.at(by->second).task, by->second});
    return;
  }
  // If sessions declare the resource, the current state of the object does not
  // matter, because a program may allow its shape to change.
  if (!entry.declared.empty()) return;
  ResourceFacts left = entry.Left();
  if (left.AgreeWith(facts)) return;
  AddLeft(owner, placed, entry, std::move(left), since, result);
}

void ResourceRegister::CompareElsewhere(const Owner& owner,
                                        const NodeResource& placed,
                                        const Entry& entry, uint64_t since,
                                        Comparison& result) const {
  const int own_task = NumberOf(owner.task);
  for (const Declaration& one : entry.declared) {
    ++num_looks_;
    const DeclaringSession* const by =
        FirstOfOthers(one.by, NumberOf(entry.task), own_task);
    if (by == nullptr) continue;
    result.differences.push_back({placed, owner.task, *entry.device, one.facts,
                                  placed.resource.kind,
                                  sessions_.at(by->second).task, by->second});
    return;
  }
  if (!entry.declared.empty() || entry.last_task.empty() ||
      entry.last_task == entry.task || entry.last_task == owner.task) {
    return;
  }
  // A resource on another job is probably an unrelated resource with the same
  // name.
  if (JobOfDevice(*entry.device) != JobOfDevice(placed.device)) return;
  AddLeft(owner, placed, entry, entry.Left(), since, result);
}

void ResourceRegister::AddLeft(const Owner& owner, const NodeResource& placed,
                               const Entry& entry, ResourceFacts left,
                               uint64_t since, Comparison& result) const {
  if (!has_reports_) return;
  if (IsSettled(entry.task, std::max(since, entry.unconfirmed_at))) {
    result.differences.push_back({placed, owner.task, *entry.device,
                                  std::move(left), placed.resource.kind,
                                  entry.last_task});
  } else {
    result.unconfirmed_tasks.insert(entry.task);
  }
}

bool ResourceRegister::Declares(const Own& own, const Key& key) const {
  return own.keys.contains(key) ||
         (own.session != nullptr && Declares(*own.session, key));
}

bool ResourceRegister::Declares(const Session& session, const Key& key) const {
  ++num_looks_;
  const auto devices = entries_.find(key);
  if (devices == entries_.end()) return false;
  return std::any_of(devices->second.entries.begin(),
                     devices->second.entries.end(), [&](const auto& one) {
                       return session.places.contains(one.second.number);
                     });
}

void ResourceRegister::CompareConflicting(const Owner& owner,
                                          absl::Span<const NodeResource> placed,
                                          const Own& own,
                                          Comparison& result) const {
  std::vector<ConflictingResource> conflicting;
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) == owner.task) continue;
    FindConflicting(one, own, conflicting);
  }
  if (conflicting.empty()) return;
  const int own_task = NumberOf(owner.task);
  for (const auto& [program, sessions] : programs_) {
    const DeclaringSession* const there =
        FirstOfOthers(sessions, own_task, own_task);
    if (there == nullptr) continue;
    std::vector<ResourceDifference> differences =
        DifferencesFrom(owner, *there, conflicting);
    if (differences.empty()) continue;
    const Session& session = sessions_.at(there->second);
    if (!SharesMoreThan(differences.size(), session, own)) continue;
    std::move(differences.begin(), differences.end(),
              std::back_inserter(result.differences));
    return;
  }
}

void ResourceRegister::FindConflicting(
    const NodeResource& placed, const Own& own,
    std::vector<ConflictingResource>& found) const {
  const Key key = KeyOf(placed.resource);
  // Find resources of another kind with the same name. If the program itself
  // declares that kind, too, it is not clear which one it means.
  for (auto it = entries_.lower_bound({key.container, key.name, ""});
       it != entries_.end() && it->first.container == key.container &&
       it->first.name == key.name;
       ++it) {
    ++num_looks_;
    if (it->first.kind == key.kind || Declares(own, it->first)) continue;
    for (const auto& [number, entry] : it->second.shared) {
      found.push_back({&placed, entry});
    }
  }
  // Find the same name in the default containers of other jobs.
  if (key.container != JobOfDevice(placed.device)) return;
  for (const auto& [job, count] : jobs_) {
    ++num_looks_;
    if (job == key.container) continue;
    const auto it = entries_.find({job, key.name, key.kind});
    if (it == entries_.end()) continue;
    for (const auto& [number, entry] : it->second.shared) {
      if (JobOfDevice(*entry->device) == job) found.push_back({&placed, entry});
    }
  }
}

std::vector<ResourceDifference> ResourceRegister::DifferencesFrom(
    const Owner& owner, const DeclaringSession& there,
    absl::Span<const ConflictingResource> conflicting) const {
  std::vector<ResourceDifference> differences;
  const Session& session = sessions_.at(there.second);
  for (const auto& [placed, entry] : conflicting) {
    ++num_looks_;
    if (!session.places.contains(entry->number) ||
        session.task == entry->task ||
        Declares(session, KeyOf(placed->resource))) {
      continue;
    }
    const auto declared = std::find_if(
        entry->declared.begin(), entry->declared.end(),
        [&](const Declaration& one) { return one.by.contains(there); });
    if (declared == entry->declared.end()) continue;
    differences.push_back({*placed, owner.task, *entry->device, declared->facts,
                           entry->key->kind, session.task, there.second});
  }
  return differences;
}

bool ResourceRegister::SharesMoreThan(size_t count, const Session& session,
                                      const Own& own) const {
  size_t num_shared = 0;
  for (const auto& [number, place] : session.places) {
    ++num_looks_;
    if (own.Has(*place.entry) && ++num_shared > count) return true;
  }
  return false;
}

void ResourceRegister::AddCauses(const Owner& owner,
                                 absl::Span<const NodeResource> placed,
                                 Comparison& result) const {
  DeclaredProgram here = ProgramOf(owner.session);
  for (const NodeResource& one : placed) {
    if (TaskOfDevice(one.device) != owner.task) here.push_back(one);
  }
  // The causes are derived from the program about which most is known.
  DeclaredProgram there;
  std::set<uint64_t> seen;
  for (const ResourceDifference& one : result.differences) {
    if (seen.size() == kMostProgramsTold) break;
    if (!seen.insert(one.there_session).second) continue;
    DeclaredProgram program = ProgramOf(one.there_session);
    if (program.size() > there.size()) there = std::move(program);
  }
  result.causes = LikelyCauses(result.differences, here, there);
}

DeclaredProgram ResourceRegister::ProgramOf(uint64_t session) const {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return {};
  std::map<uint64_t, NodeResource> in_order;
  for (const auto& [number, place] : it->second.places) {
    const Entry& entry = *place.entry;
    if (entry.task == it->second.task) continue;
    const auto& [container, name, kind] = *entry.key;
    in_order[place.order] = {
        name, {container, name, kind, DT_INVALID, {}, ""}, *entry.device};
  }
  DeclaredProgram program;
  for (auto& [order, one] : in_order) program.push_back(std::move(one));
  return program;
}

}  // namespace weft
