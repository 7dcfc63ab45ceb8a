// Shared code of the SavedModel reader and builder: assets in messages.
//
// Threads: the functions are stateless.
#ifndef WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_FILES_H_
#define WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

namespace tf {
class MetaGraphDef;
}  // namespace tf

namespace train {

// Asset is a file in the directory assets/, and the tensor that is fed the
// file's path.
struct Asset {
  std::string tensor_name;
  std::string filename;
};

// Returns whether the path stays below its base directory.
bool IsPathWithin(absl::string_view path);

// Reads assets from the field that version 2 writes, or else from the
// collection that version 1 writes. INVALID_ARGUMENT if the collection holds
// something else, or a file name leads out of its directory.
absl::StatusOr<std::vector<Asset>> ReadAssetFileDefs(
    const tf::MetaGraphDef& message);
// Writes assets to the collection that version 1 reads.
void WriteAssetFileDefs(const std::vector<Asset>& assets,
                        tf::MetaGraphDef* message);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_FILES_H_
