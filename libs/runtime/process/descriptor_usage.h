// DescriptorUsage is the maximum number of descriptors (files and sockets) of
// this process, and the current number.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_DESCRIPTOR_USAGE_H_
#define WEFT_LIBS_RUNTIME_PROCESS_DESCRIPTOR_USAGE_H_

#include <cstdint>
#include <limits>

#include "libs/fs/file_system.h"

namespace weft {

struct DescriptorUsage {
  // The maximum number; INT64_MAX if there is no limit, or if the system does
  // not report one.
  int64_t limit = std::numeric_limits<int64_t>::max();
  int64_t open = 0;  // the current number; 0 if not reported
};

// Raises the soft limit of open files (RLIMIT_NOFILE) to the hard limit, then
// returns the limit and the number of open descriptors. `files` is the
// machine's file system, for /proc. The limit applies to the whole
// operating-system process; if raising it fails, it stays unchanged.
// Thread-safe.
DescriptorUsage RaiseDescriptorLimit(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_DESCRIPTOR_USAGE_H_
