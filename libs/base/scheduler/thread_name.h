// Functions for the id of a thread, and for the name that debuggers and top
// show for it.
#ifndef WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_
#define WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_

#include <cstdint>
#include <string>

namespace weft {

// Sets the name of the calling thread. Linux keeps only the first 15 bytes.
void SetThreadName(const std::string& name);
std::string ThisThreadName();
// Returns the id of the calling thread in Linux.
int64_t ThisThreadId();

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_
