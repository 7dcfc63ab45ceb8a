// BiasAdd and its gradient. Channels are the last dimension ("NHWC") or the
// second ("NCHW").
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/element_loops.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"

namespace weft {
namespace {

template <typename T>
class BiasAddKernel : public ElementKernel {
 public:
  explicit BiasAddKernel(const OpKernelConstruction& construction)
      : ElementKernel(construction),
        channels_first_(AreChannelsFirst(construction)) {}

  ElementLoops loops() const override {
    if (channels_first_) return {};
    return {.rows = &AddToRows};
  }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    const Tensor& bias = context.input(1);
    ASSIGN_OR_RETURN(ChannelView view,
                     ViewChannels(value.shape(), channels_first_));
    RETURN_IF_ERROR(
        CheckBias(value.shape(), bias.shape(), view.channels, channels_first_));
    const T* x = value.flat<T>().data();
    const T* b = bias.flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, value.shape()));
    if (output->num_elements() == 0) return absl::OkStatus();
    T* out = output->mutable_flat<T>().data();
    const int64_t size = view.channels * view.inner;
    ParallelLoop(context, view.outer, size, [&](int64_t begin, int64_t end) {
      ChannelView part = view;
      part.outer = end - begin;
      Loop(x + begin * size, b, out + begin * size, part);
    });
    return absl::OkStatus();
  }

 private:
  static void AddToRows(const void* x, const void* bias, void* out,
                        int64_t rows, int64_t columns) {
    Loop(static_cast<const T*>(x), static_cast<const T*>(bias),
         static_cast<T*>(out), {.outer = rows, .channels = columns});
  }

  static void Loop(const T* x, const T* bias, T* out, const ChannelView& view) {
    if (view.inner == 1) {
      if constexpr (kHasNnLoops<T>) {
        BestNnLoops<T>().add_bias(x, bias, out, view.outer, view.channels);
        return;
      }
      if constexpr (kHasNarrowLoops<T>) {
        return AddInFloats(x, bias, out, view.outer, view.channels);
      }
    }
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t c = 0; c < view.channels; ++c) {
        const int64_t at = (o * view.channels + c) * view.inner;
        for (int64_t i = 0; i < view.inner; ++i) {
          out[at + i] = AddElements(x[at + i], bias[c]);
        }
      }
    }
  }

  // Processes as many rows at a time as fit into a block of floats, or parts of
  // one row.
  static void AddInFloats(const T* x, const T* bias, T* out, int64_t rows,
                          int64_t channels) {
    if (channels > kNarrowBlock) {
      for (int64_t row = 0; row < rows; ++row) {
        InFloats(x + row * channels, bias, out + row * channels, channels,
                 [](const float* from, const float* by, float* to, int64_t n) {
                   BestNnLoops<float>().add_bias(from, by, to, 1, n);
                 });
      }
      return;
    }
    float wide[kNarrowBlock];
    BestNarrowLoops<T>().widen(bias, wide, channels);
    const int64_t step = kNarrowBlock / channels;
    for (int64_t i = 0; i < rows; i += step) {
      InFloats(x + i * channels, out + i * channels,
               std::min(step, rows - i) * channels,
               [&](const float* from, float* to, int64_t n) {
                 BestNnLoops<float>().add_bias(from, wide, to, n / channels,
                                               channels);
               });
    }
  }

  const bool channels_first_;
};

template <typename T>
class BiasAddGradKernel : public OpKernel {
 public:
  explicit BiasAddGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        channels_first_(AreChannelsFirst(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradient = context.input(0);
    ASSIGN_OR_RETURN(ChannelView view,
                     ViewChannels(gradient.shape(), channels_first_));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, TensorShape({view.channels})));
    const T* x = gradient.flat<T>().data();
    T* out = output->mutable_flat<T>().data();
    if (gradient.num_elements() == 0) {  // for any number of rows
      std::fill(out, out + view.channels, T(0));
      return absl::OkStatus();
    }
    if constexpr (kHasNnLoops<T> || kHasNarrowLoops<T>) {
      if (view.inner == 1) {
        return SumRows(context, x, out, view);
      }
    }
    SumAll(x, out, view);
    return absl::OkStatus();
  }

 private:
  // Sums a few hundred rows at a time, so that the error does not grow with the
  // number of rows, and then these sums in order, so that the bits do not
  // depend on the number of threads.
  static absl::Status SumRows(OpKernelContext& context, const T* x, T* out,
                              const ChannelView& view) {
    constexpr int64_t kBlock = 256;
    const int64_t blocks = (view.outer - 1) / kBlock + 1;
    if constexpr (kHasNnLoops<T>) {
      if (blocks == 1) {
        SumBlocks(x, out, view, kBlock, 0, 1);
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(Tensor sums, context.AllocateTemp(
                                      DataTypeOf<Wide<T>>::value,
                                      TensorShape({blocks, view.channels})));
    Wide<T>* const sum = sums.mutable_flat<Wide<T>>().data();
    ParallelLoop(context, blocks, kBlock * view.channels,
                 [&](int64_t begin, int64_t end) {
                   SumBlocks(x, sum, view, kBlock, begin, end);
                 });
    BestNnLoops<Wide<T>>().add_rows(sum + view.channels, sum, blocks - 1,
                                    view.channels);
    if constexpr (kHasNarrowLoops<T>) {
      BestNarrowLoops<T>().narrow(sum, out, view.channels);
    } else {
      std::copy_n(sum, view.channels, out);
    }
    return absl::OkStatus();
  }

  // Computes sums[b] for each block [begin, end) of `size` rows.
  static void SumBlocks(const T* x, Wide<T>* sums, const ChannelView& view,
                        int64_t size, int64_t begin, int64_t end) {
    std::fill(sums + begin * view.channels, sums + end * view.channels,
              Wide<T>(0));
    for (int64_t b = begin; b < end; ++b) {
      const int64_t rows = std::min(size, view.outer - b * size);
      AddRows(x + b * size * view.channels, sums + b * view.channels, rows,
              view.channels);
    }
  }

  static void AddRows(const T* x, Wide<T>* sum, int64_t rows,
                      int64_t channels) {
    if constexpr (kHasNarrowLoops<T>) {
      float wide[kNarrowBlock];
      for (int64_t i = 0; i < rows; ++i, x += channels) {
        for (int64_t c = 0; c < channels; c += kNarrowBlock) {
          const int64_t count = std::min(kNarrowBlock, channels - c);
          BestNarrowLoops<T>().widen(x + c, wide, count);
          BestNnLoops<float>().add_rows(wide, sum + c, 1, count);
        }
      }
    } else {
      BestNnLoops<T>().add_rows(x, sum, rows, channels);
    }
  }

  static void SumAll(const T* x, T* out, const ChannelView& view) {
    for (int64_t c = 0; c < view.channels; ++c) {
      Wide<T> sum{0};
      for (int64_t o = 0; o < view.outer; ++o) {
        const T* from = x + (o * view.channels + c) * view.inner;
        for (int64_t i = 0; i < view.inner; ++i) {
          sum = AddElements(sum, static_cast<Wide<T>>(from[i]));
        }
      }
      out[c] = static_cast<T>(sum);
    }
  }

  const bool channels_first_;
};

template <typename... Ts>
void RegisterBias(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Register<BiasAddKernel<Ts>>(
       "BiasAdd", {{"T", {DataTypeOf<Ts>::value}}}, /*is_cheap=*/true),
   ...);
  (registry.Register<BiasAddGradKernel<Ts>>(
       "BiasAddGrad", {{"T", {DataTypeOf<Ts>::value}}}, /*is_cheap=*/true),
   ...);
}

}  // namespace

void RegisterBiasKernels(KernelRegistry& registry) {
  RegisterBias(registry, Numbers{});
}

}  // namespace weft
