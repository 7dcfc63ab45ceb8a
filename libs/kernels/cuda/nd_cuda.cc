// GatherNd, ScatterNd, TensorScatterUpdate, DynamicPartition and
// ReverseSequence on GPUs. Their indices and lengths are in host memory, where
// Where, Unique and int32 kernels produce them. They are checked as on a CPU,
// and the resulting positions are copied to the GPU.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/device_context.h"
#include "libs/kernels/array/nd_indices.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/array/sequence_lengths.h"
#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/patterns.h"
#include "libs/kernels/cuda/row_changes.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Gathers `count` rows of `inner` elements of `from`, whose numbers are at
// `rows` in GPU memory; 0 for a number out of range.
absl::Status GatherRowsOf(const OpKernelContext& context, const Tensor& from,
                          int64_t inner, const int64_t* rows, int64_t count,
                          Tensor& out) {
  cuda::Gather gather;
  gather.rows = from.num_elements() / inner;
  gather.inner = inner;
  gather.count = count;
  gather.indices = rows;
  gather.is_int64 = true;
  LaunchGather(ElementSize(from), gather, from.data(), out.mutable_data(),
               StreamOf(context));
  return LaunchStatus();
}

// The numbers of all slices, in GPU memory.
absl::StatusOr<Tensor> UploadSlices(OpKernelContext& context,
                                    const NdSlices& found) {
  if (!found.numbers.empty()) return Upload(context, found.numbers);
  ASSIGN_OR_RETURN(Tensor zeros,
                   context.AllocateTemp(DT_INT64, TensorShape({found.count})));
  RETURN_IF_ERROR(SetToZero(context, zeros));
  return zeros;
}

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
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, result));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(
        const NdSlices found,
        SlicesToGather(charge, params.shape(), indices, ignores_bad_, name_));
    if (out->num_elements() == 0) return absl::OkStatus();
    // There is nothing to gather from an empty tensor if bad indices are
    // ignored.
    if (params.num_elements() == 0) return SetToZero(context, *out);
    ASSIGN_OR_RETURN(const Tensor rows, UploadSlices(context, found));
    return GatherRowsOf(context, params, found.inner,
                        static_cast<const int64_t*>(rows.data()),
                        rows.num_elements(), *out);
  }

 private:
  const std::string name_;
  const bool ignores_bad_;
};

// ScatterNd, and TensorScatterUpdate, whose first input is the updated tensor.
class ScatterNdKernel : public OpKernel {
 public:
  ScatterNdKernel(const OpKernelConstruction& construction, bool updates)
      : OpKernel(construction),
        updates_(updates),
        ignores_bad_(IgnoresBadIndices(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    return updates_ ? Update(context) : Sum(context);
  }

 private:
  absl::Status Sum(OpKernelContext& context) const {
    const Tensor& updates = context.input(1);
    const Tensor& sizes = context.input(2);
    if (sizes.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape must be a vector, got shape ", sizes.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims dims, IntegersOf(sizes));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const NdSlices found,
                     SlicesToScatter(charge, shape, context.input(0),
                                     updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(SetToZero(context, *out));
    return Scatter(context, found, updates, *out);
  }

  absl::Status Update(OpKernelContext& context) const {
    const Tensor& tensor = context.input(0);
    const Tensor& updates = context.input(2);
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const NdSlices found,
                     SlicesToScatter(charge, tensor.shape(), context.input(1),
                                     updates.shape(), ignores_bad_));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, tensor.shape()));
    if (!out->SharesBufferWith(tensor)) {
      RETURN_IF_ERROR(context.device().context()->CopyOnDevice(tensor, *out));
    }
    return Scatter(context, found, updates, *out);
  }

  absl::Status Scatter(OpKernelContext& context, const NdSlices& found,
                       const Tensor& updates, Tensor& out) const {
    if (updates.num_elements() == 0 || out.num_elements() == 0) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor slices, UploadSlices(context, found));
    cuda::Rows rows;
    rows.indices = slices.data();
    rows.is_int64 = true;
    rows.count = slices.num_elements();
    rows.rows = out.num_elements() / found.inner;
    rows.row = found.inner;
    if (updates_) {
      return ReplaceRows(context, rows, updates, /*is_scalar=*/false, out);
    }
    return SumRows(context, cuda::Change::kAdd, rows, updates,
                   /*is_scalar=*/false, out);
  }

  const bool updates_;
  const bool ignores_bad_;
};

class PartitionKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& partitions = context.input(1);
    ASSIGN_OR_RETURN(const Partitions found, PreparePartitions(context));
    if (data.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor rows,
                     Upload(context, InOrder(found.counts, partitions)));
    const int64_t inner = data.num_elements() / partitions.num_elements();
    const auto* next = static_cast<const int64_t*>(rows.data());
    for (size_t i = 0; i < found.counts.size(); ++i) {
      const int64_t count = found.counts[i];
      if (count == 0) continue;
      RETURN_IF_ERROR(
          GatherRowsOf(context, data, inner, next, count, *found.outputs[i]));
      next += count;
    }
    return absl::OkStatus();
  }

 private:
  // The rows of partition 0, then those of 1, and so on.
  static std::vector<int64_t> InOrder(const std::vector<int64_t>& counts,
                                      const Tensor& partitions) {
    std::vector<int64_t> next;
    int64_t begin = 0;
    for (const int64_t count : counts) {
      next.push_back(begin);
      begin += count;
    }
    std::vector<int64_t> rows(begin);
    int64_t row = 0;
    for (const int32_t partition : partitions.flat<int32_t>()) {
      rows[next[partition]++] = row++;
    }
    return rows;
  }
};

class ReverseSequenceKernel : public OpKernel {
 public:
  explicit ReverseSequenceKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), dims_(SequenceDims::Read(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Dims lengths, SequenceLengths(context, dims_));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, input.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor uploaded, Upload(context, lengths));
    const int sequence = static_cast<int>(dims_.sequence);
    const int step = static_cast<int>(dims_.step);
    const TensorShape& shape = input.shape();
    cuda::Sequences sequences;
    sequences.n = shape.num_elements();
    sequences.sequences = shape.dim(sequence);
    sequences.sequence_stride = Product(shape, sequence + 1, shape.rank());
    sequences.steps = shape.dim(step);
    sequences.step_stride = Product(shape, step + 1, shape.rank());
    sequences.lengths = static_cast<const int64_t*>(uploaded.data());
    LaunchReverseSequences(ElementSize(input), sequences, input.data(),
                           out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  const SequenceDims dims_;
};

}  // namespace

void RegisterCudaNdKernels(CudaRegistrar& add, const std::string& most,
                           const std::string& all) {
  const std::string indices = "int32 int64";
  add.Add<GatherNdKernel>("GatherNd", {{"Tparams", all}, {"Tindices", indices}},
                          {"indices"});
  add.Add<ScatterNdKernel>(
      "ScatterNd",
      {{"T", "half bfloat16 float double int64"}, {"Tindices", indices}},
      {"indices", "shape"}, false);
  add.Add<ScatterNdKernel>("TensorScatterUpdate",
                           {{"T", most}, {"Tindices", indices}}, {"indices"},
                           true);
  add.Add<PartitionKernel>("DynamicPartition", {{"T", all}}, {"partitions"});
  add.Add<ReverseSequenceKernel>(
      "ReverseSequence", {{"T", all}, {"Tlen", indices}}, {"seq_lengths"});
}

}  // namespace weft
