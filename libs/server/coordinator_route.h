// CoordinatorRoute: a task's way to the coordinator of its cluster: itself, a
// task of the same process, or one that is reached over the bus. Chosen anew at
// each call, since tasks of this process may start and stop at any time.
//
// Threads: as protocol::Coordinator says; Close from one that may block.
#ifndef WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_
#define WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_

#include <functional>
#include <memory>
#include <string>

#include "libs/bus/address.h"
#include "libs/bus/message.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/protocol/coordinator.h"
#include "libs/runtime/process.h"

namespace weft {

// The task that plays the coordinator: the lowest of job "coordinator", or,
// where there is no such job, of the first job that has devices. REQUIRES: some
// job has devices.
std::string CoordinatorTask(const ClusterSpec& cluster);

struct CoordinatorRouteOptions {
  Process* process = nullptr;  // never null; outlives the route
  ClusterSpec cluster;
  bus::Identity self;    // of the own task
  std::string task;      // that plays the coordinator
  bus::Address address;  // where that listens
  // Where the own task plays it; else null.
  std::shared_ptr<protocol::Coordinator> hosted;
  // The connection to another process has come up, or was lost; called on the
  // thread that reads. May be null.
  std::function<void()> on_connected;
  std::function<void()> on_lost;
};

// Held by shared_ptr: calls that wait hold on to it. A call that finds no
// coordinator by its deadline is UNAVAILABLE; Leave, which waits for none, is
// so at once.
class CoordinatorRoute : public protocol::Coordinator {
 public:
  static std::shared_ptr<CoordinatorRoute> Create(
      const CoordinatorRouteOptions& options);

  // The task begins to stop: the calls of Place and ListDevices that are under
  // way, which may wait for tasks, are CANCELLED, and so is each further Place.
  virtual void EndWaits() = 0;
  // Further calls, and those that wait, are CANCELLED. Returns when no call is
  // on its way out any more and no Place or ListDevices is under way.
  virtual void Close() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_
