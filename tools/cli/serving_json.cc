#include "tools/cli/serving_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/json_error.h"
#include "libs/base/keys_of.h"
#include "libs/base/near_names.h"
#include "libs/base/status.h"
#include "libs/base/utf8.h"
#include "schemas/tf/example.pb.h"
#include "tools/cli/tensor_json.h"

namespace weft::tools {
namespace {

using Form = ServingRequest::Form;
using train::SignatureDef;
using train::TensorInfo;

// Maximum nesting depth of a request, which exceeds the rank of any tensor. It
// is limited because the functions that read and write values are recursive.
constexpr int kMaxDepth = 300;

constexpr std::pair<const char*, Form> kForms[] = {
    {"instances", Form::kInstances},
    {"inputs", Form::kInputs},
    {"examples", Form::kExamples}};

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the request ", what));
}

// Returns an error that describes the request format and the position of the
// JSON error.
absl::Status NoObject(absl::string_view text) {
  const std::string error = JsonError(text);
  return Wrong(
      absl::StrCat("is not a JSON object; write {\"instances\": [...]}, "
                   "{\"inputs\": ...} or {\"examples\": [...]}",
                   error.empty() ? "" : ". It is not JSON: ", error));
}

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  bool is_too_deep = false;
  Json json = Json::parse(
      text.begin(), text.end(),
      [&](int depth, Json::parse_event_t, Json&) {
        is_too_deep = is_too_deep || depth > kMaxDepth;
        return depth <= kMaxDepth;
      },
      /*allow_exceptions=*/false);
  if (is_too_deep) {
    return Wrong(absl::StrCat("is nested more than ", kMaxDepth, " deep"));
  }
  if (json.is_object()) return json;
  return NoObject(text);
}

// Returns a hint for requests that are not of the form "examples", although the
// signature takes serialized Examples.
std::string ExamplesHint(const SignatureDef& signature) {
  const auto& inputs = signature.inputs;
  if (inputs.size() != 1 || inputs.begin()->second.dtype != DT_STRING) {
    return "";
  }
  return "; where that takes serialized Examples, write {\"examples\": "
         "[{\"FEATURE\": VALUE, ...}]}";
}

bool IsBase64(const Json& json) {
  return json.is_object() && json.size() == 1 && json.contains("b64");
}
bool IsNamed(const Json& json) { return json.is_object() && !IsBase64(json); }

// Checks that `values` has exactly the inputs of the signature. `where` names
// the place in the request.
absl::Status CheckNames(const Json& values, const SignatureDef& signature,
                        const std::string& where) {
  for (const auto& [name, value] : values.items()) {
    if (signature.inputs.contains(name)) continue;
    return Wrong(absl::StrCat(
        "has \"", name, "\" in ", where, ", but the signature's inputs are: ",
        KeysOf(signature.inputs), ExamplesHint(signature)));
  }
  for (const auto& [name, info] : signature.inputs) {
    if (values.contains(name)) continue;
    return Wrong(absl::StrCat("lacks input \"", name, "\" in ", where));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> OnlyInput(const SignatureDef& signature,
                                      const std::string& where) {
  if (signature.inputs.size() == 1) return signature.inputs.begin()->first;
  return Wrong(absl::StrCat("has a value without a name in ", where,
                            ", but the signature has ", signature.inputs.size(),
                            " inputs: ", KeysOf(signature.inputs),
                            "; write {\"NAME\": VALUE, ...}"));
}

std::string Place(size_t row) { return absl::StrCat("instances[", row, "]"); }

// Returns, for each input, a list with the values of all instances.
absl::StatusOr<std::map<std::string, Json>> Columns(
    const Json& instances, const SignatureDef& signature) {
  std::map<std::string, Json> columns;
  const bool are_named = IsNamed(instances[0]);
  for (size_t i = 0; i < instances.size(); ++i) {
    const Json& instance = instances[i];
    if (IsNamed(instance) != are_named) {
      return Wrong(
          absl::StrCat("has named values in some instances only, not "
                       "as the first in ",
                       Place(i)));
    }
    if (are_named) {
      RETURN_IF_ERROR(CheckNames(instance, signature, Place(i)));
      for (const auto& [name, value] : instance.items()) {
        columns[name].push_back(value);
      }
    } else {
      ASSIGN_OR_RETURN(const std::string name, OnlyInput(signature, Place(i)));
      columns[name].push_back(instance);
    }
  }
  return columns;
}

// ---- Examples ----

// Adds a value to the feature. Returns false if the value is of another kind.
bool AddTo(const Json& value, bool are_floats, tf::Feature& feature) {
  if (value.is_string()) {
    feature.mutable_bytes_list()->add_value(value.get<std::string>());
    return true;
  }
  if (IsBase64(value)) {
    std::string bytes;
    if (!value["b64"].is_string() ||
        !absl::Base64Unescape(value["b64"].get<std::string>(), &bytes)) {
      return false;
    }
    feature.mutable_bytes_list()->add_value(bytes);
    return true;
  }
  if (!value.is_number()) return false;
  if (are_floats) {
    const auto number = static_cast<float>(value.get<double>());
    feature.mutable_float_list()->add_value(number);
    return std::isfinite(number);
  }
  constexpr auto kMost =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() > kMost) return false;
  feature.mutable_int64_list()->add_value(value.get<int64_t>());
  return true;
}

// Returns why the values in `list` do not match a feature of type `dtype`, or
// "" if they match. All values are floats, integers or strings.
std::string WhyOtherKind(const Json& list, DataType dtype) {
  const auto first_if = [&](bool (*is)(const Json&)) {
    const auto found = std::find_if(list.begin(), list.end(), is);
    return found == list.end() ? "" : found->dump();
  };
  const std::string number =
      first_if([](const Json& value) { return value.is_number(); });
  const std::string floating =
      first_if([](const Json& value) { return value.is_number_float(); });
  if (list.empty()) return "";
  switch (dtype) {
    case DT_FLOAT:
      if (number.empty()) return "holds floats, not strings";
      if (!floating.empty()) return "";
      return absl::StrCat("holds floats: write ", number, ".0, not ", number);
    case DT_INT64:
      if (number.empty()) return "holds integers, not strings";
      if (floating.empty()) return "";
      return absl::StrCat("holds integers, and ", floating, " is a float");
    case DT_STRING:
      if (number.empty()) return "";
      return absl::StrCat("holds strings: write \"", number, "\", not ",
                          number);
    default:
      return "";
  }
}

// Fills a feature with the values in `json`. If one number has a decimal point,
// all numbers are floats. `dtype` is the type that the model expects, or
// DT_INVALID if it is unknown.
absl::Status FillFeature(const Json& json, DataType dtype,
                         tf::Feature& feature) {
  const Json list = json.is_array() ? json : Json::array({json});
  bool are_floats = false, are_texts = false, are_numbers = false;
  for (const Json& value : list) {
    are_floats = are_floats || value.is_number_float();
    are_numbers = are_numbers || value.is_number();
    are_texts = are_texts || !value.is_number();
  }
  for (const Json& value : list) {
    if ((are_numbers && are_texts) || !AddTo(value, are_floats, feature)) {
      return absl::InvalidArgumentError(
          "is neither a number, a string nor {\"b64\": ...}, nor a list of "
          "values of one kind");
    }
  }
  const std::string why = WhyOtherKind(list, dtype);
  return why.empty() ? absl::OkStatus() : absl::InvalidArgumentError(why);
}

absl::StatusOr<std::string> SerializeExample(const Json& json, size_t row,
                                             const ExampleFeatures& known) {
  const std::string where = absl::StrCat("examples[", row, "]");
  if (!json.is_object()) {
    return Wrong(absl::StrCat("has no object of features in ", where));
  }
  tf::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  for (const auto& [name, value] : json.items()) {
    const auto found = known.find(name);
    const DataType dtype =
        found == known.end() ? DT_INVALID : found->second.dtype;
    const absl::Status filled = FillFeature(value, dtype, features[name]);
    if (filled.ok()) continue;
    return Wrong(absl::StrCat("has a feature \"", name, "\" in ", where,
                              " that ", filled.message()));
  }
  return example.SerializeAsString();
}

absl::StatusOr<train::SignatureInputs> SerializedExamples(
    const Json& examples, const SignatureDef& signature,
    const ExampleFeatures& features) {
  if (signature.inputs.size() != 1 ||
      signature.inputs.begin()->second.dtype != DT_STRING) {
    return Wrong(absl::StrCat(
        "has \"examples\", but the signature does not take serialized "
        "Examples; its inputs are: ",
        KeysOf(signature.inputs)));
  }
  std::vector<std::string> serialized;
  for (size_t i = 0; i < examples.size(); ++i) {
    ASSIGN_OR_RETURN(std::string bytes,
                     SerializeExample(examples[i], i, features));
    serialized.push_back(std::move(bytes));
  }
  return train::SignatureInputs{{signature.inputs.begin()->first,
                                 Tensor::Vector<std::string>(serialized)}};
}

// ---- Sparse tensors ----

bool HasParts(const Json& json) {
  return json.is_object() && json.size() == 3 && json.contains("indices") &&
         json.contains("values") && json.contains("dense_shape");
}

absl::StatusOr<train::SparseTensorValue> SparseFromJson(const Json& json,
                                                        DataType dtype) {
  if (!HasParts(json)) {
    return absl::InvalidArgumentError(
        "is sparse; write {\"indices\": [[row, ...], ...], \"values\": [...], "
        "\"dense_shape\": [rows, ...]}");
  }
  train::SparseTensorValue value;
  ASSIGN_OR_RETURN(value.indices,
                   TensorFromParsedJson(json["indices"], DT_INT64));
  ASSIGN_OR_RETURN(value.values, TensorFromParsedJson(json["values"], dtype));
  ASSIGN_OR_RETURN(value.dense_shape,
                   TensorFromParsedJson(json["dense_shape"], DT_INT64));
  // Without rows, the length of a row must come from the dense shape.
  if (json["indices"].empty()) {
    value.indices =
        Tensor(DT_INT64, TensorShape({0, value.dense_shape.num_elements()}));
  }
  return value;
}

absl::StatusOr<train::SignatureInput> InputOf(const Json& json,
                                              const TensorInfo& info,
                                              Form form) {
  if (!info.coo_sparse) return TensorFromParsedJson(json, info.dtype);
  if (form == Form::kInputs) return SparseFromJson(json, info.dtype);
  return absl::InvalidArgumentError(
      "is sparse, which can't be given row by row; ask with \"inputs\"");
}

// ---- Replies ----

void CodeStrings(bool all, Json& json) {
  if (json.is_array()) {
    for (Json& element : json) CodeStrings(all, element);
  } else if (json.is_string()) {
    const auto text = json.get<std::string>();
    if (all || !IsUtf8(text)) json = {{"b64", absl::Base64Escape(text)}};
  }
}

Json ValueJson(const std::string& name, const Tensor& tensor) {
  Json json = TensorToJson(tensor);
  if (tensor.dtype() == DT_STRING) {
    CodeStrings(absl::EndsWith(name, "_bytes"), json);
  }
  return json;
}

std::string OneLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::string> RowsText(
    size_t rows, const std::map<std::string, Tensor>& outputs) {
  std::vector<Json> lines(rows, outputs.size() == 1 ? Json() : Json::object());
  for (const auto& [name, tensor] : outputs) {
    if (tensor.rank() == 0 || static_cast<size_t>(tensor.dim(0)) != rows) {
      return absl::FailedPreconditionError(absl::StrCat(
          "output '", name, "' has shape ", tensor.shape().ToString(),
          ", and so no row for each of the ", rows,
          " instances; ask with \"inputs\" instead"));
    }
    const Json values = ValueJson(name, tensor);
    for (size_t i = 0; i < rows; ++i) {
      Json row = values.empty() ? Json::array() : values[i];
      (outputs.size() == 1 ? lines[i] : lines[i][name]) = std::move(row);
    }
  }
  const std::string all =
      absl::StrJoin(lines, ",\n    ", [](std::string* out, const Json& line) {
        absl::StrAppend(out, OneLine(line));
      });
  return absl::StrCat("{\n  \"predictions\": [\n    ", all, "\n  ]\n}\n");
}

std::string ColumnsText(const std::map<std::string, Tensor>& outputs) {
  if (outputs.size() == 1) {
    const auto& [name, tensor] = *outputs.begin();
    return absl::StrCat("{\n  \"outputs\": ", OneLine(ValueJson(name, tensor)),
                        "\n}\n");
  }
  const std::string all = absl::StrJoin(
      outputs, ",\n    ", [](std::string* out, const auto& output) {
        absl::StrAppend(out, OneLine(Json(output.first)), ": ",
                        OneLine(ValueJson(output.first, output.second)));
      });
  return absl::StrCat("{\n  \"outputs\": {\n    ", all, "\n  }\n}\n");
}

absl::Status TakeForm(const Json& json, ServingRequest& request) {
  int forms = 0;
  for (const auto& [key, form] : kForms) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    ++forms;
    request.form = form;
    request.values = *found;
    if (form != Form::kInputs && (!found->is_array() || found->empty())) {
      return Wrong(absl::StrCat("has \"", key,
                                "\" that is not a list, or an empty one"));
    }
  }
  if (forms == 1) return absl::OkStatus();
  return Wrong(
      "needs one of \"instances\", \"inputs\" and \"examples\", and no two");
}

}  // namespace

absl::StatusOr<ServingRequest> ParseServingRequest(absl::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  ServingRequest request;
  for (const auto& [key, value] : json.items()) {
    if (key == "signature_name" && value.is_string()) {
      request.signature_name = value.get<std::string>();
    } else if (key == "signature_name") {
      return Wrong("has a \"signature_name\" that is not a string");
    }
  }
  RETURN_IF_ERROR(TakeForm(json, request));
  return request;
}

std::vector<std::string> UnknownFeatures(const ServingRequest& request,
                                         const ExampleFeatures& features) {
  std::vector<std::string> warnings;
  if (request.form != Form::kExamples || features.empty()) return warnings;
  std::set<std::string> seen;
  for (const Json& example : request.values) {
    if (!example.is_object()) continue;
    for (const auto& [name, value] : example.items()) {
      if (features.contains(name) || !seen.insert(name).second) continue;
      NearNames near(name);
      for (const auto& [key, feature] : features) near.Consider(key);
      warnings.push_back(absl::StrCat("the model has no feature \"", name,
                                      "\", and does not look at it.",
                                      near.Suggestion()));
    }
  }
  return warnings;
}

absl::StatusOr<train::SignatureInputs> InputsOf(
    const ServingRequest& request, const SignatureDef& signature,
    const ExampleFeatures& features) {
  if (request.form == Form::kExamples) {
    return SerializedExamples(request.values, signature, features);
  }
  std::map<std::string, Json> columns;
  if (request.form == Form::kInstances) {
    ASSIGN_OR_RETURN(columns, Columns(request.values, signature));
  } else if (IsNamed(request.values)) {
    RETURN_IF_ERROR(CheckNames(request.values, signature, "inputs"));
    for (const auto& [name, value] : request.values.items()) {
      columns[name] = value;
    }
  } else {
    ASSIGN_OR_RETURN(const std::string name, OnlyInput(signature, "inputs"));
    columns[name] = request.values;
  }
  train::SignatureInputs inputs;
  for (const auto& [name, value] : columns) {
    auto input = InputOf(value, signature.inputs.at(name), request.form);
    if (!input.ok()) {
      return absl::Status(
          input.status().code(),
          absl::StrCat("input '", name, "': ", input.status().message(),
                       ExamplesHint(signature)));
    }
    inputs[name] = *std::move(input);
  }
  return inputs;
}

absl::StatusOr<std::string> ServingResponse(
    const ServingRequest& request,
    const std::map<std::string, Tensor>& outputs) {
  if (request.form == Form::kInputs) return ColumnsText(outputs);
  return RowsText(request.values.size(), outputs);
}

}  // namespace weft::tools
