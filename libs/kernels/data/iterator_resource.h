// IteratorResource: a walk through a dataset that steps share: what the
// handles of Iterator, OneShotIterator and their like stand for.
//
// One element at a time is taken, in the order in which steps asked; the others
// wait without a thread. An element that is there already is taken on the
// asking thread, others on Pool::kOwnThread. Initializing it again begins
// another walk; who waits for the old one gets that one's element.
//
// A pipeline ends with its last holder, on Pool::kOwnThread, for it may have to
// wait for what it does in the background. It keeps alive what is the
// session's that initialized it.
//
// Threads: all methods may be called from any thread. `done` runs without a
// lock held, on the caller's thread, on Pool::kOwnThread, or on that of the
// cancellation.
#ifndef WEFT_LIBS_KERNELS_DATA_ITERATOR_RESOURCE_H_
#define WEFT_LIBS_KERNELS_DATA_ITERATOR_RESOURCE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/kernels/data/dataset.h"
#include "libs/resource/resource.h"

namespace weft {

// Held by shared_ptr: who waits keeps it.
class IteratorResource : public Resource,
                         public std::enable_shared_from_this<IteratorResource> {
 public:
  static constexpr absl::string_view kTypeName = "Iterator";

  // Makes the dataset of an iterator that nobody need initialize. Runs on
  // Pool::kOwnThread when the first element is asked for; where it fails, again
  // at the next.
  using Factory =
      std::function<absl::StatusOr<DatasetPtr>(IteratorContext& context)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  // The element, or none at the end.
  using ElementDone =
      absl::AnyInvocable<void(absl::StatusOr<std::optional<DatasetElement>>)>;

  // `factory` may be null.
  IteratorResource(std::string name, ElementSpec element, Factory factory);
  ~IteratorResource() override;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  const ElementSpec& element() const { return element_; }

  // For the rest: `done` is called exactly once. The step of `context` lives
  // until then.

  // Begins a walk. INVALID_ARGUMENT where the dataset has other types or
  // shapes. A step that is cancelled changes nothing.
  void Initialize(const IteratorContext& context, DatasetPtr dataset,
                  Done done);

  // FAILED_PRECONDITION while it is not initialized.
  void GetNext(const IteratorContext& context, ElementDone done);

  // How far it has come, and to go on from there. Both wait for their turn.
  void Save(const IteratorContext& context,
            std::shared_ptr<IteratorStateWriter::Values> values, Done done);
  void Restore(const IteratorContext& context,
               std::shared_ptr<const IteratorStateReader::Values> values,
               Done done);

 private:
  class Walk;

  // Begins the walk that the factory gives, if there is none.
  absl::StatusOr<std::shared_ptr<Walk>> CurrentWalk(
      const IteratorContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Walk> NewWalk(const IteratorContext& context,
                                DatasetPtr dataset) const;
  void Set(std::shared_ptr<Walk> walk) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string name_;
  const ElementSpec element_;
  const Factory factory_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<Walk> walk_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ITERATOR_RESOURCE_H_
