// Limits of the program itself, for tests of what must end, and must end within
// its memory, whatever it is given.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_

#include <cstdint>

namespace weft {

// From now on the program gets no more than `bytes` beyond what it has: larger
// allocations fail.
void LimitMemory(int64_t bytes);

// The most bytes of memory that the program has held at once.
int64_t PeakMemory();

// Ends the program by SIGALRM after so many seconds, unless it is called again
// before. 0: never.
void LimitTime(unsigned seconds);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PROCESS_LIMITS_H_
