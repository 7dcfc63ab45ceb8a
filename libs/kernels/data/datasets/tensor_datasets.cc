// Datasets of data in memory: tensors, their rows, numbers.
#include <algorithm>
#include <limits>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/kernels/sparse/sparse_tensor.h"

namespace weft {
namespace {

// The base of datasets whose element i is a function of i.
class IndexedDataset : public Dataset {
 public:
  IndexedDataset(const DatasetOp& op, ElementSpec spec, int64_t size)
      : Dataset(op.name, std::move(spec)), size_(size) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const final {
    return std::make_unique<Iterator>(*this);
  }
  int64_t FindCardinality() const override { return size_; }

 private:
  class Iterator : public IteratorOf<IndexedDataset> {
   public:
    using IteratorOf::IteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      if (next_ >= dataset().size_) return false;
      const int64_t i = next_++;
      element->clear();
      RETURN_IF_ERROR(dataset().Get(context, i, *element));
      return true;
    }
    bool IsReady() const override { return dataset().IsCheap(); }
    absl::Status Skip(IteratorContext&, int64_t count, int64_t* done) override {
      const int64_t skipped =
          std::clamp<int64_t>(count, 0, dataset().size_ - next_);
      next_ += skipped;
      *done += skipped;
      return absl::OkStatus();
    }
    absl::Status Save(IteratorContext&, IteratorStateWriter writer) override {
      writer.Write("next", next_);
      return absl::OkStatus();
    }
    absl::Status Restore(IteratorContext&,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t next, reader.ReadInt("next"));
      if (next < 0 || next > dataset().size_) {
        return absl::InvalidArgumentError(
            absl::StrCat("the saved position ", next, " is not within the ",
                         dataset().size_, " elements of ", dataset().name()));
      }
      next_ = next;
      return absl::OkStatus();
    }

   private:
    int64_t next_ = 0;
  };

  // Writes element `i` to the empty *element.
  virtual absl::Status Get(IteratorContext& context, int64_t i,
                           DatasetElement& element) const = 0;
  // Returns whether Get takes about a microsecond.
  virtual bool IsCheap() const { return true; }

  const int64_t size_;
};

std::vector<Tensor> AllInputs(const OpKernelContext& context) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) {
    inputs.push_back(context.input(i));
  }
  return inputs;
}

class TensorDataset : public IndexedDataset {
 public:
  TensorDataset(const DatasetOp& op, std::vector<Tensor> components)
      : IndexedDataset(op, op.element, 1), components_(std::move(components)) {}

 private:
  absl::Status Get(IteratorContext&, int64_t,
                   DatasetElement& element) const override {
    element = components_;
    return absl::OkStatus();
  }

  const std::vector<Tensor> components_;
};

absl::StatusOr<DatasetPtr> MakeTensor(const DatasetOp& op,
                                      OpKernelContext& context) {
  return std::make_shared<TensorDataset>(op, AllInputs(context));
}

class TensorSliceDataset : public IndexedDataset {
 public:
  // REQUIRES: the components have equally many rows.
  TensorSliceDataset(const DatasetOp& op, std::vector<Tensor> components)
      : IndexedDataset(op, op.element, components[0].dim(0)),
        components_(std::move(components)) {
    for (const Tensor& component : components_) {
      rows_.emplace_back(component.shape().dims().subspan(1));
      is_cheap_ &= rows_.back().num_elements() <= 256;
    }
  }

 private:
  absl::Status Get(IteratorContext& context, int64_t i,
                   DatasetElement& element) const override {
    for (size_t c = 0; c < components_.size(); ++c) {
      ASSIGN_OR_RETURN(const Tensor slice,
                       components_[c].SliceRows(i, i + 1, context.allocator()));
      ASSIGN_OR_RETURN(Tensor row, slice.Reshaped(rows_[c]));
      element.push_back(std::move(row));
    }
    return absl::OkStatus();
  }
  bool IsCheap() const override { return is_cheap_; }

  const std::vector<Tensor> components_;
  std::vector<TensorShape> rows_;
  bool is_cheap_ = true;
};

absl::StatusOr<DatasetPtr> MakeTensorSlice(const DatasetOp& op,
                                           OpKernelContext& context) {
  std::vector<Tensor> components = AllInputs(context);
  for (size_t i = 0; i < components.size(); ++i) {
    if (components[i].rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "All components must be at least 1-dimensional: component ", i,
          " is a scalar"));
    }
    if (components[i].dim(0) != components[0].dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "All components must have the same size in the 0th dimension: "
          "component ",
          i, " has ", components[i].dim(0), ", component 0 has ",
          components[0].dim(0)));
    }
  }
  return std::make_shared<TensorSliceDataset>(op, std::move(components));
}

// The rows of a sparse tensor, each as indices, values and shape.
class SparseTensorSliceDataset : public IndexedDataset {
 public:
  // The rows that have values; the shape may have any number of other rows.
  struct Rows {
    std::vector<int64_t> numbers;  // ascending
    // The start of each row in the values, and the end of the last one.
    std::vector<int64_t> begins;
  };
  SparseTensorSliceDataset(const DatasetOp& op, ElementSpec spec, int64_t size,
                           Tensor indices, Tensor values, Tensor row_shape,
                           Rows rows)
      : IndexedDataset(op, std::move(spec), size),
        indices_(std::move(indices)),
        values_(std::move(values)),
        row_shape_(std::move(row_shape)),
        rows_(std::move(rows)) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context);

 private:
  absl::Status Get(IteratorContext& context, int64_t i,
                   DatasetElement& element) const override {
    const auto [begin, end] = ValuesOf(i);
    const int64_t count = end - begin;
    const int64_t rank = row_shape_.num_elements();
    ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(context.allocator(),
                                                      DT_INT64, {count, rank}));
    const auto all = indices_.flat<int64_t>();
    auto out = indices.mutable_flat<int64_t>();
    for (int64_t n = 0; n < count; ++n) {
      for (int64_t d = 0; d < rank; ++d) {
        out[n * rank + d] = all[(begin + n) * (rank + 1) + d + 1];
      }
    }
    ASSIGN_OR_RETURN(Tensor values,
                     values_.SliceRows(begin, end, context.allocator()));
    element = {std::move(indices), std::move(values), row_shape_};
    return absl::OkStatus();
  }

  // The begin and end of the values of row `i`.
  std::pair<int64_t, int64_t> ValuesOf(int64_t i) const {
    const auto& numbers = rows_.numbers;
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), i);
    if (found == numbers.end() || *found != i) return {0, 0};
    const auto k = found - numbers.begin();
    return {rows_.begins[k], rows_.begins[k + 1]};
  }
  static absl::StatusOr<Rows> RowsOf(const SparseView& view);

  const Tensor indices_, values_, row_shape_;
  const Rows rows_;
};

absl::StatusOr<SparseTensorSliceDataset::Rows> SparseTensorSliceDataset::RowsOf(
    const SparseView& view) {
  Rows rows;
  for (int64_t i = 0; i < view.count(); ++i) {
    const int64_t row = view.index(i, 0);
    if (!rows.numbers.empty() && row == rows.numbers.back()) continue;
    if (!rows.numbers.empty() && row < rows.numbers.back()) {
      return absl::UnimplementedError(
          "The SparseTensor must be ordered in the batch dimension; handling "
          "arbitrarily ordered input is not currently supported.");
    }
    rows.numbers.push_back(row);
    rows.begins.push_back(i);
  }
  rows.begins.push_back(view.count());
  return rows;
}

absl::StatusOr<DatasetPtr> SparseTensorSliceDataset::Make(
    const DatasetOp& op, OpKernelContext& context) {
  const Tensor &indices = context.input(0), &values = context.input(1),
               &shape = context.input(2);
  ASSIGN_OR_RETURN(const SparseView view,
                   SparseView::Of(indices, &values, shape));
  RETURN_IF_ERROR(view.CheckBounds());
  if (view.rank() == 0) {
    return absl::InvalidArgumentError(
        "Rank of sparse tensor must be at least 1 to have rows");
  }
  ASSIGN_OR_RETURN(Rows rows, RowsOf(view));
  const int rank = view.rank() - 1;
  ElementSpec spec = {
      {DT_INT64, values.dtype(), DT_INT64},
      {PartialShape({PartialShape::kUnknown, rank}),
       PartialShape::Vector(PartialShape::kUnknown), PartialShape({rank})}};
  return std::make_shared<SparseTensorSliceDataset>(
      op, std::move(spec), view.shape().dim(0), indices, values,
      Tensor::Vector<int64_t>(view.shape().dims().subspan(1)), std::move(rows));
}

absl::StatusOr<Tensor> NumberOf(DataType type, int64_t value) {
  switch (type) {
    case DT_INT64:
      return Tensor::Scalar(value);
    case DT_INT32:
      return Tensor::Scalar(static_cast<int32_t>(value));
    case DT_INT16:
      return Tensor::Scalar(static_cast<int16_t>(value));
    case DT_INT8:
      return Tensor::Scalar(static_cast<int8_t>(value));
    case DT_UINT8:
      return Tensor::Scalar(static_cast<uint8_t>(value));
    case DT_UINT16:
      return Tensor::Scalar(static_cast<uint16_t>(value));
    case DT_UINT32:
      return Tensor::Scalar(static_cast<uint32_t>(value));
    case DT_UINT64:
      return Tensor::Scalar(static_cast<uint64_t>(value));
    case DT_FLOAT:
      return Tensor::Scalar(static_cast<float>(value));
    case DT_DOUBLE:
      return Tensor::Scalar(static_cast<double>(value));
    case DT_HALF:
      return Tensor::Scalar(half(static_cast<float>(value)));
    case DT_BFLOAT16:
      return Tensor::Scalar(bfloat16(static_cast<float>(value)));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a range of ", DataTypeName(type), " is not possible"));
  }
}

class RangeDataset : public IndexedDataset {
 public:
  RangeDataset(const DatasetOp& op, int64_t start, int64_t step, int64_t size,
               bool counts_on)
      : IndexedDataset(op, op.element, size),
        start_(start),
        step_(step),
        counts_on_(counts_on) {}

  int64_t FindCardinality() const final {
    return counts_on_ ? kInfiniteCardinality
                      : IndexedDataset::FindCardinality();
  }

 private:
  absl::Status Get(IteratorContext&, int64_t i,
                   DatasetElement& element) const override {
    // Between start and stop, so it does not overflow.
    const uint64_t value =
        static_cast<uint64_t>(start_) +
        static_cast<uint64_t>(i) * static_cast<uint64_t>(step_);
    ASSIGN_OR_RETURN(Tensor number,
                     NumberOf(output_types()[0], static_cast<int64_t>(value)));
    element.push_back(std::move(number));
    return absl::OkStatus();
  }

  const int64_t start_, step_;
  // As in TensorFlow's Counter: a range up to the largest number counts as
  // infinite.
  const bool counts_on_;
};

absl::StatusOr<DatasetPtr> MakeRange(const DatasetOp& op,
                                     OpKernelContext& context) {
  ASSIGN_OR_RETURN(const auto start, ScalarInput<int64_t>(context, 0, "start"));
  ASSIGN_OR_RETURN(const auto stop, ScalarInput<int64_t>(context, 1, "stop"));
  ASSIGN_OR_RETURN(const auto step, ScalarInput<int64_t>(context, 2, "step"));
  if (step == 0) {
    return absl::InvalidArgumentError("step must be a non-zero integer.");
  }
  if (op.element.types.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.name, ": a range has one component"));
  }
  RETURN_IF_ERROR(NumberOf(op.element.types[0], 0));
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t first = start, last = stop;
  const uint64_t way = step > 0 ? last - first : first - last;
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  const uint64_t size = is_empty ? 0 : (way - 1) / stride + 1;
  if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a range from ", start, " to ", stop,
                     " has more than 2**63 - 1 elements"));
  }
  const bool counts_on =
      size > 0 && stop == std::numeric_limits<int64_t>::max();
  return std::make_shared<RangeDataset>(op, start, step,
                                        static_cast<int64_t>(size), counts_on);
}

}  // namespace

void RegisterTensorDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "TensorDataset", MakeTensor);
  RegisterDataset(registry, "TensorSliceDataset", MakeTensorSlice);
  RegisterDataset(registry, "SparseTensorSliceDataset",
                  SparseTensorSliceDataset::Make);
  RegisterDataset(registry, "RangeDataset", MakeRange);
}

}  // namespace weft
