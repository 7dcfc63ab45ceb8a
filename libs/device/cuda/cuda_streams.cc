#include "libs/device/cuda/cuda_streams.h"

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"

namespace weft {
namespace {

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

// Where the GPU copies from or to, for `tensor` in the host's memory: there if
// it is pinned, else `staging`, which is null when there is none. A copy
// without either makes the thread wait for the stream.
BufferPtr StagingFor(const Tensor& tensor, Allocator& pinned) {
  const BufferPtr& own = tensor.buffer();
  if (own && own->memory_kind() == MemoryKind::kPinnedHost) return BufferPtr();
  BufferPtr staging = pinned.Allocate(tensor.num_bytes());
  if (staging && staging->memory_kind() != MemoryKind::kPinnedHost) {
    return BufferPtr();
  }
  return staging;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStreams>> CudaStreams::Create(
    int ordinal, absl::string_view device_name, Allocator& pinned,
    Scheduler& scheduler) {
  auto streams = absl::WrapUnique(
      new CudaStreams(ordinal, device_name, pinned, scheduler));
  RETURN_IF_ERROR(streams->Named(streams->Start()));
  return streams;
}

CudaStreams::CudaStreams(int ordinal, absl::string_view device_name,
                         Allocator& pinned, Scheduler& scheduler)
    : ordinal_(ordinal),
      device_name_(device_name),
      pinned_(pinned),
      events_(std::make_shared<CudaEvents>()),
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
    // What is called back may ask for more, of another stream too.
    was_busy = computed_.Drain();
    was_busy |= on_device_.Drain();
    was_busy |= on_host_.Drain();
  }
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
  const BufferPtr staging = StagingFor(from, pinned_);
  if (staging) std::memcpy(staging->data(), from.data(), from.num_bytes());
  const void* const source = staging ? staging->data() : from.data();
  const absl::Status launched = LaunchCopyToDevice(source, to);
  // Also after an error: the copy may be on its way.
  Done keep = [from = staging ? Tensor() : from, to, staging](absl::Status) {};
  const absl::Status followed = Follow(to_device_, on_device_, keep);
  return Named(launched.ok() ? followed : launched);
}

absl::Status CudaStreams::LaunchCopyToDevice(const void* from,
                                             const Tensor& to) {
  {
    ASSIGN_OR_RETURN(const auto before, events_->Record(compute_));
    RETURN_IF_ERROR(before.HoldBack(to_device_));
  }
  RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(const_cast<void*>(to.data()), from, to.num_bytes(),
                      cudaMemcpyHostToDevice, to_device_),
      "a copy to the GPU"));
  ASSIGN_OR_RETURN(const auto copied, events_->Record(to_device_));
  return copied.HoldBack(compute_);
}

void CudaStreams::CopyToHost(const Tensor& from, const Tensor& to, Done done) {
  absl::Status status = failure();
  if (status.ok()) status = CheckCopy(from, to);
  if (!status.ok() || from.num_bytes() == 0) return done(status);
  Enter();
  BufferPtr staging = StagingFor(to, pinned_);
  void* const target = staging ? staging->data() : const_cast<void*>(to.data());
  const absl::Status launched = LaunchCopyToHost(from, target);
  Done finish = [this, launched, device = Tensor(from), host = Tensor(to),
                 staging = std::move(staging),
                 done = std::move(done)](absl::Status copied) mutable {
    if (!launched.ok()) copied = Named(launched);
    if (copied.ok() && staging) {
      std::memcpy(host.mutable_data(), staging->data(), host.num_bytes());
    }
    // Whoever waited may want the memory to himself.
    device = Tensor();
    host = Tensor();
    staging = BufferPtr();
    done(std::move(copied));
  };
  status = Follow(to_host_, on_host_, finish);
  if (!status.ok()) finish(Named(status));
}

absl::Status CudaStreams::LaunchCopyToHost(const Tensor& from, void* to) {
  ASSIGN_OR_RETURN(const auto before, events_->Record(compute_));
  RETURN_IF_ERROR(before.HoldBack(to_host_));
  return CudaStatus(cudaMemcpyAsync(to, from.data(), from.num_bytes(),
                                    cudaMemcpyDeviceToHost, to_host_),
                    "a copy from the GPU");
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
  status = Follow(compute_, computed_, done);
  if (!status.ok()) done(Named(status));
}

// Where the event can't be had, the thread itself waits: what `done` keeps must
// not go earlier.
absl::Status CudaStreams::Follow(cudaStream_t stream, CompletionQueue& queue,
                                 Done& done) {
  auto recorded = events_->Record(stream);
  if (!recorded.ok()) {
    cudaStreamSynchronize(stream);
    cudaGetLastError();
    return recorded.status();
  }
  queue.Add(
      [this, event = *std::move(recorded)] { return Outcome(event.Wait()); },
      std::move(done));
  return absl::OkStatus();
}

absl::Status CudaStreams::Named(const absl::Status& status) const {
  return Annotate(status, device_name_);
}

absl::Status CudaStreams::Outcome(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  if (failure_.ok()) {
    failure_ = Append(Named(status),
                      "; the device is lost until the task is started again");
  }
  return failure_;
}

absl::Status CudaStreams::failure() const {
  const absl::MutexLock lock(&mutex_);
  return failure_;
}

}  // namespace weft
