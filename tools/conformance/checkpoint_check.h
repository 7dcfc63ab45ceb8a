// CheckpointCheck implements the case kind `checkpoint`: it compares the index
// in the case's directory with the entries in listing.json.
#ifndef WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"

namespace weft::conformance {

// Returns OK if there is no listing, or if the index has exactly the entries of
// the listing. Otherwise the message names the difference.
absl::Status CheckCheckpoint(const Case& test_case, FileSystem& fs);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_CHECKPOINT_CHECK_H_
