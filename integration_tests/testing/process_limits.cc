#include "integration_tests/testing/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace weft {
namespace {

// Returns the private writable memory of this program in bytes.
// /proc/self/statm counts it in pages.
int64_t DataBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  file >> size >> resident >> shared >> text >> library >> data;
  return data * sysconf(_SC_PAGESIZE);
}

}  // namespace

void LimitMemory(int64_t bytes) {
  const auto most = static_cast<rlim_t>(DataBytes() + bytes);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) std::abort();
}

int64_t PeakMemory() {
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) std::abort();
  return int64_t{usage.ru_maxrss} << 10;
}

void LimitTime(unsigned seconds) { alarm(seconds); }

}  // namespace weft
