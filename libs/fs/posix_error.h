// Errors that contain the system's message and are identical for all
// FileSystems.
#ifndef WEFT_LIBS_FS_POSIX_ERROR_H_
#define WEFT_LIBS_FS_POSIX_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

// Returns the status for an errno value, such as NOT_FOUND "open a/b: No such
// file or directory".
absl::Status PosixError(int error, absl::string_view action,
                        absl::string_view path);

}  // namespace weft

#endif  // WEFT_LIBS_FS_POSIX_ERROR_H_
