// PendingCall is a call of a channel that its caller can cancel. It ends with
// the first of its answer, its cancellation and the loss of the connection.
//
// Threads: EndWith may be called from any thread; RunEnd describes on which
// thread `done` runs.
#ifndef WEFT_LIBS_PROTOCOL_PENDING_CALL_H_
#define WEFT_LIBS_PROTOCOL_PENDING_CALL_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/base/async/cancellation.h"
#include "libs/bus/transport.h"
#include "libs/protocol/run_end.h"

namespace weft::protocol {

class PendingCall {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<bus::Message>)>;

  // `caller` may be null; it must live until `done` is called.
  PendingCall(Cancellation* caller, Done done)
      : caller_(caller),
        end_(caller, [this, done = std::move(done)](
                         const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          done(std::move(reply_));
        }) {}

  // Ends the call unless it has ended. A cancelled call ends with the status of
  // its caller's cancellation, because the channel does not know why it was
  // cancelled.
  void EndWith(absl::StatusOr<bus::Message> result) {
    if (!end_.Claim()) return;
    absl::Status status = result.status();
    if (absl::IsCancelled(status) && caller_ != nullptr &&
        caller_->IsCancelled()) {
      status = caller_->status();
    }
    if (result.ok()) reply_ = *std::move(result);
    end_.End(std::move(status));
  }

  // Cancels `call` of `channel` when the caller cancels. `self` is this object.
  // Must be called once, after the call was made.
  static void Watch(const std::shared_ptr<PendingCall>& self,
                    bus::Channel& channel, bus::Channel::CallId call) {
    self->end_.Started([self, &channel, call](const absl::Status& /*cause*/) {
      channel.Cancel(call);
    });
  }

 private:
  Cancellation* const caller_;
  bus::Message reply_;
  RunEnd end_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_PENDING_CALL_H_
