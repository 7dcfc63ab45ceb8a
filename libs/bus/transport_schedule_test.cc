// Calls over one connection that is cut, silenced or lost permanently, with
// simulated interruptions at the locks of the bus: in any case, every call
// ends, once; the handler is told of the end of each call that it has not
// answered, and of each connection, after all of its messages; and no state
// remains.
//
// libs/base/testing/seeds.h describes how to run other seeds;
// tools/mutants runs them.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/testing/seeds.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/testing/transport_ends.h"

namespace weft::bus {
namespace {

#ifdef ABSL_HAVE_THREAD_SANITIZER
constexpr bool kHasInterruptions = false;
#else
constexpr bool kHasInterruptions = true;
#endif

constexpr uint64_t kSeeds = 100;
constexpr int kCallers = 2;
constexpr int kCallsOfEach = 16;
constexpr int kMostDisturbances = 5;
constexpr char kClient[] = "client";
constexpr char kServer[] = "server";
// Longer than all that delays an answer once disturbances have stopped.
constexpr absl::Duration kCalm = absl::Seconds(30);
constexpr int kSecondsOfAll = 600;

// Checks that the end of a connection is reported after all callbacks for its
// messages, which both reading threads and the pools run. Needs no lock: one
// simulated thread runs at a time.
class OrderCheckingHandler : public RecordingHandler {
 public:
  using RecordingHandler::RecordingHandler;

  absl::Status OnConnect(const Peer& peer) override {
    // Each endpoint counts its peers from 1; the last one has ended.
    EXPECT_EQ(states_[peer.id].num_running, 0);
    states_[peer.id] = PeerState();
    return RecordingHandler::OnConnect(peer);
  }
  void OnDisconnect(const Peer& peer, const absl::Status& why) override {
    PeerState& state = states_[peer.id];
    EXPECT_EQ(state.num_running, 0);
    EXPECT_FALSE(state.has_ended);
    state.has_ended = true;
    RecordingHandler::OnDisconnect(peer, why);
  }
  void OnRequest(std::shared_ptr<IncomingCall> call, Message request) override {
    const Running running(*this, call->peer().id, IsFast(request.method));
    RecordingHandler::OnRequest(std::move(call), std::move(request));
  }
  void OnOneWay(const Peer& peer, Message message,
                const absl::Status& received) override {
    const Running running(*this, peer.id, IsFast(message.method));
    RecordingHandler::OnOneWay(peer, std::move(message), received);
  }

  // How often a fast callback began while another one of its connection ran.
  int num_overlaps() const { return num_overlaps_; }

 private:
  struct PeerState {
    int num_running = 0;
    int num_fast = 0;  // of these
    bool has_ended = false;
  };
  class Running {
   public:
    Running(OrderCheckingHandler& handler, uint64_t peer, bool is_fast)
        : state_(handler.states_[peer]), is_fast_(is_fast) {
      EXPECT_FALSE(state_.has_ended);
      ++state_.num_running;
      if (!is_fast_) return;
      if (state_.num_fast++ > 0) ++handler.num_overlaps_;
    }
    ~Running() {
      --state_.num_running;
      if (is_fast_) --state_.num_fast;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    PeerState& state_;
    const bool is_fast_;
  };

  std::map<uint64_t, PeerState> states_;  // by Peer::id, of the last endpoint
  int num_overlaps_ = 0;
};

class Conversation {
 public:
  explicit Conversation(uint64_t seed)
      : random_(NewSeededRandom(seed)),
        scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {
    TransportOptions options;
    options.chunk_bytes = 30'000;
    options.credit_bytes = 60'000;
    options.inline_bytes = 1'000;
    options.medium_bytes = Chance(2) == 0 ? 0 : 50'000;
    // One at a time.
    options.medium_window = 50'000;
    // During the conversation.
    options.min_redial = absl::Milliseconds(5);
    options.max_redial = absl::Milliseconds(50);
    // A quarter of the streams exceed the memory.
    options.max_held_bytes_per_peer = 150'000;
    if (Chance(2) == 0) options.peer_timeout = absl::Seconds(1);
    server_ = NewTransport(
        {server_wire_.get(), &scheduler_, ids_.get(), &server_memory_},
        options);
    client_ = NewTransport(
        {client_wire_.get(), &scheduler_, ids_.get(), &client_memory_},
        options);
    Listen();
    channel_ = client_->Dial(address_, {"", "", 2, 0}, "", &events_);
  }

  void Run() {
    scheduler_.set_yields(
        {.one_in = std::vector<uint64_t>{100, 20, 4}[Chance(3)],
         .percent_last = 10,
         .percent_stalled = std::vector<uint64_t>{0, 5, 25}[Chance(3)],
         .longest_stall = absl::Milliseconds(100),
         .focus_one_in = std::vector<uint64_t>{0, 10, 3}[Chance(3)]});
    for (auto& answers : answers_) {
      Start([this, &answers] { Talk(&answers); });
    }
    Start([this] { AnswerHeld(); });
    Start([this] { Disturb(); });
    for (int i = 0; num_running_ > 1; ++i) {
      ASSERT_LT(i, kSecondsOfAll) << "somebody hangs";
      scheduler_.AdvanceBy(absl::Seconds(1));
    }
    scheduler_.AdvanceBy(kCalm);
    CheckCancellations();
    scheduler_.AdvanceBy(kCalm);
    CheckAnswers();
    End();
  }

  int num_answered_well() const { return num_answered_well_; }
  int num_cancelled() const { return num_cancelled_; }
  int num_overlaps() const { return handler_.num_overlaps(); }
  int num_connections() const {
    return static_cast<int>(handler_.connects.size());
  }

 private:
  // The state of one call.
  struct Asked {
    Answer answer;
    bool waits_for_ever = false;  // even without a connection
  };
  using Answers = std::vector<Asked>;

  uint64_t Chance(uint64_t one_in) { return random_->Next() % one_in; }
  void PauseUpTo(int milliseconds) {
    const auto pause = absl::Milliseconds(Chance(milliseconds));
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + pause);
  }
  void Start(std::function<void()> work) {
    ++num_running_;
    scheduler_.Schedule(Pool::kBlocking, [this, work = std::move(work)] {
      work();
      --num_running_;
    });
  }
  void Listen() {
    endpoint_ =
        *server_->Listen(address_, {"", "/job:ps/task:0", 1, 0}, handler_);
    address_ = endpoint_->address();
  }

  void Talk(Answers* answers) {
    for (int i = 0; i < kCallsOfEach; ++i) {
      Say(answers);
      if (Chance(2) == 0) PauseUpTo(60);
    }
  }

  void Say(Answers* answers) {
    const std::vector<uint8_t> methods = {kEcho, kSlowEcho, kHold, kSlowNote};
    Message message = NewMessage(methods[Chance(methods.size())],
                                 absl::StrCat(answer_of_.size()));
    if (Chance(3) == 0) {
      message.attachments = {Blob::FromString(Pattern(40'000, 1))};
    }
    if (message.method == kSlowNote) {
      return channel_->Send(std::move(message)).IgnoreError();
    }
    CallOptions options;
    options.wait_for_connection = Chance(2) == 0;
    if (Chance(3) == 0) {
      options.deadline = clock_.Now() + absl::Milliseconds(Chance(100));
    }
    answers->push_back(
        {Answer(scheduler_), options.wait_for_connection &&
                                 options.deadline == absl::InfiniteFuture()});
    answer_of_.push_back(answers->back().answer);
    const Channel::CallId call = channel_->Call(
        std::move(message), options, answers->back().answer.callback());
    if (Chance(6) == 0) channel_->Cancel(call);
  }

  // Also those whose connection is gone.
  void AnswerHeld() {
    while (!is_over_) {
      PauseUpTo(20);
      for (RecordingHandler::Held& held : handler_.TakeHeld()) {
        switch (Chance(4)) {
          case 0:
            break;  // unanswered
          case 1:
            kept_.push_back(std::move(held));
            break;
          default:
            held.call->Reply(std::move(held.request));
        }
      }
    }
  }

  void Disturb() {
    // Disturbances after the last one are permanent.
    const uint64_t num_disturbances = 1 + Chance(kMostDisturbances);
    for (uint64_t i = 0; i < num_disturbances; ++i) {
      PauseUpTo(200);
      switch (Chance(4)) {
        case 0:
          endpoint_.reset();
          PauseUpTo(50);
          Listen();
          break;
        case 1:
          Chance(2) == 0 ? network_.Partition(kClient, kServer)
                         : network_.PartitionOneWay(kClient, kServer);
          PauseUpTo(3000);
          network_.Heal(kClient, kServer);
          break;
        default:
          network_.Cut(kClient, kServer);
          break;
      }
    }
    if (Chance(3) != 0) return;
    is_gone_ = true;
    endpoint_.reset();
  }

  // Calls whose caller has given up, or was disconnected, are cancelled.
  void CheckCancellations() {
    for (RecordingHandler::Held& held : kept_) {
      int asked = 0;
      ASSERT_TRUE(absl::SimpleAtoi(held.request.body.view(), &asked));
      if (answer_of_[asked].times() == 0) {
        held.call->Reply(std::move(held.request));
      } else {
        ASSERT_TRUE(held.call->cancellation().IsCancelled());
        ++num_cancelled_;
      }
    }
    kept_.clear();
  }

  void CheckAnswers() {
    for (const Answers& answers : answers_) {
      for (const auto& [answer, waits_for_ever] : answers) {
        if (is_gone_ && waits_for_ever && answer.times() == 0) continue;
        ASSERT_EQ(answer.times(), 1);
        if (answer.Wait().ok()) ++num_answered_well_;
      }
    }
  }

  // Destroys the channel with pending calls, then the endpoint.
  void End() {
    Answers last;
    for (int i = 0; i < 3; ++i) Say(&last);
    if (Chance(2) == 0) scheduler_.AdvanceBy(absl::Milliseconds(Chance(3)));
    Start([this] { channel_.reset(); });
    if (Chance(2) == 0) scheduler_.RunUntilIdle();
    Start([this] { endpoint_.reset(); });
    is_over_ = true;
    scheduler_.AdvanceBy(kCalm);
    ASSERT_EQ(num_running_, 0);
    answers_.push_back(std::move(last));
    for (const Answers& answers : answers_) {
      for (const Asked& asked : answers) ASSERT_EQ(asked.answer.times(), 1);
    }
    ASSERT_EQ(handler_.connects.size(), handler_.disconnects.size());
    kept_.clear();
    handler_.TakeHeld();
    handler_.notes.clear();
    scheduler_.AdvanceBy(kCalm);
    answers_.clear();
    answer_of_.clear();
    EXPECT_EQ(server_memory_.reserved(), 0);
    EXPECT_EQ(client_memory_.reserved(), 0);
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  MemoryNetwork network_{scheduler_};
  const std::unique_ptr<Random> ids_ = NewSeededRandom(1);
  const std::unique_ptr<Wire> server_wire_ = NewMemoryWire(network_, kServer);
  const std::unique_ptr<Wire> client_wire_ = NewMemoryWire(network_, kClient);
  CountedMemory server_memory_{scheduler_}, client_memory_{scheduler_};
  OrderCheckingHandler handler_{scheduler_};
  RecordingChannelEvents events_{scheduler_};
  std::unique_ptr<Transport> server_, client_;
  Address address_{"memory", 0};
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Channel> channel_;
  std::vector<Answers> answers_{kCallers};
  std::vector<Answer> answer_of_;  // indexed by the request's content
  std::vector<RecordingHandler::Held> kept_;  // for CheckCancellations
  int num_running_ = 0;
  bool is_gone_ = false;  // the server, permanently
  bool is_over_ = false;
  int num_answered_well_ = 0;
  int num_cancelled_ = 0;
};

TEST(TransportScheduleTest, EveryCallEndsOnceWithoutLeaks) {
  const uint64_t first = FirstSeed();
  const uint64_t count = NumSeeds(kSeeds);
  int num_answered_well = 0;
  int num_connections = 0;
  int num_cancelled = 0;
  int num_overlaps = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::fprintf(stderr, "seed %lu\n", static_cast<unsigned long>(seed));
    Conversation conversation(seed);
    conversation.Run();
    num_answered_well += conversation.num_answered_well();
    num_connections += conversation.num_connections();
    num_cancelled += conversation.num_cancelled();
    num_overlaps += conversation.num_overlaps();
    if (HasFailure()) return;
  }
  // With many seeds all outcomes occur.
  if (count < kSeeds) return;
  EXPECT_GT(num_cancelled, static_cast<int>(count / 2));
  EXPECT_GT(num_answered_well, static_cast<int>(5 * count));
  EXPECT_GT(num_connections, static_cast<int>(2 * count));
  // The threads of the two channels were inside of callbacks at once.
  if (kHasInterruptions) {
    EXPECT_GT(num_overlaps, 0);
  }
}

}  // namespace
}  // namespace weft::bus
