// ReplayCase replays one recorded case in a test.
#ifndef WEFT_TOOLS_CONFORMANCE_TESTING_REPLAYED_CASE_H_
#define WEFT_TOOLS_CONFORMANCE_TESTING_REPLAYED_CASE_H_

#include <string>

#include "gtest/gtest.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/case_runner.h"
#include "tools/conformance/session_factory.h"
#include "tools/conformance/testing/recorded_cases.h"

namespace weft::conformance {

// Returns the name of the test for a case. The test parameter is the directory
// of the case.
inline std::string CaseTestName(
    const ::testing::TestParamInfo<std::string>& info) {
  return TestNameOfCase(info.param);
}

// Expects the case in `directory` to pass on sessions of the factory, which run
// in `process`. `scratch` names a temporary directory. `has_no_errors` is
// passed to CaseRunner.
inline void ReplayCase(
    const std::string& directory, const std::string& scratch,
    SessionFactory& factory, Process& process,
    bool (*has_no_errors)(absl::string_view directory) = nullptr) {
  LocalFileSystem fs;
  const auto ops = StandardOps();
  CaseRunner runner({.fs = &fs,
                     .scratch_root = JoinPath(::testing::TempDir(), scratch),
                     .factory = &factory,
                     .scheduler = &process.scheduler(),
                     .ops = ops.get(),
                     .kernels = &process.kernels(),
                     .has_no_errors = has_no_errors});
  const Outcome outcome = runner.Run(directory);
  EXPECT_EQ(outcome.result, Outcome::Result::kPassed) << outcome.reason;
}

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_TESTING_REPLAYED_CASE_H_
