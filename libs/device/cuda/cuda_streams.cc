#include "libs/device/cuda/cuda_streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"
#include "libs/device/cuda/staged_copy.h"

namespace weft {
namespace {

// Copies up to this size run on the kernels' stream.
constexpr size_t kFewBytes = size_t{64} << 10;
// Small copies whose memory is kept until the next step ends; after this many
// an event is recorded for them alone.
constexpr size_t kMostKept = 256;

absl::Status NewStream(cudaStream_t& stream) {
  return CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                    "a new stream");
}

absl::Status CheckCopy(const Tensor& from, const Tensor& to) {
  if (from.dtype() == to.dtype() && from.num_bytes() == to.num_bytes()) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      "a copy of ", DataTypeName(from.dtype()), from.shape().ToString(), " to ",
      DataTypeName(to.dtype()), to.shape().ToString()));
}

// Copies from the GPU.
absl::Status CopyTo(void* host, const Tensor& from, cudaStream_t stream) {
  return CudaStatus(cudaMemcpyAsync(host, from.data(), from.num_bytes(),
                                    cudaMemcpyDeviceToHost, stream),
                    "a copy from the GPU");
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStreams>> CudaStreams::Create(
    int ordinal, absl::string_view device_name,
    std::shared_ptr<LaunchClock> clock, Allocator& pinned,
    Scheduler& scheduler) {
  auto streams = absl::WrapUnique(new CudaStreams(
      ordinal, device_name, std::move(clock), pinned, scheduler));
  RETURN_IF_ERROR(streams->Named(streams->Start()));
  return streams;
}

CudaStreams::CudaStreams(int ordinal, absl::string_view device_name,
                         std::shared_ptr<LaunchClock> clock, Allocator& pinned,
                         Scheduler& scheduler)
    : ordinal_(ordinal),
      device_name_(device_name),
      pinned_(pinned),
      scheduler_(scheduler),
      events_(std::make_shared<CudaEvents>()),
      marks_(std::move(clock)),
      computed_(scheduler),
      on_device_(scheduler),
      on_host_(scheduler) {}

absl::Status CudaStreams::Start() {
  Enter();
  RETURN_IF_ERROR(NewStream(compute_));
  RETURN_IF_ERROR(NewStream(to_device_));
  return NewStream(to_host_);
}

void CudaStreams::Drain() {
  bool was_busy = true;
  while (was_busy) {
    Enter();
    for (cudaStream_t stream : {compute_, to_device_, to_host_}) {
      if (stream != nullptr) cudaStreamSynchronize(stream);
    }
    cudaGetLastError();
    // Callbacks may request more, on another stream as well.
    was_busy = computed_.Drain();
    was_busy |= on_device_.Drain();
    was_busy |= on_host_.Drain();
  }
}

bool CudaStreams::IsCalledBack() const {
  return computed_.IsCalledBack() || on_device_.IsCalledBack() ||
         on_host_.IsCalledBack();
}

CudaStreams::~CudaStreams() {
  Drain();
  for (cudaStream_t stream : {compute_, to_device_, to_host_}) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  cudaGetLastError();
}

absl::Status CudaStreams::CopyToDevice(const Tensor& from, const Tensor& to) {
  RETURN_IF_ERROR(failure());
  RETURN_IF_ERROR(CheckCopy(from, to));
  if (from.num_bytes() == 0) return absl::OkStatus();
  Enter();
  return Named(from.num_bytes() <= kFewBytes ? CopyFew(from, to)
                                             : CopyMuch(from, to));
}

absl::Status CudaStreams::CopyFew(const Tensor& from, const Tensor& to) {
  // A few bytes of a large buffer must not keep all of it.
  const bool is_pinned =
      IsPinned(from.buffer()) && from.buffer()->size() <= kFewBytes;
  BufferPtr source =
      is_pinned ? from.buffer() : AllocatePinned(pinned_, from.num_bytes());
  if (!source) return CopyMuch(from, to);
  const void* data = from.data();
  if (!is_pinned) {
    std::memcpy(source->data(), data, from.num_bytes());
    data = source->data();
  }
  const cudaError_t error =
      cudaMemcpyAsync(const_cast<void*>(to.data()), data, to.num_bytes(),
                      cudaMemcpyHostToDevice, compute_);
  Keep(std::move(source));
  return CudaStatus(error, "a copy to the GPU");
}

absl::Status CudaStreams::CopyMuch(const Tensor& from, const Tensor& to) {
  ASSIGN_OR_RETURN(const uint64_t number, HoldBackForReuse(to));
  void* const target = const_cast<void*>(to.data());
  absl::Status launched;
  Tensor source;
  std::vector<BufferPtr> chunks;
  if (IsPinned(from.buffer())) {
    source = from;
    launched = CudaStatus(cudaMemcpyAsync(target, from.data(), to.num_bytes(),
                                          cudaMemcpyHostToDevice, to_device_),
                          "a copy to the GPU");
  } else {
    StagedCopy copy({.ordinal = ordinal_,
                     .stream = to_device_,
                     .pinned = &pinned_,
                     .events = events_.get(),
                     .scheduler = &scheduler_,
                     .is_flowing = IsFlowing()});
    launched = copy.Launch(target, from.data(), from.num_bytes());
    chunks = copy.TakeChunks();
    if (copy.reads_source()) source = from;
  }
  // Also after an error: the copy may be in progress.
  const absl::Status ordered = OrderBeforeKernels(
      number, [source, to, chunks = std::move(chunks)](absl::Status) {});
  return launched.ok() ? ordered : launched;
}

absl::StatusOr<uint64_t> CudaStreams::HoldBackForReuse(const Tensor& to) {
  const auto last_use = RegionPool::LastUse(*to.buffer().get(), marks_.clock());
  LaunchMarks<CudaEvents::Recorded>::Wait wait{.is_needed = true};
  if (last_use) wait = marks_.WaitFor(*last_use);
  if (!wait.is_needed) return 0;
  Mark mark{wait.number, wait.event};
  if (mark.event == nullptr) {
    ASSIGN_OR_RETURN(mark, MarkCompute());
  }
  {
    const absl::MutexLock lock(&mutex_);
    held_back_for_ = std::max(held_back_for_, mark.number);
  }
  RETURN_IF_ERROR(mark.event->HoldBack(to_device_));
  return mark.number;
}

bool CudaStreams::IsFlowing() const {
  const absl::MutexLock lock(&mutex_);
  return marks_.HasEnded(held_back_for_);
}

absl::Status CudaStreams::OrderBeforeKernels(uint64_t number, Done keep) {
  auto copied = events_->Record(to_device_);
  if (!copied.ok()) return WaitHere(to_device_, copied.status());
  absl::Status held = copied->HoldBack(compute_);
  if (!held.ok()) held = WaitHere(to_device_, held);
  on_device_.Add(
      [this, number, event = *std::move(copied)] {
        return WaitFor(event, number);
      },
      std::move(keep));
  return held;
}

void CudaStreams::Keep(BufferPtr buffer) {
  {
    const absl::MutexLock lock(&mutex_);
    kept_.push_back(std::move(buffer));
    if (kept_.size() < kMostKept) return;
  }
  Done nothing = [](absl::Status) {};
  // A caller that waits for the stream gets the error again.
  (void)FollowCompute(nothing);
}

CudaStreams::Kept CudaStreams::TakeKept() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(kept_, {});
}

void CudaStreams::CopyToHost(const Tensor& from, const Tensor& to, Done done) {
  absl::Status status = failure();
  if (status.ok()) status = CheckCopy(from, to);
  if (!status.ok() || from.num_bytes() == 0) return done(status);
  Enter();
  // Without pinned memory the copy blocks the thread until the stream is done.
  BufferPtr staging = IsPinned(to.buffer())
                          ? BufferPtr()
                          : AllocatePinned(pinned_, to.num_bytes());
  void* const target = staging ? staging->data() : const_cast<void*>(to.data());
  const bool is_few = from.num_bytes() <= kFewBytes;
  uint64_t number = 0;
  const absl::Status launched =
      Named(is_few ? CopyTo(target, from, compute_)
                   : LaunchCopyToHost(from, target, number));
  Done finish = [this, launched, device = Tensor(from), host = Tensor(to),
                 staging = std::move(staging),
                 done = std::move(done)](absl::Status copied) mutable {
    if (!launched.ok()) copied = launched;
    if (copied.ok() && staging) {
      CopyInParallel(scheduler_, host.mutable_data(), staging->data(),
                     host.num_bytes());
    }
    // The waiting caller may need to be the only owner of the memory.
    device = Tensor();
    host = Tensor();
    staging = BufferPtr();
    done(std::move(copied));
  };
  status = is_few ? FollowCompute(finish)
                  : Follow(to_host_, number, on_host_, finish);
  if (!status.ok()) finish(Named(status));
}

absl::Status CudaStreams::LaunchCopyToHost(const Tensor& from, void* to,
                                           uint64_t& number) {
  ASSIGN_OR_RETURN(const Mark before, MarkCompute());
  RETURN_IF_ERROR(before.event->HoldBack(to_host_));
  number = before.number;  // not before: the stream waits for it only now
  return CopyTo(to, from, to_host_);
}

absl::Status CudaStreams::CopyOnDevice(const Tensor& from, const Tensor& to) {
  RETURN_IF_ERROR(failure());
  RETURN_IF_ERROR(CheckCopy(from, to));
  if (from.num_bytes() == 0) return absl::OkStatus();
  Enter();
  return Named(CudaStatus(
      cudaMemcpyAsync(const_cast<void*>(to.data()), from.data(),
                      from.num_bytes(), cudaMemcpyDeviceToDevice, compute_),
      "a copy on the GPU"));
}

void CudaStreams::WhenDone(Done done) {
  absl::Status status = failure();
  if (!status.ok()) return done(status);
  Enter();
  status = FollowCompute(done);
  if (!status.ok()) done(Named(status));
}

absl::Status CudaStreams::Failure() {
  RETURN_IF_ERROR(failure());
  Enter();
  if (!CudaDeviceIsLost()) return absl::OkStatus();
  return Outcome(
      CudaStatus(cudaStreamQuery(cudaStreamLegacy), "what the GPU was doing"));
}

absl::StatusOr<CudaStreams::Mark> CudaStreams::MarkCompute() {
  Mark mark;
  mark.number = marks_.Begin();
  ASSIGN_OR_RETURN(auto event, events_->Record(compute_));
  mark.event = std::make_shared<const CudaEvents::Recorded>(std::move(event));
  marks_.Recorded(mark.number, mark.event);
  return mark;
}

absl::Status CudaStreams::FollowCompute(Done& done) {
  Kept kept = TakeKept();  // before the mark, so that it covers them
  const auto mark = MarkCompute();
  if (!mark.ok()) return WaitHere(compute_, mark.status());
  computed_.Add(
      [this, mark = *mark, kept = std::move(kept)] {
        return WaitFor(*mark.event, mark.number);
      },
      std::move(done));
  return absl::OkStatus();
}

absl::Status CudaStreams::Follow(cudaStream_t stream, uint64_t number,
                                 CompletionQueue& queue, Done& done) {
  auto recorded = events_->Record(stream);
  if (!recorded.ok()) return WaitHere(stream, recorded.status());
  queue.Add([this, number,
             event = *std::move(recorded)] { return WaitFor(event, number); },
            std::move(done));
  return absl::OkStatus();
}

absl::Status CudaStreams::WaitFor(const CudaEvents::Recorded& event,
                                  uint64_t number) {
  const absl::Status status = Outcome(event.Wait());
  marks_.Ended(number);
  return status;
}

absl::Status CudaStreams::WaitHere(cudaStream_t stream,
                                   const absl::Status& why) {
  cudaStreamSynchronize(stream);
  cudaGetLastError();
  return why;
}

absl::Status CudaStreams::Named(const absl::Status& status) {
  if (status.ok()) return status;
  Enter();  // the callback may have made another GPU the thread's current one
  return CudaDeviceIsLost() ? Outcome(status) : Annotate(status, device_name_);
}

absl::Status CudaStreams::Outcome(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  if (failure_.ok()) {
    failure_ = CudaLost(Annotate(status, device_name_));
  }
  return failure_;
}

absl::Status CudaStreams::failure() const {
  const absl::MutexLock lock(&mutex_);
  return failure_;
}

}  // namespace weft
