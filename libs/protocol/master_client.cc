#include "libs/protocol/master_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/master_messages.h"
#include "libs/protocol/run_end.h"

namespace weft::protocol {
namespace {

// A run that takes too long is ended by the server, whose answer says that
// nothing of it runs any more. So much later it is not waited for.
constexpr absl::Duration kGrace = absl::Seconds(5);
// The same for calls that end nothing elsewhere.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

// One answer, waited for by the thread that asked.
struct SyncReply {
  explicit SyncReply(Scheduler& scheduler) : arrived(scheduler.NewEvent()) {}
  absl::StatusOr<bus::Message> message = absl::UnknownError("no answer");
  const std::unique_ptr<Event> arrived;
};

}  // namespace

// One run under way.
class MasterClient::PendingRun {
 public:
  PendingRun(const CallableRun& run, Done done)
      : fetches(run.fetches),
        cancellation(run.cancellation),
        end(run.cancellation, std::move(done)) {}

  const absl::Span<Tensor> fetches;  // not to be touched once done
  Cancellation* const cancellation;  // likewise
  RunEnd end;
  // Set before the cancellation is watched.
  bus::Channel::CallId call = 0;

  void EndWith(absl::Status status) {
    if (!end.Claim()) return;
    // The channel only says that it was cancelled, not why.
    if (status.code() == absl::StatusCode::kCancelled && cancellation &&
        cancellation->IsCancelled()) {
      status = cancellation->status();
    }
    end.End(std::move(status));
  }
  void EndWith(std::vector<Tensor> values) {
    if (!end.Claim()) return;
    std::move(values.begin(), values.end(), fetches.begin());
    end.End(absl::OkStatus());
  }
};

MasterClient::MasterClient(bus::Transport& transport,
                           const MasterClientOptions& options)
    : transport_(transport),
      options_(options),
      target_(options.address.ToTarget()) {
  channel_ = transport.Dial(options_.address, options_.self, "",
                            static_cast<bus::ChannelEvents*>(this));
}

MasterClient::~MasterClient() = default;

void MasterClient::OnConnected(const bus::Identity& /*peer*/) {
  absl::MutexLock lock(&mutex_);
  connected_ = true;
  last_failure_ = absl::OkStatus();
  WakeAll();
}

void MasterClient::OnDisconnected(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  connected_ = false;
  last_failure_ = why;
  if (bus::IsRefusal(why)) WakeAll();
}

void MasterClient::WakeAll() {
  for (const auto& event : waiting_) event->Set();
  waiting_.clear();
}

absl::Time MasterClient::Soon(absl::Duration timeout) const {
  return options_.scheduler->clock().Now() + timeout;
}

absl::Status MasterClient::WaitForConnection() {
  const absl::Time deadline = Soon(options_.connect_timeout);
  while (true) {
    std::shared_ptr<Event> changed;
    {
      absl::MutexLock lock(&mutex_);
      if (connected_) return absl::OkStatus();
      if (bus::IsRefusal(last_failure_)) return Explain(last_failure_);
      changed = options_.scheduler->NewEvent();
      waiting_.push_back(changed);
    }
    if (changed->WaitUntil(deadline)) continue;
    absl::MutexLock lock(&mutex_);
    std::erase(waiting_, changed);
    if (connected_) return absl::OkStatus();
    return Explain(absl::UnavailableError(absl::StrCat(
        "no connection within ", absl::FormatDuration(options_.connect_timeout),
        last_failure_.ok() ? "" : ": ", last_failure_.message())));
  }
}

absl::Status MasterClient::Explain(const absl::Status& status) const {
  if (status.code() == absl::StatusCode::kUnavailable) {
    return Append(Annotate(status, target_),
                  "(is the server running, and is this its address?)");
  }
  return bus::IsRefusal(status) ? Annotate(status, target_) : status;
}

absl::StatusOr<bus::Message> MasterClient::Call(bus::Message request) {
  RETURN_IF_ERROR(WaitForConnection());
  return CallNow(std::move(request));
}

absl::StatusOr<bus::Message> MasterClient::CallNow(bus::Message request) {
  bus::CallOptions call_options;
  // The master keeps to the timeout too, and says what it waited for.
  call_options.deadline = Soon(options_.operation_timeout + kAnswerTime);
  auto reply = std::make_shared<SyncReply>(*options_.scheduler);
  channel_->Call(std::move(request), call_options,
                 [reply](absl::StatusOr<bus::Message> message) {
                   reply->message = std::move(message);
                   reply->arrived->Set();
                 });
  reply->arrived->Wait();  // the channel calls back at the deadline, if not
                           // before
  if (reply->message.ok()) return std::move(reply->message);
  const absl::Status& status = reply->message.status();
  return status.code() == absl::StatusCode::kUnavailable ? Explain(status)
                                                         : status;
}

absl::Status MasterClient::CallForDone(bus::Message request) {
  ASSIGN_OR_RETURN(bus::Message reply, Call(std::move(request)));
  return BadReply(target_, ReadDone(std::move(reply)));
}

absl::StatusOr<uint64_t> MasterClient::CreateSession(
    const SessionConfig& config) {
  ASSIGN_OR_RETURN(bus::Message reply, Call(WriteCreateSession(config)));
  const auto created = ReadCreateSessionReply(std::move(reply));
  if (!created.ok()) return BadReply(target_, created.status());
  return created->session;
}

absl::StatusOr<ExtensionResult> MasterClient::ExtendSession(
    uint64_t session, const GraphExtension& extension) {
  ASSIGN_OR_RETURN(bus::Message reply,
                   Call(WriteExtendSession(session, extension)));
  auto result = ReadExtendSessionReply(std::move(reply));
  if (!result.ok()) return BadReply(target_, result.status());
  return result;
}

absl::StatusOr<uint64_t> MasterClient::MakeCallable(uint64_t session,
                                                    const CallableSpec& spec) {
  ASSIGN_OR_RETURN(bus::Message reply, Call(WriteMakeCallable(session, spec)));
  const auto callable = ReadMakeCallableReply(std::move(reply));
  if (!callable.ok()) return BadReply(target_, callable.status());
  return callable;
}

void MasterClient::RunCallable(uint64_t session, uint64_t callable,
                               const CallableRun& run, Done done) {
  auto request = WriteRunCallable(session, callable, run);
  if (!request.ok()) return done(request.status());
  bus::CallOptions call_options;
  if (run.timeout != absl::InfiniteDuration()) {
    call_options.deadline = Soon(run.timeout + kGrace);
  }
  const bool waits = run.thread == CallingThread::kWaits;
  std::shared_ptr<std::atomic<bool>> is_done;
  if (waits) {
    is_done = std::make_shared<std::atomic<bool>>(false);
    done = ThenWakeLeader(std::move(done), is_done);
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
        auto fetches = ReadRunCallableReply(
            *std::move(reply), pending->fetches.size(), *options_.allocator);
        if (!fetches.ok())
          return pending->EndWith(BadReply(target_, fetches.status()));
        pending->EndWith(*std::move(fetches));
      });
  pending->end.Started([this, pending](const absl::Status& /*cause*/) {
    channel_->Cancel(pending->call);
  });
  // The caller reads its answer itself, where that is possible.
  if (!waits || is_done->load()) return;
  transport_.Lead([&is_done] { return is_done->load(); });
}

// Runs on a thread of the channel's, whose end waits for it.
Master::Done MasterClient::ThenWakeLeader(
    Done done, std::shared_ptr<std::atomic<bool>> is_done) {
  return [this, done = std::move(done),
          is_done = std::move(is_done)](absl::Status status) mutable {
    done(std::move(status));
    is_done->store(true);
    transport_.WakeLeader();
  };
}

absl::Status MasterClient::ReleaseCallable(uint64_t session,
                                           uint64_t callable) {
  ASSIGN_OR_RETURN(bus::Message reply,
                   CallNow(WriteReleaseCallable(session, callable)));
  return BadReply(target_, ReadDone(std::move(reply)));
}

// Without a connection the server's lease does it.
absl::Status MasterClient::CloseSession(uint64_t session) {
  ASSIGN_OR_RETURN(bus::Message reply, CallNow(WriteCloseSession(session)));
  return BadReply(target_, ReadDone(std::move(reply)));
}

absl::Status MasterClient::Reset(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters) {
  return CallForDone(WriteReset(containers, device_filters));
}

absl::StatusOr<std::vector<DeviceAttributes>> MasterClient::ListDevices() {
  ASSIGN_OR_RETURN(bus::Message reply, Call(WriteListDevices()));
  auto devices = ReadDevices(std::move(reply));
  if (!devices.ok()) return BadReply(target_, devices.status());
  return devices;
}

}  // namespace weft::protocol
