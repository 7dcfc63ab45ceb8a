// Replays each case in integration_tests/testdata/conformance on an emulated
// NVIDIA GPU (EmulatedCuda), which runs all nodes that it can. The kernels of
// libs/kernels/cuda compute the same results as on a real GPU, and copies and
// kernels complete late.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "libs/device/cuda/testing/emulated_cuda.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/gpu_cases.h"
#include "tools/conformance/testing/recorded_cases.h"
#include "tools/conformance/testing/replayed_case.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

class EmulatedGpuTest : public ::testing::TestWithParam<std::string> {
 protected:
  // All cases share two processes, because starting their threads takes longer
  // than a case.
  static void SetUpTestSuite() {
    // The option --gtest_random_seed=N selects other completion orders.
    EmulatedCuda::Reset(testing::UnitTest::GetInstance()->random_seed());
    for (const bool has_exact_memory : {false, true}) {
      processes_[has_exact_memory] = new Process(ProcessOptions{
          .gpu_platform = std::make_shared<CudaPlatform>(
              CudaPlatformOptions{.exact_memory = has_exact_memory})});
    }
  }
  static void TearDownTestSuite() {
    for (const Process* process : processes_) delete process;
  }

  // The index tells whether each buffer is a separate allocation.
  static Process* processes_[2];
};
Process* EmulatedGpuTest::processes_[2] = {};

// Cases of single ops use separate allocations, which reveal writes outside of
// their buffers. Other cases reuse memory.
TEST_P(EmulatedGpuTest, CasePassesOnEmulatedGpu) {
  const bool is_op = absl::StartsWith(NameOfCase(GetParam()), "ops/");
  Process& process = *processes_[is_op];
  WeftSessionFactory factory = WeftSessionFactory::OnGpu(process);
  ReplayCase(GetParam(), TestNameOfCase(GetParam()), factory, process,
             &HasErrorsOfCpus);
}

std::vector<std::string> CasesForCuda() {
  std::vector<std::string> cases = RecordedCases();
  const size_t all = cases.size();
  std::erase_if(cases, IsOfCpus);
  std::erase_if(cases, IsBeyondCuda);
  EXPECT_EQ(all - cases.size(), 10);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedGpuTest,
                         ::testing::ValuesIn(CasesForCuda()), CaseTestName);

}  // namespace
}  // namespace weft::conformance
