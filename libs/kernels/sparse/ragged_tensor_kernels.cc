// RaggedTensorToTensor: a ragged tensor as a dense one, padded and cut to a
// shape.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class RaggedTensorToTensorKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedTensorToTensorKernel>(construction);
    ASSIGN_OR_RETURN(
        const auto types,
        construction.GetAttr<std::vector<std::string>>("row_partition_types"));
    for (const std::string& type : types) {
      ASSIGN_OR_RETURN(kernel->types_.emplace_back(), ReadType(type));
    }
    if (types.empty()) {
      return RaggedError("row_partition_types must not be empty");
    }
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    if (context.num_inputs() - 3 < static_cast<int>(types_.size())) {
      return RaggedError("there are ", types_.size(),
                         " row_partition_types for ", context.num_inputs() - 3,
                         " row_partition_tensors");
    }
    const Tensor& values = context.input(1);
    if (values.rank() == 0) {
      return RaggedError("rt_input.flat_values must have rank >= 1");
    }
    ASSIGN_OR_RETURN(const Levels levels, ReadLevels(context));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOfResult(context, levels, values.shape()));
    RETURN_IF_ERROR(CheckDefault(context.input(2), values.shape()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithDefault(context, values.shape(), *output));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, values));
    CopyRows(levels, values, *output);
    return absl::OkStatus();
  }

 private:
  enum class Partition { kFirstDimSize, kRowSplits, kValueRowids };

  static absl::StatusOr<Partition> ReadType(const std::string& type) {
    if (type == "FIRST_DIM_SIZE") return Partition::kFirstDimSize;
    if (type == "ROW_SPLITS") return Partition::kRowSplits;
    if (type == "VALUE_ROWIDS") return Partition::kValueRowids;
    return RaggedError("Unknown string for partition info type: ", type);
  }

  // A nonempty row: values, or rows of the next level, [begin, end).
  struct Row {
    int64_t number, begin, end;
  };
  // The ragged dimensions, outermost first, with their nonempty rows in order.
  // The total number of rows may be anything: memory is only used for nonempty
  // rows.
  struct Levels {
    int64_t num_rows = 0;  // of the outermost level
    std::vector<std::vector<Row>> rows;
  };

  absl::StatusOr<Levels> ReadLevels(const OpKernelContext& context) const {
    Levels levels;
    ASSIGN_OR_RETURN(levels.num_rows, CountRows(context.input(3)));
    int64_t count = levels.num_rows;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (types_[i] == Partition::kFirstDimSize) {
        if (i == 0) continue;
        return RaggedError("Cannot handle FIRST_DIM_SIZE after the first");
      }
      ASSIGN_OR_RETURN(const Dims numbers,
                       IntegersOf(context.input(3 + static_cast<int>(i))));
      if (types_[i] == Partition::kValueRowids) {
        ASSIGN_OR_RETURN(levels.rows.emplace_back(), RowsOfIds(numbers, count));
        count = static_cast<int64_t>(numbers.size());
      } else {
        ASSIGN_OR_RETURN(levels.rows.emplace_back(),
                         RowsOfSplits(numbers, count));
        count = numbers.back();
      }
    }
    if (count > context.input(1).dim(0)) {
      return RaggedError("Invalid row split size: the rows have ", count,
                         " values, but the input has ",
                         context.input(1).dim(0));
    }
    return levels;
  }

  absl::StatusOr<int64_t> CountRows(const Tensor& first) const {
    if (first.num_elements() == 0) {
      return RaggedError(
          "Invalid first partition input. Tensor requires at least one "
          "element.");
    }
    switch (types_[0]) {
      case Partition::kFirstDimSize: {
        ASSIGN_OR_RETURN(const Dims size, IntegersOf(first));
        if (size[0] >= 0) return size[0];
        return RaggedError("the first dimension has the size ", size[0]);
      }
      case Partition::kRowSplits:
        return first.num_elements() - 1;
      case Partition::kValueRowids:
        break;
    }
    return RaggedError("Cannot handle VALUE_ROWIDS in first dimension.");
  }

  static absl::StatusOr<std::vector<Row>> RowsOfIds(const Dims& ids,
                                                    int64_t count) {
    std::vector<Row> rows;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (ids[i] < 0 || ids[i] >= count) {
        return RaggedError("Got next_value_rowid=", ids[i],
                           " which is not less than ", count);
      }
      if (i > 0 && ids[i] < ids[i - 1]) {
        return RaggedError("Got next_value_rowid=", ids[i], " after ",
                           ids[i - 1], "; row ids must not fall");
      }
      if (i == 0 || ids[i] != ids[i - 1]) rows.push_back({ids[i], at, at});
      rows.back().end = at + 1;
    }
    return rows;
  }

  static absl::StatusOr<std::vector<Row>> RowsOfSplits(const Dims& splits,
                                                       int64_t count) {
    if (splits.empty() || splits[0] != 0 ||
        !std::is_sorted(splits.begin(), splits.end())) {
      return RaggedError("Invalid row split size.");
    }
    const auto own = static_cast<int64_t>(splits.size()) - 1;
    if (own > count) {
      return RaggedError("Row partition size is greater than output size: ",
                         own, " > ", count);
    }
    std::vector<Row> rows;
    for (int64_t i = 0; i < own; ++i) {
      if (splits[i + 1] > splits[i]) {
        rows.push_back({i, splits[i], splits[i + 1]});
      }
    }
    return rows;
  }

  // The requested sizes, or the smallest sufficient ones.
  static absl::StatusOr<TensorShape> ShapeOfResult(
      const OpKernelContext& context, const Levels& levels,
      const TensorShape& values) {
    Dims dims = {levels.num_rows};
    for (const std::vector<Row>& rows : levels.rows) {
      int64_t longest = 0;
      for (const Row& row : rows) {
        longest = std::max(longest, row.end - row.begin);
      }
      dims.push_back(longest);
    }
    const size_t ragged = dims.size();
    dims.insert(dims.end(), values.dims().begin() + 1, values.dims().end());
    ASSIGN_OR_RETURN(const Dims wanted, ReadShape(context.input(0)));
    if (wanted.empty() && context.input(0).rank() == 0) {
      return TensorShape::Create(dims);
    }
    if (wanted.size() != dims.size()) {
      return RaggedError(
          "rt_input.shape and shape=", PartialShape(wanted).ToString(),
          " are incompatible: rt_input.rank = ", dims.size(),
          " but shape.rank = ", wanted.size());
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (wanted[d] < 0) continue;
      if (d >= ragged && wanted[d] != dims[d]) {
        return RaggedError(
            "rt_input.shape and shape=", PartialShape(wanted).ToString(),
            " are incompatible: rt_input.shape[", d, "] = ", dims[d],
            " but shape[", d, "] = ", wanted[d]);
      }
      dims[d] = wanted[d];
    }
    return TensorShape::Create(dims);
  }

  // Empty for a scalar -1, which requests no sizes.
  static absl::StatusOr<Dims> ReadShape(const Tensor& tensor) {
    ASSIGN_OR_RETURN(Dims sizes, IntegersOf(tensor));
    if (tensor.rank() == 0) {
      if (sizes[0] == -1) return Dims();
      return RaggedError(
          "The only valid scalar shape tensor is the fully unknown shape "
          "specified as -1.");
    }
    if (tensor.rank() > 1) {
      return RaggedError("Shape must be at most rank 1 but is rank ",
                         tensor.rank());
    }
    for (const int64_t size : sizes) {
      if (size < -1) return RaggedError("Dimension ", size, " must be >= -1");
    }
    return sizes;
  }

  // The default must broadcast to a row of values.
  static absl::Status CheckDefault(const Tensor& fallback,
                                   const TensorShape& values) {
    const auto differ = [&](const auto&... why) {
      return RaggedError("default_value.shape=", fallback.shape().ToString(),
                         " and rt_input.flat_values.shape=", values.ToString(),
                         " are incompatible: ", why...);
    };
    if (fallback.rank() >= values.rank()) {
      return differ(
          "default_value.rank = ", fallback.rank(),
          "  must be less than rt_input.flat_values.rank = ", values.rank());
    }
    const int missing = values.rank() - fallback.rank();
    for (int d = 0; d < fallback.rank(); ++d) {
      const int64_t own = fallback.dim(d), theirs = values.dim(missing + d);
      if (own == 1 || own == theirs) continue;
      return differ("default_value.shape[", d - fallback.rank(), "] = ", own,
                    " but rt_input.flat_values.shape[", d - fallback.rank(),
                    "] = ", theirs);
    }
    return absl::OkStatus();
  }

  // Fills each row of the result with the default value.
  static absl::Status FillWithDefault(OpKernelContext& context,
                                      const TensorShape& values,
                                      Tensor& output) {
    const Tensor& fallback = context.input(2);
    if (fallback.num_elements() == 1) {
      ASSIGN_OR_RETURN(const Tensor scalar, fallback.Reshaped({}));
      return FillWithValue(context, scalar, output);
    }
    // One row, to which the default broadcasts.
    const Dims dims(values.dims().begin() + 1, values.dims().end());
    ASSIGN_OR_RETURN(const TensorShape row_shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor row,
                     context.AllocateTemp(output.dtype(), row_shape));
    RETURN_IF_ERROR(CopyFromPattern(
        fallback, BroadcastPattern(fallback.shape().dims(), dims), row));
    const int64_t size = row.num_elements();
    if (size == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, row, output.num_elements() / size));
    for (int64_t at = 0; at < output.num_elements(); at += size) {
      CopyElements(row, 0, size, output, at);
    }
    return absl::OkStatus();
  }

  // Rows [begin, begin + count) of a level, at `place` in the result, in rows
  // of that level.
  struct Run {
    int64_t begin, count, place;
  };

  // Rows outside of the result are left out.
  static void CopyRows(const Levels& levels, const Tensor& values,
                       Tensor& output) {
    if (output.num_elements() == 0) return;
    std::vector<Run> runs = {{0, std::min(levels.num_rows, output.dim(0)), 0}};
    int d = 0;
    for (const std::vector<Row>& rows : levels.rows) {
      runs = RunsOfNext(rows, runs, output.dim(++d));
    }
    int64_t inner = 1;
    for (const int64_t size : values.shape().dims().subspan(1)) inner *= size;
    for (const Run& run : runs) {
      CopyElements(values, run.begin * inner, run.count * inner, output,
                   run.place * inner);
    }
  }

  // Both are sorted.
  static std::vector<Run> RunsOfNext(const std::vector<Row>& rows,
                                     const std::vector<Run>& runs,
                                     int64_t width) {
    std::vector<Run> next;
    auto run = runs.begin();
    for (const Row& row : rows) {
      while (run != runs.end() && row.number >= run->begin + run->count) ++run;
      if (run == runs.end()) break;
      if (row.number < run->begin) continue;
      const int64_t place = run->place + (row.number - run->begin);
      next.push_back(
          {row.begin, std::min(row.end - row.begin, width), place * width});
    }
    return next;
  }

  std::vector<Partition> types_;
};

}  // namespace

void RegisterRaggedTensorKernels(KernelRegistry& registry) {
  registry.Register({.op = "RaggedTensorToTensor"},
                    RaggedTensorToTensorKernel::Make);
}

}  // namespace weft
