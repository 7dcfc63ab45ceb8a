// Prefetch computes elements ahead of time: a thread fills a buffer, bounded in
// elements and bytes, while the consumer does other work. The thread ends when
// the buffer is full, and is started again when the consumer makes room.
#include <algorithm>
#include <deque>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "libs/base/exceptions.h"
#include "libs/kernels/data/background_work.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/data/element_result.h"

namespace weft {
namespace {

// One element is buffered however large it is.
constexpr int64_t kMostPrefetchedBytes = int64_t{256} << 20;

class PrefetchDataset : public Dataset {
 public:
  PrefetchDataset(const DatasetOp& op, DatasetPtr input, int64_t size)
      : Dataset(op.name, op.element), input_(std::move(input)), size_(size) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const override;
  int64_t FindCardinality() const override { return input_->Cardinality(); }

 private:
  const DatasetPtr input_;
  const int64_t size_;
};

class PrefetchIterator : public IteratorOf<PrefetchDataset> {
 public:
  PrefetchIterator(const PrefetchDataset& dataset,
                   std::unique_ptr<DatasetIterator> input, size_t capacity,
                   const IteratorContext& context)
      : IteratorOf(dataset),
        input_(std::move(input)),
        capacity_(capacity),
        background_(context) {}

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    absl::MutexLock lock(&mutex_);
    StartFilling();
    RETURN_IF_ERROR(filled_.WaitFor(mutex_, context.scheduler(),
                                    context.cancellation(), [this] {
                                      mutex_.AssertHeld();
                                      return !buffer_.empty() || !is_filling_;
                                    }));
    if (buffer_.empty()) {
      RETURN_IF_ERROR(std::exchange(fill_error_, absl::OkStatus()));
      return false;
    }
    ElementResult result = std::move(buffer_.front());
    buffer_.pop_front();
    bytes_ -= result.TotalBytes();
    StartFilling();
    return result.MoveTo(element);
  }

  bool IsReady() const override {
    absl::MutexLock lock(&mutex_);
    return !buffer_.empty() || (has_ended_ && !is_filling_);
  }

  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    absl::MutexLock lock(&mutex_);
    const absl::Cleanup resumed = [this] { Resume(); };
    RETURN_IF_ERROR(Pause(context));
    RETURN_IF_ERROR(fill_error_);
    writer.Write("has_ended", int64_t{has_ended_});
    WriteResults(writer, "buffer", buffer_);
    return input_->Save(context, writer.Within("input"));
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    absl::MutexLock lock(&mutex_);
    const absl::Cleanup resumed = [this] { Resume(); };
    RETURN_IF_ERROR(Pause(context));
    ASSIGN_OR_RETURN(const bool ended, reader.ReadBool("has_ended"));
    std::deque<ElementResult> buffer;
    RETURN_IF_ERROR(ReadResults(reader, "buffer", dataset().element(), buffer));
    RETURN_IF_ERROR(input_->Restore(context, reader.Within("input")));
    has_ended_ = ended;
    fill_error_ = absl::OkStatus();
    buffer_ = std::move(buffer);
    bytes_ = 0;
    for (const ElementResult& result : buffer_) bytes_ += result.TotalBytes();
    return absl::OkStatus();
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return buffer_.size() < capacity_ &&
           (buffer_.empty() || bytes_ < kMostPrefetchedBytes);
  }
  bool MayFill() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return HasRoom() && !has_ended_ && fill_error_.ok() && !is_paused_ &&
           !background_.IsCancelled();
  }

  void StartFilling() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_filling_ || !MayFill()) return;
    background_.Start(Pool::kUnbounded, [this] { Fill(); });
    is_filling_ = true;  // unless Start threw; Fill waits for the lock
  }

  // Waits until the thread has ended, or the step is cancelled.
  absl::Status Pause(IteratorContext& context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_paused_ = true;
    return filled_.WaitFor(mutex_, context.scheduler(), context.cancellation(),
                           [this] {
                             mutex_.AssertHeld();
                             return !is_filling_;
                           });
  }
  // Must be called on every path after a Pause.
  void Resume() {
    mutex_.AssertHeld();
    is_paused_ = false;
  }

  void Fill() {
    absl::MutexLock lock(&mutex_);
    while (MayFill()) {
      mutex_.Unlock();
      absl::Status filled = CatchExceptions([this] { return FillOne(); });
      mutex_.Lock();
      if (!filled.ok()) fill_error_ = std::move(filled);
      filled_.Notify();
    }
    is_filling_ = false;
    filled_.Notify();
  }

  // An exception loses the element.
  absl::Status FillOne() ABSL_LOCKS_EXCLUDED(mutex_) {
    ElementResult result;
    const absl::StatusOr<bool> has = CatchExceptions([&] {
      return input_->GetNext(background_.context(), &result.element);
    });
    absl::MutexLock lock(&mutex_);
    if (has.ok() && !*has) {
      has_ended_ = true;
      return absl::OkStatus();
    }
    result.status = has.status();
    const int64_t bytes = result.TotalBytes();
    buffer_.push_back(std::move(result));
    bytes_ += bytes;
    return absl::OkStatus();
  }

  const std::unique_ptr<DatasetIterator> input_;
  const size_t capacity_;

  mutable absl::Mutex mutex_;
  Signal filled_;
  std::deque<ElementResult> buffer_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  // The error of an element that was lost after those in buffer_. Filling stops
  // until the consumer has taken it.
  absl::Status fill_error_ ABSL_GUARDED_BY(mutex_);
  bool is_filling_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_paused_ ABSL_GUARDED_BY(mutex_) = false;

  BackgroundWork background_;  // the last member
};

absl::StatusOr<std::unique_ptr<DatasetIterator>> PrefetchDataset::NewIterator(
    IteratorContext& context) const {
  ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
  if (size_ == 0) return input;
  const int64_t capacity =
      size_ == kAutotune ? context.scheduler().num_compute_threads() : size_;
  return std::make_unique<PrefetchIterator>(
      *this, std::move(input), static_cast<size_t>(capacity), context);
}

absl::StatusOr<DatasetPtr> MakePrefetch(const DatasetOp& op,
                                        OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const int64_t size,
                   ScalarInput<int64_t>(context, 1, "buffer_size"));
  RETURN_IF_ERROR(CheckElementTypes(op.element, input->output_types()));
  if (size < 0 && size != kAutotune) {
    return absl::InvalidArgumentError(
        absl::StrCat("buffer_size must be >= 0 or set buffer_size to be ",
                     kAutotune, " for auto-tuning, but is ", size));
  }
  return std::make_shared<PrefetchDataset>(op, std::move(input), size);
}

}  // namespace

void RegisterPrefetchDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "PrefetchDataset", MakePrefetch);
}

}  // namespace weft
