// Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
//
// A large reduction to few elements is divided into blocks of a fixed size,
// whose results are combined in order, so that it does not depend on the number
// of threads.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "libs/base/status.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/isa/reduction_loops.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/planned_reduction.h"

namespace weft {
namespace {

// The operations of a reduction on elements as bytes, so that all reductions
// share one driver, and types with equal bits share loops. Loops depend only on
// the type of the sums; elements of other types are converted first.
struct Reducer {
  int64_t element_size, sum_size;
  // The number of columns whose sums fit into the first-level cache and the
  // stack.
  int64_t columns;
  // Converts n elements to the values to reduce; null if that is the identity.
  void (*load)(const void* x, int64_t n, void* loaded) = nullptr;
  // Sets n sums to the value of an empty reduction.
  void (*fill)(void* sums, int64_t n);
  // Reduces n > 0 contiguous elements to one sum.
  void (*run)(const void* x, int64_t n, void* sum);
  // Combines *right into *sum.
  void (*combine)(const void* right, void* sum);
  // Adds elements [0, n) of `rows` rows, `stride` elements apart, to n sums.
  void (*rows)(const void* x, int64_t rows, int64_t stride, int64_t n,
               void* sums);
  // Converts sums of `count` elements each to output elements; null if that is
  // the identity.
  void (*results)(const void* sums, int64_t n, int64_t count,
                  void* out) = nullptr;
};

// The size of the largest sum type.
constexpr int64_t kMaxSumSize = sizeof(std::complex<double>);
// The bytes of all sums on the stack at a time.
constexpr int64_t kSumsSize = 8192;
// The number of elements reduced at a time.
constexpr int64_t kRun = 2048;

// The type of sums for Max and Min of T; also for Sum and Prod, where signed
// and unsigned integers share a type.
template <typename T>
using Ordered = math::Real<T>;
template <typename T>
struct RingOf {
  using Type = math::Real<T>;
};
template <typename T>
requires math::kIsInteger<T>
struct RingOf<T> {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
using Ring = typename RingOf<T>::Type;

// The operation for sums of type S: Identity() is the empty sum, Load(x) the
// value of an element. kLoop is the member of ReductionLoops for float and
// double.
template <typename S>
struct SumOf {
  using Sum = S;
  static constexpr std::optional<ReductionOp> kLoop = ReductionOp::kSum;
  static S Identity() { return S(0); }
  static S Load(S x) { return x; }
  static S Combine(S a, S b) { return math::AddOp::Apply(a, b); }
};

template <typename S>
struct ProdOf {
  using Sum = S;
  static constexpr std::optional<ReductionOp> kLoop = ReductionOp::kProd;
  static S Identity() { return S(1); }
  static S Load(S x) { return x; }
  static S Combine(S a, S b) { return math::MulOp::Apply(a, b); }
};

template <typename S>
struct MaxOf {
  using Sum = S;
  static constexpr std::optional<ReductionOp> kLoop = ReductionOp::kMax;
  static S Identity() {
    if constexpr (std::is_floating_point_v<S>) {
      return -std::numeric_limits<S>::infinity();
    } else {
      return std::numeric_limits<S>::lowest();
    }
  }
  static S Load(S x) { return x; }
  static S Combine(S a, S b) { return math::MaximumOp::Apply(a, b); }
};

template <typename S>
struct MinOf {
  using Sum = S;
  static constexpr std::optional<ReductionOp> kLoop = ReductionOp::kMin;
  static S Identity() {
    if constexpr (std::is_floating_point_v<S>) {
      return std::numeric_limits<S>::infinity();
    } else {
      return std::numeric_limits<S>::max();
    }
  }
  static S Load(S x) { return x; }
  static S Combine(S a, S b) { return math::MinimumOp::Apply(a, b); }
};

struct AllOf {
  using Sum = bool;
  static constexpr std::optional<ReductionOp> kLoop = {};
  static bool Identity() { return true; }
  static bool Load(bool x) { return x; }
  static bool Combine(bool a, bool b) { return a && b; }
};

struct AnyOf {
  using Sum = bool;
  static constexpr std::optional<ReductionOp> kLoop = {};
  static bool Identity() { return false; }
  static bool Load(bool x) { return x; }
  static bool Combine(bool a, bool b) { return a || b; }
};

template <typename S>
struct SumOfSquares : SumOf<S> {
  static constexpr std::optional<ReductionOp> kLoop = {};
  static S Load(S x) { return x * x; }
};

// The loops of a Reducer.
template <typename Op>
struct PlainLoops {
  using S = typename Op::Sum;
  static constexpr int64_t kColumns = 256;

  static void Fill(void* sums, int64_t n) {
    S* const s = static_cast<S*>(sums);
    std::fill(s, s + n, Op::Identity());
  }

  static void Combine(const void* right, void* sum) {
    S& s = *static_cast<S*>(sum);
    s = Op::Combine(s, *static_cast<const S*>(right));
  }

  // Keeps several partial results, and halves long runs, for speed and
  // accuracy.
  static S Run(const S* x, int64_t n) {
    constexpr int kLanes = 16;
    if (n > kRun) {
      const int64_t half = n / 2;
      return Op::Combine(Run(x, half), Run(x + half, n - half));
    }
    S lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Op::Identity());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Op::Combine(lanes[lane], Op::Load(x[i + lane]));
      }
    }
    S sum = Op::Identity();
    for (; i < n; ++i) sum = Op::Combine(sum, Op::Load(x[i]));
    for (S lane : lanes) sum = Op::Combine(sum, lane);
    return sum;
  }
  static void RunTo(const void* x, int64_t n, void* sum) {
    *static_cast<S*>(sum) = Run(static_cast<const S*>(x), n);
  }

  static void Rows(const void* data, int64_t rows, int64_t stride, int64_t n,
                   void* result) {
    const S* x = static_cast<const S*>(data);
    S* const sums = static_cast<S*>(result);
    for (int64_t i = 0; i < rows; ++i, x += stride) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) {
        sums[j] = Op::Combine(sums[j], Op::Load(x[j]));
      }
    }
  }
};

// The loops of ReductionLoops, for float and double sums.
template <typename Op>
struct BestLoops : PlainLoops<Op> {
  using T = typename Op::Sum;
  static constexpr int64_t kColumns = kSumsSize / sizeof(T);
  // The number of rows summed before they are added to the others, for
  // accuracy.
  static constexpr int64_t kRows = 1024;

  static const ReductionLoops<T>& Best() {
    static const ReductionLoops<T> loops = BestReductionLoops<T>(*Op::kLoop);
    return loops;
  }

  static void RunTo(const void* x, int64_t n, void* sum) {
    *static_cast<T*>(sum) = Best().run(static_cast<const T*>(x), n);
  }

  static void Rows(const void* data, int64_t rows, int64_t stride, int64_t n,
                   void* result) {
    const auto add = Best().rows;
    const T* const x = static_cast<const T*>(data);
    T* const sums = static_cast<T*>(result);
    if (rows <= kRows) return add(x, rows, stride, n, sums);
    T part[kColumns];
    for (int64_t i = 0; i < rows; i += kRows) {
      PlainLoops<Op>::Fill(part, n);
      add(x + i * stride, std::min(kRows, rows - i), stride, n, part);
      add(part, 1, n, n, sums);
    }
  }
};

template <typename T, typename S>
void LoadAs(const void* x, int64_t n, void* loaded) {
  const T* const from = static_cast<const T*>(x);
  if constexpr (kHasNarrowLoops<T>) {
    BestNarrowLoops<T>().widen(from, static_cast<float*>(loaded), n);
  } else {
    std::transform(from, from + n, static_cast<S*>(loaded),
                   [](T element) { return static_cast<S>(element); });
  }
}

// Converts sums of type S to elements of type T: unchanged, divided by the
// count, or halved.
template <typename T, typename S>
T RoundTo(S sum, int64_t) {
  return static_cast<T>(sum);
}
template <typename T, typename S>
T MeanOf(S sum, int64_t count) {
  if constexpr (math::kIsInteger<T>) {
    using Widest = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    if (count == 0) return 0;
    return static_cast<T>(static_cast<Widest>(sum) /
                          static_cast<Widest>(count));
  } else if constexpr (math::kIsComplex<T>) {
    return sum / static_cast<typename T::value_type>(count);
  } else {
    return static_cast<T>(sum / static_cast<S>(count));
  }
}
template <typename T, typename S>
T HalfOf(S sum, int64_t) {
  return static_cast<T>(sum / 2);
}

template <typename T, typename S, T (*kResult)(S, int64_t)>
void ResultsOf(const void* sums, int64_t n, int64_t count, void* out) {
  const S* const from = static_cast<const S*>(sums);
  T* const to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = kResult(from[i], count);
}

// Loops may add four rows before adding them to the others, and process at most
// this many rows at a time: if parts are multiples of the one and at most the
// other, a sum does not depend on the number of columns.
constexpr int64_t kFourRows = 4, kMaxLoadedRows = 1024;
// The number of columns of which four rows fit on the stack.
constexpr int64_t kMaxLoadedColumns = 1024;

// The reducer of T with `Op`, whose sums are the results.
template <typename T, typename Op>
Reducer ReducerOf() {
  using S = typename Op::Sum;
  constexpr bool kIsBest = std::is_floating_point_v<S> &&
                           (std::is_floating_point_v<T> ||
                            math::kIsSmallFloat<T>)&&Op::kLoop.has_value();
  using Loops = std::conditional_t<kIsBest, BestLoops<Op>, PlainLoops<Op>>;
  static_assert(sizeof(S) <= kMaxSumSize);
  static_assert(Loops::kColumns * sizeof(S) <= kSumsSize);
  Reducer reducer = {.element_size = sizeof(T),
                     .sum_size = sizeof(S),
                     .columns = Loops::kColumns,
                     .fill = &Loops::Fill,
                     .run = &Loops::RunTo,
                     .combine = &Loops::Combine,
                     .rows = &Loops::Rows};
  if constexpr (sizeof(T) != sizeof(S)) {
    reducer.load = &LoadAs<T, S>;
    reducer.columns = std::min(reducer.columns, kMaxLoadedColumns);
  }
  if constexpr (math::kIsSmallFloat<T>) {
    reducer.results = &ResultsOf<T, S, &RoundTo<T, S>>;
  }
  return reducer;
}

template <typename T>
Reducer MeanReducer() {
  // Integers are summed in a wide type, so that a mean of small ones does not
  // wrap.
  using S = std::conditional_t<math::kIsInteger<T>, uint64_t, Ring<T>>;
  Reducer reducer = ReducerOf<T, SumOf<S>>();
  reducer.results = &ResultsOf<T, S, &MeanOf<T, S>>;
  return reducer;
}

template <typename T>
Reducer HalfOfSquaresReducer() {
  using S = Ring<T>;
  Reducer reducer = ReducerOf<T, SumOfSquares<S>>();
  reducer.results = &ResultsOf<T, S, &HalfOf<T, S>>;
  return reducer;
}

// One sum of any type.
struct alignas(kMaxSumSize) SumBytes {
  char bytes[kMaxSumSize];
};
// Sums on the stack, or elements converted for the reduction.
template <int64_t kSize>
struct alignas(64) Scratch {
  char bytes[kSize];
};

// Reduces `n` contiguous elements to one sum.
void ReduceRun(const Reducer& reducer, const char* x, int64_t n, void* sum) {
  if (reducer.load == nullptr) return reducer.run(x, n, sum);
  if (n > kRun) {
    const int64_t half = n / 2;
    SumBytes right;
    ReduceRun(reducer, x, half, sum);
    ReduceRun(reducer, x + half * reducer.element_size, n - half, &right);
    return reducer.combine(&right, sum);
  }
  Scratch<kRun * sizeof(uint64_t)> loaded;
  reducer.load(x, n, &loaded);
  reducer.run(&loaded, n, sum);
}

// Adds `n` columns of `rows` rows, `stride` elements apart, to their sums.
// REQUIRES: n <= reducer.columns.
void AddRows(const Reducer& reducer, const char* x, int64_t rows,
             int64_t stride, int64_t n, void* sums) {
  if (reducer.load == nullptr) return reducer.rows(x, rows, stride, n, sums);
  Scratch<kMaxLoadedColumns * kFourRows * sizeof(float)> loaded;
  static_assert(sizeof(loaded) >= kRun * sizeof(uint64_t));
  const int64_t most = static_cast<int64_t>(sizeof(loaded)) / reducer.sum_size;
  const int64_t at_a_time =
      std::min(kMaxLoadedRows, most / n / kFourRows * kFourRows);
  for (int64_t i = 0; i < rows; i += at_a_time) {
    const int64_t some = std::min(at_a_time, rows - i);
    const int64_t in_one = stride == n ? some : 1;
    for (int64_t row = 0; row < some; row += in_one) {
      reducer.load(x + (i + row) * stride * reducer.element_size, in_one * n,
                   loaded.bytes + row * n * reducer.sum_size);
    }
    reducer.rows(&loaded, some, n, n, sums);
  }
}

void WriteResults(const Reducer& reducer, const void* sums, int64_t n,
                  int64_t count, char* out) {
  if (reducer.results != nullptr) return reducer.results(sums, n, count, out);
  std::memcpy(out, sums, n * reducer.sum_size);
}

constexpr int64_t kBlock = 1 << 16;  // elements

void ReduceLong(Scheduler& scheduler, const Reducer& reducer, const char* x,
                int64_t n, SumBytes& sum) {
  if (n <= kBlock && n > 0) return ReduceRun(reducer, x, n, &sum);
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<SumBytes> parts(blocks);
  scheduler.ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t start = b * kBlock;
      ReduceRun(reducer, x + start * reducer.element_size,
                std::min(kBlock, n - start), &parts[b]);
    }
  });
  reducer.fill(&sum, 1);
  for (const SumBytes& part : parts) reducer.combine(&part, &sum);
}

// A reduction in progress; `out` has the elements of the kept dimensions.
struct Reduction {
  const Reducer& reducer;
  const ReductionPlan& plan;
  const char* in;
  char* out;

  void Run(Scheduler& scheduler) {
    if (!plan.inner_is_reduced()) return RunColumns(scheduler);
    if (plan.outer_reduced().empty()) return RunRows(scheduler);
    const int64_t kept = DimWalker::Count(plan.outer_kept());
    Split(scheduler, kept, 1, [&](int64_t begin, int64_t end) {
      DimWalker walker(plan.outer_kept(), begin);
      for (int64_t i = begin; i < end; ++i, walker.Next()) {
        SumBytes sum;
        Runs(In(walker.offset()), sum);
        WriteResults(reducer, &sum, 1, plan.reduced_count(), Out(i));
      }
    });
  }

  const char* In(int64_t i) const { return in + i * reducer.element_size; }
  char* Out(int64_t i) const { return out + i * reducer.element_size; }

  // Divides the output into parts of about kBlock / 2 input elements, with at
  // least `least` output elements.
  void Split(Scheduler& scheduler, int64_t kept, int64_t least,
             absl::FunctionRef<void(int64_t, int64_t)> range) {
    const int64_t part = std::max(
        least, kBlock / 2 / std::max<int64_t>(1, plan.reduced_count()));
    if (kept < 2 * part) return range(0, kept);
    scheduler.ParallelFor(kept, part, range);
  }

  // Only the innermost dimension is reduced, so its rows are contiguous.
  void RunRows(Scheduler& scheduler) {
    const int64_t n = plan.inner_size();
    const int64_t rows = DimWalker::Count(plan.outer_kept());
    if (rows == 1) {
      SumBytes sum;
      ReduceLong(scheduler, reducer, in, n, sum);
      return WriteResults(reducer, &sum, 1, n, out);
    }
    Split(scheduler, rows, 1, [&](int64_t begin, int64_t end) {
      Scratch<kSumsSize> sums;
      for (int64_t some; begin < end; begin += some) {
        some = std::min(reducer.columns, end - begin);
        for (int64_t i = 0; i < some; ++i) {
          ReduceRun(reducer, In((begin + i) * n), n,
                    sums.bytes + i * reducer.sum_size);
        }
        WriteResults(reducer, &sums, some, n, Out(begin));
      }
    });
  }

  // Reduces the innermost dimension and all other reduced ones to one sum.
  void Runs(const char* x, SumBytes& sum) {
    reducer.fill(&sum, 1);
    const int64_t count = DimWalker::Count(plan.outer_reduced());
    DimWalker walker(plan.outer_reduced());
    for (int64_t i = 0; i < count; ++i, walker.Next()) {
      SumBytes run;
      ReduceRun(reducer, x + walker.offset() * reducer.element_size,
                plan.inner_size(), &run);
      reducer.combine(&run, &sum);
    }
  }

  // The innermost dimension is kept: whole rows are added. The division of the
  // columns does not change their sums.
  void RunColumns(Scheduler& scheduler) {
    constexpr int64_t kLeast = 256;
    const int64_t inner = plan.inner_size();
    const int64_t kept = DimWalker::Count(plan.outer_kept()) * inner;
    Split(scheduler, kept, kLeast, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, n = 0; i < end; i += n) {
        const int64_t column = i % inner;
        n = std::min({reducer.columns, inner - column, end - i});
        const DimWalker walker(plan.outer_kept(), i / inner);
        Columns(In(walker.offset() + column), Out(i), n);
      }
    });
  }

  // Reduces `n` columns over all reduced dimensions.
  void Columns(const char* x, char* result, int64_t n) {
    Scratch<kSumsSize> sums;
    reducer.fill(&sums, n);
    const ReductionPlan::Dim rows = plan.outer_reduced().front();
    const ReductionPlan::DimList outer(plan.outer_reduced().begin() + 1,
                                       plan.outer_reduced().end());
    const int64_t count = DimWalker::Count(outer);
    DimWalker walker(outer);
    for (int64_t i = 0; i < count; ++i, walker.Next()) {
      AddRows(reducer, x + walker.offset() * reducer.element_size, rows.size,
              rows.stride, n, &sums);
    }
    WriteResults(reducer, &sums, n, plan.reduced_count(), result);
  }
};

class ReductionKernel : public PlannedReduction {
 public:
  ReductionKernel(const OpKernelConstruction& construction, bool keep_dims,
                  const Reducer& reducer)
      : PlannedReduction(construction, keep_dims), reducer_(reducer) {}

 private:
  void Reduce(OpKernelContext& context, const ReductionPlan& plan,
              const Tensor& input, Tensor& out) override {
    char* const result = static_cast<char*>(out.mutable_data());
    if (input.num_elements() == 0) {
      WriteNothing(plan, result, out.num_elements());
    } else {
      Reduction{reducer_, plan, static_cast<const char*>(input.data()), result}
          .Run(context.scheduler());
    }
  }
  // Writes the value of an empty reduction `n` times.
  void WriteNothing(const ReductionPlan& plan, char* out, int64_t n) const {
    SumBytes sum;
    reducer_.fill(&sum, 1);
    for (int64_t i = 0; i < n; ++i) {
      WriteResults(reducer_, &sum, 1, plan.reduced_count(),
                   out + i * reducer_.element_size);
    }
  }

  const Reducer reducer_;
};

class L2Loss : public OpKernel {
 public:
  L2Loss(const OpKernelConstruction& construction, const Reducer& reducer)
      : OpKernel(construction), reducer_(reducer) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    SumBytes sum;
    ReduceLong(context.scheduler(), reducer_,
               static_cast<const char*>(x.data()), x.num_elements(), sum);
    WriteResults(reducer_, &sum, 1, 1, static_cast<char*>(out->mutable_data()));
    return absl::OkStatus();
  }

 private:
  const Reducer reducer_;
};

// `type` is that of attr T, or DT_INVALID without one.
void Register(KernelRegistry& registry, const char* op, DataType type,
              const Reducer& reducer) {
  KernelDef def{op};
  if (type != DT_INVALID) def.types["T"] = {type};
  def.is_cheap = true;
  registry.Register(std::move(def),
                    [reducer](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      ASSIGN_OR_RETURN(bool keep_dims,
                                       construction.GetAttr<bool>("keep_dims"));
                      return std::make_unique<ReductionKernel>(
                          construction, keep_dims, reducer);
                    });
}

void RegisterL2Loss(KernelRegistry& registry, DataType type,
                    const Reducer& reducer) {
  registry.Register(
      {.op = "L2Loss", .types = {{"T", {type}}}, .is_cheap = true},
      [reducer](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        return std::make_unique<L2Loss>(construction, reducer);
      });
}

template <typename List>
void RegisterArithmetic(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    constexpr DataType kType = DataTypeOf<T>::value;
    // The kernel for half is in half_sum_kernels.cc.
    if constexpr (!std::is_same_v<T, half>) {
      Register(registry, "Sum", kType, ReducerOf<T, SumOf<Ring<T>>>());
    }
    Register(registry, "Mean", kType, MeanReducer<T>());
    Register(registry, "Prod", kType, ReducerOf<T, ProdOf<Ring<T>>>());
  });
}

template <typename List>
void RegisterExtremeReductions(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    constexpr DataType kType = DataTypeOf<T>::value;
    Register(registry, "Max", kType, ReducerOf<T, MaxOf<Ordered<T>>>());
    Register(registry, "Min", kType, ReducerOf<T, MinOf<Ordered<T>>>());
  });
}

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  RegisterArithmetic<math::Floats>(registry);
  RegisterArithmetic<math::Integers>(registry);
  RegisterArithmetic<math::Complexes>(registry);
  RegisterExtremeReductions<math::Floats>(registry);
  RegisterExtremeReductions<math::Integers>(registry);
  Register(registry, "All", DT_INVALID, ReducerOf<bool, AllOf>());
  Register(registry, "Any", DT_INVALID, ReducerOf<bool, AnyOf>());
  math::Floats::ForEach([&]<typename T>() {
    RegisterL2Loss(registry, DataTypeOf<T>::value, HalfOfSquaresReducer<T>());
  });
}

}  // namespace weft
