// Datasets that call a function for several elements concurrently: ParallelMap,
// and MapAndBatch, which batches the results.
#include <algorithm>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_result.h"
#include "libs/kernels/data/element_rows.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

struct MapOptions {
  CapturedFunctionPtr function;
  int64_t parallel_calls = 1;
  bool keeps_order = true;
  bool keeps_cardinality = false;
};

class ParallelMapDataset : public Dataset {
 public:
  ParallelMapDataset(std::string name, ElementSpec element, DatasetPtr input,
                     MapOptions options)
      : Dataset(std::move(name), std::move(element)),
        input_(std::move(input)),
        options_(std::move(options)) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, input_->MakeIterator(context));
    ParallelMapOptions options;
    options.map = [function = options_.function](const IteratorContext& c,
                                                 DatasetElement element,
                                                 CapturedFunction::Done done) {
      function->CallAsync(c, std::move(element), std::move(done));
    };
    options.parallel_calls = options_.parallel_calls;
    options.keeps_order = options_.keeps_order;
    options.ends_out_of_range = !options_.keeps_cardinality;
    return NewParallelMapIterator(shared_from_this(), std::move(input),
                                  std::move(options), context);
  }
  int64_t FindCardinality() const override {
    return options_.keeps_cardinality ? input_->Cardinality()
                                      : kUnknownCardinality;
  }

 private:
  const DatasetPtr input_;
  const MapOptions options_;
};

absl::StatusOr<MapOptions> ReadMapOptions(const DatasetOp& op,
                                          const OpKernelContext& context,
                                          const Dataset& input,
                                          int64_t parallel_calls) {
  MapOptions options;
  RETURN_IF_ERROR(CheckParallelCalls(parallel_calls));
  options.parallel_calls = parallel_calls;
  ASSIGN_OR_RETURN(options.function, op.Capture(context, "f", "Targuments", 1,
                                                input.output_types()));
  ASSIGN_OR_RETURN(options.keeps_cardinality,
                   op.Attr<bool>("preserve_cardinality"));
  return options;
}

template <typename Int>
absl::StatusOr<DatasetPtr> MakeParallelMap(const DatasetOp& op,
                                           OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const Int parallel_calls,
                   ScalarInput<Int>(context, context.num_inputs() - 1,
                                    "num_parallel_calls"));
  ASSIGN_OR_RETURN(MapOptions options,
                   ReadMapOptions(op, context, *input, parallel_calls));
  ASSIGN_OR_RETURN(options.keeps_order, KeepsOrder(op));
  RETURN_IF_ERROR(
      CheckElementTypes(op.element, options.function->result_types()));
  return std::make_shared<ParallelMapDataset>(
      op.name, op.element, std::move(input), std::move(options));
}

// Batches of the elements of `mapped`. All elements of a batch are taken before
// its first error is returned, so that the next batch begins at the right
// element.
class MapAndBatchDataset : public Dataset {
 public:
  MapAndBatchDataset(const DatasetOp& op, DatasetPtr mapped, int64_t size,
                     bool drops_remainder)
      : Dataset(op.name, op.element),
        mapped_(std::move(mapped)),
        size_(size),
        drops_remainder_(drops_remainder) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override;
  int64_t FindCardinality() const override {
    const int64_t count = mapped_->Cardinality();
    if (count < 0) return count;
    return count / size_ + (count % size_ > 0 && !drops_remainder_ ? 1 : 0);
  }

 private:
  class Iterator;

  const DatasetPtr mapped_;
  const int64_t size_;
  const bool drops_remainder_;
};

class MapAndBatchDataset::Iterator : public IteratorOf<MapAndBatchDataset> {
 public:
  Iterator(const MapAndBatchDataset& dataset, IteratorPtr input)
      : IteratorOf(dataset), input_(std::move(input)) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* batch) override {
    bool has_ended = false;
    ElementCharge charge(context.allocator());
    RETURN_IF_ERROR(charge.AddAll(elements_));
    while (taken_ < dataset().size_ && !has_ended) {
      DatasetElement element;
      const absl::StatusOr<bool> has =
          NextUnlessCancelled(*input_, context, &element);
      // The elements taken so far are kept for the next call.
      if (!has.ok()) RETURN_IF_ERROR(context.cancellation().status());
      has_ended = has.ok() && !*has;
      if (has_ended) break;
      ++taken_;
      const absl::Status status = has.ok() ? charge.Add(element) : has.status();
      if (status.ok()) {
        elements_.push_back(std::move(element));
      } else if (error_.ok()) {
        error_ = status;
      }
      // For a batch without memory, taking the remaining elements could take
      // very long.
      if (has.ok() && !status.ok()) break;
    }
    return Finish(context, batch);
  }

  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    // Elements are only kept between calls after a cancelled call.
    writer.Write("kept", elements_);
    writer.Write("taken", taken_);
    if (!error_.ok()) WriteResult(writer, "error", {error_, {}});
    return input_->Save(context, writer.Within("input"));
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    ASSIGN_OR_RETURN(auto kept,
                     reader.ReadElements("kept", dataset().output_types()));
    // Earlier states do not record failed elements.
    auto taken = static_cast<int64_t>(kept.size());
    if (reader.Has("taken")) {
      ASSIGN_OR_RETURN(taken, reader.ReadCount("taken", dataset().size_));
    }
    ElementResult error;
    if (reader.Has("error/code")) {
      ASSIGN_OR_RETURN(error, ReadResult(reader, "error"));
    }
    RETURN_IF_ERROR(
        CheckKept(static_cast<int64_t>(kept.size()), taken, error.status));
    elements_ = std::move(kept);
    taken_ = taken;
    error_ = std::move(error.status);
    return input_->Restore(context, reader.Within("input"));
  }

 private:
  // Elements that were taken but are not kept have failed.
  absl::Status CheckKept(int64_t kept, int64_t taken,
                         const absl::Status& error) const {
    const bool fits = error.ok() ? kept == taken : kept < taken;
    if (fits && taken <= dataset().size_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the saved state of an iterator of ", dataset().name(), " has ", kept,
        " of ", taken, " elements", error.ok() ? "" : " and an error",
        ", and a batch has ", dataset().size_));
  }

  absl::StatusOr<bool> Finish(IteratorContext& context, DatasetElement* batch) {
    const int64_t taken = std::exchange(taken_, 0);
    std::vector<DatasetElement> elements = std::exchange(elements_, {});
    const absl::Status error = std::exchange(error_, absl::OkStatus());
    RETURN_IF_ERROR(error);
    const bool is_short = taken < dataset().size_;
    if (taken == 0 || (is_short && dataset().drops_remainder_)) return false;
    batch->clear();
    for (size_t c = 0; c < elements[0].size(); ++c) {
      ASSIGN_OR_RETURN(Tensor rows, JoinRows(elements, c, context.allocator()));
      batch->push_back(std::move(rows));
    }
    return true;
  }

  const IteratorPtr input_;
  // The number of taken elements of the current batch; some of them failed.
  int64_t taken_ = 0;
  std::vector<DatasetElement> elements_;
  absl::Status error_;
};

absl::StatusOr<IteratorPtr> MapAndBatchDataset::NewIterator(
    IteratorContext& context) const {
  ASSIGN_OR_RETURN(IteratorPtr input, mapped_->MakeIterator(context));
  return std::make_unique<Iterator>(*this, std::move(input));
}

absl::StatusOr<DatasetPtr> MakeMapAndBatch(const DatasetOp& op,
                                           OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  const int last = context.num_inputs() - 1;
  ASSIGN_OR_RETURN(const int64_t size,
                   ScalarInput<int64_t>(context, last - 2, "batch_size"));
  ASSIGN_OR_RETURN(
      const int64_t parallel_calls,
      ScalarInput<int64_t>(context, last - 1, "num_parallel_calls"));
  ASSIGN_OR_RETURN(const bool drops_remainder,
                   ScalarInput<bool>(context, last, "drop_remainder"));
  if (size <= 0) {
    return absl::InvalidArgumentError("batch_size must be greater than zero.");
  }
  ASSIGN_OR_RETURN(MapOptions options,
                   ReadMapOptions(op, context, *input, parallel_calls));
  ElementSpec element;
  element.types = options.function->result_types();
  element.shapes.resize(element.types.size());
  RETURN_IF_ERROR(CheckElementTypes(op.element, element.types));
  auto mapped = std::make_shared<ParallelMapDataset>(
      op.name, std::move(element), std::move(input), std::move(options));
  return std::make_shared<MapAndBatchDataset>(op, std::move(mapped), size,
                                              drops_remainder);
}

}  // namespace

void RegisterParallelMapDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "ParallelMapDataset", MakeParallelMap<int32_t>);
  RegisterDataset(registry, "ParallelMapDatasetV2", MakeParallelMap<int64_t>);
  RegisterDataset(registry, "MapAndBatchDataset", MakeMapAndBatch);
  RegisterDataset(registry, "ExperimentalMapAndBatchDataset", MakeMapAndBatch);
}

}  // namespace weft
