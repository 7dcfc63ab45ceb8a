// ScatterNdUpdate, ScatterNdAdd and ScatterNdSub on variables: each row of
// `indices` names a slice of the variable by its first dimensions.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/scatter_rules.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

// How indices [..., depth] divide a variable into slices.
struct Slices {
  TensorShape batch;  // of the indices without their last dimension
  int depth = 0;      // dimensions of the variable that an index names
  int64_t size = 1;   // elements of one slice
};

absl::Status WrongUpdates(const TensorShape& variable,
                          const TensorShape& indices,
                          const TensorShape& updates, const Slices& slices) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Must have updates.shape = indices.shape[:batch_dim] + "
      "params_shape[slice_dim:], got updates.shape: ",
      updates.ToString(), ", indices.shape: ", indices.ToString(),
      ", params_shape: ", variable.ToString(), ", slice_dim: ", slices.depth,
      ", and batch_dim: ", slices.batch.rank()));
}

absl::StatusOr<Slices> FindSlices(const TensorShape& variable,
                                  const TensorShape& indices,
                                  const TensorShape& updates) {
  if (indices.rank() < 1) {
    return absl::InvalidArgumentError(
        "Indices shape must have rank at least one");
  }
  Slices slices;
  slices.batch = indices;
  slices.batch.RemoveDim(indices.rank() - 1);
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > variable.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The inner ", depth, " dimensions of indices.shape ",
                     indices.ToString(), " index a variable of shape ",
                     variable.ToString()));
  }
  slices.depth = static_cast<int>(depth);
  TensorShape wanted = slices.batch;
  for (int d = slices.depth; d < variable.rank(); ++d) {
    slices.size *= variable.dim(d);
    wanted.AddDim(variable.dim(d));
  }
  if (wanted == updates) return slices;
  return WrongUpdates(variable, indices, updates, slices);
}

// The first element of each slice named.
absl::StatusOr<std::vector<int64_t>> FindOffsets(const TensorShape& variable,
                                                 const Tensor& indices,
                                                 const Slices& slices) {
  // Many empty indices of nothing: there is nothing to check or to change.
  if (slices.depth == 0 && slices.size == 0) return std::vector<int64_t>();
  std::vector<int64_t> offsets(slices.batch.num_elements());
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::vector<int64_t> index(slices.depth);
    bool inside = true;
    int64_t offset = 0;
    for (int d = 0; d < slices.depth; ++d) {
      index[d] = IndexAt(indices, static_cast<int64_t>(i) * slices.depth + d);
      inside = inside && index[d] >= 0 && index[d] < variable.dim(d);
      if (inside) offset = offset * variable.dim(d) + index[d];
    }
    if (!inside) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices", ElementPosition(slices.batch, static_cast<int64_t>(i)),
          " = [", absl::StrJoin(index, ", "), "] does not index into shape ",
          variable.ToString()));
    }
    offsets[i] = offset * slices.size;
  }
  return offsets;
}

template <typename Operation, typename Types>
class ScatterNdKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    const Tensor& indices = context.input(1);
    const Tensor& updates = context.input(2);
    RETURN_IF_ERROR(CheckVariableType(*variable, updates.dtype()));
    RETURN_IF_ERROR(Update(*variable, context, indices, updates));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  static absl::Status Update(Variable& variable, OpKernelContext& context,
                             const Tensor& indices, const Tensor& updates) {
    const auto apply = [&](Tensor& value) {
      return Apply(value, indices, updates);
    };
    const int rank = indices.rank();
    const int64_t depth = rank == 0 ? 0 : indices.dim(rank - 1);
    // An index without dimensions means all of the variable.
    if (depth == 0) {
      return variable.Update(
          context.cancellation(), context.allocator(),
          [&](const Tensor& from, Tensor& to) -> absl::Status {
            if (&from != &to) {
              ASSIGN_OR_RETURN(to, from.DeepCopy(context.allocator()));
            }
            return apply(to);
          });
    }
    return variable.UpdateRows(
        context.cancellation(), context.allocator(),
        [&](Variable::RowVisitor visit) {
          for (int64_t i = 0; i < indices.num_elements(); i += depth) {
            visit(IndexAt(indices, i));
          }
        },
        apply);
  }

  static absl::Status Apply(Tensor& value, const Tensor& indices,
                            const Tensor& updates) {
    ASSIGN_OR_RETURN(Slices slices, FindSlices(value.shape(), indices.shape(),
                                               updates.shape()));
    ASSIGN_OR_RETURN(std::vector<int64_t> offsets,
                     FindOffsets(value.shape(), indices, slices));
    return DispatchType(Types{}, value.dtype(), [&]<typename T>(TypeTag<T>) {
      const T* from = updates.flat<T>().data();
      T* to = value.mutable_flat<T>().data();
      for (const int64_t offset : offsets) {
        for (int64_t i = 0; i < slices.size; ++i, ++from) {
          to[offset + i] = Operation::Apply(to[offset + i], *from);
        }
      }
      return absl::OkStatus();
    });
  }

  VariableLookup lookup_;
};

template <typename Operation, typename Types>
void RegisterScatterNd(KernelRegistry& registry, const char* on_reference,
                       const char* on_resource) {
  using Kernel = ScatterNdKernel<Operation, Types>;
  for (const char* op : {on_reference, on_resource}) {
    registry.Register<Kernel>(op, {{"T", DataTypesOf(Types{})}});
  }
}

}  // namespace

void RegisterStateScatterNdKernels(KernelRegistry& registry) {
  RegisterScatterNd<AddUpdate, Numbers>(registry, "ScatterNdAdd",
                                        "ResourceScatterNdAdd");
  RegisterScatterNd<SubtractUpdate, Numbers>(registry, "ScatterNdSub",
                                             "ResourceScatterNdSub");
  RegisterScatterNd<ReplaceUpdate, AnyTypes>(registry, "ScatterNdUpdate",
                                             "ResourceScatterNdUpdate");
}

}  // namespace weft
