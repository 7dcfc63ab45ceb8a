// The signatures of an export: of each way that a request may come and each
// output of the model one, where they fit; as TensorFlow's.
//
// Functions without state.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_
#define WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/export_output.h"
#include "libs/estimator/serving_input.h"
#include "libs/train/signature_def.h"

namespace weft::estimator {

// Those of the spec, or its predictions, with a "serving_default".
// INVALID_ARGUMENT where there are several and none is that.
absl::StatusOr<ExportOutputs> GetExportOutputs(const EstimatorSpec& spec);

struct ExportSignatures {
  std::map<std::string, train::SignatureDef> included;
  // Those that can't be served so, and why: a classification gets one tensor,
  // of strings.
  std::map<std::string, std::string> excluded;
};
ExportSignatures BuildAllSignatureDefs(const ServingInputReceiver& receiver,
                                       const ExportOutputs& outputs);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_
