// LimitAddressSpace makes the system refuse to start further threads, for
// tests.
#ifndef WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_
#define WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace weft {

// Limits the address space of this process to its current size plus less than
// the stack of a thread. Returns false if the system does not support it.
inline bool LimitAddressSpace() {
  constexpr rlim_t kLittle = 2 << 20;
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {bytes + kLittle, bytes + kLittle};
  return pages != 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_LITTLE_ADDRESS_SPACE_H_
