// EstimatorCheck: the kind `estimator`: an Estimator of ours trains, evaluates
// and predicts as a case tells, from TensorFlow's values, and all that is
// expected of it holds: each loss, all variables by their names, metrics,
// predictions, files and tags.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process.h"

namespace weft::conformance {

// `scratch` is a folder that is not there yet, for the model. Servers of a
// case's cluster run in this program. The message says what differs first.
absl::Status CheckEstimator(FileSystem& fs, const std::string& directory,
                            const std::string& scratch, Process& process);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_CHECK_H_
