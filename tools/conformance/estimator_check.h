// EstimatorCheck implements the case kind `estimator`: an Estimator trains,
// evaluates and predicts as described by a case, from TensorFlow's values, and
// all expectations must hold: each loss, all variables by name, metrics,
// predictions, files and tags.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::conformance {

// `scratch` is a directory that does not exist yet, for the model. Servers of a
// case's cluster run in this program. The message describes the first
// difference.
absl::Status CheckEstimator(FileSystem& fs, const std::string& directory,
                            const std::string& scratch, Process& process);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
