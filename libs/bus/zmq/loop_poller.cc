#include "libs/bus/zmq/loop_poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

absl::Status NoDescriptors() {
  return absl::ResourceExhaustedError(absl::StrCat(
      "The bus cannot start: ", std::generic_category().message(errno),
      "; raise the limit of open files (ulimit -n)"));
}

class EpollPoller : public LoopPoller {
 public:
  ~EpollPoller() override {
    if (wake_up_ >= 0) close(wake_up_);
    if (epoll_ >= 0) close(epoll_);
  }

  absl::Status Open() override {
    if (epoll_ < 0) epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (wake_up_ < 0) wake_up_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll_ < 0 || wake_up_ < 0) return NoDescriptors();
    // Fails now if the loop's thread, which will wait here, could not start.
    SystemThreadStarter starter;
    RETURN_IF_ERROR(CheckThreadsCanStart(starter, /*count=*/1));
    Add(wake_up_, kWakeUpTag);
    return absl::OkStatus();
  }

  void Add(int descriptor, uint64_t tag) override {
    Register(descriptor, tag, EPOLLIN);
  }

  void AddEdge(int descriptor, uint64_t tag) override {
    Register(descriptor, tag, EPOLLIN | EPOLLET);
  }

  void Remove(int descriptor) override {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
  }

  int Wait(int timeout_ms, absl::Span<uint64_t> tags) override {
    epoll_event events[kMaxTags];
    const size_t room = std::min<size_t>(kMaxTags, tags.size());
    const int n =
        epoll_wait(epoll_, events, static_cast<int>(room), timeout_ms);
    for (int i = 0; i < n; ++i) tags[i] = events[i].data.u64;
    return n;
  }

  void WakeUp() override {
    const uint64_t one = 1;
    // The write fails only if the counter is full; then the thread wakes up,
    // too.
    [[maybe_unused]] const ssize_t written = write(wake_up_, &one, sizeof(one));
  }

  void ConsumeWakeUps() override {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_up_, &count, sizeof(count));
  }

 private:
  void Register(int descriptor, uint64_t tag, uint32_t events) const {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = tag;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  }

  int epoll_ = -1;
  int wake_up_ = -1;  // an eventfd
};

}  // namespace

std::unique_ptr<LoopPoller> NewEpollPoller() {
  return std::make_unique<EpollPoller>();
}

}  // namespace weft::bus
