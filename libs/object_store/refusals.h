// Refusals decides when refused credentials are read again.
//
// Threads: none of its own; the owner's lock guards it.
#ifndef WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
#define WEFT_LIBS_OBJECT_STORE_REFUSALS_H_

#include "absl/time/time.h"

namespace weft {

class Refusals {
 public:
  // Records a refused request; `is_current`: it used the currently known
  // credentials. Returns whether to read credentials and retry the request.
  bool Note(bool is_current, absl::Time now) {
    // Another request was refused, too: a read is already due.
    if (is_look_due_ || !is_current) return true;
    if (now < next_look_) return false;
    next_look_ = now + kBetweenLooks;
    is_look_due_ = true;
    return true;
  }
  // Whether the known credentials were refused and not read since.
  bool is_look_due() const { return is_look_due_; }
  void HasLooked() { is_look_due_ = false; }

 private:
  // A service that refuses for another reason must not cause a read per
  // request.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(5);

  bool is_look_due_ = false;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
