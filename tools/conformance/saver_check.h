// SaverCheck implements the case kind `saver`. A Saver saves as in the history
// of the case. After each save, the files and the checkpoint state must be the
// same.
#ifndef WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"

namespace weft::conformance {

// Saves a variable to `directory`, which must be empty. The error names the
// save and the difference. If a save in the history has no .meta file, it is
// repeated without write_meta_graph.
absl::Status CheckSaver(const Case& test_case, const std::string& directory,
                        FileSystem& fs, SessionFactory& factory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
