#include "libs/protocol/files/file_client.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/ask_if_running.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/files/file_messages.h"
#include "libs/protocol/run_end.h"

namespace weft::protocol {
namespace {

// The task at the other end refuses it at once, whatever its role: any answer
// shows that it is alive.
FileRequest Nothing() {
  FileRequest request;
  request.action = FileAction::kAbandon;
  return request;
}

}  // namespace

// One operation in flight: its answer, and what may end it.
struct FileClient::Pending {
  Pending(FileRequest the_request, absl::Time the_deadline,
          std::shared_ptr<Cancellation> the_cancellation, Done done)
      : request(std::move(the_request)),
        deadline(the_deadline),
        cancellation(std::move(the_cancellation)),
        end(cancellation.get(),
            [this, done = std::move(done)](const absl::Status& status) mutable {
              if (!status.ok()) return done(status);
              done(std::move(answer));
            }) {}

  bool IsCancelled() const {
    return cancellation != nullptr && cancellation->IsCancelled();
  }
  void EndWith(absl::StatusOr<FileAnswer> result) {
    if (!end.Claim()) return;
    if (result.ok()) answer = *std::move(result);
    end.End(result.status());
  }

  FileRequest request;
  const absl::Time deadline;
  const std::shared_ptr<Cancellation> cancellation;
  // The last call that it made.
  std::atomic<bus::Channel::CallId> call{0};
  FileAnswer answer;
  RunEnd end;
};

FileClient::FileClient(bus::Transport& transport,
                       const FileClientOptions& options)
    : options_(options),
      who_(options.address.ToTarget()),
      disconnected_since_(options.scheduler->clock().Now()) {
  channel_ = transport.Dial(options_.address, options_.self, options_.task,
                            static_cast<bus::ChannelEvents*>(this));
}

FileClient::~FileClient() = default;

void FileClient::OnConnected(const bus::Identity& peer) {
  {
    absl::MutexLock lock(&mutex_);
    connected_ = true;
    incarnation_ = peer.incarnation;
    last_failure_ = absl::OkStatus();
  }
  SendExpectation();
}

// Another thread may change the expectation, and send it, between the read and
// the send here: then the read is repeated, so that the last one sent is the
// current one. The task at the other end may have kept an older one from the
// previous connection, so "none" is sent as well.
void FileClient::SendExpectation() {
  std::optional<bool> sent;
  while (true) {
    const std::optional<bool> expects = expectation();
    if (expects == sent) return;
    sent = expects;
    FileRequest request;
    request.action =
        *expects ? FileAction::kExpectSaves : FileAction::kExpectNoSaves;
    Start(std::move(request),
          options_.scheduler->clock().Now() + options_.connect_timeout, nullptr,
          [](const absl::StatusOr<FileAnswer>&) {});
  }
}

std::optional<bool> FileClient::expectation() {
  absl::MutexLock lock(&mutex_);
  return expects_saves_;
}

bool FileClient::NoteExpectation(FileAction action) {
  absl::MutexLock lock(&mutex_);
  expects_saves_ = action == FileAction::kExpectSaves;
  return connected_;
}

void FileClient::OnDisconnected(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(connected_, false)) {
    disconnected_since_ = options_.scheduler->clock().Now();
  }
  last_failure_ = why;
}

absl::Time FileClient::LastWait(FileAction action) {
  absl::MutexLock lock(&mutex_);
  if (connected_ || IsOfOpenFile(action) || IsExpectation(action)) {
    return absl::InfinitePast();
  }
  return disconnected_since_ + options_.connect_timeout;
}

// A refusal fails calls before the channel reports it.
absl::Status FileClient::Explain(const absl::Status& status) {
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
  if (absl::IsDeadlineExceeded(explained)) {
    return Append(Annotate(explained, who_),
                  "(its disk may be stuck, or busy with other files)");
  }
  if (!absl::IsUnavailable(explained)) return explained;
  if (!absl::StrContains(explained.message(), who_)) {
    explained = Annotate(explained, who_);
  }
  return AskIfRunning(
      explained,
      "(is the checkpoint writer running, and is this its address?)");
}

absl::Status FileClient::CheckDurable(const FileRequest& done) {
  absl::MutexLock lock(&mutex_);
  return Annotate(renames_.OnDone(done, incarnation_), who_);
}

void FileClient::Operate(FileRequest request, absl::Time deadline,
                         std::shared_ptr<Cancellation> cancellation,
                         Done done) {
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    return done(cancellation->status());
  }
  if (IsExpectation(request.action) && !NoteExpectation(request.action)) {
    return done(FileAnswer());
  }
  Start(std::move(request), deadline, std::move(cancellation), std::move(done));
}

void FileClient::Start(FileRequest request, absl::Time deadline,
                       std::shared_ptr<Cancellation> cancellation, Done done) {
  const absl::Time last_wait = LastWait(request.action);
  auto pending = std::make_shared<Pending>(
      std::move(request), deadline, std::move(cancellation), std::move(done));
  if (options_.scheduler->clock().Now() < last_wait) {
    SendWhenConnected(pending, std::min(deadline, last_wait));
  } else {
    Send(pending);
  }
  pending->end.Started([this, pending](const absl::Status&) {
    channel_->Cancel(pending->call.load());
  });
}

// When there is a connection, the operation gets the remaining time.
void FileClient::SendWhenConnected(const std::shared_ptr<Pending>& pending,
                                   absl::Time deadline) {
  bus::CallOptions options;
  options.deadline = deadline;
  options.wait_for_connection = true;
  const bus::Channel::CallId call = channel_->Call(
      WriteFileOperation(Nothing()), options,
      [this, pending](const absl::StatusOr<bus::Message>& reply) {
        const bool answered =
            channel_->peer().has_value() && !absl::IsCancelled(reply.status());
        if (answered) return Send(pending);
        pending->EndWith(Explain(reply.status()));
      });
  // Unless it has been answered already, and the next one made.
  bus::Channel::CallId none = 0;
  pending->call.compare_exchange_strong(none, call);
}

void FileClient::Send(const std::shared_ptr<Pending>& pending) {
  bus::CallOptions options;
  options.deadline = pending->deadline;
  options.is_fast = IsFileAnswerReadSoon;
  const bus::Channel::CallId call = channel_->Call(
      WriteFileOperation(pending->request), options,
      [this, pending](absl::StatusOr<bus::Message> reply) {
        if (!reply.ok()) return pending->EndWith(Explain(reply.status()));
        auto answer = ReadFileAnswer(*std::move(reply));
        if (!answer.ok()) {
          return pending->EndWith(BadReply(who_, answer.status()));
        }
        const absl::Status lasts = CheckDurable(pending->request);
        if (!lasts.ok()) return pending->EndWith(lasts);
        pending->EndWith(std::move(answer));
      });
  pending->request.bytes = {};
  pending->call = call;
  // The cancelling thread may have seen the previous call.
  if (pending->IsCancelled()) channel_->Cancel(call);
}

}  // namespace weft::protocol
