// The cases in integration_tests/testdata/conformance, for tests that replay
// each of them.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_CONFORMANCE_TESTING_RECORDED_CASES_H_
#define WEFT_TOOLS_CONFORMANCE_TESTING_RECORDED_CASES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "libs/fs/local_file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// The number of cases in each group.
using CaseCounts = std::map<std::string, int>;

// Returns the expected numbers, which must be updated when cases are recorded
// or removed. Without them, missing data would lead to missing tests instead of
// a failure.
inline CaseCounts ExpectedCases() {
  return {{"checkpoints", 7}, {"control_flow", 14},   {"data", 29},
          {"events", 2},      {"feature_columns", 4}, {"functions", 17},
          {"gradients", 112}, {"images", 1},          {"ops", 391},
          {"optimizers", 41}, {"programs", 13},       {"queues", 5},
          {"records", 11},    {"sessions", 15},       {"state", 20},
          {"training", 16}};
}

inline constexpr char kRecordedCases[] =
    "integration_tests/testdata/conformance";

// Returns the directories of all cases, sorted. Empty if the data cannot be
// read.
inline std::vector<std::string> RecordedCases() {
  LocalFileSystem fs;
  return FindCases(fs, kRecordedCases).value_or(std::vector<std::string>());
}

// Returns the name of a case, for example "ops/Abs" for ".../ops/Abs".
inline std::string NameOfCase(const std::string& directory) {
  return directory.substr(sizeof(kRecordedCases));
}

// Returns the test name of a case, for example "ops_Abs".
inline std::string TestNameOfCase(const std::string& directory) {
  return absl::StrReplaceAll(NameOfCase(directory), {{"/", "_"}});
}

inline CaseCounts CountCases(const std::vector<std::string>& directories) {
  CaseCounts counts;
  for (const std::string& directory : directories) {
    const std::string name = NameOfCase(directory);
    ++counts[name.substr(0, name.find('/'))];
  }
  return counts;
}

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_TESTING_RECORDED_CASES_H_
