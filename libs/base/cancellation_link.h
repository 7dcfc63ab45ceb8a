// CancellationLink: while it lasts, cancelling one Cancellation cancels
// another: a step ends with the call that asked for it.
#ifndef WEFT_LIBS_BASE_CANCELLATION_LINK_H_
#define WEFT_LIBS_BASE_CANCELLATION_LINK_H_

#include <memory>
#include <utility>

#include "libs/base/cancellation.h"

namespace weft {

// Begin and End by turns, each by one thread at a time.
class CancellationLink {
 public:
  // From now on, or at once if `outer` is cancelled already. `outer` may be
  // null and lives until End; `inner` is held until then, and while it is
  // cancelled, though what that ends may let go of it.
  void Begin(Cancellation* outer, std::shared_ptr<Cancellation> inner) {
    outer_ = outer;
    if (outer == nullptr) return;
    token_ = outer->Register(
        [inner](const absl::Status& cause) { inner->Cancel(cause); });
    if (token_ == 0) inner->Cancel(outer->status());
  }

  // Afterwards `outer` is not used any more. As Cancellation::Deregister.
  void End() {
    if (token_ != 0) outer_->Deregister(token_);
    token_ = 0;
  }

 private:
  Cancellation* outer_ = nullptr;
  Cancellation::Token token_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_CANCELLATION_LINK_H_
