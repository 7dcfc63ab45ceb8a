// Refusals: when credentials that a service has refused are looked for again.
//
// Threads: none of its own; the owner's lock guards it.
#ifndef WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
#define WEFT_LIBS_OBJECT_STORE_REFUSALS_H_

#include "absl/time/time.h"

namespace weft {

class Refusals {
 public:
  // A request was refused; `is_current`: it had the credentials that are known
  // now. Returns whether to look for others and to make the request again.
  bool Note(bool is_current, absl::Time now) {
    // Another request was refused, too: a look is about to come.
    if (is_look_due_ || !is_current) return true;
    if (now < next_look_) return false;
    next_look_ = now + kBetweenLooks;
    is_look_due_ = true;
    return true;
  }
  // Whether the known credentials were refused and nobody has looked since.
  bool is_look_due() const { return is_look_due_; }
  void HasLooked() { is_look_due_ = false; }

 private:
  // Who is refused for another reason does not look for each request.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(5);

  bool is_look_due_ = false;
  absl::Time next_look_ = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_REFUSALS_H_
