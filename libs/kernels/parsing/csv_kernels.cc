// DecodeCSV: each field of a record becomes an element of the tensor of its
// column.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parsing/csv_field.h"
#include "libs/kernels/parsing/csv_record.h"
#include "libs/kernels/string/string_kernels.h"

namespace weft {
namespace {

// Whose fields are in the first cache together, of some dozen columns.
constexpr int64_t kBlockRows = 32;

absl::Status CheckDefaults(const OpKernelContext& context) {
  for (int i = 1; i < context.num_inputs(); ++i) {
    const Tensor& value = context.input(i);
    if (value.rank() > 1) {
      return absl::InvalidArgumentError(
          "Each record default should be at most rank 1");
    }
    if (value.num_elements() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("There should only be 1 default per field but field ",
                       i - 1, " has ", value.num_elements()));
    }
  }
  return absl::OkStatus();
}

class DecodeCsvKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<DecodeCsvKernel>(construction);
    ASSIGN_OR_RETURN(kernel->na_value_,
                     construction.GetAttr<std::string>("na_value"));
    ASSIGN_OR_RETURN(kernel->format_, ReadFormat(construction));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckDefaults(context));
    const size_t columns = static_cast<size_t>(context.num_outputs());
    std::vector<Tensor*> outputs(columns);
    for (size_t i = 0; i < columns; ++i) {
      ASSIGN_OR_RETURN(outputs[i],
                       context.AllocateOutput(static_cast<int>(i),
                                              context.input(0).shape()));
    }
    return ParseRows(context, outputs);
  }

 private:
  // Several rows at a time; the error is that of the first row that has one.
  absl::Status ParseRows(OpKernelContext& context,
                         const std::vector<Tensor*>& outputs) const {
    // What pays to wake another thread, about a hundred microseconds: rows are
    // decoded beside steps, which want the threads as well.
    const int64_t least = 1 + 4000 / static_cast<int64_t>(outputs.size() + 1);
    const int64_t rows = context.input(0).num_elements();
    if (rows <= least) return ParseRange(context, 0, rows, outputs);
    absl::Mutex mutex;
    int64_t first = rows;
    absl::Status error;
    context.scheduler().ParallelFor(
        rows, least, [&](int64_t begin, int64_t end) {
          absl::Status status = ParseRange(context, begin, end, outputs);
          if (status.ok()) return;
          absl::MutexLock lock(&mutex);
          if (begin >= first) return;
          first = begin;
          error = std::move(status);
        });
    return error;
  }

  // Column by column, several rows at a time; where some are not plain or not
  // as they should be, row by row.
  absl::Status ParseRange(const OpKernelContext& context, int64_t begin,
                          int64_t end,
                          const std::vector<Tensor*>& outputs) const {
    std::vector<absl::string_view> fields(
        static_cast<size_t>(std::min(end - begin, kBlockRows)) *
        outputs.size());
    for (; begin < end; begin += kBlockRows) {
      const int64_t block_end = std::min(end, begin + kBlockRows);
      if (ParseColumns(context, begin, block_end, outputs,
                       absl::MakeSpan(fields))) {
        continue;
      }
      RETURN_IF_ERROR(ParseRowByRow(context, begin, block_end, outputs));
    }
    return absl::OkStatus();
  }

  // False where something is wrong or not plain; what was written is of no use.
  bool ParseColumns(const OpKernelContext& context, int64_t begin, int64_t end,
                    const std::vector<Tensor*>& outputs,
                    absl::Span<absl::string_view> fields) const {
    const auto records = context.input(0).flat<std::string>();
    const size_t columns = outputs.size();
    fields = fields.first(static_cast<size_t>(end - begin) * columns);
    for (size_t row = 0; row < static_cast<size_t>(end - begin); ++row) {
      if (!SplitPlainCsvRecord(records[static_cast<size_t>(begin) + row],
                               format_,
                               fields.subspan(row * columns, columns))) {
        return false;
      }
    }
    for (size_t i = 0; i < columns; ++i) {
      const Tensor& otherwise = context.input(static_cast<int>(i) + 1);
      const bool is_set =
          SetColumn(otherwise, fields, i, columns, begin, *outputs[i]);
      if (!is_set) return false;
    }
    return true;
  }

  // Elements of `output` from `row` on: each field of `fields` that is of that
  // column, one of `columns`.
  bool SetColumn(const Tensor& otherwise,
                 absl::Span<const absl::string_view> fields, size_t column,
                 size_t columns, int64_t row, Tensor& output) const {
    const absl::string_view na_value = na_value_;
    const auto set = [&]<typename T>(TypeTag<T>) -> absl::Status {
      T* to = output.mutable_flat<T>().data() + row;
      for (size_t i = column; i < fields.size(); i += columns, ++to) {
        const absl::string_view field = fields[i];
        const bool is_missing = field.empty() || field == na_value;
        if (is_missing ? otherwise.num_elements() == 0
                       : !ParseCsvField(field, *to)) {
          return absl::InvalidArgumentError("");
        }
        if (is_missing) *to = otherwise.flat<T>()[0];
      }
      return absl::OkStatus();
    };
    return DispatchType(CsvFieldTypes{}, output.dtype(), set).ok();
  }

  // With the error of the first row that has one.
  absl::Status ParseRowByRow(const OpKernelContext& context, int64_t begin,
                             int64_t end,
                             const std::vector<Tensor*>& outputs) const {
    const auto records = context.input(0).flat<std::string>();
    CsvFields fields;
    for (int64_t row = begin; row < end; ++row) {
      RETURN_IF_ERROR(SplitCsvRecord(records[row], format_, fields));
      if (fields.values.size() != outputs.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expect ", outputs.size(), " fields but have ",
                         fields.values.size(), " in record ", row));
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        RETURN_IF_ERROR(SetField(context.input(static_cast<int>(i) + 1),
                                 fields.values[i], row, i, *outputs[i]));
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
    ASSIGN_OR_RETURN(format.columns,
                     construction.GetAttr<std::vector<int64_t>>("select_cols"));
    ASSIGN_OR_RETURN(const DataTypeVector types,
                     construction.GetAttr<DataTypeVector>("OUT_TYPE"));
    RETURN_IF_ERROR(CheckColumns(format.columns, types.size()));
    return format;
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
                        int64_t row, size_t column, Tensor& output) const {
    return DispatchType(
        CsvFieldTypes{}, output.dtype(),
        [&]<typename T>(TypeTag<T>) -> absl::Status {
          T& element = output.mutable_flat<T>()[row];
          if (field.empty() || field == na_value_) {
            if (otherwise.num_elements() == 0) {
              return absl::InvalidArgumentError(absl::StrCat(
                  "Field ", column, " is required but missing in record ", row,
                  "!"));
            }
            element = otherwise.flat<T>()[0];
          } else if (!ParseCsvField(field, element)) {
            return absl::InvalidArgumentError(absl::StrCat(
                "Field ", column, " in record ", row, " is not a valid ",
                DataTypeName(output.dtype()), ": ", field));
          }
          return absl::OkStatus();
        });
  }

  std::string na_value_;
  CsvFormat format_;
};

}  // namespace

void RegisterCsvKernels(KernelRegistry& registry) {
  KernelDef def;
  def.op = "DecodeCSV";
  registry.Register(std::move(def), DecodeCsvKernel::Make);
}

}  // namespace weft
