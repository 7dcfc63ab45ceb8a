#include "benchmarks/common/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {
namespace {

void MakePipe(int ends[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    Check(absl::InternalError("cannot create a pipe for a child process"));
  }
}

void Exec(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

}  // namespace

Lines::Lines(int in, int out)
    : in_(::fdopen(in, "r")), out_(::fdopen(out, "w")) {}

Lines::Lines(Lines&& other) noexcept
    : in_(std::exchange(other.in_, nullptr)),
      out_(std::exchange(other.out_, nullptr)) {}

Lines::~Lines() {
  if (in_ != nullptr) std::fclose(in_);
  if (out_ != nullptr) std::fclose(out_);
}

std::string Lines::Read() {
  char* buffer = nullptr;
  size_t capacity = 0;
  const ssize_t size = ::getline(&buffer, &capacity, in_);
  std::string line(buffer, size > 0 ? static_cast<size_t>(size) : 0);
  std::free(buffer);
  if (size <= 0) Check(absl::AbortedError("a child process ended too early"));
  if (line.back() == '\n') line.pop_back();
  return line;
}

void Lines::ReadUntil(const std::string& text) {
  std::string line;
  do {
    line = Read();
    if (line.find("ALREADY_EXISTS") != std::string::npos) {
      Check(absl::AbortedError(line));
    }
  } while (line.find(text) == std::string::npos);
}

void Lines::Write(const std::string& line) {
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

// The file descriptors of both ends of both pipes.
struct ChildProcess::Ends {
  int to_child[2];
  int from_child[2];
};

ChildProcess::Ends ChildProcess::MakePipes() {
  Ends ends;
  MakePipe(ends.to_child);
  MakePipe(ends.from_child);
  return ends;
}

ChildProcess::ChildProcess(Ends ends, const std::function<void(Ends&)>& child)
    : lines_(ends.from_child[0], ends.to_child[1]) {
  std::fflush(stdout);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) Check(absl::InternalError("cannot create a child process"));
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    child(ends);
    ::_exit(0);
  }
  ::close(ends.to_child[0]);
  ::close(ends.from_child[1]);
}

ChildProcess::ChildProcess(const std::function<void(Lines&)>& main)
    : ChildProcess(MakePipes(), [&main](Ends& ends) {
        Lines lines(ends.to_child[0], ends.from_child[1]);
        main(lines);
      }) {}

ChildProcess::ChildProcess(const std::vector<std::string>& command)
    : ChildProcess(MakePipes(), [&command](Ends& ends) {
        ::dup2(ends.to_child[0], STDIN_FILENO);
        ::dup2(ends.from_child[1], STDOUT_FILENO);
        ::dup2(ends.from_child[1], STDERR_FILENO);
        Exec(command);
      }) {}

ChildProcess::~ChildProcess() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

double ProcValue(pid_t pid, const std::string& file, const std::string& key) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/", file));
  for (std::string word; in >> word;) {
    double value = 0;
    if (word == key && in >> value) return value;
  }
  Check(absl::NotFoundError(absl::StrCat(key, " of process ", pid)));
  return 0;
}

MemoryGrowth::MemoryGrowth(const std::vector<pid_t>& pids) : pids_(pids) {
  for (const pid_t pid : pids_) {
    // Resets the peak memory of the process (see man 5 proc).
    std::ofstream(absl::StrCat("/proc/", pid, "/clear_refs")) << "5\n";
    before_.push_back(ProcValue(pid, "status", "VmRSS:"));
  }
}

double MemoryGrowth::Mebibytes() const {
  double most = 0;
  for (size_t i = 0; i < pids_.size(); ++i) {
    most = std::max(most, ProcValue(pids_[i], "status", "VmHWM:") - before_[i]);
  }
  return most / 1024;
}

}  // namespace weft::benchmarks
