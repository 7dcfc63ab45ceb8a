// Rebatch returns batches of other sizes from the rows of its elements, which
// are batches.
#include <algorithm>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The common number of rows of all components, or INVALID_ARGUMENT.
absl::StatusOr<int64_t> CommonRows(const DatasetElement& batch) {
  for (const Tensor& component : batch) {
    if (component.rank() == 0) {
      return absl::InvalidArgumentError(
          "Input element must have a non-scalar value in each component.");
    }
    if (component.dim(0) != batch[0].dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input element must have the same batch size in each component. "
          "Component 0 had size ",
          batch[0].dim(0), " but another one had size ", component.dim(0),
          "."));
    }
  }
  return batch.empty() ? 0 : batch[0].dim(0);
}

// Concatenates tensors along the first dimension; FAILED_PRECONDITION, as in
// TensorFlow, if their row shapes differ. REQUIRES: there is at least one
// tensor, and none is a scalar.
absl::StatusOr<Tensor> Stacked(const std::vector<DatasetElement>& parts,
                               size_t c, Allocator& allocator) {
  if (parts.size() == 1) return parts[0][c];
  Dims dims(parts[0][c].shape().dims().begin(),
            parts[0][c].shape().dims().end());
  dims[0] = 0;
  for (const DatasetElement& part : parts) {
    const auto row = part[c].shape().dims().subspan(1);
    if (part[c].dtype() != parts[0][c].dtype() ||
        !std::equal(row.begin(), row.end(), dims.begin() + 1, dims.end())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "Cannot put rows of ", parts[0][c].shape().ToString(), " and of ",
          part[c].shape().ToString(), " into one batch (component ", c, ")."));
    }
    dims[0] += part[c].dim(0);
  }
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(Tensor all,
                   Tensor::Allocate(allocator, parts[0][c].dtype(), shape));
  HeapCharge charge(allocator);
  int64_t done = 0;
  for (const DatasetElement& part : parts) {
    RETURN_IF_ERROR(CopyCharged(charge, part[c], all, done));
    done += part[c].num_elements();
  }
  return all;
}

class RebatchDataset : public UnaryDataset {
 public:
  RebatchDataset(const DatasetOp& op, DatasetPtr input,
                 std::vector<int64_t> sizes, bool drop_remainder)
      : UnaryDataset(op, std::move(input)),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(std::vector<int64_t> sizes,
                     VectorInput<int64_t>(context, 1, "batch_sizes"));
    ASSIGN_OR_RETURN(const bool drop,
                     ScalarInput<bool>(context, 2, "drop_remainder"));
    if (sizes.empty()) {
      return absl::InvalidArgumentError("batch_sizes must not be empty");
    }
    for (const int64_t size : sizes) {
      if (size > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "batch_sizes must be greater than zero, but one is ", size));
    }
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<RebatchDataset>(op, std::move(input),
                                            std::move(sizes), drop);
  }

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }

 private:
  class Iterator : public UnaryIteratorOf<RebatchDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      element->clear();
      const int64_t size = dataset().sizes_[turn_];
      const absl::Status status = Take(context, size);
      if (!status.ok()) {
        // An element's error is returned for the batch, which is dropped; a
        // cancelled step leaves the rows it took to the next one.
        if (!context.cancellation().IsCancelled()) Forget();
        return status;
      }
      const std::vector<DatasetElement> parts = std::exchange(parts_, {});
      const int64_t count = std::exchange(taken_, 0);
      if (count == 0 || (count < size && dataset().drop_remainder_)) {
        return false;
      }
      turn_ = (turn_ + 1) % static_cast<int64_t>(dataset().sizes_.size());
      for (size_t c = 0; c < parts[0].size(); ++c) {
        ASSIGN_OR_RETURN(element->emplace_back(),
                         Stacked(parts, c, context.allocator()));
      }
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("turn", turn_);
      writer.Write("next", next_);
      writer.Write("parts", parts_);
      if (next_ < rows_) writer.Write("batch", batch_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(
          turn_,
          reader.ReadCount("turn",
                           static_cast<int64_t>(dataset().sizes_.size()) - 1));
      ASSIGN_OR_RETURN(next_, reader.ReadInt("next"));
      RETURN_IF_ERROR(RestoreParts(reader));
      rows_ = next_;
      if (reader.Has("batch/size")) {
        ASSIGN_OR_RETURN(
            batch_,
            reader.ReadElement("batch", dataset().input().output_types()));
        ASSIGN_OR_RETURN(rows_, CommonRows(batch_));
      }
      if (next_ < 0 || next_ > rows_) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset().name(), ": the saved position ", next_,
                         " is in no batch of ", rows_, " rows"));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // Takes rows of the input until there are `size`, or it ends.
    absl::Status Take(IteratorContext& context, int64_t size) {
      ElementCharge charge(context.allocator());
      RETURN_IF_ERROR(charge.AddAll(parts_));
      while (taken_ < size) {
        RETURN_IF_ERROR(context.cancellation().status());
        ASSIGN_OR_RETURN(const bool has, Fill(context));
        if (!has) break;
        const int64_t end = next_ + std::min(rows_ - next_, size - taken_);
        ASSIGN_OR_RETURN(DatasetElement part, Rows(context, end));
        RETURN_IF_ERROR(charge.Add(part));
        parts_.push_back(std::move(part));
        taken_ += end - next_;
        next_ = end;
      }
      return absl::OkStatus();
    }
    void Forget() {
      parts_.clear();
      taken_ = 0;
    }
    absl::Status RestoreParts(const IteratorStateReader& reader) {
      Forget();
      ASSIGN_OR_RETURN(parts_, reader.ReadElements(
                                   "parts", dataset().input().output_types()));
      for (const DatasetElement& part : parts_) {
        ASSIGN_OR_RETURN(const int64_t rows, CommonRows(part));
        const int64_t left = dataset().sizes_[turn_] - taken_;
        if (rows > left) {
          return absl::InvalidArgumentError(absl::StrCat(
              dataset().name(), ": a saved part has ", rows,
              " rows, more than the ", left, " that its batch lacks"));
        }
        taken_ += rows;
      }
      return absl::OkStatus();
    }

    // Ensures that there is a row; returns false at the end.
    absl::StatusOr<bool> Fill(IteratorContext& context) {
      while (next_ == rows_) {
        RETURN_IF_ERROR(context.cancellation().status());
        next_ = rows_ = 0;
        ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &batch_));
        if (!has) return false;
        ASSIGN_OR_RETURN(rows_, CommonRows(batch_));
      }
      return true;
    }

    // Returns the rows from the next one up to `end`.
    absl::StatusOr<DatasetElement> Rows(IteratorContext& context,
                                        int64_t end) const {
      DatasetElement rows;
      for (const Tensor& component : batch_) {
        ASSIGN_OR_RETURN(rows.emplace_back(),
                         component.SliceRows(next_, end, context.allocator()));
      }
      return rows;
    }

    int64_t turn_ = 0;                   // index of the next batch size
    std::vector<DatasetElement> parts_;  // of the current batch
    int64_t taken_ = 0;                  // rows in them
    DatasetElement batch_;
    int64_t next_ = 0, rows_ = 0;
  };

  const std::vector<int64_t> sizes_;
  const bool drop_remainder_;
};

}  // namespace

void RegisterRebatchDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "RebatchDatasetV2", RebatchDataset::Make);
}

}  // namespace weft
