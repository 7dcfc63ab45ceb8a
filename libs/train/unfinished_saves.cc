#include "libs/train/unfinished_saves.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/fs/path.h"

namespace weft::train {
namespace {

constexpr absl::string_view kShardFolder = "_temp";
// Of a marker's first line; a number follows.
constexpr absl::string_view kMarkerBegin = "save ";
// Failed saves that are remembered, and how long: a task that is cut off may
// still be in an operation of a file, which ends within ten minutes.
constexpr size_t kMaxFailed = 200;
constexpr absl::Duration kRemembered = absl::Minutes(15);
// Nobody's marker is longer; what is made up is not read for ever.
constexpr uint64_t kMaxMarkerBytes = uint64_t{1} << 20;

std::string FolderOf(const std::string& path) {
  const absl::string_view folder = Dirname(path);
  return folder.empty() ? "." : std::string(folder);
}

bool ConsumeDigits(absl::string_view* text) {
  size_t digits = 0;
  while (digits < text->size() && absl::ascii_isdigit((*text)[digits])) {
    ++digits;
  }
  text->remove_prefix(digits);
  return digits > 0;
}

bool ConsumeDataEnding(absl::string_view* text) {
  return absl::ConsumePrefix(text, ".data-") && ConsumeDigits(text) &&
         absl::ConsumePrefix(text, "-of-") && ConsumeDigits(text);
}

// "_temp", as it was once, or "_temp_" and hexadecimal digits.
bool IsShardFolder(absl::string_view ending) {
  if (!absl::ConsumePrefix(&ending, kShardFolder)) return false;
  if (ending.empty()) return true;
  return absl::ConsumePrefix(&ending, "_") && !ending.empty() &&
         std::all_of(ending.begin(), ending.end(), absl::ascii_isxdigit);
}

// Whether "PREFIX" + `ending` is of a save to PREFIX that has not ended;
// `has_index`: whether that names a checkpoint.
bool IsLeftover(absl::string_view ending, bool has_index) {
  if (IsShardFolder(ending) || ending == ".meta.tmp") return true;
  if (ending == ".meta") return !has_index;
  const bool is_index = absl::ConsumePrefix(&ending, ".index");
  if (!is_index && !ConsumeDataEnding(&ending)) return false;
  if (absl::ConsumePrefix(&ending, ".tempstate")) {
    return ConsumeDigits(&ending) && ending.empty();
  }
  return !is_index && ending.empty() && !has_index;
}

// What can't be deleted harms nobody. Whether nothing is left.
bool Sweep(FileSystem& files, const std::string& folder,
           const absl::flat_hash_set<std::string>& names,
           const std::string& prefix) {
  bool is_clean = true;
  const absl::string_view base = Basename(prefix);
  const bool has_index = names.contains(checkpoint::IndexFilename(base));
  for (const std::string& name : names) {
    absl::string_view ending = name;
    if (!absl::ConsumePrefix(&ending, base)) continue;
    if (!IsLeftover(ending, has_index)) continue;
    const std::string path = JoinPath(folder, name);
    is_clean &= (IsShardFolder(ending) ? files.DeleteRecursively(path)
                                       : files.DeleteFile(path))
                    .ok();
  }
  return is_clean;
}

// The same, of what is there now; false where that can't be told, or may come
// back after a power failure.
bool SweepNow(FileSystem& files, const std::string& folder,
              const std::string& prefix) {
  const auto names = files.ListDirectory(folder);
  return names.ok() &&
         Sweep(files, folder, {names->begin(), names->end()}, prefix) &&
         files.SyncDirectory(folder).ok();
}

// One line of a marker: a prefix without its folder, quoted as in C, for a name
// may hold any byte.
std::string MarkerLine(const std::string& prefix) {
  return absl::StrCat(absl::CHexEscape(Basename(prefix)), "\n");
}

// Those of a marker that another process has left; none where there is none, or
// something else.
absl::StatusOr<std::vector<std::string>> PrefixesOf(
    FileSystem& files, const std::string& path, const std::string& save_path) {
  std::vector<std::string> prefixes;
  const auto size = files.GetFileSize(path);
  if (absl::IsNotFound(size.status())) return prefixes;
  RETURN_IF_ERROR(size.status());
  if (*size > kMaxMarkerBytes) return prefixes;
  ASSIGN_OR_RETURN(const std::string contents, files.ReadFile(path));
  if (!absl::StartsWith(contents, kMarkerBegin)) return prefixes;
  std::vector<std::string> lines =
      absl::StrSplit(contents, '\n', absl::SkipEmpty());
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string name;
    // Only what a save to this path is called.
    if (!absl::CUnescape(lines[i], &name) || absl::StrContains(name, '/') ||
        !absl::StartsWith(name, Basename(save_path))) {
      continue;
    }
    prefixes.push_back(JoinPath(Dirname(save_path), name));
  }
  return prefixes;
}

}  // namespace

std::string ShardFolderSuffix(uint64_t number) {
  return absl::StrCat(kShardFolder, "_", absl::Hex(number, absl::kZeroPad16));
}

void UnfinishedSaves::Add(const std::string& prefix, absl::Time now) {
  Remove(prefix);
  failed_.push_back({prefix, now + kRemembered});
  while (failed_.size() > kMaxFailed) failed_.pop_front();
}

void UnfinishedSaves::Remove(const std::string& prefix) {
  std::erase_if(failed_,
                [&](const Failed& failed) { return failed.prefix == prefix; });
}

absl::StatusOr<UnfinishedSaves::Marker> UnfinishedSaves::Begin(
    FileSystem& files, const std::string& save_path, const std::string& prefix,
    const std::vector<std::string>& old_ones, uint64_t number, absl::Time now) {
  const std::string folder = FolderOf(save_path);
  RETURN_IF_ERROR(files.CreateDirectories(folder));
  Marker marker;
  marker.path = absl::StrCat(save_path, ".saving");
  // Those of another process; its own are known.
  if (save_path_ != save_path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> others,
                     PrefixesOf(files, marker.path, save_path));
    failed_.clear();
    for (const std::string& left : others) Add(left, now);
    save_path_ = save_path;
  }
  if (!failed_.empty()) {
    ASSIGN_OR_RETURN(const auto names, files.ListDirectory(folder));
    const absl::flat_hash_set<std::string> all(names.begin(), names.end());
    for (const Failed& failed : failed_) {
      Sweep(files, folder, all, failed.prefix);
    }
    std::erase_if(failed_, [&](const Failed& f) { return f.until <= now; });
  }
  Add(prefix, now);
  marker.contents = absl::StrCat(kMarkerBegin, absl::Hex(number), "\n");
  for (const Failed& failed : failed_) {
    marker.contents += MarkerLine(failed.prefix);
  }
  for (const std::string& old : old_ones) marker.contents += MarkerLine(old);
  RETURN_IF_ERROR(files.WriteFileAtomically(marker.path, marker.contents));
  return marker;
}

void UnfinishedSaves::End(FileSystem& files, const Marker& marker,
                          const std::string& prefix,
                          const std::vector<std::string>& not_deleted,
                          absl::Time now) {
  for (const std::string& old : not_deleted) Add(old, now);
  if (SweepNow(files, FolderOf(prefix), prefix)) Remove(prefix);
  if (failed_.empty()) (void)files.DeleteFile(marker.path);
}

}  // namespace weft::train
