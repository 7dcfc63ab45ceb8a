// Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
//
// A large reduction to few elements is cut into blocks of a fixed size, whose
// results are combined in order: it does not depend on the number of threads.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/math_axes.h"
#include "libs/kernels/math_kernels.h"
#include "libs/kernels/math_scalar.h"
#include "libs/kernels/reduction_loops.h"

namespace weft {
namespace {

// A reducer of T: `Sum` is what it adds up in, Identity() the sum of nothing,
// Load(x) what one element counts, Result(sum, count) the output's element.
template <typename T>
struct SumReducer {
  using Sum = math::Real<T>;
  static Sum Identity() { return Sum(0); }
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static Sum Combine(Sum a, Sum b) { return math::AddOp::Apply(a, b); }
  static T Result(Sum sum, int64_t) { return static_cast<T>(sum); }
};

template <typename T>
struct MeanReducer {
  // Integers are summed up wide, so that a mean of small ones does not wrap.
  using Sum = std::conditional_t<
      math::kIsInteger<T>,
      std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
      math::Real<T>>;
  static Sum Identity() { return Sum(0); }
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static Sum Combine(Sum a, Sum b) { return math::AddOp::Apply(a, b); }
  static T Result(Sum sum, int64_t count) {
    if constexpr (math::kIsInteger<T>) {
      if (count == 0) return 0;
      return static_cast<T>(sum / static_cast<Sum>(count));
    } else if constexpr (math::kIsComplex<T>) {
      return sum / static_cast<typename T::value_type>(count);
    } else {
      return static_cast<T>(sum / static_cast<Sum>(count));
    }
  }
};

template <typename T>
struct ProdReducer {
  using Sum = math::Real<T>;
  static Sum Identity() { return Sum(1); }
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static Sum Combine(Sum a, Sum b) { return math::MulOp::Apply(a, b); }
  static T Result(Sum sum, int64_t) { return static_cast<T>(sum); }
};

template <typename T>
struct MaxReducer {
  using Sum = math::Real<T>;
  static Sum Identity() {
    if constexpr (std::is_floating_point_v<Sum>) {
      return -std::numeric_limits<Sum>::infinity();
    } else {
      return std::numeric_limits<Sum>::lowest();
    }
  }
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static Sum Combine(Sum a, Sum b) { return math::MaximumOp::Apply(a, b); }
  static T Result(Sum sum, int64_t) { return static_cast<T>(sum); }
};

template <typename T>
struct MinReducer {
  using Sum = math::Real<T>;
  static Sum Identity() {
    if constexpr (std::is_floating_point_v<Sum>) {
      return std::numeric_limits<Sum>::infinity();
    } else {
      return std::numeric_limits<Sum>::max();
    }
  }
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static Sum Combine(Sum a, Sum b) { return math::MinimumOp::Apply(a, b); }
  static T Result(Sum sum, int64_t) { return static_cast<T>(sum); }
};

template <typename T>
struct AllReducer {
  using Sum = bool;
  static bool Identity() { return true; }
  static bool Load(bool x) { return x; }
  static bool Combine(bool a, bool b) { return a && b; }
  static bool Result(bool sum, int64_t) { return sum; }
};

template <typename T>
struct AnyReducer {
  using Sum = bool;
  static bool Identity() { return false; }
  static bool Load(bool x) { return x; }
  static bool Combine(bool a, bool b) { return a || b; }
  static bool Result(bool sum, int64_t) { return sum; }
};

template <typename T>
struct SquareReducer : SumReducer<T> {
  using Sum = math::Real<T>;
  static Sum Load(T x) { return static_cast<Sum>(x) * static_cast<Sum>(x); }
  static T Result(Sum sum, int64_t) { return static_cast<T>(sum / 2); }
};

// Elements next to each other, to one: several partial results at a time, and
// long runs by halves, for speed and for a smaller error.
template <typename Reducer, typename T>
typename Reducer::Sum ReduceRun(const T* x, int64_t n) {
  using Sum = typename Reducer::Sum;
  constexpr int kLanes = 16;
  constexpr int64_t kRun = 2048;
  if (n > kRun) {
    const int64_t half = n / 2;
    return Reducer::Combine(ReduceRun<Reducer>(x, half),
                            ReduceRun<Reducer>(x + half, n - half));
  }
  Sum lanes[kLanes];
  std::fill(lanes, lanes + kLanes, Reducer::Identity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Reducer::Combine(lanes[lane], Reducer::Load(x[i + lane]));
    }
  }
  Sum sum = Reducer::Identity();
  for (; i < n; ++i) sum = Reducer::Combine(sum, Reducer::Load(x[i]));
  for (Sum lane : lanes) sum = Reducer::Combine(sum, lane);
  return sum;
}

// Whether ReductionLoops has what the reducer does, and which of them.
template <typename Reducer, typename T>
constexpr std::optional<ReductionOp> LoopOf() {
  if (!std::is_same_v<T, float> && !std::is_same_v<T, double>) return {};
  if (std::is_same_v<Reducer, SumReducer<T>>) return ReductionOp::kSum;
  if (std::is_same_v<Reducer, MeanReducer<T>>) return ReductionOp::kSum;
  if (std::is_same_v<Reducer, ProdReducer<T>>) return ReductionOp::kProd;
  if (std::is_same_v<Reducer, MaxReducer<T>>) return ReductionOp::kMax;
  if (std::is_same_v<Reducer, MinReducer<T>>) return ReductionOp::kMin;
  return {};
}

template <typename Reducer, typename T>
inline constexpr bool kHasLoops = LoopOf<Reducer, T>().has_value();

// Those of this processor. REQUIRES: kHasLoops.
template <typename Reducer, typename T>
const ReductionLoops<T>& BestLoops() {
  static const ReductionLoops<T> loops =
      BestReductionLoops<T>(*LoopOf<Reducer, T>());
  return loops;
}

template <typename Reducer, typename T>
typename Reducer::Sum ReduceBlock(const T* x, int64_t n) {
  if constexpr (kHasLoops<Reducer, T>) {
    return BestLoops<Reducer, T>().run(x, n);
  } else {
    return ReduceRun<Reducer>(x, n);
  }
}

constexpr int64_t kBlock = 1 << 16;  // elements

template <typename Reducer, typename T>
typename Reducer::Sum ReduceLong(Scheduler& scheduler, const T* x, int64_t n) {
  using Sum = typename Reducer::Sum;
  if (n <= kBlock) return ReduceBlock<Reducer>(x, n);
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  struct Part {
    Sum sum;  // in a struct, because a vector of bool has no elements
  };
  std::vector<Part> parts(blocks);
  scheduler.ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t start = b * kBlock;
      parts[b].sum =
          ReduceBlock<Reducer>(x + start, std::min(kBlock, n - start));
    }
  });
  Sum sum = Reducer::Identity();
  for (const Part& part : parts) sum = Reducer::Combine(sum, part.sum);
  return sum;
}

// One reduction on its way; `out` has the elements of the kept dimensions.
template <typename Reducer, typename T>
struct Reduction {
  using Sum = typename Reducer::Sum;
  // Columns whose sums stay in the first-level cache, and on the stack.
  static constexpr int64_t kColumns =
      kHasLoops<Reducer, T> ? 8192 / sizeof(T) : 256;
  // Rows that are added up before they join the others, for a smaller error.
  static constexpr int64_t kRows = 1024;

  const ReductionPlan& plan;
  const T* in;
  T* out;

  void Run(Scheduler& scheduler) {
    if (!plan.inner_is_reduced()) return RunColumns(scheduler);
    if (plan.outer_reduced().empty()) return RunRows(scheduler);
    const int64_t kept = DimWalker::Count(plan.outer_kept());
    Split(scheduler, kept, 1, [&](int64_t begin, int64_t end) {
      DimWalker walker(plan.outer_kept(), begin);
      for (int64_t i = begin; i < end; ++i, walker.Next()) {
        out[i] =
            Reducer::Result(Runs(in + walker.offset()), plan.reduced_count());
      }
    });
  }

  // Cuts elements of the output into parts of about kBlock / 2 elements of the
  // input, and of `least` at least.
  template <typename Range>
  void Split(Scheduler& scheduler, int64_t kept, int64_t least,
             const Range& range) {
    const int64_t part = std::max(
        least, kBlock / 2 / std::max<int64_t>(1, plan.reduced_count()));
    if (kept < 2 * part) return range(0, kept);
    scheduler.ParallelFor(kept, part, std::ref(range));
  }

  // Only the innermost dimension is reduced, so its rows lie side by side.
  void RunRows(Scheduler& scheduler) {
    const int64_t n = plan.inner_size();
    const int64_t rows = DimWalker::Count(plan.outer_kept());
    if (rows == 1) {
      *out = Reducer::Result(ReduceLong<Reducer>(scheduler, in, n), n);
      return;
    }
    Split(scheduler, rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = Reducer::Result(ReduceBlock<Reducer>(in + i * n, n), n);
      }
    });
  }

  // The innermost dimension and all other reduced ones, to one.
  Sum Runs(const T* x) {
    Sum sum = Reducer::Identity();
    const int64_t count = DimWalker::Count(plan.outer_reduced());
    DimWalker walker(plan.outer_reduced());
    for (int64_t i = 0; i < count; ++i, walker.Next()) {
      sum = Reducer::Combine(
          sum, ReduceBlock<Reducer>(x + walker.offset(), plan.inner_size()));
    }
    return sum;
  }

  // The innermost dimension is kept: whole rows are added up. How the columns
  // are cut does not change their sums.
  void RunColumns(Scheduler& scheduler) {
    constexpr int64_t kLeast = 256;
    const int64_t inner = plan.inner_size();
    const int64_t kept = DimWalker::Count(plan.outer_kept()) * inner;
    Split(scheduler, kept, kLeast, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, n = 0; i < end; i += n) {
        const int64_t column = i % inner;
        n = std::min({kColumns, inner - column, end - i});
        const DimWalker walker(plan.outer_kept(), i / inner);
        Columns(in + walker.offset() + column, out + i, n);
      }
    });
  }

  // `n` columns, each over all reduced dimensions.
  void Columns(const T* x, T* result, int64_t n) {
    Sum sums[kColumns];
    std::fill(sums, sums + n, Reducer::Identity());
    const ReductionPlan::Dim rows = plan.outer_reduced().front();
    const ReductionPlan::DimList outer(plan.outer_reduced().begin() + 1,
                                       plan.outer_reduced().end());
    const int64_t count = DimWalker::Count(outer);
    DimWalker walker(outer);
    for (int64_t i = 0; i < count; ++i, walker.Next()) {
      AddRows(x + walker.offset(), rows, n, sums);
    }
    for (int64_t j = 0; j < n; ++j) {
      result[j] = Reducer::Result(sums[j], plan.reduced_count());
    }
  }

  static void AddRows(const T* x, const ReductionPlan::Dim& rows, int64_t n,
                      Sum* sums) {
    if constexpr (kHasLoops<Reducer, T>) {
      const auto add = BestLoops<Reducer, T>().rows;
      if (rows.size <= kRows) return add(x, rows.size, rows.stride, n, sums);
      Sum part[kColumns];
      for (int64_t i = 0; i < rows.size; i += kRows) {
        std::fill(part, part + n, Reducer::Identity());
        add(x + i * rows.stride, std::min(kRows, rows.size - i), rows.stride, n,
            part);
        add(part, 1, n, n, sums);
      }
    } else {
      for (int64_t i = 0; i < rows.size; ++i, x += rows.stride) {
#pragma GCC ivdep
        for (int64_t j = 0; j < n; ++j) {
          sums[j] = Reducer::Combine(sums[j], Reducer::Load(x[j]));
        }
      }
    }
  }
};

template <typename Reducer, typename T>
class ReductionKernel : public OpKernel {
 public:
  ReductionKernel(const OpKernelConstruction& construction, bool keep_dims)
      : OpKernel(construction), keep_dims_(keep_dims) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(
        ReductionPlan plan,
        ReductionPlan::Make(input.shape(), context.input(1), keep_dims_));
    if (plan.is_copy()) {
      ASSIGN_OR_RETURN(Tensor same, input.Reshaped(plan.output_shape()));
      context.SetOutput(0, std::move(same));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, plan.output_shape()));
    const absl::Span<T> result = out->mutable_flat<T>();
    if (input.num_elements() == 0) {
      std::fill(result.begin(), result.end(),
                Reducer::Result(Reducer::Identity(), plan.reduced_count()));
    } else {
      Reduction<Reducer, T>{plan, input.flat<T>().data(), result.data()}.Run(
          context.scheduler());
    }
    return absl::OkStatus();
  }

 private:
  const bool keep_dims_;
};

template <typename T>
class L2Loss : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const absl::Span<const T> x = context.input(0).flat<T>();
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    using Reducer = SquareReducer<T>;
    out->mutable_scalar<T>() =
        Reducer::Result(ReduceLong<Reducer>(context.scheduler(), x.data(),
                                            static_cast<int64_t>(x.size())),
                        1);
    return absl::OkStatus();
  }
};

template <typename T, template <typename> class Reducer>
void Register(KernelRegistry& registry, const char* op,
              const char* type_attr = "T") {
  KernelDef def{op};
  if (*type_attr != '\0') def.types[type_attr] = {DataTypeOf<T>::value};
  def.is_cheap = true;
  registry.Register(std::move(def),
                    [](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      ASSIGN_OR_RETURN(bool keep_dims,
                                       construction.GetAttr<bool>("keep_dims"));
                      return std::make_unique<ReductionKernel<Reducer<T>, T>>(
                          construction, keep_dims);
                    });
}

template <typename List>
void RegisterArithmetic(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, SumReducer>(registry, "Sum");
    Register<T, MeanReducer>(registry, "Mean");
    Register<T, ProdReducer>(registry, "Prod");
  });
}

template <typename List>
void RegisterOrder(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, MaxReducer>(registry, "Max");
    Register<T, MinReducer>(registry, "Min");
  });
}

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  RegisterArithmetic<math::Floats>(registry);
  RegisterArithmetic<math::Integers>(registry);
  RegisterArithmetic<math::Complexes>(registry);
  RegisterOrder<math::Floats>(registry);
  RegisterOrder<math::Integers>(registry);
  Register<bool, AllReducer>(registry, "All", "");
  Register<bool, AnyReducer>(registry, "Any", "");
  math::Floats::ForEach([&]<typename T>() {
    registry.Register<L2Loss<T>>("L2Loss", {{"T", {DataTypeOf<T>::value}}},
                                 /*is_cheap=*/true);
  });
}

}  // namespace weft
