// Limits of the test program, for tests that must end within their time and
// memory for any input.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_

#include <cstdint>

namespace weft {

// Limits the program to `bytes` beyond its current memory: larger allocations
// fail.
void LimitMemory(int64_t bytes);

// Returns the peak memory of the program in bytes.
int64_t PeakMemory();

// Ends the program by SIGALRM after that many seconds, unless called again
// before. 0: never.
void LimitTime(unsigned seconds);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
