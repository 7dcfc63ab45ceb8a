// WhenConnected: a call to another task that waits until the task is there,
// instead of failing because nobody has talked to it yet.
#ifndef WEFT_LIBS_MASTER_WHEN_CONNECTED_H_
#define WEFT_LIBS_MASTER_WHEN_CONNECTED_H_

#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/device/device.h"
#include "libs/protocol/worker.h"

namespace weft {

// Calls `call` with `done` once the task has answered, or `done` with why it
// has not by `deadline`.
inline void WhenConnected(
    protocol::Worker& worker, absl::Time deadline, protocol::Worker::Done done,
    absl::AnyInvocable<void(protocol::Worker::Done done)> call) {
  worker.GetStatus(
      deadline,
      [done = std::move(done), call = std::move(call)](
          const absl::StatusOr<std::vector<DeviceAttributes>>& answer) mutable {
        if (!answer.ok()) return done(answer.status());
        call(std::move(done));
      });
}

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WHEN_CONNECTED_H_
