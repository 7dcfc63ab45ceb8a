// Batches of elements of different sizes as sparse tensors: each batch is a
// vector of three variants for DeserializeSparse: indices, values, shape.
#include <algorithm>
#include <utility>

#include "libs/kernels/array/copy.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

class SparseBatchDataset : public UnaryDataset {
 public:
  SparseBatchDataset(const DatasetOp& op, DatasetPtr input, int64_t batch_size,
                     PartialShape row)
      : UnaryDataset(op, std::move(input)),
        batch_size_(batch_size),
        row_(std::move(row)) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(const int64_t size, ReadBatchSize(context));
    if (input->output_types().size() != 1) {
      return absl::InvalidArgumentError(
          "DenseToSparseBatchDataset only supports inputs with a single "
          "component.");
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                     VectorInput<int64_t>(context, 2, "row_shape"));
    ASSIGN_OR_RETURN(PartialShape row, PartialShape::Create(dims));
    RETURN_IF_ERROR(CheckElementTypes(op.element, {DT_VARIANT}));
    return std::make_shared<SparseBatchDataset>(op, std::move(input), size,
                                                std::move(row));
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    return CardinalityOfBatches(input(), batch_size_, false);
  }

 private:
  class Iterator : public UnaryIteratorOf<SparseBatchDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      ElementCharge charge(context.allocator());
      RETURN_IF_ERROR(charge.AddAll(kept_));
      while (static_cast<int64_t>(kept_.size()) < dataset().batch_size_) {
        DatasetElement next;
        const absl::StatusOr<bool> has =
            NextUnlessCancelled(input(), context, &next);
        if (!has.ok()) {
          // An element's error is returned for the batch, which is dropped; a
          // cancelled step leaves the elements it took to the next one.
          if (!context.cancellation().IsCancelled()) kept_.clear();
          return has.status();
        }
        if (!*has) break;
        RETURN_IF_ERROR(Charge(charge, next));
        kept_.push_back(std::move(next));
      }
      if (kept_.empty()) return false;
      const std::vector<DatasetElement> rows = std::exchange(kept_, {});
      ASSIGN_OR_RETURN(Tensor batch, dataset().Join(context, rows));
      element->assign(1, std::move(batch));
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("kept", kept_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(
          kept_, reader.ReadElements("kept", dataset().input().output_types()));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // A batch for which there is no memory is dropped, like one with an error.
    absl::Status Charge(ElementCharge& charge, const DatasetElement& element) {
      absl::Status status = charge.Add(element);
      if (!status.ok()) kept_.clear();
      return status;
    }

    std::vector<DatasetElement> kept_;
  };

  // The three variants of a batch of all elements of `rows`.
  absl::StatusOr<Tensor> Join(IteratorContext& context,
                              const std::vector<DatasetElement>& rows) const {
    ASSIGN_OR_RETURN(const Dims dims, BatchDims(rows));
    int64_t count = 0;
    for (const DatasetElement& row : rows) count += row[0].num_elements();
    const auto rank = static_cast<int64_t>(dims.size());
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({count, rank}));
    ASSIGN_OR_RETURN(Tensor indices,
                     Tensor::Allocate(context.allocator(), DT_INT64, shape));
    ASSIGN_OR_RETURN(
        Tensor values,
        Tensor::Allocate(context.allocator(), rows[0][0].dtype(), {count}));
    int64_t* index = indices.mutable_flat<int64_t>().data();
    HeapCharge charge(context.allocator());
    int64_t done = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Tensor& row = rows[i][0];
      for (int64_t at = 0; at < row.num_elements(); ++at, index += rank) {
        index[0] = static_cast<int64_t>(i);
        WriteCoordinates(row.shape(), at, index + 1);
      }
      RETURN_IF_ERROR(CopyCharged(charge, row, values, done));
      done += row.num_elements();
    }
    Tensor batch(DT_VARIANT, {3});
    const auto parts = batch.mutable_flat<Variant>();
    parts[0] = TensorVariant(std::move(indices));
    parts[1] = TensorVariant(std::move(values));
    parts[2] = TensorVariant(Tensor::Vector<int64_t>(dims));
    return batch;
  }

  // The number of rows, followed by the row's shape with unknown sizes replaced
  // by the largest.
  absl::StatusOr<Dims> BatchDims(
      const std::vector<DatasetElement>& rows) const {
    Dims dims = {static_cast<int64_t>(rows.size())};
    dims.resize(row_.rank() + 1, 0);
    for (const DatasetElement& row : rows) {
      const TensorShape& shape = row[0].shape();
      if (shape.rank() != row_.rank() || row[0].dtype() != rows[0][0].dtype()) {
        return absl::InvalidArgumentError(DoesNotFit(shape));
      }
      for (int d = 0; d < shape.rank(); ++d) {
        const int64_t most = row_.dim(d);
        if (most != PartialShape::kUnknown && shape.dim(d) > most) {
          return absl::DataLossError(DoesNotFit(shape));
        }
        dims[d + 1] = std::max({dims[d + 1], shape.dim(d), most});
      }
    }
    return dims;
  }

  std::string DoesNotFit(const TensorShape& shape) const {
    return absl::StrCat(
        name(), ": Input element had shape ", shape.ToString(),
        " that is incompatible with the row shape: ", row_.ToString());
  }

  const int64_t batch_size_;
  const PartialShape row_;
};

}  // namespace

void RegisterSparseBatchDataset(KernelRegistry& registry) {
  for (const char* op :
       {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    RegisterDataset(registry, op, SparseBatchDataset::Make);
  }
}

}  // namespace weft
