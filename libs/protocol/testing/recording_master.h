// RecordingMaster is a Master that records its calls and answers at once, or
// when the test tells it to.
//
// Threads: for tests on one thread at a time (SimulatedScheduler).
#ifndef WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_
#define WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/protocol/master/master.h"

namespace weft::protocol {

class RecordingMaster : public Master {
 public:
  // The answer to each call.
  absl::Status answer;
  absl::Status answer_extension;  // to the next extension, if it is an error
  absl::Status answer_callable;   // likewise
  std::vector<DeviceAttributes> devices;
  std::vector<NodePlacement> placement;
  // Holds runs until the test ends them.
  bool hold_runs = false;
  RunMetadata metadata;   // of each run that requests some
  MetadataWanted wanted;  // requested by the last run
  // Holds the answers of calls that wait for other tasks until the test calls
  // Release.
  bool hold = false;
  // Runs inside CreateSession.
  std::function<void()> while_creating = [] {};
  // Called with the status of the client's cancellation when an extension is
  // answered.
  std::function<void(const absl::Status&)> on_extended =
      [](const absl::Status&) {};

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

  void CreateSession(const SessionConfig& config,
                     Answer<uint64_t> done) override {
    if (!answer.ok()) return done(answer);
    created.push_back(config);
    while_creating();
    open.insert(created.size());
    done(created.size());
  }
  void ExtendSession(uint64_t session, GraphExtension extension,
                     Cancellation* client,
                     Answer<ExtensionResult> done) override {
    if (!answer.ok()) return done(answer);
    if (!open.contains(session)) {
      return done(absl::AbortedError("no such session"));
    }
    extensions.push_back(extension);
    Give([this, client, version = extension.from_version + 1,
          done = std::move(done)]() mutable {
      const absl::Status gone =
          client != nullptr ? client->status() : absl::OkStatus();
      on_extended(gone);
      if (!gone.ok()) return done(gone);
      const absl::Status refused =
          std::exchange(answer_extension, absl::OkStatus());
      if (!refused.ok()) return done(refused);
      done(ExtensionResult{version, placement});
    });
  }
  void MakeCallable(uint64_t /*session*/, CallableSpec spec,
                    Cancellation* /*client*/, Answer<uint64_t> done) override {
    if (!answer.ok()) return done(answer);
    made.push_back(std::move(spec));
    Give([this, callable = made.size(), done = std::move(done)]() mutable {
      const absl::Status refused =
          std::exchange(answer_callable, absl::OkStatus());
      if (!refused.ok()) return done(refused);
      done(callable);
    });
  }
  void RunCallable(uint64_t session, uint64_t callable, const CallableRun& run,
                   Done done) override {
    ++num_runs;
    last_timeout = run.timeout;
    wanted = run.wanted;
    if (hold_runs) {
      running.push_back({session, callable, run, std::move(done)});
    } else {
      Finish(run, std::move(done));
    }
  }
  absl::Status CheckSession(uint64_t session) override {
    if (open.contains(session)) return absl::OkStatus();
    return absl::AbortedError("no such session");
  }
  void ReleaseCallable(uint64_t /*session*/, uint64_t callable,
                       Done done) override {
    released.push_back(callable);
    done(answer);
  }
  void CloseSession(uint64_t session, Done done) override {
    closed.push_back(session);
    open.erase(session);
    Give([status = answer, done = std::move(done)]() mutable { done(status); });
  }
  void Reset(const std::vector<std::string>& containers,
             const std::vector<std::string>& filters, Cancellation* /*client*/,
             Done done) override {
    resets.push_back(containers);
    resets.push_back(filters);
    open.clear();
    Give([status = answer, done = std::move(done)]() mutable { done(status); });
  }
  void ListDevices(Cancellation* /*client*/,
                   Answer<std::vector<DeviceAttributes>> done) override {
    if (!answer.ok()) return done(answer);
    done(devices);
  }

  size_t num_held() const { return held_.size(); }
  // Answers the oldest held call.
  void Release() {
    auto give = std::move(held_.front());
    held_.pop_front();
    give();
  }

  // Ends the oldest held run.
  void EndRun() {
    Running run = std::move(running.front());
    running.erase(running.begin());
    Finish(run.run, std::move(run.done));
  }

 private:
  void Give(absl::AnyInvocable<void()> give) {
    if (!hold) return give();
    held_.push_back(std::move(give));
  }
  // The k-th fetch is the k-th feed.
  void Finish(const CallableRun& run, Done done) const {
    if (!answer.ok()) return done(answer);
    for (size_t i = 0; i < run.fetches.size(); ++i) {
      run.fetches[i] = run.feeds[i];
    }
    if (run.metadata != nullptr) *run.metadata = metadata;
    done(absl::OkStatus());
  }

  std::deque<absl::AnyInvocable<void()>> held_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_RECORDING_MASTER_H_
