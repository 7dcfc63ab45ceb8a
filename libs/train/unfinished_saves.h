// UnfinishedSaves: what a Saver knows of saves that have begun and not ended,
// so that what a crash leaves of one is deleted later, and nothing else.
//
// A file beside the checkpoints, "SAVE_PATH.saving", names the save that is
// under way, those before it that failed, and old checkpoints that it deletes.
// It is written before a save begins and deleted when it has ended; whoever
// saves next under that path, this process or another, deletes what these have
// left: temporary files, their own folders of shards, data of a prefix that has
// no index, or (in a store, when they have ended) that its index does not name,
// and those old checkpoints. A save that failed may have left a whole
// checkpoint, too, where only the answer did not come: the caller asks for
// these (MaybeWhole), and gives those that nobody counts to Begin as old ones.
// Beside each name stands that of the file that says which checkpoints there
// are, since savers with files of their own may share a path.
//
// Since the program writes that file and each task can be asked for it, it also
// tells whether they see the same disk.
//
// Threads: used by one at a time. All calls block.
#ifndef WEFT_LIBS_TRAIN_UNFINISHED_SAVES_H_
#define WEFT_LIBS_TRAIN_UNFINISHED_SAVES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/fs/file_system.h"

namespace weft::train {

// "_temp_" and 16 hexadecimal digits: where the shards of a save lie until they
// are one checkpoint, after its prefix. TensorFlow's have 32 digits.
std::string ShardFolderSuffix(uint64_t number);

class UnfinishedSaves {
 public:
  // What a file contains that says who saves.
  struct Marker {
    std::string path;
    std::string contents;
  };
  struct Save {
    std::string prefix;
    uint64_t number = 0;  // its own: no two saves have the same
    // Of the file, beside the prefix, that names it once it has succeeded.
    std::string latest_filename;
    // Whether it does, so that the checkpoint is nobody's if the save fails.
    bool is_counted = false;
  };
  // A checkpoint that may be nobody's: unless that file names it, too.
  struct OldOne {
    std::string prefix;
    std::string latest_filename;
  };

  // What another process has left of saves to `save_path` is known from here
  // on, to be swept by Begin; old checkpoints that it was about to delete are
  // given back, for the caller to delete. None: the last save was to that path,
  // so that nothing is new.
  absl::StatusOr<std::optional<std::vector<OldOne>>> Recover(
      FileSystem& files, const std::string& save_path, absl::Time now);
  // Of saves that have failed, and were to be counted: each may be a checkpoint
  // by now that nobody was told of.
  std::vector<OldOne> MaybeWhole() const;
  // Sweeps what earlier saves to the path have left, and says that `save` is
  // under way, which may delete `old_ones`.
  absl::StatusOr<Marker> Begin(FileSystem& files, const Save& save,
                               const std::vector<std::string>& old_ones,
                               absl::Time now);
  // That the checkpoint of that prefix is there, and somebody's.
  void Succeeded(const std::string& prefix);
  // That the save is over, after `old_ones` were deleted, or some of them. What
  // it has left itself, its folder of shards maybe, is swept, too. Forgets what
  // no power failure brings back: of `old_ones` those that are left stay, and
  // are to be given to the next Begin. The marker goes when nothing is left of
  // any; else it says what is, and of this one that it is under way only if it
  // was to be counted and Succeeded was not told: who reads it later takes that
  // checkpoint for one that nobody was told of.
  void End(FileSystem& files, const Marker& marker, const Save& save,
           absl::Time now, std::vector<std::string>& old_ones);

 private:
  // A save that has failed, or not ended. A task may go on with one for a
  // while, so each save sweeps it until then, and until nothing is left of it.
  struct Failed {
    Save save;  // not counted any more once it is somebody's
    absl::Time until;
  };

  void Add(const Save& save, absl::Time now);
  // Whether saves of the same prefix as `save`, which is there, may have left
  // data under names that only its index tells from its own, and none of them
  // may still go on. On a disk the next save deletes such data itself.
  bool MayLeaveData(const Save& save, absl::Time now) const;
  // Of the marker, while `last` is under way or has just ended.
  std::string Contents(const Save& last,
                       const std::vector<std::string>& old_ones) const;

  std::string save_path_;      // of the last save
  std::deque<Failed> failed_;  // to that path, oldest first
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_UNFINISHED_SAVES_H_
