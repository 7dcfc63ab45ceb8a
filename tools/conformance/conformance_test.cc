// Replays each case in integration_tests/testdata/conformance as a separate
// test case.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/testing/recorded_cases.h"
#include "tools/conformance/testing/replayed_case.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

class ConformanceTest : public ::testing::TestWithParam<std::string> {
 protected:
  // All cases share one process, because starting its threads takes longer than
  // a case.
  static void SetUpTestSuite() { process_ = new Process(); }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* ConformanceTest::process_ = nullptr;

TEST_P(ConformanceTest, CasePasses) {
  WeftSessionFactory factory(*process_, /*target=*/"");
  ReplayCase(GetParam(), TestNameOfCase(GetParam()), factory, *process_);
}

TEST(ConformanceCasesTest, NumberOfCasesIsAsExpected) {
  EXPECT_EQ(CountCases(RecordedCases()), ExpectedCases());
}

INSTANTIATE_TEST_SUITE_P(Cases, ConformanceTest,
                         ::testing::ValuesIn(RecordedCases()), CaseTestName);

}  // namespace
}  // namespace weft::conformance
