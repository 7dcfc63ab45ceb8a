// Conv2D and its gradients. Floats are multiplied in place
// (direct_convolution.h) or by oneDNN. bfloat16 uses oneDNN on CPUs with
// bfloat16 instructions; half, and bfloat16 on other CPUs, are converted to
// float. Otherwise, the windows of all images are laid out as the rows of a
// matrix, as many at a time as fit into the cache, for a matrix product. As in
// TensorFlow, all except the filter's gradient also support int32.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/common/dnnl_library.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/math/gemm_of_any_type.h"
#include "libs/kernels/math/tensor_sum.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/direct_convolution.h"
#include "libs/kernels/nn/dnnl_convolution.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"
#include "libs/kernels/nn/winograd_convolution.h"

namespace weft {
namespace {

// Calls `visit(offset in the matrix's row, offset in the images, count)` for
// all elements of a window inside its image, in order. Taps that are contiguous
// in both are joined.
template <typename Visit>
void ForEachPiece(const Convolution& c, int64_t window, const Visit& visit) {
  const int64_t n = window / c.windows(), in_image = window % c.windows();
  const int64_t y = in_image / c.columns.out, x = in_image % c.columns.out;
  const TapRange i_range = TapRange::Of(c.rows, y);
  const TapRange j_range = TapRange::Of(c.columns, x);
  const bool are_joined = c.columns.dilation == 1 && c.depth == c.channels;
  const int64_t step = are_joined ? j_range.end - j_range.begin : 1;
  for (int64_t i = i_range.begin; i < i_range.end; ++i) {
    const int64_t row = n * c.rows.in + c.rows.At(y, i);
    for (int64_t j = j_range.begin; j < j_range.end; j += step) {
      const int64_t column = c.columns.At(x, j);
      visit((i * c.columns.size + j) * c.depth,
            (row * c.columns.in + column) * c.channels, step * c.depth);
    }
  }
}

// Writes one row for each window [begin, end) of a group, whose channels begin
// at `images`; padding is zero.
template <typename W>
void LayOut(OpKernelContext& context, const Convolution& c, const W* images,
            int64_t begin, int64_t end, W* matrix) {
  context.scheduler().ParallelFor(
      end - begin, std::max<int64_t>(1, 32768 / (c.taps() + 1)),
      [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
          W* const row = matrix + i * c.taps();
          int64_t done = 0;
          ForEachPiece(c, begin + i, [&](int64_t tap, int64_t at, int64_t n) {
            std::fill(row + done, row + tap, W(0));
            std::copy_n(images + at, n, row + tap);
            done = tap + n;
          });
          std::fill(row + done, row + c.taps(), W(0));
        }
      });
}

// sum[i] += x[i]
template <typename W>
void Add(const W* x, W* sum, int64_t n) {
  if constexpr (std::is_floating_point_v<W>) {
    BestNnLoops<W>().add_rows(x, sum, 1, n);
  } else {
    std::transform(x, x + n, sum, sum, AddElements<W>);
  }
}

// The reverse: elements shared by windows are summed.
template <typename W>
void AddBack(const Convolution& c, const W* matrix, int64_t begin, int64_t end,
             W* images) {
  for (int64_t window = begin; window < end; ++window, matrix += c.taps()) {
    ForEachPiece(c, window, [&](int64_t tap, int64_t at, int64_t n) {
      Add(matrix + tap, images + at, n);
    });
  }
}

template <typename W>
class ConvolutionKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(WindowAttrs attrs,
                     WindowAttrs::ReadConvolution(construction));
    const std::string& op = construction.node().type();
    const ConvolutionPass pass = op == "Conv2D" ? ConvolutionPass::kForward
                                 : op == "Conv2DBackpropFilter"
                                     ? ConvolutionPass::kFilter
                                     : ConvolutionPass::kInput;
    return std::make_unique<ConvolutionKernel>(construction, std::move(attrs),
                                               pass);
  }

  absl::Status Compute(OpKernelContext& context) override {
    switch (pass_) {
      case ConvolutionPass::kForward:
        return Forward(context);
      case ConvolutionPass::kFilter:
        return BackpropFilter(context);
      case ConvolutionPass::kInput:
        break;
    }
    return BackpropInput(context);
  }

  ConvolutionKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
                    ConvolutionPass pass)
      : OpKernel(construction),
        attrs_(std::move(attrs)),
        pass_(pass),
        dnnl_(DnnlLibrary::Best(), pass, DT_FLOAT),
        narrow_dnnl_(HasBfloat16Products() ? DnnlLibrary::Best() : nullptr,
                     pass, DT_BFLOAT16) {}

 private:
  // Computes the product with one matrix row per image.
  void RunProduct(OpKernelContext& context, const Convolution& c,
                  const float* first, const float* second, float* output) {
    const auto run = [&](MatMulArgs args) {
      args.a_stride = args.transpose_a ? args.m : args.k;
      args.b_stride = args.transpose_b ? args.k : args.n;
      args.c_stride = args.n;
      const bool is_input = pass_ == ConvolutionPass::kInput;
      gemm_.Run(context, args, is_input ? second : first,
                is_input ? first : second, output);
    };
    switch (pass_) {
      case ConvolutionPass::kForward:
        return run({.m = c.batch, .n = c.filters, .k = c.taps()});
      case ConvolutionPass::kFilter:
        return run(
            {.m = c.taps(), .n = c.filters, .k = c.batch, .transpose_a = true});
      case ConvolutionPass::kInput:
        return run(
            {.m = c.batch, .n = c.taps(), .k = c.filters, .transpose_b = true});
    }
  }

  // Returns whether the convolution was computed without laying out windows.
  // Winograd comes first if it applies. With AVX2, Weft's own loops are faster
  // than oneDNN's without layout changes (measured); with AVX-512, oneDNN comes
  // first, except for few filters.
  absl::StatusOr<bool> RunWhole(OpKernelContext& context,
                                const Convolution& sizes, const Tensor& first,
                                const Tensor& second, Tensor& output) {
    if constexpr (std::is_same_v<W, float>) {
      const float* const x = first.flat<W>().data();
      const float* const y = second.flat<W>().data();
      float* const to = output.mutable_flat<W>().data();
      if (sizes.is_product()) {
        RunProduct(context, sizes, x, y, to);
        return true;
      }
      const Convolution c = sizes.Flattened();
      if (winograd_is_wanted_ && IsBestWinograd(c, pass_)) {
        ASSIGN_OR_RETURN(const bool is_done,
                         WinogradConvolution(context, c, pass_, x, y, to));
        if (is_done) return true;
      }
      const bool is_direct = IsDirect(c, pass_);
      if (!is_direct || (BestInstructionSet() == InstructionSet::kV4 &&
                         !IsBestDirect(c, pass_))) {
        ASSIGN_OR_RETURN(const bool is_done, dnnl_.Run(context, c, x, y, to));
        if (is_done || !is_direct) return is_done;
      }
      RETURN_IF_ERROR(DirectConvolution(context, c, pass_, x, y, to));
      return true;
    } else {
      return false;
    }
  }

  // Returns whether bfloat16 numbers were multiplied directly, on a CPU that
  // can: output 0 is then set.
  absl::StatusOr<bool> RunNarrow(OpKernelContext& context,
                                 const Convolution& sizes, const Tensor& first,
                                 const Tensor& second,
                                 const TensorShape& shape) {
    if (first.dtype() != DT_BFLOAT16 || shape.num_elements() == 0 ||
        first.num_elements() == 0 || second.num_elements() == 0) {
      return false;
    }
    const Convolution c = sizes.Flattened();
    if (!narrow_dnnl_.CanRun(context, c)) return false;
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return narrow_dnnl_.Run(context, c, first.data(), second.data(),
                            output->mutable_data());
  }

  // A matrix for `windows` windows of a group.
  absl::StatusOr<Tensor> NewMatrix(OpKernelContext& context,
                                   const Convolution& c,
                                   int64_t windows) const {
    return context.AllocateTemp(DataTypeOf<W>::value, {windows, c.taps()});
  }

  absl::Status Forward(OpKernelContext& context) {
    ASSIGN_OR_RETURN(const Convolution c,
                     Convolution::Of(attrs_, context.input(0).shape(),
                                     context.input(1).shape()));
    if (!context.output_required(0)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool is_narrow,
                     RunNarrow(context, c, context.input(0), context.input(1),
                               c.output_shape()));
    if (is_narrow) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor images,
                     WidenTo<W>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor filter,
                     WidenTo<W>(context, context.input(1)));
    ASSIGN_OR_RETURN(Tensor output, context.AllocateTemp(DataTypeOf<W>::value,
                                                         c.output_shape()));
    if (output.num_elements() == 0) {
      return NarrowTo<W>(context, 0, std::move(output));
    }
    ASSIGN_OR_RETURN(const bool is_done,
                     RunWhole(context, c, images, filter, output));
    if (is_done) return NarrowTo<W>(context, 0, std::move(output));
    const int64_t step =
        c.windows_at_a_time(context.scheduler().num_compute_threads());
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c, step));
    W* const rows = matrix.mutable_flat<W>().data();
    for (int64_t begin = 0; begin < c.all_windows(); begin += step) {
      const int64_t end = std::min(begin + step, c.all_windows());
      for (int64_t group = 0; group < c.groups; ++group) {
        const int64_t first = group * c.filters_of_group();
        LayOut(context, c, images.flat<W>().data() + group * c.depth, begin,
               end, rows);
        gemm_.Run(context,
                  {.m = end - begin,
                   .n = c.filters_of_group(),
                   .k = c.taps(),
                   .transpose_a = false,
                   .transpose_b = false,
                   .a_stride = c.taps(),
                   .b_stride = c.filters,
                   .c_stride = c.filters},
                  rows, filter.flat<W>().data() + first,
                  output.mutable_flat<W>().data() + begin * c.filters + first);
      }
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  absl::Status BackpropFilter(OpKernelContext& context) {
    ASSIGN_OR_RETURN(const TensorShape filter_shape, ShapeOfInput(context, 1));
    ASSIGN_OR_RETURN(
        const Convolution c,
        Convolution::Of(attrs_, context.input(0).shape(), filter_shape));
    RETURN_IF_ERROR(CheckOutBackprop(context.input(2), c.output_shape()));
    if (!context.output_required(0)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool is_narrow,
                     RunNarrow(context, c, context.input(0), context.input(2),
                               filter_shape));
    if (is_narrow) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor images,
                     WidenTo<W>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor gradient,
                     WidenTo<W>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, filter_shape));
    if (output.num_elements() == 0 || c.all_windows() == 0) {
      const auto sum = output.mutable_flat<W>();
      std::fill(sum.begin(), sum.end(), W(0));
      return NarrowTo<W>(context, 0, std::move(output));
    }
    ASSIGN_OR_RETURN(const bool is_done,
                     RunWhole(context, c, images, gradient, output));
    if (is_done) return NarrowTo<W>(context, 0, std::move(output));
    ASSIGN_OR_RETURN(Tensor part,
                     context.AllocateTemp(DataTypeOf<W>::value, filter_shape));
    // Independent of the number of threads, so that the sums are, too.
    const int64_t step = c.windows_at_a_time(1);
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c, step));
    W* const rows = matrix.mutable_flat<W>().data();
    for (int64_t begin = 0; begin < c.all_windows(); begin += step) {
      const int64_t end = std::min(begin + step, c.all_windows());
      Tensor& sum = begin == 0 ? output : part;
      for (int64_t group = 0; group < c.groups; ++group) {
        const int64_t first = group * c.filters_of_group();
        LayOut(context, c, images.flat<W>().data() + group * c.depth, begin,
               end, rows);
        gemm_.Run(context,
                  {.m = c.taps(),
                   .n = c.filters_of_group(),
                   .k = end - begin,
                   .transpose_a = true,
                   .transpose_b = false,
                   .a_stride = c.taps(),
                   .b_stride = c.filters,
                   .c_stride = c.filters},
                  rows, gradient.flat<W>().data() + begin * c.filters + first,
                  sum.mutable_flat<W>().data() + first);
      }
      if (begin > 0) {
        RETURN_IF_ERROR(AddRange(output, 0, part, 0, part.num_elements()));
      }
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  absl::Status BackpropInput(OpKernelContext& context) {
    ASSIGN_OR_RETURN(const TensorShape image_shape, ShapeOfInput(context, 0));
    ASSIGN_OR_RETURN(
        const Convolution c,
        Convolution::Of(attrs_, image_shape, context.input(1).shape()));
    RETURN_IF_ERROR(CheckOutBackprop(context.input(2), c.output_shape()));
    if (!context.output_required(0)) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        const bool is_narrow,
        RunNarrow(context, c, context.input(1), context.input(2), image_shape));
    if (is_narrow) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor filter,
                     WidenTo<W>(context, context.input(1)));
    ASSIGN_OR_RETURN(const Tensor gradient,
                     WidenTo<W>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, image_shape));
    const auto sum = output.mutable_flat<W>();
    if (sum.empty() || filter.num_elements() == 0 || c.all_windows() == 0) {
      std::fill(sum.begin(), sum.end(), W(0));
      return NarrowTo<W>(context, 0, std::move(output));
    }
    ASSIGN_OR_RETURN(const bool is_done,
                     RunWhole(context, c, filter, gradient, output));
    if (is_done) return NarrowTo<W>(context, 0, std::move(output));
    std::fill(sum.begin(), sum.end(), W(0));
    const int64_t step =
        c.windows_at_a_time(context.scheduler().num_compute_threads());
    ASSIGN_OR_RETURN(Tensor matrix, NewMatrix(context, c, step));
    W* const rows = matrix.mutable_flat<W>().data();
    for (int64_t begin = 0; begin < c.all_windows(); begin += step) {
      const int64_t end = std::min(begin + step, c.all_windows());
      for (int64_t group = 0; group < c.groups; ++group) {
        const int64_t first = group * c.filters_of_group();
        gemm_.Run(context,
                  {.m = end - begin,
                   .n = c.taps(),
                   .k = c.filters_of_group(),
                   .transpose_a = false,
                   .transpose_b = true,
                   .a_stride = c.filters,
                   .b_stride = c.filters,
                   .c_stride = c.taps()},
                  gradient.flat<W>().data() + begin * c.filters + first,
                  filter.flat<W>().data() + first, rows);
        AddBack(c, rows, begin, end, sum.data() + group * c.depth);
      }
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  const WindowAttrs attrs_;
  const ConvolutionPass pass_;
  const bool winograd_is_wanted_ = WinogradIsWanted();
  DnnlConvolution dnnl_;
  DnnlConvolution narrow_dnnl_;
  GemmOfAnyType<W> gemm_;
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
  for (const char* op : {"Conv2D", "Conv2DBackpropInput"}) {
    Register(registry, op, DT_INT32, ConvolutionKernel<int32_t>::Make);
  }
}

}  // namespace weft
