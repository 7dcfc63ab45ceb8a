// SimulatedPoller is a LoopPoller without system descriptors. A simulated
// scheduler chooses when its waits end.
//
// It also checks the reader: two threads must not wait at the same time, and
// waits must not return repeatedly without any progress in between
// (Progressed).
//
// Threads: as LoopPoller; one thread of the simulation runs at a time, which
// protects all state here.
#ifndef WEFT_LIBS_BUS_TESTING_SIMULATED_POLLER_H_
#define WEFT_LIBS_BUS_TESTING_SIMULATED_POLLER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/lock_observer.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/zmq/loop_poller.h"

namespace weft::bus {

class SimulatedPoller : public LoopPoller {
 public:
  using Violate = std::function<void(const std::string& what)>;

  // `scheduler` must outlive it. `is_look_rest`: the loop polls for a while
  // before it sleeps, so that a poll without result is not work.
  SimulatedPoller(Scheduler& scheduler, bool is_look_rest, Violate violate)
      : scheduler_(scheduler),
        is_look_rest_(is_look_rest),
        violate_(std::move(violate)) {}

  void SetReadable(int descriptor, bool is_readable) {
    readable_[descriptor] = is_readable;
    if (is_readable) EndWait();
  }
  // The reader has received or delivered something.
  void Progressed() { returns_without_progress_ = 0; }

  absl::Status Open() override { return absl::OkStatus(); }
  void Add(int descriptor, uint64_t tag) override {
    tags_[descriptor] = tag;
    EndWait();
  }
  // No simulated socket listens.
  void AddEdge(int, uint64_t) override {}
  void Remove(int descriptor) override { tags_.erase(descriptor); }

  int Wait(int timeout_ms, absl::Span<uint64_t> tags) override {
    if (std::exchange(is_waiting_, true)) violate_("two threads read at once");
    const bool has_rested = Rest(timeout_ms);
    is_waiting_ = false;
    if (has_rested) {
      Progressed();
    } else if (++returns_without_progress_ >= kSpinning) {
      violate_("the reader spins: its waits return at once, for nothing");
    }
    return Collect(tags);
  }

  void WakeUp() override {
    is_woken_ = true;
    EndWait();
  }
  void ConsumeWakeUps() override {
    if (std::exchange(is_woken_, false)) Progressed();
  }

 private:
  // A wait may return once for a needless wake, and once for input that is not
  // received yet.
  static constexpr int kSpinning = 3;
  // The duration of a poll, so that time passes for a polling reader.
  static constexpr absl::Duration kLook = absl::Microseconds(20);

  bool IsAnyReadable() const {
    for (const auto& [descriptor, tag] : tags_) {
      const auto found = readable_.find(descriptor);
      if (found != readable_.end() && found->second) return true;
    }
    return is_woken_;
  }

  // Returns whether it has waited.
  bool Rest(int timeout_ms) {
    // A change between a poll and the following wait must end that wait.
    const Uninterrupted whole;
    if (IsAnyReadable()) return false;
    const absl::Time deadline = scheduler_.clock().Now() + TimeOf(timeout_ms);
    while (!IsAnyReadable() && scheduler_.clock().Now() < deadline) {
      const std::unique_ptr<Event> event = scheduler_.NewEvent();
      wait_ = event.get();
      event->WaitUntil(deadline);
      wait_ = nullptr;
    }
    return timeout_ms != 0 || is_look_rest_;
  }
  static absl::Duration TimeOf(int timeout_ms) {
    if (timeout_ms == kForever) return absl::InfiniteDuration();
    return timeout_ms == 0 ? kLook : absl::Milliseconds(timeout_ms);
  }

  int Collect(absl::Span<uint64_t> tags) {
    size_t n = 0;
    if (is_woken_) tags[n++] = kWakeUpTag;
    for (const auto& [descriptor, tag] : tags_) {
      if (readable_[descriptor] && n < tags.size()) tags[n++] = tag;
    }
    return static_cast<int>(n);
  }

  void EndWait() {
    const Uninterrupted whole;
    if (wait_ != nullptr) wait_->Set();
  }

  Scheduler& scheduler_;
  const bool is_look_rest_;
  const Violate violate_;
  std::map<int, uint64_t> tags_;  // of the watched descriptors
  std::map<int, bool> readable_;
  bool is_woken_ = false;
  bool is_waiting_ = false;
  Event* wait_ = nullptr;
  int returns_without_progress_ = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_SIMULATED_POLLER_H_
