// ChildProcess: a process that a benchmark starts, and talks to by lines.
//
// The process ends with the object, and with the program however that ends.
// Trouble (no such program, a child that ended early) ends the program with 1
// and a text on stderr: a benchmark has nothing better to do.
//
// Threads: one at a time.
#ifndef WEFT_BENCHMARKS_CHILD_PROCESS_H_
#define WEFT_BENCHMARKS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace weft::benchmarks {

// Lines to and from another process.
class Lines {
 public:
  // Takes over the descriptors.
  Lines(int in, int out);
  Lines(Lines&& other) noexcept;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines();

  // Without its line feed. Waits for it.
  std::string Read();
  // Until a line holds `text`.
  void ReadUntil(const std::string& text);
  void Write(const std::string& line);

 private:
  std::FILE* in_;
  std::FILE* out_;
};

class ChildProcess {
 public:
  // Runs `main` in a copy of this process. Before it starts any thread.
  explicit ChildProcess(const std::function<void(Lines&)>& main);
  // Another program: what it writes to stdout and stderr can be read, what is
  // written comes to its stdin.
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

// The number after `key` in a file of /proc/PID: KiB, for memory.
double ProcValue(pid_t pid, const std::string& file, const std::string& key);

// By how much the largest of some processes grows at most, from what it takes
// when this begins, by the system's book.
class MemoryGrowth {
 public:
  explicit MemoryGrowth(const std::vector<pid_t>& pids);

  double Mebibytes() const;

 private:
  const std::vector<pid_t> pids_;
  std::vector<double> before_;  // KiB
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_CHILD_PROCESS_H_
