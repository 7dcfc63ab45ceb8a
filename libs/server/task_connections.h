// TaskConnections records which accepted connections have carried messages of
// steps.
//
// Thread-safe. One lock, which is never held while other code is called.
#ifndef WEFT_LIBS_SERVER_TASK_CONNECTIONS_H_
#define WEFT_LIBS_SERVER_TASK_CONNECTIONS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "libs/bus/message.h"

namespace weft {

class TaskConnections {
 public:
  // Records that a message of a step has arrived from `peer`. Called for each
  // of these messages, so all but the first of a connection only share the
  // lock.
  void RecordUse(const bus::Peer& peer) {
    {
      absl::ReaderMutexLock lock(&mutex_);
      if (used_.contains(peer.id)) return;
    }
    absl::MutexLock lock(&mutex_);
    used_.insert(peer.id);
  }

  // Forgets the connection, which is closed and delivers no more messages.
  // Returns whether it was used.
  bool Remove(const bus::Peer& peer) {
    absl::MutexLock lock(&mutex_);
    return used_.erase(peer.id) > 0;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_set<uint64_t> used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_CONNECTIONS_H_
