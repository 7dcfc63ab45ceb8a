// RecordingEnd is one end of connections that records its events, for tests to
// wait for and inspect. Works with real threads and simulated ones.
#ifndef WEFT_LIBS_BUS_TESTING_RECORDING_END_H_
#define WEFT_LIBS_BUS_TESTING_RECORDING_END_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Only a bug makes an operation take this long.
inline constexpr absl::Duration kTimeout = absl::Seconds(60);

class RecordingEnd : public WireEvents {
 public:
  struct Entry {
    enum class Kind { kOpen, kMessage, kClose };
    Kind kind;
    ConnectionId connection = 0;
    Frames frames;
    absl::Status why;
  };
  using OnEntry = std::function<void(const Entry&)>;

  // `on_entry` runs inside each event, after it is recorded.
  explicit RecordingEnd(Scheduler& scheduler, OnEntry on_entry = nullptr)
      : scheduler_(scheduler), on_entry_(std::move(on_entry)) {}

  void OnOpen(ConnectionId connection) override {
    Record({Entry::Kind::kOpen, connection, {}, {}});
  }
  void OnMessage(ConnectionId connection, Frames frames) override {
    Record({Entry::Kind::kMessage, connection, std::move(frames), {}});
  }
  void OnClose(ConnectionId connection, const absl::Status& why) override {
    Record({Entry::Kind::kClose, connection, {}, why});
  }

  // Waits until `enough` returns true for the recorded entries; returns false
  // on timeout.
  bool WaitFor(const std::function<bool(const std::vector<Entry>&)>& enough) {
    const absl::Time deadline = scheduler_.clock().Now() + kTimeout;
    while (true) {
      std::shared_ptr<Event> changed = scheduler_.NewEvent();
      {
        absl::MutexLock lock(&mutex_);
        if (enough(entries_)) return true;
        changed_ = changed;
      }
      if (!changed->WaitUntil(deadline)) return false;
    }
  }

  // Waits for `count` entries of a kind, over all connections.
  bool WaitForCount(Entry::Kind kind, size_t count) {
    return WaitFor([kind, count](const std::vector<Entry>& entries) {
      size_t n = 0;
      for (const Entry& entry : entries) n += entry.kind == kind;
      return n >= count;
    });
  }
  bool WaitForOpens(size_t n) { return WaitForCount(Entry::Kind::kOpen, n); }
  bool WaitForMessages(size_t n) {
    return WaitForCount(Entry::Kind::kMessage, n);
  }
  bool WaitForCloses(size_t n) { return WaitForCount(Entry::Kind::kClose, n); }

  std::vector<Entry> entries() const {
    absl::MutexLock lock(&mutex_);
    return entries_;
  }
  // The messages of all connections, in order of arrival.
  std::vector<Frames> messages() const {
    std::vector<Frames> result;
    for (const Entry& entry : entries()) {
      if (entry.kind == Entry::Kind::kMessage) result.push_back(entry.frames);
    }
    return result;
  }
  // The texts of the first frames.
  std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const Frames& frames : messages()) {
      result.emplace_back(frames[0].view());
    }
    return result;
  }

 private:
  void Record(const Entry& entry) {
    std::shared_ptr<Event> changed;
    {
      absl::MutexLock lock(&mutex_);
      entries_.push_back(entry);
      changed = std::move(changed_);
    }
    if (changed != nullptr) changed->Set();
    if (on_entry_) on_entry_(entry);
  }

  Scheduler& scheduler_;
  const OnEntry on_entry_;
  mutable absl::Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Event> changed_ ABSL_GUARDED_BY(mutex_);
};

inline Frames Text(const std::string& text) { return {Blob::FromString(text)}; }

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_RECORDING_END_H_
