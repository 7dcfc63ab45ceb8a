#include "libs/kernels/parsing/sequence_records.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/parsing/feature_values.h"
#include "libs/tensor/heap_charge.h"
#include "schemas/tf/example.pb.h"

namespace weft {
namespace {

int64_t RowSize(const tf::Feature* row) {
  return row == nullptr ? 0 : SizeOf(*row);
}

template <typename T>
T* CopyRow(const tf::Feature* row, T* out) {
  return row == nullptr ? out : CopyValues(*row, out);
}

}  // namespace

struct SequenceRecords::Parsed {
  explicit Parsed(Allocator& allocator) : charge(allocator) {}

  google::protobuf::Arena arena;
  std::vector<tf::SequenceExample*> sequences;
  ArenaCharge charge;
};

// The rows of all sequences, concatenated; null for a row without values.
struct SequenceRecords::Rows {
  std::vector<const tf::Feature*> rows;
  // For each sequence, the start of its rows, and whether it has the feature.
  std::vector<int64_t> begins;
  std::vector<char> is_there;

  int64_t NumOf(int64_t n) const { return begins[n + 1] - begins[n]; }
  int64_t MostSteps() const {
    int64_t most = 0;
    for (size_t n = 0; n < is_there.size(); ++n) {
      most = std::max(most, NumOf(static_cast<int64_t>(n)));
    }
    return most;
  }
  int64_t LongestRow() const {
    int64_t longest = 0;
    for (const tf::Feature* row : rows) {
      longest = std::max(longest, RowSize(row));
    }
    return longest;
  }
  // Charges the memory that CopyRow copies for all rows, outside of the tensor.
  absl::Status ChargeAll(HeapCharge& charge) const {
    for (const tf::Feature* row : rows) {
      if (row != nullptr) RETURN_IF_ERROR(ChargeValues(charge, *row));
    }
    return absl::OkStatus();
  }
  std::vector<int64_t> RowSizes() const {
    std::vector<int64_t> sizes;
    sizes.reserve(rows.size());
    for (const tf::Feature* row : rows) sizes.push_back(RowSize(row));
    return sizes;
  }
};

SequenceRecords::SequenceRecords(Allocator& allocator, const Tensor& serialized,
                                 const Tensor& names)
    : allocator_(&allocator),
      count_(serialized.num_elements()),
      is_single_(serialized.shape().IsScalar()),
      names_(names),
      parsed_(std::make_shared<Parsed>(allocator)) {}

absl::StatusOr<SequenceRecords> SequenceRecords::Parse(Scheduler& scheduler,
                                                       Allocator& allocator,
                                                       const Tensor& serialized,
                                                       const Tensor& names) {
  if (serialized.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected serialized to be a scalar or vector, got shape: ",
        serialized.shape().ToString()));
  }
  if (names.num_elements() != 0 &&
      names.num_elements() != serialized.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "example_names must be empty or have the correct number of elements: ",
        "there are ", serialized.num_elements(), " examples and ",
        names.num_elements(), " names"));
  }
  SequenceRecords records(allocator, serialized, names);
  const auto texts = serialized.flat<std::string>();
  Parsed& parsed = *records.parsed_;
  parsed.sequences.resize(texts.size());
  RETURN_IF_ERROR(parsed.charge.AddTexts(texts));
  const auto parse = [&](int64_t n) {
    const std::string& bytes = texts[n];
    parsed.sequences[n] =
        google::protobuf::Arena::CreateMessage<tf::SequenceExample>(
            &parsed.arena);
    return bytes.size() <= std::numeric_limits<int>::max() &&
           parsed.sequences[n]->ParseFromArray(bytes.data(),
                                               static_cast<int>(bytes.size()));
  };
  ASSIGN_OR_RETURN(const int64_t bad,
                   FindBadRecord(scheduler, texts, parse, [&] {
                     return parsed.charge.Update(parsed.arena.SpaceAllocated());
                   }));
  if (bad < 0) return records;
  return absl::InvalidArgumentError(
      absl::StrCat(records.NameOf(bad), CouldNotParse(texts[bad])));
}

std::string SequenceRecords::NameOf(int64_t n) const {
  return absl::StrCat("Name: ",
                      names_.num_elements() == 0
                          ? absl::string_view("<unknown>")
                          : names_.flat<std::string>()[n],
                      ", ");
}

absl::StatusOr<TensorShape> SequenceRecords::WithBatch(
    absl::Span<const int64_t> dims) const {
  Dims all(dims.begin(), dims.end());
  if (!is_single_) all.insert(all.begin(), count_);
  return TensorShape::Create(all);
}

void SequenceRecords::AddRows(Part part, const std::string& key, int64_t n,
                              Rows& rows) const {
  const tf::SequenceExample& sequence = *parsed_->sequences[n];
  const auto add = [&rows](const tf::Feature& row) {
    rows.rows.push_back(TypeOf(row) == DT_INVALID ? nullptr : &row);
  };
  if (part == Part::kContext) {
    const auto& features = sequence.context().feature();
    const auto found = features.find(key);
    rows.is_there.push_back(found != features.end());
    if (found != features.end()) add(found->second);
  } else {
    const auto& lists = sequence.feature_lists().feature_list();
    const auto found = lists.find(key);
    rows.is_there.push_back(found != lists.end());
    if (found != lists.end()) {
      for (const tf::Feature& row : found->second.feature()) add(row);
    }
  }
  rows.begins.push_back(static_cast<int64_t>(rows.rows.size()));
}

absl::StatusOr<SequenceRecords::Rows> SequenceRecords::Find(
    Part part, const std::string& key, DataType dtype) const {
  Rows rows;
  rows.begins.push_back(0);
  for (int64_t n = 0; n < count_; ++n) AddRows(part, key, n, rows);
  RETURN_IF_ERROR(CheckTypes(part, key, dtype, rows));
  return rows;
}

absl::Status SequenceRecords::CheckTypes(Part part, absl::string_view key,
                                         DataType dtype,
                                         const Rows& rows) const {
  for (int64_t n = 0; n < count_; ++n) {
    for (int64_t i = rows.begins[n]; i < rows.begins[n + 1]; ++i) {
      const tf::Feature* row = rows.rows[i];
      if (row == nullptr || TypeOf(*row) == dtype) continue;
      const std::string where =
          part == Part::kContext
              ? absl::StrCat("Context feature: ", key)
              : absl::StrCat("Feature list: ", key,
                             ", Index: ", i - rows.begins[n]);
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(n), where, ".  Data types don't match. Expected type: ",
          DataTypeName(dtype), ", Actual type: ", DataTypeName(TypeOf(*row))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> SequenceRecords::ContextDense(
    const DenseFeature& feature) const {
  const Tensor& otherwise = feature.default_value;
  ASSIGN_OR_RETURN(const Rows rows,
                   Find(Part::kContext, feature.key, otherwise.dtype()));
  ASSIGN_OR_RETURN(const TensorShape one,
                   TensorShape::Create(feature.shape.dims()));
  const bool is_required = otherwise.num_elements() == 0;
  if (!is_required && otherwise.shape() != one) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Default value for context feature ", feature.key,
        " has an incorrect shape: saw ", otherwise.shape().ToString(),
        " but expected ", one.ToString()));
  }
  for (int64_t n = 0; n < count_; ++n) {
    if (!rows.is_there[n]) {
      if (!is_required) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(n), "Context feature: ", feature.key,
                       " (data type: ", DataTypeName(otherwise.dtype()),
                       ") is required but could not be found."));
    }
    const int64_t size = RowSize(rows.rows[rows.begins[n]]);
    if (size == one.num_elements()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(n), "Context feature: ", feature.key, ".  Number of ",
        DataTypeName(otherwise.dtype()), " values != expected.  Values size: ",
        size, " but output shape: ", one.ToString()));
  }
  ASSIGN_OR_RETURN(const TensorShape shape, WithBatch(one.dims()));
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(*allocator_, otherwise.dtype(), shape));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(rows.ChargeAll(charge));
  const auto missing = static_cast<size_t>(
      std::count(rows.is_there.begin(), rows.is_there.end(), 0));
  const auto fill = [&]<typename T>(TypeTag<T>) -> absl::Status {
    const auto filler = otherwise.template flat<T>();
    RETURN_IF_ERROR(ChargeDefaults<T>(charge, filler, missing));
    T* out = tensor.template mutable_flat<T>().data();
    for (int64_t n = 0; n < count_; ++n) {
      out = rows.is_there[n] ? CopyRow(rows.rows[rows.begins[n]], out)
                             : std::copy(filler.begin(), filler.end(), out);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(DispatchType(FeatureTypes{}, otherwise.dtype(), fill));
  return tensor;
}

absl::StatusOr<SequenceRecords::Steps> SequenceRecords::ListsDense(
    const std::string& key, DataType dtype, const PartialShape& shape,
    bool may_be_missing) const {
  ASSIGN_OR_RETURN(const Rows rows, Find(Part::kLists, key, dtype));
  ASSIGN_OR_RETURN(const TensorShape one, TensorShape::Create(shape.dims()));
  for (int64_t n = 0; n < count_; ++n) {
    if (!rows.is_there[n] && !may_be_missing) {
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(n), "Feature list '", key,
          "' is required but could not be found.  Did you mean to include it "
          "in feature_list_dense_missing_assumed_empty or "
          "feature_list_dense_defaults?"));
    }
    for (int64_t i = rows.begins[n]; i < rows.begins[n + 1]; ++i) {
      const int64_t size = RowSize(rows.rows[i]);
      if (size == one.num_elements()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(n), "Key: ", key, ", Index: ", i - rows.begins[n],
                       ".  Number of ", DataTypeName(dtype),
                       " values != expected.  Values size: ", size,
                       " but output shape: ", one.ToString()));
    }
  }
  const int64_t most = rows.MostSteps();
  Dims dims = {most};
  dims.insert(dims.end(), one.dims().begin(), one.dims().end());
  ASSIGN_OR_RETURN(const TensorShape all, WithBatch(dims));
  Steps steps;
  ASSIGN_OR_RETURN(steps.values, Tensor::Allocate(*allocator_, dtype, all));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(rows.ChargeAll(charge));
  RETURN_IF_ERROR(DispatchType(
      FeatureTypes{}, dtype, [&]<typename T>(TypeTag<T>) -> absl::Status {
        T* out = steps.values.template mutable_flat<T>().data();
        for (int64_t n = 0; n < count_; ++n) {
          T* const end = out + most * one.num_elements();
          for (int64_t i = rows.begins[n]; i < rows.begins[n + 1]; ++i) {
            out = CopyRow(rows.rows[i], out);
          }
          std::fill(out, end, T());
          out = end;
        }
        return absl::OkStatus();
      }));
  ASSIGN_OR_RETURN(const TensorShape batch, WithBatch({}));
  ASSIGN_OR_RETURN(steps.lengths,
                   Tensor::Allocate(*allocator_, DT_INT64, batch));
  for (int64_t n = 0; n < count_; ++n) {
    steps.lengths.mutable_flat<int64_t>()[n] = rows.NumOf(n);
  }
  return steps;
}

absl::StatusOr<Tensor> SequenceRecords::Values(const Rows& rows,
                                               DataType dtype) const {
  int64_t total = 0;
  for (const tf::Feature* row : rows.rows) total += RowSize(row);
  ASSIGN_OR_RETURN(Tensor values,
                   Tensor::Allocate(*allocator_, dtype, TensorShape({total})));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(rows.ChargeAll(charge));
  RETURN_IF_ERROR(DispatchType(
      FeatureTypes{}, dtype, [&]<typename T>(TypeTag<T>) -> absl::Status {
        T* out = values.template mutable_flat<T>().data();
        for (const tf::Feature* row : rows.rows) out = CopyRow(row, out);
        return absl::OkStatus();
      }));
  return values;
}

absl::StatusOr<SparseValues> SequenceRecords::Sparse(Part part,
                                                     const std::string& key,
                                                     DataType dtype) const {
  ASSIGN_OR_RETURN(const Rows rows, Find(part, key, dtype));
  SparseValues result;
  ASSIGN_OR_RETURN(result.values, Values(rows, dtype));
  Dims sizes;
  if (!is_single_) sizes.push_back(count_);
  if (part == Part::kLists) sizes.push_back(rows.MostSteps());
  sizes.push_back(rows.LongestRow());
  result.shape = Tensor::Vector<int64_t>(sizes);
  ASSIGN_OR_RETURN(result.indices,
                   Tensor::Allocate(*allocator_, DT_INT64,
                                    TensorShape({result.values.dim(0),
                                                 result.shape.dim(0)})));
  int64_t* index = result.indices.mutable_flat<int64_t>().data();
  for (int64_t n = 0; n < count_; ++n) {
    for (int64_t i = rows.begins[n]; i < rows.begins[n + 1]; ++i) {
      for (int64_t k = 0; k < RowSize(rows.rows[i]); ++k) {
        if (!is_single_) *index++ = n;
        if (part == Part::kLists) *index++ = i - rows.begins[n];
        *index++ = k;
      }
    }
  }
  return result;
}

absl::StatusOr<SequenceRecords::Ragged> SequenceRecords::RaggedRows(
    Part part, const std::string& key, DataType dtype,
    DataType split_type) const {
  ASSIGN_OR_RETURN(const Rows rows, Find(part, key, dtype));
  Ragged ragged;
  ASSIGN_OR_RETURN(ragged.values, Values(rows, dtype));
  if (part == Part::kLists) {
    ASSIGN_OR_RETURN(ragged.inner_splits,
                     RowSplits(*allocator_, split_type, rows.RowSizes(), key));
  }
  if (is_single_) {
    ragged.outer_splits = split_type == DT_INT32 ? Tensor::Scalar<int32_t>(0)
                                                 : Tensor::Scalar<int64_t>(0);
    return ragged;
  }
  std::vector<int64_t> sizes;
  for (int64_t n = 0; n < count_; ++n) {
    int64_t size = rows.NumOf(n);
    if (part == Part::kContext && size > 0) {
      size = RowSize(rows.rows[rows.begins[n]]);
    }
    sizes.push_back(size);
  }
  ASSIGN_OR_RETURN(ragged.outer_splits,
                   RowSplits(*allocator_, split_type, sizes, key));
  return ragged;
}

}  // namespace weft
