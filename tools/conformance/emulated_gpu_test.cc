// Replays every case that lies in integration_tests/testdata/conformance with
// all nodes that can on a GPU of NVIDIA's that the processor plays
// (EmulatedCuda): the kernels of libs/kernels/cuda compute what a GPU's own
// would, and copies and kernels end late.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/device/cuda/testing/emulated_cuda.h"
#include "libs/runtime/cuda_platform.h"
#include "libs/runtime/process.h"
#include "tools/conformance/gpu_cases.h"
#include "tools/conformance/testing/recorded_cases.h"
#include "tools/conformance/testing/replayed_case.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  return TestNameOfCase(info.param);
}

// AddressSanitizer sees what leaves memory that CUDA was asked for.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kHasExactMemory = true;
#else
constexpr bool kHasExactMemory = false;
#endif

class EmulatedGpuTest : public ::testing::TestWithParam<std::string> {
 protected:
  // One process for all: starting its threads costs more than a case.
  static void SetUpTestSuite() {
    // --gtest_random_seed=N draws other orders.
    EmulatedCuda::Reset(
        static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
    process_ = new Process(ProcessOptions{
        .gpu_platform = std::make_shared<CudaPlatform>(
            CudaPlatformOptions{.exact_memory = kHasExactMemory})});
  }
  static void TearDownTestSuite() { delete process_; }

  static Process* process_;
};
Process* EmulatedGpuTest::process_ = nullptr;

TEST_P(EmulatedGpuTest, Passes) {
  WeftSessionFactory factory = WeftSessionFactory::OnGpu(*process_);
  ReplayCase(GetParam(), TestNameOfCase(GetParam()), factory, *process_,
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
                         ::testing::ValuesIn(CasesForCuda()), TestName);

}  // namespace
}  // namespace weft::conformance
