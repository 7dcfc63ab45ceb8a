#include "libs/fs/admitted_read.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "libs/base/status.h"

namespace weft {
namespace {

// The chunk size for a file that grew while it was read, and the maximum chunk
// size.
constexpr uint64_t kReadOnAtOnce = uint64_t{64} << 10;
constexpr uint64_t kMostReadAtOnce = uint64_t{64} << 20;

// Returns how many bytes to read next, after `filled` of `expected` bytes were
// read.
size_t RoomAfter(uint64_t filled, uint64_t expected) {
  // Read one byte more than expected, to detect that the file grew. Even if the
  // expected size is wrong, never allocate much more than was already read.
  const uint64_t left = expected >= filled ? expected - filled : kReadOnAtOnce;
  return static_cast<size_t>(std::min(left, kMostReadAtOnce - 1) + 1);
}

}  // namespace

absl::StatusOr<std::string> ReadAdmittedFile(
    FileSystem& files, absl::string_view path,
    absl::FunctionRef<absl::Status(uint64_t bytes)> admit) {
  ASSIGN_OR_RETURN(const auto file, files.NewRandomAccessFile(path));
  ASSIGN_OR_RETURN(const uint64_t expected, files.GetFileSize(path));
  RETURN_IF_ERROR(admit(expected));
  uint64_t admitted = expected;
  std::string contents;
  size_t filled = 0;
  while (true) {
    const size_t room = RoomAfter(filled, expected);
    contents.resize(filled + room);
    ASSIGN_OR_RETURN(const size_t read,
                     file->Read(filled, room, contents.data() + filled));
    filled += read;
    if (read < room) break;
    if (filled <= expected || filled + kReadOnAtOnce < admitted) continue;
    // The file grew, or reports no size, as devices do. Ask for half as much
    // again, which is also how the string grows.
    admitted = filled + std::max<uint64_t>(filled / 2, kMostReadAtOnce);
    RETURN_IF_ERROR(admit(admitted));
  }
  contents.resize(filled);
  return contents;
}

}  // namespace weft
