// Dataset is a node of an input pipeline: an immutable object in a scalar
// DT_VARIANT tensor, created by the kernel of a dataset op. DatasetIterator is
// one traversal, or walk, of a dataset.
//
//   ASSIGN_OR_RETURN(auto iterator, dataset->MakeIterator(context));
//   std::vector<Tensor> element;
//   while (*iterator->GetNext(context, &element)) ...
//
// Threads: a Dataset is thread-safe. A DatasetIterator is used by one thread at
// a time. GetNext, MakeIterator and the destructor may wait (for files,
// functions or background work), so they must run on threads whose blocking
// starves no other work: on Pool::kUnbounded. They must not run on threads that
// read the bus, on Pool::kCompute, which functions need, or on Pool::kBlocking,
// which the functions' kernels may need.
#ifndef WEFT_LIBS_KERNELS_DATA_DATASET_H_
#define WEFT_LIBS_KERNELS_DATA_DATASET_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

class WalkFunctions;  // walk_functions.h

using DatasetElement = std::vector<Tensor>;

// IteratorPlace limits the number of iterators of a walk: each iterator holds
// one place. Datasets may share their inputs, and a walk has an iterator for
// each path to a dataset, so the number of iterators may be exponential in that
// of datasets.
class IteratorPlace {
 public:
  using Count = std::shared_ptr<std::atomic<int64_t>>;
  static constexpr int64_t kMaxIterators = int64_t{1} << 20;

  IteratorPlace() = default;
  // Takes a place. Returns RESOURCE_EXHAUSTED if the walk already has
  // kMaxIterators iterators.
  static absl::StatusOr<IteratorPlace> Take(Count count);
  IteratorPlace(IteratorPlace&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)) {}
  IteratorPlace& operator=(IteratorPlace&& other) noexcept {
    count_.swap(other.count_);
    return *this;
  }
  ~IteratorPlace() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }

  // Returns the count of the walk's places; null for a place that was not
  // taken.
  const Count& count() const { return count_; }

 private:
  explicit IteratorPlace(Count count) : count_(std::move(count)) {}

  Count count_;
};

// IteratorContext is the environment of an iterator's calls. A value that may
// outlive the step of the call: its objects live as long as any copy, except
// the cancellation, which belongs to the caller. Background work keeps a copy
// with its own Cancellation.
class IteratorContext {
 public:
  // `functions` keeps the session's objects alive. It is null in tests, where
  // the caller keeps them alive.
  IteratorContext(const StepContext& step,
                  std::shared_ptr<FunctionRuntime> functions);

  // Returns the same context with another cancellation, which must outlive the
  // calls.
  IteratorContext With(Cancellation& cancellation) const;
  // Returns the same context for a new walk, in which functions that keep state
  // start anew.
  IteratorContext ForWalk() const;

  Scheduler& scheduler() const { return *step_.scheduler; }
  Cancellation& cancellation() const { return *step_.cancellation; }
  Allocator& allocator() const { return *step_.allocator; }
  FileSystem& file_system() const { return *step_.file_system; }
  ResourceManager& resources() const { return *step_.resources; }
  Device& device() const { return *step_.device; }
  // The step for function calls, except objects that live as long as a call.
  const StepContext& step() const { return step_; }
  // Returns the walk's copies of functions. Null if the context was not made by
  // ForWalk; then functions continue with the state of earlier calls.
  WalkFunctions* walk_functions() const { return walk_functions_.get(); }

  // The number of nested iterators and function calls around this call. An
  // iterator runs inside its consumer, a function inside the iterator that
  // calls it, and an iterator may walk a dataset that a function returned. Only
  // this number bounds the recursion.
  int depth() const { return depth_; }
  // By how much a walk that a function's kernel starts increases the depth. It
  // counts more than a nested call, because it occupies a thread.
  static constexpr int kDepthOfThread = 10;
  IteratorContext AtDepth(int depth) const&;
  IteratorContext AtDepth(int depth) &&;

  // The number of iterators that a new iterator, together with its inputs, may
  // create for its inputs before their first element is requested. Inputs may
  // share inputs of their own, so there may be far more iterators than
  // datasets.
  int eager_iterators() const { return eager_iterators_; }
  // The context for each of `count` inputs. REQUIRES: count > 0.
  IteratorContext ForInputs(int count) const;

  // Counts the iterators of the walk; null if the next iterator starts a walk.
  const IteratorPlace::Count& iterator_count() const { return iterator_count_; }
  // The same context within that walk.
  IteratorContext Counting(IteratorPlace::Count count) &&;

 private:
  StepContext step_;
  std::shared_ptr<FunctionRuntime> functions_;
  std::shared_ptr<WalkFunctions> walk_functions_;
  int depth_ = 0;
  int eager_iterators_ = 256;
  IteratorPlace::Count iterator_count_;
};

// IteratorStateWriter receives the position of an iterator: tensors by name.
// Each iterator writes under the prefix given by its owner.
class IteratorStateWriter {
 public:
  using Values = std::map<std::string, Tensor, std::less<>>;
  // The largest variant in a checkpoint.
  static constexpr int64_t kMaxBytes = int64_t{2} << 30;

  // `max_bytes` limits all tensors together, so that a state which is too large
  // for a checkpoint is not collected first.
  explicit IteratorStateWriter(Values& values, int64_t max_bytes = kMaxBytes)
      : values_(&values),
        max_bytes_(max_bytes),
        bytes_(std::make_shared<int64_t>(0)) {}

  void Write(absl::string_view name, Tensor value);
  void Write(absl::string_view name, int64_t value);
  void Write(absl::string_view name, const DatasetElement& element);
  // Writes the number of components, and each one with its number appended to
  // the name.
  void Write(absl::string_view name,
             const std::vector<DatasetElement>& elements);
  // Returns a writer for an inner iterator.
  IteratorStateWriter Within(absl::string_view name) const {
    IteratorStateWriter inner = *this;
    absl::StrAppend(&inner.prefix_, name, "/");
    return inner;
  }

  // Returns RESOURCE_EXHAUSTED, naming `dataset`, if more than max_bytes were
  // written; the values are then incomplete. Must be called after an iterator
  // wrote the elements that it keeps, whose number its user chooses.
  absl::Status CheckSize(absl::string_view dataset) const;

 private:
  Values* values_;
  std::string prefix_;
  int64_t max_bytes_;
  std::shared_ptr<int64_t> bytes_;  // shared with inner writers
};

class IteratorStateReader {
 public:
  using Values = IteratorStateWriter::Values;
  static constexpr int64_t kMostCounted = int64_t{1} << 62;

  explicit IteratorStateReader(const Values& values, std::string prefix = "")
      : values_(&values), prefix_(std::move(prefix)) {}

  bool Has(absl::string_view name) const;
  // Returns NOT_FOUND, naming it, or INVALID_ARGUMENT for another type.
  absl::StatusOr<Tensor> Read(absl::string_view name, DataType type) const;
  absl::StatusOr<int64_t> ReadInt(absl::string_view name) const;
  // Reads a number from 0 to `most`, by default the largest that can still be
  // incremented; otherwise INVALID_ARGUMENT.
  absl::StatusOr<int64_t> ReadCount(absl::string_view name,
                                    int64_t most = kMostCounted) const;
  // Reads a number as a bool: false if it is 0.
  absl::StatusOr<bool> ReadBool(absl::string_view name) const;
  absl::StatusOr<DatasetElement> ReadElement(absl::string_view name) const;
  // Reads components of these types, or returns INVALID_ARGUMENT: callers rely
  // on the types.
  absl::StatusOr<DatasetElement> ReadElement(absl::string_view name,
                                             const DataTypeVector& types) const;
  absl::StatusOr<std::vector<DatasetElement>> ReadElements(
      absl::string_view name, const DataTypeVector& types) const;
  IteratorStateReader Within(absl::string_view name) const {
    return IteratorStateReader(*values_, absl::StrCat(prefix_, name, "/"));
  }

 private:
  absl::StatusOr<const Tensor*> Find(absl::string_view name) const;

  const Values* values_;
  std::string prefix_;
};

class Dataset;

// DatasetIterator is one traversal of a dataset.
class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  DatasetIterator() = default;
  DatasetIterator(const DatasetIterator&) = delete;
  DatasetIterator& operator=(const DatasetIterator&) = delete;

  // Writes the next element to *element, which is overwritten. Returns false at
  // the end, and always afterwards. An error belongs to this element: the next
  // call returns the following element. A cancelled call may have lost the
  // current element, but no other.
  virtual absl::StatusOr<bool> GetNext(IteratorContext& context,
                                       DatasetElement* element) = 0;

  // Returns whether GetNext would return at once, without waiting or much work.
  // Cheap. Remains true until GetNext.
  virtual bool IsReady() const { return false; }

  // Returns whether elements are single string scalars, which GetTexts returns
  // as well.
  virtual bool GivesTexts() const { return false; }
  // Writes the next elements to `texts`, starting at *done, which counts them,
  // until `texts` is full or at the end. It is equivalent to repeated calls of
  // GetNext, but faster; after an error the counted elements are valid. Returns
  // UNIMPLEMENTED unless GivesTexts.
  virtual absl::Status GetTexts(IteratorContext& context,
                                absl::Span<std::string> texts, size_t* done);

  // Skips up to `count` elements; *done counts them, also before an error. As
  // in GetNext, an error belongs to an element, and ends the call.
  virtual absl::Status Skip(IteratorContext& context, int64_t count,
                            int64_t* done);

  // Saves the position, so that a new iterator of an equal dataset can continue
  // from there. UNIMPLEMENTED if it is not supported.
  virtual absl::Status Save(IteratorContext& context,
                            IteratorStateWriter writer);
  virtual absl::Status Restore(IteratorContext& context,
                               const IteratorStateReader& reader);

 protected:
  // Creates an iterator of `dataset` for use inside this one. All inner
  // iterators created after the constructor must be created here, because this
  // tracks the depth.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeInner(
      const Dataset& dataset, const IteratorContext& context) const;

 private:
  friend class Dataset;

  int depth_ = 0;  // see IteratorContext::depth
  IteratorPlace place_;
};

// GetNext, or the cause if the call is already cancelled: for loops over any
// number of elements of an input that may not check for itself.
absl::StatusOr<bool> NextUnlessCancelled(DatasetIterator& iterator,
                                         IteratorContext& context,
                                         DatasetElement* element);

// ElementSpec holds the types and shapes of an element's components.
struct ElementSpec {
  DataTypeVector types;
  std::vector<PartialShape> shapes;
};

DataTypeVector TypesOfElement(const DatasetElement& element);

// Returns INVALID_ARGUMENT, with TensorFlow's texts, unless `element` has these
// types.
absl::Status CheckElementTypes(const ElementSpec& expected,
                               const DataTypeVector& types);
absl::Status CheckElementShapes(const ElementSpec& expected,
                                const std::vector<PartialShape>& shapes);

// A Dataset must be held by shared_ptr, because its iterators share it.
class Dataset : public VariantObject,
                public std::enable_shared_from_this<Dataset> {
 public:
  static constexpr int64_t kInfiniteCardinality = -1;
  static constexpr int64_t kUnknownCardinality = -2;

  // `name` is for error texts: "MapDataset:node". Missing shapes of components
  // have unknown rank.
  Dataset(std::string name, ElementSpec element)
      : name_(std::move(name)), element_(WithAllShapes(std::move(element))) {}

  const std::string& name() const { return name_; }
  const ElementSpec& element() const { return element_; }
  const DataTypeVector& output_types() const { return element_.types; }
  const std::vector<PartialShape>& output_shapes() const {
    return element_.shapes;
  }

  // Returns RESOURCE_EXHAUSTED if iterators are nested too deeply or the walk
  // has too many, and the cause if the context is cancelled.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const;
  // The number of elements, or one of the two constants above. Computed once:
  // datasets that share inputs would otherwise compute it for each path to
  // them.
  int64_t Cardinality() const;
  // A one-line description for people.
  virtual std::string DebugString() const { return name_; }

 private:
  static constexpr int64_t kNotFoundYet = -3;

  static ElementSpec WithAllShapes(ElementSpec element) {
    element.shapes.resize(element.types.size());
    return element;
  }

  virtual absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const = 0;
  // Depends only on the arguments of the constructor.
  virtual int64_t FindCardinality() const { return kUnknownCardinality; }

  const std::string name_;
  const ElementSpec element_;
  mutable std::atomic<int64_t> cardinality_{kNotFoundYet};
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// The error of a walk of `dataset` for code that returns its elements to a
// step: as in TensorFlow, OUT_OF_RANGE becomes INTERNAL, because a loop would
// treat it as the end of the data.
absl::Status NotTheEnd(const Dataset& dataset, const absl::Status& status);

// Converts a dataset to the value of a graph's edge, and back: INVALID_ARGUMENT
// unless it is a scalar variant that holds a dataset. `nesting`: see
// control/nesting.h.
Tensor ToTensor(DatasetPtr dataset, int64_t nesting = 1);
absl::StatusOr<DatasetPtr> DatasetFrom(const Tensor& tensor);

// The base of iterators, which hold their dataset.
template <typename Set>
class IteratorOf : public DatasetIterator {
 public:
  explicit IteratorOf(const Set& dataset)
      : dataset_(
            std::static_pointer_cast<const Set>(dataset.shared_from_this())) {}

 protected:
  const Set& dataset() const { return *dataset_; }

 private:
  const std::shared_ptr<const Set> dataset_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_DATASET_H_
