// ReadAdmittedFile reads a file like FileSystem::ReadFile, but asks for
// admission before it allocates memory.
#ifndef WEFT_LIBS_FS_ADMITTED_READ_H_
#define WEFT_LIBS_FS_ADMITTED_READ_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"

namespace weft {

// Returns the contents of the file. `admit` is called with the number of bytes
// before memory is allocated: first with the reported size of the file, and
// again with a larger number whenever the file turns out to be longer. If
// `admit` returns an error, this error is returned.
absl::StatusOr<std::string> ReadAdmittedFile(
    FileSystem& files, absl::string_view path,
    absl::FunctionRef<absl::Status(uint64_t bytes)> admit);

}  // namespace weft

#endif  // WEFT_LIBS_FS_ADMITTED_READ_H_
