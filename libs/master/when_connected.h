// WhenConnected makes a call to another task that waits until the task is
// connected, instead of failing because there was no connection yet.
#ifndef WEFT_LIBS_MASTER_WHEN_CONNECTED_H_
#define WEFT_LIBS_MASTER_WHEN_CONNECTED_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/or_cancelled.h"
#include "libs/device/device.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

// Calls `call` with `done` once the task has answered, or `done` with the
// reason if it has not by `deadline`. After a cancellation, whose cause `done`
// receives, `call` is not called any more.
inline void WhenConnected(
    protocol::Worker& worker, absl::Time deadline,
    const std::shared_ptr<Cancellation>& cancellation,
    protocol::Worker::Done done,
    absl::AnyInvocable<void(protocol::Worker::Done done)> call) {
  using Devices = absl::StatusOr<std::vector<DeviceAttributes>>;
  worker.GetStatusWhenConnected(
      deadline,
      OrCancelled<Devices>(cancellation,
                           [done = std::move(done), call = std::move(call)](
                               const Devices& answer) mutable {
                             if (!answer.ok()) return done(answer.status());
                             call(std::move(done));
                           }));
}

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WHEN_CONNECTED_H_
