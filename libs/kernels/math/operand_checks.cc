#include "libs/kernels/math/operand_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status CheckSameRank(const TensorShape& a, const TensorShape& b) {
  if (a.rank() == b.rank()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("In[0] and In[1] has different ndims: ", a.ToString(),
                   " vs. ", b.ToString()));
}

int MantissaBits(DataType type) {
  switch (type) {
    case DT_DOUBLE:
      return 52;
    case DT_FLOAT:
      return 23;
    case DT_HALF:
      return 10;
    case DT_BFLOAT16:
      return 7;
    default:
      return 64;
  }
}

}  // namespace

absl::Status CheckMatrices(const TensorShape& a, const TensorShape& b) {
  if (absl::Status status = CheckSameRank(a, b); !status.ok()) return status;
  if (a.rank() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "In[0] is not a matrix. Instead it has shape ", a.ToString()));
}

TensorShape BatchShape(const TensorShape& shape) {
  return TensorShape(shape.dims().subspan(0, shape.rank() - 2));
}

absl::Status CheckBatches(const TensorShape& x, const TensorShape& y,
                          bool broadcasts) {
  for (const TensorShape* shape : {&x, &y}) {
    if (shape->rank() >= 2) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "In[", shape == &x ? 0 : 1, "] ndims must be >= 2: ", shape->rank()));
  }
  if (broadcasts) return absl::OkStatus();
  if (absl::Status status = CheckSameRank(x, y); !status.ok()) return status;
  if (BatchShape(x) == BatchShape(y)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "In[0] and In[1] must have compatible batch dimensions: ", x.ToString(),
      " vs. ", y.ToString()));
}

absl::StatusOr<ProductSizes> SizesOfProduct(const TensorShape& a,
                                            const TensorShape& b,
                                            bool transpose_a,
                                            bool transpose_b) {
  const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
  const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
  const ProductSizes sizes = {.m = transpose_a ? a_columns : a_rows,
                              .k = transpose_a ? a_rows : a_columns,
                              .n = transpose_b ? b_rows : b_columns};
  if (sizes.k == (transpose_b ? b_columns : b_rows)) return sizes;
  return absl::InvalidArgumentError(
      absl::StrCat("Matrix size-incompatible: In[0]: ", a.ToString(),
                   ", In[1]: ", b.ToString()));
}

absl::StatusOr<MatMulArgs> ProductOf(const TensorShape& a, const TensorShape& b,
                                     bool transpose_a, bool transpose_b) {
  ASSIGN_OR_RETURN(const ProductSizes sizes,
                   SizesOfProduct(a, b, transpose_a, transpose_b));
  MatMulArgs args;
  args.transpose_a = transpose_a;
  args.transpose_b = transpose_b;
  args.m = sizes.m;
  args.k = sizes.k;
  args.n = sizes.n;
  args.a_stride = a.dim(a.rank() - 1);
  args.b_stride = b.dim(b.rank() - 1);
  args.c_stride = args.n;
  return args;
}

absl::Status SizesDiffer(const OpKernelContext& context, int first,
                         const TensorShape& a, int second,
                         const TensorShape& b) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Inputs to operation ", context.node_name(), " of type ",
      context.op_name(), " must have the same size and shape.  Input ", first,
      ": ", a.ToString(), " != input ", second, ": ", b.ToString()));
}

absl::Status CheckClipBounds(const OpKernelContext& context) {
  const TensorShape& x = context.input(0).shape();
  for (int i = 1; i <= 2; ++i) {
    const TensorShape& bound = context.input(i).shape();
    if (bound == x || bound.rank() == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "clip_value_min and clip_value_max must be either of the same "
        "shape as input, or a scalar. input shape: ",
        x.ToString(),
        " clip_value_min shape: ", context.input(1).shape().ToString(),
        " clip_value_max shape: ", context.input(2).shape().ToString()));
  }
  return absl::OkStatus();
}

int LostBits(DataType from, DataType to) {
  if (from != DT_DOUBLE && from != DT_FLOAT) return 0;
  return std::max(0, MantissaBits(from) - MantissaBits(to));
}

}  // namespace weft
