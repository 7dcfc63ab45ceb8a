// MemoryBound: how much memory a pool of this process can hold, as the system
// says now. MachineMemory: what its machine has for all processes, and which
// machine that is.
//
// Linux: /proc/meminfo (MemAvailable), /proc/self/statm, /proc/self/mountinfo,
// /proc/sys/kernel/random/boot_id, and the limits of the control group of the
// process and of those around it: memory.max, memory.current and memory.stat of
// version 2, memory.limit_in_bytes, memory.usage_in_bytes and memory.stat of
// version 1 (the kernel's admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
#ifndef WEFT_LIBS_RUNTIME_MEMORY_BOUND_H_
#define WEFT_LIBS_RUNTIME_MEMORY_BOUND_H_

#include <cstdint>
#include <limits>
#include <string>

#include "libs/fs/file_system.h"

namespace weft {

// Bytes, for a pool that holds `pool_bytes`, some of which may not be written
// yet: what of them the system has given, so no more than all that the process
// holds, and what it could get without swapping, pages of files counted as
// free. INT64_MAX where the system does not tell. Other processes may take of
// the same memory at any time; what they have promised and not written is free
// for the system, and for this. Of variables that several tasks of a machine
// are to make in one run the master asks first (libs/master/memory_check.h).
// Thread-safe.
int64_t MemoryBound(FileSystem& files, int64_t pool_bytes);

// What processes share that are on one machine or, where that has less, in one
// control group of it.
struct MachineMemory {
  // The same text for those processes: the kernel's name for its run on this
  // machine, with the container and the group where one of those around it has
  // less. Groups within the one that has it are told apart all the same, so not
  // all who share it are found. Empty where the system does not tell.
  std::string machine;
  // Bytes, as above, that all of them could get. INT64_MAX where the system
  // does not tell.
  int64_t available = std::numeric_limits<int64_t>::max();
};
// Thread-safe.
MachineMemory ReadMachineMemory(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_MEMORY_BOUND_H_
