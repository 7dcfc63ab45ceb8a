#include "libs/base/exceptions.h"

#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

absl::Status OutOfMemory(const char* exception) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "OOM: not enough memory for strings or containers of this size (",
      exception,
      "); process less data at a time, or raise the memory limit of the "
      "process"));
}

absl::Status DescribeCurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc& exception) {
    return OutOfMemory(exception.what());
  } catch (const std::length_error& exception) {
    return OutOfMemory(exception.what());
  } catch (const std::exception& exception) {
    return absl::InternalError(
        absl::StrCat("an unexpected exception: ", exception.what()));
  } catch (...) {
    return absl::InternalError("an exception that is not a std::exception");
  }
}

}  // namespace

absl::Status CurrentExceptionStatus() noexcept {
  return StatusWithoutThrowing(DescribeCurrentException);
}

}  // namespace weft
