// Trains, evaluates and predicts with each model that lies in
// integration_tests/testdata/estimator, as TensorFlow's Estimator did; each is
// one test case.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/runtime/process.h"
#include "tools/conformance/estimator_check.h"

namespace weft::conformance {
namespace {

constexpr char kCases[] = "integration_tests/testdata/estimator";

std::vector<std::string> CaseNames() {
  LocalFileSystem fs;
  std::vector<std::string> names;
  const auto all = fs.ListDirectory(kCases);
  if (!all.ok()) return names;
  for (const std::string& name : *all) {
    if (fs.FileExists(JoinPath(JoinPath(kCases, name), "case.json")).ok()) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

class EstimatorCaseTest : public ::testing::TestWithParam<std::string> {
 protected:
  // One process for all: starting its threads costs more than a case.
  static void SetUpTestSuite() { process_ = new Process(); }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* EstimatorCaseTest::process_ = nullptr;

TEST_P(EstimatorCaseTest, DoesWhatTensorFlowDid) {
  LocalFileSystem fs;
  const absl::Status status = CheckEstimator(
      fs, JoinPath(kCases, GetParam()),
      JoinPath(::testing::TempDir(), "estimator_" + GetParam()), *process_);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Data that is not found would be no test, and so no failure.
TEST(EstimatorCasesTest, AreAllThere) { EXPECT_EQ(CaseNames().size(), 14u); }

INSTANTIATE_TEST_SUITE_P(Cases, EstimatorCaseTest,
                         ::testing::ValuesIn(CaseNames()), TestName);

}  // namespace
}  // namespace weft::conformance
