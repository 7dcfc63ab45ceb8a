// The reader of a ZeroMQ channel under a simulated scheduler: callers that
// lead, are refused, hand over and are interrupted, beside threads that only
// send, while the loop's thread parks and comes back. Whatever the schedule,
// each message is delivered once, in order and soon, one thread reads at a
// time, no thread spins, and all end.
//
// libs/base/testing/seeds.h describes how to run other seeds;
// tools/mutants runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/lock_observer.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/base/testing/seeds.h"
#include "libs/bus/testing/simulated_poller.h"
#include "libs/bus/testing/simulated_socket.h"
#include "libs/bus/wire.h"
#include "libs/bus/zmq/connection_table.h"
#include "libs/bus/zmq/zmq_loop.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

constexpr uint64_t kSeeds = 60;
constexpr int kSockets = 3;
constexpr uint64_t kMostCallers = 4;
constexpr int kCallsOfEach = 30;
constexpr int kControlCalls = 60;
// The maximum delay of a message with the loop's thread parked, or with a
// socket that must be retried.
constexpr absl::Duration kSoon = absl::Milliseconds(4);
// The maximum delay with an active reader: some polls of the loop.
constexpr absl::Duration kAtOnce = absl::Milliseconds(1);
// The maximum delay if threads are stalled for some milliseconds, several
// times.
constexpr absl::Duration kSoonWhenStalled = absl::Milliseconds(500);
constexpr absl::Duration kLongestStall = absl::Milliseconds(5);
constexpr absl::Duration kHang = absl::Seconds(10);
constexpr int kSecondsOfAll = 60;
// The number of violations after which a test stops: a spinning thread may
// never end.
constexpr size_t kTooMany = 50;

// Schedules the loop's closures, and observes the waits of its own thread.
class LoopThread : public ForwardingScheduler {
 public:
  LoopThread(Scheduler& all, std::function<void()> on_spin)
      : ForwardingScheduler(all), on_spin_(std::move(on_spin)) {}

  // Each leader may call the parked thread back once, and the last one's call
  // may be noticed late.
  void LeadHasBegun() { calls_left_ = std::min(calls_left_ + 1, 2); }

  void Schedule(Pool pool, Closure closure) override {
    to().Schedule(pool, [closure = std::move(closure)]() mutable {
      is_loop_ = true;
      closure();
      is_loop_ = false;
    });
  }
  std::unique_ptr<Event> NewEvent() override {
    return std::make_unique<WatchedEvent>(*this, to().NewEvent());
  }

 private:
  class WatchedEvent : public Event {
   public:
    WatchedEvent(LoopThread& thread, std::unique_ptr<Event> event)
        : thread_(thread), event_(std::move(event)) {}
    void Set() override { event_->Set(); }
    bool IsSet() const override { return event_->IsSet(); }
    bool WaitUntil(absl::Time deadline) override {
      const bool is_set = event_->WaitUntil(deadline);
      if (is_loop_ && is_set) thread_.WasCalledBack();
      return is_set;
    }

   private:
    LoopThread& thread_;
    const std::unique_ptr<Event> event_;
  };

  void WasCalledBack() {
    if (--calls_left_ < 0) on_spin_();
  }

  static thread_local bool is_loop_;
  const std::function<void()> on_spin_;
  int calls_left_ = 0;
};
thread_local bool LoopThread::is_loop_ = false;

// The contents of a message.
struct Parcel {
  uint64_t call = 0;
  uint64_t place = 0;  // position among those of its socket
  absl::Time arrival;
};

Frames Packed(const Parcel& parcel) {
  return {Blob::FromString(
      std::string(reinterpret_cast<const char*>(&parcel), sizeof(parcel)))};
}

Parcel Unpacked(const Frames& frames) {
  Parcel parcel;
  std::memcpy(&parcel, frames[0].data(), sizeof(parcel));
  return parcel;
}

// A channel's loop, its sockets, the network that answers all they send, and
// the callers.
class LoopWorld : private WireEvents {
 public:
  explicit LoopWorld(uint64_t seed)
      : seed_(seed),
        random_(NewSeededRandom(seed * 7919 + 1)),
        scheduler_(clock_,
                   {.seed = seed, .pools = {.control = 1}, .on_deadlock = {}}) {
    const absl::Duration busy_poll =
        absl::Microseconds(Chance(2) == 0 ? 0 : 200);
    auto poller = NewPoller(busy_poll);
    poller_ = poller.get();
    loop_ = std::make_unique<ZmqLoop>(thread_, busy_poll, std::move(poller));
    other_loop_ =
        std::make_unique<ZmqLoop>(thread_, busy_poll, NewPoller(busy_poll));
    EXPECT_TRUE(loop_->Start().ok());
    for (int i = 0; i < kSockets; ++i) AddSocket(i);
  }

  void Run() {
    SetYields();
    const uint64_t num_callers = 1 + Chance(kMostCallers);
    for (uint64_t i = 0; i < num_callers; ++i) {
      Start(Pool::kBlocking, [this] { CallAgainAndAgain(); });
    }
    Start(Pool::kControl, [this] { CallAsControl(kControlCalls); });
    for (int i = 0; num_running_ > 0; ++i) {
      if (i > kSecondsOfAll) Abort();
      scheduler_.AdvanceBy(absl::Seconds(1));
    }
    End();
  }

  const std::vector<std::string>& violations() const { return violations_; }
  int num_led() const { return num_led_; }
  int num_refused() const { return num_refused_; }

 private:
  struct Socket {
    std::shared_ptr<SimulatedSocket> socket;
    ConnectionId id = 0;
    uint64_t num_arrived = 0;
    uint64_t num_delivered = 0;
  };
  struct Call {
    std::shared_ptr<Event> answered;
    bool is_answered = false;
    // The number of leads when its caller was refused; -1: it was not.
    int leads_at_refusal = -1;
  };

  std::unique_ptr<SimulatedPoller> NewPoller(absl::Duration busy_poll) {
    return std::make_unique<SimulatedPoller>(
        scheduler_, /*is_look_rest=*/busy_poll > absl::ZeroDuration(),
        [this](const std::string& what) { Violate(what); });
  }

  void AddSocket(int i) {
    ChannelParts parts;
    parts.scheduler = &scheduler_;
    parts.table = &table_;
    parts.options = &options_;
    parts.loop = loop_.get();
    parts.other_loop = other_loop_.get();
    Socket& added = sockets_[i];
    added.socket = std::make_shared<SimulatedSocket>(
        parts, SimulatedSocket::Options{
                   .poller = poller_,
                   .random = random_.get(),
                   .events = this,
                   .descriptor = 2 * i,
                   .network = [this, i](Frames frames) { Answer(i, frames); }});
    added.id = added.socket->Open();
    index_[added.id] = i;
  }

  void SetYields() {
    stalls_ = Chance(3) == 0;
    scheduler_.set_yields(
        {.one_in = std::vector<uint64_t>{100, 20, 4}[Chance(3)],
         .percent_last = 10,
         .percent_stalled = stalls_ ? uint64_t{10} : uint64_t{0},
         .longest_stall = kLongestStall,
         .focus_one_in = stalls_ ? uint64_t{3} : uint64_t{0}});
  }

  void Start(Pool pool, Scheduler::Closure closure) {
    ++num_running_;
    scheduler_.Schedule(pool, [this, closure = std::move(closure)]() mutable {
      closure();
      --num_running_;
    });
  }

  // The network: each message is answered at some time, several of them at
  // once, so that several wait when a reader comes.
  void Answer(int i, const Frames& frames) {
    const Parcel sent = Unpacked(frames);
    const auto delay = absl::Microseconds(
        Chance(4) == 0 ? 0 : Chance(Chance(2) == 0 ? 100 : 3000));
    scheduler_.ScheduleAt(Pool::kUnbounded, clock_.Now() + delay,
                          [this, i, call = sent.call] { Arrive(i, call); });
  }
  void Arrive(int i, uint64_t call) {
    const Uninterrupted whole;
    Socket& socket = sockets_[i];
    socket.socket->Arrive(Packed({call, ++socket.num_arrived, clock_.Now()}));
  }

  uint64_t Send(int i, std::shared_ptr<Event> answered) {
    const uint64_t call = ++last_call_;
    calls_[call].answered = std::move(answered);
    if (!sockets_[i].socket->Send(sockets_[i].id, Packed({call, 0, {}})).ok())
      Violate("a socket does not send");
    return call;
  }

  void CallAgainAndAgain() {
    for (int i = 0; i < kCallsOfEach; ++i) {
      const uint64_t kind = Chance(8);
      if (kind == 0) Pause();
      if (kind == 2) sockets_[Chance(kSockets)].socket->Touch();
      kind == 1 ? LeadUntilWoken() : CallAndLead();
    }
  }

  // Acts as a client's synchronous call.
  void CallAndLead() {
    const std::shared_ptr<Event> answered = scheduler_.NewEvent();
    const uint64_t call = Send(Chance(kSockets), answered);
    if (!Lead([this, call] { return calls_[call].is_answered; })) {
      calls_[call].leads_at_refusal = num_leads_begun_;
    }
    ExpectSet(*answered, "a caller gets no answer");
  }

  // A caller whose wait ends without an event, as by a deadline.
  void LeadUntilWoken() {
    const auto is_over = std::make_shared<bool>(false);
    const std::shared_ptr<Event> woken = scheduler_.NewEvent();
    scheduler_.ScheduleAt(Pool::kControl,
                          clock_.Now() + absl::Microseconds(Chance(2000)),
                          [this, is_over, woken] {
                            *is_over = true;
                            loop_->WakeLeader();
                            woken->Set();
                          });
    Lead([is_over] { return *is_over; });
    ExpectSet(*woken, "a leader is not woken");
  }

  bool Lead(absl::FunctionRef<bool()> done) {
    const absl::Time begin = clock_.Now();
    bool is_first = true;
    const bool has_led = loop_->Lead([&] {
      if (std::exchange(is_first, false)) {
        thread_.LeadHasBegun();
        ++num_leads_begun_;
      }
      if (clock_.Now() - begin > kHang) {
        Violate("a leader goes on for long");
        return true;
      }
      return done();
    });
    ++(has_led ? num_led_ : num_refused_);
    return has_led;
  }

  // Acts as heartbeats do: sends, and waits for no thread.
  void CallAsControl(int left) {
    if (left == 0) return;
    Send(Chance(kSockets), nullptr);
    ++num_running_;
    scheduler_.ScheduleAt(Pool::kControl,
                          clock_.Now() + absl::Microseconds(Chance(2000)),
                          [this, left] {
                            CallAsControl(left - 1);
                            --num_running_;
                          });
  }

  void Pause() {
    scheduler_.NewEvent()->WaitUntil(clock_.Now() +
                                     absl::Microseconds(Chance(5000)));
  }

  void ExpectSet(Event& event, const std::string& otherwise) {
    if (!event.WaitUntil(clock_.Now() + kHang)) Violate(otherwise);
  }

  void OnOpen(ConnectionId) override {}
  void OnClose(ConnectionId, const absl::Status&) override {}
  void OnMessage(ConnectionId connection, Frames frames) override {
    if (std::exchange(is_in_event_, true)) Violate("two events at once");
    {
      const absl::MutexLock lock(&mutex_);
    }  // a point where other threads may run
    Take(sockets_[index_[connection]], Unpacked(frames));
    is_in_event_ = false;
  }

  void Take(Socket& socket, const Parcel& parcel) {
    if (parcel.place != ++socket.num_delivered) {
      Violate(absl::StrCat("message ", parcel.place, " comes as number ",
                           socket.num_delivered));
    }
    const absl::Duration waited = clock_.Now() - parcel.arrival;
    if (waited > (stalls_ ? kSoonWhenStalled : kSoon)) {
      Violate(absl::StrCat("a message waited for a reader for ",
                           absl::FormatDuration(waited)));
    }
    Call& call = calls_[parcel.call];
    // The leader that refused the caller has called the thread back.
    if (!stalls_ && call.leads_at_refusal == num_leads_begun_ &&
        waited > kAtOnce) {
      Violate(absl::StrCat("nobody reads for a caller that was refused for ",
                           absl::FormatDuration(waited)));
    }
    if (std::exchange(call.is_answered, true)) Violate("an answer comes twice");
    if (call.answered != nullptr) call.answered->Set();
    // The work of another socket, found on the reading thread.
    if (Chance(4) == 0) Send(Chance(kSockets), nullptr);
  }

  void End() {
    for (int i = 0; i < kSecondsOfAll && !IsAllAnswered(); ++i) {
      scheduler_.AdvanceBy(absl::Seconds(1));
    }
    if (!IsAllAnswered()) Violate("messages are lost");
    for (auto& [i, socket] : sockets_) socket.socket->Close(socket.id);
    loop_.reset();
    other_loop_.reset();
    sockets_.clear();
    scheduler_.RunUntilIdle();
  }

  // A caller that never returns cannot be destroyed.
  [[noreturn]] void Abort() {
    std::fprintf(stderr, "Seed %llu hangs: %s\n",
                 static_cast<unsigned long long>(seed_),
                 absl::StrJoin(violations_, "; ").c_str());
    std::abort();
  }

  bool IsAllAnswered() const {
    for (const auto& [id, call] : calls_) {
      if (!call.is_answered) return false;
    }
    return true;
  }

  void Violate(const std::string& what) {
    const Uninterrupted whole;
    violations_.push_back(absl::StrCat(
        absl::FormatDuration(clock_.Now() - absl::UnixEpoch()), ": ", what));
    if (violations_.size() >= kTooMany) Abort();
  }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }

  const uint64_t seed_;
  const std::unique_ptr<Random> random_;
  ManualClock clock_;
  SimulatedScheduler scheduler_;
  LoopThread thread_{scheduler_,
                     [this] { Violate("the parked thread spins"); }};
  std::vector<std::string> violations_;
  ConnectionTable table_;
  const ZmqWireOptions options_;
  SimulatedPoller* poller_ = nullptr;  // loop_ owns it
  std::unique_ptr<ZmqLoop> loop_;
  std::unique_ptr<ZmqLoop> other_loop_;  // of the other channel; never started
  std::map<int, Socket> sockets_;
  std::map<ConnectionId, int> index_;
  std::map<uint64_t, Call> calls_;
  uint64_t last_call_ = 0;
  absl::Mutex mutex_;
  bool stalls_ = false;
  bool is_in_event_ = false;
  int num_running_ = 0;
  int num_leads_begun_ = 0;
  int num_led_ = 0;
  int num_refused_ = 0;
};

TEST(ZmqLoopScheduleTest, EverySeedDeliversOnceAndGoesIdle) {
  const uint64_t first = FirstSeed();
  const uint64_t count = NumSeeds(kSeeds);
  int num_led = 0;
  int num_refused = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (std::getenv("WEFT_SIMULATION_HUNT") != nullptr) {
      std::fprintf(stderr, "seed %llu\n",
                   static_cast<unsigned long long>(seed));
    }
    LoopWorld world(seed);
    world.Run();
    num_led += world.num_led();
    num_refused += world.num_refused();
    ASSERT_TRUE(world.violations().empty())
        << "seed " << seed << ":\n  "
        << absl::StrJoin(world.violations(), "\n  ");
  }
  // With many seeds both outcomes occur.
  if (count < kSeeds) return;
  EXPECT_GT(num_led, static_cast<int>(5 * count));
  EXPECT_GT(num_refused, static_cast<int>(5 * count));
}

}  // namespace
}  // namespace weft::bus
