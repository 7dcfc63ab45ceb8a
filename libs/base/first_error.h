// FirstError: which of several errors to report: the first that was not made by
// the abort that followed another (see MarkDerived), else the first.
#ifndef WEFT_LIBS_BASE_FIRST_ERROR_H_
#define WEFT_LIBS_BASE_FIRST_ERROR_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {

// Thread-safe. Costs nothing while all is well.
class FirstError {
 public:
  void Add(const absl::Status& status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (error_.ok() || (IsDerived(error_) && !IsDerived(status))) {
      error_ = status;
    }
  }

  // OK when there was none. Forgets it.
  absl::Status Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(error_, absl::OkStatus());
  }

 private:
  absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_FIRST_ERROR_H_
