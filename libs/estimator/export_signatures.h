// Construction of the signatures of an export: one for each valid combination
// of a request form and a model output, as in TensorFlow.
//
// Threads: the functions are stateless.
#ifndef WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_
#define WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/estimator/export_output.h"
#include "libs/estimator/serving_input.h"
#include "libs/train/saved_model/signature_def.h"

namespace weft::estimator {

// Returns the export outputs of the spec or, if it has none, its predictions.
// The result contains "serving_default". INVALID_ARGUMENT if there are several
// outputs and none has that name.
absl::StatusOr<ExportOutputs> GetExportOutputs(const EstimatorSpec& spec);

struct ExportSignatures {
  std::map<std::string, train::SignatureDef> included;
  // Signatures that cannot be served, with the reason. For example, a
  // classification must take a single string tensor.
  std::map<std::string, std::string> excluded;
};
ExportSignatures BuildAllSignatureDefs(const ServingInputReceiver& receiver,
                                       const ExportOutputs& outputs);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPORT_SIGNATURES_H_
