// Functions that limit the resources of a test program, for tests that must end
// within bounded time and memory for any input.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_

#include <cstdint>

namespace weft {

// Limits the program to `bytes` beyond its current memory. Allocations above
// the limit fail.
void LimitMemory(int64_t bytes);

// Returns the peak memory of the program in bytes.
int64_t PeakMemory();

// Ends the program by SIGALRM after `seconds`, unless the function is called
// again before. 0 means no limit.
void LimitTime(unsigned seconds);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
