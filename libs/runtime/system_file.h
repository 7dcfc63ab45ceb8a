// ReadSystemFile: a file in which the kernel tells something (/proc, /sys).
#ifndef WEFT_LIBS_RUNTIME_SYSTEM_FILE_H_
#define WEFT_LIBS_RUNTIME_SYSTEM_FILE_H_

#include <string>

#include "libs/fs/file_system.h"

namespace weft {

// Its first 256 KiB; empty where it can't be read. Such files say that they
// are empty, so they are read until they end.
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

#endif  // WEFT_LIBS_RUNTIME_SYSTEM_FILE_H_
