#include "libs/estimator/export_signatures.h"

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

class ExportSignaturesTest : public testing::Test {
 protected:
  Output Tensors(const std::string& name, DataType dtype,
                 const PartialShape& shape = {-1, 1}) {
    return ops::Placeholder(root_.WithName(name), dtype, {.shape = shape});
  }

  const Scope root_ = Scope::Root();
  const Output examples_ = Tensors("examples", DT_STRING, {-1});
  const Output age_ = Tensors("age", DT_FLOAT);
  const Output scores_ = Tensors("scores", DT_FLOAT, {-1, 2});
  const Output classes_ = Tensors("classes", DT_STRING, {-1, 2});
  const Output value_ = Tensors("value", DT_FLOAT);
};

TEST_F(ExportSignaturesTest, PredictionsAreTheDefault) {
  EstimatorSpec spec;
  spec.predictions = {{"logits", value_}};
  ASSERT_OK_AND_ASSIGN(const ExportOutputs outputs, GetExportOutputs(spec));
  ASSERT_THAT(outputs, ElementsAre(Key("serving_default")));
  const auto* const predict =
      std::get_if<PredictOutput>(&outputs.at("serving_default"));
  ASSERT_NE(predict, nullptr);
  EXPECT_THAT(predict->outputs, ElementsAre(Pair("logits", value_)));
}

TEST_F(ExportSignaturesTest, SingleOutputIsAlsoTheDefault) {
  EstimatorSpec spec;
  spec.export_outputs = {{"regress", RegressionOutput{value_}}};
  ASSERT_OK_AND_ASSIGN(const ExportOutputs outputs, GetExportOutputs(spec));
  EXPECT_THAT(outputs, ElementsAre(Key("regress"), Key("serving_default")));
}

TEST_F(ExportSignaturesTest, SeveralOutputsNeedADefault) {
  EstimatorSpec spec;
  spec.export_outputs = {{"a", RegressionOutput{value_}},
                         {"b", RegressionOutput{value_}}};
  EXPECT_THAT(GetExportOutputs(spec).status(),
              StatusIs(kInvalid, "naming one of them with 'serving_default'"));
  spec.export_outputs["serving_default"] = RegressionOutput{value_};
  ASSERT_OK_AND_ASSIGN(const ExportOutputs outputs, GetExportOutputs(spec));
  EXPECT_THAT(outputs, ElementsAre(Key("a"), Key("b"), Key("serving_default")));
}

TEST_F(ExportSignaturesTest, OneSignatureServesEachOutput) {
  ServingInputReceiver receiver;
  receiver.receiver_tensors = {{"examples", examples_}};
  const ExportSignatures all = BuildAllSignatureDefs(
      receiver, {{"classify", ClassificationOutput{scores_, classes_}},
                 {"predict", PredictOutput{{{"logits", value_}}}},
                 {"regress", RegressionOutput{value_}}});
  EXPECT_THAT(all.excluded, IsEmpty());
  ASSERT_THAT(all.included,
              ElementsAre(Key("classify"), Key("predict"), Key("regress")));
  const train::SignatureDef& classify = all.included.at("classify");
  EXPECT_EQ(classify.method_name, train::kClassifyMethodName);
  EXPECT_EQ(classify.inputs.at("inputs").name, "examples:0");
  EXPECT_EQ(classify.outputs.at("classes").name, "classes:0");
  EXPECT_EQ(classify.outputs.at("scores").name, "scores:0");
  const train::SignatureDef& regress = all.included.at("regress");
  EXPECT_EQ(regress.method_name, train::kRegressMethodName);
  EXPECT_EQ(regress.outputs.at("outputs").name, "value:0");
  const train::SignatureDef& predict = all.included.at("predict");
  EXPECT_EQ(predict.method_name, train::kPredictMethodName);
  EXPECT_EQ(predict.inputs.at("examples").name, "examples:0");
  EXPECT_EQ(predict.outputs.at("logits").name, "value:0");
}

TEST_F(ExportSignaturesTest, ClassificationTakesOneInput) {
  ServingInputReceiver receiver;
  receiver.receiver_tensors = {{"age", age_}, {"examples", examples_}};
  const ExportSignatures all = BuildAllSignatureDefs(
      receiver, {{"classify", ClassificationOutput{scores_, classes_}},
                 {"predict", PredictOutput{{{"logits", value_}}}},
                 {"regress", RegressionOutput{value_}}});
  EXPECT_THAT(all.included, ElementsAre(Key("predict")));
  EXPECT_THAT(all.excluded,
              ElementsAre(Pair("classify", HasSubstr("there are 2")),
                          Pair("regress", HasSubstr("a single tensor input"))));
}

TEST_F(ExportSignaturesTest, ClassificationTakesStrings) {
  ServingInputReceiver receiver;
  receiver.receiver_tensors = {{"age", age_}};
  const ExportSignatures all = BuildAllSignatureDefs(
      receiver, {{"classify", ClassificationOutput{scores_, classes_}}});
  EXPECT_THAT(all.included, IsEmpty());
  EXPECT_THAT(all.excluded, ElementsAre(Key("classify")));
}

TEST_F(ExportSignaturesTest, AlternativeInputsHaveAPrefix) {
  ServingInputReceiver receiver;
  receiver.receiver_tensors = {{"examples", examples_}};
  receiver.receiver_tensors_alternatives = {{"raw", {{"age", age_}}}};
  const ExportSignatures all = BuildAllSignatureDefs(
      receiver, {{"serving_default", PredictOutput{{{"logits", value_}}}}});
  ASSERT_THAT(all.included,
              ElementsAre(Key("raw:serving_default"), Key("serving_default")));
  EXPECT_THAT(all.included.at("raw:serving_default").inputs,
              ElementsAre(Key("age")));
}

}  // namespace
}  // namespace weft::estimator
