// Coordinator is the role that knows the cluster: which tasks are alive, with
// which devices, which named resources they share, and where the nodes of a
// session's graph are placed. One task of the cluster hosts it; all tasks
// report to it.
//
// Its state is soft: each task reports it again to each new incarnation of the
// coordinator. Steps never wait for it; only extensions of a graph do.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/device/device.h"
#include "libs/graph/placement_graph.h"

namespace weft::protocol {

// A resource that exists on a device, or that a session has declared.
struct PlacedResource {
  NamedResource resource;  // with its container, never empty
  std::string device;      // full name
  // The memory that it holds; 0 if it is only declared.
  int64_t num_bytes = 0;
  // A description of the resource in one line; may be empty.
  std::string description;
};

// The memory usage of a device, in bytes.
struct DeviceUse {
  std::string device;  // full name
  int64_t total = 0;   // memory of the hardware
  int64_t in_use = 0;  // the part of it that this task's buffers use
};

// The shared resources declared by the sessions of one master.
struct DeclaredResources {
  uint64_t session = 0;
  std::vector<PlacedResource> resources;
};

// The report of a task about itself.
struct TaskReport {
  // On its devices, without the resources of isolated or private sessions.
  std::vector<PlacedResource> resources;
  // Of the sessions whose master it is.
  std::vector<DeclaredResources> sessions;
  // Of the devices with their own memory.
  std::vector<DeviceUse> memory;
};

// A process of a task that has left the cluster cleanly.
struct LeftTask {
  std::string task;
  uint64_t incarnation = 0;
  friend bool operator==(const LeftTask&, const LeftTask&) = default;
};

struct JoinRequest {
  std::string task;             // "/job:ps/replica:0/task:0"
  uint64_t incarnation = 0;     // of the task
  std::string cluster;          // ClusterSpec::ToString of the task's spec
  std::string target;           // "zmq://host:port"
  uint64_t op_fingerprint = 0;  // of its op registry; 0: it has none
  std::vector<DeviceAttributes> devices;
  TaskReport report;
  // The report is empty: collecting it may wait, and it may be large, so it
  // follows in a HeartbeatRequest. Placements wait for it, membership does not.
  bool reports_later = false;
  // The uuid of the cluster, as an earlier coordinator sent it; empty if
  // unknown.
  std::string cluster_uuid;
  // The tasks that have left, as an earlier coordinator sent them or as this
  // task reported them to it: a restarted coordinator does not wait for them.
  // The task already knows of finished jobs that consist of these alone.
  std::vector<LeftTask> left;
};

struct JoinReply {
  // The uuid of the cluster, for HELLO. It never changes, even if the
  // coordinator restarts. Empty: not certain yet, because tasks that have not
  // joined may know it; a heartbeat's reply will contain it.
  std::string cluster_uuid;
  uint64_t coordinator = 0;  // incarnation of the coordinator
  // The interval of the task's heartbeats.
  absl::Duration heartbeat_interval;
};

struct HeartbeatRequest {
  std::string task;
  uint64_t incarnation = 0;
  uint64_t coordinator = 0;  // the incarnation that it joined
  // Set if the last reply requested it, and once after a JoinRequest that
  // reports_later.
  bool has_report = false;
  TaskReport report;
  // left_version of the last reply of this coordinator; 0 if there was none.
  uint64_t left_version = 0;
  // The tasks that have left, as they have reported to the sender, since its
  // last answered request.
  std::vector<LeftTask> left;
};

struct HeartbeatReply {
  bool wants_report = false;
  // Whether the task must stop because the cluster is being shut down.
  bool stop = false;
  // Jobs all of whose tasks have left cleanly; perhaps before this coordinator
  // started, as reported by tasks (JoinRequest::left, HeartbeatRequest::left).
  std::vector<std::string> finished_jobs;
  std::string cluster_uuid;  // as in JoinReply
  // A counter, from 1, of tasks that have left or come back.
  uint64_t left_version = 0;
  // The tasks that have left or come back since the version in the request.
  // Incarnation 0 means that the task is back.
  std::vector<LeftTask> left;
};

struct LeaveRequest {
  std::string task;
  uint64_t incarnation = 0;  // incarnation of the task
  // The uuid of the cluster that the task was a member of; empty if unknown.
  std::string cluster_uuid;
};

// Nodes of one session to be placed. Placing them and registering the resources
// that they declare is one transaction.
struct PlacementRequest {
  uint64_t session = 0;
  std::string task;          // the task of the session's master
  uint64_t incarnation = 0;  // incarnation of that task
  PlacementGraph graph;
  bool allow_soft_placement = false;
  // If true, the session's resources are not shared, and nothing is registered.
  bool isolated = false;
  std::vector<std::string> device_filters;
  // If true, the reply explains where the nodes would be placed now. It has
  // reasons; nothing is compared or registered.
  bool explain = false;
};

struct PlacementReply {
  // The device of each node of the graph, as in weft::Placement.
  std::vector<std::string> devices;
  std::vector<std::string> reasons;  // empty unless requested
};

enum class TaskState { kExpected, kAlive, kLost, kLeft };

struct TaskStatus {
  std::string task;
  TaskState state = TaskState::kExpected;
  // The values of the task's last join; zero and empty if it never joined.
  uint64_t incarnation = 0;
  std::string target;
  std::vector<DeviceAttributes> devices;
  std::vector<PlacedResource> resources;  // as last reported
  int num_sessions = 0;           // with declarations, whose master it is
  std::vector<DeviceUse> memory;  // as last reported
  // The number of these sessions that declare a resource in a container, by the
  // container's name.
  std::map<std::string, int> sessions_by_container;
};

// Selects the parts of a ClusterStatus to return.
struct ClusterQuery {
  // If true, the call waits for a limited time until each live task has sent a
  // new report, so that no value is older than the call. For a task that does
  // not report, the status contains its last report. Only a fresh status
  // contains sessions_by_container.
  bool is_fresh = false;
  // If true, the status contains only the name and the state of each task.
  // Ignored if is_fresh.
  bool only_states = false;
};

struct ClusterStatus {
  std::string cluster_uuid;
  std::string coordinator;        // the task that hosts it
  std::vector<TaskStatus> tasks;  // by name
};

class Coordinator {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  template <typename T>
  using Answer = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  virtual ~Coordinator() = default;

  // Makes a task a member. Joining again with the same incarnation only updates
  // the reported values. Returns FAILED_PRECONDITION, naming both sides, if the
  // task's cluster spec contradicts the coordinator's, if its ops differ, or if
  // its cluster uuid is not the one of which the coordinator is certain.
  // ALREADY_EXISTS if another live process has this task. ABORTED if this
  // incarnation has left.
  virtual void Join(const JoinRequest& request, absl::Time deadline,
                    Answer<JoinReply> done) = 0;
  // Keeps a task a member. Returns ABORTED if the coordinator does not know
  // this incarnation or has restarted; then the task must join again.
  virtual void Heartbeat(const HeartbeatRequest& request, absl::Time deadline,
                         Answer<HeartbeatReply> done) = 0;
  // Notes that a task stops cleanly; OK if the task is unknown. A task that has
  // not joined this coordinator counts as having left only if it names the uuid
  // of this cluster, because an earlier deployment may have had the same
  // addresses.
  virtual void Leave(const LeaveRequest& request, absl::Time deadline,
                     Done done) = 0;

  // Waits until every task that passes the filters, and the session's own, has
  // joined. Of tasks that have left, only the session's own is waited for.
  // DEADLINE_EXCEEDED names the tasks that have not joined. `cancellation`, of
  // this call alone, ends the wait with its cause; it may be null.
  // INVALID_ARGUMENT: a node cannot be placed. ABORTED: a node requests a task
  // that has left and does not return soon; the error names both.
  // FAILED_PRECONDITION, with the difference: another session has declared a
  // resource of the same name differently. UNAVAILABLE: the coordinator stops.
  // On an error nothing was registered.
  virtual void Place(const PlacementRequest& request, absl::Time deadline,
                     std::shared_ptr<Cancellation> cancellation,
                     Answer<PlacementReply> done) = 0;
  // Notes that a session has ended. Its declared resources are kept only if
  // they exist.
  virtual void EndSession(uint64_t session, absl::Time deadline, Done done) = 0;
  // Containers were cleared on the tasks that pass the filters (none named:
  // each device's default container): their contents are forgotten. Waits only
  // for the coordinator. `cancellation`, of this call alone, ends that wait
  // with its cause, and may be null.
  virtual void ForgetContainers(const std::vector<std::string>& containers,
                                const std::vector<std::string>& device_filters,
                                absl::Time deadline,
                                std::shared_ptr<Cancellation> cancellation,
                                Done done) = 0;

  // Lists the devices of the tasks that pass the filters (none: all tasks), in
  // the order of the tasks' names. Waits for these tasks and ends as Place
  // does.
  virtual void ListDevices(const std::vector<std::string>& device_filters,
                           absl::Time deadline,
                           std::shared_ptr<Cancellation> cancellation,
                           Answer<std::vector<DeviceAttributes>> done) = 0;
  // Returns the known state of the cluster.
  virtual void GetCluster(const ClusterQuery& query, absl::Time deadline,
                          Answer<ClusterStatus> done) = 0;
  // Asks every task to stop with its next heartbeat, and the coordinator's own
  // task after the others.
  virtual void Shutdown(absl::Time deadline, Done done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_H_
