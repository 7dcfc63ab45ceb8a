// ParallelInterleave reads several datasets, which a function returns for the
// elements of its input, concurrently, and returns their elements round robin.
// The order is that of Interleave, unless it need not be kept.
#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "libs/base/exceptions.h"
#include "libs/kernels/data/background_work.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_charge.h"
#include "libs/kernels/data/element_result.h"

namespace weft {
namespace {

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// The maximum number of bytes buffered for one dataset, except that one element
// is always buffered.
constexpr int64_t kMostBufferedBytes = int64_t{64} << 20;
// The same limit for all datasets together.
constexpr int64_t kMostBytes = int64_t{512} << 20;
// As in InterleaveDataset: limits the open datasets that one number can
// request.
constexpr int64_t kMaxCycle = int64_t{1} << 20;
// The maximum number of reader threads, and of datasets opened ahead. Larger
// numbers of parallel calls are reduced to it.
constexpr int64_t kMaxReaders = 1024;

struct InterleaveOptions {
  CapturedFunctionPtr function;
  int64_t cycle_length = 1;
  int64_t block_length = 1;
  int64_t buffer_elements = 1;  // of each dataset
  int64_t parallel_calls = 1;   // or kAutotune
  bool keeps_order = true;
  // Whether the dataset reports infinite cardinality if its input does.
  bool may_be_infinite = true;
};

class ParallelInterleaveDataset : public Dataset {
 public:
  ParallelInterleaveDataset(const DatasetOp& op, DatasetPtr input,
                            InterleaveOptions options)
      : Dataset(op.name, op.element),
        input_(std::move(input)),
        options_(std::move(options)) {}

  absl::StatusOr<IteratorPtr> NewIterator(
      IteratorContext& context) const override;

  int64_t FindCardinality() const override {
    return options_.may_be_infinite ? CardinalityIfInfinite(*input_)
                                    : kUnknownCardinality;
  }

  const InterleaveOptions& options() const { return options_; }
  const DataTypeVector& input_types() const { return input_->output_types(); }

  // Returns the function's dataset for `element`.
  absl::StatusOr<DatasetPtr> MakeSource(const IteratorContext& context,
                                        const DatasetElement& element) const {
    ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                     options_.function->Call(context, element));
    if (results.size() != 1) {
      return absl::InvalidArgumentError(
          "`f` must return a single element of type Dataset");
    }
    ASSIGN_OR_RETURN(DatasetPtr source, DatasetFrom(results[0]));
    RETURN_IF_ERROR(CheckElementTypes(this->element(), source->output_types()));
    return source;
  }

 private:
  const DatasetPtr input_;
  const InterleaveOptions options_;
};

// One slot of the cycle.
struct Source {
  enum class State {
    kWaiting,  // needs an element of the input
    kOpen,     // has an element and its dataset
    kDone,     // only its buffered results are left
    kEmpty,    // and the input has ended, too
  };
  State state = State::kWaiting;
  bool is_read = false;  // by a thread
  DatasetElement input;
  IteratorPtr iterator;  // null until opened; used by its reader
  std::deque<ElementResult> results;
  int64_t bytes = 0;

  void Add(ElementResult result) {
    bytes += result.TotalBytes();
    results.push_back(std::move(result));
  }
  ElementResult Take() {
    ElementResult result = std::move(results.front());
    results.pop_front();
    bytes -= result.TotalBytes();
    return result;
  }
};

class ParallelInterleaveIterator
    : public IteratorOf<ParallelInterleaveDataset> {
 public:
  ParallelInterleaveIterator(const ParallelInterleaveDataset& dataset,
                             IteratorPtr input, int64_t cores,
                             const IteratorContext& context)
      : IteratorOf(dataset),
        input_(std::move(input)),
        cycle_length_(OrCores(dataset.options().cycle_length, cores)),
        parallel_calls_(std::min(
            OrCores(dataset.options().parallel_calls, cores), kMaxReaders)),
        charge_(context.allocator()),
        background_(context) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    absl::MutexLock lock(&mutex_);
    while (true) {
      StartThreads();
      const Turn turn = options().keeps_order ? TakeInOrder() : TakeAny();
      if (turn == Turn::kWait) RETURN_IF_ERROR(failure_);
      if (turn == Turn::kEnd) return false;
      if (turn == Turn::kTaken) {
        StartThreads();
        return taken_.MoveTo(element);
      }
      // The next slot may not exist yet.
      StartThreads();
      const int64_t seen = changes_;
      RETURN_IF_ERROR(changed_.WaitFor(mutex_, context.scheduler(),
                                       context.cancellation(), [&] {
                                         mutex_.AssertHeld();
                                         return changes_ != seen;
                                       }));
    }
  }

  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override;
  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override;

 private:
  enum class Turn { kTaken, kEnd, kWait };

  static int64_t OrCores(int64_t count, int64_t cores) {
    return count == kAutotune ? cores : count;
  }
  const InterleaveOptions& options() const { return dataset().options(); }

  int64_t num_sources() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return static_cast<int64_t>(sources_.size());
  }

  // Returns the next element in Interleave's order.
  Turn TakeInOrder() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int64_t passed = 0; passed <= num_sources(); ++passed) {
      if (position_ >= num_sources() && !WrapAround()) return Turn::kWait;
      if (sources_.empty()) return Turn::kEnd;
      Source& source = *sources_[position_];
      if (!source.results.empty()) {
        TakeFrom(source);
        if (++in_block_ >= options().block_length) Advance();
        return Turn::kTaken;
      }
      if (source.state == Source::State::kDone) {
        Reopen(position_);
        // Other slots, which got elements earlier, come first.
        Advance();
        passed = -1;
        continue;
      }
      if (source.state != Source::State::kEmpty) return Turn::kWait;
      Advance();
    }
    return Turn::kEnd;
  }

  // Returns whether the cycle has no more slots, so that its first one is next.
  bool WrapAround() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!input_has_ended_ && num_sources() < cycle_length_) return false;
    position_ = 0;
    in_block_ = 0;
    return true;
  }
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++position_;
    in_block_ = 0;
  }

  // Returns any available element.
  Turn TakeAny() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bool may_come = !input_has_ended_;
    for (int64_t i = 0; i < num_sources(); ++i) {
      const int64_t place = (position_ + i) % num_sources();
      Source& source = *sources_[place];
      if (!source.results.empty()) {
        TakeFrom(source);
        position_ = place + 1;
        return Turn::kTaken;
      }
      if (source.state == Source::State::kDone) Reopen(place);
      may_come = may_come || source.state != Source::State::kEmpty;
    }
    return may_come ? Turn::kWait : Turn::kEnd;
  }

  void TakeFrom(Source& source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    total_bytes_ -= source.bytes;
    taken_ = source.Take();
    total_bytes_ += source.bytes;
    Enqueue(source);
  }
  void AddTo(Source& source, ElementResult result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    total_bytes_ -= source.bytes;
    source.Add(std::move(result));
    total_bytes_ += source.bytes;
  }
  void Reopen(int64_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Source& source = *sources_[place];
    if (input_has_ended_) {
      source.state = Source::State::kEmpty;
      return;
    }
    source.state = Source::State::kWaiting;
    waiting_.push_back(place);
    StartThreads();
  }

  bool HasRoom(const Source& source) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const auto most = static_cast<size_t>(options().buffer_elements);
    return source.results.empty() ||
           (source.results.size() < most && source.bytes < kMostBufferedBytes &&
            total_bytes_ < kMostBytes);
  }
  // Queues the slot for a reader thread.
  void Enqueue(Source& source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (source.is_read || source.state != Source::State::kOpen) return;
    if (!HasRoom(source)) return;
    source.is_read = true;
    to_read_.push_back(&source);
  }

  bool MayContinue() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !is_paused_ && failure_.ok() && !background_.IsCancelled();
  }
  // Returns whether slots may be opened before the consumer reaches them.
  bool MayGrow() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return num_sources() < cycle_length_ &&
           num_sources() - position_ < parallel_calls_;
  }
  // Returns whether the next input element is for a slot whose dataset has
  // ended: in order, slots without an element come first.
  bool FillsWaiting() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() &&
           (!options().keeps_order || num_sources() == cycle_length_);
  }
  bool WantsInput() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !input_has_ended_ && (FillsWaiting() || MayGrow());
  }

  void StartThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!MayContinue()) return;
    if (!is_taking_ && WantsInput()) {
      background_.Start(Pool::kUnbounded, [this] { TakeInputs(); });
      is_taking_ = true;  // unless Start threw; TakeInputs waits for the lock
    }
    while (readers_ < parallel_calls_ &&
           readers_ < static_cast<int64_t>(to_read_.size()) + active_) {
      background_.Start(Pool::kUnbounded, [this] { ReadSources(); });
      ++readers_;  // likewise
    }
  }

  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++changes_;
    changed_.Notify();
  }

  // The thread that distributes elements of the input, in the order of slots.
  void TakeInputs() {
    absl::MutexLock lock(&mutex_);
    while (MayContinue() && WantsInput()) {
      mutex_.Unlock();
      DatasetElement element;
      const absl::StatusOr<bool> has = CatchExceptions(
          [&] { return input_->GetNext(background_.context(), &element); });
      mutex_.Lock();
      FailOnException([&] {
        mutex_.AssertHeld();
        if (has.ok() && !*has) {
          EndInput();
        } else {
          FillPlace(std::move(element), has.status());
        }
        StartThreads();
      });
      Changed();
    }
    is_taking_ = false;
    Changed();
  }
  // Runs `work`. An exception, which may leave a slot without its elements,
  // ends the walk.
  void FailOnException(absl::FunctionRef<void()> work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    failure_.Update(CatchExceptions([&] {
      work();
      return absl::OkStatus();
    }));
  }
  void EndInput() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    input_has_ended_ = true;
    for (int64_t place : waiting_) {
      sources_[place]->state = Source::State::kEmpty;
    }
    waiting_.clear();
  }
  void FillPlace(DatasetElement element, absl::Status status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto place = static_cast<size_t>(num_sources());
    if (FillsWaiting()) {
      place = static_cast<size_t>(waiting_.front());
      waiting_.pop_front();
    } else {
      sources_.push_back(std::make_unique<Source>());
      status.Update(charge_.AddBytes(ElementCharge::kBytesOfIterator));
    }
    Source& source = *sources_[place];
    if (!status.ok()) {
      AddTo(source, {std::move(status), {}});
      source.state = Source::State::kDone;
      return;
    }
    source.input = std::move(element);
    source.state = Source::State::kOpen;
    Enqueue(source);
  }

  absl::StatusOr<IteratorPtr> OpenSource(const IteratorContext& context,
                                         const DatasetElement& element) const {
    ASSIGN_OR_RETURN(const DatasetPtr source,
                     dataset().MakeSource(context, element));
    return MakeInner(*source, context);
  }

  // A thread that reads queued slots.
  void ReadSources() {
    absl::MutexLock lock(&mutex_);
    FailOnException([this] {
      mutex_.AssertHeld();
      ReadQueued();
    });
    --readers_;
    Changed();
  }
  void ReadQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (MayContinue() && !to_read_.empty()) {
      Source& source = *to_read_.front();
      to_read_.pop_front();
      ++active_;
      while (MayContinue() && source.state == Source::State::kOpen &&
             HasRoom(source)) {
        ReadOne(source);
        Changed();
      }
      --active_;
      source.is_read = false;
      // Its buffer may have got room meanwhile.
      Enqueue(source);
    }
  }
  // Returns the next element, starting the walk if necessary; false at its end
  // or if it could not start, and then the source has no iterator.
  absl::StatusOr<bool> NextOf(Source& source, DatasetElement* element) {
    IteratorContext& context = background_.context();
    if (source.iterator == nullptr) {
      ASSIGN_OR_RETURN(source.iterator, OpenSource(context, source.input));
    }
    ASSIGN_OR_RETURN(const bool has,
                     source.iterator->GetNext(context, element));
    if (!has) source.iterator.reset();
    return has;
  }
  void ReadOne(Source& source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    mutex_.Unlock();
    ElementResult result;
    const absl::StatusOr<bool> has =
        CatchExceptions([&] { return NextOf(source, &result.element); });
    const bool is_open = source.iterator != nullptr;
    mutex_.Lock();
    if (!is_open) source.state = Source::State::kDone;
    if (has.ok() && !*has) return;
    result.status = has.status();
    AddTo(source, std::move(result));
  }

  // Waits until no thread is running, or the step is cancelled.
  absl::Status Pause(IteratorContext& context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_paused_ = true;
    return changed_.WaitFor(mutex_, context.scheduler(), context.cancellation(),
                            [this] {
                              mutex_.AssertHeld();
                              return !is_taking_ && readers_ == 0;
                            });
  }
  // Must be called on every path after a Pause.
  void Resume() {
    mutex_.AssertHeld();
    is_paused_ = false;
    for (auto& source : sources_) Enqueue(*source);
  }
  absl::Status SaveSource(IteratorContext& context, const Source& source,
                          IteratorStateWriter writer) const;
  absl::StatusOr<std::unique_ptr<Source>> RestoreSource(
      IteratorContext& context, const IteratorStateReader& reader) const;

  const IteratorPtr input_;
  const int64_t cycle_length_;
  const int64_t parallel_calls_;

  absl::Mutex mutex_;
  Signal changed_;
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // see FailOnException
  std::vector<std::unique_ptr<Source>> sources_ ABSL_GUARDED_BY(mutex_);
  ElementCharge charge_ ABSL_GUARDED_BY(mutex_);         // for the sources
  int64_t total_bytes_ ABSL_GUARDED_BY(mutex_) = 0;      // of their results
  std::deque<int64_t> waiting_ ABSL_GUARDED_BY(mutex_);  // places, in order
  std::deque<Source*> to_read_ ABSL_GUARDED_BY(mutex_);
  int64_t position_ ABSL_GUARDED_BY(mutex_) = 0;  // in the cycle
  int64_t in_block_ ABSL_GUARDED_BY(mutex_) = 0;
  ElementResult taken_ ABSL_GUARDED_BY(mutex_);
  int64_t readers_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  int64_t active_ ABSL_GUARDED_BY(mutex_) = 0;   // of these, reading
  bool is_taking_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_paused_ ABSL_GUARDED_BY(mutex_) = false;

  BackgroundWork background_;  // the last member
};

absl::Status ParallelInterleaveIterator::SaveSource(
    IteratorContext& context, const Source& source,
    IteratorStateWriter writer) const {
  writer.Write("state", static_cast<int64_t>(source.state));
  if (!source.input.empty()) writer.Write("input", source.input);
  WriteResults(writer, "results", source.results);
  writer.Write("is_open", int64_t{source.iterator != nullptr});
  if (source.iterator == nullptr) return absl::OkStatus();
  return source.iterator->Save(context, writer.Within("iterator"));
}

absl::StatusOr<std::unique_ptr<Source>>
ParallelInterleaveIterator::RestoreSource(
    IteratorContext& context, const IteratorStateReader& reader) const {
  auto source = std::make_unique<Source>();
  ASSIGN_OR_RETURN(const int64_t state, reader.ReadInt("state"));
  if (state < 0 || state > static_cast<int64_t>(Source::State::kEmpty)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the saved state of an interleave has a source in state ", state));
  }
  source->state = static_cast<Source::State>(state);
  ASSIGN_OR_RETURN(const bool is_open, reader.ReadBool("is_open"));
  if (is_open || reader.Has("input/size")) {
    ASSIGN_OR_RETURN(source->input,
                     reader.ReadElement("input", dataset().input_types()));
  }
  std::deque<ElementResult> results;
  RETURN_IF_ERROR(ReadResults(reader, "results", dataset().element(), results));
  for (ElementResult& result : results) source->Add(std::move(result));
  if (!is_open) return source;
  ASSIGN_OR_RETURN(source->iterator, OpenSource(context, source->input));
  RETURN_IF_ERROR(
      source->iterator->Restore(context, reader.Within("iterator")));
  return source;
}

// Each waiting slot must be in the list exactly once: otherwise the wait would
// never end.
absl::Status CheckWaiting(const std::vector<std::unique_ptr<Source>>& sources,
                          absl::Span<const int64_t> places) {
  std::set<int64_t> expected;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i]->state == Source::State::kWaiting) {
      expected.insert(static_cast<int64_t>(i));
    }
  }
  const std::set<int64_t> found(places.begin(), places.end());
  if (found == expected && found.size() == places.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the saved state of an interleave has other sources to fill than those "
      "that wait");
}

absl::Status ParallelInterleaveIterator::Save(IteratorContext& context,
                                              IteratorStateWriter writer) {
  absl::MutexLock lock(&mutex_);
  const absl::Cleanup resumed = [this] { Resume(); };
  RETURN_IF_ERROR(Pause(context));
  RETURN_IF_ERROR(failure_);
  writer.Write("has_ended", int64_t{input_has_ended_});
  writer.Write("position", position_);
  writer.Write("in_block", in_block_);
  writer.Write("sources", num_sources());
  absl::Status status = input_->Save(context, writer.Within("input"));
  for (int64_t i = 0; status.ok() && i < num_sources(); ++i) {
    status = SaveSource(context, *sources_[i],
                        writer.Within(absl::StrCat("source", i)));
  }
  writer.Write("waiting", Tensor::Vector<int64_t>(std::vector<int64_t>(
                              waiting_.begin(), waiting_.end())));
  return status;
}

absl::Status ParallelInterleaveIterator::Restore(
    IteratorContext& context, const IteratorStateReader& reader) {
  absl::MutexLock lock(&mutex_);
  const absl::Cleanup resumed = [this] { Resume(); };
  RETURN_IF_ERROR(Pause(context));
  ASSIGN_OR_RETURN(const bool ended, reader.ReadBool("has_ended"));
  ASSIGN_OR_RETURN(const int64_t position, reader.ReadInt("position"));
  ASSIGN_OR_RETURN(const int64_t in_block, reader.ReadInt("in_block"));
  ASSIGN_OR_RETURN(const int64_t count, reader.ReadInt("sources"));
  ASSIGN_OR_RETURN(const Tensor waiting, reader.Read("waiting", DT_INT64));
  RETURN_IF_ERROR(input_->Restore(context, reader.Within("input")));
  std::vector<std::unique_ptr<Source>> sources;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(
        auto source,
        RestoreSource(context, reader.Within(absl::StrCat("source", i))));
    sources.push_back(std::move(source));
  }
  const auto places = waiting.flat<int64_t>();
  RETURN_IF_ERROR(CheckWaiting(sources, places));
  if (position < 0 || position > count || count > cycle_length_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the saved state of an interleave is at source ", position,
                     " of ", count));
  }
  failure_ = absl::OkStatus();
  active_ = 0;  // also after a reader ended by an exception
  to_read_.clear();
  sources_ = std::move(sources);
  total_bytes_ = 0;
  for (const auto& source : sources_) total_bytes_ += source->bytes;
  waiting_.assign(places.begin(), places.end());
  position_ = position;
  in_block_ = in_block;
  input_has_ended_ = ended;
  if (input_has_ended_) EndInput();
  return absl::OkStatus();
}

absl::StatusOr<IteratorPtr> ParallelInterleaveDataset::NewIterator(
    IteratorContext& context) const {
  ASSIGN_OR_RETURN(IteratorPtr input, input_->MakeIterator(context));
  return std::make_unique<ParallelInterleaveIterator>(
      *this, std::move(input), context.scheduler().num_compute_threads(),
      context);
}

absl::Status CheckCount(int64_t count, absl::string_view name,
                        bool may_be_autotune) {
  if (count > 0 || (may_be_autotune && count == kAutotune)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` must be > 0, but is ", count));
}

absl::Status CheckCycleLength(int64_t length) {
  if (length == kAutotune || (length > 0 && length <= kMaxCycle)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`cycle_length` must be `tf.data.AUTOTUNE` (ops::kAutotune) or greater "
      "than 0",
      length > 0 ? absl::StrCat(" and at most ", kMaxCycle) : "", " but is ",
      length));
}

// Reads the inputs after other_arguments: cycle_length, block_length, and those
// of the op's version.
absl::StatusOr<InterleaveOptions> ReadOptions(const DatasetOp& op,
                                              const OpKernelContext& context,
                                              const Dataset& input, int first) {
  InterleaveOptions options;
  ASSIGN_OR_RETURN(options.function, op.Capture(context, "f", "Targuments", 1,
                                                input.output_types()));
  ASSIGN_OR_RETURN(options.cycle_length,
                   ScalarInput<int64_t>(context, first, "cycle_length"));
  ASSIGN_OR_RETURN(options.block_length,
                   ScalarInput<int64_t>(context, first + 1, "block_length"));
  RETURN_IF_ERROR(CheckCycleLength(options.cycle_length));
  RETURN_IF_ERROR(CheckCount(options.block_length, "block_length", false));
  options.buffer_elements = options.block_length;
  return options;
}

// Input `i`, num_parallel_calls of V2 to V4. As in TensorFlow, the cycle length
// may depend on it, because it determines the order of elements.
absl::Status ReadParallelCalls(const OpKernelContext& context, int i,
                               InterleaveOptions& options) {
  ASSIGN_OR_RETURN(const int64_t calls,
                   ScalarInput<int64_t>(context, i, "num_parallel_calls"));
  RETURN_IF_ERROR(CheckParallelCalls(calls));
  options.parallel_calls = calls;
  int64_t& cycle = options.cycle_length;
  if (cycle == kAutotune) {
    const int64_t cores = context.scheduler().num_compute_threads();
    cycle = calls == kAutotune ? (cores + 2) / 3 : std::min(calls, cores);
    return absl::OkStatus();
  }
  if (calls <= cycle) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be "
      "either `tf.data.AUTOTUNE` (ops::kAutotune) or a value less than or "
      "equal to "
      "`cycle_length`. However, `num_parallel_calls` is ",
      calls, " and `cycle_length` is ", cycle));
}

// ParallelInterleaveDatasetV2 and V3.
absl::StatusOr<DatasetPtr> MakeInterleave(const DatasetOp& op,
                                          OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  const int first = context.num_inputs() - 3;
  ASSIGN_OR_RETURN(InterleaveOptions options,
                   ReadOptions(op, context, *input, first));
  RETURN_IF_ERROR(ReadParallelCalls(context, first + 2, options));
  ASSIGN_OR_RETURN(options.keeps_order, KeepsOrder(op));
  return std::make_shared<ParallelInterleaveDataset>(op, std::move(input),
                                                     std::move(options));
}

// prefetch_input_elements is the number of datasets opened ahead: Weft opens
// those of the cycle, and no others.
absl::StatusOr<InterleaveOptions> ReadBufferedOptions(
    const DatasetOp& op, const OpKernelContext& context, const Dataset& input,
    int first, int buffer) {
  ASSIGN_OR_RETURN(InterleaveOptions options,
                   ReadOptions(op, context, input, first));
  ASSIGN_OR_RETURN(
      const int64_t elements,
      ScalarInput<int64_t>(context, buffer, "buffer_output_elements"));
  ASSIGN_OR_RETURN(
      const int64_t prefetched,
      ScalarInput<int64_t>(context, buffer + 1, "prefetch_input_elements"));
  RETURN_IF_ERROR(CheckCount(elements, "buffer_output_elements", true));
  if (prefetched < 0 && prefetched != kAutotune) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`prefetch_input_elements` must be >= 0, but is ", prefetched));
  }
  if (elements != kAutotune) options.buffer_elements = elements;
  return options;
}

absl::StatusOr<DatasetPtr> MakeInterleaveV4(const DatasetOp& op,
                                            OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  const int first = context.num_inputs() - 5;
  ASSIGN_OR_RETURN(InterleaveOptions options,
                   ReadBufferedOptions(op, context, *input, first, first + 2));
  RETURN_IF_ERROR(ReadParallelCalls(context, first + 4, options));
  ASSIGN_OR_RETURN(options.keeps_order, KeepsOrder(op));
  return std::make_shared<ParallelInterleaveDataset>(op, std::move(input),
                                                     std::move(options));
}

// The older ops have one thread for each slot of the cycle. The order is
// controlled by an input in the older of them, by an attr in the newer.
template <bool kIsInput>
absl::StatusOr<DatasetPtr> MakeOldInterleave(const DatasetOp& op,
                                             OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  const int first = context.num_inputs() - (kIsInput ? 5 : 4);
  const int buffer = first + (kIsInput ? 3 : 2);
  ASSIGN_OR_RETURN(InterleaveOptions options,
                   ReadBufferedOptions(op, context, *input, first, buffer));
  options.parallel_calls = options.cycle_length;
  options.may_be_infinite = false;
  if (kIsInput) {
    ASSIGN_OR_RETURN(const bool sloppy,
                     ScalarInput<bool>(context, first + 2, "sloppy"));
    options.keeps_order = !sloppy;
  } else {
    ASSIGN_OR_RETURN(options.keeps_order, KeepsOrder(op));
  }
  return std::make_shared<ParallelInterleaveDataset>(op, std::move(input),
                                                     std::move(options));
}

}  // namespace

void RegisterParallelInterleaveDataset(KernelRegistry& registry) {
  for (const char* op :
       {"ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset"}) {
    RegisterDataset(registry, op, MakeOldInterleave<true>);
  }
  RegisterDataset(registry, "LegacyParallelInterleaveDatasetV2",
                  MakeOldInterleave<false>);
  RegisterDataset(registry, "ParallelInterleaveDatasetV2", MakeInterleave);
  RegisterDataset(registry, "ParallelInterleaveDatasetV3", MakeInterleave);
  RegisterDataset(registry, "ParallelInterleaveDatasetV4", MakeInterleaveV4);
}

}  // namespace weft
