#include "libs/resource/resource_manager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

bool MayBegin(char c) { return absl::ascii_isalnum(c) || c == '.'; }

bool MayFollow(char c) {
  return MayBegin(c) || c == '_' || c == '/' || c == '-';
}

// Moves the resource to `taken`. Returns whether the resource existed.
template <typename Resources, typename Taken>
bool Take(Resources& resources, const std::pair<std::string, std::string>& key,
          Taken& taken) {
  auto entry = resources.find(key);
  if (entry == resources.end()) return false;
  taken = std::move(entry->second);
  resources.erase(entry);
  return true;
}

}  // namespace

absl::Status ValidateContainerName(absl::string_view container) {
  bool valid = container.empty() || MayBegin(container[0]);
  for (char c : container) valid = valid && MayFollow(c);
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "container contains invalid characters: '", container,
      "'; a name is a letter, digit or '.', then letters, digits and '._/-'"));
}

ResourceManager::ResourceManager(std::string default_container)
    : default_container_(std::move(default_container)) {}

std::shared_ptr<Resource> ResourceManager::Find(absl::string_view container,
                                                absl::string_view type,
                                                absl::string_view name) const {
  const Key key(type, name);
  if (auto kept = containers_.find(Resolve(container));
      kept != containers_.end()) {
    auto entry = kept->second.find(key);
    if (entry != kept->second.end()) return entry->second;
  }
  auto found = private_.find(Resolve(container));
  if (found == private_.end()) return nullptr;
  auto entry = found->second.resources.find(key);
  return entry == found->second.resources.end() ? nullptr
                                                : entry->second.lock();
}

void ResourceManager::KeepPrivate(absl::string_view container, Key key,
                                  const std::shared_ptr<Resource>& resource) {
  absl::MutexLock lock(&mutex_);
  PrivateContainer& kept = private_[std::string(Resolve(container))];
  kept.resources[std::move(key)] = resource;
  if (kept.resources.size() < kept.sweep_at) return;
  std::erase_if(kept.resources,
                [](const auto& entry) { return entry.second.expired(); });
  kept.sweep_at = std::max<size_t>(16, 2 * kept.resources.size());
}

void ResourceManager::WhenCreated(Cancellation& step,
                                  absl::string_view container,
                                  absl::string_view type,
                                  absl::string_view name, Waiters::Done done) {
  std::shared_ptr<Waiters> waiters;
  {
    absl::MutexLock lock(&mutex_);
    waiters = WaitersFor(container, Key(type, name));
  }
  waiters->Add(step, std::move(done));
  {
    absl::MutexLock lock(&mutex_);
    const bool is_there = Find(container, type, name) != nullptr;
    // If the waiters were replaced, a concurrent create may have notified them
    // before this caller was added. So this caller must notify them.
    if (!is_there && WaitersFor(container, Key(type, name)) == waiters) return;
  }
  waiters->NotifyAll(absl::OkStatus());
}

std::shared_ptr<Waiters> ResourceManager::WaitersFor(
    absl::string_view container, const Key& key) {
  auto& all = awaited_.waiters;
  if (all.size() >= awaited_.sweep_at) {
    std::erase_if(all, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->empty();
    });
    awaited_.sweep_at = std::max<size_t>(16, 2 * all.size());
  }
  auto& waiters = all[{std::string(Resolve(container)), key}];
  if (waiters == nullptr) waiters = std::make_shared<Waiters>();
  return waiters;
}

std::shared_ptr<Waiters> ResourceManager::TakeWaiters(
    absl::string_view container, const Key& key) {
  const auto found =
      awaited_.waiters.find({std::string(Resolve(container)), key});
  if (found == awaited_.waiters.end()) return nullptr;
  std::shared_ptr<Waiters> taken = std::move(found->second);
  awaited_.waiters.erase(found);
  return taken;
}

absl::Status ResourceManager::NotFound(absl::string_view container,
                                       absl::string_view type,
                                       absl::string_view name) const {
  return absl::NotFoundError(absl::StrCat("Resource ", Resolve(container), "/",
                                          name, "/", type, " does not exist."));
}

// Deletes a resource. The resource is destroyed after the lock is released,
// because its destructor may take long.
absl::Status ResourceManager::Erase(const Cancellation& step,
                                    absl::string_view container,
                                    absl::string_view type,
                                    absl::string_view name) {
  std::shared_ptr<Resource> erased;
  std::weak_ptr<Resource> hidden;  // must no longer be found by its name
  const Key key(type, name);
  absl::MutexLock lock(&mutex_);
  if (step.IsCancelled()) return step.status();
  auto shared = containers_.find(Resolve(container));
  auto own = private_.find(Resolve(container));
  if (shared != containers_.end() && Take(shared->second, key, erased)) {
    if (shared->second.empty()) containers_.erase(shared);
  } else if (own == private_.end() ||
             !Take(own->second.resources, key, hidden) || hidden.expired()) {
    return NotFound(container, type, name);
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return absl::OkStatus();
}

void ResourceManager::ClearContainer(absl::string_view container) {
  Container cleared;
  absl::MutexLock lock(&mutex_);
  const size_t num_private = private_.erase(std::string(Resolve(container)));
  auto found = containers_.find(Resolve(container));
  if (found == containers_.end() && num_private == 0) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  if (found == containers_.end()) return;
  cleared = std::move(found->second);
  containers_.erase(found);
}

void ResourceManager::ClearAll() {
  std::map<std::string, Container, std::less<>> cleared;
  absl::MutexLock lock(&mutex_);
  cleared.swap(containers_);
  private_.clear();
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

void ResourceManager::AppendAll(
    std::vector<std::shared_ptr<Resource>>& resources) const {
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [name, container] : containers_) {
    for (const auto& [key, resource] : container) resources.push_back(resource);
  }
  for (const auto& [name, container] : private_) {
    for (const auto& [key, weak] : container.resources) {
      auto resource = weak.lock();
      if (resource != nullptr) resources.push_back(std::move(resource));
    }
  }
}

std::vector<ResourceManager::Entry> ResourceManager::List() const {
  std::vector<Entry> entries;
  std::map<std::string, Container, std::less<>> containers;
  {
    absl::ReaderMutexLock lock(&mutex_);
    containers = containers_;
  }
  for (const auto& [container, resources] : containers) {
    for (const auto& [key, resource] : resources) {
      entries.push_back({container, key.second, key.first,
                         resource->DebugString(), resource->info()});
    }
  }
  return entries;
}

}  // namespace weft
