// Kernels that write slices selected by tuples of indices: ScatterNd,
// TensorScatterUpdate, TensorScatterAdd and related ops.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/nd_indices.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Sum adds values of types that have no suitable "+".
bool Sum(bool a, bool b) { return a || b; }
std::string Sum(const std::string& a, const std::string& b) { return a + b; }
template <typename T>
T Sum(T a, T b) {
  return AddElements(a, b);
}

// These classes combine an element with an update.
struct ScatterAddOp {
  template <typename T>
  static T Apply(const T& x, const T& update) {
    return Sum(x, update);
  }
};
struct ScatterSubOp {
  template <typename T>
  static T Apply(const T& x, const T& update) {
    return SubtractElements(x, update);
  }
};
struct ScatterMinOp {
  template <typename T>
  static T Apply(const T& x, const T& update) {
    return update < x ? update : x;
  }
};
struct ScatterMaxOp {
  template <typename T>
  static T Apply(const T& x, const T& update) {
    return update > x ? update : x;
  }
};

template <typename Op, typename T>
void ApplyRows(const NdSlices& plan, const Tensor& updates, Tensor& output) {
  const T* in = updates.flat<T>().data();
  T* out = output.mutable_flat<T>().data();
  for (int64_t i = 0; i < plan.count; ++i) {
    if (const int64_t slice = plan.slice(i); slice >= 0) {
      T* row = out + slice * plan.inner;
      for (int64_t j = 0; j < plan.inner; ++j) {
        row[j] = Op::Apply(row[j], in[j]);
      }
    }
    in += plan.inner;
  }
}

using ScatterTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string>;

class ScatterNdKernel : public OpKernel {
 public:
  explicit ScatterNdKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& updates = context.input(1);
    if (context.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be a vector, got shape ",
                       context.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims dims, IntegersOf(context.input(2)));
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const NdSlices plan,
                     SlicesToScatter(charge, shape, context.input(0),
                                     updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    return DispatchType(ScatterTypes{}, updates.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          ApplyRows<ScatterAddOp, T>(plan, updates, *output);
                          return absl::OkStatus();
                        });
  }

 private:
  const bool ignores_bad_;
};

// TensorScatterKernel writes to a copy of input 0, or in place if nothing else
// holds the input.
class TensorScatterKernel : public OpKernel {
 public:
  explicit TensorScatterKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    const Tensor& updates = context.input(2);
    ASSIGN_OR_RETURN(const Tensor indices, ReadIndices(context.input(1)));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const NdSlices plan,
                     SlicesToScatter(charge, tensor.shape(), indices,
                                     updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, tensor.shape()));
    RETURN_IF_ERROR(ChargeStrings(charge, updates));
    if (!output->SharesBufferWith(tensor)) {
      RETURN_IF_ERROR(ChargeStrings(charge, tensor));
      CopyElements(tensor, 0, tensor.num_elements(), *output, 0);
    }
    return Write(plan, updates, *output);
  }

 private:
  // Returns the indices as tuples: a matrix, or a tensor of higher rank.
  virtual absl::StatusOr<Tensor> ReadIndices(const Tensor& indices) const {
    return indices;
  }
  virtual absl::Status Write(const NdSlices& plan, const Tensor& updates,
                             Tensor& output) const = 0;

  const bool ignores_bad_;
};

class TensorScatterUpdateKernel : public TensorScatterKernel {
 public:
  using TensorScatterKernel::TensorScatterKernel;

 private:
  absl::Status Write(const NdSlices& plan, const Tensor& updates,
                     Tensor& output) const override {
    int64_t from = 0;
    for (int64_t i = 0; i < plan.count; ++i) {
      if (const int64_t slice = plan.slice(i); slice >= 0) {
        CopyElements(updates, from, plan.inner, output, slice * plan.inner);
      }
      from += plan.inner;
    }
    return absl::OkStatus();
  }
};

// Rejects indices that TensorFlow's kernels reject, although its documentation
// allows them: a vector (one tuple), and empty tuples (the whole tensor).
absl::Status CheckTuples(const TensorShape& indices) {
  if (indices.rank() == 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Dimensions [0,1) of indices[shape=", indices.ToString(),
        "] must match dimensions [0,1) of updates: indices have to be a matrix "
        "of tuples, or have more dimensions"));
  }
  if (indices.rank() > 1 && indices.dim(indices.rank() - 1) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Only indices.shape[-1] values of at least 1 are "
                     "supported, but indices have the shape ",
                     indices.ToString()));
  }
  return absl::OkStatus();
}

template <typename Op, typename Types>
class TensorScatterApplyKernel : public TensorScatterKernel {
 public:
  using TensorScatterKernel::TensorScatterKernel;

 private:
  absl::StatusOr<Tensor> ReadIndices(const Tensor& indices) const override {
    RETURN_IF_ERROR(CheckTuples(indices.shape()));
    return indices;
  }

  absl::Status Write(const NdSlices& plan, const Tensor& updates,
                     Tensor& output) const override {
    return DispatchType(Types{}, updates.dtype(), [&]<typename T>(TypeTag<T>) {
      ApplyRows<Op, T>(plan, updates, output);
      return absl::OkStatus();
    });
  }
};

// The types of ScatterNdNonAliasingAdd.
using NumbersAndBools =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool>;

class NonAliasingAddKernel
    : public TensorScatterApplyKernel<ScatterAddOp, NumbersAndBools> {
 public:
  using TensorScatterApplyKernel::TensorScatterApplyKernel;

 private:
  // A vector holds one index into the first dimension. For longer ones,
  // TensorFlow adds only the first update or reads out of bounds.
  absl::StatusOr<Tensor> ReadIndices(const Tensor& indices) const override {
    if (indices.shape().IsVector() && indices.dim(0) == 1) {
      return indices.Reshaped({1, 1});
    }
    RETURN_IF_ERROR(CheckTuples(indices.shape()));
    return indices;
  }
};

// Makes a kernel with the attr `bad_indices_policy`. An unknown policy is an
// error of the node.
template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeWithPolicy(
    const OpKernelConstruction& construction) {
  const std::string* policy =
      construction.node().attr<std::string>("bad_indices_policy");
  if (policy != nullptr && !policy->empty() && *policy != "DEFAULT" &&
      *policy != "ERROR" && *policy != "IGNORE") {
    return absl::InvalidArgumentError(
        absl::StrCat("Unknown bad indices handling attribute: ", *policy));
  }
  return std::make_unique<Kernel>(construction);
}

template <typename Op, typename Types>
void RegisterTensorScatter(KernelRegistry& registry, const char* op) {
  registry.Register({.op = op, .types = {{"T", DataTypesOf(Types{})}}},
                    MakeWithPolicy<TensorScatterApplyKernel<Op, Types>>);
}

}  // namespace

void RegisterArrayScatterKernels(KernelRegistry& registry) {
  registry.Register<ScatterNdKernel>("ScatterNd",
                                     {{"T", DataTypesOf(ScatterTypes{})}});
  registry.Register<TensorScatterUpdateKernel>("TensorScatterUpdate");
  RegisterTensorScatter<ScatterAddOp, Numbers>(registry, "TensorScatterAdd");
  RegisterTensorScatter<ScatterSubOp, Numbers>(registry, "TensorScatterSub");
  RegisterTensorScatter<ScatterMinOp, RealNumbers>(registry,
                                                   "TensorScatterMin");
  RegisterTensorScatter<ScatterMaxOp, RealNumbers>(registry,
                                                   "TensorScatterMax");
  registry.Register({.op = "ScatterNdNonAliasingAdd",
                     .types = {{"T", DataTypesOf(NumbersAndBools{})}}},
                    MakeWithPolicy<NonAliasingAddKernel>);
}

}  // namespace weft
