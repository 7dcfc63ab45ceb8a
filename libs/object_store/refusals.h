// Refusals decides when credentials that a service refused are read again.
//
// Threads: not synchronized; the owner must lock.
#ifndef WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
#define WEFT_LIBS_OBJECT_STORE_REFUSALS_H_

#include "absl/time/time.h"

namespace weft {

class Refusals {
 public:
  // Records a refused request. `is_current` states that the request used the
  // currently known credentials. Returns whether the caller should read the
  // credentials and retry the request.
  bool Note(bool is_current, absl::Time now) {
    // Either another request was refused before and a read is already due, or
    // newer credentials are known.
    if (is_look_due_ || !is_current) return true;
    if (now < next_look_) return false;
    next_look_ = now + kBetweenLooks;
    is_look_due_ = true;
    return true;
  }
  // Returns whether the known credentials were refused and have not been read
  // again since.
  bool is_look_due() const { return is_look_due_; }
  void HasLooked() { is_look_due_ = false; }

 private:
  // The minimum time between reads, because a service that refuses for another
  // reason must not cause a read for each request.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(5);

  bool is_look_due_ = false;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
