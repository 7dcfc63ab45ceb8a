#include "libs/kernels/cuda/batch_norm.cu.h"
#include "libs/kernels/cuda/elements.cu.h"

namespace weft::cuda {
namespace {

// The sum over the block, for all its threads. REQUIRES: kThreads threads.
__device__ double SumOfBlock(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = shared[0];
  __syncthreads();
  return sum;
}

__device__ int64_t PlaceOf(const BatchNormArgs& args, int64_t channel,
                           int64_t i) {
  return (i / args.inner * args.channels + channel) * args.inner +
         i % args.inner;
}

// One block per channel.
__global__ void Measure(BatchNormArgs args, BatchNormTensors t) {
  __shared__ double shared[kThreads];
  const int64_t count = args.outer * args.inner;
  for (int64_t c = blockIdx.x; c < args.channels; c += gridDim.x) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      sum += t.x[PlaceOf(args, c, i)];
    }
    const double mean = SumOfBlock(sum, shared) / count;
    sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      const double distance = t.x[PlaceOf(args, c, i)] - mean;
      sum += distance * distance;
    }
    const double variance = SumOfBlock(sum, shared) / count;
    if (threadIdx.x != 0) continue;
    t.mean[c] = static_cast<float>(mean);
    t.variance[c] = static_cast<float>(variance);
    // The variance of the population, of which the batch is a sample.
    double new_mean = mean;
    double new_variance =
        variance * (count > 1 ? static_cast<double>(count) / (count - 1)
                              : static_cast<double>(count));
    if (args.average_factor != 1) {
      const double factor = args.average_factor;
      new_mean = factor * new_mean + (1 - factor) * t.running_mean[c];
      new_variance =
          factor * new_variance + (1 - factor) * t.running_variance[c];
    }
    t.new_mean[c] = static_cast<float>(new_mean);
    t.new_variance[c] = static_cast<float>(new_variance);
  }
}

__global__ void TakeRunning(BatchNormArgs args, BatchNormTensors t) {
  for (int64_t c = FirstItem(); c < args.channels; c += ItemStep()) {
    t.mean[c] = t.new_mean[c] = t.running_mean[c];
    t.variance[c] = t.new_variance[c] = t.running_variance[c];
  }
}

__global__ void Normalize(BatchNormArgs args, BatchNormTensors t) {
  const int64_t n = args.outer * args.channels * args.inner;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t c = i / args.inner % args.channels;
    const double factor =
        t.scale[c] / sqrt(static_cast<double>(t.variance[c]) + args.epsilon);
    t.y[i] = static_cast<float>(
        (t.x[i] - static_cast<double>(t.mean[c])) * factor + t.offset[c]);
  }
}

// Sums of the gradient, and of the gradient times the distance to the mean.
__global__ void SumGradients(BatchNormArgs args, BatchNormGradTensors t) {
  __shared__ double shared[kThreads];
  const int64_t count = args.outer * args.inner;
  for (int64_t c = blockIdx.x; c < args.channels; c += gridDim.x) {
    const double mean = t.mean[c];
    double sum = 0;
    double product = 0;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      const int64_t at = PlaceOf(args, c, i);
      const double gradient = t.dy[at];
      sum += gradient;
      product += gradient * (t.x[at] - mean);
    }
    sum = SumOfBlock(sum, shared);
    product = SumOfBlock(product, shared);
    if (threadIdx.x != 0) continue;
    const double inverse =
        1 / sqrt(static_cast<double>(t.variance[c]) + args.epsilon);
    t.sums[2 * c] = sum;
    t.sums[2 * c + 1] = product;
    t.doffset[c] = static_cast<float>(sum);
    t.dscale[c] = static_cast<float>(product * inverse);
  }
}

__global__ void Differentiate(BatchNormArgs args, BatchNormGradTensors t) {
  const int64_t n = args.outer * args.channels * args.inner;
  const double count = static_cast<double>(args.outer * args.inner);
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t c = i / args.inner % args.channels;
    const double inverse =
        1 / sqrt(static_cast<double>(t.variance[c]) + args.epsilon);
    double gradient = t.dy[i];
    if (args.is_training) {
      gradient -= t.sums[2 * c] / count +
                  (t.x[i] - static_cast<double>(t.mean[c])) * inverse *
                      inverse * t.sums[2 * c + 1] / count;
    }
    t.dx[i] = static_cast<float>(gradient * inverse * t.scale[c]);
  }
}

}  // namespace

void LaunchBatchNorm(const BatchNormArgs& args, const BatchNormTensors& tensors,
                     cudaStream_t stream) {
  if (args.is_training) {
    Measure<<<BlocksFor(args.channels, 1), kThreads, 0, stream>>>(args,
                                                                  tensors);
  } else {
    TakeRunning<<<BlocksFor(args.channels), kThreads, 0, stream>>>(args,
                                                                   tensors);
  }
  const int64_t n = args.outer * args.channels * args.inner;
  Normalize<<<BlocksFor(n), kThreads, 0, stream>>>(args, tensors);
}

void LaunchBatchNormGrad(const BatchNormArgs& args,
                         const BatchNormGradTensors& tensors,
                         cudaStream_t stream) {
  SumGradients<<<BlocksFor(args.channels, 1), kThreads, 0, stream>>>(args,
                                                                     tensors);
  const int64_t n = args.outer * args.channels * args.inner;
  Differentiate<<<BlocksFor(n), kThreads, 0, stream>>>(args, tensors);
}

}  // namespace weft::cuda
