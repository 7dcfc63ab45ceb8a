#include "libs/train/saved_model/signature_def.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/meta_graph.pb.h"

namespace weft::train {
namespace {

constexpr char kInputs[] = "inputs";

absl::Status CheckExamples(absl::string_view kind, const Output& examples) {
  if (!examples) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " `examples` cannot be None."));
  }
  if (examples.dtype() == DT_STRING) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      kind, " input tensors must be of type string, but '", examples.name(),
      "' is of type ", DataTypeName(examples.dtype()), "."));
}

absl::Status CheckType(absl::string_view what, const Output& tensor,
                       DataType dtype) {
  if (!tensor || RemoveRefType(tensor.dtype()) == dtype) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be of type ", DataTypeName(dtype), ", but '", tensor.name(),
      "' is of type ", DataTypeName(tensor.dtype()), "."));
}

absl::StatusOr<std::map<std::string, TensorInfo>> InfosOf(
    absl::string_view which, const std::map<std::string, Output>& tensors) {
  if (tensors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Prediction `", which, "` cannot be None or empty."));
  }
  std::map<std::string, TensorInfo> infos;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Prediction `", which, "`: tensor '", name, "' is null."));
    }
    infos[name] = BuildTensorInfo(tensor);
  }
  return infos;
}

absl::StatusOr<TensorInfo> ReadTensorInfo(const tf::TensorInfo& message) {
  TensorInfo info;
  info.name = message.name();
  if (message.has_coo_sparse()) {
    const auto& coo = message.coo_sparse();
    info.coo_sparse = {coo.values_tensor_name(), coo.indices_tensor_name(),
                       coo.dense_shape_tensor_name()};
  }
  info.dtype = static_cast<DataType>(message.dtype());
  if (message.has_tensor_shape()) {
    ASSIGN_OR_RETURN(info.shape, ShapeFromProto(message.tensor_shape()));
  }
  return info;
}

template <typename Messages>
absl::Status ReadTensorInfos(const Messages& messages,
                             std::map<std::string, TensorInfo>& infos) {
  for (const auto& [name, message] : messages) {
    auto info = ReadTensorInfo(message);
    if (!info.ok()) {
      return Annotate(info.status(), absl::StrCat("tensor '", name, "'"));
    }
    infos[name] = *std::move(info);
  }
  return absl::OkStatus();
}

}  // namespace

TensorInfo BuildTensorInfo(const Output& tensor) {
  TensorInfo info;
  info.name = tensor.name();
  info.dtype = RemoveRefType(tensor.dtype());
  info.shape = tensor.shape();
  return info;
}

// Of dense_shape, which is a tensor, the graph knows only the length.
TensorInfo BuildTensorInfo(const ops::SparseOutputs& tensor) {
  TensorInfo info;
  info.coo_sparse = {tensor.values.name(), tensor.indices.name(),
                     tensor.shape.name()};
  info.dtype = tensor.values.dtype();
  const PartialShape& shape = tensor.shape.shape();
  if (shape.IsFullyDefined() && shape.rank() == 1 && shape.dim(0) <= kMaxRank) {
    info.shape = PartialShape::OfRank(static_cast<int>(shape.dim(0)));
  }
  return info;
}

absl::StatusOr<SignatureDef> RegressionSignatureDef(const Output& examples,
                                                    const Output& predictions) {
  RETURN_IF_ERROR(CheckExamples("Regression", examples));
  if (!predictions) {
    return absl::InvalidArgumentError(
        "Regression `predictions` cannot be None.");
  }
  RETURN_IF_ERROR(
      CheckType("Regression output tensors", predictions, DT_FLOAT));
  SignatureDef signature;
  signature.inputs[kInputs] = BuildTensorInfo(examples);
  signature.outputs["outputs"] = BuildTensorInfo(predictions);
  signature.method_name = std::string(kRegressMethodName);
  return signature;
}

absl::StatusOr<SignatureDef> ClassificationSignatureDef(const Output& examples,
                                                        const Output& classes,
                                                        const Output& scores) {
  RETURN_IF_ERROR(CheckExamples("Classification", examples));
  if (!classes && !scores) {
    return absl::InvalidArgumentError(
        "Classification `classes` and `scores` cannot both be None.");
  }
  RETURN_IF_ERROR(CheckType("Classification classes", classes, DT_STRING));
  RETURN_IF_ERROR(CheckType("Classification scores", scores, DT_FLOAT));
  SignatureDef signature;
  signature.inputs[kInputs] = BuildTensorInfo(examples);
  if (classes) signature.outputs["classes"] = BuildTensorInfo(classes);
  if (scores) signature.outputs["scores"] = BuildTensorInfo(scores);
  signature.method_name = std::string(kClassifyMethodName);
  return signature;
}

absl::StatusOr<SignatureDef> PredictSignatureDef(
    const std::map<std::string, Output>& inputs,
    const std::map<std::string, Output>& outputs) {
  SignatureDef signature;
  ASSIGN_OR_RETURN(signature.inputs, InfosOf("inputs", inputs));
  ASSIGN_OR_RETURN(signature.outputs, InfosOf("outputs", outputs));
  signature.method_name = std::string(kPredictMethodName);
  return signature;
}

void WriteTensorInfo(const TensorInfo& info, tf::TensorInfo* message) {
  message->Clear();
  if (info.coo_sparse) {
    auto& coo = *message->mutable_coo_sparse();
    coo.set_values_tensor_name(info.coo_sparse->values);
    coo.set_indices_tensor_name(info.coo_sparse->indices);
    coo.set_dense_shape_tensor_name(info.coo_sparse->dense_shape);
  } else {
    message->set_name(info.name);
  }
  message->set_dtype(static_cast<tf::DataType>(info.dtype));
  ShapeToProto(info.shape, message->mutable_tensor_shape());
}

void WriteSignatureDef(const SignatureDef& signature,
                       tf::SignatureDef* message) {
  message->Clear();
  for (const auto& [name, info] : signature.inputs) {
    WriteTensorInfo(info, &(*message->mutable_inputs())[name]);
  }
  for (const auto& [name, info] : signature.outputs) {
    WriteTensorInfo(info, &(*message->mutable_outputs())[name]);
  }
  message->set_method_name(signature.method_name);
}

absl::StatusOr<std::map<std::string, SignatureDef>> ReadSignatureDefs(
    const tf::MetaGraphDef& message) {
  std::map<std::string, SignatureDef> signatures;
  for (const auto& [name, def] : message.signature_def()) {
    SignatureDef& signature = signatures[name];
    signature.method_name = def.method_name();
    const std::string where = absl::StrCat("signature '", name, "'");
    RETURN_IF_ERROR(
        Annotate(ReadTensorInfos(def.inputs(), signature.inputs), where));
    RETURN_IF_ERROR(
        Annotate(ReadTensorInfos(def.outputs(), signature.outputs), where));
  }
  return signatures;
}

}  // namespace weft::train
