#include "libs/kernels/resource/accumulator_sums.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/math/tensor_sum.h"

namespace weft {
namespace {

using Accumulated = TypeList<float, double, half>;

absl::Status DivideElements(Tensor& sum, int64_t at, int64_t count,
                            int64_t divisor) {
  return DispatchType(Accumulated{}, sum.dtype(), [&]<typename T>(TypeTag<T>) {
    using W = Wide<T>;
    T* a = sum.mutable_flat<T>().data() + at;
    for (int64_t i = 0; i < count; ++i) {
      a[i] = static_cast<T>(static_cast<W>(a[i]) / static_cast<W>(divisor));
    }
    return absl::OkStatus();
  });
}

absl::Status ShapeMismatch(absl::string_view expected, absl::string_view got) {
  return absl::InvalidArgumentError(
      absl::StrCat("Shape mismatch: expected ", expected, ", got ", got));
}

int64_t RowSize(const Tensor& values) {
  int64_t size = 1;
  for (int d = 1; d < values.rank(); ++d) size *= values.dim(d);
  return size;
}

absl::Status CheckParts(const Tensor& indices, const Tensor& values) {
  if (!indices.shape().IsVector() || values.rank() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices must be a vector and values at least one, but have shapes ",
        indices.shape().ToString(), " and ", values.shape().ToString()));
  }
  if (indices.dim(0) == values.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected as many values as indices, got ", values.dim(0),
                   " and ", indices.dim(0)));
}

class DenseSum : public GradientSum {
 public:
  explicit DenseSum(const GradientAccumulatorOptions& options)
      : options_(options) {}

  absl::Status Check(absl::Span<const Tensor> gradient,
                     absl::Span<const Tensor> other) const override {
    const PartialShape wanted =
        other.empty() ? options_.shape : PartialShape(other[0].shape());
    if (wanted.IsCompatibleWith(gradient[0].shape())) return absl::OkStatus();
    return ShapeMismatch(wanted.ToString(), gradient[0].shape().ToString());
  }

  absl::Status Add(absl::Span<const Tensor> gradient, bool is_first) override {
    const Tensor& added = gradient[0];
    RETURN_IF_ERROR(Check(gradient, is_first ? absl::Span<const Tensor>()
                                             : absl::MakeConstSpan(&sum_, 1)));
    if (is_first) {
      sum_ = added;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(MakeWritable(sum_));
    return AddRange(sum_, 0, added, 0, added.num_elements());
  }

  absl::StatusOr<std::vector<Tensor>> Take(int64_t count) override {
    Tensor result = std::move(sum_);
    if (options_.takes_mean && count > 1) {
      RETURN_IF_ERROR(MakeWritable(result));
      RETURN_IF_ERROR(DivideElements(result, 0, result.num_elements(), count));
    }
    return std::vector<Tensor>{std::move(result)};
  }

  void Forget() override { sum_ = Tensor(); }

 private:
  const GradientAccumulatorOptions options_;
  Tensor sum_;
};

class SparseSum : public GradientSum {
 public:
  explicit SparseSum(const GradientAccumulatorOptions& options)
      : options_(options) {}

  absl::Status Check(absl::Span<const Tensor> gradient,
                     absl::Span<const Tensor> other) const override {
    return CheckBeside(gradient, other.empty() ? nullptr : &other[1]);
  }

  absl::Status Add(absl::Span<const Tensor> gradient, bool is_first) override {
    const Tensor& indices = gradient[0];
    const Tensor& values = gradient[1];
    RETURN_IF_ERROR(CheckBeside(gradient, is_first ? nullptr : &values_));
    if (!is_first) return Merge(indices.flat<int64_t>(), values);
    const auto rows = indices.flat<int64_t>();
    indices_.assign(rows.begin(), rows.end());
    counts_.assign(rows.size(), 1);
    values_ = values;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Tensor>> Take(int64_t) override {
    Tensor values = std::move(values_);
    const std::vector<int64_t> indices = std::exchange(indices_, {});
    const std::vector<int64_t> counts = std::exchange(counts_, {});
    if (options_.takes_mean) {
      RETURN_IF_ERROR(MakeWritable(values));
      const int64_t row = RowSize(values);
      for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 1) continue;
        RETURN_IF_ERROR(DivideElements(values, static_cast<int64_t>(i) * row,
                                       row, counts[i]));
      }
    }
    std::vector<int64_t> shape(values.shape().dims().begin(),
                               values.shape().dims().end());
    shape[0] = options_.shape.has_rank() && options_.shape.rank() > 0
                   ? options_.shape.dim(0)
                   : -1;
    return std::vector<Tensor>{Tensor::Vector(absl::MakeConstSpan(indices)),
                               std::move(values),
                               Tensor::Vector(absl::MakeConstSpan(shape))};
  }

  void Forget() override {
    indices_.clear();
    counts_.clear();
    values_ = Tensor();
  }

 private:
  int declared_rank() const {
    return options_.shape.has_rank() ? options_.shape.rank() : 0;
  }

  // Checks that `gradient` can be added to the values in `other`. `other` is
  // null if there are no values yet.
  absl::Status CheckBeside(absl::Span<const Tensor> gradient,
                           const Tensor* other) const {
    RETURN_IF_ERROR(CheckParts(gradient[0], gradient[1]));
    int64_t num_rows =
        declared_rank() > 0 ? options_.shape.dim(0) : PartialShape::kUnknown;
    if (gradient.size() > 2) {
      RETURN_IF_ERROR(CheckDenseShape(gradient[2]));
      const auto dims = gradient[2].flat<int64_t>();
      if (num_rows < 0 && !dims.empty()) num_rows = dims[0];
    }
    RETURN_IF_ERROR(CheckIndices(gradient[0], num_rows));
    return other == nullptr ? CheckAgainstDeclared(gradient[1])
                            : CheckSameRows(gradient[1], *other);
  }

  absl::Status CheckDenseShape(const Tensor& shape) const {
    const auto dims = shape.flat<int64_t>();
    if (declared_rank() > static_cast<int>(dims.size())) {
      return ShapeMismatch(
          absl::StrCat("shape rank at least ", declared_rank()),
          absl::StrCat(dims.size()));
    }
    for (int d = 0; d < declared_rank(); ++d) {
      const int64_t size = options_.shape.dim(d);
      if (size == PartialShape::kUnknown || size == dims[d]) continue;
      return ShapeMismatch(absl::StrCat("dim ", d, " to be ", size),
                           absl::StrCat(dims[d]));
    }
    return absl::OkStatus();
  }

  // Checked here, where the replica gets the error, not where the average is
  // applied. `limit` is negative if it is unknown.
  static absl::Status CheckIndices(const Tensor& indices, int64_t limit) {
    const auto rows = indices.flat<int64_t>();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && (limit < 0 || rows[i] < limit)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Shape mismatch: index of slice ", i,
                       " exceeded limits of shape; index is ", rows[i],
                       " exceeded ", limit));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAgainstDeclared(const Tensor& values) const {
    if (declared_rank() > values.rank()) {
      return ShapeMismatch(
          absl::StrCat("values rank at least ", declared_rank()),
          absl::StrCat(values.rank()));
    }
    for (int d = 1; d < declared_rank(); ++d) {
      const int64_t size = options_.shape.dim(d);
      if (size == PartialShape::kUnknown || size == values.dim(d)) continue;
      return ShapeMismatch(absl::StrCat("values dim ", d, " to be ", size),
                           absl::StrCat(values.dim(d)));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckSameRows(const Tensor& values, const Tensor& other) {
    if (values.rank() != other.rank()) {
      return ShapeMismatch(absl::StrCat("values rank ", other.rank()),
                           absl::StrCat(values.rank()));
    }
    for (int d = 1; d < values.rank(); ++d) {
      if (values.dim(d) == other.dim(d)) continue;
      return ShapeMismatch(
          absl::StrCat("values dim ", d, " to be ", other.dim(d)),
          absl::StrCat(values.dim(d)));
    }
    return absl::OkStatus();
  }

  // The rows that are added to form a row of the merged sum. An index of -1
  // means that there is no such row.
  struct Source {
    int64_t old_row, new_row;
  };
  std::vector<Source> MergedRows(absl::Span<const int64_t> added) const {
    std::vector<Source> sources;
    size_t i = 0;
    size_t j = 0;
    while (i < indices_.size() || j < added.size()) {
      const bool has_old = i < indices_.size();
      const bool has_new = j < added.size();
      const bool from_old = has_old && (!has_new || indices_[i] <= added[j]);
      const bool from_new = has_new && (!has_old || added[j] <= indices_[i]);
      sources.push_back({from_old ? static_cast<int64_t>(i++) : -1,
                         from_new ? static_cast<int64_t>(j++) : -1});
    }
    return sources;
  }

  absl::Status Merge(absl::Span<const int64_t> added, const Tensor& values) {
    const std::vector<Source> sources = MergedRows(added);
    const int64_t row = RowSize(values);
    TensorShape shape = values.shape();
    shape.set_dim(0, static_cast<int64_t>(sources.size()));
    ASSIGN_OR_RETURN(Tensor merged,
                     Tensor::Allocate(HeapAllocator(), options_.dtype, shape));
    std::vector<int64_t> indices, counts;
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto [old_row, new_row] = sources[i];
      const int64_t at = static_cast<int64_t>(i) * row;
      const bool is_old = old_row >= 0;
      CopyElements(is_old ? values_ : values,
                   (is_old ? old_row : new_row) * row, row, merged, at);
      if (is_old && new_row >= 0) {
        RETURN_IF_ERROR(AddRange(merged, at, values, new_row * row, row));
      }
      indices.push_back(is_old ? indices_[old_row] : added[new_row]);
      counts.push_back((is_old ? counts_[old_row] : 0) +
                       (new_row >= 0 ? 1 : 0));
    }
    indices_ = std::move(indices);
    counts_ = std::move(counts);
    values_ = std::move(merged);
    return absl::OkStatus();
  }

  const GradientAccumulatorOptions options_;
  std::vector<int64_t> indices_;
  std::vector<int64_t> counts_;  // gradients that have the row
  Tensor values_;
};

}  // namespace

std::vector<DataType> AccumulatedTypes() { return DataTypesOf(Accumulated{}); }

absl::StatusOr<std::vector<Tensor>> SumRepeatedRows(
    std::vector<Tensor> gradient) {
  RETURN_IF_ERROR(CheckParts(gradient[0], gradient[1]));
  const auto rows = gradient[0].flat<int64_t>();
  const auto not_before = [](int64_t a, int64_t b) { return a >= b; };
  if (absl::c_adjacent_find(rows, not_before) == rows.end()) return gradient;
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  absl::c_stable_sort(order,
                      [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  std::vector<int64_t> indices(rows.begin(), rows.end());
  absl::c_sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  const Tensor& values = gradient[1];
  const int64_t row = RowSize(values);
  TensorShape shape = values.shape();
  shape.set_dim(0, static_cast<int64_t>(indices.size()));
  ASSIGN_OR_RETURN(Tensor sums,
                   Tensor::Allocate(HeapAllocator(), values.dtype(), shape));
  int64_t at = -1;  // row of `sums`
  for (const size_t from : order) {
    const int64_t source = static_cast<int64_t>(from) * row;
    if (at >= 0 && indices[at] == rows[from]) {
      RETURN_IF_ERROR(AddRange(sums, at * row, values, source, row));
    } else {
      CopyElements(values, source, row, sums, ++at * row);
    }
  }
  gradient[0] = Tensor::Vector(absl::MakeConstSpan(indices));
  gradient[1] = std::move(sums);
  return gradient;
}

std::unique_ptr<GradientSum> NewDenseSum(
    const GradientAccumulatorOptions& options) {
  return std::make_unique<DenseSum>(options);
}

std::unique_ptr<GradientSum> NewSparseSum(
    const GradientAccumulatorOptions& options) {
  return std::make_unique<SparseSum>(options);
}

}  // namespace weft
