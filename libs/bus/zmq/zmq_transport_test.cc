#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/testing/transport_conformance.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

class ZmqHarness : public TransportHarness {
 public:
  Scheduler& scheduler() override { return *scheduler_; }
  Wire& NewWire(const std::string&) override {
    wires_.push_back(NewZmqWire(*scheduler_));
    return *wires_.back();
  }
  Address host() override { return {"127.0.0.1", 0}; }

 private:
  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  std::vector<std::unique_ptr<Wire>> wires_;
};

INSTANTIATE_TEST_SUITE_P(Zmq, TransportConformanceTest, testing::Values([] {
                           return std::make_unique<ZmqHarness>();
                         }));

INSTANTIATE_TEST_SUITE_P(Zmq, TransportHeartbeatTest, testing::Values([] {
                           return std::make_unique<ZmqHarness>();
                         }));

}  // namespace
}  // namespace weft::bus
