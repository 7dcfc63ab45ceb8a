// Datasets that call functions with the elements of others, one call at a time.
#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/logging.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_rows.h"
#include "libs/kernels/data/permanent_error.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// The base of datasets that call a function with elements of their input.
class CallingDataset : public UnaryDataset {
 public:
  CallingDataset(const DatasetOp& op, DatasetPtr input,
                 CapturedFunctionPtr function)
      : UnaryDataset(op, std::move(input)), function_(std::move(function)) {}

  const CapturedFunction& function() const { return *function_; }

 private:
  const CapturedFunctionPtr function_;
};

absl::Status CheckResults(const DatasetOp& op,
                          const CapturedFunction& function) {
  return Annotate(CheckElementTypes(op.element, function.result_types()),
                  absl::StrCat(op.name, ": results of the function"));
}

absl::Status CheckPredicate(const DatasetOp& op,
                            const CapturedFunction& function) {
  const DataTypeVector& types = function.result_types();
  if (types.size() == 1 && types[0] == DT_BOOL) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op.name, ": `predicate` must return a scalar bool, but has ",
      types.size(), " results",
      types.empty()
          ? ""
          : absl::StrCat(", the first of type ", DataTypeName(types[0]))));
}

absl::Status CheckMakesDatasets(const DatasetOp& op,
                                const CapturedFunction& function) {
  const DataTypeVector& types = function.result_types();
  if (types.size() == 1 && types[0] == DT_VARIANT) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op.name, ": the function must return a single dataset, but has ",
      types.size(), " results"));
}

// The dataset that a function returned, which must have the elements of `op`.
absl::StatusOr<DatasetPtr> DatasetMadeBy(const Dataset& owner,
                                         const CapturedFunction& function,
                                         IteratorContext& context,
                                         std::vector<Tensor> args) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                   function.Call(context, std::move(args)));
  if (results.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Function must return a single scalar of dtype DT_VARIANT, but gave ",
        results.size(), " results"));
  }
  ASSIGN_OR_RETURN(DatasetPtr made, DatasetFrom(results[0]));
  RETURN_IF_ERROR(
      Annotate(CheckElementTypes(owner.element(), made->output_types()),
               absl::StrCat(owner.name(), ": the dataset of the function")));
  return made;
}

// The result of GetNext after a function failed with OUT_OF_RANGE: as in
// TensorFlow, this ends the dataset, unless it must preserve the cardinality.
absl::StatusOr<bool> EndByFunction(bool preserves_cardinality,
                                   const absl::Status& status) {
  if (!preserves_cardinality) return false;
  return absl::InvalidArgumentError(absl::StrCat(
      "Function invocation produced OutOfRangeError: ", status.message()));
}

// ---- Map ----

class MapDataset : public CallingDataset {
 public:
  MapDataset(const DatasetOp& op, DatasetPtr input,
             CapturedFunctionPtr function, bool preserve_cardinality)
      : CallingDataset(op, std::move(input), std::move(function)),
        preserve_cardinality_(preserve_cardinality) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(
        CapturedFunctionPtr function,
        op.Capture(context, "f", "Targuments", 1, input->output_types()));
    RETURN_IF_ERROR(CheckResults(op, *function));
    ASSIGN_OR_RETURN(const bool preserve,
                     op.Attr<bool>("preserve_cardinality"));
    return std::make_shared<MapDataset>(op, std::move(input),
                                        std::move(function), preserve);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    return preserve_cardinality_ ? input().Cardinality() : kUnknownCardinality;
  }

 private:
  class Iterator : public UnaryIteratorOf<MapDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      DatasetElement args;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &args));
      if (!has) return false;
      absl::StatusOr<std::vector<Tensor>> results =
          dataset().function().Call(context, std::move(args));
      if (absl::IsOutOfRange(results.status())) {
        return EndByFunction(dataset().preserve_cardinality_, results.status());
      }
      if (!results.ok()) return results.status();
      *element = *std::move(results);
      return true;
    }
  };

  const bool preserve_cardinality_;
};

// ---- Filter, TakeWhile ----

class FilterDataset : public CallingDataset {
 public:
  using CallingDataset::CallingDataset;

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }

 private:
  class Iterator : public UnaryIteratorOf<FilterDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        ASSIGN_OR_RETURN(const bool has,
                         NextUnlessCancelled(input(), context, element));
        if (!has) return false;
        ASSIGN_OR_RETURN(const bool holds, CallPredicate(dataset().function(),
                                                         context, *element));
        if (holds) return true;
      }
    }
  };
};

class TakeWhileDataset : public CallingDataset {
 public:
  using CallingDataset::CallingDataset;

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }

 private:
  class Iterator : public UnaryIteratorOf<TakeWhileDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      if (has_ended_) return false;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, element));
      bool holds = false;
      if (has) {
        ASSIGN_OR_RETURN(
            holds, CallPredicate(dataset().function(), context, *element));
      }
      has_ended_ = !holds;
      return holds;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("has_ended", int64_t{has_ended_});
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    bool has_ended_ = false;
  };
};

template <typename Set>
absl::StatusOr<DatasetPtr> MakeOfPredicate(const DatasetOp& op,
                                           OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  ASSIGN_OR_RETURN(
      CapturedFunctionPtr function,
      op.Capture(context, "predicate", "Targuments", 1, input->output_types()));
  RETURN_IF_ERROR(CheckPredicate(op, *function));
  return std::make_shared<Set>(op, std::move(input), std::move(function));
}

// ---- Interleave, and FlatMap, which is Interleave with a cycle length of 1
// ----

class InterleaveDataset : public CallingDataset {
 public:
  InterleaveDataset(const DatasetOp& op, DatasetPtr input,
                    CapturedFunctionPtr function, int64_t cycle_length,
                    int64_t block_length)
      : CallingDataset(op, std::move(input), std::move(function)),
        cycle_length_(cycle_length),
        block_length_(block_length) {}

  static absl::StatusOr<DatasetPtr> MakeFlatMap(const DatasetOp& op,
                                                OpKernelContext& context) {
    return MakeWith(op, context, 1, 1);
  }

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    const int last = context.num_inputs() - 1;
    ASSIGN_OR_RETURN(auto cycle,
                     ScalarInput<int64_t>(context, last - 1, "cycle_length"));
    if (cycle == kAutotune) cycle = context.scheduler().num_compute_threads();
    ASSIGN_OR_RETURN(const auto block,
                     ScalarInput<int64_t>(context, last, "block_length"));
    if (cycle <= 0 || cycle > kMaxCycle) {
      return absl::InvalidArgumentError(
          absl::StrCat("`cycle_length` must be ", kAutotune,
                       " or between 1 and ", kMaxCycle, ", not ", cycle));
    }
    if (block <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("`block_length` must be > 0, not ", block));
    }
    return MakeWith(op, context, cycle, block);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input),
                                      context.allocator());
  }

 private:
  // Bounds the memory that one number can make a kernel allocate.
  static constexpr int64_t kMaxCycle = int64_t{1} << 20;

  static absl::StatusOr<DatasetPtr> MakeWith(const DatasetOp& op,
                                             OpKernelContext& context,
                                             int64_t cycle, int64_t block) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(
        CapturedFunctionPtr function,
        op.Capture(context, "f", "Targuments", 1, input->output_types()));
    RETURN_IF_ERROR(CheckMakesDatasets(op, *function));
    return std::make_shared<InterleaveDataset>(
        op, std::move(input), std::move(function), cycle, block);
  }

  // One slot of the cycle: an element of the input, and a walk of the dataset
  // that the function returned for it, unless the function was not called yet.
  struct Place {
    DatasetElement args;
    IteratorPtr iterator;
  };

  class Iterator : public UnaryIteratorOf<InterleaveDataset> {
   public:
    Iterator(const InterleaveDataset& dataset, IteratorPtr input,
             Allocator& allocator)
        : UnaryIteratorOf(dataset, std::move(input)), charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        RETURN_IF_ERROR(context.cancellation().status());
        RETURN_IF_ERROR(GrowTo(at_ + 1));
        Place& place = cycle_[at_];
        if (place.iterator != nullptr) {
          ASSIGN_OR_RETURN(const bool has,
                           place.iterator->GetNext(context, element));
          if (has) {
            ++taken_;
            if (taken_ == dataset().block_length_) MoveOn();
            return true;
          }
          place = Place();
          --num_open_;
          MoveOn();
        } else if (!place.args.empty()) {
          RETURN_IF_ERROR(Open(context, place));
        } else if (!input_has_ended_) {
          RETURN_IF_ERROR(Fill(context, place));
        } else if (num_open_ == 0) {
          return false;
        } else {
          MoveOn();
        }
      }
    }

    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("at", static_cast<int64_t>(at_));
      writer.Write("places", static_cast<int64_t>(cycle_.size()));
      writer.Write("taken", taken_);
      writer.Write("input_has_ended", int64_t{input_has_ended_});
      for (size_t i = 0; i < cycle_.size(); ++i) {
        if (cycle_[i].args.empty()) continue;
        IteratorStateWriter place = writer.Within(absl::StrCat(i));
        place.Write("args", cycle_[i].args);
        place.Write("is_open", int64_t{cycle_[i].iterator != nullptr});
        if (cycle_[i].iterator == nullptr) continue;
        RETURN_IF_ERROR(cycle_[i].iterator->Save(context, place.Within("in")));
      }
      return UnaryIteratorOf::Save(context, writer);
    }

    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t at, reader.ReadInt("at"));
      if (at < 0 || at >= dataset().cycle_length_) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset().name(), ": the saved place ", at,
                         " is not in a cycle of ", dataset().cycle_length_));
      }
      at_ = static_cast<size_t>(at);
      ASSIGN_OR_RETURN(taken_,
                       reader.ReadCount("taken", dataset().block_length_ - 1));
      ASSIGN_OR_RETURN(input_has_ended_, reader.ReadBool("input_has_ended"));
      num_open_ = 0;
      cycle_.clear();
      charge_.Remove(charge_.count());
      ASSIGN_OR_RETURN(const int64_t places, SavedPlaces(reader, at));
      RETURN_IF_ERROR(GrowTo(static_cast<size_t>(places)));
      for (int64_t i = 0; i < places; ++i) {
        const IteratorStateReader place = reader.Within(absl::StrCat(i));
        if (!place.Has("args/size")) continue;
        ASSIGN_OR_RETURN(
            cycle_[i].args,
            place.ReadElement("args", dataset().input().output_types()));
        ASSIGN_OR_RETURN(const bool is_open, place.ReadBool("is_open"));
        if (!is_open) continue;
        RETURN_IF_ERROR(Open(context, cycle_[i]));
        RETURN_IF_ERROR(
            cycle_[i].iterator->Restore(context, place.Within("in")));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    absl::Status GrowTo(size_t places) {
      while (cycle_.size() < places) {
        RETURN_IF_ERROR(charge_.AddBytes(ElementCharge::kBytesOfIterator));
        cycle_.emplace_back();
      }
      return absl::OkStatus();
    }

    // States of earlier versions have all slots of the cycle.
    absl::StatusOr<int64_t> SavedPlaces(const IteratorStateReader& reader,
                                        int64_t at) const {
      const int64_t most = dataset().cycle_length_;
      if (!reader.Has("places")) return most;
      ASSIGN_OR_RETURN(const int64_t places, reader.ReadCount("places", most));
      return std::max(places, at);
    }

    absl::Status Fill(IteratorContext& context, Place& place) {
      DatasetElement args;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &args));
      if (has) place.args = std::move(args);
      input_has_ended_ = !has;
      return absl::OkStatus();
    }

    // An error drops the slot's element; a cancelled step leaves it to the next
    // one.
    absl::Status Open(IteratorContext& context, Place& place) {
      absl::StatusOr<IteratorPtr> opened = Opened(context, place.args);
      if (!opened.ok()) {
        if (!context.cancellation().IsCancelled()) place = Place();
        return opened.status();
      }
      place.iterator = *std::move(opened);
      ++num_open_;
      return absl::OkStatus();
    }
    absl::StatusOr<IteratorPtr> Opened(IteratorContext& context,
                                       const DatasetElement& args) const {
      ASSIGN_OR_RETURN(
          const DatasetPtr made,
          DatasetMadeBy(dataset(), dataset().function(), context, args));
      return MakeInner(*made, context);
    }

    void MoveOn() {
      taken_ = 0;
      // Slots that never had an element of the input get none any more.
      const size_t places = input_has_ended_
                                ? cycle_.size()
                                : static_cast<size_t>(dataset().cycle_length_);
      at_ = (at_ + 1) % places;
    }

    std::vector<Place> cycle_;  // slots used so far
    ElementCharge charge_;      // for places and their iterators
    size_t at_ = 0;             // no more than the size of cycle_
    int64_t taken_ = 0;         // elements taken of the slot's block
    int64_t num_open_ = 0;
    bool input_has_ended_ = false;
  };

  const int64_t cycle_length_, block_length_;
};

// ---- Scan ----

class ScanDataset : public CallingDataset {
 public:
  ScanDataset(const DatasetOp& op, DatasetPtr input,
              CapturedFunctionPtr function, DatasetElement initial_state,
              bool preserve_cardinality)
      : CallingDataset(op, std::move(input), std::move(function)),
        initial_state_(std::move(initial_state)),
        preserve_cardinality_(preserve_cardinality) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(const auto types, op.Attr<DataTypeVector>("Tstate"));
    const int num_state = static_cast<int>(types.size());
    DatasetElement state;
    for (int i = 0; i < num_state; ++i) state.push_back(context.input(1 + i));
    DataTypeVector args = types;
    args.insert(args.end(), input->output_types().begin(),
                input->output_types().end());
    ASSIGN_OR_RETURN(
        CapturedFunctionPtr function,
        op.Capture(context, "f", "Targuments", 1 + num_state, args));
    DataTypeVector results = types;
    results.insert(results.end(), op.element.types.begin(),
                   op.element.types.end());
    if (function->result_types() != results) {
      return absl::InvalidArgumentError(absl::StrCat(
          op.name, ": the function must return the new state and an element, ",
          results.size(), " results of their types"));
    }
    ASSIGN_OR_RETURN(const bool preserve,
                     op.Attr<bool>("preserve_cardinality"));
    return std::make_shared<ScanDataset>(
        op, std::move(input), std::move(function), std::move(state), preserve);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override { return input().Cardinality(); }

 private:
  class Iterator : public UnaryIteratorOf<ScanDataset> {
   public:
    Iterator(const ScanDataset& dataset, IteratorPtr input)
        : UnaryIteratorOf(dataset, std::move(input)),
          state_(dataset.initial_state_) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, element));
      if (!has) return false;
      std::vector<Tensor> args = state_;
      args.insert(args.end(), element->begin(), element->end());
      absl::StatusOr<std::vector<Tensor>> results =
          dataset().function().Call(context, std::move(args));
      if (absl::IsOutOfRange(results.status())) {
        return EndByFunction(dataset().preserve_cardinality_, results.status());
      }
      RETURN_IF_ERROR(results.status());
      const auto end_of_state = results->begin() + state_.size();
      element->assign(std::make_move_iterator(end_of_state),
                      std::make_move_iterator(results->end()));
      results->erase(end_of_state, results->end());
      state_ = *std::move(results);
      return true;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("state", state_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(state_,
                       reader.ReadElement("state", TypesOfElement(state_)));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    DatasetElement state_;
  };

  const DatasetElement initial_state_;
  const bool preserve_cardinality_;
};

// ---- GroupByWindow ----

class GroupByWindowDataset : public UnaryDataset {
 public:
  struct Functions {
    CapturedFunctionPtr key, reduce, window_size;
  };
  GroupByWindowDataset(const DatasetOp& op, DatasetPtr input,
                       Functions functions)
      : UnaryDataset(op, std::move(input)), functions_(std::move(functions)) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    Functions functions;
    FunctionsInTurn in_turn(op, context);
    const auto capture =
        [&](absl::string_view name, CapturedFunctionPtr& function,
            const DataTypeVector& args, DataType result) -> absl::Status {
      ASSIGN_OR_RETURN(function, in_turn.Next(name, args));
      if (function->result_types() == DataTypeVector{result}) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat(op.name, ": ", name, " must return one ",
                       DataTypeName(result), " scalar"));
    };
    RETURN_IF_ERROR(
        capture("key_func", functions.key, input->output_types(), DT_INT64));
    RETURN_IF_ERROR(capture("reduce_func", functions.reduce,
                            {DT_INT64, DT_VARIANT}, DT_VARIANT));
    RETURN_IF_ERROR(capture("window_size_func", functions.window_size,
                            {DT_INT64}, DT_INT64));
    return std::make_shared<GroupByWindowDataset>(op, std::move(input),
                                                  std::move(functions));
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input),
                                      context.allocator());
  }
  int64_t FindCardinality() const override {
    return CardinalityIfInfinite(input());
  }

 private:
  struct Group {
    int64_t window_size = 0;
    std::vector<DatasetElement> elements;
  };

  class Iterator : public UnaryIteratorOf<GroupByWindowDataset> {
   public:
    Iterator(const GroupByWindowDataset& dataset, IteratorPtr input,
             Allocator& allocator)
        : UnaryIteratorOf(dataset, std::move(input)),
          group_charge_(allocator),
          charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        RETURN_IF_ERROR(context.cancellation().status());
        if (reduced_ != nullptr) {
          ASSIGN_OR_RETURN(const bool has, reduced_->GetNext(context, element));
          if (has) return true;
          reduced_.reset();
          reduce_args_.clear();
        } else if (!reduce_args_.empty()) {
          RETURN_IF_ERROR(BeginReduced(context));
        } else if (!input_has_ended_) {
          RETURN_IF_ERROR(Take(context));
        } else {
          // The remaining groups, in the order of the keys.
          while (!groups_.empty() && groups_.begin()->second.elements.empty()) {
            groups_.erase(groups_.begin());
          }
          if (groups_.empty()) return false;
          RETURN_IF_ERROR(TakeOut(groups_.begin()->first));
        }
      }
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("input_has_ended", int64_t{input_has_ended_});
      std::vector<int64_t> keys;
      for (const auto& [key, group] : groups_) {
        IteratorStateWriter place =
            writer.Within(absl::StrCat("group", keys.size()));
        place.Write("window_size", group.window_size);
        place.Write("element", group.elements);
        keys.push_back(key);
      }
      writer.Write("keys", Tensor::Vector<int64_t>(keys));
      if (!reduce_args_.empty()) writer.Write("args", reduce_args_);
      writer.Write("is_reduced", int64_t{reduced_ != nullptr});
      if (reduced_ != nullptr) {
        RETURN_IF_ERROR(reduced_->Save(context, writer.Within("reduced")));
      }
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(input_has_ended_, reader.ReadBool("input_has_ended"));
      ASSIGN_OR_RETURN(const Tensor keys, reader.Read("keys", DT_INT64));
      groups_.clear();
      group_charge_.Remove(group_charge_.count());
      charge_.Remove(charge_.count());
      int64_t number = 0;
      for (const int64_t key : keys.flat<int64_t>()) {
        RETURN_IF_ERROR(RestoreGroup(
            reader.Within(absl::StrCat("group", number++)), groups_[key]));
      }
      reduced_.reset();
      reduce_args_.clear();
      ASSIGN_OR_RETURN(const bool is_reduced, reader.ReadBool("is_reduced"));
      if (is_reduced || reader.Has("args/size")) {
        ASSIGN_OR_RETURN(reduce_args_,
                         reader.ReadElement("args", {DT_INT64, DT_VARIANT}));
      }
      if (is_reduced) {
        RETURN_IF_ERROR(BeginReduced(context));
        RETURN_IF_ERROR(reduced_->Restore(context, reader.Within("reduced")));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    absl::Status RestoreGroup(const IteratorStateReader& reader, Group& group) {
      ASSIGN_OR_RETURN(group.window_size, reader.ReadInt("window_size"));
      ASSIGN_OR_RETURN(
          group.elements,
          reader.ReadElements("element", dataset().input().output_types()));
      RETURN_IF_ERROR(group_charge_.AddBytes(ElementCharge::kBytesOfNode));
      RETURN_IF_ERROR(charge_.AddAll(group.elements));
      const auto size = static_cast<int64_t>(group.elements.size());
      if (group.window_size >= 0 && size <= group.window_size) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat(dataset().name(), ": a saved window of ",
                       group.window_size, " has ", size, " elements"));
    }

    // Adds one element of the input to its group.
    absl::Status Take(IteratorContext& context) {
      DatasetElement element;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, &element));
      if (!has) {
        input_has_ended_ = true;
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const int64_t key,
                       CallForNumber(*dataset().functions_.key, "key_func",
                                     context, element));
      ASSIGN_OR_RETURN(Group* const group, GroupOf(context, key));
      RETURN_IF_ERROR(charge_.Add(element));
      group->elements.push_back(std::move(element));
      if (static_cast<int64_t>(group->elements.size()) >= group->window_size) {
        return TakeOut(key);
      }
      return absl::OkStatus();
    }

    // Finds or creates the group; there is no entry for it after an error.
    absl::StatusOr<Group*> GroupOf(IteratorContext& context, int64_t key) {
      const auto found = groups_.find(key);
      if (found != groups_.end()) return &found->second;
      ASSIGN_OR_RETURN(
          const int64_t size,
          CallForNumber(*dataset().functions_.window_size, "window_size_func",
                        context, {Tensor::Scalar(key)}));
      if (size <= 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Window size must be greater than zero, but got ", size, "."));
      }
      RETURN_IF_ERROR(group_charge_.AddBytes(ElementCharge::kBytesOfNode));
      return &groups_.emplace(key, Group{size, {}}).first->second;
    }

    // Makes the group's elements the window that is returned next.
    absl::Status TakeOut(int64_t key) {
      std::vector<DatasetElement> elements =
          std::exchange(groups_[key].elements, {});
      charge_.Remove(static_cast<int64_t>(elements.size()));
      ASSIGN_OR_RETURN(
          Tensor window,
          ElementsTensor(absl::StrCat(dataset().name(), ":window"),
                         dataset().input().element(), std::move(elements)));
      reduce_args_ = {Tensor::Scalar(key), std::move(window)};
      return absl::OkStatus();
    }

    // An error drops the window; a cancelled step leaves it to the next one.
    absl::Status BeginReduced(IteratorContext& context) {
      absl::StatusOr<IteratorPtr> reduced = Reduced(context);
      if (!reduced.ok()) {
        if (!context.cancellation().IsCancelled()) reduce_args_.clear();
        return reduced.status();
      }
      reduced_ = *std::move(reduced);
      return absl::OkStatus();
    }
    absl::StatusOr<IteratorPtr> Reduced(IteratorContext& context) const {
      ASSIGN_OR_RETURN(const DatasetPtr made,
                       DatasetMadeBy(dataset(), *dataset().functions_.reduce,
                                     context, reduce_args_));
      return MakeInner(*made, context);
    }

    std::map<int64_t, Group> groups_;
    ElementCharge group_charge_;  // for the entries of groups_
    ElementCharge charge_;        // for the elements in them
    DatasetElement reduce_args_;  // the key, the window; or none
    IteratorPtr reduced_;         // null: not reduced yet
    bool input_has_ended_ = false;
  };

  const Functions functions_;
};

// ---- IgnoreErrors ----

class IgnoreErrorsDataset : public UnaryDataset {
 public:
  IgnoreErrorsDataset(const DatasetOp& op, DatasetPtr input)
      : UnaryDataset(op, std::move(input)),
        logger_(NewConsoleLogger(op.name)) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    return std::make_shared<IgnoreErrorsDataset>(op, std::move(input));
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }

 private:
  class Iterator : public UnaryIteratorOf<IgnoreErrorsDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        const absl::StatusOr<bool> has = input().GetNext(context, element);
        if (has.ok() || IsPermanent(has.status())) return has;
        RETURN_IF_ERROR(context.cancellation().status());
        Warn(has.status());
      }
    }

   private:
    // Logs the first, the tenth, the hundredth, ... error.
    void Warn(const absl::Status& error) {
      if (++ignored_ < next_line_) return;
      next_line_ *= 10;
      dataset().logger_->Warning(
          absl::StrCat("Errors that were ignored: ", ignored_,
                       ", the last one: ", error.ToString()));
    }

    int64_t ignored_ = 0;
    int64_t next_line_ = 1;
  };

  const std::unique_ptr<Logger> logger_;
};

}  // namespace

void RegisterFunctionDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "MapDataset", MapDataset::Make);
  RegisterDataset(registry, "FilterDataset", MakeOfPredicate<FilterDataset>);
  RegisterDataset(registry, "ExperimentalTakeWhileDataset",
                  MakeOfPredicate<TakeWhileDataset>);
  RegisterDataset(registry, "TakeWhileDataset",
                  MakeOfPredicate<TakeWhileDataset>);
  RegisterDataset(registry, "FlatMapDataset", InterleaveDataset::MakeFlatMap);
  RegisterDataset(registry, "InterleaveDataset", InterleaveDataset::Make);
  RegisterDataset(registry, "ScanDataset", ScanDataset::Make);
  RegisterDataset(registry, "ExperimentalScanDataset", ScanDataset::Make);
  RegisterDataset(registry, "GroupByWindowDataset", GroupByWindowDataset::Make);
  RegisterDataset(registry, "ExperimentalGroupByWindowDataset",
                  GroupByWindowDataset::Make);
  RegisterDataset(registry, "IgnoreErrorsDataset", IgnoreErrorsDataset::Make);
  RegisterDataset(registry, "ExperimentalIgnoreErrorsDataset",
                  IgnoreErrorsDataset::Make);
}

}  // namespace weft
