#include "libs/server/port_owner.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/transport.h"

namespace weft {
namespace {

constexpr absl::Duration kAnswerTime = absl::Seconds(1);

// Handshake sends HELLO and keeps the first answer of a task.
class Handshake : public bus::ChannelEvents {
 public:
  explicit Handshake(Process& process)
      : process_(process), heard_(process.scheduler().NewEvent()) {}

  // Returns the task's name, "" if its answer does not contain it, or nullopt
  // if no Weft task answers.
  std::optional<std::string> Exchange(const bus::Address& address) {
    const auto channel = process_.transport().Dial(
        address, {.incarnation = process_.random().NextId()}, "", this);
    heard_->WaitUntil(process_.clock().Now() + kAnswerTime);
    absl::MutexLock lock(&mutex_);
    return task_;
  }

 private:
  void OnConnected(const bus::Identity& peer) override { Heard(peer.task); }
  // Only a Weft task refuses a handshake. Other failures are retried.
  void OnDisconnected(const absl::Status& why) override {
    if (bus::IsRefusal(why)) Heard("");
  }
  void Heard(const std::string& task) {
    {
      absl::MutexLock lock(&mutex_);
      if (!task_.has_value()) task_ = task;
    }
    heard_->Set();
  }

  Process& process_;
  const std::unique_ptr<Event> heard_;
  absl::Mutex mutex_;
  std::optional<std::string> task_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status NameListener(Process& process, const bus::Address& address,
                          const absl::Status& status) {
  if (!absl::IsAlreadyExists(status)) return status;
  const auto task = Handshake(process).Exchange(address);
  const std::string listener =
      !task.has_value()
          ? "another program listens there, which is not a Weft task"
      : task->empty() ? "another task listens there"
                      : absl::StrCat("another task listens there, ", *task);
  return absl::AlreadyExistsError(
      absl::StrCat(status.message(), "; ", listener));
}

}  // namespace weft
