// Kernels of parts of ragged tensors: RaggedGather selects rows,
// RaggedTensorToSparse makes sparse tensors; and the gradient of
// RaggedTensorToVariant.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns inputs [first, first + count) as row splits.
absl::StatusOr<std::vector<Dims>> ReadSplits(const OpKernelContext& context,
                                             int first, int count) {
  std::vector<Dims> splits;
  for (int i = 0; i < count; ++i) {
    const Tensor& tensor = context.input(first + i);
    if (tensor.rank() != 1 || tensor.num_elements() == 0) {
      return RaggedError("ragged splits may not be empty.");
    }
    ASSIGN_OR_RETURN(splits.emplace_back(), IntegersOf(tensor));
  }
  return splits;
}

// Writes row splits to an output that is allocated first: there may be far more
// splits than memory.
class SplitsWriter {
 public:
  static absl::StatusOr<SplitsWriter> Allocate(OpKernelContext& context, int i,
                                               int64_t rows) {
    int64_t count = 0;
    if (__builtin_add_overflow(rows, 1, &count)) {
      return RaggedError("there are too many rows");
    }
    SplitsWriter writer;
    ASSIGN_OR_RETURN(writer.output_, context.AllocateOutput(i, {count}));
    RETURN_IF_ERROR(writer.AddRow(0));
    return writer;
  }

  absl::Status AddRow(int64_t length) {
    if (__builtin_add_overflow(end_, length, &end_)) {
      return RaggedError("the rows have too many values");
    }
    return DispatchType(
        IndexTypes{}, output_->dtype(), [&]<typename T>(TypeTag<T>) {
          if (end_ > std::numeric_limits<T>::max()) {
            return RaggedError("the rows have ", end_,
                               " values, too many for row splits of type ",
                               DataTypeName(output_->dtype()));
          }
          output_->mutable_flat<T>()[next_++] = static_cast<T>(end_);
          return absl::OkStatus();
        });
  }

 private:
  Tensor* output_ = nullptr;
  size_t next_ = 0;
  int64_t end_ = 0;
};

// ---- RaggedGather ----

class RaggedGatherKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedGatherKernel>(construction);
    ASSIGN_OR_RETURN(kernel->input_rank_,
                     construction.GetAttr<int64_t>("PARAMS_RAGGED_RANK"));
    ASSIGN_OR_RETURN(kernel->output_rank_,
                     construction.GetAttr<int64_t>("OUTPUT_RAGGED_RANK"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const int levels = static_cast<int>(input_rank_);
    const Tensor& values = context.input(levels);
    const Tensor& indices = context.input(levels + 1);
    if (values.rank() == 0) return RaggedError("params.rank must be nonzero");
    if (output_rank_ != input_rank_ + indices.rank() - 1) {
      return RaggedError(
          "OUTPUT_RAGGED_RANK must be ", input_rank_ + indices.rank() - 1,
          ", that of params and of indices less one, but is ", output_rank_);
    }
    ASSIGN_OR_RETURN(const std::vector<Dims> splits,
                     ReadSplits(context, 0, levels));
    RETURN_IF_ERROR(CheckSplits(splits, values.dim(0)));
    ASSIGN_OR_RETURN(const Dims rows, IntegersOf(indices));
    const auto count = static_cast<int64_t>(splits[0].size()) - 1;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && rows[i] < count) continue;
      return RaggedError(
          "indices", CoordinatesOf(indices.shape(), static_cast<int64_t>(i)),
          " = ", rows[i], " is not in [0, ", count, ")");
    }
    return Gather(context, splits, rows);
  }

 private:
  // A range of values that belong to rows of the result.
  struct Part {
    int64_t begin, end;
  };

  static absl::Status CheckSplits(const std::vector<Dims>& splits,
                                  int64_t num_values) {
    for (size_t i = 0; i < splits.size(); ++i) {
      const bool is_last = i + 1 == splits.size();
      const int64_t most =
          is_last ? num_values : static_cast<int64_t>(splits[i + 1].size()) - 1;
      if (splits[i].front() < 0) {
        return RaggedError("Ragged splits must be non-negative");
      }
      if (splits[i].back() > most) {
        return RaggedError("Ragged splits must not point past values");
      }
      if (!std::is_sorted(splits[i].begin(), splits[i].end())) {
        return RaggedError("Ragged splits must be sorted");
      }
    }
    return absl::OkStatus();
  }

  // The splits for the indices' own dimensions: rows of equal length.
  static absl::Status SetOuterSplits(OpKernelContext& context,
                                     const TensorShape& indices) {
    int64_t rows = 1;
    for (int d = 0; d + 1 < indices.rank(); ++d) {
      if (__builtin_mul_overflow(rows, indices.dim(d), &rows)) {
        return RaggedError("there are too many rows");
      }
      ASSIGN_OR_RETURN(SplitsWriter splits,
                       SplitsWriter::Allocate(context, d, rows));
      for (int64_t i = 0; i < rows; ++i) {
        RETURN_IF_ERROR(splits.AddRow(indices.dim(d + 1)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Gather(OpKernelContext& context, const std::vector<Dims>& splits,
                      const Dims& rows) const {
    const TensorShape& indices =
        context.input(static_cast<int>(input_rank_) + 1).shape();
    RETURN_IF_ERROR(SetOuterSplits(context, indices));
    std::vector<Part> parts;
    for (const int64_t row : rows) parts.push_back({row, row + 1});
    // A scalar index removes a level.
    int output = indices.rank() - 1;
    for (const Dims& level : splits) {
      if (output >= 0) {
        RETURN_IF_ERROR(SetInnerSplits(context, output, level, parts));
      }
      ++output;
      for (Part& part : parts) part = {level[part.begin], level[part.end]};
    }
    return SetValues(context, parts);
  }

  // The splits of the rows in the parts, concatenated.
  static absl::Status SetInnerSplits(OpKernelContext& context, int i,
                                     const Dims& level,
                                     const std::vector<Part>& parts) {
    ASSIGN_OR_RETURN(const int64_t rows, TotalOf(parts));
    ASSIGN_OR_RETURN(SplitsWriter splits,
                     SplitsWriter::Allocate(context, i, rows));
    for (const Part& part : parts) {
      for (int64_t row = part.begin; row < part.end; ++row) {
        RETURN_IF_ERROR(splits.AddRow(level[row + 1] - level[row]));
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<int64_t> TotalOf(const std::vector<Part>& parts) {
    int64_t total = 0;
    for (const Part& part : parts) {
      if (__builtin_add_overflow(total, part.end - part.begin, &total)) {
        return RaggedError("the result has too many values");
      }
    }
    return total;
  }

  absl::Status SetValues(OpKernelContext& context,
                         const std::vector<Part>& parts) const {
    const Tensor& values = context.input(static_cast<int>(input_rank_));
    Dims dims(values.shape().dims().begin(), values.shape().dims().end());
    const int64_t row =
        values.dim(0) == 0 ? 0 : values.num_elements() / values.dim(0);
    ASSIGN_OR_RETURN(dims[0], TotalOf(parts));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(
        Tensor * output,
        context.AllocateOutput(static_cast<int>(output_rank_), shape));
    HeapCharge charge(context.host_allocator());
    int64_t at = 0;
    for (const Part& part : parts) {
      const int64_t count = (part.end - part.begin) * row;
      RETURN_IF_ERROR(
          CopyElements(charge, values, part.begin * row, count, *output, at));
      at += count;
    }
    return absl::OkStatus();
  }

  int64_t input_rank_ = 0, output_rank_ = 0;
};

// ---- RaggedTensorToSparse ----

class RaggedTensorToSparseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int levels = context.num_inputs() - 1;
    const Tensor& values = context.input(levels);
    ASSIGN_OR_RETURN(const std::vector<Dims> splits,
                     ReadSplits(context, 0, levels));
    RETURN_IF_ERROR(CheckSplits(splits, values));
    Dims shape = {static_cast<int64_t>(splits[0].size()) - 1};
    for (const Dims& level : splits) shape.push_back(LongestRow(level));
    shape.insert(shape.end(), values.shape().dims().begin() + 1,
                 values.shape().dims().end());
    RETURN_IF_ERROR(SetVector(context, 2, shape));
    ASSIGN_OR_RETURN(Tensor flat, values.Reshaped({values.num_elements()}));
    context.SetOutput(1, std::move(flat));
    return SetIndices(context, splits, values,
                      static_cast<int64_t>(shape.size()));
  }

 private:
  static absl::Status CheckSplits(const std::vector<Dims>& splits,
                                  const Tensor& values) {
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i][0] != 0) {
        return RaggedError("First value of ragged splits must be 0.");
      }
      for (size_t j = 1; j < splits[i].size(); ++j) {
        if (splits[i][j] >= splits[i][j - 1]) continue;
        return RaggedError(
            "Ragged splits should be non decreasing, but we got ",
            splits[i][j - 1], " followed by ", splits[i][j]);
      }
      const bool is_last = i + 1 == splits.size();
      if (is_last && values.rank() == 0) {
        return RaggedError(
            "Final value of ragged splits must match the length the "
            "corresponding ragged values.");
      }
      const int64_t wanted =
          is_last ? values.dim(0)
                  : static_cast<int64_t>(splits[i + 1].size()) - 1;
      if (splits[i].back() != wanted) {
        return RaggedError(
            "Final value of ragged splits must match the length the "
            "corresponding ragged values.");
      }
    }
    return absl::OkStatus();
  }

  static int64_t LongestRow(const Dims& splits) {
    int64_t longest = 0;
    for (size_t i = 1; i < splits.size(); ++i) {
      longest = std::max(longest, splits[i] - splits[i - 1]);
    }
    return longest;
  }

  // The position of each value, coordinate by coordinate.
  static absl::Status SetIndices(OpKernelContext& context,
                                 const std::vector<Dims>& splits,
                                 const Tensor& values, int64_t rank) {
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({values.num_elements(), rank}));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    int64_t* out = output->mutable_flat<int64_t>().data();
    const auto levels = static_cast<int64_t>(splits.size());
    const int64_t inner =
        values.dim(0) == 0 ? 0 : values.num_elements() / values.dim(0);
    // The row of value `i` at each level, and its position there.
    std::vector<int64_t> row(splits.size(), 0), position(splits.size() + 1);
    for (int64_t i = 0; i < values.dim(0) && inner > 0; ++i) {
      int64_t at = i;
      for (int64_t level = levels - 1; level >= 0; --level) {
        while (splits[level][row[level] + 1] <= at) ++row[level];
        position[level + 1] = at - splits[level][row[level]];
        at = row[level];
      }
      position[0] = at;
      for (int64_t j = 0; j < inner; ++j) {
        int64_t* const coordinates =
            std::copy(position.begin(), position.end(), out);
        WriteInner(values.shape(), j, coordinates);
        out += rank;
      }
    }
    return absl::OkStatus();
  }

  // The coordinates of element `j` of a row of values.
  static void WriteInner(const TensorShape& values, int64_t j, int64_t* out) {
    for (int d = values.rank() - 1; d > 0; --d) {
      out[d - 1] = j % values.dim(d);
      j /= values.dim(d);
    }
  }
};

// ---- The gradient of RaggedTensorToVariant ----

// Concatenates the gradients of the rows in a batch of variants; a row without
// a gradient gets zeros.
class RaggedToVariantGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const auto grads = context.input(0).flat<Variant>();
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeFromDims(context.input(2)));
    ASSIGN_OR_RETURN(const Dims splits,
                     ReadRows(context.input(1), grads.size(), shape));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    const int64_t row =
        shape.dim(0) == 0 ? 0 : shape.num_elements() / shape.dim(0);
    HeapCharge charge(context.host_allocator());
    for (size_t i = 0; i < grads.size(); ++i) {
      RETURN_IF_ERROR(CopyGrad(charge, grads[i], splits[i] * row,
                               (splits[i + 1] - splits[i]) * row, *output));
    }
    return absl::OkStatus();
  }

 private:
  // Checks the splits of `count` rows within the shape. Without ragged
  // dimensions they are a scalar: each row has length one.
  static absl::StatusOr<Dims> ReadRows(const Tensor& tensor, size_t count,
                                       const TensorShape& shape) {
    Dims splits;
    if (tensor.rank() == 0) {
      for (size_t i = 0; i <= count; ++i) {
        splits.push_back(static_cast<int64_t>(i));
      }
    } else {
      ASSIGN_OR_RETURN(splits, IntegersOf(tensor));
    }
    if (splits.size() != count + 1) {
      return RaggedError("there are ", count, " gradients of rows for ",
                         splits.size(), " row splits");
    }
    if (shape.rank() == 0 || splits.front() < 0 ||
        splits.back() > shape.dim(0) || !absl::c_is_sorted(splits)) {
      return RaggedError("the row splits do not match values of shape ",
                         shape.ToString());
    }
    return splits;
  }

  static absl::Status CopyGrad(HeapCharge& charge, const Variant& grad,
                               int64_t begin, int64_t count, Tensor& output) {
    if (grad.tensors == nullptr || grad.tensors->empty()) {
      return absl::OkStatus();
    }
    const Tensor& values = grad.tensors->back();
    if (values.num_elements() != count || values.dtype() != output.dtype()) {
      return RaggedError("the gradient of a row has shape ",
                         values.shape().ToString(), " instead of the row's");
    }
    return CopyElements(charge, values, 0, count, output, begin);
  }
};

}  // namespace

void RegisterRaggedPartsKernels(KernelRegistry& registry) {
  registry.Register({.op = "RaggedGather"}, RaggedGatherKernel::Make);
  registry.Register<RaggedTensorToSparseKernel>("RaggedTensorToSparse");
  registry.Register<RaggedToVariantGradKernel>("RaggedTensorToVariantGradient");
}

}  // namespace weft
