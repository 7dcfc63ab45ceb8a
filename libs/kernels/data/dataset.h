// Dataset: what a pipeline is made of: a graph's dataset ops are kernels that
// make one, an immutable object in a scalar DT_VARIANT tensor. DatasetIterator:
// one walk through it.
//
//   ASSIGN_OR_RETURN(auto iterator, dataset->MakeIterator(context));
//   std::vector<Tensor> element;
//   while (*iterator->GetNext(context, &element)) ...
//
// Threads: a Dataset is thread-safe. A DatasetIterator is used by one thread at
// a time. GetNext, MakeIterator and the destructor may wait (for files, for
// functions, for what works in the background), so they run where waiting
// starves nobody: on Pool::kOwnThread. Never on a thread that reads the bus,
// nor on Pool::kCompute, whose threads functions need, nor on Pool::kBlocking,
// which their kernels may need.
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
#include "libs/base/cancellation.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

class WalkFunctions;  // walk_functions.h

using DatasetElement = std::vector<Tensor>;

// A place for one iterator among those of a walk: each iterator holds one.
// Datasets may share their inputs, and a walk has an iterator for each path
// to a dataset, so their number may be exponential in that of the datasets.
class IteratorPlace {
 public:
  using Count = std::shared_ptr<std::atomic<int64_t>>;
  static constexpr int64_t kMaxIterators = int64_t{1} << 20;

  IteratorPlace() = default;
  // RESOURCE_EXHAUSTED where there are kMaxIterators already.
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

  // Null unless it was taken.
  const Count& count() const { return count_; }

 private:
  explicit IteratorPlace(Count count) : count_(std::move(count)) {}

  Count count_;
};

// What a call of an iterator runs with. A value. It outlives the call's step:
// what it points to lives as long as any copy, but the cancellation, which is
// the caller's. Who works in the background keeps a copy with a Cancellation of
// its own.
class IteratorContext {
 public:
  // `functions` keeps alive what is the session's; null in tests, where the
  // caller does so.
  IteratorContext(const StepContext& step,
                  std::shared_ptr<FunctionRuntime> functions);

  // The same for calls that `cancellation`, which outlives them, ends.
  IteratorContext With(Cancellation& cancellation) const;
  // The same for another walk: functions that keep state begin anew with it.
  IteratorContext ForWalk() const;

  Scheduler& scheduler() const { return *step_.scheduler; }
  Cancellation& cancellation() const { return *step_.cancellation; }
  Allocator& allocator() const { return *step_.allocator; }
  FileSystem& file_system() const { return *step_.file_system; }
  ResourceManager& resources() const { return *step_.resources; }
  Device& device() const { return *step_.device; }
  // What functions are called with, but for what lives as long as a call.
  const StepContext& step() const { return step_; }
  // Null outside ForWalk: functions go on where other calls have left them.
  WalkFunctions* walk_functions() const { return walk_functions_.get(); }

  // The number of iterators and function calls around this call. An iterator
  // runs inside its consumer, a function inside the iterator that calls it, and
  // an iterator may walk a dataset that a function made, so only this number
  // bounds the recursion.
  int depth() const { return depth_; }
  // A walk that a function's kernel begins counts as many: it takes a thread.
  static constexpr int kDepthOfThread = 10;
  IteratorContext AtDepth(int depth) const&;
  IteratorContext AtDepth(int depth) &&;

  // The number of iterators that a new iterator may make for its inputs before
  // they are asked, together with the inputs of these. Inputs may share inputs
  // of their own, and then there are far more iterators than datasets.
  int eager_iterators() const { return eager_iterators_; }
  // For each of `count` inputs. REQUIRES: count > 0.
  IteratorContext ForInputs(int count) const;

  // Counts the iterators of the walk; null where the next iterator begins one.
  const IteratorPlace::Count& iterator_count() const { return iterator_count_; }
  // The same within that walk.
  IteratorContext Counting(IteratorPlace::Count count) &&;

 private:
  StepContext step_;
  std::shared_ptr<FunctionRuntime> functions_;
  std::shared_ptr<WalkFunctions> walk_functions_;
  int depth_ = 0;
  int eager_iterators_ = 256;
  IteratorPlace::Count iterator_count_;
};

// Where an iterator writes its position: tensors by name. Each writes under the
// name that who holds it gave it.
class IteratorStateWriter {
 public:
  using Values = std::map<std::string, Tensor, std::less<>>;

  explicit IteratorStateWriter(Values& values, std::string prefix = "")
      : values_(&values), prefix_(std::move(prefix)) {}

  void Write(absl::string_view name, Tensor value);
  void Write(absl::string_view name, int64_t value);
  void Write(absl::string_view name, const DatasetElement& element);
  // Their number, and each under the name with its own behind it.
  void Write(absl::string_view name,
             const std::vector<DatasetElement>& elements);
  // For an iterator within this one.
  IteratorStateWriter Within(absl::string_view name) const {
    return IteratorStateWriter(*values_, absl::StrCat(prefix_, name, "/"));
  }

 private:
  Values* values_;
  std::string prefix_;
};

class IteratorStateReader {
 public:
  using Values = IteratorStateWriter::Values;
  static constexpr int64_t kMostCounted = int64_t{1} << 62;

  explicit IteratorStateReader(const Values& values, std::string prefix = "")
      : values_(&values), prefix_(std::move(prefix)) {}

  bool Has(absl::string_view name) const;
  // NOT_FOUND, naming it, or INVALID_ARGUMENT where it is of another type.
  absl::StatusOr<Tensor> Read(absl::string_view name, DataType type) const;
  absl::StatusOr<int64_t> ReadInt(absl::string_view name) const;
  // From 0 to `most`, by default so many that one more can be counted; else
  // INVALID_ARGUMENT.
  absl::StatusOr<int64_t> ReadCount(absl::string_view name,
                                    int64_t most = kMostCounted) const;
  // Of a number that says yes unless it is 0.
  absl::StatusOr<bool> ReadBool(absl::string_view name) const;
  absl::StatusOr<DatasetElement> ReadElement(absl::string_view name) const;
  // Of components of these types, or INVALID_ARGUMENT: others reckon with that.
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

// One walk through a dataset.
class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  DatasetIterator() = default;
  DatasetIterator(const DatasetIterator&) = delete;
  DatasetIterator& operator=(const DatasetIterator&) = delete;

  // The next element into *element, whatever that held; false at the end, and
  // ever after. An error is this element's: the next call goes on with the
  // element after it. A call that was cancelled may have lost the element at
  // hand, and no other.
  virtual absl::StatusOr<bool> GetNext(IteratorContext& context,
                                       DatasetElement* element) = 0;

  // Whether GetNext would end at once, without waiting nor much work. Cheap.
  // It stays so until GetNext.
  virtual bool IsReady() const { return false; }

  // Whether elements are single texts, scalars, which GetTexts gives as well.
  virtual bool GivesTexts() const { return false; }
  // The next elements as `texts` from *done on, which counts them: until there
  // is no room, or at the end. Costs less than as many calls of GetNext, and
  // means the same; after an error those that were counted are good.
  // UNIMPLEMENTED unless GivesTexts.
  virtual absl::Status GetTexts(IteratorContext& context,
                                absl::Span<std::string> texts, size_t* done);

  // Passes over up to `count` elements; *done counts them, before an error as
  // well. That is an element's, as in GetNext, and ends it.
  virtual absl::Status Skip(IteratorContext& context, int64_t count,
                            int64_t* done);

  // Its position, so that an iterator of an equal dataset, just made, goes on
  // from there. UNIMPLEMENTED where it can't.
  virtual absl::Status Save(IteratorContext& context,
                            IteratorStateWriter writer);
  virtual absl::Status Restore(IteratorContext& context,
                               const IteratorStateReader& reader);

 protected:
  // An iterator of `dataset` for use inside this one. Iterators that are made
  // after this one's constructor must be made here: it knows its depth.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeInner(
      const Dataset& dataset, const IteratorContext& context) const;

 private:
  friend class Dataset;

  int depth_ = 0;  // see IteratorContext::depth
  IteratorPlace place_;
};

// GetNext, or the cause where the call is cancelled already: for who takes any
// number of elements, of what may not look by itself.
absl::StatusOr<bool> NextUnlessCancelled(DatasetIterator& iterator,
                                         IteratorContext& context,
                                         DatasetElement* element);

// Types and shapes of an element's components.
struct ElementSpec {
  DataTypeVector types;
  std::vector<PartialShape> shapes;
};

DataTypeVector TypesOfElement(const DatasetElement& element);

// INVALID_ARGUMENT, in TensorFlow's words, unless `element` is of these types.
absl::Status CheckElementTypes(const ElementSpec& expected,
                               const DataTypeVector& types);
absl::Status CheckElementShapes(const ElementSpec& expected,
                                const std::vector<PartialShape>& shapes);

// Held by shared_ptr, also by the iterators it makes.
class Dataset : public VariantObject,
                public std::enable_shared_from_this<Dataset> {
 public:
  static constexpr int64_t kInfiniteCardinality = -1;
  static constexpr int64_t kUnknownCardinality = -2;

  // `name` is for error texts: "MapDataset:node".
  // Components without a shape have one of unknown rank.
  Dataset(std::string name, ElementSpec element)
      : name_(std::move(name)), element_(WithAllShapes(std::move(element))) {}

  const std::string& name() const { return name_; }
  const ElementSpec& element() const { return element_; }
  const DataTypeVector& output_types() const { return element_.types; }
  const std::vector<PartialShape>& output_shapes() const {
    return element_.shapes;
  }

  // RESOURCE_EXHAUSTED where iterators are too deep inside one another, or the
  // walk has too many. The cause where the context is cancelled.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const;
  // Elements, or one of the two above. Found once: datasets that share inputs
  // would ask these again for each way to them.
  int64_t Cardinality() const;
  // One line for people.
  virtual std::string DebugString() const { return name_; }

 private:
  static constexpr int64_t kNotFoundYet = -3;

  static ElementSpec WithAllShapes(ElementSpec element) {
    element.shapes.resize(element.types.size());
    return element;
  }

  virtual absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const = 0;
  // A function of what the dataset was made with.
  virtual int64_t FindCardinality() const { return kUnknownCardinality; }

  const std::string name_;
  const ElementSpec element_;
  mutable std::atomic<int64_t> cardinality_{kNotFoundYet};
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// The error of a walk through `dataset` for who takes its elements out: as in
// TensorFlow OUT_OF_RANGE becomes INTERNAL, for a loop would take it for the
// end of the data.
absl::Status NotTheEnd(const Dataset& dataset, const absl::Status& status);

// A dataset as the value of a graph's edge, and back: INVALID_ARGUMENT unless
// it is a scalar variant that holds one. `nesting`: see control/nesting.h.
Tensor ToTensor(DatasetPtr dataset, int64_t nesting = 1);
absl::StatusOr<DatasetPtr> DatasetFrom(const Tensor& tensor);

// What iterators of one class of datasets have in common: they hold it.
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
