// The steps of optimizers: each updates one element of a variable and of its
// slots from the gradient. Formulas are TensorFlow's
// (core/kernels/training_ops.cc); T is float or double.
//
// The loops over these steps are compiled for each instruction set, so
// everything here is always inlined, and no std:: template is used: see
// weft_kernels_per_instruction_set. Conditionals are written such that the
// compiler can vectorize them.
//
// A step S<T> has
//   kVariables            the number of variables it changes, including slots
//   S(var, slot..., g)    changes them; in the order of the op's inputs
#ifndef WEFT_LIBS_KERNELS_ISA_TRAINING_STEPS_H_
#define WEFT_LIBS_KERNELS_ISA_TRAINING_STEPS_H_

// These steps also run on GPUs.
#ifdef __CUDACC__
#define WEFT_STEP __host__ __device__ __forceinline__
#else
#define WEFT_STEP [[gnu::always_inline]] inline
#endif

namespace weft {

#ifdef __CUDACC__
WEFT_STEP float SquareRoot(float x) { return sqrtf(x); }
WEFT_STEP double SquareRoot(double x) { return sqrt(x); }
WEFT_STEP float Power(float x, float y) { return powf(x, y); }
WEFT_STEP double Power(double x, double y) { return pow(x, y); }
WEFT_STEP float Magnitude(float x) { return fabsf(x); }
WEFT_STEP double Magnitude(double x) { return fabs(x); }
#else
WEFT_STEP float SquareRoot(float x) { return __builtin_sqrtf(x); }
WEFT_STEP double SquareRoot(double x) { return __builtin_sqrt(x); }
WEFT_STEP float Power(float x, float y) { return __builtin_powf(x, y); }
WEFT_STEP double Power(double x, double y) { return __builtin_pow(x, y); }
WEFT_STEP float Magnitude(float x) { return __builtin_fabsf(x); }
WEFT_STEP double Magnitude(double x) { return __builtin_fabs(x); }
#endif

// Moves `x` towards 0 by `by`, at most to 0. NaN in either gives NaN.
template <typename T>
WEFT_STEP T Shrink(T x, T by) {
  const T size = Magnitude(x) - by;
  return size <= T(0) ? T(0) : x < T(0) ? -size : size;
}

template <typename T>
struct GradientDescentStep {
  static constexpr int kVariables = 1;
  T alpha;

  WEFT_STEP void operator()(T& var, T g) const { var -= alpha * g; }
};

template <typename T>
struct MomentumStep {
  static constexpr int kVariables = 2;
  T lr, momentum;
  bool use_nesterov;

  WEFT_STEP void operator()(T& var, T& accum, T g) const {
    accum = accum * momentum + g;
    var -= use_nesterov ? g * lr + accum * momentum * lr : accum * lr;
  }
};

template <typename T>
struct AdagradStep {
  static constexpr int kVariables = 2;
  T lr;
  bool update_slots;

  WEFT_STEP void operator()(T& var, T& accum, T g) const {
    accum = update_slots ? accum + g * g : accum;
    var -= g * lr / SquareRoot(accum);
  }
};

template <typename T>
struct AdagradV2Step {
  static constexpr int kVariables = 2;
  T lr, epsilon;
  bool update_slots;

  WEFT_STEP void operator()(T& var, T& accum, T g) const {
    accum = update_slots ? accum + g * g : accum;
    var -= g * lr / (SquareRoot(accum) + epsilon);
  }
};

// `alpha` is the learning rate with Adam's correction of the bias.
template <typename T>
struct AdamStep {
  static constexpr int kVariables = 3;
  T alpha, beta1, beta2, epsilon;
  bool use_nesterov;

  WEFT_STEP void operator()(T& var, T& m, T& v, T g) const {
    m += (g - m) * (T(1) - beta1);
    v += (g * g - v) * (T(1) - beta2);
    const T step = use_nesterov ? g * (T(1) - beta1) + beta1 * m : m;
    var -= step * alpha / (SquareRoot(v) + epsilon);
  }
};

template <typename T>
struct AdaMaxStep {
  static constexpr int kVariables = 3;
  T alpha, beta1, beta2, epsilon;

  WEFT_STEP void operator()(T& var, T& m, T& v, T g) const {
    m += (g - m) * (T(1) - beta1);
    const T decayed = beta2 * v;
    v = decayed < Magnitude(g) ? Magnitude(g) : decayed;
    var -= alpha * (m / (v + epsilon));
  }
};

template <typename T>
struct AdadeltaStep {
  static constexpr int kVariables = 3;
  T lr, rho, epsilon;

  WEFT_STEP void operator()(T& var, T& accum, T& accum_update, T g) const {
    accum = accum * rho + g * g * (T(1) - rho);
    const T update =
        SquareRoot(accum_update + epsilon) / SquareRoot(accum + epsilon) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (T(1) - rho);
  }
};

template <typename T>
struct RMSPropStep {
  static constexpr int kVariables = 3;
  T lr, rho, momentum, epsilon;

  WEFT_STEP void operator()(T& var, T& ms, T& mom, T g) const {
    ms += (g * g - ms) * (T(1) - rho);
    mom = mom * momentum + g * lr / SquareRoot(ms + epsilon);
    var -= mom;
  }
};

template <typename T>
struct CenteredRMSPropStep {
  static constexpr int kVariables = 4;
  T lr, rho, momentum, epsilon;

  WEFT_STEP void operator()(T& var, T& mg, T& ms, T& mom, T g) const {
    ms += (g * g - ms) * (T(1) - rho);
    mg += (g - mg) * (T(1) - rho);
    const T variance = ms - mg * mg;
    mom = mom * momentum + g * lr / SquareRoot(variance + epsilon);
    var -= mom;
  }
};

// The linear slot may be stored multiplied by the learning rate: then `scale`
// is the rate and `rate` is 1, otherwise the reverse. `l2_shrinkage` is
// FtrlV2's penalty on the magnitude of the variable. With `never_divides_zero`,
// a linear slot within l1 makes the variable 0 whatever the divisor is, as in
// TensorFlow's dense ops; its sparse ops divide 0 by 0.
template <typename T>
struct FtrlScalars {
  T rate, scale, l1, l2, l2_shrinkage, lr_power;
  bool never_divides_zero;
};

// kSquareRoot: lr_power is -0.5.
template <typename T, bool kSquareRoot>
struct FtrlStep {
  static constexpr int kVariables = 3;
  FtrlScalars<T> s;

  WEFT_STEP void operator()(T& var, T& accum, T& linear, T g) const {
    const T shrunk =
        s.l2_shrinkage == T(0) ? g : g + T(2) * s.l2_shrinkage * var;
    const T before = Root(accum);
    accum += g * g;
    const T root = Root(accum);
    linear += shrunk * s.scale - (root - before) / s.rate * var;
    const T quadratic = root / s.rate + T(2) * s.l2 * s.scale;
    const T quotient = -Shrink(linear, s.l1 * s.scale) / quadratic;
    const bool is_zero =
        s.never_divides_zero && !(Magnitude(linear) > s.l1 * s.scale);
    var = is_zero ? T(0) : quotient;
  }

 private:
  WEFT_STEP T Root(T x) const {
    if constexpr (kSquareRoot) return SquareRoot(x);
    return Power(x, -s.lr_power);
  }
};

template <typename T>
struct ProximalGradientDescentStep {
  static constexpr int kVariables = 1;
  T alpha, l1, l2;

  WEFT_STEP void operator()(T& var, T g) const {
    const T moved = var - g * alpha;
    var = (l1 > T(0) ? Shrink(moved, alpha * l1) : moved) / (T(1) + l2 * alpha);
  }
};

template <typename T>
struct ProximalAdagradStep {
  static constexpr int kVariables = 2;
  T lr, l1, l2;

  WEFT_STEP void operator()(T& var, T& accum, T g) const {
    accum += g * g;
    const T rate = lr / SquareRoot(accum);
    const T moved = var - g * rate;
    var = (l1 > T(0) ? Shrink(moved, rate * l1) : moved) / (T(1) + l2 * rate);
  }
};

// Dual averaging: the variable is a function of the sums of all gradients.
template <typename T>
struct AdagradDAStep {
  static constexpr int kVariables = 3;
  T lr, l1, l2, global_step;

  WEFT_STEP void operator()(T& var, T& sum, T& sum_of_squares, T g) const {
    sum += g;
    sum_of_squares += g * g;
    const T shrunk = l1 > T(0) ? Shrink(sum, l1 * global_step) : sum;
    var = -lr * shrunk / (l2 * global_step * lr + SquareRoot(sum_of_squares));
  }
};

}  // namespace weft

#undef WEFT_STEP

#endif  // WEFT_LIBS_KERNELS_ISA_TRAINING_STEPS_H_
