#include "libs/protocol/master/master_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/tensor_codec.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/master/master_messages.h"
#include "libs/protocol/method.h"

namespace weft::protocol {
namespace {

// `indices`: the fetches of a partial run; empty: all.
std::string NameOfLargest(absl::Span<const Tensor> tensors,
                          absl::Span<const int> indices,
                          const CallableSpec& spec) {
  size_t largest = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].TotalBytes() > tensors[largest].TotalBytes()) largest = i;
  }
  if (largest < indices.size()) largest = static_cast<size_t>(indices[largest]);
  return largest < spec.fetches.size() ? spec.fetches[largest] : "";
}

}  // namespace

// A run in flight through the master: owns what the CallableRun views.
struct MasterService::Run {
  std::shared_ptr<bus::IncomingCall> call;
  RunCallableRequest request;
  std::vector<Tensor> fetches;
  RunMetadata metadata;
};

MasterService::MasterService(const MasterServiceOptions& options)
    : options_(options),
      leases_(
          *options.scheduler, options.lease,
          [this](uint64_t session) { Expire(session); },
          options.max_sessions_per_client),
      gone_clients_(*options.scheduler, options.logger) {}

MasterService::~MasterService() {
  replies_.WaitUntilNone(*options_.scheduler);
  leases_.End();
  // Sessions whose leases had expired.
  replies_.WaitUntilNone(*options_.scheduler);
}

template <void (MasterService::*kServe)(std::shared_ptr<bus::IncomingCall>,
                                        bus::Message)>
void MasterService::Later(CallPtr call, bus::Message request) {
  replies_.Begin();
  options_.scheduler->Schedule(
      Pool::kGraph,
      [this, call = std::move(call), request = std::move(request)]() mutable {
        (this->*kServe)(std::move(call), std::move(request));
        replies_.End();
      });
}

const MethodRow<MasterService>* MasterService::FindMethod(uint8_t method) {
  static constexpr MethodRow<MasterService> kRows[] = {
      {.method = Method::kCreateSession,
       .on_request = &MasterService::CreateSession},
      // While the task drains, the master accepts this and callables only for
      // monitored sessions.
      {.method = Method::kExtendSession,
       .on_request = &MasterService::Later<&MasterService::ExtendSession>,
       .is_served_while_draining = true},
      {.method = Method::kCloseSession,
       .on_request = &MasterService::CloseSession,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kMakeCallable,
       .on_request = &MasterService::Later<&MasterService::MakeCallable>,
       .is_served_while_draining = true},
      {.method = Method::kRunCallable,
       .on_request = &MasterService::RunCallable,
       .is_fast = true,
       .is_read_soon = IsRunCallableReadSoon,
       .is_served_while_draining = true},
      {.method = Method::kReleaseCallable,
       .on_request = &MasterService::ReleaseCallable,
       .is_control = true,
       .is_served_while_draining = true},
      {.method = Method::kReset, .on_request = &MasterService::Reset},
      {.method = Method::kListDevices,
       .on_request = &MasterService::ListDevices},
  };
  static constexpr MethodTable kTable(kRows);
  return kTable.Find(method);
}

void MasterService::OnDisconnect(const bus::Peer& peer,
                                 const absl::Status& why) {
  const int orphans = leases_.OnDisconnect(peer);
  if (orphans == 0) return;
  gone_clients_.Log(
      Severity::kWarning,
      absl::StrCat(
          "The client of ", orphans, " sessions is gone: ", why.message(),
          ". Its steps are cancelled; the sessions end in ",
          absl::FormatDuration(options_.lease), " unless it comes back."));
}

void MasterService::OnRefused(CallPtr call, bus::Message request, size_t which,
                              const absl::Status& why) {
  if (static_cast<Method>(request.method) != Method::kRunCallable) {
    return call->Fail(why);
  }
  const auto refused = ReadRefusedFeed(std::move(request), which);
  if (!refused.ok()) return call->Fail(why);
  const absl::Status owns = CheckOwner(*call, refused->session);
  if (!owns.ok()) return call->Fail(owns);
  const auto spec =
      options_.master->FindSpec(refused->session, refused->callable);
  if (spec == nullptr || refused->feed >= spec->feeds.size()) {
    return call->Fail(why);
  }
  call->Fail(Annotate(why, absl::StrCat("feed ", spec->feeds[refused->feed])));
}

absl::Status MasterService::CheckOwner(const bus::IncomingCall& call,
                                       uint64_t session) const {
  if (leases_.Owns(call.peer(), session)) return absl::OkStatus();
  RETURN_IF_ERROR(options_.master->CheckSession(session));
  return absl::AbortedError(
      absl::StrCat("Session ", session, " on ", options_.task,
                   " is another client's, or the lease of this one is over. "
                   "Create another session."));
}

void MasterService::ReplyWithFetches(Run& run, const absl::Status& status) {
  if (!status.ok()) return run.call->Fail(status);
  auto reply = WriteRunCallableReply(
      run.fetches, run.request.wanted.any() ? &run.metadata : nullptr);
  if (!reply.ok()) return run.call->Fail(reply.status());
  const absl::Status sent = run.call->TryReply(*std::move(reply));
  if (sent.ok()) return;
  const auto spec =
      options_.master->FindSpec(run.request.session, run.request.callable);
  if (spec == nullptr) return run.call->Fail(sent);
  run.call->Fail(Annotate(
      sent,
      absl::StrCat("fetch ", NameOfLargest(run.fetches,
                                           run.request.fetch_indices, *spec))));
}

absl::Status MasterService::CheckSession(const bus::IncomingCall& call,
                                         const bus::Message& request) const {
  if (!BringsMuch(request)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CallableId id, ReadRunCallableIds(request));
  return CheckOwner(call, id.session);
}

void MasterService::RunCallable(CallPtr call, bus::Message request) {
  const absl::Status known = CheckSession(*call, request);
  if (!known.ok()) return call->Fail(known);
  auto read = ReadRunCallable(std::move(request), *options_.allocator);
  if (!read.ok()) return call->Fail(read.status());
  const absl::Status owns = CheckOwner(*call, read->session);
  if (!owns.ok()) return call->Fail(owns);
  auto running = std::make_unique<Run>();
  running->call = std::move(call);
  running->request = *std::move(read);
  running->fetches.resize(running->request.num_fetches);
  CallableRun run;
  run.feeds = running->request.feeds;
  run.fetches = absl::MakeSpan(running->fetches);
  run.feed_indices = running->request.feed_indices;
  run.fetch_indices = running->request.fetch_indices;
  run.timeout = running->request.timeout;
  run.cancellation = &running->call->cancellation();
  run.thread = CallingThread::kReader;
  replies_.Begin();
  if (running->request.wanted.any()) {
    run.wanted = running->request.wanted;
    run.metadata = &running->metadata;
    return RunForMetadata(std::move(running), run);
  }
  const uint64_t session = running->request.session;
  const uint64_t callable = running->request.callable;
  options_.master->RunCallable(
      session, callable, run,
      [this, running = std::move(running)](const absl::Status& status) mutable {
        ReplyWithFetches(*running, status);
        running.reset();
        replies_.End();
      });
}

// A step that returns metadata describes graphs, which takes long: before it
// begins, and in its reply. Client functions must not delay it.
void MasterService::RunForMetadata(std::unique_ptr<Run> running,
                                   CallableRun run) {
  run.thread = CallingThread::kOther;
  const uint64_t session = running->request.session;
  const uint64_t callable = running->request.callable;
  const auto reply = [this](std::unique_ptr<Run> ended,
                            const absl::Status& status) {
    options_.scheduler->Schedule(
        Pool::kGraph, [this, ended = std::move(ended), status]() mutable {
          ReplyWithFetches(*ended, status);
          ended.reset();
          replies_.End();
        });
  };
  options_.scheduler->Schedule(
      Pool::kGraph, [this, session, callable, run, reply,
                     running = std::move(running)]() mutable {
        options_.master->RunCallable(session, callable, run,
                                     [reply, running = std::move(running)](
                                         const absl::Status& status) mutable {
                                       reply(std::move(running), status);
                                     });
      });
}

void MasterService::CreateSession(CallPtr call, bus::Message request) {
  auto config = ReadCreateSession(std::move(request));
  if (!config.ok()) return call->Fail(config.status());
  const absl::Status room = leases_.Reserve(call->peer());
  if (!room.ok()) return call->Fail(Annotate(room, options_.task));
  replies_.Begin();
  options_.master->CreateSession(
      *config,
      [this, call = std::move(call), is_monitored = config->is_monitored](
          absl::StatusOr<uint64_t> session) mutable {
        OnCreated(*call, std::move(session), is_monitored);
        call.reset();
        replies_.End();
      });
}

void MasterService::OnCreated(bus::IncomingCall& call,
                              absl::StatusOr<uint64_t> session,
                              bool is_monitored) {
  const bool is_gone = call.cancellation().IsCancelled();
  if (!session.ok() || is_gone) {
    leases_.OnNotCreated(call.peer());
    if (!session.ok()) return call.Fail(session.status());
    // No caller will ever learn its number.
    CloseUnused(*session);
    return call.Fail(call.cancellation().status());
  }
  leases_.OnCreated(call.peer(), *session, is_monitored);
  // A reset may have ended it, and processed the leases, meanwhile.
  if (!options_.master->CheckSession(*session).ok()) {
    leases_.OnClosed(*session);
  }
  call.Reply(WriteCreateSessionReply({*session, options_.lease}));
}

void MasterService::CloseUnused(uint64_t session) {
  options_.master->CloseSession(session, [](const absl::Status& /*closed*/) {});
}

void MasterService::ExtendSession(CallPtr call, bus::Message request) {
  auto extend = ReadExtendSession(std::move(request));
  if (!extend.ok()) return call->Fail(extend.status());
  const absl::Status owns = CheckOwner(*call, extend->session);
  if (!owns.ok()) return call->Fail(owns);
  Cancellation& client = call->cancellation();
  options_.master->ExtendSession(
      extend->session, std::move(extend->extension), &client,
      replies_.With<ExtensionResult>(std::move(call),
                                     [](const ExtensionResult& result) {
                                       return WriteExtendSessionReply(result);
                                     }));
}

void MasterService::CloseSession(CallPtr call, bus::Message request) {
  const auto session = ReadCloseSession(std::move(request));
  if (!session.ok()) return call->Fail(session.status());
  const absl::Status owns = CheckOwner(*call, *session);
  if (!owns.ok()) return call->Fail(owns);
  leases_.OnClosed(*session);
  options_.master->CloseSession(*session, replies_.Done(std::move(call)));
}

void MasterService::MakeCallable(CallPtr call, bus::Message request) {
  auto make = ReadMakeCallable(std::move(request));
  if (!make.ok()) return call->Fail(make.status());
  const absl::Status owns = CheckOwner(*call, make->session);
  if (!owns.ok()) return call->Fail(owns);
  // The step of a partial run continues when this has been answered.
  if (make->spec.is_partial) make->spec.keeps_open = call->KeepOpen();
  Cancellation& client = call->cancellation();
  options_.master->MakeCallable(
      make->session, std::move(make->spec), &client,
      replies_.With<uint64_t>(
          std::move(call),
          [this, &client, session = make->session](uint64_t callable) {
            if (client.IsCancelled()) {
              // No caller will ever learn its number.
              options_.master->ReleaseCallable(
                  session, callable, [](const absl::Status& /*released*/) {});
            }
            return WriteMakeCallableReply(callable);
          }));
}

void MasterService::ReleaseCallable(CallPtr call, bus::Message request) {
  const auto release = ReadReleaseCallable(std::move(request));
  if (!release.ok()) return call->Fail(release.status());
  const absl::Status owns = CheckOwner(*call, release->session);
  if (!owns.ok()) return call->Fail(owns);
  options_.master->ReleaseCallable(release->session, release->callable,
                                   replies_.Done(std::move(call)));
}

void MasterService::Reset(CallPtr call, bus::Message request) {
  const auto reset = ReadReset(std::move(request));
  if (!reset.ok()) return call->Fail(reset.status());
  Cancellation& client = call->cancellation();
  options_.master->Reset(reset->containers, reset->device_filters, &client,
                         [this, done = replies_.Done(std::move(call))](
                             const absl::Status& status) mutable {
                           // Also if it has failed: it ends sessions first of
                           // all.
                           leases_.OnReset([this](uint64_t session) {
                             return options_.master->CheckSession(session).ok();
                           });
                           done(status);
                         });
}

void MasterService::ListDevices(CallPtr call, bus::Message request) {
  const absl::Status read = ReadListDevices(std::move(request));
  if (!read.ok()) return call->Fail(read);
  Cancellation& client = call->cancellation();
  options_.master->ListDevices(
      &client,
      replies_.With<std::vector<DeviceAttributes>>(
          std::move(call), [](const std::vector<DeviceAttributes>& devices) {
            return WriteDevices(devices);
          }));
}

void MasterService::Expire(uint64_t session) {
  replies_.Begin();
  options_.master->CloseSession(
      session, [this, session](const absl::Status& closed) {
        // ABORTED: a reset has ended it.
        if (!absl::IsAborted(closed)) {
          gone_clients_.Log(Severity::kInfo,
                            absl::StrCat("Closed session ", session,
                                         ", whose client has been gone for ",
                                         absl::FormatDuration(options_.lease),
                                         closed.ok() ? "" : ": ",
                                         closed.ok() ? "" : closed.ToString()));
        }
        replies_.End();
      });
}

}  // namespace weft::protocol
