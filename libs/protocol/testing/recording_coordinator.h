// RecordingCoordinator is a Coordinator that records its calls and answers at
// once, or when the test tells it to.
//
// Threads: for tests on one thread at a time (SimulatedScheduler), except for
// `placements`.
#ifndef WEFT_LIBS_PROTOCOL_TESTING_RECORDING_COORDINATOR_H_
#define WEFT_LIBS_PROTOCOL_TESTING_RECORDING_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

class RecordingCoordinator : public Coordinator {
 public:
  // The answer to each call: an error, or OK for the default result.
  absl::Status answer;
  JoinReply join_reply{"uuid", 77, absl::Seconds(1)};
  HeartbeatReply heartbeat_reply;
  PlacementReply placement_reply;
  std::vector<DeviceAttributes> devices;
  ClusterStatus cluster;
  // The device of all nodes; empty: as in placement_reply.
  std::string place_all_on;
  // Holds calls until the test calls Release.
  bool hold = false;
  bool hold_placements = false;  // only placements
  bool ignores_reports = false;  // does not answer heartbeats with one

  std::vector<JoinRequest> joins;
  std::vector<HeartbeatRequest> heartbeats;  // without a report
  std::vector<HeartbeatRequest> reports;     // with one
  std::vector<LeaveRequest> left;
  absl::Mutex mutex;  // of `placements`, which tests with threads read
  std::vector<PlacementRequest> placements;
  absl::Time placement_deadline;  // of the last placement
  // Of the last Place, ListDevices or ForgetContainers; a held call ignores it.
  // Weak, as it may belong to the call.
  std::weak_ptr<Cancellation> last_cancellation;
  std::vector<uint64_t> ended;
  std::vector<std::vector<std::string>> forgotten;  // containers, filters, ...
  std::vector<std::vector<std::string>> listed;     // filters
  int num_shutdowns = 0;
  ClusterQuery last_query;  // of the last GetCluster
  absl::Time last_deadline;

  void Join(const JoinRequest& request, absl::Time deadline,
            Answer<JoinReply> done) override {
    joins.push_back(request);
    Give(join_reply, deadline, std::move(done));
  }
  void Heartbeat(const HeartbeatRequest& request, absl::Time deadline,
                 Answer<HeartbeatReply> done) override {
    (request.has_report ? reports : heartbeats).push_back(request);
    if (request.has_report && ignores_reports) {
      return ignored_.push_back(std::move(done));
    }
    Give(heartbeat_reply, deadline, std::move(done));
  }
  void Leave(const LeaveRequest& request, absl::Time deadline,
             Done done) override {
    left.push_back(request);
    GiveDone(deadline, std::move(done));
  }
  void Place(const PlacementRequest& request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation,
             Answer<PlacementReply> done) override {
    {
      absl::MutexLock lock(&mutex);
      placements.push_back(request);
      placement_deadline = deadline;
      last_cancellation = cancellation;
    }
    if (!place_all_on.empty()) {
      placement_reply.devices.assign(request.graph.nodes.size(), place_all_on);
    }
    Give(placement_reply, deadline, std::move(done), hold_placements);
  }
  void EndSession(uint64_t session, absl::Time deadline, Done done) override {
    ended.push_back(session);
    GiveDone(deadline, std::move(done));
  }
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline,
                        std::shared_ptr<Cancellation> cancellation,
                        Done done) override {
    forgotten.push_back(containers);
    forgotten.push_back(device_filters);
    {
      absl::MutexLock lock(&mutex);
      last_cancellation = cancellation;
    }
    GiveDone(deadline, std::move(done));
  }
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done) override {
    listed.push_back(device_filters);
    {
      absl::MutexLock lock(&mutex);
      last_cancellation = cancellation;
    }
    Give(devices, deadline, std::move(done));
  }
  void GetCluster(const ClusterQuery& query, absl::Time deadline,
                  Answer<ClusterStatus> done) override {
    last_query = query;
    Give(cluster, deadline, std::move(done));
  }
  void Shutdown(absl::Time deadline, Done done) override {
    ++num_shutdowns;
    GiveDone(deadline, std::move(done));
  }

  size_t num_held() const { return held_.size(); }
  // Answers the oldest held call with the current `answer`.
  void Release() {
    auto release = std::move(held_.front());
    held_.erase(held_.begin());
    release();
  }

 private:
  template <typename T>
  void Give(const T& reply, absl::Time deadline, Answer<T> done,
            bool hold_this = false) {
    last_deadline = deadline;
    auto give = [this, &reply, done = std::move(done)]() mutable {
      if (answer.ok()) return done(reply);
      done(answer);
    };
    if (!hold && !hold_this) return give();
    held_.push_back(std::move(give));
  }
  void GiveDone(absl::Time deadline, Done done) {
    last_deadline = deadline;
    auto give = [this, done = std::move(done)]() mutable { done(answer); };
    if (!hold) return give();
    held_.push_back(std::move(give));
  }

  std::vector<absl::AnyInvocable<void()>> held_;
  std::vector<Answer<HeartbeatReply>> ignored_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_RECORDING_COORDINATOR_H_
