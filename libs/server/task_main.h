// TaskMain is the main function of every service. The services differ in their
// default job, and the job of a task determines what it does.
#ifndef WEFT_LIBS_SERVER_TASK_MAIN_H_
#define WEFT_LIBS_SERVER_TASK_MAIN_H_

#include <string>

namespace weft {

// Parses the flags (--help lists them) and runs the task until it is asked to
// stop. Returns the exit code, as RunServer does. Must be called from main,
// before any thread was started.
int TaskMain(int argc, char** argv, const std::string& default_job);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_MAIN_H_
