// Inference of column names and types from csv files.
//
// Threads: stateless functions.
#ifndef WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_
#define WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/csv/record.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/data_type.h"

namespace weft::estimator {

struct CsvRecord {
  int64_t line = 0;                 // line of its start, from 1
  std::vector<std::string> fields;  // without their quotes
};

// Returns the first records, at most `count`, within the first MiB of a file,
// as CSVDataset splits them. A record that crosses the limit is left out.
// INVALID_ARGUMENT for a malformed record, and if the first record crosses the
// limit; names the file and the line.
absl::StatusOr<std::vector<CsvRecord>> ReadCsvRecords(FileSystem& files,
                                                      const std::string& path,
                                                      const CsvFormat& format,
                                                      size_t count);

// Returns the first of int32, int64, float, double and string that can hold
// `field` and all values of type `so_far`, which is DT_INVALID initially. An
// empty field and `na_value` do not change the type. As in TensorFlow's
// make_csv_dataset, "nan", "inf" and hexadecimal numbers are strings. Unlike
// there, "1_000" is a string, because CSVDataset cannot parse it.
DataType WidenedType(DataType so_far, const std::string& field,
                     const std::string& na_value);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_
