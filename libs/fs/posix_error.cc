#include "libs/fs/posix_error.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBADF:
      return absl::StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status PosixError(int error, absl::string_view action,
                        absl::string_view path) {
  return absl::Status(CodeOf(error),
                      absl::StrCat(action, " ", path, ": ",
                                   std::generic_category().message(error)));
}

}  // namespace weft
