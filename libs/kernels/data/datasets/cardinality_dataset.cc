// A dataset that asserts its cardinality: a walk fails if the number of
// elements differs.
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"

namespace weft {
namespace {

std::string CountOfElements(int64_t count) {
  return absl::StrCat(count, count == 1 ? " element" : " elements");
}

class AssertCardinalityDataset : public UnaryDataset {
 public:
  AssertCardinalityDataset(const DatasetOp& op, DatasetPtr input,
                           int64_t cardinality)
      : UnaryDataset(op, std::move(input)), cardinality_(cardinality) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(const auto cardinality,
                     ScalarInput<int64_t>(context, 1, "cardinality"));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<AssertCardinalityDataset>(op, std::move(input),
                                                      cardinality);
  }

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override { return cardinality_; }

 private:
  class Iterator : public UnaryIteratorOf<AssertCardinalityDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, element));
      const int64_t wanted = dataset().cardinality_;
      if (!has) {
        if (count_ == wanted) return false;
        return Differs(absl::StrCat("only ", CountOfElements(count_)));
      }
      if (++count_ <= wanted) return true;
      element->clear();
      return Differs(absl::StrCat("at least ", CountOfElements(count_)));
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("count", count_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(count_, reader.ReadCount("count"));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    absl::Status Differs(absl::string_view contained) const {
      return absl::FailedPreconditionError(absl::StrCat(
          dataset().name(), ": Input dataset was expected to contain ",
          CountOfElements(dataset().cardinality_), " but contained ", contained,
          "."));
    }

    int64_t count_ = 0;
  };

  const int64_t cardinality_;
};

}  // namespace

void RegisterCardinalityDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "AssertCardinalityDataset",
                  AssertCardinalityDataset::Make);
}

}  // namespace weft
