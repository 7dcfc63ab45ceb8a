// Kernels that reduce the rows of each segment: Segment* (sorted ids),
// UnsortedSegment*, and SparseSegment* (rows selected by index) with their
// gradients.
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/chosen_rows.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"

namespace weft {
namespace {

enum class Reduction { kSum, kMean, kProduct, kMinimum, kMaximum };

template <typename T>
inline constexpr bool kIsOrdered = !std::is_same_v<T, std::complex<float>> &&
                                   !std::is_same_v<T, std::complex<double>>;

// The value of an empty segment. Complex numbers have no extrema; these ops
// reject them.
template <typename T>
T OfNothing(Reduction reduction) {
  if constexpr (kIsOrdered<T>) {
    if (reduction == Reduction::kMinimum) return HighestOf<T>();
    if (reduction == Reduction::kMaximum) return LowestOf<T>();
  }
  return static_cast<T>(Wide<T>(reduction == Reduction::kProduct ? 1 : 0));
}

template <typename T, typename Fn>
void CombineRows(const T* in, int64_t length, T* out, const Fn& fn) {
  for (int64_t i = 0; i < length; ++i) out[i] = fn(out[i], in[i]);
}

// out[i] = out[i] + in[i]
template <typename T>
void AddRow(const T* in, int64_t length, T* out) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    AddRowOfFloats(in, length, out);
  } else {
    CombineRows(in, length, out, [](T a, T b) { return AddElements(a, b); });
  }
}

// Reduces both rows into `out`.
template <typename T>
void ReduceRow(Reduction reduction, const T* in, int64_t length, T* out) {
  if (reduction == Reduction::kProduct) {
    CombineRows(in, length, out,
                [](T a, T b) { return MultiplyElements(a, b); });
    return;
  }
  if constexpr (kIsOrdered<T>) {
    // If one of the two is NaN, the later one wins, as in TensorFlow.
    using W = Wide<T>;
    if (reduction == Reduction::kMinimum) {
      CombineRows(in, length, out, [](T a, T b) {
        return static_cast<W>(a) < static_cast<W>(b) ? a : b;
      });
      return;
    }
    if (reduction == Reduction::kMaximum) {
      CombineRows(in, length, out, [](T a, T b) {
        return static_cast<W>(a) > static_cast<W>(b) ? a : b;
      });
      return;
    }
  }
  AddRow(in, length, out);
}

// The type of the divisor of a sum of `T`, which covers all its values.
template <typename T>
using IntegerDivisorOf =
    std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>;
template <typename T>
using DivisorOf =
    std::conditional_t<std::is_integral_v<T>, IntegerDivisorOf<T>, Wide<T>>;

// The divisor of a mean of `count` rows. For integers it wraps around like
// their sum, so that means of equal numbers are correct for any count, as in
// TensorFlow. If it would wrap to 0, it is the count itself.
template <typename T>
DivisorOf<T> MeanDivisor(int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const auto wrapped = static_cast<T>(count);
    if (wrapped != 0) return static_cast<DivisorOf<T>>(wrapped);
  }
  return static_cast<DivisorOf<T>>(count);
}

template <typename T>
void DivideRow(DivisorOf<T> divisor, int64_t length, T* row) {
  for (int64_t i = 0; i < length; ++i) {
    row[i] = static_cast<T>(static_cast<DivisorOf<T>>(row[i]) / divisor);
  }
}

// Rows of sorted segments; `row` elements each.
template <typename T>
void ReduceSorted(Reduction reduction, const T* in, const Dims& ids,
                  int64_t row, T* out) {
  for (size_t begin = 0; begin < ids.size();) {
    T* segment = out + ids[begin] * row;
    std::copy_n(in + begin * row, row, segment);
    size_t end = begin + 1;
    for (; end < ids.size() && ids[end] == ids[begin]; ++end) {
      ReduceRow(reduction, in + end * row, row, segment);
    }
    if (reduction == Reduction::kMean) {
      DivideRow(MeanDivisor<T>(static_cast<int64_t>(end - begin)), row,
                segment);
    }
    begin = end;
  }
}

class SegmentKernel : public OpKernel {
 public:
  SegmentKernel(const OpKernelConstruction& construction, Reduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    ASSIGN_OR_RETURN(const Segments segments, PrepareSegments(context));
    Tensor* const output = segments.output;
    if (output->num_elements() == 0) return absl::OkStatus();
    const int64_t row = data.num_elements() / data.dim(0);
    return DispatchType(Numbers{}, data.dtype(), [&]<typename T>(TypeTag<T>) {
      // Segments without ids are 0, or 1 for products.
      const T gap =
          OfNothing<T>(reduction_ == Reduction::kProduct ? Reduction::kProduct
                                                         : Reduction::kSum);
      absl::Span<T> out = output->mutable_flat<T>();
      std::fill(out.begin(), out.end(), gap);
      ReduceSorted(reduction_, data.flat<T>().data(), segments.ids, row,
                   out.data());
      return absl::OkStatus();
    });
  }

 private:
  const Reduction reduction_;
};

class UnsortedSegmentKernel : public OpKernel {
 public:
  UnsortedSegmentKernel(const OpKernelConstruction& construction,
                        Reduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& segment_ids = context.input(1);
    ASSIGN_OR_RETURN(const UnsortedSegments found,
                     FindUnsortedSegments(context));
    const int64_t segments = found.count;
    ASSIGN_OR_RETURN(const Dims ids, ReadIds(segment_ids, segments));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, found.shape));
    const int64_t row = output->num_elements() / std::max<int64_t>(segments, 1);
    if (row == 0) return absl::OkStatus();
    return DispatchType(Numbers{}, data.dtype(), [&]<typename T>(TypeTag<T>) {
      const T* const in = data.flat<T>().data();
      T* const out = output->mutable_flat<T>().data();
      // Threads divide the columns, so that the order of sums is always the
      // same, by cache lines.
      constexpr int64_t kLine = 64 / sizeof(T);
      ParallelLoop(context, (row + kLine - 1) / kLine,
                   kLine * static_cast<int64_t>(ids.size()),
                   [&](int64_t begin, int64_t end) {
                     const int64_t first = begin * kLine;
                     ReduceColumns(in + first, ids, segments, row,
                                   std::min(end * kLine, row) - first,
                                   out + first);
                   });
      return absl::OkStatus();
    });
  }

 private:
  // Reduces `n` columns of rows of `row` elements. A segment is set to its
  // initial value when its first row is added, while its memory is in the
  // cache; empty segments are set at the end.
  template <typename T>
  void ReduceColumns(const T* in, const Dims& ids, int64_t segments,
                     int64_t row, int64_t n, T* out) const {
    const T nothing = OfNothing<T>(reduction_);
    std::vector<bool> has_rows(segments, false);
    for (const int64_t id : ids) {
      // Rows of negative ids belong to no segment.
      if (id >= 0) {
        if (!has_rows[id]) std::fill_n(out + id * row, n, nothing);
        has_rows[id] = true;
        ReduceRow(reduction_, in, n, out + id * row);
      }
      in += row;
    }
    for (int64_t id = 0; id < segments; ++id) {
      if (!has_rows[id]) std::fill_n(out + id * row, n, nothing);
    }
  }

  static absl::StatusOr<Dims> ReadIds(const Tensor& tensor, int64_t segments) {
    ASSIGN_OR_RETURN(Dims ids, IntegersOf(tensor));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= segments) {
        return SegmentOutOfRange(tensor.shape(), static_cast<int64_t>(i),
                                 ids[i], segments);
      }
    }
    return ids;
  }

  const Reduction reduction_;
};

// A row of sums. 16-bit floats are summed as floats, as in TensorFlow, because
// long sums would stop changing.
template <typename T>
class SegmentSum {
 public:
  explicit SegmentSum(int64_t row) : row_(row) {
    if constexpr (kIsNarrow) wide_.resize(static_cast<size_t>(row));
  }

  // REQUIRES: `out` is 0.
  void Begin(T* out) {
    out_ = out;
    if constexpr (kIsNarrow) std::fill(wide_.begin(), wide_.end(), Wide<T>(0));
  }
  void Add(const T* in) {
    if constexpr (kIsNarrow) {
      for (int64_t i = 0; i < row_; ++i) {
        wide_[i] += static_cast<Wide<T>>(in[i]);
      }
    } else {
      AddRow(in, row_, out_);
    }
  }
  void End(double divisor) {
    if constexpr (kIsNarrow) {
      const auto by = static_cast<Wide<T>>(divisor);
      for (int64_t i = 0; i < row_; ++i) {
        out_[i] = static_cast<T>(wide_[i] / by);
      }
    } else if (divisor != 1) {
      DivideRow(static_cast<DivisorOf<T>>(divisor), row_, out_);
    }
  }

 private:
  static constexpr bool kIsNarrow = !std::is_same_v<T, Wide<T>>;

  const int64_t row_;
  T* out_ = nullptr;
  std::vector<Wide<T>> wide_;
};

class SparseSegmentKernel : public OpKernel {
 public:
  SparseSegmentKernel(const OpKernelConstruction& construction,
                      SparseReduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    ASSIGN_OR_RETURN(const SparseSegments segments,
                     PrepareSparseSegments(context));
    Tensor& output = *segments.output;
    RETURN_IF_ERROR(FillWithZeros(output));
    if (output.num_elements() == 0) return absl::OkStatus();
    return DispatchType(
        RealNumbers{}, data.dtype(), [&]<typename T>(TypeTag<T>) {
          SumChosenRows<T>(data, segments.indices, segments.ids, output);
          return absl::OkStatus();
        });
  }

 private:
  template <typename T>
  void SumChosenRows(const Tensor& data, const Dims& indices, const Dims& ids,
                     Tensor& output) const {
    // There may be segments, all empty, without rows.
    const int64_t row = output.num_elements() / output.dim(0);
    const T* in = data.flat<T>().data();
    T* out = output.mutable_flat<T>().data();
    SegmentSum<T> sum(row);
    for (size_t begin = 0; begin < ids.size();) {
      sum.Begin(out + ids[begin] * row);
      size_t end = begin;
      for (; end < ids.size() && ids[end] == ids[begin]; ++end) {
        sum.Add(in + indices[end] * row);
      }
      sum.End(Divisor(reduction_, static_cast<int64_t>(end - begin)));
      begin = end;
    }
  }

  const SparseReduction reduction_;
};

// Adds row ids[i] of the gradient, divided as in the forward kernel, to row
// indices[i] of the output.
class SparseSegmentGradKernel : public OpKernel {
 public:
  SparseSegmentGradKernel(const OpKernelConstruction& construction,
                          SparseReduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& grad = context.input(0);
    ASSIGN_OR_RETURN(const SparseSegments segments,
                     PrepareSparseSegmentGradient(context));
    Tensor& output = *segments.output;
    RETURN_IF_ERROR(FillWithZeros(output));
    if (output.num_elements() == 0) return absl::OkStatus();
    return DispatchType(FloatingTypes{}, grad.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          return AddInWide<T>(context, grad, segments, output);
                        });
  }

 private:
  // 16-bit floats are summed as floats, as in TensorFlow.
  template <typename T>
  absl::Status AddInWide(OpKernelContext& context, const Tensor& grad,
                         const SparseSegments& segments, Tensor& output) const {
    if constexpr (std::is_same_v<T, Wide<T>>) {
      AddRows<T>(grad, segments, output);
    } else {
      ASSIGN_OR_RETURN(
          Tensor sums,
          context.AllocateTemp(DataTypeOf<Wide<T>>::value, output.shape()));
      RETURN_IF_ERROR(FillWithZeros(sums));
      AddRows<T>(grad, segments, sums);
      const auto from = sums.flat<Wide<T>>();
      std::transform(from.begin(), from.end(), output.mutable_flat<T>().begin(),
                     [](Wide<T> x) { return static_cast<T>(x); });
    }
    return absl::OkStatus();
  }

  template <typename T>
  void AddRows(const Tensor& grad, const SparseSegments& segments,
               Tensor& sums) const {
    const Dims& ids = segments.ids;
    std::vector<int64_t> counts(grad.dim(0), 0);
    for (int64_t id : ids) ++counts[id];
    const int64_t row = sums.num_elements() / sums.dim(0);
    const T* in = grad.flat<T>().data();
    Wide<T>* out = sums.mutable_flat<Wide<T>>().data();
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto scale =
          static_cast<Wide<T>>(1 / Divisor(reduction_, counts[ids[i]]));
      const T* from = in + ids[i] * row;
      Wide<T>* to = out + segments.indices[i] * row;
      for (int64_t j = 0; j < row; ++j) {
        to[j] += static_cast<Wide<T>>(from[j]) * scale;
      }
    }
  }

  const SparseReduction reduction_;
};

template <typename Kernel, typename Kind, typename... Ts>
void RegisterReduction(KernelRegistry& registry, const char* op, Kind kind,
                       TypeList<Ts...> types) {
  registry.Register({.op = op, .types = {{"T", DataTypesOf(types)}}},
                    [kind](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      return std::make_unique<Kernel>(construction, kind);
                    });
}

void RegisterSparse(KernelRegistry& registry) {
  using Kernel = SparseSegmentKernel;
  using Grad = SparseSegmentGradKernel;
  const FloatingTypes floats;
  RegisterReduction<Kernel>(registry, "SparseSegmentSum", SparseReduction::kSum,
                            RealNumbers{});
  RegisterReduction<Kernel>(registry, "SparseSegmentMean",
                            SparseReduction::kMean, floats);
  RegisterReduction<Kernel>(registry, "SparseSegmentSqrtN",
                            SparseReduction::kSqrtN, floats);
  RegisterReduction<Kernel>(registry, "SparseSegmentSumWithNumSegments",
                            SparseReduction::kSum, RealNumbers{});
  RegisterReduction<Kernel>(registry, "SparseSegmentMeanWithNumSegments",
                            SparseReduction::kMean, floats);
  RegisterReduction<Kernel>(registry, "SparseSegmentSqrtNWithNumSegments",
                            SparseReduction::kSqrtN, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentSumGrad",
                          SparseReduction::kSum, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentMeanGrad",
                          SparseReduction::kMean, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentSumGradV2",
                          SparseReduction::kSum, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentMeanGradV2",
                          SparseReduction::kMean, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentSqrtNGrad",
                          SparseReduction::kSqrtN, floats);
  RegisterReduction<Grad>(registry, "SparseSegmentSqrtNGradV2",
                          SparseReduction::kSqrtN, floats);
}

}  // namespace

void RegisterArraySegmentKernels(KernelRegistry& registry) {
  using Sorted = SegmentKernel;
  using Unsorted = UnsortedSegmentKernel;
  const Numbers numbers;
  const RealNumbers reals;
  RegisterReduction<Sorted>(registry, "SegmentSum", Reduction::kSum, numbers);
  RegisterReduction<Sorted>(registry, "SegmentMean", Reduction::kMean, numbers);
  RegisterReduction<Sorted>(registry, "SegmentProd", Reduction::kProduct,
                            numbers);
  RegisterReduction<Sorted>(registry, "SegmentMin", Reduction::kMinimum, reals);
  RegisterReduction<Sorted>(registry, "SegmentMax", Reduction::kMaximum, reals);
  RegisterReduction<Unsorted>(registry, "UnsortedSegmentSum", Reduction::kSum,
                              numbers);
  RegisterReduction<Unsorted>(registry, "UnsortedSegmentProd",
                              Reduction::kProduct, numbers);
  RegisterReduction<Unsorted>(registry, "UnsortedSegmentMin",
                              Reduction::kMinimum, reals);
  RegisterReduction<Unsorted>(registry, "UnsortedSegmentMax",
                              Reduction::kMaximum, reals);
  RegisterSparse(registry);
}

}  // namespace weft
