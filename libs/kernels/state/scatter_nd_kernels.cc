// ScatterNdUpdate, ScatterNdAdd and ScatterNdSub on variables: each row of
// `indices` selects a slice of the variable by its first dimensions.
#include <memory>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/nd_slices.h"
#include "libs/kernels/state/scatter_rules.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

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
    HeapCharge charge(context.host_allocator());
    const auto apply = [&](Tensor& value) {
      return Apply(charge, value, indices, updates);
    };
    const int rank = indices.rank();
    const int64_t depth = rank == 0 ? 0 : indices.dim(rank - 1);
    // An index without dimensions selects the whole variable.
    if (depth == 0) {
      return variable.Update(context.cancellation(), context.allocator(),
                             [&](const Tensor& from, Tensor& to) {
                               if (&from != &to) {
                                 CopyElements(from, 0, from.num_elements(), to,
                                              0);
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

  static absl::Status Apply(HeapCharge& charge, Tensor& value,
                            const Tensor& indices, const Tensor& updates) {
    ASSIGN_OR_RETURN(
        const VariableSlices found,
        FindVariableSlices(charge, value.shape(), indices, updates.shape()));
    return DispatchType(Types{}, value.dtype(), [&]<typename T>(TypeTag<T>) {
      const T* from = updates.flat<T>().data();
      T* to = value.mutable_flat<T>().data();
      for (const int64_t slice : found.slices) {
        T* const row = to + slice * found.size;
        for (int64_t i = 0; i < found.size; ++i, ++from) {
          row[i] = Operation::Apply(row[i], *from);
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
