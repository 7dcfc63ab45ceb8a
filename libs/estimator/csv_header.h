// What csv files say of their columns: names, and what types the fields have.
//
// Threads: functions without state.
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
  int64_t line = 0;                 // where it begins; the first one is 1
  std::vector<std::string> fields;  // without their quotes
};

// The first records of a file, at most `count`, of its first MiB. A record that
// the MiB cuts is left out.
absl::StatusOr<std::vector<CsvRecord>> ReadCsvRecords(FileSystem& files,
                                                      const std::string& path,
                                                      const CsvFormat& format,
                                                      size_t count);

// The first of int32, int64, float, double and string that takes `field` and
// what `so_far` takes. DT_INVALID: nothing was there yet.
DataType WidenedType(DataType so_far, const std::string& field,
                     const CsvFormat& format);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CSV_HEADER_H_
