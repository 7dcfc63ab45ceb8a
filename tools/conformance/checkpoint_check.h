// CheckpointCheck: the kind `checkpoint`: the index that lies in the case's
// folder, against what its listing.json says of each entry.
#ifndef WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// OK if there is no listing, or all entries are as it says and there are no
// others; else the message says which differs.
absl::Status CheckCheckpoint(const Case& test_case, FileSystem& fs);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_
