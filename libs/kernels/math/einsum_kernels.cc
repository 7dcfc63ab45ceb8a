// Einsum: sums of products of two tensors, computed as matrix products, in
// place where the memory layout allows it.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/isa/reduction_loops.h"
#include "libs/kernels/math/einsum_plan.h"
#include "libs/kernels/math/gemm_of_any_type.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

// A tensor and the positions of its labels.
struct Operand {
  Tensor tensor;
  EinsumView view;
};

absl::Status Pack(OpKernelContext& context, const EinsumView& order,
                  Operand& operand) {
  const EinsumView axes = AxesAs(operand.view, order);
  ASSIGN_OR_RETURN(Tensor packed,
                   context.AllocateTemp(operand.tensor.dtype(),
                                        TensorShape(PatternOf(axes).dims)));
  RETURN_IF_ERROR(
      CopyFromPattern(context, operand.tensor, PatternOf(axes), packed));
  operand = {std::move(packed), Packed(axes)};
  return absl::OkStatus();
}

template <typename T>
T SumOf(const T* x, int64_t n) {
  if (n == 0) return T(0);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return BestReductionLoops<T>(ReductionOp::kSum).run(x, n);
  } else {
    using R = math::Real<T>;
    R sum(0);
    for (int64_t i = 0; i < n; ++i) {
      sum = math::AddOp::Apply(sum, static_cast<R>(x[i]));
    }
    return static_cast<T>(sum);
  }
}

// Sums over the labels that neither the other operand nor the result has.
template <typename T>
absl::Status SumAlone(OpKernelContext& context,
                      const std::function<bool(int label)>& is_kept,
                      Operand& operand) {
  const EinsumView kept = FilterAxes(operand.view, is_kept);
  if (kept.size() == operand.view.size()) return absl::OkStatus();
  const EinsumView summed =
      FilterAxes(operand.view, [&](int label) { return !is_kept(label); });
  RETURN_IF_ERROR(Pack(context, JoinAxes({kept, summed}), operand));
  ASSIGN_OR_RETURN(Tensor sums,
                   context.AllocateTemp(operand.tensor.dtype(),
                                        TensorShape(PatternOf(kept).dims)));
  const T* from = operand.tensor.flat<T>().data();
  T* to = sums.mutable_flat<T>().data();
  const int64_t n = CountElements(summed);
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = SumOf(from + i * n, n);
  };
  context.scheduler().ParallelFor(
      sums.num_elements(),
      std::max<int64_t>(1, 100'000 / std::max<int64_t>(1, n)), std::ref(rows));
  operand = {std::move(sums), Packed(kept)};
  return absl::OkStatus();
}

// The result for one operand: its elements permuted, and on diagonals.
absl::Status WriteAlone(OpKernelContext& context, Operand operand,
                        const EinsumView& to, Tensor& out) {
  const EinsumView axes = AxesAs(operand.view, to);
  if (IsPacked(to)) {
    return CopyFromPattern(context, operand.tensor, PatternOf(axes), out);
  }
  RETURN_IF_ERROR(FillWithZeros(out));
  RETURN_IF_ERROR(Pack(context, to, operand));
  return CopyToPattern(context, operand.tensor, PatternOf(to), out);
}

// The axes of a product, in each tensor that has them: `batch` in the order of
// the result, the others in that of the first operand that has them.
struct ProductAxes {
  ProductAxes(const EinsumView& a, const EinsumView& b, const EinsumView& out) {
    const auto in = [](const EinsumView& view) {
      return [&view](int label) { return FindAxis(view, label) != nullptr; };
    };
    const auto free = [&](int label) { return in(out)(label); };
    batch = FilterAxes(out, [&](int l) { return in(a)(l) && in(b)(l); });
    rows = FilterAxes(a, [&](int l) { return free(l) && !in(b)(l); });
    columns = FilterAxes(b, [&](int l) { return free(l) && !in(a)(l); });
    inner = FilterAxes(a, [&](int l) { return !in(out)(l); });
  }

  EinsumView batch, rows, columns, inner;
};

// A matrix within a tensor, row-major or transposed, in the format of
// MatMulArgs.
struct MatrixRuns {
  bool transposed = false;
  int64_t stride = 0;
};

// nullopt if the memory layout is not a matrix.
std::optional<MatrixRuns> MatrixOf(const EinsumView& rows,
                                   const EinsumView& columns) {
  const std::optional<EinsumRun> row = JoinedRun(rows);
  const std::optional<EinsumRun> column = JoinedRun(columns);
  if (!row || !column) return std::nullopt;
  if (column->size == 1 || column->stride == 1) {
    return MatrixRuns{false, row->size == 1 ? column->size : row->stride};
  }
  if (row->size == 1 || row->stride == 1) {
    return MatrixRuns{true, column->stride};
  }
  return std::nullopt;
}

// The matrix of an operand, which is copied if its layout is not one.
absl::StatusOr<MatrixRuns> MakeMatrix(OpKernelContext& context,
                                      const EinsumView& batch,
                                      const EinsumView& rows,
                                      const EinsumView& columns,
                                      Operand& operand) {
  const std::optional<MatrixRuns> there =
      MatrixOf(AxesAs(operand.view, rows), AxesAs(operand.view, columns));
  if (there) return *there;
  RETURN_IF_ERROR(Pack(context, JoinAxes({batch, rows, columns}), operand));
  return *MatrixOf(AxesAs(operand.view, rows), AxesAs(operand.view, columns));
}

// The offsets of a batch's matrices in each of the three tensors.
class BatchOffsets {
 public:
  BatchOffsets(const EinsumView& batch, const EinsumView& a,
               const EinsumView& b, const EinsumView& out)
      : axes_{AxesAs(a, batch), AxesAs(b, batch), AxesAs(out, batch)} {}

  std::array<int64_t, 3> Of(int64_t index) const {
    std::array<int64_t, 3> offsets = {0, 0, 0};
    for (size_t i = axes_[0].size(); i-- > 0;) {
      const int64_t place = index % axes_[0][i].size;
      index /= axes_[0][i].size;
      for (int t = 0; t < 3; ++t) offsets[t] += place * axes_[t][i].stride;
    }
    return offsets;
  }

 private:
  std::array<EinsumView, 3> axes_;
};

// A product that is too small for the optimized loops.
template <typename T>
void SmallProduct(const MatMulArgs& args, const T* a, const T* b, T* c) {
  using R = math::Real<T>;
  const int64_t a_row = args.transpose_a ? 1 : args.a_stride;
  const int64_t a_step = args.transpose_a ? args.a_stride : 1;
  const int64_t b_column = args.transpose_b ? args.b_stride : 1;
  const int64_t b_step = args.transpose_b ? 1 : args.b_stride;
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      R sum(0);
      for (int64_t k = 0; k < args.k; ++k) {
        sum = math::AddOp::Apply(
            sum,
            math::MulOp::Apply(static_cast<R>(a[i * a_row + k * a_step]),
                               static_cast<R>(b[j * b_column + k * b_step])));
      }
      c[i * args.c_stride + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
void MultiplyAll(OpKernelContext& context, GemmOfAnyType<T>& gemm,
                 const MatMulArgs& args, int64_t count,
                 const BatchOffsets& offsets, const T* a, const T* b, T* c) {
  const double flops = 2.0 * args.m * args.n * args.k;
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [in_a, in_b, in_c] = offsets.Of(i);
      if (flops <= 64) {
        SmallProduct(args, a + in_a, b + in_b, c + in_c);
      } else {
        gemm.Run(context, args, a + in_a, b + in_b, c + in_c);
      }
    }
  };
  const auto grain = static_cast<int64_t>(400'000 / std::max(20.0, flops));
  context.scheduler().ParallelFor(count, std::max<int64_t>(1, grain),
                                  std::ref(range));
}

// Two operands, whose labels are those of the result or of both, and the
// product of matrices in their memory, or in copies.
struct Product {
  Operand a, b, out;
  EinsumView batch;
  MatMulArgs args;
};

MatMulArgs ArgsOf(const ProductAxes& axes, const MatrixRuns& a,
                  const MatrixRuns& b, const MatrixRuns& c) {
  MatMulArgs args;
  args.m = CountElements(axes.rows);
  args.n = CountElements(axes.columns);
  args.k = CountElements(axes.inner);
  args.transpose_a = a.transposed;
  args.transpose_b = b.transposed;
  args.a_stride = a.stride;
  args.b_stride = b.stride;
  args.c_stride = c.stride;
  return args;
}

// The product is computed transposed if adjacent elements of the result are
// rows of the first operand.
bool WantsTransposed(const ProductAxes& axes, const EinsumView& out) {
  return std::any_of(axes.rows.begin(), axes.rows.end(),
                     [&](const EinsumAxis& axis) {
                       return FindAxis(out, axis.label)->stride == 1;
                     });
}

// If the product cannot be written to `out`, `out` is replaced by a tensor to
// copy from.
absl::StatusOr<Product> MakeProduct(OpKernelContext& context, Operand a,
                                    Operand b, Operand out) {
  ProductAxes axes(a.view, b.view, out.view);
  if (WantsTransposed(axes, out.view)) {
    std::swap(a, b);
    std::swap(axes.rows, axes.columns);
  }
  ASSIGN_OR_RETURN(const MatrixRuns left,
                   MakeMatrix(context, axes.batch, axes.rows, axes.inner, a));
  ASSIGN_OR_RETURN(
      const MatrixRuns right,
      MakeMatrix(context, axes.batch, axes.inner, axes.columns, b));
  std::optional<MatrixRuns> result =
      MatrixOf(AxesAs(out.view, axes.rows), AxesAs(out.view, axes.columns));
  if (!result || result->transposed) {
    out.view = Packed(JoinAxes({axes.batch, axes.rows, axes.columns}));
    ASSIGN_OR_RETURN(out.tensor, context.AllocateTemp(
                                     out.tensor.dtype(),
                                     TensorShape(PatternOf(out.view).dims)));
    result =
        MatrixOf(AxesAs(out.view, axes.rows), AxesAs(out.view, axes.columns));
  }
  const MatMulArgs args = ArgsOf(axes, left, right, *result);
  return Product{std::move(a), std::move(b), std::move(out), axes.batch, args};
}

// The result for two operands; it may have diagonals.
template <typename T>
absl::Status Multiply(OpKernelContext& context, GemmOfAnyType<T>& gemm,
                      Operand a, Operand b, const EinsumView& to, Tensor& out) {
  if (CountElements(to) < out.num_elements()) {
    RETURN_IF_ERROR(FillWithZeros(out));
  }
  ASSIGN_OR_RETURN(
      Product product,
      MakeProduct(context, std::move(a), std::move(b), Operand{out, to}));
  Operand& result = product.out;
  MultiplyAll(
      context, gemm, product.args, CountElements(product.batch),
      BatchOffsets(product.batch, product.a.view, product.b.view, result.view),
      product.a.tensor.flat<T>().data(), product.b.tensor.flat<T>().data(),
      result.tensor.mutable_flat<T>().data());
  if (result.tensor.SharesBufferWith(out)) return absl::OkStatus();
  return CopyToPattern(context, result.tensor,
                       PatternOf(AxesAs(to, result.view)), out);
}

template <typename T>
class EinsumKernel : public OpKernel {
 public:
  EinsumKernel(const OpKernelConstruction& construction,
               EinsumEquation equation)
      : OpKernel(construction), equation_(std::move(equation)) {}

  absl::Status Compute(OpKernelContext& context) override {
    std::vector<TensorShape> shapes;
    for (int i = 0; i < context.num_inputs(); ++i) {
      shapes.push_back(context.input(i).shape());
    }
    if (shapes.size() != equation_.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected ", equation_.inputs.size(),
                       " inputs but got: ", shapes.size()));
    }
    ASSIGN_OR_RETURN(const EinsumViews views, ViewsOf(equation_, shapes));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, views.output_shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    return Fill(context, views, *out);
  }

 private:
  // REQUIRES: `out` has elements.
  absl::Status Fill(OpKernelContext& context, const EinsumViews& views,
                    Tensor& out) {
    std::vector<Operand> operands;
    for (size_t i = 0; i < views.inputs.size(); ++i) {
      const auto is_kept = [&](int label) {
        return FindAxis(views.output, label) != nullptr ||
               (views.inputs.size() == 2 &&
                FindAxis(views.inputs[1 - i], label) != nullptr);
      };
      operands.push_back({context.input(static_cast<int>(i)), views.inputs[i]});
      RETURN_IF_ERROR(SumAlone<T>(context, is_kept, operands[i]));
    }
    // An empty sum is 0, and has no memory to read.
    for (const Operand& operand : operands) {
      if (operand.tensor.num_elements() == 0) return FillWithZeros(out);
    }
    if (operands.size() == 1) {
      return WriteAlone(context, std::move(operands[0]), views.output, out);
    }
    return Multiply<T>(context, gemm_, std::move(operands[0]),
                       std::move(operands[1]), views.output, out);
  }

  const EinsumEquation equation_;
  GemmOfAnyType<T> gemm_;
};

template <typename T>
void RegisterEinsum(KernelRegistry& registry) {
  registry.Register(
      KernelDef{"Einsum", "CPU", {{"T", {DataTypeOf<T>::value}}}},
      [](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(const std::string text,
                         construction.GetAttr<std::string>("equation"));
        ASSIGN_OR_RETURN(EinsumEquation equation, ParseEinsum(text));
        return std::make_unique<EinsumKernel<T>>(construction,
                                                 std::move(equation));
      });
}

}  // namespace

void RegisterEinsumKernels(KernelRegistry& registry) {
  const auto one = [&]<typename T>() { RegisterEinsum<T>(registry); };
  math::Floats::ForEach(one);
  math::Complexes::ForEach(one);
  math::Types<int32_t, int64_t>::ForEach(one);
}

}  // namespace weft
