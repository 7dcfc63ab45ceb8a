// TaskMain: the main of every service. They differ in the job that they belong
// to when nothing else is said; what a task does follows from its job.
#ifndef WEFT_LIBS_SERVER_TASK_MAIN_H_
#define WEFT_LIBS_SERVER_TASK_MAIN_H_

#include <string>

namespace weft {

// Parses the flags (--help lists them) and runs the task until it is told to
// stop. Returns the exit code, as RunServer does. To be called from main,
// before any thread was started.
int TaskMain(int argc, char** argv, const std::string& default_job);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_MAIN_H_
