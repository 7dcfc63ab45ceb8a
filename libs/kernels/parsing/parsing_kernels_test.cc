#include "libs/kernels/parsing/parsing_kernels.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "schemas/tf/example.pb.h"

namespace weft {
namespace {

Tensor Texts(std::initializer_list<std::string> values) {
  return Tensor::Vector<std::string>(values);
}
const Tensor kNoText(DT_STRING, {0});

class ParsingKernelsTest : public testing::Test {
 protected:
  ParsingKernelsTest() : harness_(RegisterParsingKernels) {}

  void ExpectOutputs(const char* op, std::vector<KernelInput> inputs,
                     AttrMap attrs, const std::vector<Tensor>& expected) {
    weft::ExpectOutputs(harness_, op, std::move(inputs), std::move(attrs),
                        expected);
  }

  KernelTestHarness harness_;
};

// ---- DecodeCSV ----

TEST_F(ParsingKernelsTest, RecordsBecomeColumns) {
  ExpectOutputs(
      "DecodeCSV",
      {Texts({"1,2.5,x", "3,,", "4, 1e2 ,\"a,\"\"b\""}),
       Tensor::Vector<int32_t>({0}), Tensor::Scalar(9.5f), Texts({"none"})},
      {},
      {Tensor::Vector<int32_t>({1, 3, 4}),
       Tensor::Vector<float>({2.5f, 9.5f, 100}),
       Texts({"x", "none", "a,\"b"})});
}

TEST_F(ParsingKernelsTest, LineEndsBetweenFieldsAreSkipped) {
  ExpectOutputs("DecodeCSV",
                {Texts({"\r\na,\n\"x\r\ny\""}), Texts({""}), Texts({""})}, {},
                {Texts({"a"}), Texts({"x\r\ny"})});
}

TEST_F(ParsingKernelsTest, ColumnsAreSelected) {
  const AttrMap attrs = {{"select_cols", std::vector<int64_t>{1, 3}}};
  // Fields after the last selected column are not checked.
  ExpectOutputs(
      "DecodeCSV",
      {Texts({"a,1,b,2,\"", "a,,b,"}), Tensor::Scalar(7), Tensor::Scalar(8)},
      attrs,
      {Tensor::Vector<int32_t>({1, 7}), Tensor::Vector<int32_t>({2, 8})});
  EXPECT_THAT(
      harness_.Run("DecodeCSV",
                   {Texts({"a,1"}), Tensor::Scalar(7), Tensor::Scalar(8)},
                   attrs),
      StatusIs(kInvalid, "Expect 2 fields but have 1 in record 0"));
  EXPECT_THAT(
      harness_.Run("DecodeCSV",
                   {Texts({"a,1,b,x"}), Tensor::Scalar(7), Tensor::Scalar(8)},
                   attrs),
      StatusIs(kInvalid, "Field 3 in record 0 is not a valid int32: x"));
}

TEST_F(ParsingKernelsTest, QuotesCanBeOrdinaryCharacters) {
  ExpectOutputs("DecodeCSV",
                {Texts({"a\"b;\"2;\""}), Texts({""}), Texts({""}), Texts({""})},
                {{"use_quote_delim", false}, {"field_delim", ";"}},
                {Texts({"a\"b"}), Texts({"\"2"}), Texts({"\""})});
}

TEST_F(ParsingKernelsTest, BadRecordsAreRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "Expect 1 fields but have 0 in record 0"},
      {"1,2", "Expect 1 fields but have 2 in record 0"},
      {"a\"b", "Unquoted fields cannot have quotes/CRLFs inside"},
      {"1\n", "Unquoted fields cannot have quotes/CRLFs inside"},
      {"\"a\"b\"", "Quote inside a string has to be escaped by another quote"},
      {"\"", "Quoted field has to end with quote followed by delim or end"},
      {"\"a\"\"", "Quoted field has to end with quote followed by delim or"},
      {"x", "Field 0 in record 0 is not a valid int32: x"},
      {"2147483648", "is not a valid int32: 2147483648"},
      {"NA", "Field 0 is required but missing in record 0!"}};
  for (const auto& [record, message] : cases) {
    EXPECT_THAT(
        harness_.Run("DecodeCSV", {Texts({record}), Tensor(DT_INT32, {0})},
                     {{"na_value", "NA"}}),
        StatusIs(kInvalid, message))
        << record;
  }
}

// Records without quotes and line ends are parsed by a separate fast path.
// Records that begin with a line end, which is skipped, use the general parser.
TEST_F(ParsingKernelsTest, PlainRecordsMatchTheGeneralParser) {
  const AttrMap formats[] = {
      {},
      {{"use_quote_delim", false}},
      {{"field_delim", "a"}},
      {{"field_delim", "\""}, {"use_quote_delim", false}},
      {{"select_cols", std::vector<int64_t>{0, 2}}}};
  for (const AttrMap& format : formats) {
    for (int number = 0; number < 4 * 4 * 4 * 4; ++number) {
      std::string record;
      for (int rest = number; rest > 0; rest /= 4) record += "a,\"\n"[rest % 4];
      const auto read = [&](const std::string& text) {
        return harness_.Run("DecodeCSV",
                            {Texts({text}), Texts({"none"}), Texts({"none"})},
                            format);
      };
      const auto plain = read(record), other = read("\n" + record);
      ASSERT_EQ(plain.status(), other.status()) << record;
      for (size_t i = 0; plain.ok() && i < plain->size(); ++i) {
        ASSERT_TRUE(SameBits((*plain)[i], (*other)[i])) << record;
      }
    }
  }
}

// Longer records, whose fields end at any offset within sixteen bytes.
TEST_F(ParsingKernelsTest, LongPlainRecordsMatchTheGeneralParser) {
  const std::string delimiters("\t \xff\0,\r", 6);
  const auto random = NewSeededRandom(7);
  int num_read = 0;
  for (int number = 0; number < 600; ++number) {
    const std::string delimiter(1, delimiters[number % delimiters.size()]);
    AttrMap format = {{"field_delim", delimiter}, {"na_value", "aa"}};
    format["use_quote_delim"] = number % 7 != 0;
    if (number % 5 == 0) format["select_cols"] = std::vector<int64_t>{0, 2, 3};
    const int strange = random->Next() % 4 == 0 ? 3 : 0;
    std::string record;
    for (uint64_t left = random->Next() % 70; left > 0; --left) {
      const size_t letter = random->Next() % 50;
      if (letter < 3) {
        record += delimiter;
      } else if (letter < size_t{20} + strange) {
        record += "\"\n\r, \taaaaaaaaaaaaaa"[22 - letter];
      } else {
        record += 'a';
      }
    }
    const Tensor none = Texts({"none"});
    const auto read = [&](const std::string& text) {
      return harness_.Run("DecodeCSV", {Texts({text}), none, none, none},
                          format);
    };
    const auto plain = read(record), other = read("\n" + record);
    ASSERT_EQ(plain.status(), other.status()) << record;
    num_read += plain.ok();
    for (size_t i = 0; plain.ok() && i < plain->size(); ++i) {
      ASSERT_TRUE(SameBits((*plain)[i], (*other)[i])) << record;
    }
  }
  EXPECT_GT(num_read, 60);
}

TEST_F(ParsingKernelsTest, ColumnsCanBePackedIntoOneTensor) {
  const Tensor lines = Tensor::FromValues<std::string>(
      {2, 2}, {"1,2,3", "4,,6", "\"7\",8,9", "10,11,12"});
  const Tensor none = Tensor::Scalar(0.5f);
  ExpectOutputs("_DecodeCSVAndPack", {lines, none, none, none},
                {{"axis", -1}, {"T", DT_FLOAT}},
                {Tensor::FromValues<float>(
                    {2, 2, 3}, {1, 2, 3, 4, 0.5f, 6, 7, 8, 9, 10, 11, 12})});
  ExpectOutputs("_DecodeCSVAndPack", {lines, none, none, none},
                {{"axis", 0}, {"T", DT_FLOAT}},
                {Tensor::FromValues<float>(
                    {3, 2, 2}, {1, 4, 7, 10, 2, 0.5f, 8, 11, 3, 6, 9, 12})});
  ExpectOutputs("_DecodeCSVAndPack", {Texts({}), kNoText, kNoText},
                {{"axis", -1}, {"T", DT_STRING}}, {Tensor(DT_STRING, {0, 2})});
  EXPECT_THAT(
      harness_.Run("_DecodeCSVAndPack", {Tensor::Scalar("1,x"), none, none},
                   {{"axis", 0}, {"T", DT_FLOAT}}),
      StatusIs(kInvalid, "Field 1 in record 0 is not a valid float: x"));
}

TEST_F(ParsingKernelsTest, QuotedAndPlainRowsMayBeMixed) {
  std::vector<std::string> records(70, "7,a");
  records[40] = "\"8\",\"b\"";
  std::vector<int32_t> numbers(70, 7);
  numbers[40] = 8;
  std::vector<std::string> texts(70, "a");
  texts[40] = "b";
  const Tensor number(DT_INT32, {0});
  ExpectOutputs(
      "DecodeCSV", {Tensor::Vector<std::string>(records), number, kNoText}, {},
      {Tensor::Vector<int32_t>(numbers), Tensor::Vector<std::string>(texts)});
  records[64] = "x,a";
  records[65] = "7";
  EXPECT_THAT(harness_.Run("DecodeCSV", {Tensor::Vector<std::string>(records),
                                         number, kNoText}),
              StatusIs(kInvalid, "Field 0 in record 64 is not a valid int32"));
}

TEST_F(ParsingKernelsTest, NumbersOfAnyLengthAreParsed) {
  ExpectOutputs(
      "DecodeCSV",
      {Texts({"0,0", "007,007", "9999999,9999999", "16777217,16777217", "-0,-0",
              " 5,1e3", "1.5,12345678901"}),
       Tensor::Scalar(1.0f), Tensor::Scalar(1.0)},
      {},
      {Tensor::Vector<float>({0, 7, 9999999, 16777216, -0.0f, 5, 1.5f}),
       Tensor::Vector<double>(
           {0, 7, 9999999, 16777217, -0.0, 1000, 12345678901})});
}

TEST_F(ParsingKernelsTest, BadFormatsAreRefused) {
  const Tensor record = Texts({"1"});
  const std::pair<AttrMap, const char*> cases[] = {
      {{{"field_delim", ""}}, "field_delim should be only 1 char"},
      {{{"field_delim", "::"}}, "field_delim should be only 1 char"},
      {{{"select_cols", std::vector<int64_t>{1, 2}}}, "match output size"},
      {{{"select_cols", std::vector<int64_t>{-1}}}, "non-negative"}};
  for (const auto& [attrs, message] : cases) {
    EXPECT_THAT(harness_.Run("DecodeCSV", {record, Tensor::Scalar(1)}, attrs),
                StatusIs(kInvalid, message));
  }
  EXPECT_THAT(
      harness_.Run("DecodeCSV", {record, Tensor::Vector<int32_t>({1, 2})}),
      StatusIs(kInvalid, "only be 1 default per field but field 0 has 2"));
  EXPECT_THAT(
      harness_.InferShapes("DecodeCSV", {{DT_STRING, {3}}, {DT_INT32, {1, 1}}}),
      StatusIs(kInvalid, "Shape must be at most rank 1 but is rank 2"));
}

// ---- Examples ----

void Add(tf::Example& example, const std::string& key,
         const std::vector<float>& values) {
  auto& feature = (*example.mutable_features()->mutable_feature())[key];
  feature.mutable_float_list()->mutable_value()->Add(values.begin(),
                                                     values.end());
}
void Add(tf::Example& example, const std::string& key,
         const std::vector<std::string>& values) {
  auto& feature = (*example.mutable_features()->mutable_feature())[key];
  for (const std::string& value : values) {
    feature.mutable_bytes_list()->add_value(value);
  }
}

// Returns an example with x, two floats, and tags, two strings.
std::string Full() {
  tf::Example example;
  Add(example, "x", std::vector<float>{1.5f, 2.5f});
  Add(example, "tags", std::vector<std::string>{"a", "b"});
  return example.SerializeAsString();
}

std::string Floats(const std::vector<float>& values) {
  tf::Example example;
  Add(example, "x", values);
  return example.SerializeAsString();
}

// Returns attrs for one dense float feature "x".
AttrMap DenseX(PartialShape shape) {
  return {{"Nsparse", 0},
          {"Ndense", 1},
          {"sparse_types", DataTypeVector()},
          {"Tdense", DataTypeVector{DT_FLOAT}},
          {"dense_shapes", std::vector<PartialShape>{std::move(shape)}}};
}

TEST_F(ParsingKernelsTest, ExamplesBecomeTensors) {
  const Tensor serialized = Texts({Full(), "", Floats({3, 4})});
  ExpectOutputs("ParseExample",
                {serialized, kNoText, Tensor::Scalar("tags"),
                 Tensor::Scalar("x"), Tensor::Vector<float>({8, 9})},
                {{"Nsparse", 1},
                 {"Ndense", 1},
                 {"sparse_types", DataTypeVector{DT_STRING}},
                 {"Tdense", DataTypeVector{DT_FLOAT}},
                 {"dense_shapes", std::vector<PartialShape>{{2}}}},
                {Tensor::FromValues<int64_t>({2, 2}, {0, 0, 0, 1}),
                 Texts({"a", "b"}), Tensor::Vector<int64_t>({3, 2}),
                 Tensor::FromValues<float>({3, 2}, {1.5f, 2.5f, 8, 9, 3, 4})});
}

TEST_F(ParsingKernelsTest, DenseFeaturesOfManySizesAreFilledUp) {
  ExpectOutputs("ParseExample",
                {Texts({Floats({1, 2, 3, 4}), "", Floats({5, 6})}), kNoText,
                 Tensor::Scalar("x"), Tensor::Scalar(-1.0f)},
                DenseX({-1, 2}),
                {Tensor::FromValues<float>(
                    {3, 2, 2}, {1, 2, 3, 4, -1, -1, -1, -1, 5, 6, -1, -1})});
  ExpectOutputs("ParseExample",
                {kNoText, kNoText, Tensor::Scalar("x"), Tensor::Scalar(-1.0f)},
                DenseX({-1, 2}), {Tensor(DT_FLOAT, {0, 0, 2})});
}

TEST_F(ParsingKernelsTest, SingleExampleNeedsNoBatch) {
  ExpectOutputs(
      "ParseSingleExample",
      {Tensor::Scalar(Full()), Tensor::Vector<float>({8, 9})},
      {{"num_sparse", 1},
       {"sparse_keys", std::vector<std::string>{"tags"}},
       {"dense_keys", std::vector<std::string>{"x"}},
       {"sparse_types", DataTypeVector{DT_STRING}},
       {"dense_shapes", std::vector<PartialShape>{{2}}}},
      {Tensor::FromValues<int64_t>({2, 1}, {0, 1}), Texts({"a", "b"}),
       Tensor::Vector<int64_t>({2}), Tensor::Vector<float>({1.5f, 2.5f})});
}

TEST_F(ParsingKernelsTest, RaggedFeatures) {
  const AttrMap attrs = {
      {"num_sparse", 0},
      {"sparse_types", DataTypeVector()},
      {"Tdense", DataTypeVector()},
      {"dense_shapes", std::vector<PartialShape>()},
      {"ragged_value_types", DataTypeVector{DT_FLOAT, DT_STRING}},
      {"ragged_split_types", DataTypeVector{DT_INT32, DT_INT64}}};
  const Tensor keys = Texts({"x", "tags"});
  ExpectOutputs(
      "ParseExampleV2",
      {Texts({"", Full(), Floats({7})}), kNoText, kNoText, kNoText, keys},
      attrs,
      {Tensor::Vector<float>({1.5f, 2.5f, 7}), Texts({"a", "b"}),
       Tensor::Vector<int32_t>({0, 0, 2, 3}),
       Tensor::Vector<int64_t>({0, 0, 2, 2})});
  ExpectOutputs("ParseExampleV2",
                {Tensor::Scalar(Full()), kNoText, kNoText, kNoText, keys},
                attrs,
                {Tensor::Vector<float>({1.5f, 2.5f}), Texts({"a", "b"}),
                 Tensor(DT_INT32, {0}), Tensor(DT_INT64, {0})});
}

TEST_F(ParsingKernelsTest, BadExamplesAreNamed) {
  const auto parse = [&](const Tensor& serialized, PartialShape shape,
                         Tensor otherwise) {
    return harness_
        .Run("ParseExample",
             {serialized, Texts({"one", "two"}), Tensor::Scalar("x"),
              std::move(otherwise)},
             DenseX(std::move(shape)))
        .status();
  };
  const Tensor required(DT_FLOAT, {0});
  EXPECT_THAT(parse(Texts({Full(), ""}), {2}, required),
              StatusIs(kInvalid,
                       "Name: two, Feature: x (data type: float) is "
                       "required but could not be found."));
  EXPECT_THAT(parse(Texts({Full(), Floats({1})}), {2}, required),
              StatusIs(kInvalid,
                       "Name: two, Key: x, Index: 1.  Number of float "
                       "values != expected.  Values size: 1 but "
                       "output shape: [2]"));
  EXPECT_THAT(parse(Texts({Full(), Floats({1})}), {-1, 2}, Tensor::Scalar(0.f)),
              StatusIs(kInvalid, "not a multiple of stride length. Saw 1"));
  EXPECT_THAT(parse(Texts({Full(), "\x0a\x7f\x01"}), {2}, required),
              StatusIs(kInvalid, "Could not parse example input"));
  tf::Example text;
  Add(text, "x", std::vector<std::string>{"no number"});
  EXPECT_THAT(parse(Texts({Full(), text.SerializeAsString()}), {2}, required),
              StatusIs(kInvalid,
                       "Data types don't match. Data type: string but "
                       "expected type: float"));
  EXPECT_THAT(parse(Texts({Full()}), {2}, required),
              StatusIs(kInvalid, "names have the same shape as serialized"));
  EXPECT_THAT(parse(Texts({"", ""}), {2}, Tensor::Vector<float>({1, 2, 3})),
              StatusIs(kInvalid, "is not compatible with dense_shapes_[0]"));
  EXPECT_THAT(parse(Texts({"", ""}), {-1}, required),
              StatusIs(kInvalid, "must contain a single element"));
}

// A feature missing in every example, with a shape that exceeds memory or 64
// bits.
TEST_F(ParsingKernelsTest, DenseFeaturesThatDoNotFitAreRefused) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const PartialShape& shape :
       {PartialShape{kLarge, kLarge}, PartialShape{-1, kLarge, kLarge}}) {
    const auto got = harness_.Run(
        "ParseExample",
        {Texts({""}), kNoText, Tensor::Scalar("x"), Tensor::Scalar(1.0f)},
        DenseX(shape));
    EXPECT_THAT(got, StatusIs(kInvalid));
  }
}

// ---- Sequences ----

void AddList(tf::SequenceExample& sequence, const std::string& key,
             const std::vector<std::vector<float>>& steps) {
  auto& list = (*sequence.mutable_feature_lists()->mutable_feature_list())[key];
  for (const std::vector<float>& step : steps) {
    list.add_feature()->mutable_float_list()->mutable_value()->Add(step.begin(),
                                                                   step.end());
  }
}

// Returns a sequence example: context n is one float; feature list x has the
// `steps`, and names has one text per step.
std::string Sequence(float n, const std::vector<std::vector<float>>& steps) {
  tf::SequenceExample sequence;
  auto& context = *sequence.mutable_context()->mutable_feature();
  context["n"].mutable_float_list()->add_value(n);
  AddList(sequence, "x", steps);
  auto& names =
      (*sequence.mutable_feature_lists()->mutable_feature_list())["names"];
  for (size_t i = 0; i < steps.size(); ++i) {
    names.add_feature()->mutable_bytes_list()->add_value(absl::StrCat(i));
  }
  return sequence.SerializeAsString();
}

// Context n is dense and sparse. The feature list x is dense (of size 2),
// sparse and ragged.
struct SequenceCase {
  std::vector<std::string> lists_dense, lists_sparse, lists_ragged;
  std::vector<std::string> context_dense, context_sparse, context_ragged;
  bool may_be_missing = false;

  std::vector<KernelInput> Inputs(Tensor serialized, Tensor names) const {
    std::vector<KernelInput> inputs = {std::move(serialized), std::move(names)};
    for (const auto* keys : {&context_sparse, &context_dense, &context_ragged,
                             &lists_sparse, &lists_dense, &lists_ragged}) {
      inputs.emplace_back(Tensor::Vector<std::string>(*keys));
    }
    Tensor missing(DT_BOOL, {static_cast<int64_t>(lists_dense.size())});
    for (bool& value : missing.mutable_flat<bool>()) value = may_be_missing;
    inputs.emplace_back(missing);
    for (size_t i = 0; i < context_dense.size(); ++i) {
      inputs.emplace_back(Tensor(DT_FLOAT, {0}));
    }
    return inputs;
  }
  AttrMap Attrs() const {
    const auto types = [](const std::vector<std::string>& keys, DataType type) {
      return DataTypeVector(keys.size(), type);
    };
    const auto shapes = [](const std::vector<std::string>& keys,
                           const PartialShape& shape) {
      return std::vector<PartialShape>(keys.size(), shape);
    };
    return {{"Ncontext_sparse", static_cast<int64_t>(context_sparse.size())},
            {"Tcontext_dense", types(context_dense, DT_FLOAT)},
            {"context_sparse_types", types(context_sparse, DT_FLOAT)},
            {"context_ragged_value_types", types(context_ragged, DT_FLOAT)},
            {"context_ragged_split_types", types(context_ragged, DT_INT32)},
            {"context_dense_shapes", shapes(context_dense, {1})},
            {"Nfeature_list_sparse", static_cast<int64_t>(lists_sparse.size())},
            {"Nfeature_list_dense", static_cast<int64_t>(lists_dense.size())},
            {"feature_list_dense_types", types(lists_dense, DT_FLOAT)},
            {"feature_list_sparse_types", types(lists_sparse, DT_FLOAT)},
            {"feature_list_ragged_value_types", types(lists_ragged, DT_FLOAT)},
            {"feature_list_ragged_split_types", types(lists_ragged, DT_INT64)},
            {"feature_list_dense_shapes", shapes(lists_dense, {2})}};
  }
};

TEST_F(ParsingKernelsTest, SequencesAreFilledUpToTheLongest) {
  SequenceCase c;
  c.context_dense = {"n"};
  c.lists_dense = {"x", "none"};
  c.may_be_missing = true;
  ExpectOutputs(
      "ParseSequenceExampleV2",
      c.Inputs(Texts({Sequence(1, {{1, 2}}), Sequence(2, {}),
                      Sequence(3, {{3, 4}, {5, 6}})}),
               kNoText),
      c.Attrs(),
      {Tensor::FromValues<float>({3, 1}, {1, 2, 3}),
       Tensor::FromValues<float>({3, 2, 2},
                                 {1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6}),
       Tensor(DT_FLOAT, {3, 0, 2}), Tensor::Vector<int64_t>({1, 0, 2}),
       Tensor::Vector<int64_t>({0, 0, 0})});
  // A single sequence has no batch dimension.
  c.lists_dense = {"x"};
  ExpectOutputs(
      "ParseSequenceExampleV2",
      c.Inputs(Tensor::Scalar(Sequence(3, {{3, 4}, {5, 6}})), kNoText),
      c.Attrs(),
      {Tensor::Vector<float>({3}),
       Tensor::FromValues<float>({2, 2}, {3, 4, 5, 6}),
       Tensor::Scalar<int64_t>(2)});
}

TEST_F(ParsingKernelsTest, SequenceStepsMayVaryInSize) {
  SequenceCase c;
  c.context_ragged = {"n"};
  c.lists_sparse = {"x"};
  c.lists_ragged = {"x"};
  const std::string two = Sequence(7, {{1}, {}, {2, 3}});
  ExpectOutputs(
      "ParseSequenceExampleV2",
      c.Inputs(Texts({two, "", Sequence(8, {{4}})}), kNoText), c.Attrs(),
      {Tensor::Vector<float>({7, 8}), Tensor::Vector<int32_t>({0, 1, 1, 2}),
       Tensor::FromValues<int64_t>({4, 3},
                                   {0, 0, 0, 0, 2, 0, 0, 2, 1, 2, 0, 0}),
       Tensor::Vector<float>({1, 2, 3, 4}), Tensor::Vector<int64_t>({3, 3, 2}),
       Tensor::Vector<float>({1, 2, 3, 4}),
       Tensor::Vector<int64_t>({0, 3, 3, 4}),
       Tensor::Vector<int64_t>({0, 1, 1, 3, 4})});
  ExpectOutputs(
      "ParseSequenceExampleV2", c.Inputs(Tensor::Scalar(two), kNoText),
      c.Attrs(),
      {Tensor::Vector<float>({7}), Tensor::Scalar<int32_t>(0),
       Tensor::FromValues<int64_t>({3, 2}, {0, 0, 2, 0, 2, 1}),
       Tensor::Vector<float>({1, 2, 3}), Tensor::Vector<int64_t>({3, 2}),
       Tensor::Vector<float>({1, 2, 3}), Tensor::Scalar<int64_t>(0),
       Tensor::Vector<int64_t>({0, 1, 1, 3})});
}

// In TensorFlow 1 graphs, keys are attrs or one input each.
TEST_F(ParsingKernelsTest, OlderOpsParseSequencesAsWell) {
  using Strings = std::vector<std::string>;
  const std::string sequence = Sequence(3, {{3, 4}, {5, 6}});
  const Tensor otherwise = Tensor::Vector<float>({9});
  const Tensor steps = Tensor::FromValues<float>({2, 2}, {3, 4, 5, 6});
  AttrMap attrs = {
      {"Ncontext_dense", 2},
      {"Tcontext_dense", DataTypeVector{DT_FLOAT, DT_FLOAT}},
      {"Nfeature_list_sparse", 1},
      {"Nfeature_list_dense", 1},
      {"context_dense_shapes", std::vector<PartialShape>(2, {1})},
      {"feature_list_dense_types", DataTypeVector{DT_FLOAT}},
      {"feature_list_sparse_types", DataTypeVector{DT_STRING}},
      {"feature_list_dense_shapes", std::vector<PartialShape>{{2}}}};
  ExpectOutputs(
      "ParseSingleSequenceExample",
      {Tensor::Scalar(sequence), kNoText, Tensor::Scalar("n"),
       Tensor::Scalar("m"), Tensor::Scalar("names"), Tensor::Scalar("x"),
       otherwise, otherwise, Tensor::Scalar("a name")},
      attrs,
      {Tensor::Vector<float>({3}), otherwise,
       Tensor::FromValues<int64_t>({2, 2}, {0, 0, 1, 0}), Texts({"0", "1"}),
       Tensor::Vector<int64_t>({2, 1}), steps});
  attrs["context_sparse_keys"] = Strings();
  attrs["context_dense_keys"] = Strings{"n", "m"};
  attrs["feature_list_sparse_keys"] = Strings{"names"};
  attrs["feature_list_dense_keys"] = Strings{"x"};
  attrs["feature_list_dense_missing_assumed_empty"] = Strings{"x"};
  ASSERT_OK_AND_ASSIGN(const Tensor batch_of_steps,
                       steps.Reshaped(TensorShape({1, 2, 2})));
  ExpectOutputs("ParseSequenceExample",
                {Texts({sequence}), kNoText, otherwise, otherwise}, attrs,
                {Tensor::FromValues<float>({1, 1}, {3}),
                 Tensor::FromValues<float>({1, 1}, {9}),
                 Tensor::FromValues<int64_t>({2, 3}, {0, 0, 0, 0, 1, 0}),
                 Texts({"0", "1"}), Tensor::Vector<int64_t>({1, 2, 1}),
                 batch_of_steps, Tensor::Vector<int64_t>({2})});
}

TEST_F(ParsingKernelsTest, BadSequencesAreNamed) {
  SequenceCase c;
  c.context_dense = {"n"};
  c.lists_dense = {"x"};
  const auto parse = [&](std::string second) {
    return harness_
        .Run("ParseSequenceExampleV2",
             c.Inputs(Texts({Sequence(1, {{1, 2}}), std::move(second)}),
                      Texts({"one", "two"})),
             c.Attrs())
        .status();
  };
  EXPECT_THAT(parse(""), StatusIs(kInvalid,
                                  "Name: two, Context feature: n (data type: "
                                  "float) is required but could not be found"));
  EXPECT_THAT(parse(Sequence(1, {{1, 2}, {3}})),
              StatusIs(kInvalid,
                       "Name: two, Key: x, Index: 1.  Number of float values "
                       "!= expected.  Values size: 1 but output shape: [2]"));
  EXPECT_THAT(parse("\x0a\x7f\x01"),
              StatusIs(kInvalid, "Name: two, Could not parse example input"));
  c.lists_dense = {"y"};
  EXPECT_THAT(parse(Sequence(1, {})),
              StatusIs(kInvalid,
                       "Name: one, Feature list 'y' is required but could not "
                       "be found.  Did you mean"));
  c.lists_dense = {"names"};
  EXPECT_THAT(parse(Sequence(1, {})),
              StatusIs(kInvalid,
                       "Name: one, Feature list: names, Index: 0.  Data types "
                       "don't match. Expected type: float"));
  c.lists_dense = {};
  tf::SequenceExample text;
  (*text.mutable_context()->mutable_feature())["n"]
      .mutable_bytes_list()
      ->add_value("no number");
  EXPECT_THAT(
      parse(text.SerializeAsString()),
      StatusIs(kInvalid, "Context feature: n.  Data types don't match"));
  EXPECT_THAT(
      harness_.Run("ParseSequenceExampleV2",
                   c.Inputs(Texts({"", ""}), Texts({"one"})), c.Attrs()),
      StatusIs(kInvalid, "correct number of elements"));
}

// Steps without elements, and a shape that does not fit into memory.
TEST_F(ParsingKernelsTest, EmptyAndOversizedStepsAreHandled) {
  SequenceCase c;
  c.lists_dense = {"x"};
  AttrMap attrs = c.Attrs();
  attrs["feature_list_dense_shapes"] = std::vector<PartialShape>{{0}};
  ExpectOutputs(
      "ParseSequenceExampleV2",
      c.Inputs(Texts({Sequence(1, {{}, {}}), Sequence(1, {})}), kNoText), attrs,
      {Tensor(DT_FLOAT, {2, 2, 0}), Tensor::Vector<int64_t>({2, 0})});
  constexpr int64_t kLarge = int64_t{1} << 40;
  attrs["feature_list_dense_shapes"] =
      std::vector<PartialShape>{{kLarge, kLarge}};
  EXPECT_THAT(
      harness_.Run("ParseSequenceExampleV2",
                   c.Inputs(Texts({Sequence(1, {{1}})}), kNoText), attrs),
      StatusIs(kInvalid));
}

TEST_F(ParsingKernelsTest, ShapesOfParsedSequences) {
  SequenceCase c;
  c.context_dense = {"n"};
  c.context_sparse = {"n"};
  c.lists_dense = {"x"};
  c.lists_ragged = {"x"};
  const auto infer = [&](PartialShape batch, AttrMap attrs) {
    std::vector<ShapeInput> inputs = {{DT_STRING, std::move(batch)},
                                      {DT_STRING, {0}}};
    for (int i = 0; i < 6; ++i) inputs.push_back({DT_STRING, {-1}});
    inputs.push_back({DT_BOOL, {1}});
    inputs.push_back({DT_FLOAT, {0}});
    return harness_.InferShapes("ParseSequenceExampleV2", std::move(inputs),
                                std::move(attrs));
  };
  ASSERT_OK_AND_ASSIGN(const auto shapes, infer({3}, c.Attrs()));
  const std::vector<PartialShape> expected = {
      {-1, 2}, {-1}, {2}, {3, 1}, {3, -1, 2}, {3}, {-1}, {4}, {-1}};
  EXPECT_EQ(shapes, expected);
  AttrMap attrs = c.Attrs();
  attrs["Nfeature_list_dense"] = 2;
  EXPECT_THAT(infer({3}, attrs),
              StatusIs(kInvalid, "must match Nfeature_list_dense (2)"));
  EXPECT_THAT(infer({3, 3}, c.Attrs()), StatusIs(kInvalid, "at most rank 1"));
}

TEST_F(ParsingKernelsTest, ShapesOfParsedExamples) {
  ASSERT_OK_AND_ASSIGN(
      const auto shapes,
      harness_.InferShapes("ParseExample",
                           {{DT_STRING, {3}},
                            {DT_STRING, {0}},
                            {DT_STRING, PartialShape::Scalar()},
                            {DT_FLOAT, {2}}},
                           DenseX({2})));
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0], (PartialShape{3, 2}));
  EXPECT_THAT(harness_.InferShapes("ParseExample",
                                   {{DT_STRING, {3}},
                                    {DT_STRING, {0}},
                                    {DT_STRING, PartialShape::Scalar()},
                                    {DT_FLOAT, {2}}},
                                   DenseX({2, -1})),
              StatusIs(kInvalid, "unknown inner dimensions: [2,?]"));
}

}  // namespace
}  // namespace weft
