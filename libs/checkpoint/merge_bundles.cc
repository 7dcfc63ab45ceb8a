#include "libs/checkpoint/merge_bundles.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/fs/path.h"

namespace weft::checkpoint {
namespace {

class Merge {
 public:
  // Adds the entries of one checkpoint.
  absl::Status Add(absl::string_view prefix, BundleReader& reader) {
    RETURN_IF_ERROR(AddHeader(prefix, reader.header()));
    return reader.ForEach(
        [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
          return AddEntry(prefix, reader.header().num_shards, key, entry);
        });
  }

  // Returns the header of the merged checkpoint.
  BundleHeader header() const {
    BundleHeader header = *header_;
    header.num_shards = static_cast<int>(data_files_.size());
    return header;
  }
  const BundleEntries& entries() const { return entries_; }
  // Returns the current names of the data files, in the order of their new
  // numbers.
  const std::vector<std::string>& data_files() const { return data_files_; }

 private:
  absl::Status AddHeader(absl::string_view prefix, const BundleHeader& header) {
    if (!header_.has_value()) {
      header_ = header;
      return absl::OkStatus();
    }
    BundleHeader same = header;
    same.num_shards = header_->num_shards;
    if (!(same == *header_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Merging bundles with different format versions or endianness: ",
          prefix, " differs from earlier prefixes"));
    }
    return absl::OkStatus();
  }

  absl::Status AddEntry(absl::string_view prefix, int num_shards,
                        absl::string_view key, BundleEntry entry) {
    const auto [it, is_new] = entries_.try_emplace(std::string(key), entry);
    if (!is_new) return AddSlices(prefix, entry, *it);
    const std::string file = DataFilename(prefix, entry.shard, num_shards);
    const auto [number, is_new_file] =
        numbers_.try_emplace(file, static_cast<int>(data_files_.size()));
    if (is_new_file) data_files_.push_back(file);
    it->second.shard = number->second;
    return absl::OkStatus();
  }

  // Adds slices of a tensor that another checkpoint has, too. Only slices of
  // one tensor may be in several checkpoints.
  absl::Status AddSlices(absl::string_view prefix, const BundleEntry& entry,
                         BundleEntries::value_type& known) {
    auto& [key, whole] = known;
    if (whole.slices.empty() || entry.slices.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Duplicate tensor keyed by ", absl::CHexEscape(key),
                       " encountered, when merging prefix: ", prefix));
    }
    if (whole.dtype != entry.dtype || !(whole.shape == entry.shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The parts of ", key, " are of type ", DataTypeName(whole.dtype),
          " and shape ", whole.shape.ToString(), ", but in ", prefix, " ",
          DataTypeName(entry.dtype), " and ", entry.shape.ToString()));
    }
    whole.slices.insert(whole.slices.end(), entry.slices.begin(),
                        entry.slices.end());
    return absl::OkStatus();
  }

  std::optional<BundleHeader> header_;
  BundleEntries entries_;
  std::vector<std::string> data_files_;
  std::map<std::string, int> numbers_;
};

absl::Status StatusOf(const Cancellation* cancellation) {
  return cancellation == nullptr ? absl::OkStatus() : cancellation->status();
}

// Checks that files can be renamed. All names are checked before the first file
// is renamed.
absl::Status CheckNames(const std::vector<std::string>& from,
                        const std::vector<std::string>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (SchemeAndHost(from[i]) == SchemeAndHost(to[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Merging would rename ", from[i], " to ", to[i],
                     ", which is on another machine or file system"));
  }
  return absl::OkStatus();
}

// Writes the merged checkpoint. The index gets its final name last, so the
// checkpoint appears atomically.
absl::Status Write(FileSystem& file_system, const Merge& merge,
                   absl::string_view prefix, uint64_t number,
                   const Cancellation* cancellation) {
  const std::vector<std::string>& files = merge.data_files();
  BundleHeader header = merge.header();
  ASSIGN_OR_RETURN(
      const DataFileCount count,
      ChooseDataFileCount(file_system, prefix, header.num_shards, number));
  header.num_shards = count.count;
  std::vector<std::string> names;
  for (size_t i = 0; i < files.size(); ++i) {
    names.push_back(DataFilename(prefix, static_cast<int>(i), count.count));
  }
  RETURN_IF_ERROR(CheckNames(files, names));
  const std::string folder(Dirname(prefix).empty() ? "." : Dirname(prefix));
  RETURN_IF_ERROR(file_system.CreateDirectories(folder));
  const std::string index = IndexFilename(prefix);
  const std::string temporary = absl::StrCat(index, ".tempstate", number);
  absl::Cleanup swept = [&] { (void)file_system.DeleteLeftover(temporary); };
  RETURN_IF_ERROR(WriteIndex(file_system, temporary, header, merge.entries()));
  RETURN_IF_ERROR(StatusOf(cancellation));
  for (size_t i = 0; i < files.size(); ++i) {
    RETURN_IF_ERROR(file_system.RenameFile(files[i], names[i]));
  }
  RETURN_IF_ERROR(file_system.SyncDirectory(folder));
  RETURN_IF_ERROR(StatusOf(cancellation));
  RETURN_IF_ERROR(UnavailableIfGone(file_system.RenameFile(temporary, index)));
  std::move(swept).Cancel();
  RETURN_IF_ERROR(file_system.SyncDirectory(folder));
  DeleteReplacedData(file_system, prefix, count);
  return absl::OkStatus();
}

}  // namespace

absl::Status MergeBundles(FileSystem& file_system,
                          absl::Span<const std::string> prefixes,
                          absl::string_view merged_prefix, Random& random,
                          const Cancellation* cancellation) {
  if (prefixes.empty()) {
    return absl::InvalidArgumentError("no checkpoints to merge");
  }
  RETURN_IF_ERROR(CheckPrefix(merged_prefix));
  Merge merge;
  for (const std::string& prefix : prefixes) {
    RETURN_IF_ERROR(StatusOf(cancellation));
    ASSIGN_OR_RETURN(const auto reader,
                     BundleReader::Open(file_system, prefix, cancellation));
    RETURN_IF_ERROR(merge.Add(prefix, *reader));
  }
  // If the only input already has the final prefix, there is nothing to merge.
  const std::string merged = CleanPath(merged_prefix);
  if (prefixes.size() == 1 && CleanPath(prefixes[0]) == merged) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      Write(file_system, merge, merged_prefix, random.Next(), cancellation));
  // Errors are ignored: remaining index files are harmless, and the merge has
  // already succeeded.
  for (const std::string& prefix : prefixes) {
    if (CleanPath(prefix) == merged) continue;
    (void)file_system.DeleteFile(IndexFilename(prefix));
  }
  return absl::OkStatus();
}

}  // namespace weft::checkpoint
