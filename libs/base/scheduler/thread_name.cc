#include "libs/base/scheduler/thread_name.h"

#include <pthread.h>
#include <unistd.h>

namespace weft {

void SetThreadName(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

std::string ThisThreadName() {
  char name[16] = "";  // Linux's limit, with the terminator
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

int64_t ThisThreadId() { return gettid(); }

}  // namespace weft
