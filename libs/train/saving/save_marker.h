// The save marker, a file "SAVE_PATH.saving" that a Saver keeps beside its
// checkpoints while it saves. The marker names saves to that path that have not
// ended, and old checkpoints that are about to be deleted (UnfinishedSaves).
//
// Its first line is "save NUMBER". The others are "saving NUMBER NAME\tSTATE"
// for a save that has not ended, "sweeping ..." for one whose checkpoint, if it
// exists, is in use, and "deleting NAME\tSTATE" for an old checkpoint. STATE is
// the state file that would name the checkpoint.
//
// Threads: the functions are stateless. They block.
#ifndef WEFT_LIBS_TRAIN_SAVING_SAVE_MARKER_H_
#define WEFT_LIBS_TRAIN_SAVING_SAVE_MARKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/train/saving/unfinished_saves.h"

namespace weft::train {

inline constexpr absl::string_view kMarkerEnding = ".saving";
// Upper limit of the size of a valid marker. It bounds the bytes read from a
// corrupt file.
inline constexpr uint64_t kMaxMarkerBytes = uint64_t{1} << 20;

// MarkerLines is the contents of a marker, except the save that wrote the
// marker.
struct MarkerLines {
  std::vector<UnfinishedSaves::Save> saves;
  std::vector<UnfinishedSaves::OldCheckpoint> old_ones;
};

std::string MarkerContents(uint64_t number, const MarkerLines& lines);

// Reads the marker of another process. Returns empty lines if the file is
// missing or is not a marker. Errors are those of the file system.
absl::StatusOr<MarkerLines> ReadMarker(FileSystem& files,
                                       const std::string& path,
                                       const std::string& save_path);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_SAVE_MARKER_H_
