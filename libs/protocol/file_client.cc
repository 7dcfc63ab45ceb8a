#include "libs/protocol/file_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/file_messages.h"
#include "libs/protocol/run_end.h"

namespace weft::protocol {
namespace {

// One call: its answer, and who may end it.
struct PendingOperation {
  PendingOperation(std::shared_ptr<Cancellation> the_cancellation,
                   Files::Done done)
      : cancellation(std::move(the_cancellation)),
        end(cancellation.get(),
            [this, done = std::move(done)](const absl::Status& status) mutable {
              if (!status.ok()) return done(status);
              done(std::move(answer));
            }) {}

  void EndWith(absl::StatusOr<FileAnswer> result) {
    if (!end.Claim()) return;
    if (result.ok()) answer = *std::move(result);
    end.End(result.status());
  }

  const std::shared_ptr<Cancellation> cancellation;
  FileAnswer answer;
  RunEnd end;
};

}  // namespace

FileClient::FileClient(bus::Transport& transport,
                       const FileClientOptions& options)
    : options_(options),
      who_(options.address.ToTarget()),
      disconnected_since_(options.scheduler->clock().Now()) {
  channel_ = transport.Dial(options_.address, options_.self, options_.task,
                            static_cast<bus::ChannelEvents*>(this));
}

FileClient::~FileClient() = default;

void FileClient::OnConnected(const bus::Identity&) {
  absl::MutexLock lock(&mutex_);
  connected_ = true;
  last_failure_ = absl::OkStatus();
}

void FileClient::OnDisconnected(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(connected_, false)) {
    disconnected_since_ = options_.scheduler->clock().Now();
  }
  last_failure_ = why;
}

bus::CallOptions FileClient::OptionsOf(FileAction action, absl::Time deadline) {
  bus::CallOptions options;
  options.deadline = deadline;
  options.is_fast = IsFileAnswerReadSoon;
  if (IsOfOpenFile(action)) return options;
  absl::MutexLock lock(&mutex_);
  if (connected_) return options;
  const absl::Time last = disconnected_since_ + options_.connect_timeout;
  if (options_.scheduler->clock().Now() >= last) return options;
  options.wait_for_connection = true;
  options.deadline = std::min(deadline, last);
  return options;
}

// A refusal fails calls before the channel tells of it.
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
  if (absl::IsDeadlineExceeded(status)) {
    explained = connected ? absl::DeadlineExceededError(
                                "no answer in time: its disk "
                                "may be stuck")
                          : absl::UnavailableError(absl::StrCat(
                                "no connection in time",
                                failure.ok() ? "" : ": ", failure.message()));
    explained = Annotate(explained, who_);
  }
  if (!absl::IsUnavailable(status) && !absl::IsUnavailable(explained)) {
    return explained;
  }
  if (!absl::StrContains(explained.message(), who_)) {
    explained = Annotate(explained, who_);
  }
  // A dial that fails says so itself.
  if (connected || absl::StrContains(explained.message(), "is it running")) {
    return explained;
  }
  return Append(explained,
                "(is the checkpoint writer running, and is this its address?)");
}

void FileClient::Operate(FileRequest request, absl::Time deadline,
                         std::shared_ptr<Cancellation> cancellation,
                         Done done) {
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    return done(cancellation->status());
  }
  const bus::CallOptions options = OptionsOf(request.action, deadline);
  auto pending = std::make_shared<PendingOperation>(std::move(cancellation),
                                                    std::move(done));
  const bus::Channel::CallId call =
      channel_->Call(WriteFileOperation(request), options,
                     [this, pending](absl::StatusOr<bus::Message> reply) {
                       if (!reply.ok())
                         return pending->EndWith(Explain(reply.status()));
                       auto answer = ReadFileAnswer(*std::move(reply));
                       if (answer.ok())
                         return pending->EndWith(std::move(answer));
                       pending->EndWith(BadReply(who_, answer.status()));
                     });
  pending->end.Started(
      [this, pending, call](const absl::Status&) { channel_->Cancel(call); });
}

}  // namespace weft::protocol
