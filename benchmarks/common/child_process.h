// ChildProcess is a process that a benchmark starts and with which it exchanges
// lines.
//
// The process ends when the object is destroyed, or when the program ends for
// any reason. Errors, such as a missing program or a child that ended early,
// end the program with exit code 1 and a message on stderr.
//
// Not thread-safe.
#ifndef WEFT_BENCHMARKS_COMMON_CHILD_PROCESS_H_
#define WEFT_BENCHMARKS_COMMON_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace weft::benchmarks {

// Lines exchanged with another process.
class Lines {
 public:
  // Takes ownership of the descriptors.
  Lines(int in, int out);
  Lines(Lines&& other) noexcept;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines();

  // Waits for a line and returns it without its line feed.
  std::string Read();
  // Reads lines until one contains `text`.
  void ReadUntil(const std::string& text);
  void Write(const std::string& line);

 private:
  std::FILE* in_;
  std::FILE* out_;
};

class ChildProcess {
 public:
  // Runs `main` in a fork of this process. Must be called before any thread is
  // started.
  explicit ChildProcess(const std::function<void(Lines&)>& main);
  // Runs another program. Its stdout and stderr can be read, and written lines
  // go to its stdin.
  explicit ChildProcess(const std::vector<std::string>& command);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  Lines& lines() { return lines_; }

 private:
  struct Ends;
  static Ends MakePipes();
  ChildProcess(Ends ends, const std::function<void(Ends&)>& child);

  pid_t pid_ = 0;
  Lines lines_;
};

// Returns the number after `key` in a file of /proc/PID. Memory is in KiB.
double ProcValue(pid_t pid, const std::string& file, const std::string& key);

// MemoryGrowth measures the largest growth of the memory of several processes
// since its construction, with data from /proc.
class MemoryGrowth {
 public:
  explicit MemoryGrowth(const std::vector<pid_t>& pids);

  double Mebibytes() const;

 private:
  const std::vector<pid_t> pids_;
  std::vector<double> before_;  // KiB
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_CHILD_PROCESS_H_
