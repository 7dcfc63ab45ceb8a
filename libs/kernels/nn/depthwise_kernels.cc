// DepthwiseConv2dNative and its gradients: each channel has filters of its own.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"

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
    if (image.dim(3) != filter.dim(2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input and filter must have the same depth: ", image.dim(3), " vs ",
          filter.dim(2)));
    }
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

  // Calls `visit(image, filter, output)` with where each product of a number
  // of the image and one of the filter is, and what it is a part of.
  template <typename Visit>
  void ForEachProduct(const Visit& visit) const {
    if (output_shape().num_elements() == 0) return;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t y = 0; y < rows.out; ++y) {
        for (int64_t x = 0; x < columns.out; ++x) {
          ForEachOfWindow(n, y, x, visit);
        }
      }
    }
  }

 private:
  template <typename Visit>
  void ForEachOfWindow(int64_t n, int64_t y, int64_t x,
                       const Visit& visit) const {
    const int64_t output =
        ((n * rows.out + y) * columns.out + x) * channels * multiplier;
    for (int64_t i = 0; i < rows.size; ++i) {
      const int64_t row = rows.At(y, i);
      if (!rows.IsInside(row)) continue;
      for (int64_t j = 0; j < columns.size; ++j) {
        const int64_t column = columns.At(x, j);
        if (!columns.IsInside(column)) continue;
        const int64_t image =
            ((n * rows.in + row) * columns.in + column) * channels;
        const int64_t filter = (i * columns.size + j) * channels * multiplier;
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t m = 0; m < multiplier; ++m) {
            const int64_t at = c * multiplier + m;
            visit(image + c, filter + at, output + at);
          }
        }
      }
    }
  }
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
    const W* const p = a.flat<W>().data();
    const W* const q = b.flat<W>().data();
    switch (which_) {
      case Which::kForward:
        d.ForEachProduct([&](int64_t image, int64_t filter, int64_t out) {
          sum[out] += p[image] * q[filter];
        });
        break;
      case Which::kFilter:
        d.ForEachProduct([&](int64_t image, int64_t filter, int64_t out) {
          sum[filter] += p[image] * q[out];
        });
        break;
      case Which::kInput:
        d.ForEachProduct([&](int64_t image, int64_t filter, int64_t out) {
          sum[image] += p[filter] * q[out];
        });
        break;
    }
    return NarrowTo<W>(context, 0, std::move(output));
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
