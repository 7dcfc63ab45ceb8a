// Replays every case that lies in integration_tests/testdata/conformance; each
// is one test case.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process.h"
#include "tools/conformance/case.h"
#include "tools/conformance/case_runner.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

constexpr char kCases[] = "integration_tests/testdata/conformance";

std::vector<std::string> Directories() {
  LocalFileSystem fs;
  return FindCases(fs, kCases).value_or(std::vector<std::string>());
}

// "ops_Abs" of ".../ops/Abs".
std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  return absl::StrReplaceAll(info.param.substr(sizeof(kCases)), {{"/", "_"}});
}

class ConformanceTest : public ::testing::TestWithParam<std::string> {
 protected:
  // One process for all: starting its threads costs more than a case.
  static void SetUpTestSuite() { process_ = new Process(); }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* ConformanceTest::process_ = nullptr;

TEST_P(ConformanceTest, Passes) {
  LocalFileSystem fs;
  WeftSessionFactory factory(*process_, /*target=*/"");
  const auto ops = StandardOps();
  CaseRunner runner({.fs = &fs,
                     .scratch_root = JoinPath(::testing::TempDir(),
                                              TestName({GetParam(), 0})),
                     .factory = &factory,
                     .scheduler = &process_->scheduler(),
                     .ops = ops.get(),
                     .kernels = &process_->kernels()});
  const Outcome outcome = runner.Run(GetParam());
  EXPECT_EQ(outcome.result, Outcome::Result::kPassed) << outcome.reason;
}

// Without it, data that is not found would be no test and so no failure.
TEST(ConformanceCasesTest, AreThere) { EXPECT_GE(Directories().size(), 471u); }

INSTANTIATE_TEST_SUITE_P(Cases, ConformanceTest,
                         ::testing::ValuesIn(Directories()), TestName);

}  // namespace
}  // namespace weft::conformance
