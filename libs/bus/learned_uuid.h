// LearnedUuid holds the uuid of a cluster for a task that dials and listens
// before it knows it: the coordinator, which must itself be dialed, sends it.
// Shared by everything that sends HELLO for the task; each HELLO carries what
// is known by then.
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_BUS_LEARNED_UUID_H_
#define WEFT_LIBS_BUS_LEARNED_UUID_H_

#include <string>

#include "absl/synchronization/mutex.h"

namespace weft::bus {

class LearnedUuid {
 public:
  // Returns an empty string if it is not known yet.
  std::string Get() const {
    absl::ReaderMutexLock lock(&mutex_);
    return uuid_;
  }
  void Set(const std::string& uuid) {
    absl::MutexLock lock(&mutex_);
    uuid_ = uuid;
  }

 private:
  mutable absl::Mutex mutex_;
  std::string uuid_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_LEARNED_UUID_H_
