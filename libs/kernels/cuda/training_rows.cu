#include "libs/kernels/cuda/row_places.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/cuda/training_rules.cu.h"

namespace weft::cuda {
namespace {

// One thread for each element of a row whose changes begin at a position.
template <typename T, typename Rule>
__global__ void TrainRows(Training training, RowOrder order) {
  const Rule rule = RuleOf<Rule, T>(training);
  const T* const gradient = static_cast<const T*>(training.gradient);
  const int64_t n = order.count * order.row;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const int64_t first = i / order.row, column = i % order.row;
    const int64_t row = RowOf(order, first);
    if (row >= order.rows || !IsFirstOfRow(order, first)) continue;
    const int64_t at = row * order.row + column;
    Wide<T> v[Rule::kVariables];
    for (int k = 0; k < Rule::kVariables; ++k) {
      v[k] = ToWide(static_cast<const T*>(training.to[k])[at]);
    }
    for (int64_t j = first; j < order.count && RowOf(order, j) == row; ++j) {
      rule(v, ToWide(gradient[PlaceOf(order, j) * order.row + column]));
    }
    for (int k = 0; k < Rule::kVariables; ++k) {
      static_cast<T*>(training.to[k])[at] = FromWide<T>(v[k]);
    }
  }
}

template <template <typename> class Rule>
void Launch(const Training& training, const RowOrder& order,
            cudaStream_t stream) {
  const int64_t n = order.count * order.row;
  ForFloats(training.type, [&]<typename T>(Tag<T>) {
    TrainRows<T, Rule<Wide<T>>>
        <<<BlocksFor(n), kThreads, 0, stream>>>(training, order);
  });
}

}  // namespace

void LaunchTrainingOfRows(const Training& training, const RowOrder& order,
                          cudaStream_t stream) {
  switch (training.rule) {
    case TrainingRule::kMomentum:
      return Launch<Momentum>(training, order, stream);
    case TrainingRule::kAdagrad:
      return Launch<Adagrad>(training, order, stream);
    case TrainingRule::kAdagradV2:
      return Launch<AdagradV2>(training, order, stream);
    case TrainingRule::kAdadelta:
      return Launch<Adadelta>(training, order, stream);
    case TrainingRule::kRMSProp:
      return Launch<RMSProp>(training, order, stream);
    case TrainingRule::kCenteredRMSProp:
      return Launch<CenteredRMSProp>(training, order, stream);
    case TrainingRule::kFtrl:
      return Launch<SparseFtrlV1>(training, order, stream);
    case TrainingRule::kFtrlV2:
      return Launch<SparseFtrlV2>(training, order, stream);
    case TrainingRule::kAdagradDA:
      return Launch<AdagradDA>(training, order, stream);
    case TrainingRule::kProximalGradientDescent:
      return Launch<ProximalGradientDescent>(training, order, stream);
    case TrainingRule::kProximalAdagrad:
      return Launch<ProximalAdagrad>(training, order, stream);
    default:
      return;
  }
}

}  // namespace weft::cuda
