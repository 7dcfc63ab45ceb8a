// The name that debuggers and top show for a thread, and its id.
#ifndef WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_
#define WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_

#include <cstdint>
#include <string>

namespace weft {

// Sets the name of the calling thread; Linux keeps the first 15 bytes.
void SetThreadName(const std::string& name);
std::string ThisThreadName();
// The calling thread's id in Linux.
int64_t ThisThreadId();

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_THREAD_NAME_H_
