// EstimatorModel builds the feature columns and Estimators that a case of kind
// `estimator` describes in JSON, and input functions over its csv files.
//
// Stateless functions; building as the scope's.
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

// By the names in the case; a shared embedding consists of several columns.
using NamedColumns = std::map<std::string, feature_column::FeatureColumns>;

// `specs`: "columns" of the case. INVALID_ARGUMENT for unknown fields and
// types, so that no part of a case is ignored; also below.
absl::StatusOr<NamedColumns> MakeColumns(const nlohmann::json& specs,
                                         const std::string& directory);

// Returns the type with that Python name.
absl::StatusOr<DataType> DtypeOf(const std::string& name);

// `spec`: "model" of the case.
absl::StatusOr<estimator::Estimator> MakeEstimator(
    const nlohmann::json& spec, const NamedColumns& columns,
    const estimator::RunConfig& config);

// "data" of a case.
struct DataSpec {
  std::string train;  // file names
  std::string eval;
  int64_t train_batch = 1;  // rows
  int64_t eval_batch = 1;
  nlohmann::json features;
  nlohmann::json label;
};
absl::StatusOr<DataSpec> ReadData(const nlohmann::json& json);

struct Reading {
  int64_t batch_size = 1;
  bool repeat = false;
};
// Reads `path` once, immediately.
absl::StatusOr<estimator::InputFn> ReadInput(FileSystem& fs,
                                             const std::string& path,
                                             const DataSpec& data,
                                             const Reading& reading);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_MODEL_H_
