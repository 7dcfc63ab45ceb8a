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

absl::Status ResourceManager::NotFound(absl::string_view container,
                                       absl::string_view type,
                                       absl::string_view name) const {
  return absl::NotFoundError(absl::StrCat("Resource ", Resolve(container), "/",
                                          name, "/", type, " does not exist."));
}

// Resources are destroyed after the lock is gone: a destructor may be long.
absl::Status ResourceManager::Erase(const Cancellation& step,
                                    absl::string_view container,
                                    absl::string_view type,
                                    absl::string_view name) {
  std::shared_ptr<Resource> erased;
  absl::MutexLock lock(&mutex_);
  if (step.IsCancelled()) return step.status();
  auto found = containers_.find(Resolve(container));
  if (found == containers_.end()) return NotFound(container, type, name);
  auto entry = found->second.find(Key(type, name));
  if (entry == found->second.end()) return NotFound(container, type, name);
  erased = std::move(entry->second);
  found->second.erase(entry);
  if (found->second.empty()) containers_.erase(found);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return absl::OkStatus();
}

void ResourceManager::ClearContainer(absl::string_view container) {
  Container cleared;
  absl::MutexLock lock(&mutex_);
  private_.erase(std::string(Resolve(container)));
  auto found = containers_.find(Resolve(container));
  if (found == containers_.end()) return;
  cleared = std::move(found->second);
  containers_.erase(found);
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

void ResourceManager::ClearAll() {
  std::map<std::string, Container, std::less<>> cleared;
  absl::MutexLock lock(&mutex_);
  cleared.swap(containers_);
  private_.clear();
  generation_.fetch_add(1, std::memory_order_acq_rel);
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
