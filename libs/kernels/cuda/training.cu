#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/isa/training_steps.h"

namespace weft::cuda {
namespace {

// A rule R<W> holds its step's scalars, made by the thread that uses them: they
// lie in the GPU's memory.
template <typename W>
struct GradientDescent {
  static constexpr int kScalars = 1;
  static constexpr int kVariables = 1;
  GradientDescentStep<W> step;
  __device__ GradientDescent(const W* s, bool) : step{s[0]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], g); }
};

template <typename W>
struct Momentum {
  static constexpr int kScalars = 2;
  static constexpr int kVariables = 2;
  MomentumStep<W> step;
  __device__ Momentum(const W* s, bool flag) : step{s[0], s[1], flag} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], g); }
};

template <typename W>
struct Adagrad {
  static constexpr int kScalars = 1;
  static constexpr int kVariables = 2;
  AdagradStep<W> step;
  __device__ Adagrad(const W* s, bool flag) : step{s[0], flag} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], g); }
};

template <typename W>
struct AdagradV2 {
  static constexpr int kScalars = 2;
  static constexpr int kVariables = 2;
  AdagradV2Step<W> step;
  __device__ AdagradV2(const W* s, bool flag) : step{s[0], s[1], flag} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], g); }
};

template <typename W>
struct Adam {
  static constexpr int kScalars = 6;
  static constexpr int kVariables = 3;
  AdamStep<W> step;
  __device__ Adam(const W* s, bool flag)
      : step{s[2] * SquareRoot(W(1) - s[1]) / (W(1) - s[0]), s[3], s[4], s[5],
             flag} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], v[2], g); }
};

template <typename W>
struct AdaMax {
  static constexpr int kScalars = 5;
  static constexpr int kVariables = 3;
  AdaMaxStep<W> step;
  __device__ AdaMax(const W* s, bool)
      : step{s[1] / (W(1) - s[0]), s[2], s[3], s[4]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], v[2], g); }
};

template <typename W>
struct Adadelta {
  static constexpr int kScalars = 3;
  static constexpr int kVariables = 3;
  AdadeltaStep<W> step;
  __device__ Adadelta(const W* s, bool) : step{s[0], s[1], s[2]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], v[2], g); }
};

template <typename W>
struct RMSProp {
  static constexpr int kScalars = 4;
  static constexpr int kVariables = 3;
  RMSPropStep<W> step;
  __device__ RMSProp(const W* s, bool) : step{s[0], s[1], s[2], s[3]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], v[2], g); }
};

template <typename W>
struct CenteredRMSProp {
  static constexpr int kScalars = 4;
  static constexpr int kVariables = 4;
  CenteredRMSPropStep<W> step;
  __device__ CenteredRMSProp(const W* s, bool) : step{s[0], s[1], s[2], s[3]} {}
  __device__ void operator()(W* v, W g) const {
    step(v[0], v[1], v[2], v[3], g);
  }
};

// Scalars: lr, l1, l2, those of FtrlV2 then l2_shrinkage, and lr_power.
template <typename W, bool kIsV2>
struct Ftrl {
  static constexpr int kScalars = kIsV2 ? 5 : 4;
  static constexpr int kVariables = 3;
  FtrlScalars<W> scalars;
  __device__ Ftrl(const W* s, bool flag)
      : scalars{flag ? W(1) : s[0],         flag ? s[0] : W(1), s[1], s[2],
                kIsV2 ? s[3] : W(0),        s[kScalars - 1],
                /*never_divides_zero=*/true} {}
  __device__ void operator()(W* v, W g) const {
    if (scalars.lr_power == W(-0.5)) {
      FtrlStep<W, true>{scalars}(v[0], v[1], v[2], g);
    } else {
      FtrlStep<W, false>{scalars}(v[0], v[1], v[2], g);
    }
  }
};
template <typename W>
using FtrlV1 = Ftrl<W, false>;
template <typename W>
using FtrlV2 = Ftrl<W, true>;

template <typename Rule, typename T>
__device__ Rule RuleOf(const Training& training) {
  Wide<T> scalars[kMostScalars];
  for (int i = 0; i < Rule::kScalars; ++i) {
    scalars[i] = ToWide(*static_cast<const T*>(training.scalars[i]));
  }
  return Rule(scalars, training.flag);
}

template <typename T, typename Rule>
__global__ void Train(Training training, int64_t n) {
  const Rule rule = RuleOf<Rule, T>(training);
  const T* const gradient = static_cast<const T*>(training.gradient);
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    Wide<T> v[Rule::kVariables];
    for (int k = 0; k < Rule::kVariables; ++k) {
      v[k] = ToWide(static_cast<const T*>(training.from[k])[i]);
    }
    rule(v, ToWide(gradient[i]));
    for (int k = 0; k < Rule::kVariables; ++k) {
      static_cast<T*>(training.to[k])[i] = FromWide<T>(v[k]);
    }
  }
}

__device__ __forceinline__ int64_t IndexOf(const Rows& rows, int64_t i) {
  return rows.is_int64 ? static_cast<const int64_t*>(rows.indices)[i]
                       : static_cast<int64_t>(
                             static_cast<const int32_t*>(rows.indices)[i]);
}

// Calls change(at, i) for each change of each element: `at` is the element's
// place in the variable, `i` that of the update. Threads share out the columns
// of a row, and the rows by their index modulo `parts`.
template <typename F>
__device__ void ForEachChange(const Rows& rows, int64_t parts, F change) {
  const int64_t items = parts * rows.row;
  for (int64_t item = FirstItem(); item < items; item += ItemStep()) {
    const int64_t part = item / rows.row;
    const int64_t column = item % rows.row;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t index = IndexOf(rows, i);
      if (index < 0 || index >= rows.rows || index % parts != part) continue;
      change(index * rows.row + column, i * rows.row + column);
    }
  }
}

// As many as keep a GPU busy.
int64_t PartsOf(const Rows& rows) {
  constexpr int64_t kItems = 1 << 17;
  int64_t parts = kItems / rows.row + 1;
  if (parts > rows.rows) parts = rows.rows;
  return parts > rows.count ? rows.count : parts;
}

template <typename T, typename Rule>
__global__ void TrainRows(Training training, Rows rows, int64_t parts) {
  const Rule rule = RuleOf<Rule, T>(training);
  const T* const gradient = static_cast<const T*>(training.gradient);
  ForEachChange(rows, parts, [&](int64_t at, int64_t i) {
    Wide<T> v[Rule::kVariables];
    for (int k = 0; k < Rule::kVariables; ++k) {
      v[k] = ToWide(static_cast<const T*>(training.to[k])[at]);
    }
    rule(v, ToWide(gradient[i]));
    for (int k = 0; k < Rule::kVariables; ++k) {
      static_cast<T*>(training.to[k])[at] = FromWide<T>(v[k]);
    }
  });
}

template <typename T>
__device__ __forceinline__ T Changed(Change change, T x, T by) {
  if (change == Change::kReplace) return by;
  if constexpr (std::is_same_v<T, int64_t>) {
    // Wraps round.
    const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(by);
    return static_cast<int64_t>(change == Change::kAdd ? a + b : a - b);
  } else {
    const Wide<T> a = ToWide(x), b = ToWide(by);
    return FromWide<T>(change == Change::kAdd ? a + b : a - b);
  }
}

template <typename T>
__global__ void ChangeAll(Change change, int64_t n, const T* from, const T* by,
                          T* to) {
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    to[i] = Changed(change, from[i], by[i]);
  }
}

template <typename T>
__global__ void ChangeRows(Change change, Rows rows, int64_t parts, const T* by,
                           bool is_scalar, T* to) {
  ForEachChange(rows, parts, [&](int64_t at, int64_t i) {
    to[at] = Changed(change, to[at], by[is_scalar ? 0 : i]);
  });
}

template <template <typename> class Rule>
void Launch(const Training& training, int64_t n, cudaStream_t stream) {
  ForFloats(training.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Train<T, Rule<Wide<T>>><<<BlocksFor(n), kThreads, 0, stream>>>(training, n);
  });
}

template <template <typename> class Rule>
void LaunchOfRows(const Training& training, const Rows& rows,
                  cudaStream_t stream) {
  const int64_t parts = PartsOf(rows);
  ForFloats(training.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    TrainRows<T, Rule<Wide<T>>>
        <<<BlocksFor(parts * rows.row), kThreads, 0, stream>>>(training, rows,
                                                               parts);
  });
}

}  // namespace

void LaunchTraining(const Training& training, int64_t n, cudaStream_t stream) {
  switch (training.rule) {
    case TrainingRule::kGradientDescent:
      return Launch<GradientDescent>(training, n, stream);
    case TrainingRule::kMomentum:
      return Launch<Momentum>(training, n, stream);
    case TrainingRule::kAdagrad:
      return Launch<Adagrad>(training, n, stream);
    case TrainingRule::kAdagradV2:
      return Launch<AdagradV2>(training, n, stream);
    case TrainingRule::kAdam:
      return Launch<Adam>(training, n, stream);
    case TrainingRule::kAdaMax:
      return Launch<AdaMax>(training, n, stream);
    case TrainingRule::kAdadelta:
      return Launch<Adadelta>(training, n, stream);
    case TrainingRule::kRMSProp:
      return Launch<RMSProp>(training, n, stream);
    case TrainingRule::kCenteredRMSProp:
      return Launch<CenteredRMSProp>(training, n, stream);
    case TrainingRule::kFtrl:
      return Launch<FtrlV1>(training, n, stream);
    case TrainingRule::kFtrlV2:
      return Launch<FtrlV2>(training, n, stream);
  }
}

void LaunchTrainingOfRows(const Training& training, const Rows& rows,
                          cudaStream_t stream) {
  switch (training.rule) {
    case TrainingRule::kMomentum:
      return LaunchOfRows<Momentum>(training, rows, stream);
    case TrainingRule::kAdagrad:
      return LaunchOfRows<Adagrad>(training, rows, stream);
    case TrainingRule::kAdagradV2:
      return LaunchOfRows<AdagradV2>(training, rows, stream);
    default:
      return;
  }
}

void LaunchChange(Change change, ElementType type, int64_t n, const void* from,
                  const void* by, void* to, cudaStream_t stream) {
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ChangeAll<T><<<BlocksFor(n), kThreads, 0, stream>>>(
        change, n, static_cast<const T*>(from), static_cast<const T*>(by),
        static_cast<T*>(to));
  });
}

void LaunchChangeOfRows(Change change, ElementType type, const Rows& rows,
                        const void* by, bool is_scalar, void* to,
                        cudaStream_t stream) {
  const int64_t parts = PartsOf(rows);
  ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ChangeRows<T><<<BlocksFor(parts * rows.row), kThreads, 0, stream>>>(
        change, rows, parts, static_cast<const T*>(by), is_scalar,
        static_cast<T*>(to));
  });
}

}  // namespace weft::cuda
