// Lasting errors: errors of a data set that each further call would meet again,
// so that IgnoreErrors, which would ask for ever, returns them.
#ifndef WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_
#define WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace weft {

inline constexpr char kLastingErrorUrl[] = "weft/lasting_dataset_error";

inline absl::Status MarkLasting(absl::Status status) {
  status.SetPayload(kLastingErrorUrl, absl::Cord());
  return status;
}

inline bool IsLasting(const absl::Status& status) {
  return status.GetPayload(kLastingErrorUrl).has_value();
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_
