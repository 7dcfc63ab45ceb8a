#include "libs/base/async/cancellation_link.h"

#include <memory>

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(CancellationLinkTest, InnerIsCancelledWithOuter) {
  Cancellation outer;
  auto inner = std::make_shared<Cancellation>();
  CancellationLink link;
  link.Begin(&outer, inner);
  EXPECT_FALSE(inner->IsCancelled());
  outer.Cancel(absl::CancelledError("enough"));
  EXPECT_EQ(inner->status(), absl::CancelledError("enough"));
  link.End();
}

TEST(CancellationLinkTest, CancelledOuterCancelsInnerAtOnce) {
  Cancellation outer;
  outer.Cancel(absl::CancelledError("enough"));
  auto inner = std::make_shared<Cancellation>();
  CancellationLink link;
  link.Begin(&outer, inner);
  EXPECT_EQ(inner->status(), absl::CancelledError("enough"));
  link.End();
}

TEST(CancellationLinkTest, EndedLinkDoesNotCancelInner) {
  Cancellation outer;
  auto inner = std::make_shared<Cancellation>();
  CancellationLink link;
  link.Begin(&outer, inner);
  link.End();
  outer.Cancel(absl::CancelledError("enough"));
  EXPECT_FALSE(inner->IsCancelled());
  EXPECT_EQ(inner.use_count(), 1);
  link.Begin(nullptr, inner);
  link.End();
  EXPECT_FALSE(inner->IsCancelled());
}

TEST(CancellationLinkTest, CallbackMayReleaseTheInnerCancellation) {
  Cancellation outer;
  auto inner = std::make_shared<Cancellation>();
  CancellationLink link;
  link.Begin(&outer, inner);
  bool ended = false;
  inner->Register([&](const absl::Status&) {
    link.End();
    inner.reset();  // the link has the other reference
    ended = true;
  });
  outer.Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weft
