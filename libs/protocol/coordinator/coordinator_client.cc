#include "libs/protocol/coordinator/coordinator_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/ask_if_running.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/coordinator/coordinator_messages.h"
#include "libs/protocol/coordinator/placement_messages.h"
#include "libs/protocol/pending_call.h"

namespace weft::protocol {
namespace {

constexpr absl::Duration kMaxAnswerTime = absl::Seconds(1);

std::string Describe(const CoordinatorClientOptions& options) {
  const std::string target = options.address.ToTarget();
  if (options.task.empty()) return target;
  return absl::StrCat("the coordinator ", options.task, " at ", target);
}

}  // namespace

CoordinatorClient::CoordinatorClient(bus::Transport& transport,
                                     const CoordinatorClientOptions& options)
    : options_(options), who_(Describe(options)) {
  channel_ = transport.Dial(options_.address, options_.self, options_.task,
                            static_cast<bus::ChannelEvents*>(this));
}

CoordinatorClient::~CoordinatorClient() {
  channel_.reset();
  in_flight_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
}

void CoordinatorClient::OnConnected(const bus::Identity& peer) {
  {
    absl::MutexLock lock(&mutex_);
    connected_ = true;
    last_failure_ = absl::OkStatus();
  }
  if (options_.events != nullptr) options_.events->OnCoordinatorConnected(peer);
}

void CoordinatorClient::OnDisconnected(const absl::Status& why) {
  bool was_connected = false;
  {
    absl::MutexLock lock(&mutex_);
    was_connected = std::exchange(connected_, false);
    last_failure_ = why;
  }
  if (!was_connected && !bus::IsRefusal(why)) return;
  if (options_.events != nullptr) {
    options_.events->OnCoordinatorLost(Explain(why));
  }
}

absl::Time CoordinatorClient::PartingDeadline(absl::Time deadline) const {
  return std::min(deadline, options_.scheduler->clock().Now() + kPartingTime);
}

absl::Duration CoordinatorClient::AnswerTime(absl::Time deadline) const {
  const absl::Duration left = deadline - options_.scheduler->clock().Now();
  if (left <= absl::ZeroDuration()) return absl::ZeroDuration();
  return std::min(kMaxAnswerTime, left / 10);
}

// A refusal fails calls before the channel reports it.
absl::Status CoordinatorClient::Explain(const absl::Status& status) {
  absl::Status failure;
  bool connected = false;
  {
    absl::MutexLock lock(&mutex_);
    failure = last_failure_;
    connected = connected_;
  }
  if (!connected && bus::IsRefusal(status)) return Annotate(status, who_);
  absl::Status explained = status;
  if (!connected && absl::IsDeadlineExceeded(status)) {
    explained = absl::UnavailableError(absl::StrCat(
        "no connection in time", failure.ok() ? "" : ": ", failure.message()));
  }
  if (!absl::IsUnavailable(explained)) return explained;
  return AskIfRunning(Annotate(explained, who_),
                      "(is it running, and is this its address?)");
}

bus::Channel::CallId CoordinatorClient::CallRaw(bus::Message request,
                                                absl::Time deadline,
                                                Answer<bus::Message> done,
                                                Pool pool) {
  bus::CallOptions options;
  options.deadline = deadline;
  options.wait_for_connection = true;
  // Answers are not parsed on the thread that receives them: some are large.
  return channel_->Call(std::move(request), options,
                        [this, pool, done = std::move(done)](
                            absl::StatusOr<bus::Message> reply) mutable {
                          if (!reply.ok()) reply = Explain(reply.status());
                          in_flight_.Begin();
                          options_.scheduler->Schedule(
                              pool, [this, done = std::move(done),
                                     reply = std::move(reply)]() mutable {
                                done(std::move(reply));
                                done = nullptr;
                                in_flight_.End();
                              });
                        });
}

template <typename T>
Coordinator::Answer<bus::Message> CoordinatorClient::Reading(
    Read<T> read, Answer<T> done) const {
  return [this, read = std::move(read),
          done = std::move(done)](absl::StatusOr<bus::Message> reply) mutable {
    if (!reply.ok()) return done(reply.status());
    absl::StatusOr<T> result = read(*std::move(reply));
    if (result.ok()) return done(std::move(result));
    done(BadReply(who_, result.status()));
  };
}

template <typename T>
void CoordinatorClient::Call(absl::StatusOr<bus::Message> request,
                             absl::Time deadline, Read<T> read, Answer<T> done,
                             Pool pool) {
  if (!request.ok()) return done(request.status());
  CallRaw(*std::move(request), deadline,
          Reading<T>(std::move(read), std::move(done)), pool);
}

template <typename T>
void CoordinatorClient::CallUnlessCancelled(
    absl::StatusOr<bus::Message> request, absl::Time deadline,
    const std::shared_ptr<Cancellation>& cancellation, Read<T> read,
    Answer<T> done) {
  if (!request.ok()) return done(request.status());
  CallRawUnlessCancelled(*std::move(request), deadline, cancellation,
                         Reading<T>(std::move(read), std::move(done)),
                         Pool::kGraph);
}

void CoordinatorClient::CallRawUnlessCancelled(
    bus::Message request, absl::Time deadline,
    const std::shared_ptr<Cancellation>& cancellation,
    Answer<bus::Message> done, Pool pool) {
  auto pending =
      std::make_shared<PendingCall>(cancellation.get(), std::move(done));
  const bus::Channel::CallId call = CallRaw(
      std::move(request), deadline,
      [pending, cancellation](absl::StatusOr<bus::Message> reply) {
        pending->EndWith(std::move(reply));
      },
      pool);
  PendingCall::Watch(pending, *channel_, call);
}

void CoordinatorClient::CallForDone(
    bus::Message request, absl::Time deadline,
    const std::shared_ptr<Cancellation>& cancellation, Done done) {
  CallRawUnlessCancelled(
      std::move(request), deadline, cancellation,
      [this,
       done = std::move(done)](absl::StatusOr<bus::Message> reply) mutable {
        if (!reply.ok()) return done(reply.status());
        done(BadReply(who_, ReadDone(*std::move(reply))));
      },
      Pool::kControl);
}

void CoordinatorClient::Join(const JoinRequest& request, absl::Time deadline,
                             Answer<JoinReply> done) {
  Call<JoinReply>(WriteJoin(request), deadline, ReadJoinReply, std::move(done),
                  Pool::kControl);
}

void CoordinatorClient::Heartbeat(const HeartbeatRequest& request,
                                  absl::Time deadline,
                                  Answer<HeartbeatReply> done) {
  Call<HeartbeatReply>(WriteHeartbeat(request), deadline, ReadHeartbeatReply,
                       std::move(done), Pool::kControl);
}

void CoordinatorClient::Leave(const LeaveRequest& request, absl::Time deadline,
                              Done done) {
  CallForDone(WriteLeave(request), PartingDeadline(deadline), nullptr,
              std::move(done));
}

void CoordinatorClient::Place(const PlacementRequest& request,
                              absl::Time deadline,
                              std::shared_ptr<Cancellation> cancellation,
                              Answer<PlacementReply> done) {
  const size_t num_nodes = request.graph.nodes.size();
  CallUnlessCancelled<PlacementReply>(
      WritePlace(request, AnswerTime(deadline)), deadline,
      std::move(cancellation),
      [num_nodes](bus::Message reply) {
        return ReadPlaceReply(std::move(reply), num_nodes);
      },
      std::move(done));
}

void CoordinatorClient::EndSession(uint64_t session, absl::Time deadline,
                                   Done done) {
  CallForDone(WriteEndSession(session), PartingDeadline(deadline), nullptr,
              std::move(done));
}

void CoordinatorClient::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters, absl::Time deadline,
    std::shared_ptr<Cancellation> cancellation, Done done) {
  CallForDone(WriteForgetContainers(containers, device_filters), deadline,
              cancellation, std::move(done));
}

void CoordinatorClient::ListDevices(
    const std::vector<std::string>& device_filters, absl::Time deadline,
    std::shared_ptr<Cancellation> cancellation,
    Answer<std::vector<DeviceAttributes>> done) {
  CallUnlessCancelled<std::vector<DeviceAttributes>>(
      WriteListClusterDevices(device_filters, AnswerTime(deadline)), deadline,
      std::move(cancellation), ReadDevices, std::move(done));
}

void CoordinatorClient::GetCluster(const ClusterQuery& query,
                                   absl::Time deadline,
                                   Answer<ClusterStatus> done) {
  Call<ClusterStatus>(WriteGetCluster(query), deadline, ReadClusterStatus,
                      std::move(done));
}

void CoordinatorClient::Shutdown(absl::Time deadline, Done done) {
  CallForDone(WriteShutdown(), deadline, nullptr, std::move(done));
}

}  // namespace weft::protocol
