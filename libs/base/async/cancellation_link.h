// CancellationLink propagates the cancellation of one Cancellation to another.
// For example, it cancels a step when the call that requested the step is
// cancelled.
#ifndef WEFT_LIBS_BASE_ASYNC_CANCELLATION_LINK_H_
#define WEFT_LIBS_BASE_ASYNC_CANCELLATION_LINK_H_

#include <memory>
#include <utility>

#include "libs/base/async/cancellation.h"

namespace weft {

// Begin and End must be called alternately, by one thread at a time.
class CancellationLink {
 public:
  // Cancels `inner` when `outer` is cancelled, or at once if it already is.
  // `outer` may be null and must live until End. `inner` is kept alive until
  // End and during its cancellation, even if a callback releases it.
  void Begin(Cancellation* outer, std::shared_ptr<Cancellation> inner) {
    outer_ = outer;
    if (outer == nullptr) return;
    token_ = outer->Register(
        [inner](const absl::Status& cause) { inner->Cancel(cause); });
    if (token_ == 0) inner->Cancel(outer->status());
  }

  // Ends the link. After this returns, `outer` is not used any more. Blocks
  // like Cancellation::Deregister.
  void End() {
    if (token_ != 0) outer_->Deregister(token_);
    token_ = 0;
  }

 private:
  Cancellation* outer_ = nullptr;
  Cancellation::Token token_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_CANCELLATION_LINK_H_
