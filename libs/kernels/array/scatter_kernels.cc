// Kernels that write slices by tuples of indices: ScatterNd,
// TensorScatterUpdate.
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/elements.h"

namespace weft {
namespace {

// A checked scatter: update row i goes to row positions[i] of the target.
struct ScatterPlan {
  std::vector<int64_t> positions;  // -1: left out
  int64_t inner = 1;               // elements of a row
};

absl::Status CheckUpdateShape(const TensorShape& target,
                              const TensorShape& indices,
                              const TensorShape& updates) {
  const int outer = indices.rank() - 1;
  const int depth = static_cast<int>(indices.dim(outer));
  bool matches = updates.rank() == outer + target.rank() - depth;
  for (int i = 0; matches && i < updates.rank(); ++i) {
    matches = updates.dim(i) ==
              (i < outer ? indices.dim(i) : target.dim(i - outer + depth));
  }
  if (matches) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Dimensions [0,", outer, ") of indices[shape=", indices.ToString(),
      "] must match dimensions [0,", outer, ") of updates[shape=",
      updates.ToString(), "], and dimensions [", depth, ",", target.rank(),
      ") of input[shape=", target.ToString(), "] the rest of updates"));
}

absl::Status CheckScatterShapes(const TensorShape& target,
                                const TensorShape& indices,
                                const TensorShape& updates) {
  if (target.rank() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Output must be at least 1-D, got shape: ", target.ToString()));
  }
  if (indices.rank() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Indices shape must have rank at least one. Found:",
                     indices.ToString()));
  }
  if (indices.dim(indices.rank() - 1) > target.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The inner dimension of indices ", indices.dim(indices.rank() - 1),
        " must be at most the rank of the output ", target.rank()));
  }
  if (target.num_elements() == 0 &&
      (indices.num_elements() > 0 || updates.num_elements() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Indices and updates specified for empty output.  indices shape: ",
        indices.ToString()));
  }
  return CheckUpdateShape(target, indices, updates);
}

absl::Status BadIndex(const TensorShape& target, TensorShape indices, int64_t i,
                      absl::Span<const int64_t> index) {
  indices.RemoveDim(indices.rank() - 1);
  return absl::InvalidArgumentError(absl::StrCat(
      "indices", CoordinatesOf(indices, i), " = [", absl::StrJoin(index, ", "),
      "] does not index into shape ", target.ToString()));
}

absl::StatusOr<ScatterPlan> PlanScatter(const TensorShape& target,
                                        const Tensor& indices,
                                        const TensorShape& updates,
                                        bool ignores_bad) {
  RETURN_IF_ERROR(CheckScatterShapes(target, indices.shape(), updates));
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  ScatterPlan plan;
  int64_t count = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices.dim(i);
  for (int i = depth; i < target.rank(); ++i) plan.inner *= target.dim(i);
  ASSIGN_OR_RETURN(Dims values, IntegersOf(indices));
  // Many empty indices of nothing: there is nothing to check or to write.
  if (depth == 0 && plan.inner == 0) return plan;
  for (int64_t i = 0; i < count; ++i) {
    const auto index =
        absl::Span<const int64_t>(values).subspan(i * depth, depth);
    int64_t position = 0;
    for (int d = 0; d < depth && position >= 0; ++d) {
      const bool good = index[d] >= 0 && index[d] < target.dim(d);
      position = good ? position * target.dim(d) + index[d] : -1;
    }
    if (position < 0 && !ignores_bad) {
      return BadIndex(target, indices.shape(), i, index);
    }
    plan.positions.push_back(position);
  }
  return plan;
}

// What adding means where "+" does not say it.
bool Sum(bool a, bool b) { return a || b; }
std::string Sum(const std::string& a, const std::string& b) { return a + b; }
template <typename T>
T Sum(T a, T b) {
  return AddElements(a, b);
}

template <typename T>
void AddRows(const ScatterPlan& plan, const Tensor& updates, Tensor& output) {
  const T* in = updates.flat<T>().data();
  T* out = output.mutable_flat<T>().data();
  for (int64_t position : plan.positions) {
    if (position >= 0) {
      T* row = out + position * plan.inner;
      for (int64_t i = 0; i < plan.inner; ++i) row[i] = Sum(row[i], in[i]);
    }
    in += plan.inner;
  }
}

bool IgnoresBad(const OpKernelConstruction& construction) {
  const std::string* policy =
      construction.node().attr<std::string>("bad_indices_policy");
  return policy != nullptr && *policy == "IGNORE";
}

using ScatterTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
             std::complex<double>, bool, std::string>;

class ScatterNdKernel : public OpKernel {
 public:
  explicit ScatterNdKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBad(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& updates = context.input(1);
    if (context.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be a vector, got shape ",
                       context.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims dims, IntegersOf(context.input(2)));
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(
        ScatterPlan plan,
        PlanScatter(shape, context.input(0), updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    return DispatchType(ScatterTypes{}, updates.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          AddRows<T>(plan, updates, *output);
                          return absl::OkStatus();
                        });
  }

 private:
  const bool ignores_bad_;
};

class TensorScatterUpdateKernel : public OpKernel {
 public:
  explicit TensorScatterUpdateKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ignores_bad_(IgnoresBad(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    const Tensor& updates = context.input(2);
    ASSIGN_OR_RETURN(ScatterPlan plan,
                     PlanScatter(tensor.shape(), context.input(1),
                                 updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, tensor.shape()));
    if (!output->SharesBufferWith(tensor)) {
      CopyElements(tensor, 0, tensor.num_elements(), *output, 0);
    }
    int64_t from = 0;
    for (int64_t position : plan.positions) {
      if (position >= 0) {
        CopyElements(updates, from, plan.inner, *output, position * plan.inner);
      }
      from += plan.inner;
    }
    return absl::OkStatus();
  }

 private:
  const bool ignores_bad_;
};

}  // namespace

void RegisterArrayScatterKernels(KernelRegistry& registry) {
  registry.Register<ScatterNdKernel>("ScatterNd",
                                     {{"T", DataTypesOf(ScatterTypes{})}});
  registry.Register<TensorScatterUpdateKernel>("TensorScatterUpdate");
}

}  // namespace weft
