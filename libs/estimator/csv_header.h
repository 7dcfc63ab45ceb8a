// Inference of column names and types from csv files.
//
// Threads: stateless functions.
#ifndef WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_
#define WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/data_type.h"

namespace weft::estimator {

struct CsvFormat {
  char field_delim = ',';
  bool use_quote_delim = true;
  std::string na_value;
};

struct CsvRecord {
  int64_t line = 0;                 // line of its start, from 1
  std::vector<std::string> fields;  // without their quotes
};

// Returns the first records, at most `count`, within the first MiB of a file. A
// record that crosses the limit is left out.
absl::StatusOr<std::vector<CsvRecord>> ReadCsvRecords(FileSystem& files,
                                                      const std::string& path,
                                                      const CsvFormat& format,
                                                      size_t count);

// Returns the first of int32, int64, float, double and string that can hold
// `field` and all values of type `so_far`. `so_far` is DT_INVALID initially.
DataType WidenedType(DataType so_far, const std::string& field,
                     const CsvFormat& format);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_
