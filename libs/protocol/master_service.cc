#include "libs/protocol/master_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/master_messages.h"
#include "libs/protocol/method.h"

namespace weft::protocol {
namespace {

std::string NameOfLargest(absl::Span<const Tensor> tensors,
                          const CallableSpec& spec) {
  size_t largest = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].num_bytes() > tensors[largest].num_bytes()) largest = i;
  }
  return largest < spec.fetches.size() ? spec.fetches[largest] : "";
}

}  // namespace

// A run on its way through the master: what the CallableRun views.
struct MasterService::Run {
  std::shared_ptr<bus::IncomingCall> call;
  RunCallableRequest request;
  std::vector<Tensor> fetches;
};

MasterService::MasterService(const MasterServiceOptions& options)
    : options_(options),
      leases_(*options.scheduler, options.lease,
              [this](uint64_t session) { Expire(session); }) {}

MasterService::~MasterService() {
  in_flight_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
}

bool MasterService::Handles(uint8_t method) {
  switch (static_cast<Method>(method)) {
    case Method::kCreateSession:
    case Method::kExtendSession:
    case Method::kCloseSession:
    case Method::kMakeCallable:
    case Method::kRunCallable:
    case Method::kReleaseCallable:
    case Method::kReset:
    case Method::kListDevices:
      return true;
    default:
      return false;
  }
}

bool MasterService::IsFast(uint8_t method) {
  return static_cast<Method>(method) == Method::kRunCallable;
}

void MasterService::OnDisconnect(const bus::Peer& peer,
                                 const absl::Status& why) {
  const int orphans = leases_.OnDisconnect(peer);
  if (orphans == 0 || options_.logger == nullptr) return;
  options_.logger->Warning(absl::StrCat(
      "The client of ", orphans, " sessions is gone: ", why.message(),
      ". Its steps are cancelled; the sessions end in ",
      absl::FormatDuration(options_.lease), " unless it comes back."));
}

void MasterService::OnRequest(std::shared_ptr<bus::IncomingCall> call,
                              bus::Message request) {
  if (static_cast<Method>(request.method) == Method::kRunCallable) {
    return RunCallable(std::move(call), std::move(request));
  }
  in_flight_.Begin();
  options_.scheduler->Schedule(
      Pool::kBlocking,
      [this, call = std::move(call), request = std::move(request)]() mutable {
        Answer(*call, Serve(*call, std::move(request)));
        call.reset();
        in_flight_.End();
      });
}

absl::StatusOr<bus::Message> MasterService::Serve(bus::IncomingCall& call,
                                                  bus::Message request) {
  switch (static_cast<Method>(request.method)) {
    case Method::kCreateSession:
      return CreateSession(call, std::move(request));
    case Method::kExtendSession:
      return ExtendSession(std::move(request));
    case Method::kCloseSession:
      return CloseSession(std::move(request));
    case Method::kMakeCallable:
      return MakeCallable(std::move(request));
    case Method::kReleaseCallable:
      return ReleaseCallable(std::move(request));
    case Method::kReset:
      return Reset(std::move(request));
    case Method::kListDevices:
      return ListDevices(std::move(request));
    default:
      return absl::UnimplementedError(absl::StrCat(
          "a master does not answer requests of type ", request.method));
  }
}

void MasterService::OnRefused(CallPtr call, bus::Message request, size_t which,
                              const absl::Status& why) {
  if (static_cast<Method>(request.method) != Method::kRunCallable) {
    return call->Fail(why);
  }
  const auto refused = ReadRefusedFeed(std::move(request), which);
  if (!refused.ok()) return call->Fail(why);
  const auto spec =
      options_.master->FindSpec(refused->session, refused->callable);
  if (spec == nullptr || refused->feed >= spec->feeds.size()) {
    return call->Fail(why);
  }
  call->Fail(Annotate(why, absl::StrCat("feed ", spec->feeds[refused->feed])));
}

void MasterService::ReplyWithFetches(Run& run, const absl::Status& status) {
  if (!status.ok()) return run.call->Fail(status);
  auto reply = WriteRunCallableReply(run.fetches);
  if (!reply.ok()) return run.call->Fail(reply.status());
  const absl::Status sent = run.call->TryReply(*std::move(reply));
  if (sent.ok()) return;
  const auto spec =
      options_.master->FindSpec(run.request.session, run.request.callable);
  if (spec == nullptr) return run.call->Fail(sent);
  run.call->Fail(Annotate(
      sent, absl::StrCat("fetch ", NameOfLargest(run.fetches, *spec))));
}

void MasterService::RunCallable(CallPtr call, bus::Message request) {
  auto read = ReadRunCallable(std::move(request), *options_.allocator);
  if (!read.ok()) return call->Fail(read.status());
  auto running = std::make_unique<Run>();
  running->call = std::move(call);
  running->request = *std::move(read);
  running->fetches.resize(running->request.num_fetches);
  CallableRun run;
  run.feeds = running->request.feeds;
  run.fetches = absl::MakeSpan(running->fetches);
  run.timeout = running->request.timeout;
  run.cancellation = &running->call->cancellation();
  run.thread = CallingThread::kReactor;
  const uint64_t session = running->request.session;
  const uint64_t callable = running->request.callable;
  in_flight_.Begin();
  options_.master->RunCallable(
      session, callable, run,
      [this, running = std::move(running)](const absl::Status& status) mutable {
        ReplyWithFetches(*running, status);
        running.reset();
        in_flight_.End();
      });
}

absl::StatusOr<bus::Message> MasterService::CreateSession(
    bus::IncomingCall& call, bus::Message request) {
  ASSIGN_OR_RETURN(const SessionConfig config,
                   ReadCreateSession(std::move(request)));
  ASSIGN_OR_RETURN(const uint64_t session,
                   options_.master->CreateSession(config));
  if (call.cancellation().IsCancelled()) {
    // Nobody will ever know its number.
    RETURN_IF_ERROR(options_.master->CloseSession(session));
    return call.cancellation().status();
  }
  leases_.OnCreated(call.peer(), session);
  return WriteCreateSessionReply({session, options_.lease});
}

absl::StatusOr<bus::Message> MasterService::ExtendSession(
    bus::Message request) {
  ASSIGN_OR_RETURN(const ExtendSessionRequest extend,
                   ReadExtendSession(std::move(request)));
  ASSIGN_OR_RETURN(
      const ExtensionResult result,
      options_.master->ExtendSession(extend.session, extend.extension));
  return WriteExtendSessionReply(result);
}

absl::StatusOr<bus::Message> MasterService::CloseSession(bus::Message request) {
  ASSIGN_OR_RETURN(const uint64_t session,
                   ReadCloseSession(std::move(request)));
  leases_.OnClosed(session);
  RETURN_IF_ERROR(options_.master->CloseSession(session));
  return WriteDone();
}

absl::StatusOr<bus::Message> MasterService::MakeCallable(bus::Message request) {
  ASSIGN_OR_RETURN(const MakeCallableRequest make,
                   ReadMakeCallable(std::move(request)));
  ASSIGN_OR_RETURN(const uint64_t callable,
                   options_.master->MakeCallable(make.session, make.spec));
  return WriteMakeCallableReply(callable);
}

absl::StatusOr<bus::Message> MasterService::ReleaseCallable(
    bus::Message request) {
  ASSIGN_OR_RETURN(const ReleaseCallableRequest release,
                   ReadReleaseCallable(std::move(request)));
  RETURN_IF_ERROR(
      options_.master->ReleaseCallable(release.session, release.callable));
  return WriteDone();
}

absl::StatusOr<bus::Message> MasterService::Reset(bus::Message request) {
  ASSIGN_OR_RETURN(const ResetRequest reset, ReadReset(std::move(request)));
  RETURN_IF_ERROR(
      options_.master->Reset(reset.containers, reset.device_filters));
  leases_.OnReset();
  return WriteDone();
}

absl::StatusOr<bus::Message> MasterService::ListDevices(bus::Message request) {
  RETURN_IF_ERROR(ReadListDevices(std::move(request)));
  ASSIGN_OR_RETURN(const std::vector<DeviceAttributes> devices,
                   options_.master->ListDevices());
  return WriteDevices(devices);
}

void MasterService::Expire(uint64_t session) {
  const absl::Status closed = options_.master->CloseSession(session);
  if (options_.logger == nullptr) return;
  options_.logger->Info(absl::StrCat(
      "Closed session ", session, ", whose client has been gone for ",
      absl::FormatDuration(options_.lease), closed.ok() ? "" : ": ",
      closed.ok() ? "" : closed.ToString()));
}

}  // namespace weft::protocol
