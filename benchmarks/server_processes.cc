#include "benchmarks/server_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "benchmarks/report.h"
#include "libs/base/logging.h"
#include "libs/bus/free_port.h"
#include "libs/server/run_server.h"

namespace weft::benchmarks {

ServerProcesses::ServerProcesses(const std::map<std::string, int>& jobs) {
  for (const auto& [job, num_tasks] : jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      auto port = bus::FreePort();
      Check(port.status());
      Check(spec_.AddTask(job, i, absl::StrCat("localhost:", *port)));
    }
  }
  for (const auto& [job, num_tasks] : jobs) {
    for (int i = 0; i < num_tasks; ++i) Start(job, i);
  }
}

void ServerProcesses::Start(const std::string& job, int index) {
  const pid_t process = ::fork();
  if (process < 0) {
    Check(absl::InternalError("a server process could not be made"));
  }
  if (process > 0) {
    processes_.push_back(process);
    return;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  NullLogger logger;
  ::_exit(RunServer(spec_.ToString(), {.job_name = job,
                                       .task_index = index,
                                       .drain = absl::ZeroDuration(),
                                       .logger = &logger}));
}

ServerProcesses::~ServerProcesses() {
  for (pid_t process : processes_) ::kill(process, SIGTERM);
  for (pid_t process : processes_) ::waitpid(process, nullptr, 0);
}

std::string ServerProcesses::Target(const std::string& job, int index) const {
  auto address = spec_.TaskAddress(job, index);
  Check(address.status());
  return absl::StrCat("zmq://", *address);
}

}  // namespace weft::benchmarks
