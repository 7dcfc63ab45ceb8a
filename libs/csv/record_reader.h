// CsvRecordReader reads the records of one CSV file, one after another, as
// TensorFlow's CSVDataset does (see SplitCsvLine), except that a UTF-8 byte
// order mark at the start of the file is skipped: spreadsheet programs write
// one, and TensorFlow makes it part of the first field.
//
// Threads: thread-compatible; Next blocks as the source of the lines does.
#ifndef WEFT_LIBS_CSV_RECORD_READER_H_
#define WEFT_LIBS_CSV_RECORD_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/csv/record.h"

namespace weft {

class CsvRecordReader {
 public:
  // Replaces `line` by the next line of the file, with its "\n". OUT_OF_RANGE
  // at the end of the file.
  using ReadLineFn = std::function<absl::Status(std::string& line)>;

  // `at_start` says whether the first line is the first of the file.
  CsvRecordReader(const CsvFormat& format, bool at_start, ReadLineFn read_line)
      : format_(format),
        may_have_mark_(at_start),
        read_line_(std::move(read_line)) {}

  // Reads the next record into fields(); returns false at the end of the file.
  // INVALID_ARGUMENT for a malformed record: the next call returns the record
  // behind it. RESOURCE_EXHAUSTED for a record of more than 2^31 bytes or 2^24
  // fields. Other errors are those of the source.
  absl::StatusOr<bool> Next();

  // The fields of the last record; valid until the next call of Next.
  const CsvFields& fields() const { return fields_; }
  // The line where the last record begins, counted from 1 for the first line
  // that was read.
  int64_t line() const { return record_line_; }
  // The number of bytes read from the source that belong to later records.
  size_t unread_bytes() const { return text_.size() - next_; }

 private:
  // Reads the first line of a record.
  absl::Status ReadLine();
  // Appends a line to the record's text and returns the text.
  absl::StatusOr<absl::string_view> AppendLine();

  const CsvFormat format_;
  bool may_have_mark_;
  const ReadLineFn read_line_;
  int64_t lines_read_ = 0;
  int64_t record_line_ = 0;

  std::string text_;  // the lines of the last record
  size_t next_ = 0;   // where the next record begins in text_
  CsvFields fields_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CSV_RECORD_READER_H_
