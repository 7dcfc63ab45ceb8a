// Tests that EmulatedCuda detects kernels and copies that would be wrong on a
// GPU.
#include "libs/device/cuda/testing/emulated_cuda.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "libs/device/cuda/testing/emulated_kernel.h"

namespace weft {
namespace {

constexpr unsigned kThreads = 64;

class EmulatedCudaTest : public testing::Test {
 protected:
  EmulatedCudaTest() {
    EmulatedCuda::Reset(1);
    cudaSetDevice(0);
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(reinterpret_cast<void**>(&numbers_), kThreads * sizeof(int));
  }
  ~EmulatedCudaTest() override {
    cudaStreamDestroy(stream_);
    cudaFree(numbers_);
    EmulatedCuda::Reset(1);
    cudaGetLastError();
  }

  // Runs a kernel of one block, and returns how it ended.
  cudaError_t Run(std::function<void()> thread) {
    EmulatedLaunch(dim3(1), dim3(kThreads), 0, stream_, std::move(thread));
    return cudaStreamSynchronize(stream_);
  }
  std::vector<int> Numbers() {
    std::vector<int> numbers(kThreads);
    cudaMemcpyAsync(numbers.data(), numbers_, kThreads * sizeof(int),
                    cudaMemcpyDeviceToHost, stream_);
    cudaStreamSynchronize(stream_);
    return numbers;
  }

  cudaStream_t stream_ = nullptr;
  int* numbers_ = nullptr;
};

TEST_F(EmulatedCudaTest, ThreadsWaitForEachOtherAtABarrier) {
  const auto pass_on = [out = numbers_] {
    __shared__ int part[kThreads];
    for (int round = 0; round < 3; ++round) {
      part[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
      __syncthreads();
      out[threadIdx.x] = part[kThreads - 1 - threadIdx.x];
      __syncthreads();
    }
  };
  ASSERT_EQ(Run(pass_on), cudaSuccess);
  const std::vector<int> numbers = Numbers();
  for (unsigned i = 0; i < kThreads; ++i) {
    EXPECT_EQ(numbers[i], static_cast<int>(kThreads - 1 - i) + 2);
  }
}

// The same without the barrier between: the value read is undefined.
TEST_F(EmulatedCudaTest, MissingBarrierIsDetected) {
  const auto races = [out = numbers_] {
    __shared__ int part[kThreads];
    part[threadIdx.x] = -1;
    __syncthreads();
    part[threadIdx.x] = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = part[kThreads - 1 - threadIdx.x];
  };
  ASSERT_EQ(Run(races), cudaSuccess);
  int wrong = 0;
  for (const int number : Numbers()) wrong += number < 0 ? 1 : 0;
  EXPECT_GT(wrong, 0);
}

TEST_F(EmulatedCudaTest, ThreadsOfAWarpVote) {
  const auto vote = [out = numbers_] {
    const int any = __syncthreads_or(threadIdx.x == 7);
    const int none = __syncthreads_or(0);
    out[threadIdx.x] = 10 * any + none;
  };
  ASSERT_EQ(Run(vote), cudaSuccess);
  for (const int number : Numbers()) EXPECT_EQ(number, 10);
}

TEST_F(EmulatedCudaTest, DivergentBarrierLosesTheDevice) {
  EXPECT_EQ(Run([] {
              if (threadIdx.x < 7) __syncthreads();
            }),
            cudaErrorIllegalAddress);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
}

TEST_F(EmulatedCudaTest, InvalidMemoryLosesTheDevice) {
  EXPECT_EQ(Run([] {
              auto* const nowhere = reinterpret_cast<int*>(uintptr_t{1} << 20);
              if (threadIdx.x == 33) *nowhere = 1;
            }),
            cudaErrorIllegalAddress);
  EmulatedCuda::Reset(2);
  EXPECT_EQ(Run([] {}), cudaSuccess);
}

TEST_F(EmulatedCudaTest, OutOfBoundsWriteIsDetected) {
  const auto write_beside = [this] {
    char* bytes = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&bytes), 5);
    Run([=] {
      if (threadIdx.x == 0) bytes[5] = 1;
    });
    cudaFree(bytes);
  };
  EXPECT_DEATH(write_beside(), "beside a block of 5 bytes|use-after-poison");
}

TEST_F(EmulatedCudaTest, DeviceMemoryIsOnlyForItsKernels) {
  EXPECT_DEATH(*numbers_ = 1, "");
  cudaSetDevice(1);
  cudaStream_t other = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  EmulatedLaunch(dim3(1), dim3(1), 0, other, [out = numbers_] { *out = 1; });
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorIllegalAddress);
  cudaStreamDestroy(other);
  cudaSetDevice(0);
}

TEST_F(EmulatedCudaTest, LaunchesAreChecked) {
  EmulatedLaunch(dim3(0), dim3(1), 0, stream_, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EmulatedLaunch(dim3(1), dim3(2048), 0, stream_, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EmulatedLaunch(dim3(1, 70000), dim3(1), 0, stream_, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EmulatedLaunch(dim3(1), dim3(1, 1, 65), 0, stream_, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  cudaEventDestroy(event);
  EmulatedLaunch(dim3(1), dim3(1), 0, stream_, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(EmulatedCudaTest, CopiesMustStayInsideTheirBlocks) {
  int here[2 * kThreads] = {};
  const size_t bytes = kThreads * sizeof(int);
  const auto copy = [&](void* to, const void* from, size_t count,
                        cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, count, kind, stream_);
  };
  EXPECT_EQ(copy(numbers_, here, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(copy(numbers_, here, bytes + 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(copy(here, here + 1, 4, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(copy(here, numbers_, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  void* other = nullptr;
  cudaSetDevice(1);
  ASSERT_EQ(cudaMalloc(&other, bytes), cudaSuccess);
  cudaSetDevice(0);
  EXPECT_EQ(copy(other, here, bytes, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  cudaFree(other);
  cudaStreamSynchronize(stream_);  // it reads memory of this function
}

// A caller that does not wait must not see a result.
TEST_F(EmulatedCudaTest, WorkIsAsynchronousAndFollowsEvents) {
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  int late = 0;
  for (int i = 0; i < 100; ++i) {
    const auto write = [out = numbers_, i] { out[threadIdx.x] = i; };
    int seen = -1;
    EmulatedLaunch(dim3(1), dim3(kThreads), 0, stream_, write);
    cudaEventRecord(event, stream_);
    cudaStreamWaitEvent(other, event, 0);
    cudaMemcpyAsync(&seen, numbers_, sizeof(int), cudaMemcpyDeviceToHost,
                    other);
    late += seen == -1 ? 1 : 0;
    cudaStreamSynchronize(other);
    EXPECT_EQ(seen, i);
  }
  EXPECT_GT(late, 0);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
}

}  // namespace
}  // namespace weft
