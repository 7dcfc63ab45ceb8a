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

// Returns the maximum bytes for a pool that currently holds `pool_bytes`, some
// of which may not be written yet. The result is the sum of two parts: the
// bytes of the pool for which the system has provided memory, at most the
// resident memory of the process; and the memory that the process could get
// without swapping, where the page cache counts as free. Returns INT64_MAX if
// the system does not report these.
//
// Other processes may take the same memory at any time; memory that they have
// reserved and not written counts as free, as it does in the system. For
// variables that several tasks of a machine create in one run, the master
// checks first (libs/master/memory_check.h). Thread-safe.
int64_t MemoryBound(FileSystem& files, int64_t pool_bytes);

// The memory that the processes of one machine share; if a control group has
// less, the memory that the processes of the group share.
struct MachineMemory {
  // Identifies the processes that share the memory: the kernel's boot id, with
  // the container, and with the control group if an ancestor group has less
  // memory. Child groups of that ancestor have different texts although they
  // share its memory, so not all sharing processes are found. Empty if the
  // system does not report it.
  std::string machine;
  // The bytes that all of these processes together could get without swapping.
  // INT64_MAX if the system does not report it.
  int64_t available = std::numeric_limits<int64_t>::max();
};
// Reads the machine's memory, as currently reported. Thread-safe.
MachineMemory ReadMachineMemory(FileSystem& files);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_MEMORY_BOUND_H_
