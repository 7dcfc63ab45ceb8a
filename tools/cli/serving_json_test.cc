#include "tools/cli/serving_json.h"

#include <map>
#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "schemas/tf/example.pb.h"

namespace weft::tools {
namespace {

using train::SignatureDef;
using train::TensorInfo;

TensorInfo Info(DataType dtype, const PartialShape& shape) {
  TensorInfo info;
  info.name = "x:0";
  info.dtype = dtype;
  info.shape = shape;
  return info;
}
SignatureDef AgeAndJob() {
  SignatureDef signature;
  signature.inputs["age"] = Info(DT_FLOAT, {-1, 1});
  signature.inputs["job"] = Info(DT_STRING, {-1});
  return signature;
}
SignatureDef Only(DataType dtype) {
  SignatureDef signature;
  signature.inputs["x"] = Info(dtype, PartialShape());
  return signature;
}

absl::StatusOr<train::SignatureInputs> ReadAll(const std::string& text,
                                               const SignatureDef& signature) {
  const auto request = ParseServingRequest(text);
  if (!request.ok()) return request.status();
  return InputsOf(*request, signature);
}
// Reads the inputs of a request. REQUIRES: all inputs are dense.
absl::StatusOr<std::map<std::string, Tensor>> Read(
    const std::string& text, const SignatureDef& signature) {
  const auto inputs = ReadAll(text, signature);
  if (!inputs.ok()) return inputs.status();
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, input] : *inputs) {
    tensors[name] = std::get<Tensor>(input);
  }
  return tensors;
}

TEST(ServingJsonTest, RowAndColumnFormsAreEquivalent) {
  for (const char* text : {R"({"instances": [{"age": [25], "job": "cook"},
                          {"age": [6.5], "job": {"b64": "/w=="}}]})",
                           R"({"inputs": {"age": [[25], [6.5]],
                       "job": ["cook", {"b64": "/w=="}]}})"}) {
    ASSERT_OK_AND_ASSIGN(const auto inputs, Read(text, AgeAndJob()));
    EXPECT_TRUE(
        SameBits(inputs.at("age"),
                 Tensor::FromValues<float>(TensorShape({2, 1}), {25, 6.5f})));
    EXPECT_TRUE(SameBits(inputs.at("job"),
                         Tensor::Vector<std::string>({"cook", "\xff"})));
  }
}

TEST(ServingJsonTest, SingleInputNeedsNoName) {
  for (const char* text :
       {R"({"instances": [[1, 2]]})", R"({"inputs": [[1, 2]]})",
        R"({"instances": [{"x": [1, 2]}], "signature_name": "f"})"}) {
    ASSERT_OK_AND_ASSIGN(const auto inputs, Read(text, Only(DT_INT64)));
    EXPECT_TRUE(SameBits(inputs.at("x"), Tensor::FromValues<int64_t>(
                                             TensorShape({1, 2}), {1, 2})));
  }
  ASSERT_OK_AND_ASSIGN(
      const auto bytes,
      Read(R"({"instances": [{"b64": "YQ=="}]})", Only(DT_STRING)));
  EXPECT_TRUE(SameBits(bytes.at("x"), Tensor::Vector<std::string>({"a"})));
}

TEST(ServingJsonTest, SparseInputsHaveThreeParts) {
  SignatureDef signature = Only(DT_FLOAT);
  signature.inputs["x"].name.clear();
  signature.inputs["x"].coo_sparse = {"v:0", "i:0", "s:0"};
  const auto read = [&](const std::string& parts) {
    return ReadAll("{\"inputs\": {\"x\": {" + parts + "}}}", signature);
  };
  ASSERT_OK_AND_ASSIGN(const auto inputs, read(R"("indices": [[0, 3], [1, 0]],
                               "values": [1.5, 2], "dense_shape": [2, 9])"));
  const auto& x = std::get<train::SparseTensorValue>(inputs.at("x"));
  EXPECT_TRUE(SameBits(x.indices, Tensor::FromValues<int64_t>(
                                      TensorShape({2, 2}), {0, 3, 1, 0})));
  EXPECT_TRUE(SameBits(x.values, Tensor::Vector<float>({1.5f, 2})));
  EXPECT_TRUE(SameBits(x.dense_shape, Tensor::Vector<int64_t>({2, 9})));
  ASSERT_OK_AND_ASSIGN(
      const auto empty,
      read(R"("indices": [], "values": [], "dense_shape": [2, 9])"));
  EXPECT_EQ(std::get<train::SparseTensorValue>(empty.at("x")).indices.shape(),
            TensorShape({0, 2}));
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(read(R"("indices": [], "values": [])").status(),
              StatusIs(kInvalid, "input 'x': is sparse; write {\"indices\""));
  EXPECT_THAT(
      read(R"("indices": [[0.5]], "values": [1], "dense_shape": [2])").status(),
      StatusIs(kInvalid, "input 'x'"));
  EXPECT_THAT(ReadAll(R"({"inputs": {"x": [[1, 2]]}})", signature).status(),
              StatusIs(kInvalid, "dense_shape"));
  EXPECT_THAT(ReadAll(R"({"instances": [[1, 2]]})", signature).status(),
              StatusIs(kInvalid, "ask with \"inputs\""));
}

TEST(ServingJsonTest, ExamplesAreSerialized) {
  ASSERT_OK_AND_ASSIGN(
      const auto inputs,
      Read(R"({"examples": [{"age": 25.0, "ids": [1, 2], "mixed": [1, 2.5],
                             "job": "cook", "raw": {"b64": "/w=="},
                             "none": []}]})",
           Only(DT_STRING)));
  tf::Example example;
  ASSERT_TRUE(example.ParseFromString(inputs.at("x").flat<std::string>()[0]));
  const auto& feature = example.features().feature();
  EXPECT_EQ(feature.at("age").float_list().value(0), 25);
  EXPECT_EQ(feature.at("ids").int64_list().value_size(), 2);
  EXPECT_EQ(feature.at("mixed").float_list().value(1), 2.5);
  EXPECT_EQ(feature.at("job").bytes_list().value(0), "cook");
  EXPECT_EQ(feature.at("raw").bytes_list().value(0), "\xff");
  EXPECT_TRUE(feature.contains("none"));
}

TEST(ServingJsonTest, FeaturesOfWrongTypeAreRejected) {
  ExampleFeatures features;
  features["age"].dtype = DT_FLOAT;
  features["id"].dtype = DT_INT64;
  features["job"].dtype = DT_STRING;
  const auto ask = [&](const std::string& example) {
    const auto request =
        ParseServingRequest("{\"examples\": [" + example + "]}").value();
    return InputsOf(request, Only(DT_STRING), features).status();
  };
  EXPECT_OK(ask(R"({"age": [1, 2.5], "id": [3], "job": "a", "new": 1})"));
  EXPECT_OK(ask(R"({"age": [], "id": [], "job": []})"));
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ask(R"({"age": [1, 2]})"),
              StatusIs(kInvalid, "holds floats: write 1.0, not 1"));
  EXPECT_THAT(ask(R"({"age": "1"})"),
              StatusIs(kInvalid, "holds floats, not strings"));
  EXPECT_THAT(ask(R"({"id": [1, 2.5]})"),
              StatusIs(kInvalid, "holds integers, and 2.5 is a float"));
  EXPECT_THAT(ask(R"({"job": 7})"),
              StatusIs(kInvalid, "holds strings: write \"7\", not 7"));
}

TEST(ServingJsonTest, RepliesAreByRowOrByColumn) {
  const std::map<std::string, Tensor> one = {
      {"y", Tensor::FromValues<float>(TensorShape({2, 1}), {0.1f, 2})}};
  std::map<std::string, Tensor> two = one;
  two["s"] = Tensor::Vector<std::string>({"Ulm", "\xff"});
  two["x_bytes"] = Tensor::Vector<std::string>({"a", "b"});
  const auto rows = ParseServingRequest(R"({"instances": [1, 2]})").value();
  const auto columns = ParseServingRequest(R"({"inputs": [1, 2]})").value();
  EXPECT_EQ(ServingResponse(rows, one).value(),
            "{\n  \"predictions\": [\n    [0.1],\n    [2.0]\n  ]\n}\n");
  EXPECT_EQ(ServingResponse(columns, one).value(),
            "{\n  \"outputs\": [[0.1],[2.0]]\n}\n");
  EXPECT_EQ(nlohmann::ordered_json::parse(ServingResponse(rows, two).value()),
            nlohmann::ordered_json::parse(R"({"predictions": [
                {"s": "Ulm", "x_bytes": {"b64": "YQ=="}, "y": [0.1]},
                {"s": {"b64": "/w=="}, "x_bytes": {"b64": "Yg=="},
                 "y": [2.0]}]})"));
  EXPECT_EQ(nlohmann::ordered_json::parse(
                ServingResponse(columns, two).value())["outputs"]["s"],
            nlohmann::ordered_json::parse(R"(["Ulm", {"b64": "/w=="}])"));
  EXPECT_EQ(
      nlohmann::ordered_json::parse(
          ServingResponse(rows, {{"y", Tensor(DT_FLOAT, TensorShape({2, 0}))}})
              .value()),
      nlohmann::ordered_json::parse(R"({"predictions": [[], []]})"));
  EXPECT_THAT(
      ServingResponse(rows, {{"y", Tensor::Scalar(1.0f)}}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, "ask with \"inputs\""));
}

// A string output is text if it is valid UTF-8. Otherwise its bytes are encoded
// in base64.
TEST(ServingJsonTest, OnlyUtf8IsText) {
  const auto request = ParseServingRequest(R"({"inputs": [1]})").value();
  const auto is_text = [&](const std::string& bytes) {
    const auto json = nlohmann::ordered_json::parse(
        ServingResponse(request, {{"s", Tensor::Vector<std::string>({bytes})}})
            .value());
    return json["outputs"][0].is_string();
  };
  for (const char* text : {"", "a", "\x7f", "\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_text(text)) << text;
  }
  for (const char* bytes :
       {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xe2\x82", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(is_text(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(ServingJsonTest, InvalidRequestsAreExplained) {
  const auto says = [](const std::string& text, const char* what,
                       const SignatureDef& signature) {
    EXPECT_THAT(Read(text, signature).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, what))
        << text;
  };
  const SignatureDef both = AgeAndJob();
  says("", "not a JSON object", both);
  says("[1]",
       "not a JSON object; write {\"instances\": [...]}, {\"inputs\": ...} "
       "or {\"examples\": [...]}",
       both);
  says("{\"instances\":\n [1}", "line 2, column 4", both);
  says(R"({"instances": [{"age": 25}]})",
       "inputs are: x; where that takes serialized Examples, write "
       "{\"examples\": [{\"FEATURE\": VALUE, ...}]}",
       Only(DT_STRING));
  says(R"({"instances": [25]})", "write {\"examples\": ", Only(DT_STRING));
  says("{\"instances\": [1}", "not a JSON object", both);
  says(R"({"instances": "\u0000)", "not a JSON object", both);
  says("{}", "needs one of", both);
  says(R"({"instances": [1], "inputs": [1]})", "and no two", both);
  says(R"({"instances": []})", "an empty one", both);
  says(R"({"instances": {"age": 1}})", "is not a list", both);
  says(R"({"inputs": 1, "signature_name": 1})", "is not a string", both);
  says(R"({"instances": [1]})", "2 inputs: age, job", both);
  says(R"({"instances": [{"age": [1]}]})",
       "lacks input \"job\" in instances[0]", both);
  says(R"({"inputs": {"age": [[1]], "job": ["a"], "name": 1}})",
       "inputs are: age, job", both);
  says(R"({"instances": [{"age": [1], "job": "a"}, 2]})", "instances[1]", both);
  says(R"({"instances": [{"age": ["a"], "job": "a"}]})",
       "input 'age': \"a\" is not a float", both);
  says(R"({"instances": [[1, 2], [3]]})", "equally long", Only(DT_INT32));
  says(R"({"instances": [2147483648]})", "is not a int32", Only(DT_INT32));
  says(R"({"instances": [1.5]})", "is not a int32", Only(DT_INT32));
  says(R"({"instances": [{"b64": "%"}]})", "is not a string", Only(DT_STRING));
  says(R"({"examples": [{}]})", "does not take serialized Examples", both);
  says(R"({"examples": [1]})", "no object of features", Only(DT_STRING));
  says(R"({"examples": [{"a": [1, "b"]}]})", "\"a\" in examples[0]",
       Only(DT_STRING));
  says(R"({"examples": [{"a": 1e39}]})", "\"a\" in examples[0]",
       Only(DT_STRING));
  says(R"({"examples": [{"a": 9223372036854775808}]})", "\"a\" in examples[0]",
       Only(DT_STRING));
  says(std::string(100000, '['), "", both);
  says("{\"inputs\": " + std::string(400, '[') + std::string(400, ']') + "}",
       "nested more than", both);
}

}  // namespace
}  // namespace weft::tools
