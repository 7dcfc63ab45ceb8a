// The file "SAVE_PATH.saving" that a Saver keeps beside its checkpoints while
// it saves: which saves to that path have not ended, and which old checkpoints
// are about to be deleted (UnfinishedSaves).
//
// Its first line is "save NUMBER". The others are "saving NUMBER NAME\tSTATE"
// for a save that has not ended, "sweeping ..." for one whose checkpoint, if
// there is one, is somebody's, and "deleting NAME\tSTATE" for an old
// checkpoint. STATE is the file that would name the checkpoint.
//
// Threads: functions without state. They block.
#ifndef WEFT_LIBS_TRAIN_SAVE_MARKER_H_
#define WEFT_LIBS_TRAIN_SAVE_MARKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/train/unfinished_saves.h"

namespace weft::train {

inline constexpr absl::string_view kMarkerEnding = ".saving";
// Nobody's marker is longer; what is made up is not read for ever.
inline constexpr uint64_t kMaxMarkerBytes = uint64_t{1} << 20;

// What a marker says of others than its own save.
struct MarkerLines {
  std::vector<UnfinishedSaves::Save> saves;
  std::vector<UnfinishedSaves::OldOne> old_ones;
};

std::string MarkerContents(uint64_t number, const MarkerLines& lines);

// Of a marker that another process has left; nothing where there is none, or
// something else. Errors are those of files.
absl::StatusOr<MarkerLines> ReadMarker(FileSystem& files,
                                       const std::string& path,
                                       const std::string& save_path);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVE_MARKER_H_
