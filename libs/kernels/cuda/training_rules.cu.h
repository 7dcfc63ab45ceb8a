// For *.cu only: the optimizers' rules, based on the steps shared with the CPU
// (training_steps.h).
#ifndef WEFT_LIBS_KERNELS_CUDA_TRAINING_RULES_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_TRAINING_RULES_CU_H_

#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/isa/training_steps.h"

namespace weft::cuda {

// A rule R<W> holds its step's scalars. It is created by the thread that uses
// them, because they may be in GPU memory. The flag is Training::flag.
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

// Scalars: lr, l1, l2, for FtrlV2 l2_shrinkage, and lr_power.
template <typename W, bool kIsV2, bool kIsSparse>
struct Ftrl {
  static constexpr int kScalars = kIsV2 ? 5 : 4;
  static constexpr int kVariables = 3;
  FtrlScalars<W> scalars;
  __device__ Ftrl(const W* s, bool flag)
      : scalars{flag ? W(1) : s[0],
                flag ? s[0] : W(1),
                s[1],
                s[2],
                kIsV2 ? s[3] : W(0),
                s[kScalars - 1],
                /*never_divides_zero=*/!kIsSparse} {}
  __device__ void operator()(W* v, W g) const {
    if (scalars.lr_power == W(-0.5)) {
      FtrlStep<W, true>{scalars}(v[0], v[1], v[2], g);
    } else {
      FtrlStep<W, false>{scalars}(v[0], v[1], v[2], g);
    }
  }
};
template <typename W>
using FtrlV1 = Ftrl<W, false, false>;
template <typename W>
using FtrlV2 = Ftrl<W, true, false>;
template <typename W>
using SparseFtrlV1 = Ftrl<W, false, true>;
template <typename W>
using SparseFtrlV2 = Ftrl<W, true, true>;

template <typename W>
struct AdagradDA {
  static constexpr int kScalars = 4;
  static constexpr int kVariables = 3;
  AdagradDAStep<W> step;
  __device__ AdagradDA(const W* s, bool) : step{s[0], s[1], s[2], s[3]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], v[2], g); }
};

template <typename W>
struct ProximalGradientDescent {
  static constexpr int kScalars = 3;
  static constexpr int kVariables = 1;
  ProximalGradientDescentStep<W> step;
  __device__ ProximalGradientDescent(const W* s, bool)
      : step{s[0], s[1], s[2]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], g); }
};

template <typename W>
struct ProximalAdagrad {
  static constexpr int kScalars = 3;
  static constexpr int kVariables = 2;
  ProximalAdagradStep<W> step;
  __device__ ProximalAdagrad(const W* s, bool) : step{s[0], s[1], s[2]} {}
  __device__ void operator()(W* v, W g) const { step(v[0], v[1], g); }
};

template <typename Rule, typename T>
__device__ Rule RuleOf(const Training& training) {
  Wide<T> scalars[kMostScalars];
  for (int i = 0; i < Rule::kScalars; ++i) {
    scalars[i] = training.scalars[i] == nullptr
                     ? static_cast<Wide<T>>(training.values[i])
                     : ToWide(*static_cast<const T*>(training.scalars[i]));
  }
  return Rule(scalars, training.flag);
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_TRAINING_RULES_CU_H_
