#include "libs/csv/record_reader.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// The maximum size of a record's lines before another one is appended.
constexpr size_t kMaxRecordBytes = size_t{2} << 30;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

absl::StatusOr<bool> CsvRecordReader::Next() {
  if (next_ == text_.size()) {
    const absl::Status status = ReadLine();
    if (absl::IsOutOfRange(status)) return false;
    RETURN_IF_ERROR(status);
  }
  record_line_ = lines_read_;
  RETURN_IF_ERROR(SplitCsvLine(
      text_, next_, format_, [this] { return AppendLine(); }, fields_));
  return true;
}

absl::Status CsvRecordReader::ReadLine() {
  do {
    next_ = 0;
    text_.clear();
    RETURN_IF_ERROR(read_line_(text_));
    ++lines_read_;
    const bool has_mark =
        may_have_mark_ && absl::StartsWith(text_, kByteOrderMark);
    if (has_mark) next_ = kByteOrderMark.size();
    may_have_mark_ = false;
  } while (next_ == text_.size());
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> CsvRecordReader::AppendLine() {
  if (text_.size() > kMaxRecordBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a quoted field has more than ", kMaxRecordBytes, " bytes"));
  }
  std::string line;
  const absl::Status status = read_line_(line);
  if (absl::IsOutOfRange(status)) return text_;
  RETURN_IF_ERROR(status);
  ++lines_read_;
  text_.append(line);
  return text_;
}

}  // namespace weft
