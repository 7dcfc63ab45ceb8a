// Datasets that join elements and split them: batches, padded batches, windows,
// unbatching.
#include <algorithm>
#include <deque>
#include <utility>

#include "libs/kernels/array/copy.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_result.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// The maximum number of elements reserved for a batch size alone; a batch holds
// at least its elements.
constexpr int64_t kMaxReserved = 4096;

// The vector of the first `count` strings, moved out of `texts` unless that is
// all of them.
absl::StatusOr<Tensor> FirstTexts(Tensor texts, int64_t count,
                                  Allocator& allocator) {
  if (count == texts.num_elements()) return texts;
  ASSIGN_OR_RETURN(Tensor first,
                   Tensor::Allocate(allocator, DT_STRING, {count}));
  const auto from = texts.mutable_flat<std::string>().first(count);
  std::move(from.begin(), from.end(),
            first.mutable_flat<std::string>().begin());
  return first;
}

// The base of plain and padded batches: joins elements.
class JoiningDataset : public UnaryDataset {
 public:
  JoiningDataset(const DatasetOp& op, DatasetPtr input, int64_t batch_size,
                 bool drop_remainder)
      : UnaryDataset(op, std::move(input)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const final {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const final {
    return CardinalityOfBatches(input(), batch_size_, drop_remainder_);
  }

 private:
  class Iterator : public UnaryIteratorOf<JoiningDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      const int64_t size = dataset().batch_size_;
      if (kept_.empty() && size <= kMaxReserved && dataset().JoinsTexts() &&
          input().GivesTexts()) {
        return GetTextBatch(context, *element);
      }
      std::vector<DatasetElement> elements = std::exchange(kept_, {});
      elements.reserve(std::min(size, kMaxReserved));
      ElementCharge charge(context.allocator());
      RETURN_IF_ERROR(charge.AddAll(elements));
      while (!has_ended_ && static_cast<int64_t>(elements.size()) < size) {
        DatasetElement next;
        const absl::StatusOr<bool> has =
            NextUnlessCancelled(input(), context, &next);
        if (!has.ok()) {
          // An element's error is returned for the batch, which is dropped. A
          // cancelled step leaves the elements it took to the next one.
          if (context.cancellation().IsCancelled()) kept_ = std::move(elements);
          return has.status();
        }
        if (*has) {
          RETURN_IF_ERROR(charge.Add(next));
          elements.push_back(std::move(next));
        } else {
          has_ended_ = true;
        }
      }
      if (IsLeftOut(static_cast<int64_t>(elements.size()))) return false;
      return Join(context, std::move(elements), *element);
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("has_ended", int64_t{has_ended_});
      writer.Write("kept", kept_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
      ASSIGN_OR_RETURN(
          kept_, reader.ReadElements("kept", dataset().input().output_types()));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    bool IsLeftOut(int64_t count) const {
      return count == 0 ||
             (count < dataset().batch_size_ && dataset().drop_remainder_);
    }

    // Implements GetNext for strings, which need not become elements first.
    absl::StatusOr<bool> GetTextBatch(IteratorContext& context,
                                      DatasetElement& batch) {
      if (has_ended_) return false;
      const int64_t size = dataset().batch_size_;
      ASSIGN_OR_RETURN(Tensor texts, Tensor::Allocate(context.allocator(),
                                                      DT_STRING, {size}));
      size_t done = 0;
      const absl::Status status =
          TakeTexts(context, texts.mutable_flat<std::string>(), done);
      const auto count = static_cast<int64_t>(done);
      if (!status.ok()) {
        if (context.cancellation().IsCancelled()) {
          RETURN_IF_ERROR(Keep(context, texts, count));
        }
        return status;
      }
      has_ended_ = count < size;
      if (IsLeftOut(count)) return false;
      ASSIGN_OR_RETURN(Tensor rows, FirstTexts(std::move(texts), count,
                                               context.allocator()));
      batch.assign(1, std::move(rows));
      return true;
    }

    // Takes as many of the input's strings as there is room for, counted by
    // `done`. RESOURCE_EXHAUSTED without memory for the next one.
    absl::Status TakeTexts(IteratorContext& context,
                           absl::Span<std::string> texts, size_t& done) {
      HeapCharge charge(context.allocator());
      while (done < texts.size()) {
        const size_t at = done;
        RETURN_IF_ERROR(input().GetTexts(context, texts.first(at + 1), &done));
        if (done == at) break;  // the end
        RETURN_IF_ERROR(
            charge.Add(HeapCharge::BytesOfString(texts[at].size())));
      }
      return absl::OkStatus();
    }

    // Keeps the strings that a cancelled step took for the next call.
    absl::Status Keep(IteratorContext& context, const Tensor& texts,
                      int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(Tensor text, RowOf(texts, i, context.allocator()));
        kept_.push_back({std::move(text)});
      }
      return absl::OkStatus();
    }

    absl::StatusOr<bool> Join(IteratorContext& context,
                              std::vector<DatasetElement> elements,
                              DatasetElement& batch) const {
      batch.clear();
      const DataTypeVector& types = dataset().output_types();
      for (size_t c = 0; c < types.size(); ++c) {
        for (const DatasetElement& element : elements) {
          if (element.size() == types.size() &&
              element[c].dtype() == types[c]) {
            continue;
          }
          return absl::InvalidArgumentError(
              absl::StrCat(dataset().name(),
                           ": an element of a batch is not of the type of "
                           "component ",
                           c, ", ", DataTypeName(types[c])));
        }
        ASSIGN_OR_RETURN(Tensor joined,
                         dataset().JoinComponent(context, c, elements));
        batch.push_back(std::move(joined));
      }
      return true;
    }

    bool has_ended_ = false;
    std::vector<DatasetElement> kept_;
  };

  // Returns whether the dataset joins strings as they arrive.
  virtual bool JoinsTexts() const { return false; }
  // Joins component `c` of `elements`, which must not be empty, into one
  // tensor; may move it out of them.
  virtual absl::StatusOr<Tensor> JoinComponent(
      IteratorContext& context, size_t c,
      std::vector<DatasetElement>& elements) const = 0;

  const int64_t batch_size_;
  const bool drop_remainder_;
};

// ---- Batch ----

class BatchDataset : public JoiningDataset {
 public:
  using JoiningDataset::JoiningDataset;

  template <bool kHasDropRemainder>
  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(const int64_t size, ReadBatchSize(context));
    bool drop = false;
    if (kHasDropRemainder) {
      ASSIGN_OR_RETURN(drop, ScalarInput<bool>(context, 2, "drop_remainder"));
    }
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<BatchDataset>(op, std::move(input), size, drop);
  }

 private:
  bool JoinsTexts() const override { return true; }
  absl::StatusOr<Tensor> JoinComponent(
      IteratorContext& context, size_t c,
      std::vector<DatasetElement>& elements) const override {
    return JoinRows(elements, c, context.allocator());
  }
};

// ---- PaddedBatch ----

class PaddedBatchDataset : public JoiningDataset {
 public:
  PaddedBatchDataset(const DatasetOp& op, DatasetPtr input, int64_t batch_size,
                     bool drop_remainder, std::vector<PartialShape> shapes,
                     std::vector<Tensor> paddings)
      : JoiningDataset(op, std::move(input), batch_size, drop_remainder),
        shapes_(std::move(shapes)),
        paddings_(std::move(paddings)) {}

  template <bool kHasDropRemainder>
  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context);

 private:
  absl::StatusOr<Tensor> JoinComponent(
      IteratorContext& context, size_t c,
      std::vector<DatasetElement>& elements) const override {
    const DataType type = elements[0][c].dtype();
    const auto count = static_cast<int64_t>(elements.size());
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(c, elements));
    ASSIGN_OR_RETURN(const TensorShape shape, RowsShape(count, row));
    ASSIGN_OR_RETURN(Tensor batch,
                     Tensor::Allocate(context.allocator(), type, shape));
    HeapCharge charge(context.allocator());
    RETURN_IF_ERROR(charge.AddObjects(static_cast<size_t>(batch.num_elements()),
                                      BytesOfTexts(paddings_[c])));
    RETURN_IF_ERROR(FillWithValue(paddings_[c], batch));
    ElementPattern pattern;
    pattern.strides = PackedStrides(row.dims());
    for (int64_t i = 0; i < count; ++i) {
      const Tensor& element = elements[i][c];
      const auto dims = element.shape().dims();
      pattern.dims.assign(dims.begin(), dims.end());
      pattern.offset = i * row.num_elements();
      RETURN_IF_ERROR(charge.Add(BytesOfTexts(element)));
      RETURN_IF_ERROR(CopyToPattern(element, pattern, batch));
    }
    return batch;
  }

  // The padded shape, with unknown sizes replaced by the largest.
  absl::StatusOr<TensorShape> RowShape(
      size_t c, const std::vector<DatasetElement>& elements) const {
    const PartialShape& padded = shapes_[c];
    Dims dims(padded.rank(), 0);
    for (const DatasetElement& element : elements) {
      const TensorShape& shape = element[c].shape();
      if (shape.rank() != padded.rank()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "All elements in a batch must have the same rank as the padded "
            "shape for component",
            c, ": expected rank ", padded.rank(), " but got element with rank ",
            shape.rank()));
      }
      for (int d = 0; d < padded.rank(); ++d) {
        const int64_t most = padded.dim(d);
        if (most != PartialShape::kUnknown && shape.dim(d) > most) {
          return absl::DataLossError(absl::StrCat(
              "Attempted to pad to a smaller size than the input element. "
              "Component ",
              c, " is ", shape.ToString(), ", its padded shape ",
              padded.ToString()));
        }
        dims[d] = std::max({dims[d], shape.dim(d), most});
      }
    }
    return TensorShape::Create(dims);
  }

  const std::vector<PartialShape> shapes_;
  const std::vector<Tensor> paddings_;
};

absl::StatusOr<PartialShape> PaddedShapeFrom(const Tensor& tensor, size_t c,
                                             const PartialShape& input) {
  if (tensor.dtype() != DT_INT64 || tensor.rank() != 1) {
    return absl::InvalidArgumentError("All padded shapes must be vectors");
  }
  ASSIGN_OR_RETURN(PartialShape shape,
                   PartialShape::Create(tensor.flat<int64_t>()));
  if (!input.has_rank() || input.rank() == shape.rank()) return shape;
  return absl::InvalidArgumentError(
      absl::StrCat("the padded shape ", shape.ToString(), " of component ", c,
                   " must have the rank of its elements, ", input.ToString()));
}

template <bool kHasDropRemainder>
absl::StatusOr<DatasetPtr> PaddedBatchDataset::Make(const DatasetOp& op,
                                                    OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const int64_t size, ReadBatchSize(context));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  ASSIGN_OR_RETURN(const auto n, op.Attr<int64_t>("N"));
  const size_t count = input->output_types().size();
  if (n != static_cast<int64_t>(count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of padded shapes (", n,
        ") must match the number of components in the input dataset's elements "
        "(",
        count, ")"));
  }
  std::vector<PartialShape> shapes;
  std::vector<Tensor> paddings;
  for (size_t c = 0; c < count; ++c) {
    const int i = static_cast<int>(c);
    ASSIGN_OR_RETURN(
        PartialShape shape,
        PaddedShapeFrom(context.input(2 + i), c, input->output_shapes()[c]));
    shapes.push_back(std::move(shape));
    const Tensor& padding = context.input(2 + static_cast<int>(count) + i);
    if (padding.rank() != 0) {
      return absl::InvalidArgumentError("All padding values must be scalars");
    }
    if (padding.dtype() != input->output_types()[c]) {
      return absl::InvalidArgumentError(
          absl::StrCat("Mismatched type between padding value ", c,
                       " and input dataset's component ", c, ": ",
                       DataTypeName(padding.dtype()), " vs. ",
                       DataTypeName(input->output_types()[c])));
    }
    paddings.push_back(padding);
  }
  bool drop = false;
  if (kHasDropRemainder) {
    ASSIGN_OR_RETURN(drop, ScalarInput<bool>(context, context.num_inputs() - 1,
                                             "drop_remainder"));
  }
  return std::make_shared<PaddedBatchDataset>(
      op, std::move(input), size, drop, std::move(shapes), std::move(paddings));
}

// ---- Window ----

class WindowDataset : public UnaryDataset {
 public:
  struct Sizes {
    int64_t size, shift, stride;
  };
  WindowDataset(const DatasetOp& op, DatasetPtr input, Sizes sizes,
                bool drop_remainder)
      : UnaryDataset(op, std::move(input)),
        sizes_(sizes),
        drop_remainder_(drop_remainder) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    int64_t values[3] = {};
    constexpr const char* kNames[] = {"size", "shift", "stride"};
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(values[i],
                       ScalarInput<int64_t>(context, 1 + i, kNames[i]));
      if (values[i] <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Window ", kNames[i], " must be greater than zero."));
      }
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(values[0] - 1, values[2], &reach) ||
        reach == std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a window of ", values[0], " elements, each ", values[2],
                       " after the other, is too long"));
    }
    ASSIGN_OR_RETURN(const bool drop,
                     ScalarInput<bool>(context, 4, "drop_remainder"));
    const size_t components = input->output_types().size();
    RETURN_IF_ERROR(
        CheckElementTypes(op.element, DataTypeVector(components, DT_VARIANT)));
    return std::make_shared<WindowDataset>(
        op, std::move(input), Sizes{values[0], values[1], values[2]}, drop);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input),
                                      context.allocator());
  }
  int64_t FindCardinality() const override {
    const int64_t elements = input().Cardinality();
    if (elements < 0) return elements;
    const int64_t reach = (sizes_.size - 1) * sizes_.stride + 1;
    // The last possible start of a window.
    const int64_t end = drop_remainder_ ? elements - reach + 1 : elements;
    return end <= 0 ? 0 : (end - 1) / sizes_.shift + 1;
  }

 private:
  class Iterator : public UnaryIteratorOf<WindowDataset> {
   public:
    Iterator(const WindowDataset& dataset, IteratorPtr input,
             Allocator& allocator)
        : UnaryIteratorOf(dataset, std::move(input)), charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      const Sizes& sizes = dataset().sizes_;
      const int64_t reach = (sizes.size - 1) * sizes.stride + 1;
      RETURN_IF_ERROR(Fill(context, reach));
      const auto there = static_cast<int64_t>(buffer_.size());
      if (there == 0 || (there < reach && dataset().drop_remainder_)) {
        return false;
      }
      std::vector<DatasetElement> window;
      absl::Status status;
      for (int64_t i = 0; i < std::min(reach, there); i += sizes.stride) {
        if (!buffer_[i].status.ok()) {
          status = buffer_[i].status;
          break;
        }
        window.push_back(buffer_[i].element);
      }
      MoveOn();
      RETURN_IF_ERROR(status);
      ASSIGN_OR_RETURN(*element, DatasetsOf(window));
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("to_skip", to_skip_);
      writer.Write("has_ended", int64_t{has_ended_});
      WriteResults(writer, "buffer", buffer_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(to_skip_,
                       reader.ReadCount("to_skip", dataset().sizes_.shift));
      ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
      buffer_.clear();
      RETURN_IF_ERROR(
          ReadResults(reader, "buffer", dataset().input().element(), buffer_));
      charge_.Remove(charge_.count());
      for (const ElementResult& result : buffer_) {
        RETURN_IF_ERROR(charge_.Add(result.element));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // Skips elements between windows, and buffers up to `reach`.
    absl::Status Fill(IteratorContext& context, int64_t reach) {
      DatasetElement next;
      while (!has_ended_ &&
             (to_skip_ > 0 || static_cast<int64_t>(buffer_.size()) < reach)) {
        const absl::StatusOr<bool> has =
            NextUnlessCancelled(input(), context, &next);
        if (!has.ok()) RETURN_IF_ERROR(context.cancellation().status());
        if (has.ok() && !*has) {
          has_ended_ = true;
        } else if (to_skip_ > 0) {
          --to_skip_;
        } else if (has.ok()) {
          RETURN_IF_ERROR(charge_.Add(next));
          buffer_.push_back({.status = {}, .element = std::move(next)});
        } else {
          RETURN_IF_ERROR(charge_.AddBytes(has.status().message().size()));
          buffer_.push_back({.status = has.status(), .element = {}});
        }
      }
      return absl::OkStatus();
    }

    void MoveOn() {
      const int64_t shift = dataset().sizes_.shift;
      const auto there = static_cast<int64_t>(buffer_.size());
      to_skip_ = std::max<int64_t>(shift - there, 0);
      const int64_t count = std::min(shift, there);
      charge_.Remove(count);
      buffer_.erase(buffer_.begin(), buffer_.begin() + count);
    }

    // Returns a dataset for each component.
    absl::StatusOr<DatasetElement> DatasetsOf(
        const std::vector<DatasetElement>& window) const {
      const ElementSpec& spec = dataset().input().element();
      DatasetElement result;
      for (size_t c = 0; c < spec.types.size(); ++c) {
        std::vector<DatasetElement> elements;
        for (const DatasetElement& element : window) {
          elements.push_back({element[c]});
        }
        ASSIGN_OR_RETURN(
            result.emplace_back(),
            ElementsTensor(absl::StrCat(dataset().name(), ":window"),
                           {{spec.types[c]}, {spec.shapes[c]}},
                           std::move(elements)));
      }
      return result;
    }

    ElementCharge charge_;  // for buffer_
    std::deque<ElementResult> buffer_;
    int64_t to_skip_ = 0;
    bool has_ended_ = false;
  };

  const Sizes sizes_;
  const bool drop_remainder_;
};

// ---- Unbatch ----

class UnbatchDataset : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<UnbatchDataset>(op, std::move(input));
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    const int64_t batches = input().Cardinality();
    if (batches < 0) return batches;
    const int64_t rows = RowsOfBatch();
    int64_t all = 0;
    return rows <= 0 || __builtin_mul_overflow(batches, rows, &all)
               ? kUnknownCardinality
               : all;
  }

 private:
  // The number of rows, if the shape of a component is known; otherwise
  // negative.
  int64_t RowsOfBatch() const {
    for (const PartialShape& shape : input().output_shapes()) {
      if (shape.has_rank() && shape.rank() > 0 && shape.dim(0) >= 0) {
        return shape.dim(0);
      }
    }
    return -1;
  }

  class Iterator : public UnaryIteratorOf<UnbatchDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (next_ == rows_) {
        RETURN_IF_ERROR(context.cancellation().status());
        next_ = rows_ = 0;
        ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &batch_));
        if (!has) return false;
        ASSIGN_OR_RETURN(rows_, RowsOf(batch_));
      }
      element->clear();
      const int64_t row = next_++;
      for (const Tensor& component : batch_) {
        ASSIGN_OR_RETURN(Tensor value,
                         RowOf(component, row, context.allocator()));
        element->push_back(std::move(value));
      }
      if (next_ == rows_) batch_.clear();
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("next", next_);
      writer.Write("rows", rows_);
      if (!batch_.empty()) writer.Write("batch", batch_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(next_, reader.ReadInt("next"));
      ASSIGN_OR_RETURN(rows_, reader.ReadInt("rows"));
      batch_.clear();
      if (reader.Has("batch/size")) {
        ASSIGN_OR_RETURN(
            batch_,
            reader.ReadElement("batch", dataset().input().output_types()));
      }
      int64_t rows = rows_;
      if (!batch_.empty()) {
        ASSIGN_OR_RETURN(rows, RowsOf(batch_));
      }
      if (next_ < 0 || next_ > rows_ || rows != rows_ ||
          (batch_.empty() && next_ != rows_)) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset().name(), ": the saved position ", next_,
                         " is in no batch of ", rows, " rows"));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    static absl::StatusOr<int64_t> RowsOf(const DatasetElement& batch) {
      for (size_t c = 0; c < batch.size(); ++c) {
        if (batch[c].rank() == 0) {
          return absl::InvalidArgumentError(
              "Input element must have a non-scalar value in each component.");
        }
        if (batch[c].dim(0) != batch[0].dim(0)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "Input element must have the same batch size in each component. "
              "Component 0 had size ",
              batch[0].dim(0), " but component ", c, " had size, ",
              batch[c].dim(0), "."));
        }
      }
      return batch.empty() ? 0 : batch[0].dim(0);
    }

    DatasetElement batch_;
    int64_t next_ = 0, rows_ = 0;
  };
};

}  // namespace

void RegisterBatchDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "BatchDataset", BatchDataset::Make<false>);
  RegisterDataset(registry, "BatchDatasetV2", BatchDataset::Make<true>);
  RegisterDataset(registry, "PaddedBatchDataset",
                  PaddedBatchDataset::Make<false>);
  RegisterDataset(registry, "PaddedBatchDatasetV2",
                  PaddedBatchDataset::Make<true>);
  RegisterDataset(registry, "WindowDataset", WindowDataset::Make);
  RegisterDataset(registry, "UnbatchDataset", UnbatchDataset::Make);
  RegisterDataset(registry, "ExperimentalUnbatchDataset", UnbatchDataset::Make);
}

}  // namespace weft
