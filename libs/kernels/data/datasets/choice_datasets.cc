// Datasets that select or combine the elements of others without changing them.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_result.h"
#include "libs/kernels/data/permanent_error.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

constexpr int64_t kInfinite = Dataset::kInfiniteCardinality;
constexpr int64_t kUnknown = Dataset::kUnknownCardinality;

// Skips `count` elements of `input`, and adds the number of skipped elements to
// `passed`, even if a step is cancelled, so that the next one continues from
// there. After an element's error, TensorFlow skips `count` elements again.
// Returns false if there were fewer.
absl::StatusOr<bool> SkipCounted(DatasetIterator& input,
                                 IteratorContext& context, int64_t count,
                                 int64_t& passed) {
  int64_t done = 0;
  const absl::Status status = input.Skip(context, count, &done);
  if (status.ok() || context.cancellation().IsCancelled()) passed += done;
  RETURN_IF_ERROR(status);
  return done == count;
}

// ---- Zip ----

class ZipDataset : public Dataset {
 public:
  ZipDataset(const DatasetOp& op, std::vector<DatasetPtr> inputs)
      : Dataset(op.name, op.element), inputs_(std::move(inputs)) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    std::vector<IteratorPtr> inputs;
    for (const DatasetPtr& input : inputs_) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), input->MakeIterator(context));
    }
    return std::make_unique<Iterator>(*this, std::move(inputs));
  }

  int64_t FindCardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetPtr& input : inputs_) {
      const int64_t size = input->Cardinality();
      if (size == kUnknown) return kUnknown;
      if (size != kInfinite) {
        least = least == kInfinite ? size : std::min(least, size);
      }
    }
    return least;
  }

 private:
  class Iterator : public IteratorOf<ZipDataset> {
   public:
    Iterator(const ZipDataset& dataset, std::vector<IteratorPtr> inputs)
        : IteratorOf(dataset), inputs_(std::move(inputs)) {}

    // All inputs advance, so that they stay aligned after an error of one of
    // them. After a cancelled step, the next one continues with the first input
    // that has not returned yet.
    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      element->clear();
      while (!has_ended_ && num_given_ < inputs_.size()) {
        const absl::StatusOr<bool> has =
            inputs_[num_given_]->GetNext(context, &part_);
        if (!has.ok()) RETURN_IF_ERROR(context.cancellation().status());
        ++num_given_;
        has_ended_ = has.ok() && !*has;
        Add(has.status());
      }
      num_given_ = 0;
      ElementResult all = std::exchange(given_, {});
      if (has_ended_ && all.status.ok()) return false;
      return all.MoveTo(element);
    }
    bool IsReady() const override {
      return std::all_of(
          inputs_.begin(), inputs_.end(),
          [](const IteratorPtr& input) { return input->IsReady(); });
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("has_ended", int64_t{has_ended_});
      writer.Write("num_given", static_cast<int64_t>(num_given_));
      if (num_given_ > 0) WriteResult(writer, "given", given_);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        RETURN_IF_ERROR(
            inputs_[i]->Save(context, writer.Within(absl::StrCat(i))));
      }
      return absl::OkStatus();
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(has_ended_, reader.ReadBool("has_ended"));
      RETURN_IF_ERROR(RestoreGiven(reader));
      for (size_t i = 0; i < inputs_.size(); ++i) {
        RETURN_IF_ERROR(
            inputs_[i]->Restore(context, reader.Within(absl::StrCat(i))));
      }
      return absl::OkStatus();
    }

   private:
    // Adds the next input's component to part_, or its error.
    void Add(const absl::Status& status) {
      if (given_.status.ok()) given_.status = status;
      if (!status.ok() || has_ended_) return;
      given_.element.insert(given_.element.end(),
                            std::make_move_iterator(part_.begin()),
                            std::make_move_iterator(part_.end()));
    }
    absl::Status RestoreGiven(const IteratorStateReader& reader) {
      given_ = {};
      ASSIGN_OR_RETURN(
          const int64_t num_given,
          reader.ReadCount("num_given", static_cast<int64_t>(inputs_.size())));
      num_given_ = static_cast<size_t>(num_given);
      if (num_given_ == 0) return absl::OkStatus();
      ASSIGN_OR_RETURN(given_, ReadResult(reader, "given"));
      DataTypeVector types;
      for (size_t i = 0; i < num_given_; ++i) {
        const DataTypeVector& more = dataset().inputs_[i]->output_types();
        types.insert(types.end(), more.begin(), more.end());
      }
      return CheckResult({std::move(types), {}}, given_);
    }

    const std::vector<IteratorPtr> inputs_;
    DatasetElement part_;
    bool has_ended_ = false;
    // The number of inputs that have returned the current element, and their
    // components; an error of one input is that of the element.
    size_t num_given_ = 0;
    ElementResult given_;
  };

  const std::vector<DatasetPtr> inputs_;
};

absl::StatusOr<DatasetPtr> MakeZip(const DatasetOp& op,
                                   OpKernelContext& context) {
  if (context.num_inputs() == 0) {
    return absl::InvalidArgumentError(
        "a zip of no datasets would have elements without end");
  }
  std::vector<DatasetPtr> inputs;
  DataTypeVector types;
  for (int i = 0; i < context.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), InputDataset(context, i));
    const DataTypeVector& more = inputs.back()->output_types();
    types.insert(types.end(), more.begin(), more.end());
  }
  RETURN_IF_ERROR(CheckElementTypes(op.element, types));
  return std::make_shared<ZipDataset>(op, std::move(inputs));
}

// ---- Concatenate ----

class ConcatenateDataset : public Dataset {
 public:
  ConcatenateDataset(const DatasetOp& op, DatasetPtr first, DatasetPtr second)
      : Dataset(op.name, op.element), inputs_{first, second} {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr first, inputs_[0]->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(first));
  }

  int64_t FindCardinality() const override {
    const int64_t a = inputs_[0]->Cardinality();
    const int64_t b = inputs_[1]->Cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    if (a == kUnknown || b == kUnknown) return kUnknown;
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kUnknown : sum;
  }

 private:
  class Iterator : public UnaryIteratorOf<ConcatenateDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        // Inputs may be empty, and consist of many empty ones.
        ASSIGN_OR_RETURN(const bool has,
                         NextUnlessCancelled(input(), context, element));
        if (has || at_ == 1) return has;
        RETURN_IF_ERROR(Begin(context, 1));
      }
    }
    bool IsReady() const override { return at_ == 1 && input().IsReady(); }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("at", at_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t at, reader.ReadInt("at"));
      RETURN_IF_ERROR(Begin(context, at == 0 ? 0 : 1));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    absl::Status Begin(IteratorContext& context, int64_t at) {
      ASSIGN_OR_RETURN(IteratorPtr next,
                       MakeInner(*dataset().inputs_[at], context));
      set_input(std::move(next));
      at_ = at;
      return absl::OkStatus();
    }

    int64_t at_ = 0;
  };

  const DatasetPtr inputs_[2];
};

absl::StatusOr<DatasetPtr> MakeConcatenate(const DatasetOp& op,
                                           OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr first, InputDataset(context, 0));
  ASSIGN_OR_RETURN(DatasetPtr second, InputDataset(context, 1));
  if (first->output_types() != second->output_types()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input dataset and dataset to concatenate have different output_types "
        "(",
        first->name(), " and ", second->name(), ")"));
  }
  RETURN_IF_ERROR(CheckElementTypes(op.element, first->output_types()));
  return std::make_shared<ConcatenateDataset>(op, std::move(first),
                                              std::move(second));
}

// ---- Repeat ----

class RepeatDataset : public UnaryDataset {
 public:
  RepeatDataset(const DatasetOp& op, DatasetPtr input, int64_t count)
      : UnaryDataset(op, std::move(input)), count_(count) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }

  int64_t FindCardinality() const override {
    const int64_t size = input().Cardinality();
    if (count_ == 0 || size == 0) return 0;
    if (count_ < 0 || size == kInfinite) return kInfinite;
    if (size == kUnknown) return kUnknown;
    int64_t all = 0;
    return __builtin_mul_overflow(size, count_, &all) ? kUnknown : all;
  }

 private:
  class Iterator : public UnaryIteratorOf<RepeatDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (!HasEnded()) {
        RETURN_IF_ERROR(context.cancellation().status());
        const absl::StatusOr<bool> has = input().GetNext(context, element);
        is_empty_ &= has.ok() && !*has;
        Note(context, has.status(), has.ok() && *has);
        if (!has.ok() || *has) return has;
        ASSIGN_OR_RETURN(const bool goes_on, BeginAgain(context));
        if (!goes_on) return false;
      }
      return false;
    }
    bool GivesTexts() const override { return input().GivesTexts(); }
    absl::Status GetTexts(IteratorContext& context,
                          absl::Span<std::string> texts,
                          size_t* done) override {
      while (!HasEnded()) {
        RETURN_IF_ERROR(context.cancellation().status());
        const size_t had = *done;
        const absl::Status status = input().GetTexts(context, texts, done);
        is_empty_ &= status.ok() && *done == had;
        Note(context, status, *done > had);
        if (!status.ok() || *done == texts.size()) return status;
        ASSIGN_OR_RETURN(const bool goes_on, BeginAgain(context));
        if (!goes_on) break;
      }
      return absl::OkStatus();
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("done", done_);
      writer.Write("is_empty", int64_t{is_empty_});
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(done_, reader.ReadCount("done"));
      ASSIGN_OR_RETURN(is_empty_, reader.ReadBool("is_empty"));
      passes_.NoteElement();  // perhaps: the state does not tell
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    bool HasEnded() const {
      return passes_.has_failed() ||
             (dataset().count_ >= 0 && done_ >= dataset().count_);
    }
    void Note(IteratorContext& context, const absl::Status& status,
              bool has_element) {
      if (has_element) passes_.NoteElement();
      if (!status.ok() && !context.cancellation().IsCancelled()) {
        passes_.NoteError(status);
      }
    }
    // Called after the end of a walk; returns false if it was the last one.
    absl::StatusOr<bool> BeginAgain(IteratorContext& context) {
      // Repeating an empty input endlessly would never return an element.
      if (dataset().count_ < 0 && is_empty_) return false;
      ++done_;
      if (HasEnded()) return false;
      absl::StatusOr<IteratorPtr> next = MakeInner(dataset().input(), context);
      if (!next.ok()) {
        // A cancelled step leaves the walk to the next one.
        if (context.cancellation().IsCancelled()) {
          --done_;
          return next.status();
        }
        return MarkPermanent(next.status());
      }
      RETURN_IF_ERROR(passes_.EndPass(dataset().name(), dataset().count_ < 0));
      is_empty_ = true;
      set_input(*std::move(next));
      return true;
    }

    int64_t done_ = 0;      // complete walks of the input
    bool is_empty_ = true;  // no element and no error in this walk yet
    EmptyPasses passes_;
  };

  const int64_t count_;  // negative: endless
};

// ---- Take, Skip ----

class TakeDataset : public UnaryDataset {
 public:
  TakeDataset(const DatasetOp& op, DatasetPtr input, int64_t count)
      : UnaryDataset(op, std::move(input)), count_(count) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    const int64_t size = input().Cardinality();
    if (size == kUnknown || count_ < 0) return size;
    return size == kInfinite ? count_ : std::min(size, count_);
  }

 private:
  class Iterator : public UnaryIteratorOf<TakeDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      const int64_t count = dataset().count_;
      if (count >= 0 && taken_ >= count) return false;
      ASSIGN_OR_RETURN(const bool has, input().GetNext(context, element));
      if (count < 0) return has;
      // After the end of the input, all `count` elements count as taken.
      taken_ = has ? taken_ + 1 : count;
      return has;
    }
    bool IsReady() const override { return input().IsReady(); }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("taken", taken_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(
          taken_,
          reader.ReadCount("taken", std::max<int64_t>(dataset().count_, 0)));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    int64_t taken_ = 0;
  };

  const int64_t count_;  // negative: all
};

class SkipDataset : public UnaryDataset {
 public:
  SkipDataset(const DatasetOp& op, DatasetPtr input, int64_t count)
      : UnaryDataset(op, std::move(input)), count_(count) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    const int64_t size = input().Cardinality();
    if (size < 0) return size;
    return count_ < 0 ? 0 : std::max<int64_t>(size - count_, 0);
  }

 private:
  class Iterator : public UnaryIteratorOf<SkipDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      if (dataset().count_ < 0) return false;
      RETURN_IF_ERROR(PassOver(context));
      return input().GetNext(context, element);
    }
    bool GivesTexts() const override { return input().GivesTexts(); }
    absl::Status GetTexts(IteratorContext& context,
                          absl::Span<std::string> texts,
                          size_t* done) override {
      if (dataset().count_ < 0) return absl::OkStatus();
      RETURN_IF_ERROR(PassOver(context));
      return input().GetTexts(context, texts, done);
    }
    bool IsReady() const override {
      return skipped_ == dataset().count_ && input().IsReady();
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("skipped", skipped_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(
          skipped_,
          reader.ReadCount("skipped", std::max<int64_t>(dataset().count_, 0)));
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    absl::Status PassOver(IteratorContext& context) {
      const int64_t count = dataset().count_;
      while (skipped_ < count) {
        RETURN_IF_ERROR(context.cancellation().status());
        const int64_t step = std::min<int64_t>(count - skipped_, 1024);
        ASSIGN_OR_RETURN(const bool has_all,
                         SkipCounted(input(), context, step, skipped_));
        if (!has_all) skipped_ = count;
      }
      return absl::OkStatus();
    }

    int64_t skipped_ = 0;
  };

  const int64_t count_;  // negative: all
};

// Datasets with the arguments input and count.
template <typename Set>
absl::StatusOr<DatasetPtr> MakeCounted(const DatasetOp& op,
                                       OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const auto count, ScalarInput<int64_t>(context, 1, "count"));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  return std::make_shared<Set>(op, std::move(input), count);
}

// ---- Shard ----

class ShardDataset : public UnaryDataset {
 public:
  ShardDataset(const DatasetOp& op, DatasetPtr input, int64_t shards,
               int64_t index, bool require_non_empty)
      : UnaryDataset(op, std::move(input)),
        shards_(shards),
        index_(index),
        require_non_empty_(require_non_empty) {}

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    ASSIGN_OR_RETURN(const auto shards,
                     ScalarInput<int64_t>(context, 1, "num_shards"));
    ASSIGN_OR_RETURN(const auto index,
                     ScalarInput<int64_t>(context, 2, "index"));
    ASSIGN_OR_RETURN(const bool non_empty, op.Attr<bool>("require_non_empty"));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    if (shards <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Number of shards must be greater than zero (currently num_shards = ",
          shards, ")."));
    }
    if (index < 0 || index >= shards) {
      return absl::InvalidArgumentError(
          absl::StrCat("Index must be between 0 and ", shards - 1,
                       " (currently index = ", index, ")."));
    }
    return std::make_shared<ShardDataset>(op, std::move(input), shards, index,
                                          non_empty);
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return MakeUnaryIterator<Iterator>(*this, context);
  }
  int64_t FindCardinality() const override {
    const int64_t size = input().Cardinality();
    if (size < 0) return size;
    return size / shards_ + (index_ < size % shards_ ? 1 : 0);
  }

 private:
  class Iterator : public UnaryIteratorOf<ShardDataset> {
   public:
    using UnaryIteratorOf::UnaryIteratorOf;

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      if (first_.empty()) {
        ASSIGN_OR_RETURN(const bool has, Take(context, element));
        if (!has) return End();
      } else {
        *element = std::exchange(first_, {});
      }
      if (!dataset().require_non_empty_ || at_ > dataset().shards_) return true;
      const absl::Status status = CheckAllHaveOne(context);
      if (status.ok()) return true;
      // A cancelled step leaves the element to the next one.
      if (context.cancellation().IsCancelled()) first_ = std::move(*element);
      return status;
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      writer.Write("at", at_);
      if (!first_.empty()) writer.Write("first", first_);
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(at_, reader.ReadCount("at"));
      first_.clear();
      if (reader.Has("first/size")) {
        ASSIGN_OR_RETURN(first_,
                         reader.ReadElement("first", dataset().output_types()));
      }
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // The next element of the shard; false at the end of the input.
    absl::StatusOr<bool> Take(IteratorContext& context,
                              DatasetElement* element) {
      const int64_t shards = dataset().shards_, index = dataset().index_;
      while (at_ % shards != index) {
        RETURN_IF_ERROR(context.cancellation().status());
        const int64_t step =
            std::min<int64_t>((index - at_ % shards + shards) % shards, 1024);
        ASSIGN_OR_RETURN(const bool has_all,
                         SkipCounted(input(), context, step, at_));
        if (!has_all) return false;
      }
      const absl::StatusOr<bool> has = input().GetNext(context, element);
      // As in TensorFlow, an error of the shard's own element does not count as
      // an element, and neither does an element that a cancelled step did not
      // get.
      if (has.ok()) ++at_;
      return has;
    }
    absl::StatusOr<bool> End() const {
      if (!dataset().require_non_empty_ || at_ > dataset().shards_) {
        return false;
      }
      return NotEnough();
    }
    // Checks that the shards after this one have a first element, too.
    absl::Status CheckAllHaveOne(IteratorContext& context) {
      const int64_t behind = dataset().shards_ - at_;
      ASSIGN_OR_RETURN(const bool all_have,
                       SkipCounted(input(), context, behind, at_));
      return all_have ? absl::OkStatus() : NotEnough();
    }
    absl::Status NotEnough() const {
      return absl::InvalidArgumentError(absl::StrCat(
          "There aren't enough elements in this dataset for each shard to have "
          "at least one element (# elems = ",
          at_, ", # shards = ", dataset().shards_,
          "). Use fewer shards, or leave require_non_empty out."));
    }

    int64_t at_ = 0;  // skipped elements of the input
    // The shard's first element, if a step was cancelled before the check that
    // the other shards have one.
    DatasetElement first_;
  };

  const int64_t shards_, index_;
  const bool require_non_empty_;
};

// ---- Unique ----

class UniqueDataset : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;

  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
    RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
    if (op.element.types.size() != 1) {
      return absl::InvalidArgumentError(
          "UniqueDataset only supports inputs with a single component.");
    }
    const DataType type = op.element.types[0];
    if (type != DT_INT32 && type != DT_INT64 && type != DT_STRING) {
      return absl::InvalidArgumentError(
          "UniqueDataset only supports inputs with a single `tf.int32`, "
          "`tf.int64`, or `tf.string` component.");
    }
    return std::make_shared<UniqueDataset>(op, std::move(input));
  }

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(IteratorPtr input, this->input().MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input),
                                      context.allocator());
  }

 private:
  class Iterator : public UnaryIteratorOf<UniqueDataset> {
   public:
    Iterator(const UniqueDataset& dataset, IteratorPtr input,
             Allocator& allocator)
        : UnaryIteratorOf(dataset, std::move(input)), charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      while (true) {
        ASSIGN_OR_RETURN(const bool has,
                         NextUnlessCancelled(input(), context, element));
        if (!has) return false;
        std::string key = KeyOf((*element)[0]);
        if (seen_.contains(key)) continue;
        RETURN_IF_ERROR(
            charge_.AddBytes(ElementCharge::kBytesOfNode + key.size()));
        seen_.insert(std::move(key));
        return true;
      }
    }
    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override {
      const std::vector<std::string> seen(seen_.begin(), seen_.end());
      writer.Write("seen", Tensor::Vector<std::string>(seen));
      return UnaryIteratorOf::Save(context, writer);
    }
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const Tensor seen, reader.Read("seen", DT_STRING));
      const auto keys = seen.flat<std::string>();
      charge_.Remove(charge_.count());
      for (const std::string& key : keys) {
        RETURN_IF_ERROR(
            charge_.AddBytes(ElementCharge::kBytesOfNode + key.size()));
      }
      seen_ = {keys.begin(), keys.end()};
      return UnaryIteratorOf::Restore(context, reader);
    }

   private:
    // The bytes of shape and elements.
    static std::string KeyOf(const Tensor& tensor) {
      std::string key = absl::StrCat(tensor.shape().ToString(), ":");
      if (tensor.dtype() != DT_STRING) {
        key.append(static_cast<const char*>(tensor.data()), tensor.num_bytes());
        return key;
      }
      for (const std::string& text : tensor.flat<std::string>()) {
        absl::StrAppend(&key, text.size(), ":", text);
      }
      return key;
    }

    std::set<std::string> seen_;
    ElementCharge charge_;  // for seen_
  };
};

// ---- Datasets that change how TensorFlow runs a pipeline, not its elements
// ----

absl::StatusOr<DatasetPtr> MakePassing(const DatasetOp& op,
                                       OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  return input;
}

}  // namespace

void RegisterChoiceDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "ZipDataset", MakeZip);
  RegisterDataset(registry, "ConcatenateDataset", MakeConcatenate);
  RegisterDataset(registry, "RepeatDataset", MakeCounted<RepeatDataset>);
  RegisterDataset(registry, "TakeDataset", MakeCounted<TakeDataset>);
  RegisterDataset(registry, "SkipDataset", MakeCounted<SkipDataset>);
  RegisterDataset(registry, "ShardDataset", ShardDataset::Make);
  for (const char* op : {"UniqueDataset", "ExperimentalUniqueDataset"}) {
    RegisterDataset(registry, op, UniqueDataset::Make);
  }
  for (const char* op :
       {"ExperimentalMaxIntraOpParallelismDataset",
        "ExperimentalNonSerializableDataset",
        "ExperimentalPrivateThreadPoolDataset", "FinalizeDataset",
        "MaxIntraOpParallelismDataset", "ModelDataset",
        "NonSerializableDataset", "OptimizeDataset", "OptimizeDatasetV2",
        "OptionsDataset", "PrivateThreadPoolDataset", "RewriteDataset"}) {
    RegisterDataset(registry, op, MakePassing);
  }
}

}  // namespace weft
