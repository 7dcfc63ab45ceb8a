// TopK, TopKV2, InTopK and InTopKV2.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/tensor/heap_charge.h"

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
  // Ties count as within. False if a non-finite number makes it undecidable.
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
        k_(construction.GetAttr<int64_t>("k").value_or(0)),
        sorted_(construction.GetAttr<bool>("sorted").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const TensorShape shape, TopKShape(context, k_));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
    if (values->num_elements() == 0) return absl::OkStatus();
    const int64_t columns = input.dim(input.rank() - 1);
    const int64_t k = shape.dim(shape.rank() - 1);
    const int64_t rows = input.num_elements() / columns;
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeOrders(context, rows, columns, k, charge));
    return DispatchType(
        SmallIndexTypes{}, indices->dtype(), [&]<typename I>(TypeTag<I>) {
          ParallelLoop(
              context, rows, columns * 4, [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  FindRow<I>(input, row, columns, k, *values, *indices);
                }
              });
          return absl::OkStatus();
        });
  }

 private:
  template <typename I>
  void FindRow(const Tensor& input, int64_t row, int64_t columns, int64_t k,
               Tensor& values, Tensor& indices) const {
    const T* x = input.flat<T>().data() + row * columns;
    const std::vector<int64_t> order = Order(x, columns, k);
    T* value = values.mutable_flat<T>().data() + row * k;
    I* index = indices.mutable_flat<I>().data() + row * k;
    for (int64_t i = 0; i < k; ++i) {
      value[i] = x[order[i]];
      index[i] = static_cast<I>(order[i]);
    }
  }

  // The columns of the results. The order for sorted=false is that of
  // TensorFlow's CPU kernel, on which trained models may depend: it sorts if it
  // returns all columns.
  std::vector<int64_t> Order(const T* x, int64_t columns, int64_t k) const {
    if (k == 1) return {First(x, columns)};
    if (sorted_) return Sorted(x, columns, k);
    return k == columns ? AllSorted(x, columns) : AsInHeap(x, columns, k);
  }

  // Each thread holds the order of one row.
  absl::Status ChargeOrders(OpKernelContext& context, int64_t rows,
                            int64_t columns, int64_t k,
                            HeapCharge& charge) const {
    const int64_t threads =
        std::min<int64_t>(rows, context.scheduler().num_compute_threads() + 1);
    const bool has_all = k == columns || (sorted_ && k > 1);
    const int64_t length = (has_all ? columns : k) + 1;
    for (int64_t i = 0; i < threads; ++i) {
      RETURN_IF_ERROR(
          charge.AddObjects(static_cast<size_t>(length), sizeof(int64_t)));
    }
    return absl::OkStatus();
  }

  // The only result for k = 1. NaNs come last; with NaNs, TensorFlow's choice
  // depends on the CPU's vector instructions.
  static int64_t First(const T* x, int64_t columns) {
    int64_t first = 0;
    for (int64_t i = 1; i < columns; ++i) {
      if (Precedes(x, i, first)) first = i;
    }
    return first;
  }

  // The smaller index comes first among equals.
  static std::vector<int64_t> Sorted(const T* x, int64_t columns, int64_t k) {
    std::vector<int64_t> order(columns);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [x](int64_t a, int64_t b) { return Precedes(x, a, b); });
    order.resize(k);
    return order;
  }

  // Sorted by value, with NaNs in TensorFlow's positions.
  static std::vector<int64_t> AllSorted(const T* x, int64_t columns) {
    // NaNs make the comparison inconsistent, and std::sort may then read the
    // element before its range. That is -1, which precedes no other.
    std::vector<int64_t> order(columns + 1);
    std::iota(order.begin(), order.end(), -1);
    std::sort(order.begin() + 1, order.end(), [x](int64_t a, int64_t b) {
      return a >= 0 && b >= 0 && Wide<T>(x[a]) > Wide<T>(x[b]);
    });
    order.erase(order.begin());
    for (auto run = order.begin(); run != order.end();) {
      const auto end = std::find_if(run + 1, order.end(), [&](int64_t column) {
        return Wide<T>(x[column]) != Wide<T>(x[*run]);
      });
      std::sort(run, end);
      run = end;
    }
    return order;
  }

  // The columns in the order of a heap of the k best columns so far, with the
  // worst at its root. It starts as a heap of k + 1 columns without its root.
  // REQUIRES: 1 < k < columns.
  static std::vector<int64_t> AsInHeap(const T* x, int64_t columns, int64_t k) {
    const auto is_better = [x](int64_t a, int64_t b) {
      const Wide<T> left = x[a];
      const Wide<T> right = x[b];
      if (left > right) return true;
      return !(left < right) && a < b;
    };
    std::vector<int64_t> heap(k + 1);
    std::iota(heap.begin(), heap.end(), 0);
    std::make_heap(heap.begin(), heap.end(), is_better);
    std::pop_heap(heap.begin(), heap.end(), is_better);
    heap.pop_back();
    for (int64_t i = k + 1; i < columns; ++i) {
      if (!is_better(i, heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end(), is_better);
      heap.back() = i;
      std::push_heap(heap.begin(), heap.end(), is_better);
    }
    return heap;
  }

  // A strict order even with NaNs, which come last.
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
  const bool sorted_;
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
