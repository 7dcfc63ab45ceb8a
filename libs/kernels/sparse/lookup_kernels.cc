// Kernels of the ops that passes substitute for lookups of sparse ids
// (libs/passes/lookup_fusion.h): _UniqueRowIds, _CombineRows and its gradient,
// _WhereHashed, _CountIds. Results are bitwise equal to those of the replaced
// nodes.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/chosen_rows.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/id_bounds.h"
#include "libs/kernels/array/number_groups.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/kernels/string/string_hash.h"

namespace weft {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// The valid elements, sorted by row: those with non-negative ids.
class ElementsByRow {
 public:
  template <typename T>
  ElementsByRow(const SparseView& input, absl::Span<const T> ids)
      : input_(input) {
    elements_.reserve(ids.size());
    for (int64_t i = 0; i < input.count(); ++i) {
      if (ids[i] >= 0) elements_.push_back(i);
    }
  }

  // Returns INVALID_ARGUMENT, with SparseFillEmptyRows's text, unless their
  // rows are all within the shape. Must be called first.
  absl::Status Check() const {
    const int64_t num_rows = input_.sizes()[0];
    for (size_t i = 0; i < elements_.size(); ++i) {
      const int64_t at = row(elements_[i]);
      if (at >= 0 && at < num_rows) continue;
      return RowOutOfBounds(static_cast<int64_t>(i), at, num_rows);
    }
    return absl::OkStatus();
  }
  // Keeps the order within a row.
  void Sort() {
    const auto comes_before = [this](int64_t a, int64_t b) {
      return row(a) < row(b);
    };
    if (std::is_sorted(elements_.begin(), elements_.end(), comes_before)) {
      return;
    }
    std::stable_sort(elements_.begin(), elements_.end(), comes_before);
  }

  int64_t row(int64_t element) const { return input_.index(element, 0); }
  absl::Span<const int64_t> elements() const { return elements_; }

 private:
  const SparseView& input_;
  absl::InlinedVector<int64_t, kInlinedGroups> elements_;
};

class UniqueRowIdsKernel : public OpKernel {
 public:
  explicit UniqueRowIdsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), bounds_(construction) {}
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& values = context.input(1);
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::OfAnySizes(context.input(0), &values, context.input(2)));
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("Dense shape cannot be empty.");
    }
    if (input.sizes()[0] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected shape dimensions to be non-negative, got ",
                       input.sizes()[0]));
    }
    if (!context.input(3).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("default_value must be a scalar, saw: ",
                       context.input(3).shape().ToString()));
    }
    return DispatchType(
        IndexTypes{}, values.dtype(),
        [&]<typename T>(TypeTag<T>) { return Write<T>(context, input); });
  }

 private:
  // Only the outputs' memory depends on the number of rows.
  template <typename T>
  absl::Status Write(OpKernelContext& context, const SparseView& input) const {
    const auto ids = context.input(1).flat<T>();
    if (IsOneInEachRow(input, ids)) return WriteInOrder(context, ids);
    ElementsByRow by_row(input, ids);
    RETURN_IF_ERROR(by_row.Check());
    const int64_t num_rows = input.sizes()[0];
    const auto count = static_cast<int64_t>(by_row.elements().size());
    if (num_rows > kMaxInt32 - count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are ", num_rows, " rows and ", count,
          " ids, together 2^31 or more; look them up in several steps"));
    }
    ASSIGN_OR_RETURN(Tensor * empty, context.AllocateOutput(2, {num_rows}));
    bool* const is_empty = empty->mutable_flat<bool>().data();
    std::fill(is_empty, is_empty + num_rows, true);
    int64_t num_empty = num_rows;
    for (const int64_t element : by_row.elements()) {
      num_empty -= is_empty[by_row.row(element)] ? 1 : 0;
      is_empty[by_row.row(element)] = false;
    }
    by_row.Sort();
    const TensorShape all({count + num_empty});
    ASSIGN_OR_RETURN(Tensor * idx, context.AllocateOutput(1, all));
    ASSIGN_OR_RETURN(Tensor * row_ids, context.AllocateOutput(3, all));
    NumberGroups<uint32_t> groups(all.num_elements());
    int32_t* to = idx->mutable_flat<int32_t>().data();
    int32_t* row_of = row_ids->mutable_flat<int32_t>().data();
    const auto add = [&](int64_t row, T id) {
      *row_of++ = static_cast<int32_t>(row);
      *to++ = static_cast<int32_t>(groups.FindOrAdd(static_cast<uint64_t>(id)));
    };
    auto next = by_row.elements().begin();
    for (int64_t row = 0; row < num_rows; ++row) {
      if (is_empty[row]) {
        add(row, context.input(3).scalar<T>());
        continue;
      }
      for (; next != by_row.elements().end() && by_row.row(*next) == row;
           ++next) {
        add(row, ids[*next]);
      }
    }
    return SetDistinct<T>(context, groups.keys());
  }

  // For a batch of features that all examples have once.
  template <typename T>
  static bool IsOneInEachRow(const SparseView& input, absl::Span<const T> ids) {
    const int64_t count = input.count();
    if (input.rank() != 2 || input.sizes()[0] != count ||
        count > kMaxInt32 / 2) {
      return false;
    }
    const int64_t* place = input.position(0).data();
    bool is_one = true;
    for (int64_t i = 0; i < count; ++i, place += 2) {
      is_one &= place[0] == i && ids[i] >= 0;
    }
    return is_one;
  }

  // Computes the other outputs in that case.
  template <typename T>
  absl::Status WriteInOrder(OpKernelContext& context,
                            absl::Span<const T> ids) const {
    const TensorShape all({static_cast<int64_t>(ids.size())});
    ASSIGN_OR_RETURN(Tensor * empty, context.AllocateOutput(2, all));
    ASSIGN_OR_RETURN(Tensor * idx, context.AllocateOutput(1, all));
    ASSIGN_OR_RETURN(Tensor * row_ids, context.AllocateOutput(3, all));
    const auto is_empty = empty->mutable_flat<bool>();
    std::fill(is_empty.begin(), is_empty.end(), false);
    const auto row_of = row_ids->mutable_flat<int32_t>();
    std::iota(row_of.begin(), row_of.end(), 0);
    NumberGroups<uint32_t> groups(all.num_elements());
    int32_t* to = idx->mutable_flat<int32_t>().data();
    for (const T id : ids) {
      *to++ = static_cast<int32_t>(groups.FindOrAdd(static_cast<uint64_t>(id)));
    }
    return SetDistinct<T>(context, groups.keys());
  }

  template <typename T>
  absl::Status SetDistinct(OpKernelContext& context,
                           absl::Span<const uint64_t> ids) const {
    RETURN_IF_ERROR(bounds_.Check<T>(ids));
    ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(
                                     0, {static_cast<int64_t>(ids.size())}));
    T* out = y->mutable_flat<T>().data();
    for (const uint64_t id : ids) *out++ = static_cast<T>(id);
    return absl::OkStatus();
  }

  const IdBounds bounds_;
};

absl::StatusOr<SparseReduction> ReadCombiner(const OpKernelConstruction& node) {
  ASSIGN_OR_RETURN(const auto text, node.GetAttr<std::string>("combiner"));
  if (text == "sum") return SparseReduction::kSum;
  return text == "mean" ? SparseReduction::kMean : SparseReduction::kSqrtN;
}

// Inputs 1 to 3: for each id its table row and its example; and the empty
// examples.
class IdsByExample {
 public:
  // Returns INVALID_ARGUMENT unless they match each other and the table's
  // number of rows.
  static absl::StatusOr<IdsByExample> Of(const OpKernelContext& context,
                                         int64_t table_rows) {
    for (const int i : {1, 2, 3}) {
      if (context.input(i).rank() == 1) continue;
      return absl::InvalidArgumentError(
          "idx, row_ids and empty_rows must be vectors");
    }
    IdsByExample result{context.input(1).flat<int32_t>(),
                        context.input(2).flat<int32_t>(),
                        context.input(3).flat<bool>()};
    RETURN_IF_ERROR(result.Check(table_rows));
    return result;
  }

  int64_t num_examples() const { return static_cast<int64_t>(empty_.size()); }

  // Calls fn(example, rows of the table) for each nonempty example.
  template <typename Fn>
  void ForEach(const Fn& fn) const {
    for (size_t begin = 0; begin < examples_.size();) {
      const int32_t example = examples_[begin];
      size_t end = begin + 1;
      while (end < examples_.size() && examples_[end] == example) ++end;
      if (!empty_[example]) fn(example, rows_.subspan(begin, end - begin));
      begin = end;
    }
  }

 private:
  IdsByExample(absl::Span<const int32_t> rows,
               absl::Span<const int32_t> examples, absl::Span<const bool> empty)
      : rows_(rows), examples_(examples), empty_(empty) {}

  absl::Status Check(int64_t table_rows) const {
    if (rows_.size() != examples_.size()) {
      return absl::InvalidArgumentError(
          "row_ids and idx should have same size.");
    }
    int64_t last = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i] < 0 || rows_[i] >= table_rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("Bad: idx[", i, "] == ", rows_[i],
                         " out of range [0, ", table_rows, ")"));
      }
      if (examples_[i] < last || examples_[i] >= num_examples()) {
        return absl::InvalidArgumentError(
            absl::StrCat("row_ids must rise and be less than ", num_examples(),
                         ", but ", examples_[i], " comes after ", last));
      }
      last = examples_[i];
    }
    return absl::OkStatus();
  }

  absl::Span<const int32_t> rows_;
  absl::Span<const int32_t> examples_;
  absl::Span<const bool> empty_;
};

absl::Status CheckMatrix(const Tensor& tensor, absl::string_view what) {
  if (tensor.rank() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be a matrix, but is of shape ", tensor.shape().ToString()));
}

// Sets output 0 to zeros.
template <typename T>
absl::StatusOr<T*> Zeros(OpKernelContext& context, int64_t rows,
                         int64_t columns) {
  ASSIGN_OR_RETURN(const TensorShape shape,
                   TensorShape::Create({rows, columns}));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  const absl::Span<T> out = output->mutable_flat<T>();
  std::fill(out.begin(), out.end(), T{0});
  return out.data();
}

// The weights of a linear model have one column, and are faster without a call.
template <typename T>
void AddRow(const T* from, int64_t columns, T* to) {
  if (columns == 1) {
    *to += *from;
  } else {
    AddRowOfFloats(from, columns, to);
  }
}

class CombineRowsKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const SparseReduction combiner,
                     ReadCombiner(construction));
    return std::make_unique<CombineRowsKernel>(construction, combiner);
  }
  CombineRowsKernel(const OpKernelConstruction& construction,
                    SparseReduction combiner)
      : OpKernel(construction), combiner_(combiner) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    RETURN_IF_ERROR(CheckMatrix(data, "data"));
    ASSIGN_OR_RETURN(const auto ids, IdsByExample::Of(context, data.dim(0)));
    return DispatchType(
        TypeList<float, double>{}, data.dtype(),
        [&]<typename T>(TypeTag<T>) { return Combine<T>(context, data, ids); });
  }

 private:
  template <typename T>
  absl::Status Combine(OpKernelContext& context, const Tensor& data,
                       const IdsByExample& ids) const {
    const int64_t columns = data.dim(1);
    ASSIGN_OR_RETURN(T* const out,
                     Zeros<T>(context, ids.num_examples(), columns));
    const T* const in = data.flat<T>().data();
    ids.ForEach([&](int64_t example, absl::Span<const int32_t> rows) {
      T* const to = out + example * columns;
      for (const int32_t row : rows) AddRow(in + row * columns, columns, to);
      if (combiner_ == SparseReduction::kSum || rows.size() == 1) return;
      const auto divisor =
          static_cast<T>(Divisor(combiner_, static_cast<int64_t>(rows.size())));
      for (int64_t i = 0; i < columns; ++i) to[i] /= divisor;
    });
    return absl::OkStatus();
  }

  const SparseReduction combiner_;
};

class CombineRowsGradKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const SparseReduction combiner,
                     ReadCombiner(construction));
    return std::make_unique<CombineRowsGradKernel>(construction, combiner);
  }
  CombineRowsGradKernel(const OpKernelConstruction& construction,
                        SparseReduction combiner)
      : OpKernel(construction), combiner_(combiner) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& grad = context.input(0);
    const Tensor& data = context.input(4);
    RETURN_IF_ERROR(CheckMatrix(grad, "grad"));
    RETURN_IF_ERROR(CheckMatrix(data, "data"));
    ASSIGN_OR_RETURN(const auto ids, IdsByExample::Of(context, data.dim(0)));
    if (grad.dim(0) != ids.num_examples() || grad.dim(1) != data.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "grad must be of shape [", ids.num_examples(), ",", data.dim(1),
          "], but is of shape ", grad.shape().ToString()));
    }
    return DispatchType(TypeList<float, double>{}, grad.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          return Scatter<T>(context, grad, data.dim(0), ids);
                        });
  }

 private:
  template <typename T>
  absl::Status Scatter(OpKernelContext& context, const Tensor& grad,
                       int64_t table_rows, const IdsByExample& ids) const {
    const int64_t columns = grad.dim(1);
    ASSIGN_OR_RETURN(T* const out, Zeros<T>(context, table_rows, columns));
    const T* const in = grad.flat<T>().data();
    ids.ForEach([&](int64_t example, absl::Span<const int32_t> rows) {
      const T* const from = in + example * columns;
      const auto count = static_cast<int64_t>(rows.size());
      const auto scale =
          count == 1 ? T{1} : static_cast<T>(1 / Divisor(combiner_, count));
      for (const int32_t row : rows) {
        T* const to = out + row * columns;
        if (scale == 1) {
          AddRow(from, columns, to);
          continue;
        }
        for (int64_t i = 0; i < columns; ++i) to[i] += from[i] * scale;
      }
    });
    return absl::OkStatus();
  }

  const SparseReduction combiner_;
};

class WhereHashedKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const auto num_buckets,
                     construction.GetAttr<int64_t>("num_buckets"));
    if (num_buckets < 1) {
      return absl::InvalidArgumentError("num_buckets must be positive");
    }
    return std::make_unique<WhereHashedKernel>(
        construction, static_cast<uint64_t>(num_buckets));
  }
  WhereHashedKernel(const OpKernelConstruction& construction,
                    uint64_t num_buckets)
      : OpKernel(construction), num_buckets_(num_buckets) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const auto texts = input.flat<std::string>();
    const auto count =
        std::count_if(texts.begin(), texts.end(),
                      [](const std::string& text) { return !text.empty(); });
    ASSIGN_OR_RETURN(Tensor * index,
                     context.AllocateOutput(0, {count, input.rank()}));
    ASSIGN_OR_RETURN(Tensor * bucket, context.AllocateOutput(1, {count}));
    int64_t* at = index->mutable_flat<int64_t>().data();
    int64_t* to = bucket->mutable_flat<int64_t>().data();
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) continue;
      WriteCoordinates(input.shape(), static_cast<int64_t>(i), at);
      at += input.rank();
      *to++ = static_cast<int64_t>(Fingerprint(texts[i]) % num_buckets_);
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t num_buckets_;
};

class CountIdsKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const auto depth, construction.GetAttr<int64_t>("depth"));
    return std::make_unique<CountIdsKernel>(construction, depth);
  }
  CountIdsKernel(const OpKernelConstruction& construction, int64_t depth)
      : OpKernel(construction), depth_(depth) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Tensor values, Ids(context));
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &values, context.input(2)));
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("Dense shape cannot be empty.");
    }
    RETURN_IF_ERROR(input.CheckOrder());
    const auto sizes = input.shape().dims();
    Dims dims(sizes.begin(), sizes.end());
    dims.back() = depth_;
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * counts, context.AllocateOutput(0, shape));
    const auto out = counts->mutable_flat<float>();
    std::fill(out.begin(), out.end(), 0.0f);
    DispatchType(IndexTypes{}, values.dtype(), [&]<typename T>(TypeTag<T>) {
      Count(input, values.flat<T>(), out.data());
      return absl::OkStatus();
    }).IgnoreError();  // the op supports no other types
    return absl::OkStatus();
  }

 private:
  // A single id may apply to all indices.
  static absl::StatusOr<Tensor> Ids(OpKernelContext& context) {
    const Tensor& ids = context.input(1);
    const TensorShape& indices = context.input(0).shape();
    if (!ids.shape().IsScalar() || indices.rank() != 2) return ids;
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({indices.dim(0)}));
    ASSIGN_OR_RETURN(Tensor all, context.AllocateTemp(ids.dtype(), shape));
    DispatchType(IndexTypes{}, ids.dtype(), [&]<typename T>(TypeTag<T>) {
      const auto to = all.mutable_flat<T>();
      std::fill(to.begin(), to.end(), ids.scalar<T>());
      return absl::OkStatus();
    }).IgnoreError();  // the op supports no other types
    return all;
  }

  template <typename T>
  void Count(const SparseView& input, absl::Span<const T> ids,
             float* out) const {
    const int64_t width = input.shape().dim(input.rank() - 1);
    for (int64_t i = 0; i < input.count(); ++i) {
      if (ids[i] < 0 || ids[i] >= depth_) continue;
      out[input.FlatPosition(i) / width * depth_ + ids[i]] += 1;
    }
  }

  const int64_t depth_;
};

}  // namespace

void RegisterSparseLookupKernels(KernelRegistry& registry) {
  registry.Register<UniqueRowIdsKernel>("_UniqueRowIds",
                                        {{"T", DataTypesOf(IndexTypes{})}});
  const std::map<std::string, std::vector<DataType>> floats = {
      {"T", {DT_FLOAT, DT_DOUBLE}}};
  registry.Register({.op = "_CombineRows", .types = floats},
                    CombineRowsKernel::Make);
  registry.Register({.op = "_CombineRowsGrad", .types = floats},
                    CombineRowsGradKernel::Make);
  registry.Register({.op = "_WhereHashed"}, WhereHashedKernel::Make);
  registry.Register({.op = "_CountIds"}, CountIdsKernel::Make);
}

}  // namespace weft
