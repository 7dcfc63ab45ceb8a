// UnfinishedSaves tracks saves that have begun and not ended, so that exactly
// the leftovers of a crashed save are deleted later.
//
// A file beside the checkpoints, "SAVE_PATH.saving", names the running save,
// earlier saves that failed, and old checkpoints to delete. It is written
// before a save begins and deleted when it has ended. The next save under that
// path, by this process or another, deletes the leftovers: temporary files,
// shard directories, data of a prefix that has no index or (in an object store,
// when those saves have ended) that its index does not name, and those old
// checkpoints. A failed save may also have left a complete checkpoint if only
// the reply was lost: the caller queries these (MaybeWhole), and passes
// uncounted ones to Begin as old ones. Each name is stored with the name of its
// state file, because savers with different state files may share a path.
//
// The program writes that file, and each task can be asked to read it. So the
// file also shows whether they all see the same disk.
//
// Threads: only one call at a time is allowed. All calls block.
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

// Returns "_temp_" and 16 hexadecimal digits. After the prefix, this is the
// name of the directory that holds the shards until they are merged. TensorFlow
// uses 32 digits.
std::string ShardFolderSuffix(uint64_t number);

class UnfinishedSaves {
 public:
  // Marker is a marker file and its contents.
  struct Marker {
    std::string path;
    std::string contents;
  };
  struct Save {
    std::string prefix;
    uint64_t number = 0;  // unique: no two saves have the same number
    // Name of the state file, in the directory of the prefix, that names the
    // checkpoint once the save has succeeded.
    std::string latest_filename;
    // Whether the state file will name the checkpoint. If so, and the save
    // fails, nothing refers to the checkpoint.
    bool is_counted = false;
  };
  // OldCheckpoint is a checkpoint to delete, unless its state file still names
  // it.
  struct OldCheckpoint {
    std::string prefix;
    std::string latest_filename;
  };

  // Reads the leftovers of another process's saves to `save_path`, which Begin
  // then deletes. Returns the old checkpoints that the other process was about
  // to delete, for the caller to delete. Returns null if the last save was to
  // the same path, so that there is nothing new.
  absl::StatusOr<std::optional<std::vector<OldCheckpoint>>> Recover(
      FileSystem& files, const std::string& save_path, absl::Time now);
  // Returns failed saves that were to be counted. Each may have completed a
  // checkpoint although its reply was lost.
  std::vector<OldCheckpoint> MaybeWhole() const;
  // Deletes leftovers of earlier saves to the path. Records that `save` is
  // running, and that it may delete `old_ones`.
  absl::StatusOr<Marker> Begin(FileSystem& files, const Save& save,
                               const std::vector<std::string>& old_ones,
                               absl::Time now);
  // Records that the checkpoint with this prefix exists and is in use.
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
  // Failed is a save that has failed or not ended. A task may still be writing
  // its files, so each later save deletes them until none is left.
  struct Failed {
    Save save;  // is_counted is false once it has succeeded
    absl::Time until;
  };

  void Add(const Save& save, absl::Time now);
  // Returns whether earlier saves to the prefix of `save` may have left data
  // files that only the checkpoint's index can distinguish from the
  // checkpoint's own, and all these saves have ended. The checkpoint of `save`
  // exists. On a disk, the next save deletes such data itself.
  bool MayLeaveData(const Save& save, absl::Time now) const;
  // Returns the contents of the marker while `last` is running or has just
  // ended.
  std::string Contents(const Save& last,
                       const std::vector<std::string>& old_ones) const;

  std::string save_path_;      // path of the last save
  std::deque<Failed> failed_;  // saves to save_path_, oldest first
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_UNFINISHED_SAVES_H_
