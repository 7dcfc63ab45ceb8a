// A dataset with one element for each key: the reduction of the input's
// elements with that key.
#include <map>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"

namespace weft {
namespace {

class GroupByReducerDataset : public UnaryDataset {
 public:
  struct Functions {
    CapturedFunctionPtr key, init, reduce, finalize;
  };
  GroupByReducerDataset(const DatasetOp& op, DatasetPtr input,
                        Functions functions)
      : UnaryDataset(op, std::move(input)), functions_(std::move(functions)) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context);

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(auto input, this->input().MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input),
                                      context.allocator());
  }

 private:
  const DataTypeVector& StateTypes() const {
    return functions_.init->result_types();
  }

  class Iterator : public UnaryIteratorOf<GroupByReducerDataset> {
   public:
    Iterator(const GroupByReducerDataset& dataset,
             std::unique_ptr<DatasetIterator> input, Allocator& allocator)
        : UnaryIteratorOf(dataset, std::move(input)), charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      element->clear();
      while (!input_has_ended_) {
        RETURN_IF_ERROR(context.cancellation().status());
        RETURN_IF_ERROR(Take(context));
      }
      if (states_.empty()) return false;
      // In the order of the keys; an error belongs to its key, but a cancelled
      // step leaves the key to the next one.
      auto results =
          dataset().functions_.finalize->Call(context, states_.begin()->second);
      if (results.ok() || !context.cancellation().IsCancelled()) {
        states_.erase(states_.begin());
        charge_.Remove();
      }
      ASSIGN_OR_RETURN(*element, std::move(results));
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("input_has_ended", int64_t{input_has_ended_});
      std::vector<int64_t> keys;
      std::vector<DatasetElement> states;
      for (const auto& [key, state] : states_) {
        keys.push_back(key);
        states.push_back(state);
      }
      writer.Write("keys", Tensor::Vector<int64_t>(keys));
      writer.Write("states", states);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(input_has_ended_, reader.ReadBool("input_has_ended"));
      ASSIGN_OR_RETURN(const Tensor keys, reader.Read("keys", DT_INT64));
      ASSIGN_OR_RETURN(std::vector<DatasetElement> states,
                       reader.ReadElements("states", dataset().StateTypes()));
      if (keys.num_elements() != static_cast<int64_t>(states.size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            dataset().name(), ": ", states.size(), " saved states are of ",
            keys.num_elements(), " keys"));
      }
      states_.clear();
      charge_.Remove(charge_.count());
      RETURN_IF_ERROR(charge_.AddAll(states));
      for (size_t i = 0; i < states.size(); ++i) {
        states_[keys.flat<int64_t>()[i]] = std::move(states[i]);
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // Adds one element of the input to the state of its key.
    absl::Status Take(IteratorContext& context) {
      DatasetElement element;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &element));
      if (!has) {
        input_has_ended_ = true;
        return absl::OkStatus();
      }
      const Functions& functions = dataset().functions_;
      ASSIGN_OR_RETURN(
          const int64_t key,
          CallForNumber(*functions.key, "key_func", context, element));
      auto at = states_.find(key);
      if (at == states_.end()) {
        ASSIGN_OR_RETURN(
            DatasetElement first,
            functions.init->Call(context, {Tensor::Scalar<int64_t>(key)}));
        // Later states of the key are assumed to be as large as the first.
        RETURN_IF_ERROR(
            charge_.AddBytes(HeapBytesOf(first) + ElementCharge::kBytesOfNode));
        at = states_.emplace(key, std::move(first)).first;
      }
      std::vector<Tensor> args = at->second;
      args.insert(args.end(), element.begin(), element.end());
      ASSIGN_OR_RETURN(at->second,
                       functions.reduce->Call(context, std::move(args)));
      return absl::OkStatus();
    }

    std::map<int64_t, DatasetElement> states_;
    ElementCharge charge_;  // for states_
    bool input_has_ended_ = false;
  };

  const Functions functions_;
};

absl::StatusOr<DatasetPtr> GroupByReducerDataset::Make(
    const DatasetOp& op, OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  FunctionsInTurn in_turn(op, context);
  Functions functions;
  ASSIGN_OR_RETURN(functions.key,
                   in_turn.Next("key_func", input->output_types()));
  ASSIGN_OR_RETURN(functions.init, in_turn.Next("init_func", {DT_INT64}));
  DataTypeVector args = functions.init->result_types();
  const DataTypeVector state = args;
  args.insert(args.end(), input->output_types().begin(),
              input->output_types().end());
  ASSIGN_OR_RETURN(functions.reduce, in_turn.Next("reduce_func", args));
  ASSIGN_OR_RETURN(functions.finalize, in_turn.Next("finalize_func", state));
  if (functions.reduce->result_types() != state) {
    return absl::InvalidArgumentError(absl::StrCat(
        op.name, ": reduce_func must return a state as init_func does"));
  }
  RETURN_IF_ERROR(
      CheckElementTypes(op.element, functions.finalize->result_types()));
  return std::make_shared<GroupByReducerDataset>(op, std::move(input),
                                                 std::move(functions));
}

}  // namespace

void RegisterGroupByReducerDataset(KernelRegistry& registry) {
  for (const char* op :
       {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    RegisterDataset(registry, op, GroupByReducerDataset::Make);
  }
}

}  // namespace weft
