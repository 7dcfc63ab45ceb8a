#include "tools/conformance/testing/recording_factory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft::conformance {
namespace {

using Fetched = RunRecord::Fetched;

class RecordingSession : public ReplaySession {
 public:
  RecordingSession(std::unique_ptr<ReplaySession> session, RunRecord& record)
      : session_(std::move(session)),
        record_(record),
        number_(record.NewSession()) {}

  absl::StatusOr<std::vector<Tensor>> Run(const RunRequest& request) override {
    Fetched fetched = session_->Run(request);
    record_.Add(number_, request, fetched);
    return fetched;
  }
  absl::Status Extend(absl::string_view graph_def) override {
    return session_->Extend(graph_def);
  }
  absl::Status Close() override { return session_->Close(); }
  std::vector<Placement> Placements() override {
    return session_->Placements();
  }

 private:
  const std::unique_ptr<ReplaySession> session_;
  RunRecord& record_;
  const int number_;
};

// A cluster whose sessions are recorded.
class RecordedCluster : public SessionFactory {
 public:
  RecordedCluster(std::unique_ptr<SessionFactory> cluster, RunRecord& record)
      : cluster_(std::move(cluster)), factory_(*cluster_, record) {}

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(
      const SessionSpec& spec, absl::string_view graph_def,
      bool keep_placement) override {
    return factory_.NewSession(spec, graph_def, keep_placement);
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect(
      const Scope& scope) override {
    return factory_.Connect(scope);
  }
  absl::Status Reset(const std::string& task,
                     const std::vector<std::string>& containers) override {
    return factory_.Reset(task, containers);
  }
  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>& jobs) override {
    return factory_.StartCluster(jobs);
  }

 private:
  const std::unique_ptr<SessionFactory> cluster_;
  RecordingFactory factory_;
};

// Returns the difference between two results, or "" if they are equal.
std::string Difference(const Fetched& a, const Fetched& b) {
  if (a.status() != b.status()) {
    return absl::StrCat(a.status().ToString(), " | ", b.status().ToString());
  }
  if (!a.ok()) return "";
  if (a->size() != b->size()) return "another number of fetches";
  for (size_t i = 0; i < a->size(); ++i) {
    if (SameBits((*a)[i], (*b)[i])) continue;
    return absl::StrCat("fetch ", i, ": ", (*a)[i].ToString(), " | ",
                        (*b)[i].ToString());
  }
  return "";
}

}  // namespace

int RunRecord::NewSession() {
  absl::MutexLock lock(&mutex_);
  return num_sessions_++;
}

void RunRecord::Add(int session, const RunRequest& request, Fetched fetched) {
  std::string place = absl::StrCat(
      "session ", session, ": [", absl::StrJoin(request.fetches, ", "),
      "] with targets [", absl::StrJoin(request.targets, ", "), "]");
  absl::MutexLock lock(&mutex_);
  runs_[place].push_back(std::move(fetched));
}

int RunRecord::num_runs() const {
  absl::MutexLock lock(&mutex_);
  int count = 0;
  for (const auto& [place, runs] : runs_)
    count += static_cast<int>(runs.size());
  return count;
}

std::map<std::string, std::string> RunRecord::Compare(const RunRecord& a,
                                                      const RunRecord& b) {
  absl::MutexLock lock_a(&a.mutex_);
  absl::MutexLock lock_b(&b.mutex_);
  std::map<std::string, std::string> result;
  for (const auto& [place, runs] : a.runs_) {
    const auto other = b.runs_.find(place);
    if (other == b.runs_.end() || other->second.size() != runs.size()) {
      result[place] = "was run another number of times";
      continue;
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      std::string difference = Difference(runs[i], other->second[i]);
      if (difference.empty()) continue;
      result[absl::StrCat(place, ", run ", i)] = std::move(difference);
    }
  }
  return result;
}

absl::StatusOr<std::unique_ptr<ReplaySession>> RecordingFactory::NewSession(
    const SessionSpec& spec, absl::string_view graph_def, bool keep_placement) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReplaySession> session,
                   factory_.NewSession(spec, graph_def, keep_placement));
  return std::make_unique<RecordingSession>(std::move(session), record_);
}

absl::StatusOr<std::unique_ptr<SessionFactory>> RecordingFactory::StartCluster(
    const std::map<std::string, int>& jobs) {
  ASSIGN_OR_RETURN(std::unique_ptr<SessionFactory> cluster,
                   factory_.StartCluster(jobs));
  return std::make_unique<RecordedCluster>(std::move(cluster), record_);
}

}  // namespace weft::conformance
