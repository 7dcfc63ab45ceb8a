// ResourceManager owns the named resources of one device, or of one session on
// a device: container -> (type, name) -> Resource.
//
// Rules are TensorFlow's (resource_mgr.cc): an empty container means the
// default one; clearing a missing container is not an error.
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

// Returns INVALID_ARGUMENT unless [A-Za-z0-9.][A-Za-z0-9_./-]*; empty is
// allowed.
absl::Status ValidateContainerName(absl::string_view container);

// Thread-safe.
class ResourceManager {
 public:
  explicit ResourceManager(std::string default_container);

  const std::string& default_container() const { return default_container_; }

  // Returns NOT_FOUND "Resource CONTAINER/NAME/TYPE does not exist."
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> Lookup(absl::string_view container,
                                            absl::string_view name) const;

  // Finds the resource, or creates and keeps it. `create` runs at most once,
  // under the lock, so it must be short and must not call the manager. For a
  // cancelled step, creates nothing and returns its cause.
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> LookupOrCreate(
      const Cancellation& step, absl::string_view container,
      absl::string_view name,
      absl::FunctionRef<absl::StatusOr<std::shared_ptr<T>>()> create);

  // Calls `done` once a resource `name` exists, at once if it does; or with the
  // cause when `step`, which must live until then, is cancelled. The resource
  // may have been deleted again by then.
  template <typename T>
  void WhenCreated(Cancellation& step, absl::string_view container,
                   absl::string_view name, Waiters::Done done) {
    WhenCreated(step, container, T::kTypeName, name, std::move(done));
  }

  // Creates a resource for one kernel alone. `create` gets a unique name,
  // "_7_NODE" as TensorFlow's private names are. The resource can be found
  // under that name as long as it is held somewhere.
  template <typename T>
  std::shared_ptr<T> AddPrivate(
      absl::string_view container, absl::string_view node,
      absl::FunctionRef<std::shared_ptr<T>(const std::string& name)> create);

  // Like AddPrivate, under a name given by the caller, which must begin with
  // "_". Replaces an existing resource with this name.
  template <typename T>
  void AddPrivateAs(absl::string_view container, absl::string_view name,
                    const std::shared_ptr<T>& resource);

  // Returns NOT_FOUND if absent. For a cancelled step, deletes nothing and
  // returns its cause.
  template <typename T>
  absl::Status Delete(const Cancellation& step, absl::string_view container,
                      absl::string_view name);

  // Removes all resources of a container; an empty name is the default
  // container.
  void ClearContainer(absl::string_view container);
  void ClearAll();

  // Increases with every Delete and Clear. A pointer cached with its generation
  // must be looked up again once the generation has changed.
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  struct Entry {
    std::string container, name, type_name, description;
    ResourceInfo info;
  };
  // All named resources, sorted; for tools and tests. Waits for the locks of
  // resources, but holds no lock meanwhile that others wait for.
  std::vector<Entry> List() const;
  // Appends all resources, including private ones, in no order.
  void AppendAll(std::vector<std::shared_ptr<Resource>>& resources) const;

 private:
  using Key = std::pair<std::string, std::string>;  // type, name
  using Container = std::map<Key, std::shared_ptr<Resource>>;
  struct PrivateContainer {
    std::map<Key, std::weak_ptr<Resource>> resources;
    // Expired entries are removed when there are this many.
    size_t sweep_at = 16;
  };

  // The callers that wait for resources that do not exist.
  struct Awaited {
    std::map<std::pair<std::string, Key>, std::shared_ptr<Waiters>> waiters;
    // Entries without waiting callers are removed when there are this many.
    size_t sweep_at = 16;
  };
  // Notifies, at the end of its scope, the callers that wait for a created
  // resource.
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
  // Removed with their container, and some time after their last holder.
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
