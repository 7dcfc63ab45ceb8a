#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/bus/memory_wire.h"
#include "libs/bus/testing/transport_conformance.h"

namespace weft::bus {
namespace {

class SimulatedHarness : public TransportHarness {
 public:
  explicit SimulatedHarness(uint64_t seed)
      : scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {}

  Scheduler& scheduler() override { return scheduler_; }
  Wire& NewWire(const std::string& name) override {
    wires_.push_back(NewMemoryWire(network_, name));
    return *wires_.back();
  }
  Address host() override { return {"memory", 0}; }

 private:
  ManualClock clock_;
  SimulatedScheduler scheduler_;
  MemoryNetwork network_{scheduler_};
  std::vector<std::unique_ptr<Wire>> wires_;
};

class ThreadHarness : public TransportHarness {
 public:
  Scheduler& scheduler() override { return *scheduler_; }
  Wire& NewWire(const std::string& name) override {
    wires_.push_back(NewMemoryWire(network_, name));
    return *wires_.back();
  }
  Address host() override { return {"memory", 0}; }

 private:
  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  MemoryNetwork network_{*scheduler_};
  std::vector<std::unique_ptr<Wire>> wires_;
};

TransportHarnessFactory Simulated(uint64_t seed) {
  return [seed] { return std::make_unique<SimulatedHarness>(seed); };
}

INSTANTIATE_TEST_SUITE_P(Seeds, TransportConformanceTest,
                         testing::Values(Simulated(1), Simulated(2),
                                         Simulated(3), Simulated(4),
                                         Simulated(5)));
INSTANTIATE_TEST_SUITE_P(Threads, TransportConformanceTest, testing::Values([] {
                           return std::make_unique<ThreadHarness>();
                         }));

}  // namespace
}  // namespace weft::bus
