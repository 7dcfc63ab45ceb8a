// SignatureDef describes a function that a graph offers for serving, by named
// inputs and outputs. It is stored in a MetaGraph, as TensorFlow's
// SignatureDef.
//
//   SignatureDef predict = PredictSignatureDef({{"x", x}}, {{"y", y}}).value();
//
// Threads: signatures are values, and the functions are stateless.
// INVALID_ARGUMENT, with TensorFlow's text, for signatures that TensorFlow
// would reject.
#ifndef WEFT_LIBS_TRAIN_SAVED_MODEL_SIGNATURE_DEF_H_
#define WEFT_LIBS_TRAIN_SAVED_MODEL_SIGNATURE_DEF_H_

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/ops/output.h"
#include "libs/ops/sparse/sparse_ops.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft {

namespace tf {
class MetaGraphDef;
class SignatureDef;
class TensorInfo;
}  // namespace tf

namespace train {

// Keys and method names are TensorFlow's.
inline constexpr absl::string_view kDefaultServingSignatureDefKey =
    "serving_default";
inline constexpr absl::string_view kClassifyMethodName =
    "tensorflow/serving/classify";
inline constexpr absl::string_view kRegressMethodName =
    "tensorflow/serving/regress";
inline constexpr absl::string_view kPredictMethodName =
    "tensorflow/serving/predict";

struct TensorInfo {
  // CooSparse holds the names of the three parts of a sparse tensor.
  struct CooSparse {
    std::string values;
    std::string indices;
    std::string dense_shape;
  };

  std::string name;  // "x:0"; empty for a value of several tensors
  std::optional<CooSparse> coo_sparse;
  DataType dtype = DT_INVALID;
  PartialShape shape;
};

// SparseTensorValue is a sparse input value: values[i] is at the position in
// row i of `indices`.
struct SparseTensorValue {
  Tensor indices;      // int64 [values, rank]
  Tensor values;       // [values]
  Tensor dense_shape;  // int64 [rank]
};
using SignatureInput = std::variant<Tensor, SparseTensorValue>;
using SignatureInputs = std::map<std::string, SignatureInput>;

struct SignatureDef {
  std::map<std::string, TensorInfo> inputs;
  std::map<std::string, TensorInfo> outputs;
  std::string method_name;
};

// Return the description of a tensor. REQUIRES: the tensor is not null.
TensorInfo BuildTensorInfo(const Output& tensor);
TensorInfo BuildTensorInfo(const ops::SparseOutputs& tensor);

// Returns a signature with input "inputs" and output "outputs".
absl::StatusOr<SignatureDef> RegressionSignatureDef(const Output& examples,
                                                    const Output& predictions);
// Returns a signature with input "inputs" and outputs "classes" and "scores",
// either of which may be null.
absl::StatusOr<SignatureDef> ClassificationSignatureDef(const Output& examples,
                                                        const Output& classes,
                                                        const Output& scores);
absl::StatusOr<SignatureDef> PredictSignatureDef(
    const std::map<std::string, Output>& inputs,
    const std::map<std::string, Output>& outputs);

// ---- conversion to protobuf messages, for .cc files that use messages ----

// These functions overwrite `message`.
void WriteTensorInfo(const TensorInfo& info, tf::TensorInfo* message);
void WriteSignatureDef(const SignatureDef& signature,
                       tf::SignatureDef* message);
// Returns all signatures of a graph, by name. INVALID_ARGUMENT, which names the
// signature and the tensor, for an invalid shape.
absl::StatusOr<std::map<std::string, SignatureDef>> ReadSignatureDefs(
    const tf::MetaGraphDef& message);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_SIGNATURE_DEF_H_
