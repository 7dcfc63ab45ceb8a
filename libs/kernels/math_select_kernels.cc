// Select, SelectV2 and ClipByValue.
#include <array>
#include <cstring>

#include "libs/base/status.h"
#include "libs/kernels/math_broadcast.h"
#include "libs/kernels/math_kernels.h"
#include "libs/kernels/math_scalar.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

absl::Status SizesDiffer(const OpKernelContext& context, int first,
                         const TensorShape& a, int second,
                         const TensorShape& b) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Inputs to operation ", context.node_name(), " of type ",
      context.op_name(), " must have the same size and shape.  Input ", first,
      ": ", a.ToString(), " != input ", second, ": ", b.ToString()));
}

// Condition of the shape of the others, or a scalar, or a vector of rows.
template <typename T>
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
  // Each condition chooses `row` elements.
  absl::Status Choose(OpKernelContext& context, int64_t row) {
    const absl::Span<const bool> condition = context.input(0).flat<bool>();
    const absl::Span<const T> t = context.input(1).flat<T>();
    const absl::Span<const T> e = context.input(2).flat<T>();
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate(
                                       {1, 2}, 0, context.input(1).shape()));
    T* to = out->mutable_flat<T>().data();
    for (size_t i = 0; i < condition.size(); ++i) {
      const T* from = (condition[i] ? t : e).data() + i * row;
      for (int64_t j = 0; j < row; ++j, ++to, ++from) {
        if (to != from) *to = *from;
      }
    }
    return absl::OkStatus();
  }
};

// All three broadcast.
template <typename T>
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
    const T* yes = t.flat<T>().data();
    const T* no = e.flat<T>().data();
    T* to = out->mutable_flat<T>().data();
    broadcast.ForEachRow(0, broadcast.rows(),
                         [&](int64_t row, const Broadcast::Offsets& offsets) {
                           ChooseRow(broadcast, choose + offsets[0],
                                     yes + offsets[1], no + offsets[2],
                                     to + row * broadcast.row_size());
                         });
    return absl::OkStatus();
  }

 private:
  // `to` may be `yes` or `no`.
  static void ChooseRow(const Broadcast& broadcast, const bool* choose,
                        const T* yes, const T* no, T* to) {
    const int64_t n = broadcast.row_size();
    const int64_t choose_step = broadcast.step(0);
    const int64_t yes_step = broadcast.step(1);
    const int64_t no_step = broadcast.step(2);
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_trivially_copyable_v<T>) {
        const T t = yes[i * yes_step];
        const T e = no[i * no_step];
        to[i] = choose[i * choose_step] ? t : e;
      } else {
        const T& from =
            choose[i * choose_step] ? yes[i * yes_step] : no[i * no_step];
        if (to + i != &from) to[i] = from;
      }
    }
  }
};

// Bounds are scalars or of the shape of the tensor.
template <typename T>
class ClipByValue : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    std::array<int64_t, 2> steps{};
    for (int i = 1; i <= 2; ++i) {
      const Tensor& bound = context.input(i);
      if (bound.shape() != x.shape() && bound.rank() != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "clip_value_min and clip_value_max must be either of the same "
            "shape as input, or a scalar. input shape: ",
            x.shape().ToString(),
            " clip_value_min shape: ", context.input(1).shape().ToString(),
            " clip_value_max shape: ", context.input(2).shape().ToString()));
      }
      steps[i - 1] = bound.rank() == 0 ? 0 : 1;
    }
    const T* values = x.flat<T>().data();
    const T* low = context.input(1).flat<T>().data();
    const T* high = context.input(2).flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    T* to = out->mutable_flat<T>().data();
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      to[i] = Clip(values[i], low[i * steps[0]], high[i * steps[1]]);
    }
    return absl::OkStatus();
  }

 private:
  // A bound that is NaN is none, and a value that is NaN stays so.
  static T Clip(T x, T low, T high) {
    const T most = high < x ? high : x;
    return most < low ? low : most;
  }
};

}  // namespace

void RegisterSelectKernels(KernelRegistry& registry) {
  const auto all = [&]<typename T>() {
    registry.Register<Select<T>>("Select", {{"T", {DataTypeOf<T>::value}}},
                                 /*is_cheap=*/true);
    registry.Register<SelectV2<T>>("SelectV2", {{"T", {DataTypeOf<T>::value}}},
                                   /*is_cheap=*/true);
  };
  const auto clip = [&]<typename T>() {
    registry.Register<ClipByValue<T>>("ClipByValue",
                                      {{"T", {DataTypeOf<T>::value}}},
                                      /*is_cheap=*/true);
  };
  math::Floats::ForEach(all);
  math::Integers::ForEach(all);
  math::Complexes::ForEach(all);
  math::Types<bool, std::string, ResourceHandle, Variant>::ForEach(all);
  math::Floats::ForEach(clip);
  math::Integers::ForEach(clip);
}

}  // namespace weft
