// Trains, evaluates and predicts with each model in
// integration_tests/testdata/estimator, and compares the results with those of
// TensorFlow's Estimator. Each model is a separate test case.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/case.h"
#include "tools/conformance/estimator_check.h"

namespace weft::conformance {
namespace {

constexpr char kCases[] = "integration_tests/testdata/estimator";

// Returns the directories of the cases, sorted. Empty if the data cannot be
// read.
std::vector<std::string> EstimatorCases() {
  LocalFileSystem fs;
  return FindCases(fs, kCases).value_or(std::vector<std::string>());
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  return std::string(Basename(info.param));
}

class EstimatorCaseTest : public ::testing::TestWithParam<std::string> {
 protected:
  // All cases share one process, because starting its threads takes longer than
  // a case.
  static void SetUpTestSuite() { process_ = new Process(); }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* EstimatorCaseTest::process_ = nullptr;

TEST_P(EstimatorCaseTest, MatchesTensorFlow) {
  LocalFileSystem fs;
  const absl::Status status =
      CheckEstimator(fs, GetParam(),
                     JoinPath(::testing::TempDir(),
                              absl::StrCat("estimator_", Basename(GetParam()))),
                     *process_);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Checks the number of cases, because without data all tests would pass.
TEST(EstimatorCasesTest, NumberOfCasesIsAsExpected) {
  EXPECT_EQ(EstimatorCases().size(), 14u);
}

INSTANTIATE_TEST_SUITE_P(Cases, EstimatorCaseTest,
                         ::testing::ValuesIn(EstimatorCases()), TestName);

}  // namespace
}  // namespace weft::conformance
