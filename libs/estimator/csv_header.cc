#include "libs/estimator/csv_header.h"

#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "libs/base/status.h"

namespace weft::estimator {
namespace {

constexpr size_t kMostBytes = 1 << 20;

// Splits records off the front of a text.
class RecordSplitter {
 public:
  RecordSplitter(const std::string& text, const CsvFormat& format)
      : text_(text), format_(format) {}

  bool AtEnd() const { return at_ >= text_.size(); }

  // Returns false if the text ends within the record.
  bool Next(CsvRecord& record) {
    std::vector<std::string>& fields = record.fields;
    fields.assign(1, "");
    record.line = line_;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (quoted) {
        quoted = TakeQuoted(c, fields.back());
      } else if (c == '\n') {
        ++at_;
        return true;
      } else if (c == '"' && format_.use_quote_delim && fields.back().empty()) {
        quoted = true;
      } else if (c == format_.field_delim) {
        fields.emplace_back();
      } else if (c != '\r') {
        fields.back().push_back(c);
      }
    }
    return false;
  }

 private:
  // Returns whether the field continues.
  bool TakeQuoted(char c, std::string& field) {
    if (c != '"') {
      field.push_back(c);
      return true;
    }
    const bool is_quote = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
    if (!is_quote) return false;
    field.push_back('"');
    ++at_;
    return true;
  }

  const std::string& text_;
  const CsvFormat& format_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

bool IsInt32(const std::string& field) {
  int32_t value;
  return absl::SimpleAtoi(field, &value);
}
bool IsInt64(const std::string& field) {
  int64_t value;
  return absl::SimpleAtoi(field, &value);
}
bool IsFloat(const std::string& field, double most) {
  double value;
  return absl::SimpleAtod(field, &value) &&
         (!std::isfinite(value) || std::abs(value) <= most);
}

bool Takes(DataType type, const std::string& field) {
  switch (type) {
    case DT_INT32:
      return IsInt32(field);
    case DT_INT64:
      return IsInt64(field);
    case DT_FLOAT:
      return IsFloat(field, std::numeric_limits<float>::max());
    case DT_DOUBLE:
      return IsFloat(field, std::numeric_limits<double>::max());
    default:
      return true;
  }
}

}  // namespace

absl::StatusOr<std::vector<CsvRecord>> ReadCsvRecords(FileSystem& files,
                                                      const std::string& path,
                                                      const CsvFormat& format,
                                                      size_t count) {
  ASSIGN_OR_RETURN(const auto file, files.NewRandomAccessFile(path));
  std::string text(kMostBytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, file->Read(0, text.size(), text.data()));
  const bool is_all = size < kMostBytes;
  text.resize(size);
  RecordSplitter splitter(text, format);
  std::vector<CsvRecord> records;
  CsvRecord record;
  while (records.size() < count && !splitter.AtEnd()) {
    if (!splitter.Next(record) && !is_all) break;
    records.push_back(record);
  }
  return records;
}

DataType WidenedType(DataType so_far, const std::string& field,
                     const CsvFormat& format) {
  if (field.empty() || field == format.na_value) return so_far;
  bool is_wide_enough = so_far == DT_INVALID;
  for (const DataType type : {DT_INT32, DT_INT64, DT_FLOAT, DT_DOUBLE}) {
    is_wide_enough = is_wide_enough || type == so_far;
    if (is_wide_enough && Takes(type, field)) return type;
  }
  return DT_STRING;
}

}  // namespace weft::estimator
