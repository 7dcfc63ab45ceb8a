// CoordinatorRoute is a task's route to the coordinator of its cluster: itself,
// a task of the same process, or one that is reached over the bus. It is chosen
// at each call, since tasks of this process may start and stop at any time.
//
// Threads: as in protocol::Coordinator; Close from one that may block.
#ifndef WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_
#define WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_

#include <functional>
#include <memory>
#include <string>

#include "libs/bus/address.h"
#include "libs/bus/message.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/runtime/process/process.h"

namespace weft {

// Returns the task that hosts the coordinator: the lowest of job "coordinator",
// or, without such a job, of the first job that has devices. REQUIRES: some job
// has devices.
std::string CoordinatorTask(const ClusterSpec& cluster);

struct CoordinatorRouteOptions {
  Process* process = nullptr;  // never null; must outlive the route
  ClusterSpec cluster;
  bus::Identity self;    // of the own task
  std::string task;      // the task that hosts the coordinator
  bus::Address address;  // where it listens
  // The coordinator if the own task hosts it; otherwise null.
  std::shared_ptr<protocol::Coordinator> hosted;
  // Called on the reading thread when the connection to another process is
  // established, and when it was lost. May be null.
  std::function<void()> on_connected;
  std::function<void()> on_lost;
};

// Held by a shared_ptr: waiting calls hold a reference to it. A call that finds
// no coordinator by its deadline fails with UNAVAILABLE; Leave, which does not
// wait, fails at once.
class CoordinatorRoute : public protocol::Coordinator {
 public:
  static std::shared_ptr<CoordinatorRoute> Create(
      const CoordinatorRouteOptions& options);

  // Must be called when the task begins to stop. Pending calls of Place and
  // ListDevices, which may wait for tasks, end with CANCELLED, and so does each
  // further Place.
  virtual void EndWaits() = 0;
  // Ends waiting and further calls with CANCELLED. Returns when no outgoing
  // call is running and no Place or ListDevices is pending.
  virtual void Close() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_
