// Shared code of the SavedModel reader and builder: assets in messages.
//
// Functions without state.
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

// A file of the directory assets/ and the tensor that is fed its path.
struct Asset {
  std::string tensor_name;
  std::string filename;
};

// Whether the path stays below its base directory.
bool IsPathWithin(absl::string_view path);

// Reads assets from the field of version 2, else from the collection of version
// 1. INVALID_ARGUMENT if the collection holds something else, or a file name
// leaves its directory.
absl::StatusOr<std::vector<Asset>> ReadAssetFileDefs(
    const tf::MetaGraphDef& message);
// Writes assets to the collection.
void WriteAssetFileDefs(const std::vector<Asset>& assets,
                        tf::MetaGraphDef* message);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_FILES_H_
