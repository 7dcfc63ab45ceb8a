// PendingReplies creates the callbacks that answer a service's calls, and knows
// when all have been called.
//
// Threads: any. No callback may be called after its destruction: call
// WaitUntilNone first.
#ifndef WEFT_LIBS_PROTOCOL_PENDING_REPLIES_H_
#define WEFT_LIBS_PROTOCOL_PENDING_REPLIES_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/common_messages.h"

namespace weft::protocol {

class PendingReplies {
 public:
  using Call = std::shared_ptr<bus::IncomingCall>;

  // Answers with Done, or the error.
  absl::AnyInvocable<void(absl::Status)> Done(Call call) {
    in_flight_.Begin();
    return [this, call = std::move(call)](const absl::Status& status) mutable {
      if (status.ok()) {
        call->Reply(WriteDone());
      } else {
        call->Fail(status);
      }
      call.reset();
      in_flight_.End();
    };
  }

  // Answers with the result of `write` on a T, a Message or a StatusOr of one.
  template <typename T, typename Write>
  absl::AnyInvocable<void(absl::StatusOr<T>)> With(Call call, Write write) {
    in_flight_.Begin();
    return [this, call = std::move(call),
            write = std::move(write)](absl::StatusOr<T> result) mutable {
      if (result.ok()) {
        Answer(*call, write(*result));
      } else {
        call->Fail(result.status());
      }
      call.reset();
      in_flight_.End();
    };
  }

  // For work without an answer, or with a custom one.
  void Begin() { in_flight_.Begin(); }
  void End() { in_flight_.End(); }

  // Blocks.
  void WaitUntilNone(Scheduler& scheduler) {
    in_flight_.WaitUntilNone(scheduler, absl::InfiniteFuture());
  }

 private:
  InFlight in_flight_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_PENDING_REPLIES_H_
