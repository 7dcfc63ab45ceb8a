// ConnectionTable maps connection ids to their sockets and assigns the ids.
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_BUS_ZMQ_CONNECTION_TABLE_H_
#define WEFT_LIBS_BUS_ZMQ_CONNECTION_TABLE_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// ConnectionCarrier is a socket with its connections. The methods are those of
// Wire.
class ConnectionCarrier {
 public:
  virtual ~ConnectionCarrier() = default;
  virtual absl::Status Send(ConnectionId connection, Frames frames) = 0;
  virtual void Close(ConnectionId connection) = 0;
};

class ConnectionTable {
 public:
  ConnectionId Add(std::shared_ptr<ConnectionCarrier> carrier) {
    absl::MutexLock lock(&mutex_);
    carriers_[++last_] = std::move(carrier);
    return last_;
  }

  // Removes a connection. Returns its carrier, so that the caller decides where
  // to release that.
  std::shared_ptr<ConnectionCarrier> Remove(ConnectionId id) {
    absl::MutexLock lock(&mutex_);
    const auto found = carriers_.find(id);
    if (found == carriers_.end()) return nullptr;
    std::shared_ptr<ConnectionCarrier> carrier = std::move(found->second);
    carriers_.erase(found);
    return carrier;
  }

  // Returns null if there is no such connection.
  std::shared_ptr<ConnectionCarrier> Find(ConnectionId id) const {
    absl::MutexLock lock(&mutex_);
    const auto found = carriers_.find(id);
    return found == carriers_.end() ? nullptr : found->second;
  }

 private:
  mutable absl::Mutex mutex_;
  ConnectionId last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<ConnectionId, std::shared_ptr<ConnectionCarrier>>
      carriers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_CONNECTION_TABLE_H_
