// SaverCheck implements the case kind `saver`: a Saver saves as in the case's
// history, and must leave the same files and the same state after each save.
#ifndef WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"

namespace weft::conformance {

// Saves its own variable to `directory`, which must be empty. The message names
// the save and the difference. A save without .meta in the history is made
// without write_meta_graph.
absl::Status CheckSaver(const Case& test_case, const std::string& directory,
                        FileSystem& fs, SessionFactory& factory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
