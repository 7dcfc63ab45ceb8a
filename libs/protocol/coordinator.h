// Coordinator: the role that knows the cluster: which tasks are alive, with
// which devices, which named resources they share, and where the nodes of a
// session's graph go. One task of the cluster plays it; all report to it.
//
// What it knows is soft: each task tells it again to each new incarnation of
// the coordinator. No step waits for it; only graphs that grow do.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/device/device.h"
#include "libs/graph/placement_graph.h"

namespace weft::protocol {

// A resource that lives on a device, or that a session has declared to.
struct PlacedResource {
  NamedResource resource;  // with its container, never empty
  std::string device;      // full name
  // Memory it holds; 0 where it is only declared.
  int64_t num_bytes = 0;
  // One line for people; may be empty.
  std::string description;
};

// How the memory of a device is used, in bytes.
struct DeviceUse {
  std::string device;  // full name
  int64_t total = 0;   // of the hardware
  int64_t in_use = 0;  // of those, by this task's buffers
};

// What the sessions of one master declare to share.
struct DeclaredResources {
  uint64_t session = 0;
  std::vector<PlacedResource> resources;
};

// What a task tells of itself.
struct TaskReport {
  // On its devices; sessions' own (isolated or private) ones not among them.
  std::vector<PlacedResource> resources;
  // Of the sessions whose master it is.
  std::vector<DeclaredResources> sessions;
  // Of the devices that can tell: those with memory of their own.
  std::vector<DeviceUse> memory;
};

// A process of a task that has left the cluster, cleanly.
struct LeftTask {
  std::string task;
  uint64_t incarnation = 0;
  friend bool operator==(const LeftTask&, const LeftTask&) = default;
};

struct JoinRequest {
  std::string task;          // "/job:ps/replica:0/task:0"
  uint64_t incarnation = 0;  // of the task
  std::string cluster;       // ClusterSpec::ToString of the spec it was given
  std::string target;        // "zmq://host:port"
  uint64_t op_fingerprint = 0;  // of its op registry; 0: it has none
  std::vector<DeviceAttributes> devices;
  TaskReport report;
  // The report is empty: collecting it may wait, and it may be large, so it
  // follows in a HeartbeatRequest. Placements wait for it, membership does not.
  bool reports_later = false;
  // What an earlier coordinator has told; empty: nothing.
  std::string cluster_uuid;
  // Who has left, as an earlier coordinator has told the task, or was told by
  // it: a coordinator that starts anew does not wait for them. Finishes of jobs
  // that consist of these alone are no news for the task.
  std::vector<LeftTask> left;
};

struct JoinReply {
  // Of the cluster, for HELLO; the same all its life, also when its coordinator
  // starts anew. Empty: not certain yet, for tasks that have not joined may
  // know it; a heartbeat's reply will tell.
  std::string cluster_uuid;
  uint64_t coordinator = 0;  // its incarnation
  // How often it wants to hear from the task.
  absl::Duration heartbeat_interval;
};

struct HeartbeatRequest {
  std::string task;
  uint64_t incarnation = 0;
  uint64_t coordinator = 0;  // the incarnation that it joined
  // Set when the last reply asked for it, and once after a JoinRequest that
  // reports_later.
  bool has_report = false;
  TaskReport report;
  // Of the last reply of this coordinator; 0: there was none.
  uint64_t left_version = 0;
  // Tasks that have left, as they have told the sender, since its last request
  // that was answered.
  std::vector<LeftTask> left;
};

struct HeartbeatReply {
  bool wants_report = false;
  // The task is to stop: somebody shuts the cluster down.
  bool stop = false;
  // Jobs all of whose tasks have left, cleanly; perhaps before this coordinator
  // started, as tasks report (JoinRequest::left, HeartbeatRequest::left).
  std::vector<std::string> finished_jobs;
  std::string cluster_uuid;  // as in JoinReply
  // Counts, from 1, how often tasks have left or come back.
  uint64_t left_version = 0;
  // The tasks of which that happened since the version in the request. One of
  // incarnation 0 is back.
  std::vector<LeftTask> left;
};

struct LeaveRequest {
  std::string task;
  uint64_t incarnation = 0;  // of the task
  // Of the cluster that the task was a member of; empty: not known.
  std::string cluster_uuid;
};

// Nodes of one session to be placed, in one transaction with the registration
// of the resources they declare.
struct PlacementRequest {
  uint64_t session = 0;
  std::string task;          // of the session's master
  uint64_t incarnation = 0;  // likewise
  PlacementGraph graph;
  bool allow_soft_placement = false;
  // Resources of its own, which nobody shares: nothing is registered.
  bool isolated = false;
  std::vector<std::string> device_filters;
  // Where they would go now, and why: reasons are wanted, and nothing is
  // compared or registered.
  bool explain = false;
};

struct PlacementReply {
  // As weft::Placement: one for each node of the graph.
  std::vector<std::string> devices;
  std::vector<std::string> reasons;  // empty unless asked for
};

enum class TaskState { kExpected, kAlive, kLost, kLeft };

struct TaskStatus {
  std::string task;
  TaskState state = TaskState::kExpected;
  // Of the last time it joined; zero and empty when it never did.
  uint64_t incarnation = 0;
  std::string target;
  std::vector<DeviceAttributes> devices;
  std::vector<PlacedResource> resources;  // as last reported
  int num_sessions = 0;                   // with declarations, of its master
  std::vector<DeviceUse> memory;          // as last reported
  // How many of these sessions declare a resource in a container, by its name.
  std::map<std::string, int> sessions_by_container;
};

// Which parts of a ClusterStatus to return.
struct ClusterQuery {
  // Waits, but not for long, until each task that is alive has reported anew,
  // so that nothing is older than the call; of a task that does not report, the
  // status contains its last report. Only a fresh status contains
  // sessions_by_container.
  bool is_fresh = false;
  // The status contains only the name and the state of each task. Ignored if
  // is_fresh.
  bool only_states = false;
};

struct ClusterStatus {
  std::string cluster_uuid;
  std::string coordinator;        // the task that plays it
  std::vector<TaskStatus> tasks;  // by name
};

class Coordinator {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  template <typename T>
  using Answer = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  virtual ~Coordinator() = default;

  // The task is there. Again with the same incarnation changes nothing but what
  // is reported. FAILED_PRECONDITION, naming both sides: a cluster spec that
  // contradicts the coordinator's, other ops, or the uuid of another cluster
  // than that to which the coordinator is certain to belong. ALREADY_EXISTS:
  // another process plays this task, and lives. ABORTED: this incarnation has
  // left.
  virtual void Join(const JoinRequest& request, absl::Time deadline,
                    Answer<JoinReply> done) = 0;
  // ABORTED: the coordinator does not know this incarnation, or has started
  // anew: the task has to join again.
  virtual void Heartbeat(const HeartbeatRequest& request, absl::Time deadline,
                         Answer<HeartbeatReply> done) = 0;
  // The task stops, cleanly. OK when it is not known. A task that has not
  // joined this coordinator has left only if it names the uuid of this cluster:
  // an earlier deployment may have had the same addresses.
  virtual void Leave(const LeaveRequest& request, absl::Time deadline,
                     Done done) = 0;

  // Waits until every task that passes the filters, and the session's own, has
  // joined. Only the session's own task is waited for after it has left.
  // DEADLINE_EXCEEDED names the tasks that have not joined. `cancellation`, of
  // this call alone, ends the wait with its cause; it may be null.
  // INVALID_ARGUMENT: a node can't be placed. ABORTED: a node asks for a task
  // that has left and is not back soon; the error names both.
  // FAILED_PRECONDITION, with the difference: another session has declared a
  // resource of the same name otherwise. UNAVAILABLE: the coordinator stops. An
  // error has registered nothing.
  virtual void Place(const PlacementRequest& request, absl::Time deadline,
                     std::shared_ptr<Cancellation> cancellation,
                     Answer<PlacementReply> done) = 0;
  // The session has ended; what it declared lives on only where it exists.
  virtual void EndSession(uint64_t session, absl::Time deadline, Done done) = 0;
  // Containers were cleared on tasks that pass the filters (none named: each
  // device's default one): what was in them is forgotten. Waits for nobody but
  // the coordinator; `cancellation`, of this call alone, ends that with its
  // cause, and may be null.
  virtual void ForgetContainers(const std::vector<std::string>& containers,
                                const std::vector<std::string>& device_filters,
                                absl::Time deadline,
                                std::shared_ptr<Cancellation> cancellation,
                                Done done) = 0;

  // Of the tasks that pass the filters (none: of all), in the order of the
  // tasks' names; waits for them, and ends, as Place does.
  virtual void ListDevices(const std::vector<std::string>& device_filters,
                           absl::Time deadline,
                           std::shared_ptr<Cancellation> cancellation,
                           Answer<std::vector<DeviceAttributes>> done) = 0;
  // What the coordinator knows.
  virtual void GetCluster(const ClusterQuery& query, absl::Time deadline,
                          Answer<ClusterStatus> done) = 0;
  // Asks every task to stop, with its next heartbeat, and the coordinator's own
  // after the others.
  virtual void Shutdown(absl::Time deadline, Done done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_H_
