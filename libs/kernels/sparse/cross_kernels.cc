// SparseCross: for each row of a batch all combinations of one feature from
// each column, as numbers of buckets or as joined strings.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/kernels/string/string_hash.h"

namespace weft {
namespace {

// The features of each row of one column: elements of `values`.
struct CrossColumn {
  Tensor values;
  int64_t num_rows = 0;
  // The elements of each row that has any: there may be many that have none.
  std::map<int64_t, std::vector<int64_t>> rows;

  uint64_t Hash(int64_t element) const {
    if (values.dtype() == DT_STRING) {
      return Fingerprint(values.flat<std::string>()[element]);
    }
    return static_cast<uint64_t>(values.flat<int64_t>()[element]);
  }
  std::string Text(int64_t element) const {
    if (values.dtype() == DT_STRING) {
      return values.flat<std::string>()[element];
    }
    return absl::StrCat(values.flat<int64_t>()[element]);
  }
};

// A row of the output: its number, how many combinations it has, and the
// elements of each column.
struct CrossRow {
  int64_t number = 0;
  int64_t count = 1;
  std::vector<const std::vector<int64_t>*> features;
};

absl::StatusOr<CrossColumn> SparseColumn(const Tensor& indices,
                                         const Tensor& values,
                                         const Tensor& shape) {
  ASSIGN_OR_RETURN(const SparseView view,
                   SparseView::Of(indices, &values, shape));
  if (view.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input sparse tensors should have 2 dimensions, not ", view.rank()));
  }
  RETURN_IF_ERROR(view.CheckBounds());
  CrossColumn column;
  column.values = values;
  column.num_rows = view.shape().dim(0);
  for (int64_t i = 0; i < view.count(); ++i) {
    column.rows[view.index(i, 0)].push_back(i);
  }
  return column;
}

absl::StatusOr<CrossColumn> DenseColumn(const Tensor& values) {
  if (!values.shape().IsMatrix()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dense inputs should be matrices but received shape ",
                     values.shape().ToString()));
  }
  CrossColumn column;
  column.values = values;
  column.num_rows = values.dim(0);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    column.rows[i / values.dim(1)].push_back(i);
  }
  return column;
}

class SparseCrossKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<SparseCrossKernel>(construction);
    ASSIGN_OR_RETURN(kernel->num_sparse_, construction.GetAttr<int64_t>("N"));
    ASSIGN_OR_RETURN(const DataTypeVector sparse_types,
                     construction.GetAttr<DataTypeVector>("sparse_types"));
    if (static_cast<int64_t>(sparse_types.size()) != kernel->num_sparse_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected as many values as indices, ",
                       kernel->num_sparse_, ", got ", sparse_types.size()));
    }
    ASSIGN_OR_RETURN(const int64_t num_buckets,
                     construction.GetAttr<int64_t>("num_buckets"));
    ASSIGN_OR_RETURN(const int64_t hash_key,
                     construction.GetAttr<int64_t>("hash_key"));
    kernel->hash_key_ = static_cast<uint64_t>(hash_key);
    // To prevent negative output.
    kernel->num_buckets_ =
        num_buckets > 0
            ? static_cast<uint64_t>(num_buckets)
            : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::vector<CrossColumn> columns,
                     ReadColumns(context));
    ASSIGN_OR_RETURN(const std::vector<CrossRow> rows, RowsOf(columns));
    int64_t total = 0, longest = 0;
    for (const CrossRow& row : rows) {
      if (row.count > std::numeric_limits<int32_t>::max() - total) {
        return TooMany();
      }
      total += row.count;
      longest = std::max(longest, row.count);
    }
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, {total, 2}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
    int64_t begin = 0;
    for (const CrossRow& row : rows) {
      Cross(columns, row, begin, *indices, *values);
      begin += row.count;
    }
    return SetVector(context, 2,
                     {columns.empty() ? 0 : columns[0].num_rows, longest});
  }

 private:
  // Inputs are N indices, N values, N shapes, then the dense ones.
  absl::StatusOr<std::vector<CrossColumn>> ReadColumns(
      const OpKernelContext& context) const {
    const int n = static_cast<int>(num_sparse_);
    std::vector<CrossColumn> columns;
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(CrossColumn column,
                       SparseColumn(context.input(i), context.input(n + i),
                                    context.input(2 * n + i)));
      columns.push_back(std::move(column));
    }
    for (int i = 3 * n; i < context.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(CrossColumn column, DenseColumn(context.input(i)));
      columns.push_back(std::move(column));
    }
    for (const CrossColumn& column : columns) {
      if (column.num_rows == columns[0].num_rows) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Expected batch size ", columns[0].num_rows, ", got ",
                       column.num_rows));
    }
    return columns;
  }

  static absl::Status TooMany() {
    return absl::ResourceExhaustedError(
        "there are too many combinations of features");
  }

  // Those in which every column has a feature.
  static absl::StatusOr<std::vector<CrossRow>> RowsOf(
      const std::vector<CrossColumn>& columns) {
    std::vector<CrossRow> rows;
    if (columns.empty()) return rows;
    for (const auto& [number, features] : columns[0].rows) {
      CrossRow row{number};
      for (const CrossColumn& column : columns) {
        const auto found = column.rows.find(number);
        if (found == column.rows.end()) break;
        const auto size = static_cast<int64_t>(found->second.size());
        if (row.count > std::numeric_limits<int32_t>::max() / size) {
          return TooMany();
        }
        row.count *= size;
        row.features.push_back(&found->second);
      }
      if (row.features.size() == columns.size()) rows.push_back(std::move(row));
    }
    return rows;
  }

  // The last column's features go fastest.
  void Cross(const std::vector<CrossColumn>& columns, const CrossRow& row,
             int64_t begin, Tensor& indices, Tensor& values) const {
    std::vector<size_t> chosen(columns.size(), 0);
    for (int64_t i = 0; i < row.count; ++i) {
      indices.mutable_flat<int64_t>()[2 * (begin + i)] = row.number;
      indices.mutable_flat<int64_t>()[2 * (begin + i) + 1] = i;
      SetValue(columns, row, chosen, begin + i, values);
      size_t c = columns.size();
      while (c > 0 && ++chosen[c - 1] == row.features[c - 1]->size()) {
        chosen[--c] = 0;
      }
    }
  }

  void SetValue(const std::vector<CrossColumn>& columns, const CrossRow& row,
                const std::vector<size_t>& chosen, int64_t at,
                Tensor& values) const {
    uint64_t hash = hash_key_;
    std::string text;
    for (size_t c = 0; c < columns.size(); ++c) {
      const int64_t element = (*row.features[c])[chosen[c]];
      if (values.dtype() == DT_INT64) {
        hash = JoinFingerprints(hash, columns[c].Hash(element));
      } else {
        absl::StrAppend(&text, c == 0 ? "" : "_X_", columns[c].Text(element));
      }
    }
    if (values.dtype() == DT_INT64) {
      values.mutable_flat<int64_t>()[at] =
          static_cast<int64_t>(hash % num_buckets_);
    } else {
      values.mutable_flat<std::string>()[at] = std::move(text);
    }
  }

  int64_t num_sparse_ = 0;
  uint64_t hash_key_ = 0;
  uint64_t num_buckets_ = 1;
};

}  // namespace

void RegisterSparseCrossKernels(KernelRegistry& registry) {
  registry.Register({.op = "SparseCross"}, SparseCrossKernel::Make);
}

}  // namespace weft
