// The types of CSV columns, for the kernels that read them.
#ifndef WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_TYPES_H_
#define WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_TYPES_H_

#include <cstdint>
#include <string>

#include "libs/kernels/common/number_types.h"

namespace weft {

using CsvFieldTypes = TypeList<float, double, int32_t, int64_t, std::string>;

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_CSV_FIELD_TYPES_H_
