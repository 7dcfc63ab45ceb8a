// MergeBundles combines several checkpoints into one, as MergeV2Checkpoints
// does with the shards of a save.
//
// Data files are renamed, not read: in index order, they become
// PREFIX.data-00000-of-N and following. Then one index is written, and the
// others are deleted. An existing checkpoint of PREFIX stays valid until that
// index replaces its own (ChooseDataFileCount), unless it is one of the merged
// ones.
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

// On OK, the checkpoint `merged_prefix` is durable and complete, and `prefixes`
// are gone. INVALID_ARGUMENT, with all files unchanged, if two of them contain
// the same tensor or slice, or parts of one tensor with different types or
// shapes, or differ in version or byte order, or are on another machine. If
// cancelled before the checkpoint appears, creates none. Blocks.
absl::Status MergeBundles(FileSystem& file_system,
                          absl::Span<const std::string> prefixes,
                          absl::string_view merged_prefix, Random& random,
                          const Cancellation* cancellation = nullptr);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_MERGE_BUNDLES_H_
