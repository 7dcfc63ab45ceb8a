// EstimatorCheck implements the case kind `estimator`. An Estimator trains,
// evaluates and predicts as the case describes, starting from TensorFlow's
// values. Each loss, all variables by name, metrics, predictions, files and
// tags must be as the case expects.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::conformance {

// Checks one case. `scratch` is a directory for the model, which must not exist
// yet. If the case has a cluster, its servers run in this program. The error
// describes the first difference.
absl::Status CheckEstimator(FileSystem& fs, const std::string& directory,
                            const std::string& scratch, Process& process);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
