// Replays each case in integration_tests/testdata/conformance with all possible
// nodes on a GPU with its own memory, which the host simulates. Wrong or late
// copies would change the values.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/runtime/process/process.h"
#include "libs/runtime/testing/fake_gpu_platform.h"
#include "tools/conformance/gpu_cases.h"
#include "tools/conformance/testing/recorded_cases.h"
#include "tools/conformance/testing/replayed_case.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

class FakeGpuTest : public ::testing::TestWithParam<std::string> {
 protected:
  // All cases share one process, because starting its threads takes longer than
  // a case.
  static void SetUpTestSuite() {
    process_ = new Process(
        ProcessOptions{.gpu_platform = std::make_shared<FakeGpuPlatform>()});
  }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* FakeGpuTest::process_ = nullptr;

TEST_P(FakeGpuTest, CasePassesOnFakeGpu) {
  WeftSessionFactory factory = WeftSessionFactory::OnGpu(*process_);
  ReplayCase(GetParam(), TestNameOfCase(GetParam()), factory, *process_);
}

std::vector<std::string> CasesForGpus() {
  std::vector<std::string> cases = RecordedCases();
  const size_t all = cases.size();
  std::erase_if(cases, IsOfCpus);
  EXPECT_EQ(all - cases.size(), 5);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, FakeGpuTest,
                         ::testing::ValuesIn(CasesForGpus()), CaseTestName);

}  // namespace
}  // namespace weft::conformance
