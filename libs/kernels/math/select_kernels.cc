// Select, SelectV2 and ClipByValue.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "libs/base/status.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/operand_checks.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// Processes the elements of [0, n) that fill 16-byte vectors of four-byte
// elements, which every CPU has; returns their number.
template <typename E>
int64_t ChooseFours(const bool* condition, const E* yes, const E* no, E* to,
                    int64_t n) {
  typedef int32_t Vector __attribute__((vector_size(16)));
  typedef int8_t Conditions __attribute__((vector_size(4)));
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Conditions conditions;
    Vector t, e;
    std::memcpy(&conditions, condition + i, sizeof(conditions));
    std::memcpy(&t, yes + i, sizeof(t));
    std::memcpy(&e, no + i, sizeof(e));
    const Vector mask = __builtin_convertvector(conditions != 0, Vector);
    const Vector chosen = (t & mask) | (e & ~mask);
    std::memcpy(to + i, &chosen, sizeof(chosen));
  }
  return i;
}

// Reads both operands, so that speed does not depend on branch prediction. `to`
// may be `yes` or `no`.
template <typename E>
void ChooseEach(const bool* condition, const E* yes, const E* no, E* to,
                int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(E) == 4) i = ChooseFours(condition, yes, no, to, n);
  for (; i < n; ++i) {
    const E t = yes[i];
    const E e = no[i];
    to[i] = condition[i] ? t : e;
  }
}

// The condition has the shape of the others, or is a scalar or a vector of
// rows.
class Select : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& condition = context.input(0);
    const Tensor& t = context.input(1);
    const Tensor& e = context.input(2);
    if (t.shape() != e.shape()) {
      return SizesDiffer(context, 1, t.shape(), 2, e.shape());
    }
    if (condition.rank() == 0) {
      context.SetOutput(0, context.TakeInput(condition.scalar<bool>() ? 1 : 2));
      return absl::OkStatus();
    }
    if (condition.shape() == t.shape()) return Choose(context, 1);
    if (condition.rank() == 1 && t.rank() > 1 && condition.dim(0) == t.dim(0)) {
      return Choose(context, t.dim(0) == 0 ? 0 : t.num_elements() / t.dim(0));
    }
    return SizesDiffer(context, 0, condition.shape(), 1, t.shape());
  }

 private:
  // Each condition selects `row` elements.
  absl::Status Choose(OpKernelContext& context, int64_t row) {
    const absl::Span<const bool> condition = context.input(0).flat<bool>();
    const Tensor& t = context.input(1);
    const Tensor& e = context.input(2);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({1, 2}, 0, t.shape()));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, t));
    RETURN_IF_ERROR(ChargeStrings(charge, e));
    return DispatchElement(out->dtype(), [&]<typename E>(TypeTag<E>) {
      const E* const yes = Elements<E>(t);
      const E* const no = Elements<E>(e);
      E* const to = MutableElements<E>(*out);
      const auto size = static_cast<int64_t>(condition.size());
      ParallelLoop(context, size, row, [&](int64_t begin, int64_t end) {
        ChooseRows(condition.subspan(begin, end - begin), row,
                   yes + begin * row, no + begin * row, to + begin * row);
      });
      return absl::OkStatus();
    });
  }

  // `to` may be `yes` or `no`.
  template <typename E>
  static void ChooseRows(absl::Span<const bool> condition, int64_t row,
                         const E* yes, const E* no, E* to) {
    if constexpr (std::is_trivially_copyable_v<E>) {
      if (row == 1) {
        return ChooseEach(condition.data(), yes, no, to,
                          static_cast<int64_t>(condition.size()));
      }
    }
    for (size_t i = 0; i < condition.size(); ++i) {
      const E* from = (condition[i] ? yes : no) + i * row;
      for (int64_t j = 0; j < row; ++j, ++to, ++from) {
        if (to != from) *to = *from;
      }
    }
  }
};

// All three operands broadcast.
class SelectV2 : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& condition = context.input(0);
    const Tensor& t = context.input(1);
    const Tensor& e = context.input(2);
    ASSIGN_OR_RETURN(Broadcast broadcast,
                     Broadcast::Of(condition.shape(), t.shape(), e.shape()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({1, 2}, 0, broadcast.shape()));
    const bool* choose = condition.flat<bool>().data();
    HeapCharge charge(context.host_allocator());
    if (out->dtype() == DT_STRING) {
      RETURN_IF_ERROR(charge.Add(ChosenBytes(context, broadcast)));
    }
    return DispatchElement(out->dtype(), [&]<typename E>(TypeTag<E>) {
      const E* yes = Elements<E>(t);
      const E* no = Elements<E>(e);
      E* to = MutableElements<E>(*out);
      const auto row = [&](int64_t r, const Broadcast::Offsets& offsets) {
        ChooseRow(broadcast, choose + offsets[0], yes + offsets[1],
                  no + offsets[2], to + r * broadcast.row_size());
      };
      ParallelLoop(context, broadcast.rows(), broadcast.row_size(),
                   [&](int64_t begin, int64_t end) {
                     broadcast.ForEachRow(begin, end, row);
                   });
      return absl::OkStatus();
    });
  }

 private:
  // The memory of the selected strings.
  static size_t ChosenBytes(const OpKernelContext& context,
                            const Broadcast& broadcast) {
    const auto choose = context.input(0).flat<bool>();
    const auto yes = context.input(1).flat<std::string>();
    const auto no = context.input(2).flat<std::string>();
    size_t bytes = 0;
    broadcast.ForEachRow(0, broadcast.rows(),
                         [&](int64_t, const Broadcast::Offsets& offsets) {
                           for (int64_t i = 0; i < broadcast.row_size(); ++i) {
                             const std::string& chosen =
                                 choose[offsets[0] + i * broadcast.step(0)]
                                     ? yes[offsets[1] + i * broadcast.step(1)]
                                     : no[offsets[2] + i * broadcast.step(2)];
                             bytes += HeapCharge::BytesOfString(chosen.size());
                           }
                         });
    return bytes;
  }

  // `to` may be `yes` or `no`.
  template <typename E>
  static void ChooseRow(const Broadcast& broadcast, const bool* choose,
                        const E* yes, const E* no, E* to) {
    const int64_t n = broadcast.row_size();
    const int64_t choose_step = broadcast.step(0);
    const int64_t yes_step = broadcast.step(1);
    const int64_t no_step = broadcast.step(2);
    if constexpr (std::is_trivially_copyable_v<E>) {
      if (choose_step == 1 && yes_step == 1 && no_step == 1) {
        return ChooseEach(choose, yes, no, to, n);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_trivially_copyable_v<E>) {
        const E t = yes[i * yes_step];
        const E e = no[i * no_step];
        to[i] = choose[i * choose_step] ? t : e;
      } else {
        const E& from =
            choose[i * choose_step] ? yes[i * yes_step] : no[i * no_step];
        if (to + i != &from) to[i] = from;
      }
    }
  }
};

// Clips elements [0, n) of x to bounds with steps `low_step` and `high_step`.
using ClipLoop = void (*)(const void* x, const void* low, int64_t low_step,
                          const void* high, int64_t high_step, void* out,
                          int64_t n);

// A NaN bound is ignored, and a NaN value stays NaN.
template <typename T>
T ClipOne(T x, T low, T high) {
  const T most = high < x ? high : x;
  return most < low ? low : most;
}

template <typename T>
void Clip(const void* x, const void* low, int64_t low_step, const void* high,
          int64_t high_step, void* out, int64_t n) {
  const T* const values = static_cast<const T*>(x);
  const T* const least = static_cast<const T*>(low);
  const T* const most = static_cast<const T*>(high);
  T* const to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = ClipOne(values[i], least[i * low_step], most[i * high_step]);
  }
}

// Bounds are scalars or have the shape of the tensor.
class ClipByValue : public OpKernel {
 public:
  ClipByValue(const OpKernelConstruction& construction, ClipLoop loop)
      : OpKernel(construction), loop_(loop) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    RETURN_IF_ERROR(CheckClipBounds(context));
    std::array<int64_t, 2> steps{};
    for (int i = 1; i <= 2; ++i) {
      steps[i - 1] = context.input(i).rank() == 0 ? 0 : 1;
    }
    const void* const values = x.data();
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    loop_(values, context.input(1).data(), steps[0], context.input(2).data(),
          steps[1], out->mutable_data(), out->num_elements());
    return absl::OkStatus();
  }

 private:
  const ClipLoop loop_;
};

void RegisterClip(KernelRegistry& registry, DataType type, ClipLoop loop) {
  registry.Register(
      {.op = "ClipByValue", .types = {{"T", {type}}}, .is_cheap = true},
      [loop](const OpKernelConstruction& construction) {
        return std::make_unique<ClipByValue>(construction, loop);
      });
}

}  // namespace

void RegisterSelectKernels(KernelRegistry& registry) {
  const auto all = [&]<typename T>() {
    registry.Register<Select>("Select", {{"T", {DataTypeOf<T>::value}}},
                              /*is_cheap=*/true);
    registry.Register<SelectV2>("SelectV2", {{"T", {DataTypeOf<T>::value}}},
                                /*is_cheap=*/true);
  };
  const auto clip = [&]<typename T>() {
    RegisterClip(registry, DataTypeOf<T>::value, &Clip<T>);
  };
  math::Floats::ForEach(all);
  math::Integers::ForEach(all);
  math::Complexes::ForEach(all);
  math::Types<bool, std::string, ResourceHandle, Variant>::ForEach(all);
  math::Floats::ForEach(clip);
  math::Integers::ForEach(clip);
}

}  // namespace weft
