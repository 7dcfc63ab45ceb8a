// ProcessUsage: what the system says that this process uses.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_USAGE_H_
#define WEFT_LIBS_RUNTIME_PROCESS_USAGE_H_

#include <cstdint>

#include "libs/fs/file_system.h"

namespace weft {

struct ProcessUsage {
  double cpu_seconds = 0;    // in the program and in the system for it
  double start_seconds = 0;  // since 1970
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  int64_t open_fds = 0;
  int64_t max_fds = 0;  // 0: not known
};

// Of /proc (man 5 proc), read through `files`, those of the machine; 0 for what
// can't be read there.
ProcessUsage ReadProcessUsage(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_USAGE_H_
