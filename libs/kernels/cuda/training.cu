#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/cuda/training_rules.cu.h"

namespace weft::cuda {
namespace {

template <typename T, typename Rule>
__global__ void Train(Training training, int64_t n) {
  const Rule rule = RuleOf<Rule, T>(training);
  const T* const gradient = static_cast<const T*>(training.gradient);
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    Wide<T> v[Rule::kVariables];
    for (int k = 0; k < Rule::kVariables; ++k) {
      v[k] = ToWide(static_cast<const T*>(training.from[k])[i]);
    }
    rule(v, ToWide(gradient[i]));
    for (int k = 0; k < Rule::kVariables; ++k) {
      static_cast<T*>(training.to[k])[i] = FromWide<T>(v[k]);
    }
  }
}

template <typename T>
__device__ __forceinline__ T Changed(Change change, T x, T by) {
  if constexpr (std::is_same_v<T, int64_t>) {
    // Wraps around.
    const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(by);
    return static_cast<int64_t>(change == Change::kAdd ? a + b : a - b);
  } else {
    const Wide<T> a = ToWide(x), b = ToWide(by);
    return FromWide<T>(change == Change::kAdd ? a + b : a - b);
  }
}

template <typename T>
__global__ void ChangeAll(Change change, int64_t n, const T* from, const T* by,
                          T* to) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    to[i] = Changed(change, from[i], by[i]);
  }
}

template <template <typename> class Rule>
void Launch(const Training& training, int64_t n, cudaStream_t stream) {
  ForFloats(training.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Train<T, Rule<Wide<T>>><<<BlocksFor(n), kThreads, 0, stream>>>(training, n);
  });
}

}  // namespace

void LaunchTraining(const Training& training, int64_t n, cudaStream_t stream) {
  switch (training.rule) {
    case TrainingRule::kGradientDescent:
      return Launch<GradientDescent>(training, n, stream);
    case TrainingRule::kMomentum:
      return Launch<Momentum>(training, n, stream);
    case TrainingRule::kAdagrad:
      return Launch<Adagrad>(training, n, stream);
    case TrainingRule::kAdagradV2:
      return Launch<AdagradV2>(training, n, stream);
    case TrainingRule::kAdam:
      return Launch<Adam>(training, n, stream);
    case TrainingRule::kAdaMax:
      return Launch<AdaMax>(training, n, stream);
    case TrainingRule::kAdadelta:
      return Launch<Adadelta>(training, n, stream);
    case TrainingRule::kRMSProp:
      return Launch<RMSProp>(training, n, stream);
    case TrainingRule::kCenteredRMSProp:
      return Launch<CenteredRMSProp>(training, n, stream);
    case TrainingRule::kFtrl:
      return Launch<FtrlV1>(training, n, stream);
    case TrainingRule::kFtrlV2:
      return Launch<FtrlV2>(training, n, stream);
    case TrainingRule::kAdagradDA:
      return Launch<AdagradDA>(training, n, stream);
    case TrainingRule::kProximalGradientDescent:
      return Launch<ProximalGradientDescent>(training, n, stream);
    case TrainingRule::kProximalAdagrad:
      return Launch<ProximalAdagrad>(training, n, stream);
  }
}

void LaunchChange(Change change, ElementType type, int64_t n, const void* from,
                  const void* by, void* to, cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ChangeAll<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        change, n, static_cast<const T*>(from), static_cast<const T*>(by),
        static_cast<T*>(to));
  });
}

}  // namespace weft::cuda
