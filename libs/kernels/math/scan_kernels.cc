// Cumsum and Cumprod.
#include "libs/base/status.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

struct SumScan {
  using Op = math::AddOp;
  static constexpr int kIdentity = 0;
};
struct ProductScan {
  using Op = math::MulOp;
  static constexpr int kIdentity = 1;
};

template <typename T, typename Rule>
class Scan : public OpKernel {
 public:
  Scan(const OpKernelConstruction& construction, bool exclusive, bool reverse)
      : OpKernel(construction), exclusive_(exclusive), reverse_(reverse) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(const int axis, ScanAxis(context.input(1), x.rank()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    ScanAll(x, axis, *out);
    return absl::OkStatus();
  }

 private:
  void ScanAll(const Tensor& x, int axis, Tensor& out) const {
    const int64_t size = x.dim(axis);
    int64_t inner = 1;
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
    const int64_t columns = x.num_elements() / size;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t first = column / inner * size * inner + column % inner;
      ScanColumn(x.flat<T>().data() + first, size, inner,
                 out.mutable_flat<T>().data() + first);
    }
  }

  // `out` may be `x`: each element is read before it is overwritten. The
  // running value is a T, rounded, as in TensorFlow.
  void ScanColumn(const T* x, int64_t size, int64_t stride, T* out) const {
    using R = math::Real<T>;
    T sum = static_cast<T>(R(Rule::kIdentity));
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = (reverse_ ? size - 1 - i : i) * stride;
      const T next = Rule::Op::Apply(sum, x[at]);
      out[at] = exclusive_ ? sum : next;
      sum = next;
    }
  }

  const bool exclusive_;
  const bool reverse_;
};

template <typename T, typename Rule>
void Register(KernelRegistry& registry, const char* op) {
  registry.Register(KernelDef{op, "CPU", {{"T", {DataTypeOf<T>::value}}}, true},
                    [](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      ASSIGN_OR_RETURN(bool exclusive,
                                       construction.GetAttr<bool>("exclusive"));
                      ASSIGN_OR_RETURN(bool reverse,
                                       construction.GetAttr<bool>("reverse"));
                      return std::make_unique<Scan<T, Rule>>(
                          construction, exclusive, reverse);
                    });
}

}  // namespace

void RegisterScanKernels(KernelRegistry& registry) {
  const auto both = [&]<typename T>() {
    Register<T, SumScan>(registry, "Cumsum");
    Register<T, ProductScan>(registry, "Cumprod");
  };
  math::Floats::ForEach(both);
  math::Integers::ForEach(both);
  math::Complexes::ForEach(both);
}

}  // namespace weft
