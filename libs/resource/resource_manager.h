// ResourceManager owns the named resources of one device, or of one session on
// a device: container -> (type, name) -> Resource.
//
// Rules are TensorFlow's (resource_mgr.cc): an empty container name means the
// default container, and clearing a container that does not exist is not an
// error.
#ifndef WEFT_LIBS_RESOURCE_RESOURCE_MANAGER_H_
#define WEFT_LIBS_RESOURCE_RESOURCE_MANAGER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/resource/waiters.h"

namespace weft {

// Returns OK if the name is empty or matches [A-Za-z0-9.][A-Za-z0-9_./-]*, else
// INVALID_ARGUMENT.
absl::Status ValidateContainerName(absl::string_view container);

// ResourceManager is thread-safe.
class ResourceManager {
 public:
  explicit ResourceManager(std::string default_container);

  const std::string& default_container() const { return default_container_; }

  // Returns the resource, or NOT_FOUND "Resource CONTAINER/NAME/TYPE does not
  // exist."
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> Lookup(absl::string_view container,
                                            absl::string_view name) const;

  // Finds the resource, or creates and keeps it. `create` runs at most once. It
  // runs under the lock, so it must be short and must not call the manager. If
  // `step` is cancelled, no resource is created, and the cause is returned.
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> LookupOrCreate(
      const Cancellation& step, absl::string_view container,
      absl::string_view name,
      absl::FunctionRef<absl::StatusOr<std::shared_ptr<T>>()> create);

  // Calls `done` with OK when a resource `name` exists, or at once if it
  // already exists. If `step` is cancelled before, calls `done` with the cause.
  // `step` must live until then. The resource may already be deleted when
  // `done` is called.
  template <typename T>
  void WhenCreated(Cancellation& step, absl::string_view container,
                   absl::string_view name, Waiters::Done done) {
    WhenCreated(step, container, T::kTypeName, name, std::move(done));
  }

  // Creates a resource for one kernel alone. `create` gets a unique name like
  // TensorFlow's private names, such as "_7_NODE". Lookup finds the resource
  // under that name while somebody holds a reference to it.
  template <typename T>
  std::shared_ptr<T> AddPrivate(
      absl::string_view container, absl::string_view node,
      absl::FunctionRef<std::shared_ptr<T>(const std::string& name)> create);

  // Adds a private resource like AddPrivate, but under a name given by the
  // caller, which must begin with "_". Replaces an existing resource with this
  // name.
  template <typename T>
  void AddPrivateAs(absl::string_view container, absl::string_view name,
                    const std::shared_ptr<T>& resource);

  // Deletes a resource. Returns NOT_FOUND if it does not exist. If `step` is
  // cancelled, nothing is deleted, and the cause is returned.
  template <typename T>
  absl::Status Delete(const Cancellation& step, absl::string_view container,
                      absl::string_view name);

  // Removes all resources of a container. An empty name means the default
  // container.
  void ClearContainer(absl::string_view container);
  void ClearAll();

  // Returns a number that increases with every Delete and Clear. A pointer that
  // was cached together with its generation must be looked up again when the
  // generation has changed.
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  struct Entry {
    std::string container, name, type_name, description;
    ResourceInfo info;
  };
  // Returns all named resources, sorted, for tools and tests. It waits for the
  // locks of resources, but does not hold the manager's lock meanwhile.
  std::vector<Entry> List() const;
  // Appends all resources, including private ones, in no particular order.
  void AppendAll(std::vector<std::shared_ptr<Resource>>& resources) const;

 private:
  using Key = std::pair<std::string, std::string>;  // type, name
  using Container = std::map<Key, std::shared_ptr<Resource>>;
  struct PrivateContainer {
    std::map<Key, std::weak_ptr<Resource>> resources;
    // The number of entries at which expired entries are removed.
    size_t sweep_at = 16;
  };

  // Awaited holds the callers that wait for resources that do not exist yet.
  struct Awaited {
    std::map<std::pair<std::string, Key>, std::shared_ptr<Waiters>> waiters;
    // The number of entries at which entries without waiting callers are
    // removed.
    size_t sweep_at = 16;
  };
  // NotifyAtEnd notifies, when it is destroyed, the callers that wait for a
  // resource which was created.
  class NotifyAtEnd {
   public:
    ~NotifyAtEnd() {
      if (waiters != nullptr) waiters->NotifyAll(absl::OkStatus());
    }
    std::shared_ptr<Waiters> waiters;
  };

  void WhenCreated(Cancellation& step, absl::string_view container,
                   absl::string_view type, absl::string_view name,
                   Waiters::Done done);
  std::shared_ptr<Waiters> WaitersFor(absl::string_view container,
                                      const Key& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Waiters> TakeWaiters(absl::string_view container,
                                       const Key& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::string_view Resolve(absl::string_view container) const {
    return container.empty() ? absl::string_view(default_container_)
                             : container;
  }
  std::shared_ptr<Resource> Find(absl::string_view container,
                                 absl::string_view type,
                                 absl::string_view name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void KeepPrivate(absl::string_view container, Key key,
                   const std::shared_ptr<Resource>& resource);
  absl::Status NotFound(absl::string_view container, absl::string_view type,
                        absl::string_view name) const;
  absl::Status Erase(const Cancellation& step, absl::string_view container,
                     absl::string_view type, absl::string_view name);

  const std::string default_container_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Container, std::less<>> containers_
      ABSL_GUARDED_BY(mutex_);
  // The manager holds only weak references to private resources. Their entries
  // are removed with the container, or some time after the resource is
  // destroyed.
  std::map<std::string, PrivateContainer, std::less<>> private_
      ABSL_GUARDED_BY(mutex_);
  Awaited awaited_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> private_names_{0};
};

template <typename T>
absl::StatusOr<std::shared_ptr<T>> ResourceManager::Lookup(
    absl::string_view container, absl::string_view name) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::shared_ptr<Resource> found = Find(container, T::kTypeName, name);
  if (found == nullptr) return NotFound(container, T::kTypeName, name);
  return std::static_pointer_cast<T>(found);
}

template <typename T>
absl::StatusOr<std::shared_ptr<T>> ResourceManager::LookupOrCreate(
    const Cancellation& step, absl::string_view container,
    absl::string_view name,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<T>>()> create) {
  NotifyAtEnd tell;  // runs without the lock
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Resource> found = Find(container, T::kTypeName, name);
  if (found != nullptr) return std::static_pointer_cast<T>(found);
  if (step.IsCancelled()) return step.status();
  absl::StatusOr<std::shared_ptr<T>> made = create();
  if (!made.ok()) return made;
  const Key key(T::kTypeName, name);
  containers_[std::string(Resolve(container))][key] = *made;
  tell.waiters = TakeWaiters(container, key);
  return made;
}

template <typename T>
std::shared_ptr<T> ResourceManager::AddPrivate(
    absl::string_view container, absl::string_view node,
    absl::FunctionRef<std::shared_ptr<T>(const std::string& name)> create) {
  const std::string name =
      absl::StrCat("_", private_names_.fetch_add(1), "_", node);
  std::shared_ptr<T> made = create(name);
  KeepPrivate(container, {std::string(T::kTypeName), name}, made);
  return made;
}

template <typename T>
void ResourceManager::AddPrivateAs(absl::string_view container,
                                   absl::string_view name,
                                   const std::shared_ptr<T>& resource) {
  KeepPrivate(container, {std::string(T::kTypeName), std::string(name)},
              resource);
}

template <typename T>
absl::Status ResourceManager::Delete(const Cancellation& step,
                                     absl::string_view container,
                                     absl::string_view name) {
  return Erase(step, container, T::kTypeName, name);
}

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_RESOURCE_MANAGER_H_
