// footprint measures the memory and threads of running services without a
// session, and the size of their programs without symbols. The metrics idle_rss
// and idle_pss_of_4 are for 2 ps and 2 workers; package_size is for all
// programs.
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmarks/common/child_process.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/service_processes.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler/scheduler.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(double, settle, 2, "Seconds between the start and a look.");

namespace weft::benchmarks {
namespace {

constexpr char kMemoryGoal[] = "<= 19.1 (20 MB)";

// Returns the size in MiB of a service's program after `strip`.
double StrippedSize(const std::string& job) {
  std::error_code error;
  const auto size =
      std::filesystem::file_size(ServiceProgram(job) + ".stripped", error);
  if (error) {
    Check(absl::NotFoundError(ServiceProgram(job) + ".stripped"));
  }
  return static_cast<double>(size) / (1 << 20);
}

struct Idle {
  // In KiB. `rss` and `threads` are the maximum over the processes.
  double rss = 0, pss = 0, threads = 0;
};

Idle Look(const std::vector<pid_t>& pids) {
  Idle idle;
  for (pid_t pid : pids) {
    idle.rss = std::max(idle.rss, ProcValue(pid, "status", "VmRSS:"));
    idle.threads = std::max(idle.threads, ProcValue(pid, "status", "Threads:"));
    idle.pss += ProcValue(pid, "smaps_rollup", "Pss:");
  }
  return idle;
}

void Pause(absl::Duration duration) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  // Sleeps, because the event is never set.
  scheduler->NewEvent()->WaitUntil(clock.Now() + duration);
}

void Main() {
  const double settle = absl::GetFlag(FLAGS_settle);
  Report report("footprint");
  report.Param("settle", settle);
  ServiceProcesses services(
      {{"checkpoint_writer", 1}, {"coordinator", 1}, {"ps", 2}, {"worker", 2}});
  services.WaitUntilReady();
  Pause(absl::Seconds(settle));

  std::vector<pid_t> tasks;
  for (const auto& [job, pids] : services.pids()) {
    if (job != "ps" && job != "worker") continue;
    tasks.insert(tasks.end(), pids.begin(), pids.end());
  }
  const Idle idle = Look(tasks);
  report.Value("idle_rss", idle.rss / 1024, "MiB", kMemoryGoal);
  report.Value("idle_pss_of_4", idle.pss / 1024, "MiB");
  report.Value("idle_threads", idle.threads, "count");
  for (const auto& [job, pids] : services.pids()) {
    report.Value(absl::StrCat("idle_rss_", job), Look(pids).rss / 1024, "MiB",
                 kMemoryGoal);
  }
  double all = 0, largest = 0;
  for (const auto& [job, pids] : services.pids()) {
    const double size = StrippedSize(job);
    all += size;
    largest = std::max(largest, size);
  }
  report.Value("stripped_size", largest, "MiB", "<= 19.1 (20 MB)");
  report.Value("package_size", all, "MiB");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "Memory and threads of idle services, and the size of their programs.");
  weft::benchmarks::Main();
}
