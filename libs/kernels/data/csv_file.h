// CsvFile reads the records of one CSV file, as a tensor for each selected
// column, as TensorFlow's CSVDataset does.
//
// Threads: used by one thread at a time; calls block, as files do.
#ifndef WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_
#define WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/csv/record_reader.h"
#include "libs/fs/input_stream.h"
#include "libs/kernels/data/record_files.h"

namespace weft {

struct CsvOptions {
  CsvFormat format;
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
    return begin_ + lines_.offset() - records_.unread_bytes();
  }
  bool IsGivenUpAfterError() const override { return false; }

 private:
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
  CsvRecordReader records_;
  const uint64_t begin_;
  absl::Status header_error_;  // not returned yet
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_CSV_FILE_H_
