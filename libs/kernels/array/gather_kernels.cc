// Kernels that read slices by index: Gather, GatherV2, GatherNd.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/array/nd_indices.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

int64_t Product(const TensorShape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

// The sizes of a gather, viewed as boxes: params are [batch, outer, rows,
// inner], indices [batch, count], and the result is [batch, outer, count,
// inner].
struct GatherSizes {
  int64_t batch = 1;
  int64_t outer = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t count = 1;
};

template <typename Indices>
absl::Status CheckIndices(const Indices& indices, int64_t rows,
                          const TensorShape& shape) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices", CoordinatesOf(shape, static_cast<int64_t>(i)),
                       " = ", indices[i], " is not in [0, ", rows, ")"));
    }
  }
  return absl::OkStatus();
}

// Calls `fn` with each row of the result, in order.
template <typename E, typename Fn>
void ForEachRow(const E* params, const Dims& indices, const GatherSizes& sizes,
                const Fn& fn) {
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const int64_t* index = indices.data() + b * sizes.count;
    for (int64_t o = 0; o < sizes.outer; ++o) {
      for (int64_t i = 0; i < sizes.count; ++i) {
        fn(absl::MakeConstSpan(params + index[i] * sizes.inner, sizes.inner));
      }
      params += sizes.rows * sizes.inner;
    }
  }
}

// Copies rows of plain bytes, `bytes` each, on as many threads as the work
// justifies.
template <typename Index>
void CopyPlainRows(OpKernelContext& context, const Index* indices,
                   const GatherSizes& sizes, int64_t bytes, char* out) {
  const char* const params = static_cast<const char*>(context.input(0).data());
  // Copies consecutive rows of the result. The rows of one box have the same
  // table.
  const auto copy = [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t box = begin / sizes.count, i = begin % sizes.count;
      const int64_t n = std::min(end - begin, sizes.count - i);
      GatherRows(params + box * sizes.rows * bytes,
                 indices + box / sizes.outer * sizes.count + i, n, bytes,
                 out + begin * bytes);
      begin += n;
    }
  };
  ParallelLoop(context, sizes.batch * sizes.outer * sizes.count,
               CopyCost(bytes), copy);
}

absl::Status CheckBatch(const TensorShape& params, const TensorShape& indices,
                        int batch_dims, int axis) {
  if (batch_dims < 0 || batch_dims > indices.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected batch_dims in the range [", -indices.rank(),
                     ", ", indices.rank(), "], but got ", batch_dims));
  }
  if (batch_dims > axis) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dims (", batch_dims,
                     ") must be less than or equal to axis (", axis, ")."));
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (params.dim(i) != indices.dim(i)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "params.shape[", i, "]: ", params.dim(i),
          " should be equal to indices.shape[", i, "]: ", indices.dim(i)));
    }
  }
  return absl::OkStatus();
}

// Returns params.shape[:axis] + indices.shape[batch_dims:] +
// params.shape[axis + 1:].
absl::StatusOr<TensorShape> GatheredShape(const TensorShape& params,
                                          const TensorShape& indices, int axis,
                                          int batch_dims) {
  Dims dims(params.dims().begin(), params.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin() + batch_dims,
              indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + axis + 1,
              params.dims().end());
  return TensorShape::Create(dims);
}

GatherSizes SizesOf(const TensorShape& params, const TensorShape& indices,
                    int axis, int batch_dims) {
  GatherSizes sizes;
  sizes.batch = Product(params, 0, batch_dims);
  sizes.outer = Product(params, batch_dims, axis);
  sizes.rows = params.dim(axis);
  sizes.inner = Product(params, axis + 1, params.rank());
  sizes.count = Product(indices, batch_dims, indices.rank());
  return sizes;
}

// Gathers rows that are copied as objects, and rows with index types that have
// no loop of their own.
absl::Status GatherObjects(OpKernelContext& context, const GatherSizes& sizes,
                           const TensorShape& result) {
  const Tensor& params = context.input(0);
  const Tensor& indices = context.input(1);
  ASSIGN_OR_RETURN(const Dims positions, IntegersOf(indices));
  RETURN_IF_ERROR(CheckIndices(positions, sizes.rows, indices.shape()));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, result));
  if (result.num_elements() == 0) return absl::OkStatus();
  HeapCharge charge(context.host_allocator());
  if (params.dtype() == DT_STRING) {
    size_t bytes = 0;
    ForEachRow(
        Elements<std::string>(params), positions, sizes,
        [&](absl::Span<const std::string> row) { bytes += HeapBytesOf(row); });
    RETURN_IF_ERROR(charge.Add(bytes));
  }
  return DispatchElement(params.dtype(), [&]<typename E>(TypeTag<E>) {
    E* out = MutableElements<E>(*output);
    ForEachRow(Elements<E>(params), positions, sizes,
               [&](absl::Span<const E> row) {
                 out = std::copy(row.begin(), row.end(), out);
               });
    return absl::OkStatus();
  });
}

absl::Status GatherAlong(OpKernelContext& context, int axis, int batch_dims) {
  const TensorShape& shape = context.input(0).shape();
  const Tensor& indices = context.input(1);
  RETURN_IF_ERROR(CheckBatch(shape, indices.shape(), batch_dims, axis));
  ASSIGN_OR_RETURN(TensorShape result,
                   GatheredShape(shape, indices.shape(), axis, batch_dims));
  const GatherSizes sizes = SizesOf(shape, indices.shape(), axis, batch_dims);
  const auto size =
      static_cast<int64_t>(DataTypeSize(context.input(0).dtype()));
  const bool has_loop =
      indices.dtype() == DT_INT32 || indices.dtype() == DT_INT64;
  if (size == 0 || !has_loop) return GatherObjects(context, sizes, result);
  return DispatchType(
      IndexTypes{}, indices.dtype(), [&]<typename Index>(TypeTag<Index>) {
        const absl::Span<const Index> positions = indices.flat<Index>();
        RETURN_IF_ERROR(CheckIndices(positions, sizes.rows, indices.shape()));
        ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, result));
        if (result.num_elements() == 0) return absl::OkStatus();
        CopyPlainRows(context, positions.data(), sizes, sizes.inner * size,
                      static_cast<char*>(output->mutable_data()));
        return absl::OkStatus();
      });
}

// The kernel of Gather and GatherV2.
class GatherKernel : public OpKernel {
 public:
  explicit GatherKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const int64_t* dims = construction.node().attr<int64_t>("batch_dims");
    if (dims != nullptr) batch_dims_ = *dims;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const int rank = context.input(0).rank();
    if (rank < 1) {
      return absl::InvalidArgumentError(
          "params must be at least 1 dimensional");
    }
    int64_t axis = 0;
    if (context.num_inputs() == 3) {
      ASSIGN_OR_RETURN(axis, ReadAxis(context.input(2), rank));
    }
    const int index_rank = context.input(1).rank();
    const int64_t batch_dims =
        batch_dims_ < 0 ? batch_dims_ + index_rank : batch_dims_;
    if (batch_dims < 0 || batch_dims > kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected batch_dims in the range [", -index_rank, ", ",
                       index_rank, "], but got ", batch_dims_));
    }
    return GatherAlong(context, static_cast<int>(axis),
                       static_cast<int>(batch_dims));
  }

 private:
  static absl::StatusOr<int64_t> ReadAxis(const Tensor& axis, int rank) {
    if (axis.num_elements() != 1 || axis.rank() > 1) {
      return absl::InvalidArgumentError("axis must be scalar");
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(axis));
    if (values[0] < -rank || values[0] >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected axis in the range [", -rank, ", ", rank,
                       "), but got ", values[0]));
    }
    return values[0] < 0 ? values[0] + rank : values[0];
  }

  int64_t batch_dims_ = 0;
};

class GatherNdKernel : public OpKernel {
 public:
  explicit GatherNdKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        name_(construction.node().name()),
        ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& params = context.input(0);
    const Tensor& indices = context.input(1);
    ASSIGN_OR_RETURN(const TensorShape result,
                     ShapeOfSlices(params.shape(), indices.shape()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, result));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(
        const NdSlices found,
        SlicesToGather(charge, params.shape(), indices, ignores_bad_, name_));
    if (ignores_bad_) RETURN_IF_ERROR(FillWithZeros(*output));
    // rows between checks for cancellation
    constexpr int64_t kBetweenLooks = 1024;
    int64_t to = 0;
    for (int64_t i = 0; i < found.count; ++i) {
      if (i % kBetweenLooks == 0) {
        RETURN_IF_ERROR(context.cancellation().status());
      }
      if (const int64_t slice = found.slice(i); slice >= 0) {
        RETURN_IF_ERROR(CopyElements(charge, params, slice * found.inner,
                                     found.inner, *output, to));
      }
      to += found.inner;
    }
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const bool ignores_bad_;
};

}  // namespace

void RegisterArrayGatherKernels(KernelRegistry& registry) {
  registry.Register<GatherKernel>("Gather");
  registry.Register<GatherKernel>("GatherV2");
  registry.Register<GatherNdKernel>("GatherNd");
}

}  // namespace weft
