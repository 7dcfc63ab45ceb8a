#include "libs/protocol/master/master_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/ask_if_running.h"
#include "libs/protocol/codec/tensor_codec.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/master/master_messages.h"
#include "libs/protocol/pending_call.h"
#include "libs/protocol/run_end.h"

namespace weft::protocol {
namespace {

// The server ends a run that takes too long; its answer guarantees that nothing
// of it runs any more. The client waits this much longer for the answer.
constexpr absl::Duration kGrace = absl::Seconds(5);
// The same for calls that end nothing on other tasks.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

// Placements of a large graph take long to parse.
bool IsReadSoon(const bus::Message& reply) { return !BringsMuch(reply); }

}  // namespace

// One run in flight.
class MasterClient::PendingRun {
 public:
  PendingRun(const CallableRun& run, Done done)
      : fetches(run.fetches),
        metadata(run.metadata),
        cancellation(run.cancellation),
        end(run.cancellation, std::move(done)) {}

  const absl::Span<Tensor> fetches;  // must not be accessed once done
  RunMetadata* const metadata;       // likewise
  Cancellation* const cancellation;  // likewise
  RunEnd end;
  // Set before the cancellation is watched.
  bus::Channel::CallId call = 0;

  void EndWith(absl::Status status) {
    if (!end.Claim()) return;
    // The channel only reports that it was cancelled, not why.
    if (status.code() == absl::StatusCode::kCancelled && cancellation &&
        cancellation->IsCancelled()) {
      status = cancellation->status();
    }
    end.End(std::move(status));
  }
  void EndWith(RunCallableAnswer answer) {
    if (!end.Claim()) return;
    std::move(answer.fetches.begin(), answer.fetches.end(), fetches.begin());
    if (metadata != nullptr) *metadata = std::move(answer.metadata);
    end.End(absl::OkStatus());
  }
};

MasterClient::MasterClient(bus::Transport& transport,
                           const MasterClientOptions& options)
    : transport_(transport),
      options_(options),
      target_(options.address.ToTarget()),
      timers_(*options.scheduler) {
  channel_ = transport.Dial(options_.address, options_.self, "",
                            static_cast<bus::ChannelEvents*>(this));
}

MasterClient::~MasterClient() {
  timers_.End();
  WakeAll(absl::CancelledError("The connection was closed at this end."));
}

void MasterClient::OnConnected(const bus::Identity& /*peer*/) {
  {
    absl::MutexLock lock(&mutex_);
    connected_ = true;
    last_failure_ = absl::OkStatus();
    is_loss_logged_ = false;
  }
  WakeAll(absl::OkStatus());
}

void MasterClient::OnDisconnected(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    connected_ = false;
    last_failure_ = why;
  }
  if (bus::IsRefusal(why)) WakeAll(Explain(why));
}

void MasterClient::WakeAll(const absl::Status& status) {
  std::map<uint64_t, Waiter> woken;
  {
    absl::MutexLock lock(&mutex_);
    woken.swap(waiting_);
  }
  for (auto& [id, waiter] : woken) {
    timers_.Cancel(waiter.timer);
    waiter.go_on(status);
  }
}

absl::Time MasterClient::Soon(absl::Duration timeout) const {
  return options_.scheduler->clock().Now() + timeout;
}

void MasterClient::WhenConnected(Done done) {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (!connected_ && !bus::IsRefusal(last_failure_)) {
      const uint64_t id = ++last_waiter_;
      Waiter& waiter = waiting_[id];
      waiter.go_on = std::move(done);
      if (LogsWaits() && !std::exchange(is_loss_logged_, true)) {
        timers_.At(Soon(options_.log_waits_after), [this](bool is_due) {
          if (is_due) LogThatNobodyIsThere();
        });
      }
      const absl::Time deadline = Soon(options_.connect_timeout);
      if (deadline == absl::InfiniteFuture()) return;
      waiter.timer = timers_.At(deadline, [this, id](bool is_due) {
        if (is_due) TimedOut(id);
      });
      return;
    }
    if (!connected_) status = last_failure_;
  }
  done(Explain(status));
}

void MasterClient::TimedOut(uint64_t waiter) {
  Done go_on;
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    auto found = waiting_.extract(waiter);
    if (!found) return;
    go_on = std::move(found.mapped().go_on);
    why = last_failure_;
  }
  go_on(Explain(absl::UnavailableError(absl::StrCat(
      "no connection within ", absl::FormatDuration(options_.connect_timeout),
      why.ok() ? "" : ": ", why.message()))));
}

bool MasterClient::LogsWaits() const {
  return options_.logger != nullptr &&
         options_.log_waits_after < absl::InfiniteDuration();
}

void MasterClient::LogThatNobodyIsThere() {
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    if (connected_) return;
    why = last_failure_;
    if (waiting_.empty()) {
      is_loss_logged_ = false;  // no caller waits any more
      return;
    }
  }
  if (why.ok()) why = absl::UnavailableError("no answer yet");
  options_.logger->Info(
      absl::StrCat("Waiting for a server: ", Explain(why).message()));
}

void MasterClient::LogThatItIsNotPlaced() {
  {
    absl::MutexLock lock(&mutex_);
    if (!connected_) return;
  }
  options_.logger->Info(
      absl::StrCat("Waiting for ", target_,
                   " to place the graph of a session: are all tasks "
                   "of its cluster running? (weft status ",
                   target_, " shows them.)"));
}

Master::Answer<ExtensionResult> MasterClient::LogIfLong(
    Answer<ExtensionResult> done) {
  if (!LogsWaits()) return done;
  const OwnedTimers::Id timer =
      timers_.At(Soon(options_.log_waits_after), [this](bool is_due) {
        if (is_due) LogThatItIsNotPlaced();
      });
  return [this, timer, done = std::move(done)](
             absl::StatusOr<ExtensionResult> result) mutable {
    timers_.Cancel(timer);
    done(std::move(result));
  };
}

absl::Status MasterClient::WaitForConnection() {
  SyncCall<> call(*options_.scheduler);
  WhenConnected(call.Done());
  return call.Wait();
}

absl::Status MasterClient::Explain(const absl::Status& status) const {
  if (status.code() == absl::StatusCode::kUnavailable) {
    return AskIfRunning(Annotate(status, target_),
                        "(is the server running, and is this its address?)");
  }
  return bus::IsRefusal(status) ? Annotate(status, target_) : status;
}

void MasterClient::Call(bus::Message request, Cancellation* client,
                        Reply done) {
  WhenConnectedUnless(
      client, [this, request = std::move(request), client,
               done = std::move(done)](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        CallNow(std::move(request), client, std::move(done));
      });
}

// A cancelled wait stays in the queue until its turn, without the memory it
// held.
void MasterClient::WhenConnectedUnless(Cancellation* cancelled, Done done) {
  if (cancelled == nullptr) return WhenConnected(std::move(done));
  auto wait = std::make_shared<RunEnd>(cancelled, std::move(done));
  const auto end_with = [wait](const absl::Status& status) {
    if (wait->Claim()) wait->End(status);
  };
  WhenConnected(end_with);
  wait->Started(end_with);
}

void MasterClient::CallNow(bus::Message request, Cancellation* client,
                           Reply done) {
  bus::CallOptions call_options;
  // The master enforces the timeout too, and reports what it waited for.
  call_options.deadline = Soon(options_.operation_timeout + kAnswerTime);
  call_options.is_fast = IsReadSoon;
  auto pending = std::make_shared<PendingCall>(client, std::move(done));
  const bus::Channel::CallId call =
      channel_->Call(std::move(request), call_options,
                     [this, pending](absl::StatusOr<bus::Message> reply) {
                       if (absl::IsUnavailable(reply.status())) {
                         return pending->EndWith(Explain(reply.status()));
                       }
                       pending->EndWith(std::move(reply));
                     });
  PendingCall::Watch(pending, *channel_, call);
}

template <typename T, typename Read>
MasterClient::Reply MasterClient::Reading(Answer<T> done, Read read) const {
  return [this, done = std::move(done),
          read](absl::StatusOr<bus::Message> reply) mutable {
    if (!reply.ok()) return done(reply.status());
    absl::StatusOr<T> result = read(*std::move(reply));
    if (!result.ok()) return done(BadReply(target_, result.status()));
    done(std::move(result));
  };
}

MasterClient::Reply MasterClient::ReadingDone(Done done) const {
  return [this,
          done = std::move(done)](absl::StatusOr<bus::Message> reply) mutable {
    if (!reply.ok()) return done(reply.status());
    done(BadReply(target_, ReadDone(*std::move(reply))));
  };
}

void MasterClient::CreateSession(const SessionConfig& config,
                                 Answer<uint64_t> done) {
  Call(WriteCreateSession(config), nullptr,
       Reading<uint64_t>(
           std::move(done), [](bus::Message reply) -> absl::StatusOr<uint64_t> {
             ASSIGN_OR_RETURN(const auto created,
                              ReadCreateSessionReply(std::move(reply)));
             return created.session;
           }));
}

void MasterClient::ExtendSession(uint64_t session, GraphExtension extension,
                                 Cancellation* client,
                                 Answer<ExtensionResult> done) {
  Call(WriteExtendSession(session, extension), client,
       Reading<ExtensionResult>(
           LogIfLong(std::move(done)), [](bus::Message reply) {
             return ReadExtendSessionReply(std::move(reply));
           }));
}

void MasterClient::MakeCallable(uint64_t session, CallableSpec spec,
                                Cancellation* client, Answer<uint64_t> done) {
  Call(WriteMakeCallable(session, spec), client,
       Reading<uint64_t>(std::move(done), [](bus::Message reply) {
         return ReadMakeCallableReply(std::move(reply));
       }));
}

void MasterClient::RunCallable(uint64_t session, uint64_t callable,
                               const CallableRun& run, Done done) {
  auto request = WriteRunCallable(session, callable, run);
  if (!request.ok()) return done(request.status());
  bus::CallOptions call_options;
  call_options.is_fast =
      run.metadata == nullptr ? IsRunCallableReplyReadSoon : IsNeverReadSoon;
  if (run.timeout != absl::InfiniteDuration()) {
    call_options.deadline = Soon(run.timeout + kGrace);
  }
  const bool waits = run.thread == CallingThread::kWaits;
  std::shared_ptr<std::atomic<bool>> is_done;
  if (waits) {
    is_done = std::make_shared<std::atomic<bool>>(false);
    done = WakeLeaderAfter(std::move(done), is_done);
  }
  auto pending = std::make_shared<PendingRun>(run, std::move(done));
  pending->call = channel_->Call(
      *std::move(request), call_options,
      [this, pending](absl::StatusOr<bus::Message> reply) {
        if (!reply.ok()) {
          const absl::Status& status = reply.status();
          return pending->EndWith(
              status.code() == absl::StatusCode::kUnavailable ? Explain(status)
                                                              : status);
        }
        auto answer = ReadRunCallableReply(
            *std::move(reply), pending->fetches.size(), *options_.allocator);
        if (!answer.ok())
          return pending->EndWith(BadReply(target_, answer.status()));
        pending->EndWith(*std::move(answer));
      });
  pending->end.Started([this, pending](const absl::Status& /*cause*/) {
    channel_->Cancel(pending->call);
  });
  // The caller reads its answer itself, if that is possible.
  if (!waits || is_done->load()) return;
  transport_.Lead([&is_done] { return is_done->load(); });
}

// Runs on a thread of the channel, whose destructor waits for it.
Master::Done MasterClient::WakeLeaderAfter(
    Done done, std::shared_ptr<std::atomic<bool>> is_done) {
  return [this, done = std::move(done),
          is_done = std::move(is_done)](absl::Status status) mutable {
    done(std::move(status));
    is_done->store(true);
    transport_.WakeLeader();
  };
}

void MasterClient::ReleaseCallable(uint64_t session, uint64_t callable,
                                   Done done) {
  CallNow(WriteReleaseCallable(session, callable), nullptr,
          ReadingDone(std::move(done)));
}

// Without a connection the server's lease ends it.
void MasterClient::CloseSession(uint64_t session, Done done) {
  CallNow(WriteCloseSession(session), nullptr, ReadingDone(std::move(done)));
}

void MasterClient::Reset(const std::vector<std::string>& containers,
                         const std::vector<std::string>& device_filters,
                         Cancellation* client, Done done) {
  Call(WriteReset(containers, device_filters), client,
       ReadingDone(std::move(done)));
}

void MasterClient::ListDevices(Cancellation* client,
                               Answer<std::vector<DeviceAttributes>> done) {
  Call(WriteListDevices(), client,
       Reading<std::vector<DeviceAttributes>>(
           std::move(done),
           [](bus::Message reply) { return ReadDevices(std::move(reply)); }));
}

}  // namespace weft::protocol
