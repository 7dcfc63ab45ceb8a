// Conversion of SaverDef messages, and access to the collection "savers" of a
// graph. As in TensorFlow, a Scaffold uses a saver of the collection if there
// is one. Otherwise it creates a saver and adds it to the collection.
//
// The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_SAVING_SAVER_DEFS_H_
#define WEFT_LIBS_TRAIN_SAVING_SAVER_DEFS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/train/saving/meta_graph.h"

namespace weft {

namespace tf {
class SaverDef;
}  // namespace tf

namespace train {

// ReadSaverDef returns UNIMPLEMENTED for a saver of TensorFlow's old formats,
// and INVALID_ARGUMENT for a saver that lacks names.
absl::StatusOr<SaverDef> ReadSaverDef(const tf::SaverDef& message);
void WriteSaverDef(const SaverDef& def, tf::SaverDef* message);

// Returns the savers of the collection. Errors are those of ReadSaverDef, and
// INVALID_ARGUMENT if the collection holds something else.
absl::StatusOr<std::vector<SaverDef>> CollectedSavers(const Scope& scope);
// Adds `def` to the collection, for the next Scaffold of the graph, and for
// programs that import the graph. Errors stick to the scope.
void CollectSaver(const Scope& scope, const SaverDef& def);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVING_SAVER_DEFS_H_
