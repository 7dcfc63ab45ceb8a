// SaverCheck: the kind `saver`: a Saver of ours saves as the case's history
// tells, and leaves the same files and the same state after each save.
#ifndef WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "tools/conformance/case.h"
#include "tools/conformance/session_factory.h"

namespace weft::conformance {

// Saves a variable of its own to `directory`, which is empty. The message says
// after which save what differs. A save of which the history has no .meta is
// one without write_meta_graph.
absl::Status CheckSaver(const Case& test_case, const std::string& directory,
                        FileSystem& fs, SessionFactory& factory);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_SAVER_CHECK_H_
