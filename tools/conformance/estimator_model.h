// EstimatorModel builds the feature columns and Estimators that a case of kind
// `estimator` describes in JSON, and input functions that read its csv files.
//
// The functions have no state. Threads: the same as for the scope.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/estimator.h"
#include "libs/fs/file_system.h"
#include "nlohmann/json.hpp"

namespace weft::conformance {

// Feature columns by their names in the case. A shared embedding consists of
// several columns.
using NamedColumns = std::map<std::string, feature_column::FeatureColumns>;

// Builds the columns of a case. `specs` is its field "columns". Like the
// functions below, returns INVALID_ARGUMENT for unknown fields and types, so
// that no part of a case is ignored.
absl::StatusOr<NamedColumns> MakeColumns(const nlohmann::json& specs,
                                         const std::string& directory);

// Returns the type with the given name in TensorFlow's Python API.
absl::StatusOr<DataType> DtypeOf(const std::string& name);

// Builds the Estimator of a case. `spec` is its field "model".
absl::StatusOr<estimator::Estimator> MakeEstimator(
    const nlohmann::json& spec, const NamedColumns& columns,
    const estimator::RunConfig& config);

// The field "data" of a case.
struct DataSpec {
  std::string train;  // names of csv files
  std::string eval;
  int64_t train_batch = 1;  // rows in a batch
  int64_t eval_batch = 1;
  nlohmann::json features;
  nlohmann::json label;
};
absl::StatusOr<DataSpec> ReadData(const nlohmann::json& json);

struct Reading {
  int64_t batch_size = 1;
  bool repeat = false;
};
// Returns an input function over the file `path`, which is read immediately and
// only once.
absl::StatusOr<estimator::InputFn> ReadInput(FileSystem& fs,
                                             const std::string& path,
                                             const DataSpec& data,
                                             const Reading& reading);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_H_
