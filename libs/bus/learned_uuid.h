// LearnedUuid holds the uuid of a cluster for a task that dials and listens
// before it knows the uuid. The coordinator sends the uuid, but must be dialed
// first. All objects that send HELLO for the task share one LearnedUuid; each
// HELLO carries the uuid if it is known by then.
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_BUS_LEARNED_UUID_H_
#define WEFT_LIBS_BUS_LEARNED_UUID_H_

#include <string>

#include "absl/synchronization/mutex.h"

namespace weft::bus {

class LearnedUuid {
 public:
  // Returns the uuid, or an empty string if it is not known yet.
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
