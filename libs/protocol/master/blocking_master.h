// BlockingMaster makes synchronous calls of a Master, for a client's thread
// that only waits for them.
//
//   BlockingMaster master(*session_master, scheduler);
//   ASSIGN_OR_RETURN(const uint64_t session, master.CreateSession({}));
//
// Threads: thread-safe; each call blocks the calling thread. It must not be
// called on a thread that reads messages, nor on a pool that must not block.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_BLOCKING_MASTER_H_
#define WEFT_LIBS_PROTOCOL_MASTER_BLOCKING_MASTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/protocol/master/master.h"

namespace weft::protocol {

class BlockingMaster {
 public:
  // `master` and `scheduler` must outlive this object.
  BlockingMaster(Master& master, Scheduler& scheduler)
      : master_(master), scheduler_(scheduler) {}

  absl::StatusOr<uint64_t> CreateSession(const SessionConfig& config) {
    SyncCall<absl::StatusOr<uint64_t>> call(scheduler_);
    master_.CreateSession(config, call.Done());
    return call.Wait();
  }
  absl::StatusOr<ExtensionResult> ExtendSession(uint64_t session,
                                                GraphExtension extension) {
    SyncCall<absl::StatusOr<ExtensionResult>> call(scheduler_);
    master_.ExtendSession(session, std::move(extension), nullptr, call.Done());
    return call.Wait();
  }
  absl::StatusOr<uint64_t> MakeCallable(uint64_t session, CallableSpec spec) {
    SyncCall<absl::StatusOr<uint64_t>> call(scheduler_);
    master_.MakeCallable(session, std::move(spec), nullptr, call.Done());
    return call.Wait();
  }
  absl::Status ReleaseCallable(uint64_t session, uint64_t callable) {
    SyncCall<> call(scheduler_);
    master_.ReleaseCallable(session, callable, call.Done());
    return call.Wait();
  }
  absl::Status CloseSession(uint64_t session) {
    SyncCall<> call(scheduler_);
    master_.CloseSession(session, call.Done());
    return call.Wait();
  }
  absl::Status Reset(const std::vector<std::string>& containers,
                     const std::vector<std::string>& device_filters) {
    SyncCall<> call(scheduler_);
    master_.Reset(containers, device_filters, nullptr, call.Done());
    return call.Wait();
  }
  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices() {
    SyncCall<absl::StatusOr<std::vector<DeviceAttributes>>> call(scheduler_);
    master_.ListDevices(nullptr, call.Done());
    return call.Wait();
  }

 private:
  Master& master_;
  Scheduler& scheduler_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_BLOCKING_MASTER_H_
