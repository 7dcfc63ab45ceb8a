#include "libs/runtime/process/descriptor_usage.h"

#include <sys/resource.h>

#include "libs/runtime/process/process_usage.h"

namespace weft {

DescriptorUsage RaiseDescriptorLimit(FileSystem& files) {
  DescriptorUsage room;
  room.open = ReadProcessUsage(files).open_fds;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return room;
  const rlimit raised = {limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max &&
      setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    limit = raised;
  }
  if (limit.rlim_cur < static_cast<rlim_t>(room.limit)) {
    room.limit = static_cast<int64_t>(limit.rlim_cur);
  }
  return room;
}

}  // namespace weft
