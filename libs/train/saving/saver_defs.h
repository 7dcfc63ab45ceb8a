// Conversion of SaverDef messages, and the collection "savers" of a graph, as
// in TensorFlow: a Scaffold uses a saver of the collection before it creates
// one, and adds the one that it creates.
//
// Threads: as the scope's.
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

// UNIMPLEMENTED for a saver of TensorFlow's old formats, INVALID_ARGUMENT for
// one that lacks names.
absl::StatusOr<SaverDef> ReadSaverDef(const tf::SaverDef& message);
void WriteSaverDef(const SaverDef& def, tf::SaverDef* message);

// Returns the savers of the collection. Errors as above; INVALID_ARGUMENT if
// the collection holds something else.
absl::StatusOr<std::vector<SaverDef>> CollectedSavers(const Scope& scope);
// Adds `def` to the collection, for the next Scaffold of the graph and for
// programs that import it. Errors stick to the scope.
void CollectSaver(const Scope& scope, const SaverDef& def);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVING_SAVER_DEFS_H_
