#include "libs/train/saving/unfinished_saves.h"

#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/fs/path.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/saving/save_marker.h"

namespace weft::train {
namespace {

constexpr absl::string_view kShardFolder = "_temp";
// Maximum number of failed saves that are remembered, and for how long. A
// disconnected task may still be in a file operation, which ends within ten
// minutes.
constexpr size_t kMaxFailed = 200;
constexpr absl::Duration kRemembered = absl::Minutes(15);

std::string MarkerOf(const std::string& save_path) {
  return absl::StrCat(save_path, kMarkerEnding);
}

std::string FolderOf(const std::string& path) {
  const absl::string_view folder = Dirname(path);
  return folder.empty() ? "." : std::string(folder);
}

bool AreInOneFolder(const std::string& a, const std::string& b) {
  return CleanPath(FolderOf(a)) == CleanPath(FolderOf(b));
}

// Returns whether `ending` is the shard directory of save `number`. A directory
// with 32 digits also matches, because in a graph of TensorFlow only the graph
// knows the number.
bool IsShardFolder(absl::string_view ending, uint64_t number) {
  if (ending == ShardFolderSuffix(number)) return true;
  return absl::ConsumePrefix(&ending, kShardFolder) &&
         absl::ConsumePrefix(&ending, "_") && ending.size() == 32 &&
         absl::c_all_of(ending, absl::ascii_isxdigit);
}

// Returns whether "PREFIX" + `ending` is a file of an unfinished save to
// PREFIX. `has_index`: whether an index names a checkpoint.
bool IsLeftover(absl::string_view ending, bool has_index) {
  if (ending == ".meta.tmp") return true;
  const bool is_temporary = checkpoint::ConsumeTemporaryEnding(&ending);
  if (ending == ".index") return is_temporary;
  return checkpoint::IsDataEnding(ending) && (is_temporary || !has_index);
}

using NameSet = absl::flat_hash_set<std::string>;

// Leftover is a file or directory that a save has left.
struct Leftover {
  std::string name;
  bool is_folder;
};

std::vector<Leftover> FindLeftovers(const NameSet& names,
                                    const std::string& prefix,
                                    uint64_t number) {
  std::vector<Leftover> found;
  const absl::string_view base = Basename(prefix);
  const bool has_index = names.contains(checkpoint::IndexFilename(base));
  for (const std::string& name : names) {
    absl::string_view ending = name;
    if (!absl::ConsumePrefix(&ending, base)) continue;
    const bool is_folder = IsShardFolder(ending, number);
    if (is_folder || IsLeftover(ending, has_index)) {
      found.push_back({name, is_folder});
    }
  }
  return found;
}

// Deletes the leftovers of a save. Files that cannot be deleted are harmless,
// and are found again later.
void Sweep(FileSystem& files, const std::string& folder, const NameSet& names,
           const std::string& prefix, uint64_t number) {
  for (const Leftover& left : FindLeftovers(names, prefix, number)) {
    const std::string path = JoinPath(folder, left.name);
    (left.is_folder ? files.DeleteRecursively(path) : files.DeleteFile(path))
        .IgnoreError();
  }
}

// Returns the names in a directory after syncing the directory, so a name that
// is not returned cannot come back after a power failure. The sync must come
// before the listing, because deletions may be undone until then.
absl::StatusOr<NameSet> DurableNames(FileSystem& files,
                                     const std::string& folder) {
  RETURN_IF_ERROR(files.SyncDirectory(folder));
  ASSIGN_OR_RETURN(const auto names, files.ListDirectory(folder));
  return NameSet(names.begin(), names.end());
}

// Deletes data files that have a checkpoint's prefix but do not belong to the
// checkpoint.
void DeleteForeignData(FileSystem& files, const std::string& prefix) {
  const auto reader = checkpoint::BundleReader::Open(files, prefix);
  if (!reader.ok()) return;
  checkpoint::DeleteReplacedData(
      files, prefix, {.count = (*reader)->num_data_files(), .replaces = true});
}

// Returns whether all files of a checkpoint are gone.
bool IsGone(const NameSet& names, const std::string& path) {
  const absl::string_view base = Basename(path);
  return absl::c_none_of(names, [&](absl::string_view name) {
    return name == checkpoint::IndexFilename(base) ||
           name == MetaGraphFilename(base) ||
           (absl::ConsumePrefix(&name, base) && checkpoint::IsDataEnding(name));
  });
}

}  // namespace

std::string ShardFolderSuffix(uint64_t number) {
  return absl::StrCat(kShardFolder, "_", absl::Hex(number, absl::kZeroPad16));
}

void UnfinishedSaves::Add(const Save& save, absl::Time now) {
  failed_.push_back({save, now + kRemembered});
  while (failed_.size() > kMaxFailed) failed_.pop_front();
}

absl::StatusOr<std::optional<std::vector<UnfinishedSaves::OldCheckpoint>>>
UnfinishedSaves::Recover(FileSystem& files, const std::string& save_path,
                         absl::Time now) {
  if (save_path_ == save_path) return std::nullopt;
  ASSIGN_OR_RETURN(MarkerLines left,
                   ReadMarker(files, MarkerOf(save_path), save_path));
  failed_.clear();
  for (const Save& save : left.saves) Add(save, now);
  save_path_ = save_path;
  return std::move(left.old_ones);
}

std::vector<UnfinishedSaves::OldCheckpoint> UnfinishedSaves::MaybeWhole()
    const {
  std::vector<OldCheckpoint> maybe;
  for (const auto& [save, until] : failed_) {
    if (save.is_counted) maybe.push_back({save.prefix, save.latest_filename});
  }
  return maybe;
}

void UnfinishedSaves::Succeeded(const std::string& prefix) {
  for (Failed& failed : failed_) {
    if (failed.save.prefix == prefix) failed.save.is_counted = false;
  }
}

std::string UnfinishedSaves::Contents(
    const Save& last, const std::vector<std::string>& old_ones) const {
  MarkerLines lines;
  for (const auto& [save, until] : failed_) lines.saves.push_back(save);
  for (const std::string& old : old_ones) {
    if (!AreInOneFolder(old, save_path_)) continue;  // in another directory
    lines.old_ones.push_back({old, last.latest_filename});
  }
  return MarkerContents(last.number, lines);
}

absl::StatusOr<UnfinishedSaves::Marker> UnfinishedSaves::Begin(
    FileSystem& files, const Save& save,
    const std::vector<std::string>& old_ones, absl::Time now) {
  const std::string folder = FolderOf(save_path_);
  RETURN_IF_ERROR(files.CreateDirectories(folder));
  NameSet all;
  if (!failed_.empty()) {
    // Cleanup must not fail a save, so files in a directory that cannot be
    // listed stay for now.
    const auto names = files.ListDirectory(folder);
    if (names.ok()) all.insert(names->begin(), names->end());
  }
  for (const Failed& failed : failed_) {
    Sweep(files, folder, all, failed.save.prefix, failed.save.number);
  }
  Add(save, now);
  Marker marker = {.path = MarkerOf(save_path_),
                   .contents = Contents(save, old_ones)};
  RETURN_IF_ERROR(files.WriteFileAtomically(marker.path, marker.contents));
  return marker;
}

bool UnfinishedSaves::MayLeaveData(const Save& save, absl::Time now) const {
  if (SchemeAndHost(save.prefix).empty()) return false;
  bool has_failed = false;
  for (const Failed& failed : failed_) {
    const Save& it = failed.save;
    if (it.prefix != save.prefix || it.number == save.number) continue;
    if (failed.until > now) return false;
    has_failed = true;
  }
  return has_failed;
}

void UnfinishedSaves::End(FileSystem& files, const Marker& marker,
                          const Save& save, absl::Time now,
                          std::vector<std::string>& old_ones) {
  const std::string folder = FolderOf(save.prefix);
  auto names = DurableNames(files, folder);
  if (names.ok() && !FindLeftovers(*names, save.prefix, save.number).empty()) {
    Sweep(files, folder, *names, save.prefix, save.number);
    names = DurableNames(files, folder);
  }
  if (names.ok() && MayLeaveData(save, now)) {
    DeleteForeignData(files, save.prefix);
  }
  if (names.ok()) {
    std::erase_if(failed_, [&](const Failed& failed) {
      const Save& it = failed.save;
      const bool may_go =
          it.number == save.number ? !it.is_counted : failed.until <= now;
      return may_go && FindLeftovers(*names, it.prefix, it.number).empty();
    });
  }
  std::erase_if(old_ones, [&](const std::string& old) {
    if (AreInOneFolder(old, save.prefix)) {
      return names.ok() && IsGone(*names, old);
    }
    const auto others = DurableNames(files, FolderOf(old));
    return others.ok() ? IsGone(*others, old)
                       : absl::IsNotFound(others.status());
  });
  // If writing the marker fails, the state file shows which checkpoints are in
  // use.
  const absl::Status ended =
      failed_.empty() && old_ones.empty()
          ? files.DeleteFile(marker.path)
          : files.WriteFileAtomically(marker.path, Contents(save, old_ones));
  ended.IgnoreError();
}

}  // namespace weft::train
