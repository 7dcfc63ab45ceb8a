// MemoryBound computes how much memory a pool of this process can hold, as
// currently reported by the system. MachineMemory identifies the machine and
// the memory that it has for all processes.
//
// Linux: /proc/meminfo (MemAvailable), /proc/self/statm, /proc/self/mountinfo,
// /proc/sys/kernel/random/boot_id, and the limits of the control group of the
// process and of its ancestors: memory.max, memory.current and memory.stat of
// version 2, memory.limit_in_bytes, memory.usage_in_bytes and memory.stat of
// version 1 (the kernel's admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
#ifndef WEFT_LIBS_RUNTIME_PROCESS_MEMORY_BOUND_H_
#define WEFT_LIBS_RUNTIME_PROCESS_MEMORY_BOUND_H_

#include <cstdint>
#include <limits>
#include <string>

#include "libs/fs/file_system.h"

namespace weft {

// Returns bytes, for a pool that holds `pool_bytes`, some of which may not be
// written yet: the part of them that the system has provided, thus at most the
// resident memory of the process, plus what the process could get without
// swapping, where the page cache counts as free. INT64_MAX if the system does
// not report it. Other processes may take the same memory at any time; memory
// that they have reserved and not written counts as free, here as in the
// system. For variables that several tasks of a machine create in one run, the
// master checks first (libs/master/memory_check.h). Thread-safe.
int64_t MemoryBound(FileSystem& files, int64_t pool_bytes);

// The memory shared by the processes of one machine or, if that has less, of
// one control group.
struct MachineMemory {
  // The same text for those processes: the kernel's boot id, with the container
  // and the control group if an ancestor has less memory. Child groups of that
  // group are distinguished nevertheless, so not all sharing processes are
  // found. Empty if the system does not report it.
  std::string machine;
  // The bytes, as above, that all of them could get. INT64_MAX if the system
  // does not report it.
  int64_t available = std::numeric_limits<int64_t>::max();
};
// Thread-safe.
MachineMemory ReadMachineMemory(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_MEMORY_BOUND_H_
