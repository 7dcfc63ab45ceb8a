// StepPlayer replays the steps of one case, one by one, and reports differences
// from its expectations.
//
// Threads: one caller at a time; background steps run in the blocking pool.
#ifndef WEFT_TOOLS_CONFORMANCE_STEP_PLAYER_H_
#define WEFT_TOOLS_CONFORMANCE_STEP_PLAYER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"
#include "tools/conformance/tensor_pack.h"

namespace weft::conformance {

class StepPlayer {
 public:
  // `scratch` is an empty directory. All arguments must outlive this object.
  StepPlayer(const Case& test_case, const TensorPack& tensors, FileSystem& fs,
             std::string scratch, SessionFactory& factory,
             Scheduler& scheduler);
  // Closes the sessions and waits for background steps.
  ~StepPlayer();

  // Plays one step. Returns OK if its outcome is as expected. Otherwise the
  // message describes the difference.
  absl::Status Play(const Step& step);

  // Returns whether Play supports the action.
  static bool KnowsAction(absl::string_view action);

 private:
  struct Background;
  using Fetched = absl::StatusOr<std::vector<Tensor>>;

  absl::Status PlayRun(const Step& step);
  absl::Status StartBackground(const Step& step);
  absl::Status Join(const Step& step);
  absl::Status Extend(const Step& step);
  absl::Status Close(const Step& step);
  absl::Status Reset(const Step& step);
  absl::Status Sleep(const Step& step);

  absl::StatusOr<ReplaySession*> GetSession(const std::string& name);
  absl::StatusOr<RunRequest> MakeRequest(const Step& step) const;
  absl::Status AddFeeds(const KeyedFeeds& feeds, RunRequest& request) const;
  absl::StatusOr<Tensor> FindTensor(const std::string& key) const;
  std::string ResolvePath(const std::string& path) const;

  // Compares the outcome of a step with the expectations of `step`. `how`
  // specifies the comparison: it is the step itself, or the background step
  // that it joins.
  absl::Status CheckOutcome(const Step& step, const Step& how,
                            const Fetched& fetched) const;
  absl::Status CheckFetches(const Step& step, const Step& how,
                            const std::vector<Tensor>& fetched) const;
  absl::Status CheckFiles(const Step& step) const;
  absl::Status CheckPlacement(const Step& step, ReplaySession& session) const;
  absl::Status CheckLogLines(const Step& step, ReplaySession& session);

  const Case& case_;
  const TensorPack& tensors_;
  FileSystem& fs_;
  const std::string scratch_;
  SessionFactory& factory_;
  Scheduler& scheduler_;
  std::map<std::string, std::unique_ptr<ReplaySession>> sessions_;
  std::map<std::string, std::unique_ptr<Background>> background_;
  std::map<ReplaySession*, size_t> lines_seen_;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_STEP_PLAYER_H_
