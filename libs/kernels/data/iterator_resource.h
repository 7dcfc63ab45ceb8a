// IteratorResource is a walk of a dataset that steps share. The handles of
// Iterator, OneShotIterator and related ops refer to it.
//
// One element is taken at a time, in the order of the requests; other requests
// wait without a thread. An element that is available is taken on the caller's
// thread, others on Pool::kUnbounded. Initialization starts another walk;
// requests that wait for the old walk still get its element.
//
// A pipeline ends with its last holder, on Pool::kUnbounded, because it may
// have to wait for background work. It keeps alive the objects of the session
// that initialized it.
//
// Threads: all methods may be called from any thread. `done` runs without a
// lock held, on the thread of the caller, of Pool::kUnbounded, or of the
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

// Must be held by shared_ptr: waiting calls keep it alive.
class IteratorResource : public Resource,
                         public std::enable_shared_from_this<IteratorResource> {
 public:
  static constexpr absl::string_view kTypeName = "Iterator";

  // Creates the dataset of an iterator that needs no initialization. Runs on
  // Pool::kUnbounded when the first element is requested; after an error, again
  // for the next request.
  using Factory =
      std::function<absl::StatusOr<DatasetPtr>(IteratorContext& context)>;
  using Done = absl::AnyInvocable<void(absl::Status)>;
  // Gets the element, or nullopt at the end.
  using ElementDone =
      absl::AnyInvocable<void(absl::StatusOr<std::optional<DatasetElement>>)>;

  // `factory` may be null.
  IteratorResource(std::string name, ElementSpec element, Factory factory);
  ~IteratorResource() override;

  absl::string_view type_name() const override { return kTypeName; }
  bool HoldsKernels() const override { return true; }
  std::string DebugString() const override;
  const ElementSpec& element() const { return element_; }

  // For the remaining methods: `done` is called exactly once. The step of
  // `context` must live until then.

  // Starts a walk. Reports INVALID_ARGUMENT if the dataset has other types or
  // shapes. A cancelled step changes nothing.
  void Initialize(const IteratorContext& context, DatasetPtr dataset,
                  Done done);

  // Reports FAILED_PRECONDITION if it is not initialized.
  void GetNext(const IteratorContext& context, ElementDone done);

  // Save the position, or restore it. Both are queued behind earlier calls.
  void Save(const IteratorContext& context,
            std::shared_ptr<IteratorStateWriter::Values> values, Done done);
  void Restore(const IteratorContext& context,
               std::shared_ptr<const IteratorStateReader::Values> values,
               Done done);

 private:
  class Walk;

  // Starts the walk of the factory's dataset, if there is no walk.
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
