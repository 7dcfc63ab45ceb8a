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
  // What follows the last one may be anything.
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
}

TEST_F(ParsingKernelsTest, QuotesCanBeCharactersLikeOthers) {
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

// Records without quotes and line ends are taken apart by other code than
// those that begin with a line end, which is skipped.
TEST_F(ParsingKernelsTest, PlainRecordsAreReadAsOthersAre) {
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

// Longer ones too, whose fields end anywhere in a word of eight characters.
TEST_F(ParsingKernelsTest, PlainRecordsOfAnyLengthAreReadAsOthersAre) {
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
    for (uint64_t left = random->Next() % 30; left > 0; --left) {
      const size_t letter = random->Next() % (20 + strange);
      if (letter < 3) {
        record += delimiter;
      } else {
        record += "\"\n\r, \taaaaaaaaaaaaaa"[22 - letter];
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

TEST_F(ParsingKernelsTest, ColumnsMayLieInOneTensor) {
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

TEST_F(ParsingKernelsTest, RowsThatAreNotPlainAreAmongOthers) {
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

TEST_F(ParsingKernelsTest, NumbersOfFewDigitsAndOfMany) {
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

// x: two floats, tags: two strings.
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

// One dense feature "x" of floats.
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

TEST_F(ParsingKernelsTest, OneExampleNeedsNoBatch) {
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

// A feature that every example lacks, with a shape that does not fit in memory
// or in 64 bits.
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
