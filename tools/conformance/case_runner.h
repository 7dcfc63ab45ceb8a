// CaseRunner replays a case from its directory and returns its outcome.
#ifndef WEFT_TOOLS_CONFORMANCE_CASE_RUNNER_H_
#define WEFT_TOOLS_CONFORMANCE_CASE_RUNNER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/graph/op_def.h"
#include "libs/kernels/kernel_registry.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"
#include "tools/conformance/tensor_pack.h"

namespace weft::conformance {

struct Outcome {
  enum class Result { kPassed, kFailed, kSkipped };
  Result result = Result::kFailed;
  std::string case_name;
  std::string reason;  // why the case failed or was skipped
};

class CaseRunner {
 public:
  // Objects that the runner uses. All must outlive it.
  struct Parts {
    FileSystem* fs = nullptr;
    // the directory in which scratch directories are created
    std::string scratch_root;
    SessionFactory* factory = nullptr;
    Scheduler* scheduler = nullptr;
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    // Returns whether the case in `directory` is replayed without the steps
    // that expect an error.
    bool (*has_no_errors)(absl::string_view directory) = nullptr;
  };
  explicit CaseRunner(Parts parts) : parts_(std::move(parts)) {}

  Outcome Run(absl::string_view directory);

 private:
  class ScratchDirectory;
  absl::StatusOr<std::unique_ptr<ScratchDirectory>> NewScratchDirectory();
  // Returns descriptions of what Weft lacks for the case. Empty if Weft lacks
  // nothing.
  absl::StatusOr<std::vector<std::string>> FindMissing(const Case& test_case);
  absl::Status Replay(const Case& test_case);
  absl::Status PlaySteps(const Case& test_case, const TensorPack& tensors,
                         SessionFactory& factory);
  absl::StatusOr<TensorPack> ReadTensors(const Case& test_case);

  const Parts parts_;
  int num_scratch_ = 0;
};

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_CASE_RUNNER_H_
