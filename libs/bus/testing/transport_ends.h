// Both ends of calls in transport tests: a handler that answers, holds and
// records, a caller that waits, and memory that is counted. They work with real
// threads and simulated ones.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_ENDS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_ENDS_H_

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/transport.h"

namespace weft::bus {

// Only a bug makes an operation take this long.
inline constexpr absl::Duration kTestTimeout = absl::Minutes(2);

// How RecordingHandler handles each method.
inline constexpr uint8_t kEcho = 100;         // fast: answers with the request
inline constexpr uint8_t kSlowEcho = 101;     // the same on the pool
inline constexpr uint8_t kControlEcho = 106;  // the same on the control pool
inline constexpr uint8_t kHold = 102;      // keeps the call, for a test to end
inline constexpr uint8_t kFail = 103;      // fails with fail_with
inline constexpr uint8_t kDrop = 104;      // drops the call without an answer
inline constexpr uint8_t kBlock = 105;     // fast, but waits for `unblock`
inline constexpr uint8_t kEndHold = 107;   // as kHold, with a reserve
inline constexpr uint8_t kNote = 110;      // fast one-way
inline constexpr uint8_t kSlowNote = 111;  // one-way on the pool
// One-way on the pool, where it waits for `unblock`.
inline constexpr uint8_t kBlockNote = 112;

// A condition that can be waited for.
class Changes {
 public:
  explicit Changes(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Tell() {
    std::vector<std::shared_ptr<Event>> events;
    {
      absl::MutexLock lock(&mutex_);
      events.swap(events_);
    }
    for (const auto& event : events) event->Set();
  }

  // Waits until `is_so`, which is evaluated again after each Tell; returns
  // false on timeout.
  bool WaitUntil(const std::function<bool()>& is_so) {
    const absl::Time deadline = scheduler_.clock().Now() + kTestTimeout;
    while (true) {
      std::shared_ptr<Event> changed = scheduler_.NewEvent();
      {
        absl::MutexLock lock(&mutex_);
        events_.push_back(changed);
      }
      if (is_so()) return true;
      if (!changed->WaitUntil(deadline)) return is_so();
    }
  }

 private:
  Scheduler& scheduler_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Event>> events_ ABSL_GUARDED_BY(mutex_);
};

// Counts the reserved memory; can be made to refuse.
class CountedMemory : public ReceiveMemory {
 public:
  explicit CountedMemory(Scheduler& scheduler, uint64_t limit = ~uint64_t{0})
      : counts_(std::make_shared<Counts>(scheduler)), limit_(limit) {}

  absl::StatusOr<Buffer> Reserve(uint64_t bytes) override {
    if (before_reserve) before_reserve();
    const std::shared_ptr<Counts> counts = counts_;
    {
      absl::MutexLock lock(&counts->mutex);
      if (bytes > limit_ || counts->now > limit_ - bytes) {
        return absl::ResourceExhaustedError("The test's memory is full");
      }
      counts->now += bytes;
    }
    std::shared_ptr<char> memory(new char[bytes], [counts, bytes](char* data) {
      delete[] data;
      {
        absl::MutexLock lock(&counts->mutex);
        counts->now -= bytes;
      }
      counts->changes.Tell();
    });
    char* data = memory.get();
    return Buffer{std::move(memory), data};
  }

  uint64_t reserved() const {
    absl::MutexLock lock(&counts_->mutex);
    return counts_->now;
  }

  // Waits until everything is released; a wire may hold what it sends for a
  // while.
  bool WaitUntilFree() {
    return counts_->changes.WaitUntil([this] { return reserved() == 0; });
  }

  // May wait. Must be set before any attachment arrives.
  std::function<void()> before_reserve;

 private:
  struct Counts {
    explicit Counts(Scheduler& scheduler) : changes(scheduler) {}
    Changes changes;
    absl::Mutex mutex;
    uint64_t now ABSL_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<Counts> counts_;
  const uint64_t limit_;
};

class RecordingHandler : public Handler {
 public:
  explicit RecordingHandler(Scheduler& scheduler)
      : unblock(scheduler.NewEvent()),
        scheduler_(scheduler),
        changes_(scheduler) {}

  bool IsFast(uint8_t method) const override {
    return method == kEcho || method == kHold || method == kNote ||
           method == kFail || method == kDrop || method == kBlock ||
           method == kEndHold;
  }
  bool IsControlMessage(const Message& message) const override {
    return message.method == kControlEcho;
  }
  bool IsServedWhileDraining(uint8_t method) const override {
    return method == kFail;
  }
  bool HasReserve(uint8_t method) const override { return method == kEndHold; }
  bool IsAcceptedWhileDraining(const Identity& peer) const override {
    return peer.task == kAcceptedWhileDraining;
  }
  static constexpr char kAcceptedWhileDraining[] = "/job:ps/task:0";
  absl::Status OnConnect(const Peer& peer) override {
    bool refuses = false;
    Change([&] {
      refuses = connects.size() < num_refused;
      connects.push_back(peer);
    });
    return refuses ? refuse_with : absl::OkStatus();
  }
  void OnDisconnect(const Peer& peer, const absl::Status& why) override {
    Change([&] { disconnects.push_back({peer.id, why}); });
  }
  void OnRequest(std::shared_ptr<IncomingCall> call, Message request) override {
    switch (request.method) {
      case kEcho:
      case kSlowEcho:
      case kControlEcho:
        call->Reply(std::move(request));
        break;
      case kFail:
        call->Fail(fail_with);
        break;
      case kBlock:
        if (on_block) on_block();
        unblock->WaitUntil(scheduler_.clock().Now() + kTestTimeout);
        call->Reply(std::move(request));
        break;
      case kHold:
      case kEndHold:
        Change([&] { held.push_back({std::move(call), std::move(request)}); });
        break;
      default:
        break;
    }
  }
  void OnOneWay(const Peer& peer, Message message,
                const absl::Status& received) override {
    if (message.method == kBlockNote) {
      unblock->WaitUntil(scheduler_.clock().Now() + kTestTimeout);
    }
    Change([&] { notes.push_back({peer.id, std::move(message), received}); });
  }

  struct Disconnected {
    uint64_t peer;
    absl::Status why;
  };
  struct Held {
    std::shared_ptr<IncomingCall> call;
    Message request;
  };
  struct Note {
    uint64_t peer;
    Message message;
    absl::Status received;
  };

  // Waits until `is_so`, which runs with the lock held.
  bool WaitUntil(const std::function<bool()>& is_so) {
    return changes_.WaitUntil([&] {
      absl::MutexLock lock(&mutex);
      return is_so();
    });
  }
  std::vector<Held> TakeHeld() {
    absl::MutexLock lock(&mutex);
    return std::exchange(held, {});
  }

  // Must be set before any peer connects: the error for the first ones.
  absl::Status refuse_with;
  size_t num_refused = std::numeric_limits<size_t>::max();
  absl::Status fail_with = absl::NotFoundError("no such thing");
  std::function<void()> on_block;  // kBlock has begun; may be null
  const std::unique_ptr<Event> unblock;

  // Guarded by mutex.
  mutable absl::Mutex mutex;
  std::vector<Peer> connects;
  std::vector<Disconnected> disconnects;
  std::vector<Held> held;
  std::vector<Note> notes;

 private:
  void Change(const std::function<void()>& change) {
    {
      absl::MutexLock lock(&mutex);
      change();
    }
    changes_.Tell();
  }

  Scheduler& scheduler_;
  Changes changes_;
};

// Records the events that a channel reports to its owner.
class RecordingChannelEvents : public ChannelEvents {
 public:
  explicit RecordingChannelEvents(Scheduler& scheduler) : changes_(scheduler) {}

  void OnConnected(const Identity& peer) override {
    {
      absl::MutexLock lock(&mutex);
      connected.push_back(peer);
    }
    changes_.Tell();
  }
  void OnDisconnected(const absl::Status& why) override {
    {
      absl::MutexLock lock(&mutex);
      disconnected.push_back(why);
    }
    changes_.Tell();
  }
  bool WaitForConnects(size_t count) {
    return changes_.WaitUntil([&] {
      absl::MutexLock lock(&mutex);
      return connected.size() >= count;
    });
  }
  bool WaitForDisconnects(size_t count) {
    return changes_.WaitUntil([&] {
      absl::MutexLock lock(&mutex);
      return disconnected.size() >= count;
    });
  }
  // Waits for a disconnect whose message contains `text`, and returns it.
  absl::Status WaitForDisconnectThatSays(absl::string_view text) {
    absl::Status found = absl::DeadlineExceededError("TEST: none said so");
    changes_.WaitUntil([&] {
      absl::MutexLock lock(&mutex);
      for (const absl::Status& why : disconnected) {
        if (absl::StrContains(why.message(), text)) found = why;
      }
      return !absl::IsDeadlineExceeded(found);
    });
    return found;
  }
  absl::Status first_disconnect() const {
    absl::MutexLock lock(&mutex);
    return disconnected.empty() ? absl::OkStatus() : disconnected[0];
  }

  mutable absl::Mutex mutex;
  std::vector<Identity> connected;
  std::vector<absl::Status> disconnected;

 private:
  Changes changes_;
};

// The answer to one call, and how often it arrived.
class Answer {
 public:
  explicit Answer(Scheduler& scheduler)
      : state_(std::make_shared<State>(scheduler)) {}

  Channel::Callback callback() const {
    return [state = state_](absl::StatusOr<Message> result) {
      {
        absl::MutexLock lock(&state->mutex);
        ++state->times;
        state->result = std::move(result);
      }
      state->changes.Tell();
    };
  }
  // Returns the test's own DEADLINE_EXCEEDED if no answer arrives.
  absl::StatusOr<Message> Wait() const {
    const bool came = state_->changes.WaitUntil([this] { return times() > 0; });
    if (!came) return absl::DeadlineExceededError("TEST: no answer came");
    absl::MutexLock lock(&state_->mutex);
    return state_->result;
  }
  int times() const {
    absl::MutexLock lock(&state_->mutex);
    return state_->times;
  }

 private:
  struct State {
    explicit State(Scheduler& scheduler) : changes(scheduler) {}
    Changes changes;
    absl::Mutex mutex;
    int times ABSL_GUARDED_BY(mutex) = 0;
    absl::StatusOr<Message> result ABSL_GUARDED_BY(mutex) =
        absl::UnknownError("no answer yet");
  };
  const std::shared_ptr<State> state_;
};

// Bytes that differ from position to position.
inline std::string Pattern(size_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < size; i += 61) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<char>(state >> 24);
  }
  return bytes;
}

inline Message NewMessage(uint8_t method, const std::string& body,
                          std::vector<std::string> attachments = {}) {
  Message message;
  message.method = method;
  message.body = Blob::FromString(body);
  for (std::string& bytes : attachments) {
    message.attachments.push_back(Blob::FromString(std::move(bytes)));
  }
  return message;
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_ENDS_H_
