// ProcessUsage is the resource usage of this process, as reported by the
// system.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_PROCESS_USAGE_H_
#define WEFT_LIBS_RUNTIME_PROCESS_PROCESS_USAGE_H_

#include <cstdint>

#include "libs/fs/file_system.h"

namespace weft {

struct ProcessUsage {
  double cpu_seconds = 0;    // user and system time
  double start_seconds = 0;  // since 1970
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  int64_t open_fds = 0;
  int64_t max_fds = 0;  // 0: unknown
};

// Returns the usage as read from /proc (man 5 proc). `files` is the machine's
// file system. Values that cannot be read are 0.
ProcessUsage ReadProcessUsage(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_PROCESS_USAGE_H_
