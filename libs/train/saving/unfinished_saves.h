// UnfinishedSaves tracks saves that have begun and not ended, so that exactly
// the leftovers of a crashed save are deleted later.
//
// A file beside the checkpoints, "SAVE_PATH.saving", names the running save,
// earlier ones that failed, and old checkpoints that it deletes. It is written
// before a save begins and deleted when it has ended. The next save under that
// path, by this process or another, deletes the leftovers: temporary files,
// shard directories, data of a prefix that has no index or (in an object store,
// when those saves have ended) that its index does not name, and those old
// checkpoints. A failed save may also have left a complete checkpoint if only
// the reply was lost: the caller queries these (MaybeWhole), and passes
// uncounted ones to Begin as old ones. Each name is stored with the name of its
// state file, because savers with different state files may share a path.
//
// Because the program writes that file and each task can be asked for it, it
// also shows whether they see the same disk.
//
// Threads: one at a time. All calls block.
#ifndef WEFT_LIBS_TRAIN_SAVING_UNFINISHED_SAVES_H_
#define WEFT_LIBS_TRAIN_SAVING_UNFINISHED_SAVES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"

namespace weft::train {

// "_temp_" and 16 hexadecimal digits: the suffix, after the prefix, of the
// directory of shards until they are merged. TensorFlow's have 32 digits.
std::string ShardFolderSuffix(uint64_t number);

class UnfinishedSaves {
 public:
  // The contents of a marker file.
  struct Marker {
    std::string path;
    std::string contents;
  };
  struct Save {
    std::string prefix;
    uint64_t number = 0;  // unique: no two saves have the same number
    // Name of the state file, in the prefix's directory, that names the save
    // once it has succeeded.
    std::string latest_filename;
    // Whether the state file names it, so that the checkpoint is unreferenced
    // if the save fails.
    bool is_counted = false;
  };
  // A checkpoint that is unreferenced unless its state file still names it.
  struct OldCheckpoint {
    std::string prefix;
    std::string latest_filename;
  };

  // Reads the leftovers of another process's saves to `save_path`, which Begin
  // then deletes. Returns old checkpoints that it was about to delete, for the
  // caller to delete. None: the last save was to that path, so nothing is new.
  absl::StatusOr<std::optional<std::vector<OldCheckpoint>>> Recover(
      FileSystem& files, const std::string& save_path, absl::Time now);
  // Failed saves that were to be counted: each may have become a complete
  // checkpoint without a reply.
  std::vector<OldCheckpoint> MaybeWhole() const;
  // Deletes leftovers of earlier saves to the path, and records that `save` is
  // running, which may delete `old_ones`.
  absl::StatusOr<Marker> Begin(FileSystem& files, const Save& save,
                               const std::vector<std::string>& old_ones,
                               absl::Time now);
  // Records that the checkpoint of that prefix exists and is in use.
  void Succeeded(const std::string& prefix);
  // Records that the save is over, after some or all of `old_ones` were
  // deleted. Its own leftovers, such as its shard directory, are deleted, too.
  // Forgets files that no power failure can revive; remaining `old_ones` must
  // be passed to the next Begin. The marker is deleted when nothing is left;
  // otherwise it names the rest. It names this save as running only if it was
  // to be counted and Succeeded was not called: later readers treat that
  // checkpoint as unreported.
  void End(FileSystem& files, const Marker& marker, const Save& save,
           absl::Time now, std::vector<std::string>& old_ones);

 private:
  // A save that has failed or not ended. A task may still be writing it, so
  // each later save deletes its files until nothing is left of it.
  struct Failed {
    Save save;  // is_counted is false once it has succeeded
    absl::Time until;
  };

  void Add(const Save& save, absl::Time now);
  // Whether saves of the same prefix as `save`, which exists, may have left
  // data under names that only its index distinguishes from its own, and none
  // of them may still be running. On a disk the next save deletes such data
  // itself.
  bool MayLeaveData(const Save& save, absl::Time now) const;
  // Contents of the marker while `last` is running or has just ended.
  std::string Contents(const Save& last,
                       const std::vector<std::string>& old_ones) const;

  std::string save_path_;      // of the last save
  std::deque<Failed> failed_;  // to that path, oldest first
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_UNFINISHED_SAVES_H_
