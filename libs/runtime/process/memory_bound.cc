#include "libs/runtime/process/memory_bound.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/runtime/process/system_file.h"

namespace weft {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// Returns the number in a line "KEY NUMBER" or "KEY: NUMBER kB", without its
// unit.
std::optional<int64_t> NumberOf(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key)) continue;
    if (!absl::ConsumePrefix(&line, " ") && !absl::ConsumePrefix(&line, ":")) {
      continue;
    }
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t number = 0;
    if (!words.empty() && absl::SimpleAtoi(words[0], &number)) return number;
  }
  return std::nullopt;
}

// Returns the number that a file contains; nullopt if the file contains "max".
std::optional<int64_t> OnlyNumber(FileSystem& files, const std::string& path) {
  int64_t number = 0;
  if (absl::SimpleAtoi(ReadSystemFile(files, path), &number)) return number;
  return std::nullopt;
}

int64_t AvailableInSystem(FileSystem& files) {
  const auto kilobytes =
      NumberOf(ReadSystemFile(files, "/proc/meminfo"), "MemAvailable");
  if (!kilobytes || *kilobytes > kUnknown / 1024) return kUnknown;
  return *kilobytes * 1024;
}

int64_t Resident(FileSystem& files) {
  const std::string text = ReadSystemFile(files, "/proc/self/statm");
  const std::vector<absl::string_view> pages =
      absl::StrSplit(text, ' ', absl::SkipEmpty());
  int64_t resident = 0;
  if (pages.size() < 2 || !absl::SimpleAtoi(pages[1], &resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

// The names of the files of one cgroup version.
struct GroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* pages_of_files;
};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max",
                                  "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {
    "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_inactive_file"};

int64_t AvailableInGroup(FileSystem& files, const GroupFiles& names,
                         const std::string& directory) {
  const auto limit = OnlyNumber(files, absl::StrCat(directory, names.limit));
  const auto usage = OnlyNumber(files, absl::StrCat(directory, names.usage));
  if (!limit || !usage) return kUnknown;
  const int64_t reclaimable =
      NumberOf(ReadSystemFile(files, absl::StrCat(directory, "memory.stat")),
               names.pages_of_files)
          .value_or(0);
  return std::max<int64_t>(0,
                           *limit - std::max<int64_t>(0, *usage - reclaimable));
}

// Returns the memory available in the group `path` ("/a/b") and its ancestors.
// In a container, `path` may be a path on the host that does not exist here;
// then the files of the root group describe the container.
int64_t AvailableInGroups(FileSystem& files, const GroupFiles& names,
                          absl::string_view path) {
  int64_t available = kUnknown;
  std::string directory = absl::StrCat(names.root, "/");
  available = AvailableInGroup(files, names, directory);
  for (const absl::string_view part :
       absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&directory, part, "/");
    available = std::min(available, AvailableInGroup(files, names, directory));
  }
  return available;
}

// Returns the memory available in all control groups of the process. The lines
// of /proc/self/cgroup are "ID:CONTROLLERS:PATH"; "0::PATH" is a group of
// version 2.
int64_t AvailableInGroups(FileSystem& files) {
  int64_t available = kUnknown;
  const std::string text = ReadSystemFile(files, "/proc/self/cgroup");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<absl::string_view> controllers =
        absl::StrSplit(parts[1], ',');
    const bool is_version_1 = std::find(controllers.begin(), controllers.end(),
                                        "memory") != controllers.end();
    if (!is_version_1 && !parts[1].empty()) continue;
    available = std::min(
        available, AvailableInGroups(
                       files, is_version_1 ? kVersion1 : kVersion2, parts[2]));
  }
  return available;
}

// Returns the kernel's boot id. Text that is longer than a UUID is ignored.
std::string BootId(FileSystem& files) {
  constexpr size_t kLongest = 64;
  const std::string text =
      ReadSystemFile(files, "/proc/sys/kernel/random/boot_id");
  const absl::string_view id = absl::StripAsciiWhitespace(text);
  return id.size() <= kLongest ? std::string(id) : "";
}

struct Mounts {
  // The number of the mount at "/", which differs between the containers of a
  // machine. Empty if unknown.
  std::string root;
  // Whether /proc/meminfo is a mount, which reports the container's memory
  // instead of the machine's.
  bool has_meminfo = false;
};

// Parses the lines of /proc/self/mountinfo: "ID PARENT DEVICE ROOT WHERE ...".
Mounts ReadMounts(FileSystem& files) {
  Mounts mounts;
  const std::string text = ReadSystemFile(files, "/proc/self/mountinfo");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 5));
    if (words.size() < 6) continue;
    if (words[4] == "/") mounts.root = std::string(words[0]);
    if (words[4] == "/proc/meminfo") mounts.has_meminfo = true;
  }
  return mounts;
}

}  // namespace

int64_t MemoryBound(FileSystem& files, int64_t pool_bytes) {
  const int64_t available =
      std::min(AvailableInSystem(files), AvailableInGroups(files));
  const int64_t held = std::min(Resident(files), pool_bytes);
  return available > kUnknown - held ? kUnknown : available + held;
}

MachineMemory ReadMachineMemory(FileSystem& files) {
  const int64_t in_system = AvailableInSystem(files);
  const int64_t in_groups = AvailableInGroups(files);
  MachineMemory memory = {.machine = BootId(files),
                          .available = std::min(in_system, in_groups)};
  const Mounts mounts = ReadMounts(files);
  const bool is_limited = in_groups < in_system || mounts.has_meminfo;
  if (memory.machine.empty() || !is_limited) return memory;
  if (mounts.root.empty()) return {.available = memory.available};
  absl::StrAppend(&memory.machine, " ", mounts.root, " ",
                  ReadSystemFile(files, "/proc/self/cgroup").substr(0, 512));
  return memory;
}

}  // namespace weft
