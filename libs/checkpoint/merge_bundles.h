// MergeBundles: makes one checkpoint of several, as MergeV2Checkpoints does
// with the shards of a save.
//
// Data files are renamed, not read: in the order in which the indexes name
// them, they become PREFIX.data-00000-of-N and on. Then one index is written,
// and the others are deleted. A checkpoint that PREFIX is already stays whole
// until that index takes the place of its own (ChooseDataFileCount), unless it
// is one of those that are merged.
#ifndef WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_
#define WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"

namespace weft::checkpoint {

// OK: the checkpoint `merged_prefix` is durable and whole, and `prefixes` are
// none any more. INVALID_ARGUMENT, with all files as they were, if two of them
// hold the same tensor or slice, or parts of one tensor that differ in type or
// shape, or differ in version or byte order, or lie on another machine. One
// that is cancelled before the checkpoint is there makes none. Blocks.
absl::Status MergeBundles(FileSystem& file_system,
                          absl::Span<const std::string> prefixes,
                          absl::string_view merged_prefix, Random& random,
                          const Cancellation* cancellation = nullptr);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_
