#include "tools/conformance/case_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "tools/conformance/checkpoint_check.h"
#include "tools/conformance/events_check.h"
#include "tools/conformance/gradient_check.h"
#include "tools/conformance/graph_ops.h"
#include "tools/conformance/saver_check.h"
#include "tools/conformance/step_player.h"
#include "tools/conformance/tensor_pack.h"

namespace weft::conformance {
namespace {

std::string StepLabel(size_t index, const Step& step) {
  return step.name.empty() ? absl::StrCat("step ", index)
                           : absl::StrCat("step ", index, " (", step.name, ")");
}

}  // namespace

// A directory that is deleted with its contents at the end of the scope.
class CaseRunner::ScratchDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDirectory>> Create(
      FileSystem& fs, std::string path) {
    RETURN_IF_ERROR(fs.CreateDirectories(path));
    return std::make_unique<ScratchDirectory>(fs, std::move(path));
  }
  ScratchDirectory(FileSystem& fs, std::string path)
      : fs_(fs), path_(std::move(path)) {}
  ~ScratchDirectory() { fs_.DeleteRecursively(path_).IgnoreError(); }
  const std::string& path() const { return path_; }

 private:
  FileSystem& fs_;
  const std::string path_;
};

absl::StatusOr<std::unique_ptr<CaseRunner::ScratchDirectory>>
CaseRunner::NewScratchDirectory() {
  return ScratchDirectory::Create(
      *parts_.fs, JoinPath(parts_.scratch_root, absl::StrCat(num_scratch_++)));
}

Outcome CaseRunner::Run(absl::string_view directory) {
  Outcome outcome;
  outcome.case_name = std::string(directory);
  auto test_case = LoadCase(*parts_.fs, directory);
  if (!test_case.ok()) {
    outcome.reason = std::string(test_case.status().message());
    return outcome;
  }
  outcome.case_name = test_case->name;
  auto missing = FindMissing(*test_case);
  if (missing.ok() && !missing->empty()) {
    outcome.result = Outcome::Result::kSkipped;
    outcome.reason = absl::StrJoin(*missing, ", ");
    return outcome;
  }
  const absl::Status status =
      missing.ok() ? Replay(*test_case) : missing.status();
  outcome.result =
      status.ok() ? Outcome::Result::kPassed : Outcome::Result::kFailed;
  outcome.reason = std::string(status.message());
  return outcome;
}

absl::StatusOr<std::vector<std::string>> CaseRunner::FindMissing(
    const Case& test_case) {
  std::set<std::string> missing;
  for (const std::string& file : test_case.GraphFiles()) {
    ASSIGN_OR_RETURN(const std::string graph_def,
                     parts_.fs->ReadFile(JoinPath(test_case.directory, file)));
    ASSIGN_OR_RETURN(const std::set<std::string> ops, OpsOf(graph_def));
    for (const std::string& op : ops) {
      if (parts_.ops->Find(op) == nullptr) {
        missing.insert(absl::StrCat("op ", op));
      } else if (!parts_.kernels->Has(op, "CPU")) {
        missing.insert(absl::StrCat("kernel of op ", op));
      }
    }
  }
  std::vector<std::string> result(missing.begin(), missing.end());
  static constexpr absl::string_view kKinds[] = {
      "", "checkpoint", "events", "gradient", "records", "saver"};
  if (std::find(std::begin(kKinds), std::end(kKinds), test_case.kind) ==
      std::end(kKinds)) {
    result.push_back(absl::StrCat("kind ", test_case.kind));
  }
  std::set<std::string> actions;
  for (const Step& step : test_case.steps) {
    if (!StepPlayer::KnowsAction(step.action)) actions.insert(step.action);
  }
  for (const std::string& action : actions) {
    result.push_back(absl::StrCat("action ", action));
  }
  return result;
}

absl::StatusOr<TensorPack> CaseRunner::ReadTensors(const Case& test_case) {
  const std::string path = JoinPath(test_case.directory, "tensors.pb");
  if (!parts_.fs->FileExists(path).ok()) return TensorPack();
  ASSIGN_OR_RETURN(const std::string bytes, parts_.fs->ReadFile(path));
  auto tensors = ParseTensorPack(bytes);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

absl::Status CaseRunner::Replay(const Case& test_case) {
  if (test_case.steps.empty() && test_case.kind.empty()) {
    return absl::UnknownError("case.json has no steps");
  }
  ASSIGN_OR_RETURN(const TensorPack tensors, ReadTensors(test_case));
  if (test_case.cluster.empty()) {
    RETURN_IF_ERROR(PlaySteps(test_case, tensors, *parts_.factory));
  } else {
    ASSIGN_OR_RETURN(auto cluster,
                     parts_.factory->StartCluster(test_case.cluster));
    RETURN_IF_ERROR(PlaySteps(test_case, tensors, *cluster));
  }
  if (test_case.kind == "checkpoint") {
    return CheckCheckpoint(test_case, *parts_.fs);
  }
  if (test_case.kind == "events") return CheckEvents(test_case, *parts_.fs);
  if (test_case.kind == "records") return CheckRecords(test_case, *parts_.fs);
  if (test_case.kind == "saver") {
    ASSIGN_OR_RETURN(const auto scratch, NewScratchDirectory());
    return CheckSaver(test_case, scratch->path(), *parts_.fs, *parts_.factory);
  }
  if (test_case.kind != "gradient") return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::string graph_def,
      parts_.fs->ReadFile(JoinPath(test_case.directory, "graph.pb")));
  return CheckGradients(test_case, tensors, graph_def, *parts_.factory);
}

absl::Status CaseRunner::PlaySteps(const Case& test_case,
                                   const TensorPack& tensors,
                                   SessionFactory& factory) {
  ASSIGN_OR_RETURN(const auto scratch, NewScratchDirectory());
  StepPlayer player(test_case, tensors, *parts_.fs, scratch->path(), factory,
                    *parts_.scheduler);
  const bool without_errors = parts_.has_no_errors != nullptr &&
                              parts_.has_no_errors(test_case.directory);
  for (size_t i = 0; i < test_case.steps.size(); ++i) {
    const Step& step = test_case.steps[i];
    if (without_errors && step.expect_error) continue;
    RETURN_IF_ERROR(Annotate(player.Play(step), StepLabel(i, step)));
  }
  return absl::OkStatus();
}

}  // namespace weft::conformance
