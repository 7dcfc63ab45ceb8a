// CsvFile reads the records of one CSV file, as a tensor for each selected
// column. It follows RFC 4180 as TensorFlow's CSVDataset does: a quoted field
// may span lines, and an empty line is a record with one empty field.
//
// Threads: used by one thread at a time; calls block, as files do.
#ifndef WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_
#define WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/input_stream.h"
#include "libs/kernels/data/record_files.h"

namespace weft {

struct CsvOptions {
  char delimiter = ',';
  bool has_quotes = true;  // false: quotes are ordinary characters
  bool has_header = false;
  std::string na_value;  // treated like an empty field
  // The selected fields, ascending; empty: all, except `excluded`.
  std::vector<int64_t> selected;
  std::vector<int64_t> excluded;  // ascending
  // For each column: its type, and the value of empty fields, if it has one.
  std::vector<Tensor> defaults;
  // For each column, for errors: its name, and why it has its type; may be
  // empty.
  std::vector<std::string> names;
  std::vector<std::string> type_reasons;
};

class CsvFile : public RecordFile {
 public:
  // `options` must outlive it; `position` is the start of the stream.
  CsvFile(const CsvOptions& options, std::unique_ptr<InputStream> stream,
          uint64_t position);

  // Skips a record. If it is missing or malformed, the first Read returns the
  // error, as in TensorFlow; file errors are returned here.
  absl::Status SkipHeader();

  // Returns INVALID_ARGUMENT, with TensorFlow's texts and the line of the
  // record's start, for a malformed record; the next record begins after its
  // last field. Fields are counted from 0, as in the file. Lines are counted
  // from 1 in the file or, if it was opened at another position, from there.
  absl::StatusOr<bool> Read(Allocator& allocator,
                            DatasetElement* element) override;
  uint64_t position() const override {
    return begin_ + lines_.offset() - (line_.size() - next_);
  }
  bool IsGivenUpAfterError() const override { return false; }

 private:
  // A view of line_, or of unquoted_ for a field with escaped quotes.
  struct Field {
    size_t begin = 0, size = 0;
    bool is_unquoted = false;
  };

  // Splits the next record into fields; returns whether there is one. The error
  // is one of the file, or INVALID_ARGUMENT, the first in the record, which is
  // read completely.
  absl::StatusOr<bool> Split();
  // Appends a line to line_; returns whether there was one.
  absl::StatusOr<bool> AppendLine();
  // Reads a field completely, even if it is malformed.
  absl::Status ReadPlain();
  absl::Status ReadQuoted();
  bool IsAtEndOfField() const;
  // After a field: returns whether another one follows.
  absl::StatusOr<bool> EndField();
  void SkipLine() { next_ = line_.size(); }
  absl::string_view View(const Field& field) const;

  absl::Status SetAll(Allocator& allocator, DatasetElement* element) const;
  // Sets the value of field `number`, which belongs to `column`.
  absl::Status Set(Allocator& allocator, size_t column, size_t number,
                   Tensor* to) const;
  absl::Status WrongFieldCount() const;
  // "Field 2 (column 'age')".
  std::string NameOfField(size_t column, size_t number) const;
  // "line 3 of the file".
  std::string Place() const;

  const CsvOptions& options_;
  const std::unique_ptr<InputStream> stream_;
  LineReader lines_;
  const uint64_t begin_;
  int64_t lines_read_ = 0;
  int64_t record_line_ = 0;    // the line of the record's start
  absl::Status header_error_;  // not returned yet

  std::string line_;  // with its end; several for a field with line ends
  size_t next_ = 0;   // next position to read
  std::string unquoted_;
  std::vector<Field> fields_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_
