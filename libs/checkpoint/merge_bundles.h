// MergeBundles combines several checkpoints into one, as MergeV2Checkpoints
// does with the shards of a save.
//
// Data files are renamed, not read: in index order, they become
// PREFIX.data-00000-of-N and following. Then one index is written, and the
// indexes of the inputs are deleted. An existing checkpoint of PREFIX stays
// valid until the new index replaces its index (ChooseDataFileCount), unless it
// is one of the inputs.
#ifndef WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_
#define WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"

namespace weft::checkpoint {

// Merges the checkpoints `prefixes`. If the result is OK, the checkpoint
// `merged_prefix` is durable and complete, and `prefixes` are gone.
// INVALID_ARGUMENT if two inputs contain the same tensor or slice, have slices
// of one tensor with different types or shapes, or differ in version or byte
// order, or if an input is on another machine. All files are then unchanged.
// If cancelled before the checkpoint appears, no checkpoint is created. Blocks.
absl::Status MergeBundles(FileSystem& file_system,
                          absl::Span<const std::string> prefixes,
                          absl::string_view merged_prefix, Random& random,
                          const Cancellation* cancellation = nullptr);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_
