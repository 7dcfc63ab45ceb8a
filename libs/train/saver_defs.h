// SaverDefs in messages, and in the collection of savers that a graph brings
// along: TensorFlow's "savers", where a Scaffold looks for one before it makes
// another, and puts the one that it makes.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_SAVER_DEFS_H_
#define WEFT_LIBS_TRAIN_SAVER_DEFS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/train/meta_graph.h"

namespace weft {

namespace tf {
class SaverDef;
}  // namespace tf

namespace train {

// UNIMPLEMENTED for a saver of TensorFlow's old formats, INVALID_ARGUMENT for
// one that lacks names.
absl::StatusOr<SaverDef> ReadSaverDef(const tf::SaverDef& message);
void WriteSaverDef(const SaverDef& def, tf::SaverDef* message);

// Those of the collection. The errors above; INVALID_ARGUMENT where it holds
// something else.
absl::StatusOr<std::vector<SaverDef>> CollectedSavers(const Scope& scope);
// Into the collection, for the next Scaffold of the graph and for programs that
// import it. Errors stick to the scope.
void CollectSaver(const Scope& scope, const SaverDef& def);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVER_DEFS_H_
