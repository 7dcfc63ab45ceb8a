#include "libs/estimator/export_signatures.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::estimator {
namespace {

using Receivers = std::map<std::string, Output>;

std::string DefaultKey() {
  return std::string(train::kDefaultServingSignatureDefKey);
}

// Returns the single input tensor of a classification or a regression.
absl::StatusOr<Output> OnlyReceiver(absl::string_view kind,
                                    const Receivers& receivers) {
  if (receivers.size() == 1) return receivers.begin()->second;
  return absl::InvalidArgumentError(absl::StrCat(
      kind,
      " signatures can only accept a single tensor input of type string, but "
      "there are ",
      receivers.size(),
      ". Please check to make sure that you have structured the "
      "serving_input_receiver_fn so that it creates a single string "
      "placeholder."));
}

absl::StatusOr<train::SignatureDef> SignatureOf(
    const ClassificationOutput& output, const Receivers& receivers) {
  ASSIGN_OR_RETURN(const Output examples,
                   OnlyReceiver("Classification", receivers));
  return train::ClassificationSignatureDef(examples, output.classes,
                                           output.scores);
}

absl::StatusOr<train::SignatureDef> SignatureOf(const RegressionOutput& output,
                                                const Receivers& receivers) {
  ASSIGN_OR_RETURN(const Output examples,
                   OnlyReceiver("Regression", receivers));
  return train::RegressionSignatureDef(examples, output.value);
}

absl::StatusOr<train::SignatureDef> SignatureOf(const PredictOutput& output,
                                                const Receivers& receivers) {
  return train::PredictSignatureDef(receivers, output.outputs);
}

void AddSignatures(const std::string& prefix, const Receivers& receivers,
                   const ExportOutputs& outputs, ExportSignatures& all) {
  for (const auto& [name, output] : outputs) {
    const auto signature = std::visit(
        [&](const auto& kind) { return SignatureOf(kind, receivers); }, output);
    const std::string key = absl::StrCat(prefix, name);
    if (signature.ok()) {
      all.included[key] = *signature;
    } else {
      all.excluded[key] = std::string(signature.status().message());
    }
  }
}

}  // namespace

absl::StatusOr<ExportOutputs> GetExportOutputs(const EstimatorSpec& spec) {
  if (spec.export_outputs.empty()) {
    return ExportOutputs{{DefaultKey(), PredictOutput{spec.predictions}}};
  }
  ExportOutputs outputs = spec.export_outputs;
  if (outputs.contains(DefaultKey())) return outputs;
  if (outputs.size() == 1) {
    const ExportOutput only = outputs.begin()->second;
    outputs[DefaultKey()] = only;
    return outputs;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Multiple export_outputs were provided, but none of them is specified "
      "as the default. Do this by naming one of them with '",
      DefaultKey(), "'."));
}

ExportSignatures BuildAllSignatureDefs(const ServingInputReceiver& receiver,
                                       const ExportOutputs& outputs) {
  ExportSignatures all;
  AddSignatures("", receiver.receiver_tensors, outputs, all);
  for (const auto& [name, tensors] : receiver.receiver_tensors_alternatives) {
    AddSignatures(absl::StrCat(name, ":"), tensors, outputs, all);
  }
  return all;
}

}  // namespace weft::estimator
