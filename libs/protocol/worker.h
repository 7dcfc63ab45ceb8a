// Worker: the role that runs partitions on a task's devices. A master drives
// it, in the same process or over the bus.
//
// Registration ids are chosen by the master. Feeds and fetches are edges of the
// step with the master at their other end: a partition's _Arg and _Retval nodes
// carry the index of the callable's feed or fetch.
//
// Threads: every method may be called from any thread.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_H_
#define WEFT_LIBS_PROTOCOL_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/device/device.h"
#include "libs/graph/graph.h"
#include "libs/tensor/tensor.h"

namespace weft::protocol {

// What one device runs of a callable.
struct DevicePartition {
  std::string device;  // full name
  std::shared_ptr<const Graph> graph;
};

// What one task runs of a callable.
struct PartitionRegistration {
  uint64_t session = 0;
  uint64_t registration = 0;
  std::vector<DevicePartition> partitions;
};

// One step of a registration. What the pointers and spans view lives until the
// step is done.
struct PartitionStep {
  uint64_t session = 0;
  uint64_t registration = 0;
  uint64_t step_id = 0;
  absl::Span<const Tensor> feeds;  // by feed index; only this task's are set
  absl::Span<Tensor> fetches;      // by fetch index; only this task's get set
  // Ends the step early. The step's own first error cancels it too.
  Cancellation* cancellation = nullptr;
  bool caller_waits = false;
};

class Worker {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~Worker() = default;

  virtual std::vector<DeviceAttributes> Devices() const = 0;

  // Types of the devices that have a kernel for the node.
  virtual std::vector<std::string> DeviceTypesFor(const Node& node) const = 0;

  // `isolated`: the session gets resource containers of its own.
  virtual absl::Status CreateSession(uint64_t session, bool isolated) = 0;
  // Forgets the session's registrations, stateful kernels and, if isolated,
  // its variables. OK when unknown.
  virtual void DeleteSession(uint64_t session) = 0;

  // Compiles the partitions. Idempotent for a registration that exists.
  virtual absl::Status Register(const PartitionRegistration& registration) = 0;
  // Steps that run go on to their end. OK when unknown.
  virtual void Deregister(uint64_t session, uint64_t registration) = 0;

  // `done` is called exactly once, perhaps before the call returns, when
  // nothing of the step runs here any more.
  virtual void Run(const PartitionStep& step, Done done) = 0;

  // None named: the default container of each device.
  virtual void ClearContainers(absl::Span<const std::string> containers) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_H_
