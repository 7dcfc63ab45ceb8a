// ReadAdmittedFile is FileSystem::ReadFile with admission control of its
// memory.
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

// Returns the file's contents. `admit` is called before memory is allocated:
// with the reported size of the file, and again with more whenever it turns out
// to be longer. Its error is returned.
absl::StatusOr<std::string> ReadAdmittedFile(
    FileSystem& files, absl::string_view path,
    absl::FunctionRef<absl::Status(uint64_t bytes)> admit);

}  // namespace weft

#endif  // WEFT_LIBS_FS_ADMITTED_READ_H_
