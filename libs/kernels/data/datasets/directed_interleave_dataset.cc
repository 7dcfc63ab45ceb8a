// Takes each element from the input chosen by a selector dataset:
// choose_from_datasets and sample_from_datasets.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"

namespace weft {
namespace {

class DirectedInterleaveDataset : public Dataset {
 public:
  using IteratorPtr = std::unique_ptr<DatasetIterator>;

  DirectedInterleaveDataset(const DatasetOp& op, DatasetPtr selector,
                            std::vector<DatasetPtr> inputs, bool stops_on_empty)
      : Dataset(op.name, op.element),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        stops_on_empty_(stops_on_empty) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr selector, InputDataset(context, 0));
    if (selector->output_types() != DataTypeVector{DT_INT64}) {
      return absl::InvalidArgumentError(
          "The selector dataset must have a single scalar int64 element");
    }
    std::vector<DatasetPtr> inputs;
    for (int i = 1; i < context.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), InputDataset(context, i));
      RETURN_IF_ERROR(
          CheckElementTypes(op.element, inputs.back()->output_types()));
    }
    bool stops_on_empty = false;  // older ops lack the attr
    if (op.attrs.contains("stop_on_empty_dataset")) {
      ASSIGN_OR_RETURN(stops_on_empty, op.Attr<bool>("stop_on_empty_dataset"));
    }
    return std::make_shared<DirectedInterleaveDataset>(
        op, std::move(selector), std::move(inputs), stops_on_empty);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr selector, selector_->MakeIterator(context));
    auto iterator = std::make_unique<Iterator>(*this, std::move(selector));
    RETURN_IF_ERROR(iterator->OpenInputs(context));
    return iterator;
  }
  int64_t FindCardinality() const override {
    const bool may_be_infinite =
        std::any_of(inputs_.begin(), inputs_.end(), [](const auto& input) {
          return input->Cardinality() == kInfiniteCardinality;
        });
    return may_be_infinite ? kInfiniteCardinality : kUnknownCardinality;
  }

 private:
  class Iterator : public IteratorOf<DirectedInterleaveDataset> {
   public:
    Iterator(const DirectedInterleaveDataset& dataset, IteratorPtr selector)
        : IteratorOf(dataset),
          selector_(std::move(selector)),
          inputs_(dataset.inputs_.size()),
          has_ended_(inputs_.size(), 0),
          num_left_(inputs_.size()) {}

    // Opens all inputs in order, as in TensorFlow, unless there are too many:
    // inputs that share a seed generator draw from it when they are opened.
    absl::Status OpenInputs(const IteratorContext& context) {
      const auto count = static_cast<int64_t>(inputs_.size());
      if (count == 0 || count > context.eager_iterators()) {
        return absl::OkStatus();
      }
      const IteratorContext of_input =
          context.ForInputs(static_cast<int>(count));
      for (int64_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(inputs_[i],
                         dataset().inputs_[i]->MakeIterator(of_input));
      }
      return absl::OkStatus();
    }

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (num_left_ > 0) {
        RETURN_IF_ERROR(context.cancellation().status());
        if (!chosen_.has_value()) {
          ASSIGN_OR_RETURN(const bool has, Choose(context));
          if (!has) {
            num_left_ = 0;
            break;
          }
        }
        const int64_t chosen = *chosen_;
        const absl::StatusOr<bool> has = GetFrom(chosen, context, element);
        if (!has.ok()) {
          // A cancelled step leaves the choice to the next one.
          if (!context.cancellation().IsCancelled()) chosen_.reset();
          return has.status();
        }
        chosen_.reset();
        if (*has) return true;
        End(chosen);
      }
      return false;
    }

    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("chosen", chosen_.value_or(-1));
      writer.Write("all_ended", int64_t{num_left_ == 0});
      writer.Write("has_ended", Tensor::Vector<int64_t>(has_ended_));
      RETURN_IF_ERROR(selector_->Save(context, writer.Within("selector")));
      std::vector<int64_t> opened;
      for (size_t i = 0; i < inputs_.size(); ++i) {
        opened.push_back(inputs_[i] == nullptr ? 0 : 1);
        if (inputs_[i] == nullptr) continue;
        RETURN_IF_ERROR(
            inputs_[i]->Save(context, writer.Within(absl::StrCat("input", i))));
      }
      writer.Write("opened", Tensor::Vector<int64_t>(opened));
      return absl::OkStatus();
    }

    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t chosen, reader.ReadInt("chosen"));
      ASSIGN_OR_RETURN(const bool all_ended, reader.ReadBool("all_ended"));
      ASSIGN_OR_RETURN(const Tensor ended, reader.Read("has_ended", DT_INT64));
      if (ended.num_elements() != static_cast<int64_t>(inputs_.size()) ||
          chosen >= static_cast<int64_t>(inputs_.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat("the state of an iterator does not match its ",
                         inputs_.size(), " input datasets"));
      }
      RETURN_IF_ERROR(selector_->Restore(context, reader.Within("selector")));
      RETURN_IF_ERROR(RestoreInputs(context, reader));
      chosen_ = chosen < 0 ? std::nullopt : std::optional<int64_t>(chosen);
      num_left_ = all_ended ? 0 : inputs_.size();
      for (size_t i = 0; i < inputs_.size(); ++i) {
        has_ended_[i] = ended.flat<int64_t>()[i] != 0;
        if (has_ended_[i] != 0 && num_left_ > 0) --num_left_;
      }
      return absl::OkStatus();
    }

   private:
    // Opens the input on its first use: inputs may share inputs of their own,
    // so there may be far more iterators than datasets.
    absl::StatusOr<bool> GetFrom(int64_t i, IteratorContext& context,
                                 DatasetElement* element) {
      RETURN_IF_ERROR(Open(i, context));
      return inputs_[i]->GetNext(context, element);
    }
    absl::Status Open(int64_t i, const IteratorContext& context) {
      if (inputs_[i] != nullptr) return absl::OkStatus();
      ASSIGN_OR_RETURN(inputs_[i], MakeInner(*dataset().inputs_[i], context));
      return absl::OkStatus();
    }

    // States of earlier versions have all inputs open, and no "opened".
    absl::Status RestoreInputs(IteratorContext& context,
                               const IteratorStateReader& reader) {
      std::vector<int64_t> opened(inputs_.size(), 1);
      if (reader.Has("opened")) {
        ASSIGN_OR_RETURN(const Tensor read, reader.Read("opened", DT_INT64));
        const auto flags = read.flat<int64_t>();
        if (flags.size() != inputs_.size()) {
          return absl::InvalidArgumentError(
              absl::StrCat("the state of an iterator has ", flags.size(),
                           " datasets to choose from, not ", inputs_.size()));
        }
        opened.assign(flags.begin(), flags.end());
      }
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (opened[i] == 0) continue;
        RETURN_IF_ERROR(Open(i, context));
        RETURN_IF_ERROR(inputs_[i]->Restore(
            context, reader.Within(absl::StrCat("input", i))));
      }
      return absl::OkStatus();
    }

    // Sets chosen_ to an input that has not ended, or returns false at the
    // selector's end.
    absl::StatusOr<bool> Choose(IteratorContext& context) {
      while (true) {
        RETURN_IF_ERROR(context.cancellation().status());
        DatasetElement selected;
        ASSIGN_OR_RETURN(const bool has,
                         selector_->GetNext(context, &selected));
        if (!has) return false;
        if (selected.size() != 1 || selected[0].num_elements() != 1 ||
            selected[0].dtype() != DT_INT64) {
          return absl::InvalidArgumentError(
              "The selector dataset must have a single scalar int64 element");
        }
        const int64_t i = selected[0].flat<int64_t>()[0];
        const auto count = static_cast<int64_t>(inputs_.size());
        if (i < 0 || i >= count) {
          return absl::InvalidArgumentError(
              absl::StrCat("Selector index out of range: ", i, " >= ", count));
        }
        if (has_ended_[i] != 0) continue;
        chosen_ = i;
        return true;
      }
    }

    void End(int64_t i) {
      has_ended_[i] = 1;
      num_left_ = dataset().stops_on_empty_ ? 0 : num_left_ - 1;
    }

    const IteratorPtr selector_;
    std::vector<IteratorPtr> inputs_;  // null: not opened yet
    std::optional<int64_t> chosen_;
    std::vector<int64_t> has_ended_;  // by input: 0 or 1
    size_t num_left_;
  };

  const DatasetPtr selector_;
  const std::vector<DatasetPtr> inputs_;
  const bool stops_on_empty_;
};

}  // namespace

void RegisterDirectedInterleaveDataset(KernelRegistry& registry) {
  for (const char* op :
       {"DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"}) {
    RegisterDataset(registry, op, DirectedInterleaveDataset::Make);
  }
}

}  // namespace weft
