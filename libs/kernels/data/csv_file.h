// CsvFile: the records of one csv file, a tensor for each column that is
// wanted; RFC 4180 as TensorFlow's CSVDataset reads it: a field in quotes may
// go on over lines, an empty line is a record of one empty field.
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
  bool has_quotes = true;  // else a quote is a character like others
  bool has_header = false;
  std::string na_value;  // is as good as an empty field
  // Which fields are wanted, ascending; empty: all, or all but `excluded`.
  std::vector<int64_t> selected;
  std::vector<int64_t> excluded;  // ascending
  // Of each column: its type, and the value of empty fields, if it has one.
  std::vector<Tensor> defaults;
  // Of each column, for errors: its name, and why it has its type; or empty.
  std::vector<std::string> names;
  std::vector<std::string> type_reasons;
};

class CsvFile : public RecordFile {
 public:
  // `options` outlive it; `position` is where the stream begins.
  CsvFile(const CsvOptions& options, std::unique_ptr<InputStream> stream,
          uint64_t position);

  // Passes over a record. Where there is none, or it is not as it should be,
  // the first Read says so, as in TensorFlow; an error of the file is returned.
  absl::Status SkipHeader();

  // INVALID_ARGUMENT, in TensorFlow's words and with the line where the record
  // begins, for a record that is not as it should be: the next one begins where
  // its last field ends. Fields are counted from 0, as in the file; lines from
  // 1, in the file or, if this was opened at another position, from there.
  absl::StatusOr<bool> Read(Allocator& allocator,
                            DatasetElement* element) override;
  uint64_t position() const override {
    return begin_ + lines_.offset() - (line_.size() - next_);
  }
  bool IsGivenUpAfterError() const override { return false; }

 private:
  // Of line_, or of unquoted_ where quotes had to be taken out.
  struct Field {
    size_t begin = 0, size = 0;
    bool is_unquoted = false;
  };

  // Whether there is a record; its fields. An error is one of the file, or
  // INVALID_ARGUMENT, the first of the record, all of which is read.
  absl::StatusOr<bool> Split();
  // Appends a line to line_; whether there was one.
  absl::StatusOr<bool> AppendLine();
  // A field, up to its end also where that is an error.
  absl::Status ReadPlain();
  absl::Status ReadQuoted();
  bool IsAtEndOfField() const;
  // Behind a field: whether another follows.
  absl::StatusOr<bool> EndField();
  void SkipLine() { next_ = line_.size(); }
  absl::string_view View(const Field& field) const;

  absl::Status SetAll(Allocator& allocator, DatasetElement* element) const;
  // To the value of field `number`, which is that of `column`.
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
  int64_t record_line_ = 0;    // where the record begins
  absl::Status header_error_;  // that nobody has been told of

  std::string line_;  // with its end; several where quotes go over them
  size_t next_ = 0;   // what is to be read of it
  std::string unquoted_;
  std::vector<Field> fields_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_
