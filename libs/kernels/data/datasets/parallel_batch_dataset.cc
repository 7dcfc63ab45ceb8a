// ParallelBatchDataset copies several batches concurrently, ahead of the
// consumer. It takes elements of the input one after another.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_rows.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// The maximum number of rows reserved for a batch size alone, before elements
// arrive.
constexpr int64_t kMaxReservedRows = 1024;

// Returns the concatenated components of a batch's elements as one element. An
// error of an element is that of the batch, which ends there.
class ElementsOfBatches : public DatasetIterator {
 public:
  ElementsOfBatches(IteratorPtr input, int64_t batch_size, bool drops_remainder)
      : input_(std::move(input)),
        batch_size_(batch_size),
        drops_remainder_(drops_remainder) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* batch) override {
    batch->clear();
    int64_t taken = 0;
    ElementCharge charge(context.allocator());
    for (; taken < batch_size_ && !has_ended_; ++taken) {
      DatasetElement element;
      ASSIGN_OR_RETURN(const bool has,
                       NextUnlessCancelled(*input_, context, &element));
      has_ended_ = !has;
      if (has_ended_) break;
      if (taken == 0) {
        batch->reserve(element.size() *
                       std::min(batch_size_, kMaxReservedRows));
      }
      RETURN_IF_ERROR(charge.Add(element));
      std::move(element.begin(), element.end(), std::back_inserter(*batch));
    }
    return taken == batch_size_ || (taken > 0 && !drops_remainder_);
  }

  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    writer.Write("has_ended", int64_t{has_ended_});
    return input_->Save(context, writer.Within("input"));
  }
  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
    return input_->Restore(context, reader.Within("input"));
  }

 private:
  const IteratorPtr input_;
  const int64_t batch_size_;
  const bool drops_remainder_;
  bool has_ended_ = false;
};

class ParallelBatchDataset : public UnaryDataset {
 public:
  struct Options {
    int64_t batch_size;
    int64_t parallel_calls;
    bool drops_remainder;
    bool keeps_order;
  };
  ParallelBatchDataset(const DatasetOp& op, DatasetPtr input, Options options)
      : UnaryDataset(op, std::move(input)), options_(options) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    Options options{};
    ASSIGN_OR_RETURN(options.batch_size, ReadBatchSize(context));
    ASSIGN_OR_RETURN(options.parallel_calls,
                     ScalarInput<int64_t>(context, 2, "num_parallel_calls"));
    RETURN_IF_ERROR(CheckParallelCalls(options.parallel_calls));
    ASSIGN_OR_RETURN(options.drops_remainder,
                     ScalarInput<bool>(context, 3, "drop_remainder"));
    ASSIGN_OR_RETURN(options.keeps_order, KeepsOrder(op));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<ParallelBatchDataset>(op, std::move(input),
                                                  options);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
    auto elements = std::make_unique<ElementsOfBatches>(
        std::move(input), options_.batch_size, options_.drops_remainder);
    ParallelMapOptions options;
    options.parallel_calls = options_.parallel_calls;
    options.keeps_order = options_.keeps_order;
    // The iterator keeps this dataset alive.
    options.map = [this](const IteratorContext& c, DatasetElement batch,
                         CapturedFunction::Done done) {
      done(CatchExceptions([&] { return Join(c, std::move(batch)); }));
    };
    return NewParallelMapIterator(shared_from_this(), std::move(elements),
                                  std::move(options), context);
  }

  int64_t FindCardinality() const override {
    return CardinalityOfBatches(input(), options_.batch_size,
                                options_.drops_remainder);
  }

 private:
  absl::StatusOr<DatasetElement> Join(const IteratorContext& context,
                                      DatasetElement all) const {
    const size_t num_components = output_types().size();
    if (num_components == 0 || all.size() % num_components != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name(), ": the elements of a batch have ", all.size(),
          " components together, and each should have ", num_components));
    }
    std::vector<DatasetElement> elements(all.size() / num_components);
    for (size_t i = 0; i < all.size(); ++i) {
      elements[i / num_components].push_back(std::move(all[i]));
    }
    DatasetElement batch;
    for (size_t c = 0; c < num_components; ++c) {
      ASSIGN_OR_RETURN(batch.emplace_back(),
                       JoinRows(elements, c, context.allocator()));
    }
    return batch;
  }

  const Options options_;
};

}  // namespace

void RegisterParallelBatchDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "ParallelBatchDataset", ParallelBatchDataset::Make);
}

}  // namespace weft
