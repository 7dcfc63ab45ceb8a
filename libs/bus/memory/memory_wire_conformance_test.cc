// Runs the conformance suite of Wire on MemoryWire, with real and with
// simulated threads.
#include <memory>

#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/testing/wire_conformance.h"

namespace weft::bus {
namespace {

class MemoryHarness : public WireHarness {
 public:
  explicit MemoryHarness(std::unique_ptr<Clock> clock,
                         std::unique_ptr<Scheduler> scheduler)
      : clock_(std::move(clock)), scheduler_(std::move(scheduler)) {}

  Scheduler& scheduler() override { return *scheduler_; }
  Wire& server() override { return *server_; }
  Wire& client() override { return *client_; }
  Address host() override { return {"server", 0}; }

 private:
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Scheduler> scheduler_;
  MemoryNetwork network_{*scheduler_};
  std::unique_ptr<Wire> server_ = NewMemoryWire(network_, "server");
  std::unique_ptr<Wire> client_ = NewMemoryWire(network_, "client");
};

std::unique_ptr<WireHarness> OnThreads() {
  auto clock = std::make_unique<SystemClock>();
  auto scheduler = NewThreadScheduler(*clock);
  return std::make_unique<MemoryHarness>(std::move(clock),
                                         std::move(scheduler));
}

template <int kSeed>
std::unique_ptr<WireHarness> Simulated() {
  auto clock = std::make_unique<ManualClock>();
  auto scheduler = std::make_unique<SimulatedScheduler>(
      *clock, SimulatedSchedulerOptions{.seed = kSeed, .on_deadlock = {}});
  return std::make_unique<MemoryHarness>(std::move(clock),
                                         std::move(scheduler));
}

INSTANTIATE_TEST_SUITE_P(Memory, WireConformanceTest,
                         testing::Values(OnThreads, Simulated<1>,
                                         Simulated<2>));

}  // namespace
}  // namespace weft::bus
