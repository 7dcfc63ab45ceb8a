// Conv2D and its gradients: each image's windows are laid out as the rows of a
// matrix, and a matrix product does the rest.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/gemm.h"
#include "libs/kernels/nn_layout.h"
#include "libs/kernels/nn_registration.h"
#include "libs/kernels/nn_windows.h"
#include "libs/kernels/tensor_sum.h"

namespace weft {
namespace {

// A checked convolution. Where the filter is less deep than the image, the
// channels are in groups, each with filters of its own.
struct Convolution {
  int64_t batch, channels, filters;
  int64_t groups, depth;  // of a group, in channels
  WindowDim rows, columns;

  int64_t windows() const { return rows.out * columns.out; }
  // Numbers that one window takes of one group.
  int64_t taps() const { return rows.size * columns.size * depth; }
  int64_t filters_of_group() const { return filters / groups; }
  int64_t image_size() const { return rows.in * columns.in * channels; }
  TensorShape output_shape() const {
    return {batch, rows.out, columns.out, filters};
  }

  static absl::StatusOr<Convolution> Of(const WindowAttrs& attrs,
                                        const TensorShape& image,
                                        const TensorShape& filter) {
    RETURN_IF_ERROR(CheckImageAndFilter(image, filter));
    if (filter.dim(2) == 0 || image.dim(3) == 0 ||
        image.dim(3) % filter.dim(2) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input depth must be evenly divisible by filter depth: ",
                       image.dim(3), " vs ", filter.dim(2)));
    }
    const int64_t groups = image.dim(3) / filter.dim(2);
    if (filter.dim(3) % groups != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output depth must be evenly divisible by number of groups: ",
          filter.dim(3), " vs ", groups));
    }
    Convolution result;
    result.groups = groups;
    result.depth = filter.dim(2);
    result.batch = image.dim(0);
    result.channels = image.dim(3);
    result.filters = filter.dim(3);
    ASSIGN_OR_RETURN(result.rows, attrs.Dim(1, image.dim(1), filter.dim(0)));
    ASSIGN_OR_RETURN(result.columns, attrs.Dim(2, image.dim(2), filter.dim(1)));
    // What is laid out for one image is a valid shape too.
    RETURN_IF_ERROR(
        TensorShape::Create({result.rows.out, result.columns.out, filter.dim(0),
                             filter.dim(1), image.dim(3)}));
    RETURN_IF_ERROR(TensorShape::Create(
        {result.batch, result.rows.out, result.columns.out, result.filters}));
    return result;
  }
};

// Calls `visit(tap of the matrix, offset in the image)` for each tap of window
// (y, x) that is inside the image; both are of `depth` numbers.
template <typename Visit>
void ForEachTap(const Convolution& c, int64_t y, int64_t x,
                const Visit& visit) {
  for (int64_t i = 0; i < c.rows.size; ++i) {
    const int64_t row = c.rows.At(y, i);
    if (!c.rows.IsInside(row)) continue;
    for (int64_t j = 0; j < c.columns.size; ++j) {
      const int64_t column = c.columns.At(x, j);
      if (!c.columns.IsInside(column)) continue;
      visit((i * c.columns.size + j) * c.depth,
            (row * c.columns.in + column) * c.channels);
    }
  }
}

// One row for each window of a group, which begins at `image`; padding is zero.
template <typename W>
void LayOut(OpKernelContext& context, const Convolution& c, const W* image,
            W* matrix) {
  std::fill(matrix, matrix + c.windows() * c.taps(), W(0));
  context.scheduler().ParallelFor(
      c.rows.out, std::max<int64_t>(1, 32768 / (c.columns.out * c.taps() + 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t y = begin; y < end; ++y) {
          for (int64_t x = 0; x < c.columns.out; ++x) {
            W* row = matrix + (y * c.columns.out + x) * c.taps();
            ForEachTap(c, y, x, [&](int64_t tap, int64_t at) {
              std::copy(image + at, image + at + c.depth, row + tap);
            });
          }
        }
      });
}

// The reverse: what windows share is added up.
template <typename W>
void AddBack(const Convolution& c, const W* matrix, W* image) {
  for (int64_t y = 0; y < c.rows.out; ++y) {
    for (int64_t x = 0; x < c.columns.out; ++x) {
      const W* row = matrix + (y * c.columns.out + x) * c.taps();
      ForEachTap(c, y, x, [&](int64_t tap, int64_t at) {
        for (int64_t i = 0; i < c.depth; ++i) image[at + i] += row[tap + i];
      });
    }
  }
}

template <typename W>
class ConvolutionKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(construction));
    const std::string& op = construction.node().type();
    const Which which = op == "Conv2D"                 ? Which::kForward
                        : op == "Conv2DBackpropFilter" ? Which::kFilter
                                                       : Which::kInput;
    return std::make_unique<ConvolutionKernel>(construction, std::move(attrs),
                                               which);
  }

  absl::Status Compute(OpKernelContext& context) override {
    switch (which_) {
      case Which::kForward:
        return Forward(context);
      case Which::kFilter:
        return BackpropFilter(context);
      case Which::kInput:
        break;
    }
    return BackpropInput(context);
  }

  enum class Which { kForward, kFilter, kInput };
  ConvolutionKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
                    Which which)
      : OpKernel(construction), attrs_(std::move(attrs)), which_(which) {}

 private:
  absl::StatusOr<Tensor> NewMatrix(OpKernelContext& context,
                                   const Convolution& c) const {
    return context.AllocateTemp(DataTypeOf<W>::value, {c.windows(), c.taps()});
  }

  absl::Status Forward(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const Convolution c,
                     Convolution::Of(attrs_, context.input(0).shape(),
                                     context.input(1).shape()));
    ASSIGN_OR_RETURN(const Tensor images,
                     WidenTo<W>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor filter,
                     WidenTo<W>(context, context.input(1)));
    ASSIGN_OR_RETURN(Tensor output, context.AllocateTemp(DataTypeOf<W>::value,
                                                         c.output_shape()));
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c));
    W* const rows = matrix.mutable_flat<W>().data();
    const int64_t count = output.num_elements() > 0 ? c.batch * c.groups : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t n = i / c.groups, group = i % c.groups;
      LayOut(context, c,
             images.flat<W>().data() + n * c.image_size() + group * c.depth,
             rows);
      Gemm(context.scheduler(),
           {.m = c.windows(),
            .n = c.filters_of_group(),
            .k = c.taps(),
            .transpose_a = false,
            .transpose_b = false,
            .a_stride = c.taps(),
            .b_stride = c.filters,
            .c_stride = c.filters},
           rows, filter.flat<W>().data() + group * c.filters_of_group(),
           output.mutable_flat<W>().data() + n * c.windows() * c.filters +
               group * c.filters_of_group());
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  static absl::Status CheckGradient(const Tensor& gradient,
                                    const Convolution& c) {
    if (gradient.shape() == c.output_shape()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("out_backprop must have the shape of the output, ",
                     c.output_shape().ToString(), ", but has ",
                     gradient.shape().ToString()));
  }

  absl::Status BackpropFilter(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const TensorShape filter_shape, ShapeOfInput(context, 1));
    ASSIGN_OR_RETURN(
        const Convolution c,
        Convolution::Of(attrs_, context.input(0).shape(), filter_shape));
    RETURN_IF_ERROR(CheckGradient(context.input(2), c));
    ASSIGN_OR_RETURN(const Tensor images,
                     WidenTo<W>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor gradient,
                     WidenTo<W>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, filter_shape));
    ASSIGN_OR_RETURN(Tensor part,
                     context.AllocateTemp(DataTypeOf<W>::value, filter_shape));
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c));
    W* const rows = matrix.mutable_flat<W>().data();
    auto sum = output.mutable_flat<W>();
    std::fill(sum.begin(), sum.end(), W(0));
    const bool is_empty = sum.empty() || c.windows() == 0;
    for (int64_t n = 0; !is_empty && n < c.batch; ++n) {
      for (int64_t group = 0; group < c.groups; ++group) {
        LayOut(context, c,
               images.flat<W>().data() + n * c.image_size() + group * c.depth,
               rows);
        const int64_t first = group * c.filters_of_group();
        Gemm(context.scheduler(),
             {.m = c.taps(),
              .n = c.filters_of_group(),
              .k = c.windows(),
              .transpose_a = true,
              .transpose_b = false,
              .a_stride = c.taps(),
              .b_stride = c.filters,
              .c_stride = c.filters},
             rows,
             gradient.flat<W>().data() + n * c.windows() * c.filters + first,
             part.mutable_flat<W>().data() + first);
      }
      RETURN_IF_ERROR(AddRange(output, 0, part, 0, part.num_elements()));
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  absl::Status BackpropInput(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const TensorShape image_shape, ShapeOfInput(context, 0));
    ASSIGN_OR_RETURN(
        const Convolution c,
        Convolution::Of(attrs_, image_shape, context.input(1).shape()));
    RETURN_IF_ERROR(CheckGradient(context.input(2), c));
    ASSIGN_OR_RETURN(const Tensor filter,
                     WidenTo<W>(context, context.input(1)));
    ASSIGN_OR_RETURN(const Tensor gradient,
                     WidenTo<W>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, image_shape));
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c));
    W* const rows = matrix.mutable_flat<W>().data();
    auto sum = output.mutable_flat<W>();
    std::fill(sum.begin(), sum.end(), W(0));
    const bool is_empty = matrix.num_elements() == 0 || c.filters == 0;
    const int64_t count = is_empty ? 0 : c.batch * c.groups;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t n = i / c.groups, group = i % c.groups;
      const int64_t first = group * c.filters_of_group();
      Gemm(context.scheduler(),
           {.m = c.windows(),
            .n = c.taps(),
            .k = c.filters_of_group(),
            .transpose_a = false,
            .transpose_b = true,
            .a_stride = c.filters,
            .b_stride = c.filters,
            .c_stride = c.taps()},
           gradient.flat<W>().data() + n * c.windows() * c.filters + first,
           filter.flat<W>().data() + first, rows);
      AddBack(c, rows, sum.data() + n * c.image_size() + group * c.depth);
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  const WindowAttrs attrs_;
  const Which which_;
};

void Register(KernelRegistry& registry, const char* op, DataType type,
              const KernelFactory& factory) {
  KernelDef def;
  def.op = op;
  def.types = {{"T", {type}}};
  registry.Register(std::move(def),
                    InAnyLayout(ImagesOfConvolution(op), factory));
}

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry) {
  for (const char* op :
       {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"}) {
    for (DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16}) {
      Register(registry, op, type, ConvolutionKernel<float>::Make);
    }
    Register(registry, op, DT_DOUBLE, ConvolutionKernel<double>::Make);
  }
}

}  // namespace weft
