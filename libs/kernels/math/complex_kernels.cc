// Complex numbers and their parts: Complex, ComplexAbs, Real, Imag, Conj,
// Angle.
#include <complex>
#include <utility>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

struct ComplexOp {
  template <typename R>
  static std::complex<R> Apply(R real, R imag) {
    return {real, imag};
  }
};
struct RealPartOp {
  template <typename C>
  static auto Apply(C x) {
    return x.real();
  }
};
struct ImaginaryPartOp {
  template <typename C>
  static auto Apply(C x) {
    return x.imag();
  }
};
struct ComplexAbsOp {
  template <typename C>
  static auto Apply(C x) {
    return std::abs(x);
  }
};
struct AngleOp {
  template <typename C>
  static auto Apply(C x) {
    return std::arg(x);
  }
};
struct ConjugateOp {
  template <typename C>
  static C Apply(C x) {
    return std::conj(x);
  }
};

template <typename C, typename Op>
void RegisterPart(KernelRegistry& registry, const char* op) {
  using R = typename C::value_type;
  UnaryKernelSpec spec{op};
  spec.in = DataTypeOf<C>::value;
  spec.out = DataTypeOf<R>::value;
  spec.loop = &math::UnaryLoopOf<C, R, Op>;
  spec.cost = LoopCost::kHeavy;
  spec.out_attr = "Tout";
  RegisterUnaryKernel(registry, std::move(spec));
}

template <typename C>
void RegisterParts(KernelRegistry& registry) {
  using R = typename C::value_type;
  RegisterPart<C, RealPartOp>(registry, "Real");
  RegisterPart<C, ImaginaryPartOp>(registry, "Imag");
  RegisterPart<C, ComplexAbsOp>(registry, "ComplexAbs");
  RegisterPart<C, AngleOp>(registry, "Angle");
  UnaryKernelSpec conjugate{"Conj"};
  conjugate.in = conjugate.out = DataTypeOf<C>::value;
  conjugate.loop = &math::UnaryLoopOf<C, C, ConjugateOp>;
  RegisterUnaryKernel(registry, std::move(conjugate));
  BinaryKernelSpec joined{"Complex"};
  joined.in = DataTypeOf<R>::value;
  joined.out = DataTypeOf<C>::value;
  joined.loop = &math::BinaryLoopOf<R, C, ComplexOp>;
  joined.out_attr = "Tout";
  RegisterBinaryKernel(registry, std::move(joined));
}

}  // namespace

void RegisterComplexKernels(KernelRegistry& registry) {
  math::Complexes::ForEach([&]<typename C>() { RegisterParts<C>(registry); });
}

}  // namespace weft
