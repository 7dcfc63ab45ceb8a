// SparseCross: for each row of a batch, all combinations of one feature from
// each column, as bucket numbers or joined strings.
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/kernels/string/string_hash.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The features of one row in one column: elements [begin, end) of the column's
// features in the order of their rows.
struct CrossRun {
  int64_t row = 0;
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

using CrossRuns = absl::InlinedVector<CrossRun, 8>;

// The features of each row in one column: elements of `values`.
struct CrossColumn {
  const Tensor* values = nullptr;
  int64_t num_rows = 0;
  // The elements sorted by row; empty: in place.
  std::vector<int64_t> order;
  // The number of features per row of a dense column; else 0.
  int64_t width = 0;
  // For a sparse column, the runs of nonempty rows, in order: many rows may be
  // empty.
  std::vector<CrossRun> runs;

  // Returns whether each row has one feature, and they are sorted.
  bool IsOneInEachRow() const {
    if (width > 0) return width == 1;
    // They are sorted by row, and rows are below num_rows.
    return order.empty() && static_cast<int64_t>(runs.size()) == num_rows &&
           values->num_elements() == num_rows;
  }
  int64_t num_runs() const {
    return width > 0 ? num_rows : static_cast<int64_t>(runs.size());
  }
  CrossRun Run(int64_t i) const {
    return width > 0 ? CrossRun{i, i * width, (i + 1) * width} : runs[i];
  }
  int64_t Element(int64_t place) const {
    return order.empty() ? place : order[place];
  }
  uint64_t Hash(int64_t place) const {
    if (values->dtype() == DT_STRING) return Fingerprint(String(place));
    return static_cast<uint64_t>(values->flat<int64_t>()[Element(place)]);
  }
  // REQUIRES: strings.
  const std::string& String(int64_t place) const {
    return values->flat<std::string>()[Element(place)];
  }
  // The maximum number of bytes that AppendText appends.
  size_t MostBytes(int64_t place) const {
    constexpr size_t kLongestNumber = 20;  // of int64
    return values->dtype() == DT_STRING ? String(place).size() : kLongestNumber;
  }
  void AppendText(int64_t place, std::string& text) const {
    if (values->dtype() == DT_STRING) {
      text += String(place);
    } else {
      absl::StrAppend(&text, values->flat<int64_t>()[Element(place)]);
    }
  }
};

// Adds the runs of rows in the elements' order, or in `order` if they are not
// sorted. `charge` counts both. Returns RESOURCE_EXHAUSTED beyond the memory
// bound.
absl::Status AddRuns(HeapCharge& charge, const SparseView& view,
                     CrossColumn& column) {
  const auto comes_before = [&view](int64_t a, int64_t b) {
    return view.index(a, 0) < view.index(b, 0);
  };
  const auto count = static_cast<size_t>(view.count());
  for (int64_t i = 1; i < view.count() && column.order.empty(); ++i) {
    if (!comes_before(i, i - 1)) continue;
    // Includes the copy that the sort makes.
    RETURN_IF_ERROR(charge.AddObjects(count, 2 * sizeof(int64_t)));
    column.order.resize(count);
    std::iota(column.order.begin(), column.order.end(), 0);
    std::stable_sort(column.order.begin(), column.order.end(), comes_before);
  }
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(CrossRun)));
  column.runs.reserve(count);
  for (int64_t place = 0; place < view.count(); ++place) {
    const int64_t row = view.index(column.Element(place), 0);
    if (column.runs.empty() || column.runs.back().row != row) {
      column.runs.push_back({row, place, place});
    }
    column.runs.back().end = place + 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<CrossColumn> SparseColumn(HeapCharge& charge,
                                         const Tensor& indices,
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
  column.values = &values;
  column.num_rows = view.shape().dim(0);
  RETURN_IF_ERROR(AddRuns(charge, view, column));
  return column;
}

absl::StatusOr<CrossColumn> DenseColumn(const Tensor& values) {
  if (!values.shape().IsMatrix()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Dense inputs should be matrices but received shape ",
                     values.shape().ToString()));
  }
  CrossColumn column;
  column.values = &values;
  column.num_rows = values.dim(0);
  column.width = values.dim(1);
  return column;
}

// Calls fn(row, its run in each column) for the rows with a feature in every
// column, in order, until it returns an error.
template <typename Fn>
absl::Status ForEachCommonRow(const std::vector<CrossColumn>& columns,
                              const Fn& fn) {
  if (columns.empty()) return absl::OkStatus();
  absl::InlinedVector<int64_t, 8> next(columns.size(), 0);
  CrossRuns runs(columns.size());
  for (int64_t i = 0; i < columns[0].num_runs(); ++i) {
    const int64_t row = columns[0].Run(i).row;
    size_t found = 0;
    for (; found < columns.size(); ++found) {
      const CrossColumn& column = columns[found];
      int64_t& at = next[found];
      while (at < column.num_runs() && column.Run(at).row < row) ++at;
      if (at == column.num_runs()) return absl::OkStatus();
      runs[found] = column.Run(at);
      if (runs[found].row != row) break;
    }
    if (found == columns.size()) RETURN_IF_ERROR(fn(row, runs));
  }
  return absl::OkStatus();
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
    // Prevents negative outputs.
    kernel->num_buckets_ =
        num_buckets > 0
            ? static_cast<uint64_t>(num_buckets)
            : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<CrossColumn> columns,
                     ReadColumns(charge, context));
    if (MayCrossInOrder(context, columns)) {
      return CrossInOrder(context, columns);
    }
    int64_t total = 0, longest = 0;
    RETURN_IF_ERROR(
        ForEachCommonRow(columns, [&](int64_t, const CrossRuns& runs) {
          return AddCount(runs, total, longest);
        }));
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, {total, 2}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
    int64_t* place = indices->mutable_flat<int64_t>().data();
    int64_t at = 0;
    RETURN_IF_ERROR(
        ForEachCommonRow(columns, [&](int64_t row, const CrossRuns& runs) {
          return Cross(context, charge, columns, row, runs, place, at, *values);
        }));
    return SetVector(context, 2,
                     {columns.empty() ? 0 : columns[0].num_rows, longest});
  }

 private:
  // Inputs are N indices, N values, N shapes, then the dense ones.
  absl::StatusOr<std::vector<CrossColumn>> ReadColumns(
      HeapCharge& charge, const OpKernelContext& context) const {
    const int n = static_cast<int>(num_sparse_);
    std::vector<CrossColumn> columns;
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(
          CrossColumn column,
          SparseColumn(charge, context.input(i), context.input(n + i),
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

  // Returns whether each row has one combination (each example has each feature
  // once) and the combinations are written as numbers.
  static bool MayCrossInOrder(const OpKernelContext& context,
                              const std::vector<CrossColumn>& columns) {
    return !columns.empty() && context.output_type(1) == DT_INT64 &&
           columns[0].num_rows > 0 &&
           columns[0].num_rows <= std::numeric_limits<int32_t>::max() &&
           std::all_of(columns.begin(), columns.end(),
                       [](const CrossColumn& column) {
                         return column.IsOneInEachRow();
                       });
  }

  absl::Status CrossInOrder(OpKernelContext& context,
                            const std::vector<CrossColumn>& columns) const {
    const int64_t rows = columns[0].num_rows;
    ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, {rows, 2}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {rows}));
    const absl::Span<int64_t> to = values->mutable_flat<int64_t>();
    int64_t* place = indices->mutable_flat<int64_t>().data();
    for (int64_t row = 0; row < rows; ++row) {
      *place++ = row;
      *place++ = 0;
      uint64_t hash = hash_key_;
      for (const CrossColumn& column : columns) {
        hash = JoinFingerprints(hash, column.Hash(row));
      }
      to[row] = static_cast<int64_t>(hash % num_buckets_);
    }
    return SetVector(context, 2, {rows, 1});
  }

  static absl::Status TooMany() {
    return absl::ResourceExhaustedError(
        "there are too many combinations of features");
  }

  // Adds the number of a row's combinations.
  static absl::Status AddCount(const CrossRuns& runs, int64_t& total,
                               int64_t& longest) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    int64_t count = 1;
    for (const CrossRun& run : runs) {
      if (count > kMost / run.size()) return TooMany();
      count *= run.size();
    }
    if (count > kMost - total) return TooMany();
    total += count;
    longest = std::max(longest, count);
    return absl::OkStatus();
  }

  // Writes the combinations of a row from `place` and `at` on, which are
  // advanced. The last column's features vary fastest. Returns the cause if the
  // step is cancelled, and RESOURCE_EXHAUSTED if the strings exceed the memory
  // bound.
  absl::Status Cross(const OpKernelContext& context, HeapCharge& charge,
                     const std::vector<CrossColumn>& columns, int64_t row,
                     const CrossRuns& runs, int64_t*& place, int64_t& at,
                     Tensor& values) const {
    // combinations between checks for cancellation
    constexpr int64_t kBetweenLooks = 1024;
    absl::InlinedVector<int64_t, 8> chosen;
    for (const CrossRun& run : runs) chosen.push_back(run.begin);
    size_t c = columns.size();
    for (int64_t number = 0; c > 0; ++number) {
      if (at % kBetweenLooks == 0) {
        RETURN_IF_ERROR(context.cancellation().status());
      }
      *place++ = row;
      *place++ = number;
      RETURN_IF_ERROR(SetValue(charge, columns, chosen, at++, values));
      c = columns.size();
      while (c > 0 && ++chosen[c - 1] == runs[c - 1].end) {
        --c;
        chosen[c] = runs[c].begin;
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetValue(HeapCharge& charge,
                        const std::vector<CrossColumn>& columns,
                        absl::Span<const int64_t> chosen, int64_t at,
                        Tensor& values) const {
    if (values.dtype() == DT_INT64) {
      uint64_t hash = hash_key_;
      for (size_t c = 0; c < columns.size(); ++c) {
        hash = JoinFingerprints(hash, columns[c].Hash(chosen[c]));
      }
      values.mutable_flat<int64_t>()[at] =
          static_cast<int64_t>(hash % num_buckets_);
      return absl::OkStatus();
    }
    size_t most = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      most +=
          (c == 0 ? 0 : kSeparator.size()) + columns[c].MostBytes(chosen[c]);
    }
    RETURN_IF_ERROR(charge.AddStrings(1, most));
    std::string& text = values.mutable_flat<std::string>()[at];
    text.reserve(most);
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) absl::StrAppend(&text, kSeparator);
      columns[c].AppendText(chosen[c], text);
    }
    return absl::OkStatus();
  }

  static constexpr absl::string_view kSeparator = "_X_";

  int64_t num_sparse_ = 0;
  uint64_t hash_key_ = 0;
  uint64_t num_buckets_ = 1;
};

}  // namespace

void RegisterSparseCrossKernels(KernelRegistry& registry) {
  registry.Register({.op = "SparseCross"}, SparseCrossKernel::Make);
}

}  // namespace weft
