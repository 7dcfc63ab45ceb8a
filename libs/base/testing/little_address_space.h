// LeaveNoRoomForThreads: for tests of a process that the system refuses
// threads.
#ifndef WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_
#define WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace weft {

// Limits the address space of this process to what it has and a little more,
// which is less than the stack of a thread. False: the system does not do it.
inline bool LeaveNoRoomForThreads() {
  constexpr rlim_t kLittle = 2 << 20;
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {bytes + kLittle, bytes + kLittle};
  return pages != 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_
