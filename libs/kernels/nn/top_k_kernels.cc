// TopK, TopKV2, InTopK and InTopKV2.
#include <algorithm>
#include <cmath>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parallel_loop.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// InTopK's k is an attribute, InTopKV2's an input.
class InTopKKernel : public OpKernel {
 public:
  explicit InTopKKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        k_(construction.GetAttr<int64_t>("k").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& predictions = context.input(0);
    const Tensor& targets = context.input(1);
    ASSIGN_OR_RETURN(const int64_t k, InTopKOf(context, k_));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, targets.shape()));
    const int64_t classes = predictions.dim(1);
    const float* row = predictions.flat<float>().data();
    bool* result = output->mutable_flat<bool>().data();
    for (int64_t i = 0; i < targets.num_elements(); ++i) {
      result[i] = IsInTopK(row + i * classes, classes, IndexAt(targets, i), k);
    }
    return absl::OkStatus();
  }

 private:
  // Ties count as in. False where a number that is not finite leaves it open.
  static bool IsInTopK(const float* row, int64_t classes, int64_t target,
                       int64_t k) {
    if (target < 0 || target >= classes || !std::isfinite(row[target])) {
      return false;
    }
    int64_t larger = 0;
    for (int64_t i = 0; i < classes; ++i) {
      if (!std::isfinite(row[i])) return false;
      if (row[i] > row[target]) ++larger;
    }
    return larger < k;
  }

  const int64_t k_;
};

// TopK's k is an attribute, TopKV2's an input.
template <typename T>
class TopKKernel : public OpKernel {
 public:
  explicit TopKKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        k_(construction.GetAttr<int64_t>("k").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const TensorShape shape, TopKShape(context, k_));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
    if (values->num_elements() == 0) return absl::OkStatus();
    const int64_t columns = input.dim(input.rank() - 1);
    const int64_t k = shape.dim(shape.rank() - 1);
    return DispatchType(
        SmallIndexTypes{}, indices->dtype(), [&]<typename I>(TypeTag<I>) {
          ParallelLoop(context, input.num_elements() / columns, columns * 4,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t row = begin; row < end; ++row) {
                           FindRow<I>(input, row, columns, k, *values,
                                      *indices);
                         }
                       });
          return absl::OkStatus();
        });
  }

 private:
  // Always sorted, which is one of the orders that sorted=false allows. The
  // smaller index comes first among equals.
  template <typename I>
  static void FindRow(const Tensor& input, int64_t row, int64_t columns,
                      int64_t k, Tensor& values, Tensor& indices) {
    const T* x = input.flat<T>().data() + row * columns;
    std::vector<int64_t> order(columns);
    for (int64_t i = 0; i < columns; ++i) order[i] = i;
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [x](int64_t a, int64_t b) { return Precedes(x, a, b); });
    T* value = values.mutable_flat<T>().data() + row * k;
    I* index = indices.mutable_flat<I>().data() + row * k;
    for (int64_t i = 0; i < k; ++i) {
      value[i] = x[order[i]];
      index[i] = static_cast<I>(order[i]);
    }
  }

  // A strict order also where there are NaNs, which come last.
  static bool Precedes(const T* x, int64_t a, int64_t b) {
    const Wide<T> left = x[a];
    const Wide<T> right = x[b];
    if (left > right) return true;
    if (left < right) return false;
    const bool left_is_number = left == left;
    const bool right_is_number = right == right;
    if (left_is_number != right_is_number) return left_is_number;
    return a < b;
  }

  const int64_t k_;
};

template <typename... Ts>
void RegisterTopK(KernelRegistry& registry, const char* op, TypeList<Ts...>) {
  (registry.Register<TopKKernel<Ts>>(op, {{"T", {DataTypeOf<Ts>::value}}}),
   ...);
}

}  // namespace

void RegisterTopKKernels(KernelRegistry& registry) {
  registry.Register<InTopKKernel>("InTopK");
  registry.Register<InTopKKernel>("InTopKV2");
  RegisterTopK(registry, "TopK", RealNumbers{});
  RegisterTopK(registry, "TopKV2", RealNumbers{});
}

}  // namespace weft
