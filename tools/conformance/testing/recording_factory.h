// RecordingFactory forwards to another factory and records the result of each
// run, so that two replays of a case can be compared bit for bit.
#ifndef WEFT_TOOLS_CONFORMANCE_TESTING_RECORDING_FACTORY_H_
#define WEFT_TOOLS_CONFORMANCE_TESTING_RECORDING_FACTORY_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tools/conformance/session_factory.h"

namespace weft::conformance {

// RunRecord holds the results of the runs of one replay. Thread-safe.
class RunRecord {
 public:
  using Fetched = absl::StatusOr<std::vector<Tensor>>;

  int NewSession();
  void Add(int session, const RunRequest& request, Fetched fetched);

  int num_runs() const;
  // Returns the differences in bits of results, or in code and text of errors,
  // by place. A place consists of the session, the request and its repetition
  // number.
  static std::map<std::string, std::string> Compare(const RunRecord& a,
                                                    const RunRecord& b);

 private:
  mutable absl::Mutex mutex_;
  int num_sessions_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::vector<Fetched>> runs_ ABSL_GUARDED_BY(mutex_);
};

class RecordingFactory : public SessionFactory {
 public:
  // `factory` and `record` must outlive this factory and its sessions.
  RecordingFactory(SessionFactory& factory, RunRecord& record)
      : factory_(factory), record_(record) {}

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) override;
  absl::StatusOr<std::unique_ptr<Session>> Connect(
      const Scope& scope) override {
    return factory_.Connect(scope);
  }
  absl::Status Reset(const std::string& task,
                     const std::vector<std::string>& containers) override {
    return factory_.Reset(task, containers);
  }
  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>& jobs) override;

 private:
  SessionFactory& factory_;
  RunRecord& record_;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_TESTING_RECORDING_FACTORY_H_
