// Ragged tensors to others: RaggedGather picks rows, RaggedTensorToSparse and
// RaggedTensorToTensor make tensors of them that every op takes, and
// RaggedFillEmptyRows gives each row without a value one.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"

namespace weft {
namespace {

template <typename... Parts>
absl::Status RaggedError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Inputs [first, first + count) as row splits.
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

absl::Status SetSplitsOutput(OpKernelContext& context, int i,
                             absl::Span<const int64_t> splits) {
  ASSIGN_OR_RETURN(
      Tensor * output,
      context.AllocateOutput(i, {static_cast<int64_t>(splits.size())}));
  return DispatchType(
      IndexTypes{}, output->dtype(), [&]<typename T>(TypeTag<T>) {
        if (splits.back() > std::numeric_limits<T>::max()) {
          return RaggedError("the rows have ", splits.back(),
                             " values, too many for row splits of type ",
                             DataTypeName(output->dtype()));
        }
        std::transform(splits.begin(), splits.end(),
                       output->mutable_flat<T>().begin(),
                       [](int64_t x) { return static_cast<T>(x); });
        return absl::OkStatus();
      });
}

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
  // Values that belong to rows of the result.
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

  // The splits that come of the indices' own dimensions: rows of one length.
  std::vector<Dims> OuterSplits(const TensorShape& indices) const {
    std::vector<Dims> splits(static_cast<size_t>(output_rank_));
    int64_t rows = 1;
    for (int d = 0; d + 1 < indices.rank(); ++d) {
      rows *= indices.dim(d);
      for (int64_t i = 0; i <= rows; ++i) {
        splits[d].push_back(i * indices.dim(d + 1));
      }
    }
    return splits;
  }

  absl::Status Gather(OpKernelContext& context, const std::vector<Dims>& splits,
                      const Dims& rows) const {
    const int levels = static_cast<int>(input_rank_);
    const Tensor& indices = context.input(levels + 1);
    const int outer = indices.rank() - 1;
    std::vector<Dims> out = OuterSplits(indices.shape());
    for (int level = 0; level < levels; ++level) {
      if (outer + level >= 0) out[outer + level].push_back(0);
    }
    std::vector<Part> parts;
    int64_t total = 0;
    for (const int64_t row : rows) {
      Part part = {row, row + 1};
      for (int level = 0; level < levels; ++level) {
        const Dims& from = splits[level];
        if (outer + level >= 0) {
          Dims& to = out[outer + level];
          const int64_t shift = to.back() - from[part.begin];
          for (int64_t i = part.begin; i < part.end; ++i) {
            to.push_back(from[i + 1] + shift);
          }
        }
        part = {from[part.begin], from[part.end]};
      }
      total += part.end - part.begin;
      parts.push_back(part);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      RETURN_IF_ERROR(SetSplitsOutput(context, static_cast<int>(i), out[i]));
    }
    return SetValues(context, parts, total);
  }

  absl::Status SetValues(OpKernelContext& context,
                         const std::vector<Part>& parts, int64_t total) const {
    const Tensor& values = context.input(static_cast<int>(input_rank_));
    Dims dims(values.shape().dims().begin(), values.shape().dims().end());
    int64_t row = 1;
    for (size_t d = 1; d < dims.size(); ++d) row *= dims[d];
    dims[0] = total;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(
        Tensor * output,
        context.AllocateOutput(static_cast<int>(output_rank_), shape));
    int64_t at = 0;
    for (const Part& part : parts) {
      const int64_t count = (part.end - part.begin) * row;
      CopyElements(values, part.begin * row, count, *output, at);
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

  // Where each value is, one coordinate after the other.
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
    // The row of each level that value `i` is in.
    std::vector<int64_t> row(splits.size(), 0);
    for (int64_t i = 0; i < values.dim(0) && inner > 0; ++i) {
      int64_t at = i;
      std::vector<int64_t> position(static_cast<size_t>(levels) + 1);
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

// ---- RaggedTensorToTensor ----

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
      return RaggedError("there is no partition of rows");
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
    ASSIGN_OR_RETURN(const std::vector<Dims> levels, ReadLevels(context));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOfResult(context, levels, values.shape()));
    RETURN_IF_ERROR(CheckDefault(context.input(2), values.shape()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithDefault(context, values.shape(), *output));
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

  // The row splits of each ragged dimension, from the outermost on.
  absl::StatusOr<std::vector<Dims>> ReadLevels(OpKernelContext& context) const {
    std::vector<Dims> levels;
    ASSIGN_OR_RETURN(int64_t rows, CountRows(context.input(3)));
    // A size that is said and not shown may be any: there must be memory for
    // the splits of so many rows.
    RETURN_IF_ERROR(context.AllocateTemp(DT_INT64, {rows}).status());
    for (size_t i = 0; i < types_.size(); ++i) {
      const Tensor& tensor = context.input(3 + static_cast<int>(i));
      if (types_[i] == Partition::kFirstDimSize) {
        if (i == 0) continue;
        return RaggedError("Cannot handle FIRST_DIM_SIZE after the first");
      }
      ASSIGN_OR_RETURN(Dims numbers, IntegersOf(tensor));
      if (types_[i] == Partition::kValueRowids) {
        ASSIGN_OR_RETURN(numbers, SplitsOfRowids(numbers, rows));
      }
      RETURN_IF_ERROR(CheckLevel(numbers, rows));
      rows = numbers.back();
      levels.push_back(std::move(numbers));
    }
    if (rows > context.input(1).dim(0)) {
      return RaggedError("Invalid row split size: the rows have ", rows,
                         " values, of which there are ",
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

  static absl::StatusOr<Dims> SplitsOfRowids(const Dims& rowids, int64_t rows) {
    Dims splits = {0};
    for (size_t i = 0; i < rowids.size(); ++i) {
      if (rowids[i] < 0 || rowids[i] >= rows) {
        return RaggedError("Got next_value_rowid=", rowids[i],
                           " which is not less than ", rows);
      }
      if (i > 0 && rowids[i] < rowids[i - 1]) {
        return RaggedError("Got next_value_rowid=", rowids[i], " after ",
                           rowids[i - 1], "; row ids must not fall");
      }
      while (static_cast<int64_t>(splits.size()) <= rowids[i]) {
        splits.push_back(static_cast<int64_t>(i));
      }
    }
    splits.resize(static_cast<size_t>(rows) + 1,
                  static_cast<int64_t>(rowids.size()));
    return splits;
  }

  static absl::Status CheckLevel(const Dims& splits, int64_t rows) {
    const auto count = static_cast<int64_t>(splits.size()) - 1;
    if (count > rows) {
      return RaggedError("Row partition size is greater than output size: ",
                         count, " > ", rows);
    }
    if (splits.empty() || splits[0] != 0 ||
        !std::is_sorted(splits.begin(), splits.end())) {
      return RaggedError("Invalid row split size.");
    }
    return absl::OkStatus();
  }

  // Sizes that are asked for, or as large as is needed.
  static absl::StatusOr<TensorShape> ShapeOfResult(
      const OpKernelContext& context, const std::vector<Dims>& levels,
      const TensorShape& values) {
    Dims dims = {levels.empty() ? values.dim(0)
                                : static_cast<int64_t>(levels[0].size()) - 1};
    for (const Dims& splits : levels) {
      int64_t longest = 0;
      for (size_t i = 1; i < splits.size(); ++i) {
        longest = std::max(longest, splits[i] - splits[i - 1]);
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

  // Empty for a scalar -1, which asks for nothing.
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

  // It broadcasts to a row of values.
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

  // Each row of the result as the default value.
  static absl::Status FillWithDefault(OpKernelContext& context,
                                      const TensorShape& values,
                                      Tensor& output) {
    const Tensor& fallback = context.input(2);
    if (fallback.num_elements() == 1) {
      ASSIGN_OR_RETURN(const Tensor scalar, fallback.Reshaped({}));
      return FillWithValue(scalar, output);
    }
    // One row, with strides of 0 where it broadcasts.
    const Dims dims(values.dims().begin() + 1, values.dims().end());
    ASSIGN_OR_RETURN(const TensorShape row_shape, TensorShape::Create(dims));
    const int missing = static_cast<int>(dims.size()) - fallback.rank();
    const Dims packed = PackedStrides(fallback.shape().dims());
    ElementPattern pattern{dims, Dims(dims.size(), 0), 0};
    for (int d = 0; d < fallback.rank(); ++d) {
      if (fallback.dim(d) != 1) pattern.strides[missing + d] = packed[d];
    }
    ASSIGN_OR_RETURN(Tensor row,
                     context.AllocateTemp(output.dtype(), row_shape));
    RETURN_IF_ERROR(CopyFromPattern(fallback, pattern, row));
    const int64_t size = row.num_elements();
    for (int64_t at = 0; size > 0 && at < output.num_elements(); at += size) {
      CopyElements(row, 0, size, output, at);
    }
    return absl::OkStatus();
  }

  // What lies outside of the result is left out.
  static void CopyRows(const std::vector<Dims>& levels, const Tensor& values,
                       Tensor& output) {
    if (output.num_elements() == 0) return;
    // Where each row of a level begins, in rows of the next; -1: nowhere.
    const int64_t first = levels.empty()
                              ? values.dim(0)
                              : static_cast<int64_t>(levels[0].size()) - 1;
    std::vector<int64_t> places;
    for (int64_t i = 0; i < first; ++i) {
      places.push_back(i < output.dim(0) ? i : -1);
    }
    for (size_t level = 0; level < levels.size(); ++level) {
      const Dims& splits = levels[level];
      const int64_t width = output.dim(static_cast<int>(level) + 1);
      std::vector<int64_t> next(splits.back(), -1);
      for (size_t row = 0; row + 1 < splits.size(); ++row) {
        if (places[row] < 0) continue;
        const int64_t end = std::min(splits[row + 1], splits[row] + width);
        for (int64_t i = splits[row]; i < end; ++i) {
          next[i] = places[row] * width + (i - splits[row]);
        }
      }
      places = std::move(next);
    }
    int64_t inner = 1;
    for (const int64_t size : values.shape().dims().subspan(1)) inner *= size;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      CopyElements(values, static_cast<int64_t>(i) * inner, inner, output,
                   places[i] * inner);
    }
  }

  std::vector<Partition> types_;
};

// ---- RaggedFillEmptyRows ----

class RaggedFillEmptyRowsKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& rowids = context.input(0);
    const Tensor& values = context.input(1);
    RETURN_IF_ERROR(CheckInputs(context));
    const int64_t rows = context.input(2).scalar<int64_t>();
    ASSIGN_OR_RETURN(Tensor * empty, context.AllocateOutput(2, {rows}));
    bool* const is_empty = empty->mutable_flat<bool>().data();
    std::fill_n(is_empty, rows, true);
    const auto ids = rowids.flat<int64_t>();
    std::vector<int64_t> order(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      is_empty[ids[i]] = false;
      order[i] = static_cast<int64_t>(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return ids[a] < ids[b]; });
    const int64_t total =
        values.num_elements() + std::count(is_empty, is_empty + rows, true);
    ASSIGN_OR_RETURN(Tensor * new_ids, context.AllocateOutput(0, {total}));
    ASSIGN_OR_RETURN(Tensor * new_values, context.AllocateOutput(1, {total}));
    std::vector<int64_t> reverse(ids.size());
    int64_t* out = new_ids->mutable_flat<int64_t>().data();
    auto next = order.begin();
    int64_t at = 0;
    for (int64_t row = 0; row < rows; ++row) {
      if (is_empty[row]) {
        out[at] = row;
        CopyElements(context.input(3), 0, 1, *new_values, at++);
      }
      for (; next != order.end() && ids[*next] == row; ++next) {
        out[at] = row;
        CopyElements(values, *next, 1, *new_values, at);
        reverse[*next] = at++;
      }
    }
    return SetVector(context, 3, reverse);
  }

 private:
  static absl::Status CheckInputs(const OpKernelContext& context) {
    const Tensor& rowids = context.input(0);
    const Tensor& values = context.input(1);
    if (!rowids.shape().IsVector() || !values.shape().IsVector()) {
      return RaggedError("value_rowids and values must be vectors, saw: ",
                         rowids.shape().ToString(), " and ",
                         values.shape().ToString());
    }
    if (rowids.dim(0) != values.dim(0)) {
      return RaggedError("The length of `values` (", values.dim(0),
                         ") must match the first dimension of `value_rowids` (",
                         rowids.dim(0), ").");
    }
    if (!context.input(2).shape().IsScalar()) {
      return RaggedError("nrows must be a scalar, saw: ",
                         context.input(2).shape().ToString());
    }
    if (!context.input(3).shape().IsScalar()) {
      return RaggedError("default_value must be a scalar, saw: ",
                         context.input(3).shape().ToString());
    }
    const int64_t rows = context.input(2).scalar<int64_t>();
    if (rows < 0) return RaggedError("nrows must not be negative: ", rows);
    const auto ids = rowids.flat<int64_t>();
    if (rows == 0 && !ids.empty()) {
      return RaggedError("Received SparseTensor with dense_shape[0] = 0 but ",
                         "indices.shape[0] = ", ids.size());
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0 && ids[i] < rows) continue;
      return RaggedError("indices(", i, ", 0) is invalid: ", ids[i],
                         ids[i] < 0 ? " < 0" : absl::StrCat(" >= ", rows));
    }
    return absl::OkStatus();
  }
};

// ---- The gradient of RaggedTensorToVariant ----

// What came back to the rows that a batch of variants was made of, one after
// the other; a row that nothing came back to has zeros.
class RaggedToVariantGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const auto grads = context.input(0).flat<Variant>();
    ASSIGN_OR_RETURN(Dims splits, IntegersOf(context.input(1)));
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeFromDims(context.input(2)));
    // What was not ragged has a scalar: each of its rows is one.
    if (context.input(1).rank() == 0) {
      splits.clear();
      for (size_t i = 0; i <= grads.size(); ++i) {
        splits.push_back(static_cast<int64_t>(i));
      }
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    if (shape.rank() == 0 || splits.size() != grads.size() + 1) {
      return RaggedError("there are ", grads.size(), " gradients of rows for ",
                         splits.size(), " row splits");
    }
    const int64_t row =
        shape.dim(0) == 0 ? 0 : shape.num_elements() / shape.dim(0);
    for (size_t i = 0; i < grads.size(); ++i) {
      RETURN_IF_ERROR(CopyGrad(grads[i], splits[i] * row,
                               (splits[i + 1] - splits[i]) * row, *output));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CopyGrad(const Variant& grad, int64_t begin,
                               int64_t count, Tensor& output) {
    if (grad.tensors == nullptr || grad.tensors->empty()) {
      return absl::OkStatus();
    }
    const Tensor& values = grad.tensors->back();
    if (begin < 0 || count < 0 || begin + count > output.num_elements() ||
        values.num_elements() != count || values.dtype() != output.dtype()) {
      return RaggedError("the gradient of a row has the shape ",
                         values.shape().ToString(), ", which is not the row's");
    }
    CopyElements(values, 0, count, output, begin);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterRaggedPartsKernels(KernelRegistry& registry) {
  registry.Register({.op = "RaggedGather"}, RaggedGatherKernel::Make);
  registry.Register<RaggedTensorToSparseKernel>("RaggedTensorToSparse");
  registry.Register({.op = "RaggedTensorToTensor"},
                    RaggedTensorToTensorKernel::Make);
  registry.Register<RaggedFillEmptyRowsKernel>("RaggedFillEmptyRows");
  registry.Register<RaggedToVariantGradKernel>("RaggedTensorToVariantGradient");
}

}  // namespace weft
