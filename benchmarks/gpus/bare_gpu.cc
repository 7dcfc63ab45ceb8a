#include "benchmarks/gpus/bare_gpu.h"

#include <cstdint>
#include <utility>

#include "benchmarks/common/report.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::benchmarks {

#ifdef WEFT_HAVE_CUDA

BareGpu::BareGpu(Process& process) : process_(process) {
  auto devices = NewCudaDevices("/job:check/replica:0/task:0", {.count = 1},
                                process.scheduler(), process.random());
  Check(devices.status());
  devices_ = *std::move(devices);
}

Tensor BareGpu::NewTensor(const TensorShape& shape) {
  auto tensor = Tensor::Allocate(device().allocator(), DT_FLOAT, shape);
  Check(tensor.status());
  Check(device().context()->CopyToDevice(Tensor(DT_FLOAT, shape), *tensor));
  return *std::move(tensor);
}

void BareGpu::Products(int size, int count) {
  if (!matrix_.IsInitialized()) {
    matrix_ = NewTensor(TensorShape({size, size}));
    product_ = NewTensor(TensorShape({size, size}));
  }
  device().stream();  // makes the GPU the current device of the thread
  for (int i = 0; i < count; ++i) {
    Check(device().blas().Multiply({.m = size,
                                    .n = size,
                                    .k = size,
                                    .a_stride = size,
                                    .b_stride = size,
                                    .c_stride = size},
                                   matrix_.data(), matrix_.data(),
                                   product_.mutable_data()));
  }
  Check(WaitForAll());
}

void BareGpu::Launches(int count) {
  constexpr int kElements = 4;
  if (!few_.IsInitialized()) {
    few_ = NewTensor(TensorShape({kElements}));
    result_ = NewTensor(TensorShape({kElements}));
  }
  cuda::Dims dims;
  dims.rank = 1;
  dims.sizes[0] = kElements;
  dims.strides[0][0] = dims.strides[1][0] = 1;
  const cudaStream_t stream = device().stream();
  for (int i = 0; i < count; ++i) {
    cuda::LaunchBinary(cuda::BinaryOp::kMul, cuda::ElementType::kFloat, dims,
                       kElements, few_.data(), few_.data(),
                       result_.mutable_data(), stream);
  }
  Check(WaitForAll());
}

BareCopies& BareGpu::CopiesOf(size_t bytes) {
  if (copies_ == nullptr) {
    auto copies = BareCopies::Create(device().properties().ordinal, bytes);
    Check(copies.status());
    copies_ = *std::move(copies);
  }
  return *copies_;
}

void BareGpu::CopyToDevice(size_t bytes) { Check(CopiesOf(bytes).ToDevice()); }

void BareGpu::CopyToHost(size_t bytes) { Check(CopiesOf(bytes).ToHost()); }

void BareGpu::Fault() {
  cuda::Dims dims;
  dims.rank = 1;
  dims.sizes[0] = dims.strides[0][0] = dims.strides[1][0] = 1;
  void* const nowhere = reinterpret_cast<void*>(uintptr_t{1} << 20);
  cuda::LaunchBinary(cuda::BinaryOp::kMul, cuda::ElementType::kFloat, dims, 1,
                     nowhere, nowhere, nowhere, device().stream());
  if (WaitForAll().ok()) {
    Check(absl::InternalError("a write to an invalid address did not fail"));
  }
}

absl::Status BareGpu::WaitForAll() {
  auto done = process_.scheduler().NewEvent();
  absl::Status outcome;
  device().context()->WhenDone([&](absl::Status status) {
    outcome = std::move(status);
    done->Set();
  });
  done->Wait();
  return outcome;
}

#else  // These functions are never called without a GPU.

BareGpu::BareGpu(Process& process) : process_(process) {}
void BareGpu::Products(int, int) {}
void BareGpu::Launches(int) {}
void BareGpu::CopyToDevice(size_t) {}
void BareGpu::CopyToHost(size_t) {}
void BareGpu::Fault() {}

#endif

}  // namespace weft::benchmarks
