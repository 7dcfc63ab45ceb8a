// Datasets in random order, and of random numbers: the same as TensorFlow's for
// a seed.
#include <deque>
#include <utility>

#include "libs/kernels/common/philox.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/permanent_error.h"
#include "libs/kernels/data/seed_generator.h"
#include "libs/kernels/resource/resource_lookup.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;
using SeedGeneratorPtr = std::shared_ptr<SeedGenerator>;

// Counts the numbers that it returns.
class RandomNumbers {
 public:
  explicit RandomNumbers(SeedPair seeds) : RandomNumbers(seeds, 0) {}

  uint32_t Next() {
    ++used_;
    return numbers_.Next();
  }

  void Save(IteratorStateWriter& writer) const {
    writer.Write("seed", seeds_.seed);
    writer.Write("seed2", seeds_.seed2);
    writer.Write("used", used_);
  }
  static absl::StatusOr<RandomNumbers> Restore(
      const IteratorStateReader& reader) {
    SeedPair seeds;
    ASSIGN_OR_RETURN(seeds.seed, reader.ReadInt("seed"));
    ASSIGN_OR_RETURN(seeds.seed2, reader.ReadInt("seed2"));
    ASSIGN_OR_RETURN(const int64_t used, reader.ReadCount("used"));
    return RandomNumbers(seeds, used);
  }

 private:
  RandomNumbers(SeedPair seeds, int64_t used)
      : seeds_(seeds), numbers_(NumbersOf(seeds, used)), used_(used) {}

  SeedPair seeds_;
  PhiloxNumbers numbers_;
  int64_t used_;
};

// ---- Shuffle ----

class ShuffleDataset : public UnaryDataset {
 public:
  // `count` is the number of walks of the input; negative: endless.
  ShuffleDataset(const DatasetOp& op, DatasetPtr input, int64_t buffer_size,
                 int64_t count, SeedGeneratorPtr seeds)
      : UnaryDataset(op, std::move(input)),
        buffer_size_(buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override {
    return std::make_unique<Iterator>(*this, context.allocator());
  }
  int64_t FindCardinality() const override {
    const int64_t size = input().Cardinality();
    if (count_ < 0) return kInfiniteCardinality;
    if (count_ == 0) return 0;
    if (count_ == 1 || size <= 0) return size;
    int64_t all = 0;
    return __builtin_mul_overflow(size, count_, &all) ? kUnknownCardinality
                                                      : all;
  }

 private:
  class Iterator : public IteratorOf<ShuffleDataset> {
   public:
    Iterator(const ShuffleDataset& dataset, Allocator& allocator)
        : IteratorOf(dataset),
          numbers_(dataset.seeds_->Next()),
          charge_(allocator) {}

    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      RETURN_IF_ERROR(Fill(context));
      if (buffer_.empty()) return false;
      DropEmptySlices();
      int64_t& slice = slices_.front();
      const uint64_t offset = numbers_.Next() % static_cast<uint64_t>(slice);
      // As in TensorFlow, the first element moves to the position of the
      // returned one.
      std::swap(buffer_[offset], buffer_.front());
      *element = std::move(buffer_.front());
      buffer_.pop_front();
      charge_.Remove();
      --slice;
      return true;
    }

    absl::Status Save(IteratorContext& context,
                      IteratorStateWriter writer) override;
    absl::Status Restore(IteratorContext& context,
                         const IteratorStateReader& reader) override;

   private:
    // Starts at most this many walks after one whose elements are not all
    // returned.
    static constexpr size_t kMaxEpochs = 3;

    bool IsFull() const {
      const int64_t size = dataset().buffer_size_;
      return size >= 0 && static_cast<int64_t>(buffer_.size()) >= size;
    }
    bool MayTakeMore() const {
      const int64_t count = dataset().count_;
      if (passes_.has_failed()) return false;
      if (input_ == nullptr && count >= 0 && epoch_ >= count) return false;
      if (slices_.size() > kMaxEpochs && !buffer_.empty()) return false;
      return !IsFull();
    }

    absl::Status Fill(IteratorContext& context) {
      DatasetElement next;
      while (MayTakeMore()) {
        RETURN_IF_ERROR(context.cancellation().status());
        if (input_ == nullptr) RETURN_IF_ERROR(BeginEpoch(context));
        const absl::StatusOr<bool> has = input_->GetNext(context, &next);
        if (!has.ok()) {
          if (!context.cancellation().IsCancelled()) {
            passes_.NoteError(has.status());
          }
          return has.status();
        }
        if (*has) {
          RETURN_IF_ERROR(Put(std::move(next)));
          next = DatasetElement();
          continue;
        }
        input_.reset();
        RETURN_IF_ERROR(
            passes_.EndPass(dataset().name(), dataset().count_ < 0));
        // Endless, but without elements.
        if (!has_any_ && dataset().count_ < 0) return absl::OkStatus();
      }
      return absl::OkStatus();
    }

    absl::Status BeginEpoch(IteratorContext& context) {
      ASSIGN_OR_RETURN(input_, MakeInner(dataset().input(), context));
      slices_.push_back(0);
      ++epoch_;
      return absl::OkStatus();
    }

    absl::Status Put(DatasetElement element) {
      RETURN_IF_ERROR(charge_.Add(element));
      has_any_ = true;
      passes_.NoteElement();
      ++slices_.back();
      buffer_.push_back(std::move(element));
      return absl::OkStatus();
    }

    // Each walk has its own seeds.
    void DropEmptySlices() {
      while (slices_.front() == 0) {
        slices_.pop_front();
        numbers_ = RandomNumbers(dataset().seeds_->Next());
      }
    }

    RandomNumbers numbers_;
    IteratorPtr input_;
    int64_t epoch_ = 0;  // walks started
    bool has_any_ = false;
    EmptyPasses passes_;
    // The number of elements of each walk in the buffer, where walks are
    // consecutive.
    std::deque<int64_t> slices_;
    std::deque<DatasetElement> buffer_;
    ElementCharge charge_;  // for buffer_
  };

  const int64_t buffer_size_;  // negative: unbounded
  const int64_t count_;
  const SeedGeneratorPtr seeds_;
};

absl::Status ShuffleDataset::Iterator::Save(IteratorContext& context,
                                            IteratorStateWriter writer) {
  writer.Write("seeds", dataset().seeds_->position());
  numbers_.Save(writer);
  writer.Write("epoch", epoch_);
  writer.Write("has_any", int64_t{has_any_});
  int64_t i = 0;
  for (const DatasetElement& element : buffer_) {
    writer.Write(absl::StrCat("element", i++), element);
  }
  RETURN_IF_ERROR(writer.CheckSize(dataset().name()));
  writer.Write("slices", Tensor::Vector<int64_t>(std::vector<int64_t>(
                             slices_.begin(), slices_.end())));
  writer.Write("has_input", int64_t{input_ != nullptr});
  if (input_ == nullptr) return absl::OkStatus();
  return input_->Save(context, writer.Within("input"));
}

absl::Status ShuffleDataset::Iterator::Restore(
    IteratorContext& context, const IteratorStateReader& reader) {
  ASSIGN_OR_RETURN(const int64_t seeds, reader.ReadCount("seeds"));
  dataset().seeds_->set_position(seeds);
  ASSIGN_OR_RETURN(numbers_, RandomNumbers::Restore(reader));
  ASSIGN_OR_RETURN(epoch_, reader.ReadCount("epoch"));
  ASSIGN_OR_RETURN(const bool has_any, reader.ReadBool("has_any"));
  ASSIGN_OR_RETURN(const Tensor slices, reader.Read("slices", DT_INT64));
  slices_.clear();
  buffer_.clear();
  charge_.Remove(charge_.count());
  for (const int64_t count : slices.flat<int64_t>()) {
    slices_.push_back(0);
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(
          DatasetElement element,
          reader.ReadElement(absl::StrCat("element", buffer_.size()),
                             dataset().output_types()));
      if (IsFull()) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset().name(), ": the saved buffer has more than ",
                         dataset().buffer_size_, " elements"));
      }
      RETURN_IF_ERROR(Put(std::move(element)));
    }
  }
  has_any_ = has_any;
  passes_.NoteElement();  // perhaps: the state does not tell
  ASSIGN_OR_RETURN(const bool has_input, reader.ReadBool("has_input"));
  input_.reset();
  if (!has_input) return absl::OkStatus();
  if (slices_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset().name(), ": the saved iterator has no place in the buffer"));
  }
  ASSIGN_OR_RETURN(input_, MakeInner(dataset().input(), context));
  return input_->Restore(context, reader.Within("input"));
}

// Inputs `i` and `i` + 1 as seeds.
absl::StatusOr<SeedPair> ReadSeeds(const DatasetOp& op,
                                   const OpKernelContext& context, int i) {
  ASSIGN_OR_RETURN(const auto seed, ScalarInput<int64_t>(context, i, "seed"));
  ASSIGN_OR_RETURN(const auto seed2,
                   ScalarInput<int64_t>(context, i + 1, "seed2"));
  return SeedPair::From(seed, seed2, *op.random);
}

// The generator of a handle, or null for a dummy handle.
absl::StatusOr<SeedGeneratorPtr> FindGenerator(const OpKernelContext& context,
                                               int i) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceHandleAt(context, i));
  if (handle->type_name != SeedGenerator::kTypeName) return nullptr;
  return FindResource<SeedGenerator>(context, i);
}

struct ShuffleInputs {
  int seeds = -1;      // of two inputs; -1: none
  int count = -1;      // -1: one walk
  int generator = -1;  // -1: its own
};

absl::StatusOr<SeedGeneratorPtr> GeneratorFor(const DatasetOp& op,
                                              const OpKernelContext& context,
                                              const ShuffleInputs& inputs) {
  if (inputs.generator >= 0) {
    ASSIGN_OR_RETURN(SeedGeneratorPtr found,
                     FindGenerator(context, inputs.generator));
    if (found != nullptr) return found;
  }
  SeedPair seeds = SeedPair::From(0, 0, *op.random);
  bool reshuffles = true;
  if (inputs.seeds >= 0) {
    ASSIGN_OR_RETURN(seeds, ReadSeeds(op, context, inputs.seeds));
    ASSIGN_OR_RETURN(reshuffles, op.Attr<bool>("reshuffle_each_iteration"));
  }
  return std::make_shared<SeedGenerator>(seeds, reshuffles);
}

absl::StatusOr<DatasetPtr> MakeShuffleWith(const DatasetOp& op,
                                           OpKernelContext& context,
                                           const ShuffleInputs& inputs) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const auto buffer_size,
                   ScalarInput<int64_t>(context, 1, "buffer_size"));
  if (buffer_size <= 0 && buffer_size != Dataset::kUnknownCardinality) {
    return absl::InvalidArgumentError(absl::StrCat(
        "buffer_size must be greater than zero or UNKNOWN_CARDINALITY, not ",
        buffer_size));
  }
  int64_t count = 1;
  if (inputs.count >= 0) {
    ASSIGN_OR_RETURN(count,
                     ScalarInput<int64_t>(context, inputs.count, "count"));
    if (count <= 0 && count != -1) {
      return absl::InvalidArgumentError(
          "count must be greater than zero or equal to -1.");
    }
  }
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  ASSIGN_OR_RETURN(SeedGeneratorPtr seeds, GeneratorFor(op, context, inputs));
  return std::make_shared<ShuffleDataset>(op, std::move(input), buffer_size,
                                          count, std::move(seeds));
}

template <int kSeeds, int kCount, int kGenerator>
absl::StatusOr<DatasetPtr> MakeShuffle(const DatasetOp& op,
                                       OpKernelContext& context) {
  return MakeShuffleWith(
      op, context, {.seeds = kSeeds, .count = kCount, .generator = kGenerator});
}

// ---- Random ----

class RandomDataset : public Dataset {
 public:
  RandomDataset(const DatasetOp& op, SeedGeneratorPtr seeds)
      : Dataset(op.name, op.element), seeds_(std::move(seeds)) {}

  template <bool kHasGenerator>
  static absl::StatusOr<DatasetPtr> Make(const DatasetOp& op,
                                         OpKernelContext& context) {
    RETURN_IF_ERROR(CheckElementTypes(op.element, {DT_INT64}));
    ASSIGN_OR_RETURN(const SeedPair seeds, ReadSeeds(op, context, 0));
    SeedGeneratorPtr generator;
    bool reshuffles = false;
    if (kHasGenerator) {
      ASSIGN_OR_RETURN(generator, FindGenerator(context, 2));
      ASSIGN_OR_RETURN(reshuffles, op.Attr<bool>("rerandomize_each_iteration"));
    }
    if (generator == nullptr) {
      generator = std::make_shared<SeedGenerator>(seeds, reshuffles);
    }
    return std::make_shared<RandomDataset>(op, std::move(generator));
  }

  absl::StatusOr<IteratorPtr> NewIterator(IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }
  int64_t FindCardinality() const override { return kInfiniteCardinality; }

 private:
  class Iterator : public IteratorOf<RandomDataset> {
   public:
    explicit Iterator(const RandomDataset& dataset)
        : IteratorOf(dataset), numbers_(dataset.seeds_->Next()) {}

    absl::StatusOr<bool> GetNext(IteratorContext&,
                                 DatasetElement* element) override {
      *element = {Tensor::Scalar(int64_t{numbers_.Next()})};
      return true;
    }
    bool IsReady() const override { return true; }
    absl::Status Save(IteratorContext&, IteratorStateWriter writer) override {
      writer.Write("seeds", dataset().seeds_->position());
      numbers_.Save(writer);
      return absl::OkStatus();
    }
    absl::Status Restore(IteratorContext&,
                         const IteratorStateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t seeds, reader.ReadCount("seeds"));
      dataset().seeds_->set_position(seeds);
      ASSIGN_OR_RETURN(numbers_, RandomNumbers::Restore(reader));
      return absl::OkStatus();
    }

   private:
    RandomNumbers numbers_;
  };

  const SeedGeneratorPtr seeds_;
};

}  // namespace

void RegisterShuffleDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "ShuffleDataset", MakeShuffle<2, -1, -1>);
  RegisterDataset(registry, "ShuffleDatasetV2", MakeShuffle<-1, -1, 2>);
  RegisterDataset(registry, "ShuffleDatasetV3", MakeShuffle<2, -1, 4>);
  RegisterDataset(registry, "ShuffleAndRepeatDataset", MakeShuffle<2, 4, -1>);
  RegisterDataset(registry, "ShuffleAndRepeatDatasetV2", MakeShuffle<2, 4, 5>);
  RegisterDataset(registry, "RandomDataset", RandomDataset::Make<false>);
  RegisterDataset(registry, "ExperimentalRandomDataset",
                  RandomDataset::Make<false>);
  RegisterDataset(registry, "RandomDatasetV2", RandomDataset::Make<true>);
}

}  // namespace weft
