#include "libs/bus/async_scope.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/testing/forwarding_scheduler.h"

namespace weft::bus {
namespace {

// KeepingScheduler keeps a closure that it has run, as an interrupted thread
// may.
class KeepingScheduler : public ForwardingScheduler {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  void Schedule(Pool /*pool*/, Closure closure) override {
    kept_ = std::move(closure);
    kept_();
  }

 private:
  Closure kept_;
};

class AsyncScopeTest : public testing::Test {
 protected:
  ManualClock clock_;
  SimulatedScheduler simulated_{clock_};
  KeepingScheduler scheduler_{simulated_};
};

// The owner of the scope destroys what they use after Wait.
TEST_F(AsyncScopeTest, FunctionsAreDestroyedBeforeWaitReturns) {
  AsyncScope scope(scheduler_);
  std::weak_ptr<int> held;
  // A lambda that captures a reference to a constant by copy has a constant.
  const auto schedule = [&](const std::shared_ptr<int>& value) {
    held = value;
    scope.Schedule(Pool::kControl, [value] {});
  };
  schedule(std::make_shared<int>(1));
  scope.Wait();
  EXPECT_TRUE(held.expired());
}

}  // namespace
}  // namespace weft::bus
