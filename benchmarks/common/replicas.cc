#include "benchmarks/common/replicas.h"

#include <algorithm>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace weft::benchmarks {
namespace {

// Reads a line from each of the first `counted` workers.
std::vector<std::string> ReadAll(Workers& workers, int counted) {
  std::vector<std::string> lines;
  for (int i = 0; i < counted; ++i) lines.push_back(workers[i].lines().Read());
  return lines;
}

void WriteAll(Workers& workers) {
  for (ChildProcess& worker : workers) worker.lines().Write("go on");
}

}  // namespace

std::string ToLine(const Timed& timed) {
  std::string line =
      absl::StrFormat("%.9f %.9f %.0f %.0f", timed.begin, timed.end,
                      timed.first_step, timed.last_step);
  for (double seconds : timed.timing.seconds) {
    absl::StrAppendFormat(&line, " %.9f", seconds);
  }
  return line;
}

Timed FromLine(const std::string& line) {
  Timed timed;
  int used = 0;
  if (std::sscanf(line.c_str(), "%lf %lf %lf %lf%n", &timed.begin, &timed.end,
                  &timed.first_step, &timed.last_step, &used) != 4) {
    Check(absl::AbortedError("unexpected line from a worker: " + line));
  }
  const char* rest = line.c_str() + used;
  for (double seconds; std::sscanf(rest, "%lf%n", &seconds, &used) == 1;) {
    timed.timing.seconds.push_back(seconds);
    rest += used;
  }
  return timed;
}

Total TotalOf(const std::vector<Timed>& timed) {
  Total total;
  double begin = timed[0].begin, end = 0;
  for (const Timed& t : timed) {
    begin = std::min(begin, t.begin);
    end = std::max(end, t.end);
    total.steps += static_cast<double>(t.timing.seconds.size());
    total.last_step = std::max(total.last_step, t.last_step);
  }
  total.seconds = end - begin;
  return total;
}

Timed TimeSteps(const std::function<bool()>& step) {
  Timed timed;
  timed.begin = timed.end = Now();
  for (bool more = true; more;) {
    more = step();
    const double now = Now();
    timed.timing.seconds.push_back(now - timed.end);
    timed.end = now;
  }
  std::sort(timed.timing.seconds.begin(), timed.timing.seconds.end());
  return timed;
}

void ReportTimed(Lines& main, const std::function<Timed()>& time) {
  main.Write("warm");
  main.Read();
  main.Write(ToLine(time()));
  main.Read();
}

std::vector<Timed> TimeTogether(Workers& workers, int counted) {
  workers[0].lines().Read();
  for (size_t i = 1; i < workers.size(); ++i) {
    workers[i].lines().Write("go on");
  }
  ReadAll(workers, counted);  // waits until they are warm
  WriteAll(workers);
  std::vector<Timed> timed;
  for (const std::string& line : ReadAll(workers, counted)) {
    timed.push_back(FromLine(line));
  }
  WriteAll(workers);
  return timed;
}

}  // namespace weft::benchmarks
