#include "libs/runtime/process/process_usage.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/runtime/process/system_file.h"

namespace weft {
namespace {

using Words = std::vector<absl::string_view>;

// Returns word `i` as a number; 0 if it does not exist or is not a number.
int64_t NumberAt(const Words& words, size_t i) {
  int64_t number = 0;
  if (i >= words.size() || !absl::SimpleAtoi(words[i], &number)) return 0;
  return std::max<int64_t>(0, number);
}

// Returns the words after `key` on its line.
Words WordsAfter(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, key)) {
      return absl::StrSplit(line, ' ', absl::SkipEmpty());
    }
  }
  return {};
}

}  // namespace

ProcessUsage ReadProcessUsage(FileSystem& files) {
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::string text = ReadSystemFile(files, "/proc/self/stat");
  // The second field is the program's name in parentheses, which may contain
  // any text, so parsing begins after it: words[0] is the third field.
  const size_t name_end = text.rfind(')');
  const Words words =
      name_end == std::string::npos
          ? Words()
          : absl::StrSplit(absl::string_view(text).substr(name_end + 1), ' ',
                           absl::SkipEmpty());
  ProcessUsage usage;
  usage.cpu_seconds =
      static_cast<double>(NumberAt(words, 11) + NumberAt(words, 12)) / ticks;
  usage.threads = NumberAt(words, 17);
  usage.virtual_bytes = NumberAt(words, 20);
  usage.resident_bytes = NumberAt(words, 21) * sysconf(_SC_PAGESIZE);
  const int64_t booted = NumberAt(
      WordsAfter(ReadSystemFile(files, "/proc/stat"), "btime"), /*i=*/0);
  usage.start_seconds = static_cast<double>(booted) +
                        static_cast<double>(NumberAt(words, 19)) / ticks;
  usage.max_fds = NumberAt(
      WordsAfter(ReadSystemFile(files, "/proc/self/limits"), "Max open files"),
      /*i=*/0);
  const auto open = files.ListDirectory("/proc/self/fd");
  // Excludes the descriptor with which the directory itself is read.
  if (open.ok()) {
    usage.open_fds = std::max<int64_t>(0, std::ssize(*open) - 1);
  }
  return usage;
}

}  // namespace weft
