// ReadSystemFile reads a file of the kernel (/proc, /sys).
#ifndef WEFT_LIBS_RUNTIME_PROCESS_SYSTEM_FILE_H_
#define WEFT_LIBS_RUNTIME_PROCESS_SYSTEM_FILE_H_

#include <string>

#include "libs/fs/file_system.h"

namespace weft {

// Returns the first 256 KiB of the file; empty if it cannot be read. The
// kernel's files report a size of zero, so they are read until their end.
inline std::string ReadSystemFile(FileSystem& files, const std::string& path) {
  constexpr size_t kMaxBytes = 256 << 10;
  auto file = files.NewRandomAccessFile(path);
  if (!file.ok()) return "";
  std::string text(kMaxBytes, '\0');
  const absl::StatusOr<size_t> size =
      (*file)->Read(0, text.size(), text.data());
  text.resize(size.value_or(0));
  return text;
}

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_SYSTEM_FILE_H_
