// DepthwiseConv2dNative and its gradients: each channel has filters of its own.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"
#include "libs/kernels/parallel_loop.h"

namespace weft {
namespace {

struct Depthwise {
  int64_t batch, channels, multiplier;
  WindowDim rows, columns;

  TensorShape output_shape() const {
    return {batch, rows.out, columns.out, channels * multiplier};
  }

  static absl::StatusOr<Depthwise> Of(const WindowAttrs& attrs,
                                      const TensorShape& image,
                                      const TensorShape& filter) {
    RETURN_IF_ERROR(CheckImageAndFilter(image, filter));
    RETURN_IF_ERROR(CheckDepthOfFilter(image.dim(3), filter));
    Depthwise result;
    result.batch = image.dim(0);
    result.channels = image.dim(3);
    result.multiplier = filter.dim(3);
    ASSIGN_OR_RETURN(result.rows, attrs.Dim(1, image.dim(1), filter.dim(0)));
    ASSIGN_OR_RETURN(result.columns, attrs.Dim(2, image.dim(2), filter.dim(1)));
    RETURN_IF_ERROR(
        TensorShape::Create({result.batch, result.rows.out, result.columns.out,
                             result.channels, result.multiplier}));
    return result;
  }

  // Where numbers of all channels begin.
  int64_t image(int64_t n, int64_t row, int64_t column) const {
    return ((n * rows.in + row) * columns.in + column) * channels;
  }
  int64_t filter(int64_t i, int64_t j) const {
    return (i * columns.size + j) * channels * multiplier;
  }
  int64_t output(int64_t n, int64_t y, int64_t x) const {
    return ((n * rows.out + y) * columns.out + x) * channels * multiplier;
  }
};

// The windows [begin, end) of one dimension whose tap is on the image.
TapRange WindowsOf(const WindowDim& dim, int64_t tap) {
  TapRange range{0, dim.out};
  while (range.begin < range.end && dim.At(range.begin, tap) < 0) {
    ++range.begin;
  }
  while (range.begin < range.end && dim.At(range.end - 1, tap) >= dim.in) {
    --range.end;
  }
  return range;
}

// What each pass adds up, in parts that are independent of each other: rows of
// the output, taps of the filter, images. Each number is summed up in one
// order, whoever does it.
template <typename W>
class DepthwiseSums {
 public:
  DepthwiseSums(const Depthwise& d, const W* first, const W* second, W* sum)
      : d_(d), first_(first), second_(second), sum_(sum) {}

  // Row `line` of the output, counted through all images.
  void AddLine(int64_t line) const {
    const int64_t n = line / d_.rows.out, y = line % d_.rows.out;
    const TapRange is = TapRange::Of(d_.rows, y);
    for (int64_t x = 0; x < d_.columns.out; ++x) {
      const TapRange js = TapRange::Of(d_.columns, x);
      if (js.begin >= js.end) continue;
      const int64_t column = d_.columns.At(x, js.begin);
      for (int64_t i = is.begin; i < is.end; ++i) {
        Forward(first_ + d_.image(n, d_.rows.At(y, i), column),
                second_ + d_.filter(i, js.begin), js.end - js.begin,
                sum_ + d_.output(n, y, x));
      }
    }
  }

  // All channels of one tap.
  void AddTap(int64_t tap) const {
    const int64_t i = tap / d_.columns.size, j = tap % d_.columns.size;
    const TapRange ys = WindowsOf(d_.rows, i), xs = WindowsOf(d_.columns, j);
    if (xs.begin >= xs.end) return;
    const int64_t column = d_.columns.At(xs.begin, j);
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t y = ys.begin; y < ys.end; ++y) {
        FilterOf(first_ + d_.image(n, d_.rows.At(y, i), column),
                 second_ + d_.output(n, y, xs.begin), xs.end - xs.begin,
                 sum_ + d_.filter(i, j));
      }
    }
  }

  void AddImage(int64_t n) const {
    for (int64_t y = 0; y < d_.rows.out; ++y) {
      const TapRange is = TapRange::Of(d_.rows, y);
      for (int64_t x = 0; x < d_.columns.out; ++x) {
        const TapRange js = TapRange::Of(d_.columns, x);
        for (int64_t i = is.begin; i < is.end; ++i) {
          for (int64_t j = js.begin; j < js.end; ++j) {
            InputOf(first_ + d_.filter(i, j), second_ + d_.output(n, y, x),
                    sum_ + d_.image(n, d_.rows.At(y, i), d_.columns.At(x, j)));
          }
        }
      }
    }
  }

 private:
  void Forward(const W* image, const W* filter, int64_t taps, W* out) const {
    const int64_t step = d_.columns.dilation * d_.channels;
    const int64_t many = d_.channels * d_.multiplier;
    if (d_.multiplier == 1) {
      return BestNnLoops<W>().add_taps(image, step, filter, many, taps, out,
                                       many);
    }
    for (; taps > 0; --taps, image += step, filter += many) {
      AddProducts(image, filter, out);
    }
  }

  void FilterOf(const W* image, const W* gradient, int64_t windows,
                W* filter) const {
    const int64_t step = d_.columns.stride * d_.channels;
    const int64_t many = d_.channels * d_.multiplier;
    if (d_.multiplier == 1) {
      return BestNnLoops<W>().add_taps(image, step, gradient, many, windows,
                                       filter, many);
    }
    for (; windows > 0; --windows, image += step, gradient += many) {
      AddProducts(image, gradient, filter);
    }
  }

  // Each channel of one place by its `multiplier` numbers.
  void AddProducts(const W* image, const W* numbers, W* sums) const {
    for (int64_t c = 0; c < d_.channels; ++c) {
      for (int64_t m = 0; m < d_.multiplier; ++m) {
        *sums++ += image[c] * *numbers++;
      }
    }
  }

  void InputOf(const W* filter, const W* gradient, W* image) const {
    if (d_.multiplier == 1) {
      return BestNnLoops<W>().add_taps(filter, 0, gradient, 0, 1, image,
                                       d_.channels);
    }
    for (int64_t c = 0; c < d_.channels; ++c) {
      for (int64_t m = 0; m < d_.multiplier; ++m) {
        const int64_t at = c * d_.multiplier + m;
        image[c] += filter[at] * gradient[at];
      }
    }
  }

  const Depthwise& d_;
  const W* const first_;
  const W* const second_;
  W* const sum_;
};

template <typename W>
class DepthwiseKernel : public OpKernel {
 public:
  enum class Which { kForward, kFilter, kInput };

  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(WindowAttrs attrs,
                     WindowAttrs::ReadConvolution(construction));
    const std::string& op = construction.node().type();
    const Which which = op == "DepthwiseConv2dNative" ? Which::kForward
                        : op == "DepthwiseConv2dNativeBackpropFilter"
                            ? Which::kFilter
                            : Which::kInput;
    return std::make_unique<DepthwiseKernel>(construction, std::move(attrs),
                                             which);
  }
  DepthwiseKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
                  Which which)
      : OpKernel(construction), attrs_(std::move(attrs)), which_(which) {}

  absl::Status Compute(OpKernelContext& context) override {
    // The two operands that are there, and the shape of the third.
    TensorShape image = context.input(0).shape();
    TensorShape filter = context.input(1).shape();
    if (which_ == Which::kInput) {
      ASSIGN_OR_RETURN(image, ShapeOfInput(context, 0));
    }
    if (which_ == Which::kFilter) {
      ASSIGN_OR_RETURN(filter, ShapeOfInput(context, 1));
    }
    ASSIGN_OR_RETURN(const Depthwise d, Depthwise::Of(attrs_, image, filter));
    if (which_ != Which::kForward &&
        context.input(2).shape() != d.output_shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("out_backprop must have the shape of the output, ",
                       d.output_shape().ToString(), ", but has ",
                       context.input(2).shape().ToString()));
    }
    if (!context.output_required(0)) return absl::OkStatus();
    const TensorShape shape = which_ == Which::kForward  ? d.output_shape()
                              : which_ == Which::kFilter ? filter
                                                         : image;
    return Run(context, d, shape);
  }

 private:
  absl::Status Run(OpKernelContext& context, const Depthwise& d,
                   const TensorShape& shape) const {
    const int first = which_ == Which::kInput ? 1 : 0;
    const int second = which_ == Which::kForward ? 1 : 2;
    ASSIGN_OR_RETURN(const Tensor a, WidenTo<W>(context, context.input(first)));
    ASSIGN_OR_RETURN(const Tensor b,
                     WidenTo<W>(context, context.input(second)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, shape));
    W* const sum = output.mutable_flat<W>().data();
    std::fill(sum, sum + output.num_elements(), W(0));
    if (d.output_shape().num_elements() > 0) {
      Add(context, d,
          DepthwiseSums<W>(d, a.flat<W>().data(), b.flat<W>().data(), sum));
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  void Add(OpKernelContext& context, const Depthwise& d,
           const DepthwiseSums<W>& sums) const {
    const int64_t taps = d.rows.size * d.columns.size;
    const int64_t row = d.columns.out * d.channels * d.multiplier;
    switch (which_) {
      case Which::kForward:
        return ForEach(context, d.batch * d.rows.out, row * taps,
                       [&](int64_t line) { sums.AddLine(line); });
      case Which::kFilter:
        return ForEach(context, taps, d.batch * d.rows.out * row,
                       [&](int64_t tap) { sums.AddTap(tap); });
      case Which::kInput:
        return ForEach(context, d.batch, d.rows.out * row * taps,
                       [&](int64_t n) { sums.AddImage(n); });
    }
  }

  // `work(i)` for i < count, where each is so many products.
  template <typename Work>
  static void ForEach(OpKernelContext& context, int64_t count, int64_t products,
                      const Work& work) {
    ParallelLoop(context, count, products, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(i);
    });
  }

  const WindowAttrs attrs_;
  const Which which_;
};

}  // namespace

void RegisterDepthwiseKernels(KernelRegistry& registry) {
  for (const char* op :
       {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
        "DepthwiseConv2dNativeBackpropInput"}) {
    for (DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16, DT_DOUBLE}) {
      KernelDef def;
      def.op = op;
      def.types = {{"T", {type}}};
      registry.Register(
          std::move(def),
          InAnyLayout(ImagesOfConvolution(op),
                      type == DT_DOUBLE ? DepthwiseKernel<double>::Make
                                        : DepthwiseKernel<float>::Make));
    }
  }
}

}  // namespace weft
