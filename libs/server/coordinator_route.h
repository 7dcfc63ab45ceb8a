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
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/in_flight.h"
#include "libs/bus/address.h"
#include "libs/bus/message.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/coordinator_client.h"
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
  // The connection to another process has come up, or was lost; called on the
  // thread that reads. May be null.
  std::function<void()> on_connected;
  std::function<void()> on_lost;
};

// Held by shared_ptr: calls that wait hold on to it.
class CoordinatorRoute : public protocol::Coordinator,
                         public std::enable_shared_from_this<CoordinatorRoute>,
                         private protocol::CoordinatorEvents {
 public:
  explicit CoordinatorRoute(const CoordinatorRouteOptions& options);

  // Where the own task plays it; before the first call.
  void set_hosted(std::shared_ptr<protocol::Coordinator> hosted) {
    hosted_ = std::move(hosted);
  }
  // Further calls, and those that wait, are CANCELLED.
  void Close();

  void Join(const protocol::JoinRequest& request, absl::Time deadline,
            Answer<protocol::JoinReply> done) override;
  void Heartbeat(const protocol::HeartbeatRequest& request, absl::Time deadline,
                 Answer<protocol::HeartbeatReply> done) override;
  void Leave(const std::string& task, uint64_t incarnation, absl::Time deadline,
             Done done) override;
  void Place(const protocol::PlacementRequest& request, absl::Time deadline,
             Answer<protocol::PlacementReply> done) override;
  void EndSession(uint64_t session, absl::Time deadline, Done done) override;
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline, Done done) override;
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   Answer<std::vector<DeviceAttributes>> done) override;
  void GetCluster(absl::Time deadline,
                  Answer<protocol::ClusterStatus> done) override;
  void Shutdown(absl::Time deadline, Done done) override;

 private:
  void OnCoordinatorConnected(const bus::Identity&) override {
    if (options_.on_connected) options_.on_connected();
  }
  void OnCoordinatorLost(const absl::Status&) override {
    if (options_.on_lost) options_.on_lost();
  }

  // Has `call` called with the coordinator and `done`, as soon as there is one
  // in this process or it can be dialed; `done` with UNAVAILABLE when there is
  // none by `deadline`.
  template <typename DoneType, typename Call>
  void Forward(absl::Time deadline, DoneType done, Call call);
  // Forward again in a moment, or NotHere where the deadline has come.
  template <typename DoneType, typename Call>
  void LookAgain(absl::Time deadline, DoneType done, Call call);

  std::shared_ptr<protocol::Coordinator> Choose();
  std::shared_ptr<protocol::Coordinator> Remote();
  absl::Status NotHere();
  bool IsClosed();

  const CoordinatorRouteOptions options_;
  const std::string cluster_;
  std::shared_ptr<protocol::Coordinator> hosted_;
  InFlight in_flight_;  // calls on their way out
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<protocol::CoordinatorClient> client_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_COORDINATOR_ROUTE_H_
