#include "libs/device/testing/fake_device.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace weft {
namespace {

// First fit over the free ranges of a number of bytes; does not access memory.
class Ranges {
 public:
  explicit Ranges(int64_t size) { free_[0] = size; }

  // Returns where `size` bytes begin; -1: nowhere.
  int64_t Take(int64_t size) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const auto [begin, length] = *it;
      free_.erase(it);
      if (length > size) free_[begin + size] = length - size;
      return begin;
    }
    return -1;
  }

  void GiveBack(int64_t begin, int64_t size) {
    auto it = free_.emplace(begin, size).first;
    const auto next = std::next(it);
    if (next != free_.end() && begin + size == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it == free_.begin()) return;
    const auto previous = std::prev(it);
    if (previous->first + previous->second != begin) return;
    previous->second += it->second;
    free_.erase(it);
  }

 private:
  std::map<int64_t, int64_t> free_;  // begin -> size
};

constexpr int64_t kGranularity = 256;

int64_t RoundUp(size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  return std::max<int64_t>(1, (size + kGranularity - 1) / kGranularity) *
         kGranularity;
}

}  // namespace

class FakeDevice::Impl : public Allocator,
                         public DeviceContext,
                         public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::string name, int64_t arena_bytes, Scheduler& scheduler)
      : name_(std::move(name)),
        scheduler_(scheduler),
        arena_bytes_(arena_bytes),
        arena_(static_cast<char*>(mmap(nullptr, arena_bytes, PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        ranges_(arena_bytes) {}
  ~Impl() override { munmap(arena_, arena_bytes_); }

  BufferPtr Allocate(size_t bytes) override;
  Allocator& pinned_allocator() override { return HeapAllocator(); }

  absl::Status CopyToDevice(const Tensor& from, const Tensor& to) override {
    ++copies_to_device;
    return Copy(from, to);
  }
  absl::Status CopyOnDevice(const Tensor& from, const Tensor& to) override {
    return Copy(from, to);
  }
  void CopyToHost(const Tensor& from, const Tensor& to, Done done) override {
    ++copies_to_host;
    Enqueue({from, to, std::move(done)});
  }
  void WhenDone(Done done) override { Enqueue({{}, {}, std::move(done)}); }

  absl::Status Launch(absl::FunctionRef<absl::Status()> kernel) {
    ++launches;
    std::deque<Work> done;
    absl::Status status;
    {
      absl::MutexLock lock(&mutex_);
      done = RunAll();
      status = error_;
      if (status.ok()) {
        Unprotect();
        status = kernel();
        Protect();
        error_ = std::exchange(next_error_, absl::OkStatus());
      }
    }
    Tell(std::move(done), status.ok() ? absl::OkStatus() : error());
    return status;
  }

  void Fail(absl::Status error) {
    absl::MutexLock lock(&mutex_);
    error_ = std::move(error);
  }

  void FailAfterNextLaunch(absl::Status error) {
    absl::MutexLock lock(&mutex_);
    next_error_ = std::move(error);
  }

  // Runs the pending work, and notifies the waiting callers.
  void Flush() {
    std::deque<Work> done;
    {
      absl::MutexLock lock(&mutex_);
      is_scheduled_ = false;
      done = RunAll();
    }
    Tell(std::move(done), error());
  }

  int64_t bytes_in_use() const { return bytes_in_use_.load(); }
  int64_t arena_bytes() const { return arena_bytes_; }

  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> copies_to_device{0};
  std::atomic<int64_t> copies_to_host{0};

 private:
  class ArenaBuffer;

  struct Work {
    Tensor from;
    Tensor to;
    Done done;  // null: no caller waits
  };

  absl::Status error() const {
    absl::MutexLock lock(&mutex_);
    return error_;
  }

  absl::Status Copy(const Tensor& from, const Tensor& to) {
    absl::Status status = error();
    if (status.ok()) Enqueue({from, to, nullptr});
    return status;
  }

  void Enqueue(Work work) {
    absl::MutexLock lock(&mutex_);
    queue_.push_back(std::move(work));
    if (std::exchange(is_scheduled_, true)) return;
    scheduler_.Schedule(Pool::kCompute,
                        [self = shared_from_this()] { self->Flush(); });
  }

  std::deque<Work> RunAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (error_.ok() && !queue_.empty()) {
      Unprotect();
      for (Work& work : queue_) {
        if (work.from.num_elements() > 0 && work.from.IsInitialized()) {
          std::memcpy(work.to.mutable_data(), work.from.data(),
                      work.from.num_bytes());
        }
      }
      Protect();
    }
    return std::exchange(queue_, {});
  }

  static void Tell(std::deque<Work> done, const absl::Status& status) {
    for (Work& work : done) {
      work.from = work.to = Tensor();
      if (work.done) work.done(status);
    }
  }

  void Unprotect() { mprotect(arena_, arena_bytes_, PROT_READ | PROT_WRITE); }
  void Protect() { mprotect(arena_, arena_bytes_, PROT_NONE); }

  const std::string name_;
  Scheduler& scheduler_;
  const int64_t arena_bytes_;
  char* const arena_;
  // Held while kernels run: one stream runs one kernel at a time.
  mutable absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  // The result of the next launch.
  absl::Status next_error_ ABSL_GUARDED_BY(mutex_);
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  bool is_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Mutex ranges_mutex_;  // innermost: buffers may be freed anywhere
  Ranges ranges_ ABSL_GUARDED_BY(ranges_mutex_);
  std::atomic<int64_t> bytes_in_use_{0};
};

class FakeDevice::Impl::ArenaBuffer final : public Buffer {
 public:
  ArenaBuffer(std::shared_ptr<Impl> impl, int64_t begin, size_t bytes)
      : Buffer(impl->arena_ + begin, bytes, MemoryKind::kDevice),
        impl_(std::move(impl)),
        begin_(begin) {}

 private:
  void Destroy() override {
    impl_->bytes_in_use_ -= RoundUp(size());
    {
      absl::MutexLock lock(&impl_->ranges_mutex_);
      impl_->ranges_.GiveBack(begin_, RoundUp(size()));
    }
    delete this;
  }

  const std::shared_ptr<Impl> impl_;
  const int64_t begin_;
};

BufferPtr FakeDevice::Impl::Allocate(size_t bytes) {
  if (bytes > static_cast<size_t>(arena_bytes_)) return {};
  int64_t begin = 0;
  {
    absl::MutexLock lock(&ranges_mutex_);
    begin = ranges_.Take(RoundUp(bytes));
  }
  if (begin < 0) return {};
  bytes_in_use_ += RoundUp(bytes);
  return BufferPtr::Adopt(new ArenaBuffer(shared_from_this(), begin, bytes));
}

FakeDevice::FakeDevice(const std::string& task_prefix, int index,
                       int64_t arena_bytes, Scheduler& scheduler)
    : FakeDevice(task_prefix, index,
                 std::make_shared<Impl>(
                     absl::StrCat(task_prefix, "/device:GPU:", index),
                     arena_bytes, scheduler)) {}

FakeDevice::FakeDevice(const std::string& task_prefix, int index,
                       std::shared_ptr<Impl> impl)
    : Device({.name = absl::StrCat(task_prefix, "/device:GPU:", index),
              .device_type = "GPU",
              .incarnation = 1 + static_cast<uint64_t>(index),
              .physical_description = "a device that the host plays"},
             *impl),
      impl_(std::move(impl)) {}

FakeDevice::~FakeDevice() { impl_->Flush(); }

DeviceContext* FakeDevice::context() const { return impl_.get(); }

DeviceMemory FakeDevice::memory() const {
  return {.total = impl_->arena_bytes(),
          .in_use = impl_->bytes_in_use(),
          .limit = impl_->arena_bytes()};
}

absl::Status FakeDevice::Launch(absl::FunctionRef<absl::Status()> kernel) {
  return impl_->Launch(kernel);
}

void FakeDevice::Fail(absl::Status error) { impl_->Fail(std::move(error)); }

void FakeDevice::FailAfterNextLaunch(absl::Status error) {
  impl_->FailAfterNextLaunch(std::move(error));
}

int64_t FakeDevice::launches() const { return impl_->launches; }
int64_t FakeDevice::copies_to_device() const { return impl_->copies_to_device; }
int64_t FakeDevice::copies_to_host() const { return impl_->copies_to_host; }
int64_t FakeDevice::bytes_in_use() const { return impl_->bytes_in_use(); }

}  // namespace weft
