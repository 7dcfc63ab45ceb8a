#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/row_changes.h"

namespace weft {
namespace {

absl::StatusOr<Tensor> Scratch(OpKernelContext& context, int64_t bytes) {
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create({bytes}));
  return context.AllocateTemp(DT_UINT8, shape);
}

}  // namespace

absl::StatusOr<cuda::RowOrder> OrderRows(OpKernelContext& context,
                                         const cuda::Rows& rows,
                                         Tensor& scratch) {
  const cudaStream_t stream = StreamOf(context);
  const int64_t bytes = RowOrderScratch(rows);
  if (bytes == 0) {
    return absl::UnimplementedError(absl::StrCat(
        rows.count, " indices of ", rows.rows,
        " rows are too many to order them on a GPU; place the node on a CPU"));
  }
  ASSIGN_OR_RETURN(scratch, Scratch(context, bytes));
  const cuda::RowOrder order =
      LaunchRowOrder(rows, scratch.mutable_data(), bytes, stream);
  RETURN_IF_ERROR(LaunchStatus());
  RETURN_IF_ERROR(CudaStatus(order.error, "ordering rows"));
  return order;
}

absl::Status SumRows(OpKernelContext& context, cuda::Change change,
                     const cuda::Rows& rows, const Tensor& by, bool is_scalar,
                     Tensor& to) {
  Tensor keys;
  ASSIGN_OR_RETURN(const cuda::RowOrder order, OrderRows(context, rows, keys));
  const cuda::ElementType type = ElementTypeOf(to.dtype());
  ASSIGN_OR_RETURN(Tensor scratch,
                   Scratch(context, RowSumScratch(type, order)));
  LaunchRowSum(change, type, order, by.data(), is_scalar,
               scratch.mutable_data(), to.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

absl::Status ReduceRows(OpKernelContext& context, cuda::RowReduction op,
                        const cuda::Rows& rows, const Tensor& by, Tensor& to) {
  Tensor keys;
  ASSIGN_OR_RETURN(const cuda::RowOrder order, OrderRows(context, rows, keys));
  LaunchRowReduction(op, ElementTypeOf(to.dtype()), order, by.data(),
                     to.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

absl::Status ReplaceRows(OpKernelContext& context, const cuda::Rows& rows,
                         const Tensor& by, bool is_scalar, Tensor& to) {
  Tensor keys;
  ASSIGN_OR_RETURN(const cuda::RowOrder order, OrderRows(context, rows, keys));
  LaunchRowReplacement(ElementSize(to), order, by.data(), is_scalar,
                       to.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

}  // namespace weft
