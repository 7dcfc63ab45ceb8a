// DecodeCSV: each field of a record becomes an element of its column's tensor.
// _DecodeCSVAndPack: the columns are in one tensor.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/csv/field.h"
#include "libs/csv/plain_record.h"
#include "libs/csv/record.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/parsing/csv_columns.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The rows whose fields fit into the first-level cache, for some dozen columns.
constexpr int64_t kBlockRows = 32;

absl::Status CheckDefaults(const OpKernelContext& context) {
  for (int i = 1; i < context.num_inputs(); ++i) {
    RETURN_IF_ERROR(
        CheckCsvDefault(context.input(i), static_cast<size_t>(i) - 1));
  }
  return absl::OkStatus();
}

// Counts the default values that threads copy. Thread-safe.
class DefaultsCharge {
 public:
  explicit DefaultsCharge(HeapCharge& charge) : charge_(charge) {}

  // Charges one more copy of a string. RESOURCE_EXHAUSTED beyond the memory
  // bound. Numbers need no charge.
  absl::Status Add(const std::string& text) {
    const size_t bytes = HeapCharge::BytesOfString(text.size());
    if (bytes == 0) return absl::OkStatus();
    absl::MutexLock lock(&mutex_);
    return charge_.Add(bytes);
  }
  template <typename Number>
  absl::Status Add(const Number&) {
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  HeapCharge& charge_ ABSL_GUARDED_BY(mutex_);
};

// The memory of a column's elements, and the charge for its defaults.
struct Column {
  Tensor* output;
  int64_t first;
  int64_t stride;  // distance between rows
  DefaultsCharge* defaults;

  DataType dtype() const { return output->dtype(); }
  template <typename T>
  T* At(int64_t row) const {
    return output->mutable_flat<T>().data() + first + row * stride;
  }
};
using Columns = absl::InlinedVector<Column, 8>;

class DecodeCsvKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<DecodeCsvKernel>(construction);
    ASSIGN_OR_RETURN(kernel->na_value_,
                     construction.GetAttr<std::string>("na_value"));
    ASSIGN_OR_RETURN(kernel->format_, ReadFormat(construction));
    ASSIGN_OR_RETURN(kernel->selected_, ReadSelected(construction));
    kernel->packs_ = construction.node().type() == "_DecodeCSVAndPack";
    if (kernel->packs_) {
      ASSIGN_OR_RETURN(const int64_t axis,
                       construction.GetAttr<int64_t>("axis"));
      kernel->packs_rows_ = axis != 0;
    }
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckDefaults(context));
    HeapCharge charge(context.host_allocator());
    DefaultsCharge defaults(charge);
    Columns columns;
    RETURN_IF_ERROR(packs_ ? AddPacked(context, defaults, columns)
                           : AddEach(context, defaults, columns));
    // Fields are parts of the records; missing fields get the default.
    RETURN_IF_ERROR(ChargeStrings(charge, context.input(0)));
    return ParseRows(context, columns);
  }

 private:
  static absl::Status AddEach(OpKernelContext& context,
                              DefaultsCharge& defaults, Columns& columns) {
    for (int i = 0; i < context.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor * output,
                       context.AllocateOutput(i, context.input(0).shape()));
      columns.push_back({output, 0, 1, &defaults});
    }
    return absl::OkStatus();
  }
  // All columns in one tensor, row by row or column by column.
  absl::Status AddPacked(OpKernelContext& context, DefaultsCharge& defaults,
                         Columns& columns) const {
    const int64_t count = context.num_inputs() - 1;
    const TensorShape& rows = context.input(0).shape();
    Dims dims(rows.dims().begin(), rows.dims().end());
    dims.insert(packs_rows_ ? dims.end() : dims.begin(), count);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const int64_t first = packs_rows_ ? 1 : rows.num_elements();
    const int64_t stride = packs_rows_ ? count : 1;
    for (int64_t i = 0; i < count; ++i) {
      columns.push_back({output, i * first, stride, &defaults});
    }
    return absl::OkStatus();
  }

  // Parses several rows concurrently; returns the error of the first bad row.
  absl::Status ParseRows(OpKernelContext& context,
                         const Columns& columns) const {
    // The minimum work for waking another thread, about a hundred microseconds:
    // rows are decoded beside steps, which need the threads, too.
    const int64_t least = 1 + 4000 / static_cast<int64_t>(columns.size() + 1);
    const int64_t rows = context.input(0).num_elements();
    if (rows <= least) return ParseRange(context, 0, rows, columns);
    absl::Mutex mutex;
    int64_t first = rows;
    absl::Status error;
    context.scheduler().ParallelFor(
        rows, least, [&](int64_t begin, int64_t end) {
          absl::Status status = ParseRange(context, begin, end, columns);
          if (status.ok()) return;
          absl::MutexLock lock(&mutex);
          if (begin >= first) return;
          first = begin;
          error = std::move(status);
        });
    return error;
  }

  // Parses column by column, several rows at a time; if rows are not plain or
  // are malformed, row by row.
  absl::Status ParseRange(const OpKernelContext& context, int64_t begin,
                          int64_t end, const Columns& columns) const {
    std::vector<absl::string_view> fields(
        static_cast<size_t>(std::min(end - begin, kBlockRows)) *
        columns.size());
    for (; begin < end; begin += kBlockRows) {
      const int64_t block_end = std::min(end, begin + kBlockRows);
      if (ParseColumns(context, begin, block_end, columns,
                       absl::MakeSpan(fields))) {
        continue;
      }
      RETURN_IF_ERROR(ParseRowByRow(context, begin, block_end, columns));
    }
    return absl::OkStatus();
  }

  // Returns false for rows that are malformed or not plain; the output is then
  // undefined.
  bool ParseColumns(const OpKernelContext& context, int64_t begin, int64_t end,
                    const Columns& columns,
                    absl::Span<absl::string_view> fields) const {
    const auto records = context.input(0).flat<std::string>();
    const size_t count = columns.size();
    fields = fields.first(static_cast<size_t>(end - begin) * count);
    for (size_t row = 0; row < static_cast<size_t>(end - begin); ++row) {
      if (!SplitPlainCsvRecord(records[static_cast<size_t>(begin) + row],
                               format_, selected_,
                               fields.subspan(row * count, count))) {
        return false;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      const Tensor& otherwise = context.input(static_cast<int>(i) + 1);
      if (!SetColumn(otherwise, fields, i, count, begin, columns[i])) {
        return false;
      }
    }
    return true;
  }

  // Sets the elements of a column from `row` on: field `index`, and then each
  // field one row later.
  bool SetColumn(const Tensor& otherwise,
                 absl::Span<const absl::string_view> fields, size_t index,
                 size_t num_columns, int64_t row, const Column& column) const {
    const absl::string_view na_value = na_value_;
    const auto set = [&]<typename T>(TypeTag<T>) -> absl::Status {
      T* to = column.At<T>(row);
      for (size_t i = index; i < fields.size(); i += num_columns) {
        const absl::string_view field = fields[i];
        const bool is_missing = field.empty() || field == na_value;
        if (is_missing ? otherwise.num_elements() == 0
                       : !ParseCsvField(field, *to)) {
          return absl::InvalidArgumentError("");
        }
        if (is_missing) {
          RETURN_IF_ERROR(column.defaults->Add(otherwise.flat<T>()[0]));
          *to = otherwise.flat<T>()[0];
        }
        to += column.stride;
      }
      return absl::OkStatus();
    };
    return DispatchType(CsvFieldTypes{}, column.dtype(), set).ok();
  }

  // Returns the error of the first bad row.
  absl::Status ParseRowByRow(const OpKernelContext& context, int64_t begin,
                             int64_t end, const Columns& columns) const {
    const auto records = context.input(0).flat<std::string>();
    CsvFields fields;
    for (int64_t row = begin; row < end; ++row) {
      RETURN_IF_ERROR(SplitCsvRecord(records[row], format_, selected_, fields));
      if (fields.size() != columns.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expect ", columns.size(), " fields but have ",
                         fields.size(), " in record ", row));
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        RETURN_IF_ERROR(SetField(context.input(static_cast<int>(i) + 1),
                                 fields[i], row, i, columns[i]));
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<CsvFormat> ReadFormat(
      const OpKernelConstruction& construction) {
    CsvFormat format;
    ASSIGN_OR_RETURN(const std::string delimiter,
                     construction.GetAttr<std::string>("field_delim"));
    if (delimiter.size() != 1) {
      return absl::InvalidArgumentError("field_delim should be only 1 char");
    }
    format.delimiter = delimiter[0];
    ASSIGN_OR_RETURN(format.has_quotes,
                     construction.GetAttr<bool>("use_quote_delim"));
    return format;
  }
  static absl::StatusOr<std::vector<int64_t>> ReadSelected(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(std::vector<int64_t> columns,
                     construction.GetAttr<std::vector<int64_t>>("select_cols"));
    ASSIGN_OR_RETURN(const DataTypeVector types,
                     construction.GetAttr<DataTypeVector>("OUT_TYPE"));
    RETURN_IF_ERROR(CheckColumns(columns, types.size()));
    return columns;
  }

  static absl::Status CheckColumns(const std::vector<int64_t>& columns,
                                   size_t outputs) {
    if (!columns.empty() && columns.size() != outputs) {
      return absl::InvalidArgumentError("select_cols should match output size");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) {
        return absl::InvalidArgumentError(
            "select_cols should be non-negative indices");
      }
      if (i > 0 && columns[i] <= columns[i - 1]) {
        return absl::InvalidArgumentError(
            "select_cols should be strictly increasing indices");
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetField(const Tensor& otherwise, absl::string_view field,
                        int64_t row, size_t index, const Column& column) const {
    return DispatchType(
        CsvFieldTypes{}, column.dtype(),
        [&]<typename T>(TypeTag<T>) -> absl::Status {
          T& element = *column.At<T>(row);
          if (field.empty() || field == na_value_) {
            if (otherwise.num_elements() == 0) {
              return absl::InvalidArgumentError(absl::StrCat(
                  "Field ", NumberOf(index),
                  " is required but missing in record ", row, "!"));
            }
            RETURN_IF_ERROR(column.defaults->Add(otherwise.flat<T>()[0]));
            element = otherwise.flat<T>()[0];
          } else if (!ParseCsvField(field, element)) {
            return absl::InvalidArgumentError(absl::StrCat(
                "Field ", NumberOf(index), " in record ", row,
                " is not a valid ", DataTypeName(column.dtype()), ": ", field));
          }
          return absl::OkStatus();
        });
  }

  // The number of a column's field in the records.
  int64_t NumberOf(size_t column) const {
    return selected_.empty() ? static_cast<int64_t>(column) : selected_[column];
  }

  std::string na_value_;
  CsvFormat format_;
  // The indices of the fields that become columns, ascending; empty: all.
  std::vector<int64_t> selected_;
  bool packs_ = false;
  bool packs_rows_ = false;  // false: columns
};

}  // namespace

void RegisterCsvKernels(KernelRegistry& registry) {
  for (const char* op : {"DecodeCSV", "_DecodeCSVAndPack"}) {
    KernelDef def;
    def.op = op;
    registry.Register(std::move(def), DecodeCsvKernel::Make);
  }
}

}  // namespace weft
