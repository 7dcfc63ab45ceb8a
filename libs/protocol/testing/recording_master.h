// RecordingMaster: a Master that writes down what it is asked for and answers
// at once, or when the test says so.
//
// Threads: for tests on one thread at a time (SimulatedScheduler).
#ifndef WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_
#define WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/protocol/master.h"

namespace weft::protocol {

class RecordingMaster : public Master {
 public:
  // What each call is answered with.
  absl::Status answer;
  std::vector<DeviceAttributes> devices;
  std::vector<NodePlacement> placement;
  // Keep runs until the test ends them.
  bool hold_runs = false;
  // Runs inside CreateSession.
  std::function<void()> while_creating = [] {};

  std::vector<SessionConfig> created;
  absl::btree_set<uint64_t> open;
  std::vector<uint64_t> closed;
  std::vector<GraphExtension> extensions;
  std::vector<CallableSpec> made;
  std::vector<uint64_t> released;
  std::vector<std::vector<std::string>> resets;
  struct Running {
    uint64_t session = 0;
    uint64_t callable = 0;
    CallableRun run;
    Done done;
  };
  std::vector<Running> running;  // held
  absl::Duration last_timeout;
  int num_runs = 0;

  absl::StatusOr<uint64_t> CreateSession(const SessionConfig& config) override {
    if (!answer.ok()) return answer;
    created.push_back(config);
    while_creating();
    open.insert(created.size());
    return created.size();
  }
  absl::StatusOr<ExtensionResult> ExtendSession(
      uint64_t session, const GraphExtension& extension) override {
    if (!answer.ok()) return answer;
    if (!open.contains(session)) return absl::AbortedError("no such session");
    extensions.push_back(extension);
    return ExtensionResult{extension.from_version + 1, placement};
  }
  absl::StatusOr<uint64_t> MakeCallable(uint64_t /*session*/,
                                        const CallableSpec& spec) override {
    if (!answer.ok()) return answer;
    made.push_back(spec);
    return made.size();
  }
  void RunCallable(uint64_t session, uint64_t callable, const CallableRun& run,
                   Done done) override {
    ++num_runs;
    last_timeout = run.timeout;
    if (hold_runs) {
      running.push_back({session, callable, run, std::move(done)});
    } else {
      Finish(run, std::move(done));
    }
  }
  absl::Status ReleaseCallable(uint64_t /*session*/,
                               uint64_t callable) override {
    released.push_back(callable);
    return answer;
  }
  absl::Status CloseSession(uint64_t session) override {
    closed.push_back(session);
    open.erase(session);
    return answer;
  }
  absl::Status Reset(const std::vector<std::string>& containers,
                     const std::vector<std::string>& filters) override {
    resets.push_back(containers);
    resets.push_back(filters);
    open.clear();
    return answer;
  }
  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices() override {
    if (!answer.ok()) return answer;
    return devices;
  }

  // Ends the run that was held first.
  void EndRun() {
    Running run = std::move(running.front());
    running.erase(running.begin());
    Finish(run.run, std::move(run.done));
  }

 private:
  // The k-th fetch is the k-th feed.
  void Finish(const CallableRun& run, Done done) const {
    if (!answer.ok()) return done(answer);
    for (size_t i = 0; i < run.fetches.size(); ++i) {
      run.fetches[i] = run.feeds[i];
    }
    done(absl::OkStatus());
  }
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_
