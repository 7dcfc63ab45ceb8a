// Kernels that change or read rows of a variable: ScatterAdd and related ops,
// ResourceGather. A row is selected by one index of the first dimension.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/resource/update_checks.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/scatter_rules.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The vector loop for the operation, if there is one.
template <typename T, typename Operation>
BinaryLoop VectorLoopOf() {
  const DataType type = DataTypeOf<T>::value;
  if constexpr (std::is_same_v<Operation, AddUpdate>) {
    return BestBinaryLoop("Add", type, nullptr);
  } else if constexpr (std::is_same_v<Operation, SubtractUpdate>) {
    return BestBinaryLoop("Sub", type, nullptr);
  } else if constexpr (std::is_same_v<Operation, MultiplyUpdate>) {
    return BestBinaryLoop("Mul", type, nullptr);
  }
  return nullptr;
}

// Changes `n` elements with `n` updates. `loop` may be null.
template <typename Operation, typename T>
void UpdateRow(BinaryLoop loop, T* out, const T* updates, int64_t n) {
  if constexpr (std::is_same_v<Operation, ReplaceUpdate>) {
    std::copy_n(updates, n, out);
  } else if (loop != nullptr) {
    loop(out, 1, updates, 1, out, n);
  } else {
    for (int64_t j = 0; j < n; ++j) {
      out[j] = Operation::Apply(out[j], updates[j]);
    }
  }
}
template <typename Operation, typename T>
void UpdateRowByScalar(T* out, const T& update, int64_t n) {
  for (int64_t j = 0; j < n; ++j) out[j] = Operation::Apply(out[j], update);
}

template <typename T, typename Operation>
absl::Status ScatterRows(Tensor& variable, const Tensor& indices,
                         const Tensor& updates) {
  const absl::Span<const T> from = updates.flat<T>();
  RETURN_IF_ERROR((CheckUpdates<T, Operation>(from)));
  static const BinaryLoop loop = VectorLoopOf<T, Operation>();
  const bool is_scalar = updates.shape().IsScalar();
  const int64_t rows = variable.dim(0);
  const int64_t row = rows == 0 ? 0 : variable.num_elements() / rows;
  T* to = variable.mutable_flat<T>().data();
  const int64_t count = indices.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    if (i + kRowsAhead < count) {
      PrefetchRow(to + IndexAt(indices, i + kRowsAhead) * row,
                  row * static_cast<int64_t>(sizeof(T)));
    }
    T* out = to + IndexAt(indices, i) * row;
    if (is_scalar) {
      UpdateRowByScalar<Operation>(out, from[0], row);
    } else {
      UpdateRow<Operation>(loop, out, from.data() + i * row, row);
    }
  }
  return absl::OkStatus();
}

template <typename Operation, typename Types>
class ScatterKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    const Tensor& indices = context.input(1);
    const Tensor& updates = context.input(2);
    RETURN_IF_ERROR(CheckVariableType(*variable, updates.dtype()));
    RETURN_IF_ERROR(variable->UpdateRows(
        context.cancellation(), context.allocator(),
        [&](Variable::RowVisitor visit) {
          for (int64_t i = 0; i < indices.num_elements(); ++i) {
            visit(IndexAt(indices, i));
          }
        },
        [&](Tensor& value) { return Apply(value, indices, updates); }));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  static absl::Status Apply(Tensor& value, const Tensor& indices,
                            const Tensor& updates) {
    RETURN_IF_ERROR(
        CheckUpdateShape(value.shape(), indices.shape(), updates.shape()));
    RETURN_IF_ERROR(CheckIndices(indices, value.dim(0)));
    return DispatchType(Types{}, value.dtype(), [&]<typename T>(TypeTag<T>) {
      return ScatterRows<T, Operation>(value, indices, updates);
    });
  }

  VariableLookup lookup_;
};

class ResourceGatherKernel : public OpKernel {
 public:
  explicit ResourceGatherKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        batch_dims_(static_cast<int>(
            construction.GetAttr<int64_t>("batch_dims").value_or(0))) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    RETURN_IF_ERROR(CheckVariableType(*variable, context.output_type(0)));
    // Holds the variable's shared lock while it reads, so that writers need not
    // copy the value.
    return variable->ReadPart(
        [&](const Tensor& value) { return Gather(value, context); });
  }

 private:
  absl::Status Gather(const Tensor& value, OpKernelContext& context) const {
    const Tensor& indices = context.input(1);
    RETURN_IF_ERROR(CheckBatch(value.shape(), indices.shape()));
    const int64_t rows = value.dim(batch_dims_);
    RETURN_IF_ERROR(CheckIndices(indices, rows));
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    int64_t row = 1;
    int64_t batches = 1;
    for (int i = 0; i < batch_dims_; ++i) batches *= value.dim(i);
    for (int i = batch_dims_ + 1; i < value.rank(); ++i) {
      dims.push_back(value.dim(i));
      row *= value.dim(i);
    }
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    if (batch_dims_ == 0 && DataTypeSize(value.dtype()) > 0) {
      return GatherPlain(value, indices, row, *output);
    }
    const int64_t per_batch =
        batches == 0 ? 0 : indices.num_elements() / batches;
    HeapCharge charge(context.host_allocator());
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t from = i / per_batch * rows + IndexAt(indices, i);
      RETURN_IF_ERROR(
          CopyElements(charge, value, from * row, row, *output, i * row));
    }
    return absl::OkStatus();
  }

  // For rows of `row` elements of plain bytes.
  static absl::Status GatherPlain(const Tensor& value, const Tensor& indices,
                                  int64_t row, Tensor& output) {
    const int64_t bytes =
        row * static_cast<int64_t>(DataTypeSize(value.dtype()));
    return DispatchType(
        IndexTypes{}, indices.dtype(), [&]<typename Index>(TypeTag<Index>) {
          GatherRows(value.data(), indices.flat<Index>().data(),
                     indices.num_elements(), bytes, output.mutable_data());
          return absl::OkStatus();
        });
  }

  absl::Status CheckBatch(const TensorShape& value,
                          const TensorShape& indices) const {
    if (value.rank() <= batch_dims_) {
      return absl::InvalidArgumentError(
          batch_dims_ == 0 ? "params must be at least 1 dimensional"
                           : absl::StrCat("batch_dims (", batch_dims_,
                                          ") must be less than rank(params) (",
                                          value.rank(), ")."));
    }
    bool same = batch_dims_ >= 0 && batch_dims_ <= indices.rank();
    for (int i = 0; same && i < batch_dims_; ++i) {
      same = value.dim(i) == indices.dim(i);
    }
    if (same) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("params.shape ", value.ToString(), " and indices.shape ",
                     indices.ToString(), " must agree in their first ",
                     batch_dims_, " dimensions (batch_dims)"));
  }

  const int batch_dims_;
  VariableLookup lookup_;
};

template <typename Operation, typename Types>
void RegisterScatter(
    KernelRegistry& registry, const char* on_reference, const char* on_resource,
    const std::vector<DataType>& reference_types = DataTypesOf(Types{})) {
  using Kernel = ScatterKernel<Operation, Types>;
  registry.Register<Kernel>(on_reference, {{"T", reference_types}});
  registry.Register<Kernel>(on_resource, {{"dtype", DataTypesOf(Types{})}});
}

// The ops on references compare fewer types than those on resources.
using ComparedReferences =
    TypeList<half, bfloat16, float, double, int32_t, int64_t>;

}  // namespace

void RegisterStateRowKernels(KernelRegistry& registry) {
  RegisterScatter<AddUpdate, Numbers>(registry, "ScatterAdd",
                                      "ResourceScatterAdd");
  RegisterScatter<SubtractUpdate, Numbers>(registry, "ScatterSub",
                                           "ResourceScatterSub");
  RegisterScatter<MultiplyUpdate, Numbers>(registry, "ScatterMul",
                                           "ResourceScatterMul");
  RegisterScatter<DivideUpdate, Numbers>(registry, "ScatterDiv",
                                         "ResourceScatterDiv");
  const auto compared = DataTypesOf(ComparedReferences{});
  RegisterScatter<MinimumUpdate, RealNumbers>(registry, "ScatterMin",
                                              "ResourceScatterMin", compared);
  RegisterScatter<MaximumUpdate, RealNumbers>(registry, "ScatterMax",
                                              "ResourceScatterMax", compared);
  RegisterScatter<ReplaceUpdate, AnyTypes>(registry, "ScatterUpdate",
                                           "ResourceScatterUpdate");
  registry.Register<ResourceGatherKernel>("ResourceGather");
}

}  // namespace weft
