#include "libs/kernels/string/string_kernels.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/base/text_numbers.h"
#include "libs/kernels/string/string_hash.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

Tensor Texts(std::initializer_list<std::string> values) {
  return Tensor::Vector<std::string>(values);
}

class StringKernelsTest : public testing::Test {
 protected:
  StringKernelsTest() : harness_(RegisterStringKernels) {}

  void ExpectOne(const char* op, std::vector<KernelInput> inputs, AttrMap attrs,
                 const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(
        Tensor got, harness_.RunOne(op, std::move(inputs), std::move(attrs)));
    EXPECT_TRUE(SameBits(got, expected)) << op << " " << got.ToString();
  }

  void ExpectOutputs(const char* op, std::vector<KernelInput> inputs,
                     AttrMap attrs, const std::vector<Tensor>& expected) {
    weft::ExpectOutputs(harness_, op, std::move(inputs), std::move(attrs),
                        expected);
  }

  KernelTestHarness harness_;
};

// Covers all length classes of FarmHash. The buckets are those of TensorFlow
// 2.21.
TEST(StringHashTest, MatchesTensorFlow) {
  EXPECT_EQ(LegacyHash("TensorFlow") % 1000, 232u);
  EXPECT_EQ(LegacyHash("") % 1000, 899u);
  EXPECT_EQ(KeyedHash(11, 22, "hello") % 1000, 880u);
  EXPECT_EQ(KeyedHash(11, 22, "") % 1000, 633u);
  const std::pair<size_t, uint64_t> expected[] = {
      {0, 377723u},   {3, 326383u},  {4, 977795u},  {7, 458787u},
      {8, 805585u},   {16, 768402u}, {17, 334990u}, {32, 198450u},
      {33, 831244u},  {64, 619464u}, {65, 452736u}, {128, 86621u},
      {129, 529171u}, {300, 170264u}};
  std::string text;
  for (int i = 0; i < 300; ++i) text.push_back(static_cast<char>(i * 7 + 3));
  for (const auto& [size, bucket] : expected) {
    EXPECT_EQ(Fingerprint(text.substr(0, size)) % 1000003, bucket) << size;
  }
}

TEST_F(StringKernelsTest, NumbersAsText) {
  ExpectOne("AsString", {Tensor::Vector<float>({1.5f, std::nanf("")})},
            {{"precision", 2}}, Texts({"1.50", "nan"}));
  ExpectOne("AsString", {Tensor::Scalar(int64_t{7})},
            {{"width", 4}, {"fill", "0"}}, Tensor::Scalar("0007"));
  ExpectOne("AsString", {Tensor::Scalar(std::complex<float>(1, -2))},
            {{"shortest", true}}, Tensor::Scalar("(1,-2)"));
  ExpectOne("AsString", {Tensor::Scalar(true)}, {}, Tensor::Scalar("true"));
  ExpectOne("AsString", {Tensor::Scalar(uint8_t{200})}, {},
            Tensor::Scalar("200"));
  const Tensor one = Tensor::Scalar(1);
  for (const AttrMap& attrs :
       std::vector<AttrMap>{{{"precision", 2}},
                            {{"scientific", true}},
                            {{"fill", "%s"}},
                            {{"fill", "%"}},
                            {{"width", int64_t{1} << 40}}}) {
    EXPECT_THAT(harness_.Run("AsString", {one}, attrs), StatusIs(kInvalid));
  }
}

TEST_F(StringKernelsTest, TextAsNumbers) {
  ExpectOne("StringToNumber", {Texts({"1.5", "-2e3", " 7 "})}, {},
            Tensor::Vector<float>({1.5f, -2000, 7}));
  ExpectOne("StringToNumber",
            {Texts({"0x10", " -0X1.8p3 ", "0x1000001", "0x1p999", "0x0"})}, {},
            Tensor::Vector<float>({16, -12, 16777216,
                                   std::numeric_limits<float>::infinity(), 0}));
  for (const char* text : {"", ".", "0x", "0x-1", "0xnan", "0x1g", "0x1 2"}) {
    EXPECT_THAT(harness_.Run("StringToNumber", {Texts({text})}),
                StatusIs(kInvalid))
        << text;
  }
  EXPECT_THAT(
      harness_.Run("StringToNumber", {Texts({"1", "1.5"})},
                   {{"out_type", DT_INT32}}),
      StatusIs(kInvalid,
               "StringToNumberOp could not correctly convert string: 1.5"));
  EXPECT_THAT(harness_.Run("StringToNumber", {Texts({"99999999999"})},
                           {{"out_type", DT_INT32}}),
              StatusIs(kInvalid));
}

// The C library rounds correctly.
TEST_F(StringKernelsTest, ParsedNumbersAreRoundedToNearest) {
  std::vector<std::string> texts = {"16777217",
                                    "16777219",
                                    "9007199254740993",
                                    "0.1",
                                    "-0",
                                    "+.5",
                                    "5.",
                                    "00000000000000.1",
                                    "1234567890.1234567",
                                    "33554433.",
                                    "0.00000000000001"};
  const auto random = NewSeededRandom(7);
  while (texts.size() < 20000) {
    std::string text = random->Next() % 2 == 0 ? "-" : "";
    for (uint64_t left = 1 + random->Next() % 10; left > 0; --left) {
      text += static_cast<char>('0' + random->Next() % 10);
    }
    text += '.';
    for (uint64_t left = random->Next() % 11; left > 0; --left) {
      text += static_cast<char>('0' + random->Next() % 10);
    }
    texts.push_back(text);
  }
  // Halfway between two floats, and slightly off.
  for (int64_t odd = 16777217; odd < 16777317; odd += 2) {
    texts.push_back(absl::StrCat(odd, ".0"));
    texts.push_back(absl::StrCat(odd, ".000000001"));
    texts.push_back(absl::StrCat(odd - 1, ".999999999"));
  }
  std::vector<float> floats;
  std::vector<double> doubles;
  for (const std::string& text : texts) {
    floats.push_back(std::strtof(text.c_str(), nullptr));
    doubles.push_back(std::strtod(text.c_str(), nullptr));
  }
  const Tensor in = Tensor::Vector<std::string>(texts);
  ExpectOne("StringToNumber", {in}, {}, Tensor::Vector<float>(floats));
  ExpectOne("StringToNumber", {in}, {{"out_type", DT_DOUBLE}},
            Tensor::Vector<double>(doubles));
}

// Numbers of each length, with each character at each position.
TEST_F(StringKernelsTest, NumbersWithInvalidCharactersAreRejected) {
  const std::string digits = "12345678901234567890";
  for (size_t size = 1; size < digits.size(); ++size) {
    for (size_t place = 0; place < size; ++place) {
      std::string text = digits.substr(0, size);
      if (size > 4) text[size / 2] = '.';
      for (int c = 0; c < 256; ++c) {
        text[place] = static_cast<char>(c);
        const bool is_other =
            absl::string_view("0123456789.+-eEdDxX \t\n\v\f\r")
                .find(text[place]) == std::string::npos;
        float value = 0;
        if (!is_other) continue;
        EXPECT_FALSE(ParseNumber(text, value)) << text;
      }
    }
  }
  for (const char* text :
       {"1234.56.7", "12.345.67890123", ".......1", "123456-8", "--1234567",
        "+-1234567.1", "12345678-", "........"}) {
    float value = 0;
    EXPECT_FALSE(ParseNumber(text, value)) << text;
  }
}

TEST_F(StringKernelsTest, BytesAsNumbers) {
  using std::string_literals::operator""s;
  ExpectOne("DecodeRaw", {Texts({"\1\0\2\0"s, "\0\1\0\0"s})},
            {{"out_type", DT_INT16}},
            Tensor::FromValues<int16_t>({2, 2}, {1, 2, 256, 0}));
  ExpectOne("DecodeRaw", {Texts({"\0\1"s})},
            {{"out_type", DT_INT16}, {"little_endian", false}},
            Tensor::FromValues<int16_t>({1, 1}, {1}));
  ExpectOne("DecodeRaw", {Texts({"\2\0\xff"s})}, {{"out_type", DT_BOOL}},
            Tensor::FromValues({1, 3}, {true, false, true}));
  ExpectOne("DecodeRaw", {Tensor(DT_STRING, {0})}, {{"out_type", DT_INT32}},
            Tensor(DT_INT32, {0, 0}));
  ExpectOne("DecodeRaw", {Texts({"", ""})}, {{"out_type", DT_INT32}},
            Tensor(DT_INT32, {2, 0}));
  EXPECT_THAT(harness_.Run("DecodeRaw", {Tensor::Scalar("abc")},
                           {{"out_type", DT_INT32}}),
              StatusIs(kInvalid,
                       "Input to DecodeRaw has length 3 that is not a multiple "
                       "of 4, the size of int32"));
  EXPECT_THAT(
      harness_.Run("DecodeRaw", {Texts({"a", "bc"})}, {{"out_type", DT_UINT8}}),
      StatusIs(kInvalid, "same size"));
}

TEST_F(StringKernelsTest, Base64RoundTrips) {
  const Tensor bytes = Texts({"hello", "\xff\xfe", ""});
  ExpectOne("EncodeBase64", {bytes}, {}, Texts({"aGVsbG8", "__4", ""}));
  ExpectOne("EncodeBase64", {bytes}, {{"pad", true}},
            Texts({"aGVsbG8=", "__4=", ""}));
  ExpectOne("DecodeBase64", {Texts({"aGVsbG8", "__4=", ""})}, {}, bytes);
  for (const char* text : {"a+b", "YW I", "YQ=", "YQ\n", "Y", "====", "Y==="}) {
    EXPECT_THAT(harness_.Run("DecodeBase64", {Texts({text})}),
                StatusIs(kInvalid, "ase64"))
        << text;
  }
}

TEST_F(StringKernelsTest, Joins) {
  ExpectOne("StringJoin", {Texts({"a", "b"}), Tensor::Scalar("c")},
            {{"separator", "-"}}, Texts({"a-c", "b-c"}));
  EXPECT_THAT(harness_.Run("StringJoin", {Texts({"a", "b"}), Texts({"c"})}),
              StatusIs(kInvalid, "Input shapes do not match: [2] vs. [1]"));
  const auto matrix =
      Tensor::FromValues<std::string>({2, 2}, {"a", "b", "c", "d"});
  ExpectOne("ReduceJoin", {matrix, Tensor::Vector({0, 1})},
            {{"separator", "."}}, Tensor::Scalar("a.c.b.d"));
  ExpectOne("ReduceJoin", {matrix, Tensor::Vector({1, 0})}, {},
            Tensor::Scalar("abcd"));
  ExpectOne("ReduceJoin", {matrix, Tensor::Scalar(-1)}, {{"keep_dims", true}},
            Tensor::FromValues<std::string>({2, 1}, {"ab", "cd"}));
  ExpectOne("ReduceJoin", {matrix, Tensor::Vector<int>({})}, {}, matrix);
  EXPECT_THAT(harness_.Run("ReduceJoin", {matrix, Tensor::Vector({0, -2})}),
              StatusIs(kInvalid, "Duplicate"));
  EXPECT_THAT(
      harness_.Run("ReduceJoin", {matrix, Tensor::Scalar(2)}),
      StatusIs(absl::StatusCode::kOutOfRange, "Invalid reduction dimension 2"));
}

TEST_F(StringKernelsTest, PartsOfText) {
  ExpectOne("StringLength", {Texts({"", "abc", "\xc3\xa9"})}, {},
            Tensor::Vector({0, 3, 2}));
  ExpectOne("StringLength", {Texts({"\xc3\xa9x"})}, {{"unit", "UTF8_CHAR"}},
            Tensor::Vector({2}));
  const Tensor texts = Texts({"hello", "world"});
  ExpectOne("Substr", {texts, Tensor::Scalar(1), Tensor::Scalar(3)}, {},
            Texts({"ell", "orl"}));
  ExpectOne("Substr",
            {Tensor::Scalar("hello"), Tensor::Vector({-2, 5}),
             Tensor::Vector({9, 1})},
            {}, Texts({"lo", ""}));
  ExpectOne(
      "Substr",
      {Tensor::Scalar("a\xc3\xa9z"), Tensor::Scalar(1), Tensor::Scalar(2)},
      {{"unit", "UTF8_CHAR"}}, Tensor::Scalar("\xc3\xa9z"));
  EXPECT_THAT(
      harness_.Run("Substr", {Tensor::Scalar("hi"), Tensor::Scalar(5),
                              Tensor::Scalar(1)}),
      StatusIs(kInvalid, "pos 5 out of range for string b'hi' at index 0"));
  // Broadcasting has TensorFlow's limits.
  const Tensor deep = Tensor::FromValues({1, 1, 1}, {1});
  EXPECT_THAT(harness_.Run("Substr", {texts, deep, deep}),
              StatusIs(absl::StatusCode::kUnimplemented, "3 dimensions"));
}

TEST_F(StringKernelsTest, CaseAndBlanks) {
  ExpectOne("StringLower", {Texts({"AbC"})}, {}, Texts({"abc"}));
  ExpectOne("StringUpper", {Texts({"AbC"})}, {}, Texts({"ABC"}));
  ExpectOne("StringStrip", {Texts({" a b ", "\tc\n"})}, {},
            Texts({"a b", "c"}));
  EXPECT_THAT(
      harness_.Run("StringLower", {Texts({"a"})}, {{"encoding", "latin-1"}}),
      StatusIs(kInvalid, "latin-1"));
}

TEST_F(StringKernelsTest, CaseOfAllLetters) {
  const AttrMap utf8 = {{"encoding", "utf-8"}};
  ExpectOne("StringLower",
            {Texts({"\u00C4\u1E9E", "\u0391\u03A3 \u03A3\u0391\u03A3.",
                    "\u0130", "A\xffZ", "\xed\xa0\x80", "\U00010400"})},
            utf8,
            Texts({"\u00E4\u00DF", "\u03B1\u03C2 \u03C3\u03B1\u03C2.",
                   "i\u0307", "a\uFFFDz", "\uFFFD\uFFFD\uFFFD", "\U00010428"}));
  ExpectOne(
      "StringUpper",
      {Texts({"\u00E4\u00DF", "\uFB03", "\u1FA7", "\u1F50", "\u10D0"})}, utf8,
      Texts({"\u00C4SS", "FFI", "\u1F6F\u0399", "\u03A5\u0313", "\u1C90"}));
  ExpectOne("StringUpper", {Texts({"\u00E4b"})}, {}, Texts({"\u00E4B"}));
}

struct SplitCase {
  const char* op;
  std::vector<std::string> texts;
  const char* separator;
  AttrMap attrs;
  std::vector<std::string> parts;
  int64_t longest;
};

TEST_F(StringKernelsTest, Splits) {
  const std::vector<SplitCase> cases = {
      {"StringSplit", {"a b", " c d", ""}, " ", {}, {"a", "b", "c", "d"}, 2},
      {"StringSplit", {"a,b;c"}, ",;", {}, {"a", "b", "c"}, 3},
      {"StringSplit",
       {"a,,b", ""},
       ",",
       {{"skip_empty", false}},
       {"a", "", "b"},
       3},
      {"StringSplit",
       {"", ",", "a,"},
       ",",
       {{"skip_empty", false}},
       {"", "", "a", ""},
       2},
      {"StringSplit", {"", ","}, ",", {}, {}, 0},
      {"StringSplit", {"ab"}, "", {}, {"a", "b"}, 2},
      {"StringSplitV2", {" a b", "c"}, "", {}, {"a", "b", "c"}, 2},
      {"StringSplitV2", {"a<>b<>c"}, "<>", {{"maxsplit", 1}}, {"a", "b<>c"}, 2},
      {"StringSplitV2", {"<>"}, "<>", {}, {"", ""}, 2},
      {"StringSplitV2", {" a b", ""}, "", {{"maxsplit", 0}}, {" a b", ""}, 1},
      {"StringSplitV2", {" a  b c "}, "", {{"maxsplit", 1}}, {"a", "b c "}, 2},
  };
  for (const SplitCase& one : cases) {
    ASSERT_OK_AND_ASSIGN(auto outputs,
                         harness_.Run(one.op,
                                      {Tensor::Vector<std::string>(one.texts),
                                       Tensor::Scalar(one.separator)},
                                      one.attrs));
    EXPECT_TRUE(SameBits(outputs[1], Tensor::Vector<std::string>(one.parts)))
        << outputs[1].ToString();
    EXPECT_TRUE(SameBits(
        outputs[2],
        Tensor::Vector({static_cast<int64_t>(one.texts.size()), one.longest})));
  }
}

// ---- Regular expressions ----

TEST_F(StringKernelsTest, RegexesReplace) {
  const Tensor text = Texts({"ab12 cd34", ""});
  ExpectOutputs(
      "RegexReplace",
      {text, Tensor::Scalar("([a-z]+)([0-9]+)"), Tensor::Scalar("\\2\\1\\\\")},
      {}, {Texts({"12ab\\ 34cd\\", ""})});
  const AttrMap first = {
      {"pattern", "[0-9]|^$"}, {"rewrite", "-"}, {"replace_global", false}};
  ExpectOutputs("StaticRegexReplace", {text}, first,
                {Texts({"ab-2 cd34", "-"})});
  // An invalid group reference leaves the text unchanged.
  ExpectOutputs("StaticRegexReplace", {text},
                {{"pattern", "[0-9]"}, {"rewrite", "\\1"}}, {text});
}

TEST_F(StringKernelsTest, RegexesMatchWholeStrings) {
  const Tensor text = Texts({"a1", "a", "xa1"});
  const Tensor matches = Tensor::Vector<bool>({true, false, false});
  ExpectOutputs("RegexFullMatch", {text, Tensor::Scalar("a[0-9]")}, {},
                {matches});
  ExpectOutputs("StaticRegexFullMatch", {text}, {{"pattern", "a[0-9]"}},
                {matches});
}

TEST_F(StringKernelsTest, BadPatternsAreRefused) {
  const Tensor text = Texts({"a"});
  EXPECT_THAT(harness_.Run("RegexFullMatch", {text, Tensor::Scalar("(")}),
              StatusIs(kInvalid, "Invalid pattern: (, error: missing ): ("));
  EXPECT_THAT(harness_.Run("StaticRegexReplace", {text},
                           {{"pattern", "*"}, {"rewrite", ""}}),
              StatusIs(kInvalid, "no argument for repetition operator"));
  EXPECT_THAT(
      harness_.Run("RegexReplace", {text, Texts({"a"}), Tensor::Scalar("b")}),
      StatusIs(kInvalid, "Pattern must be scalar, but received [1]"));
  EXPECT_THAT(
      harness_.Run("RegexReplace", {text, Tensor::Scalar("a"), Texts({"b"})}),
      StatusIs(kInvalid, "Rewrite must be scalar, but received [1]"));
}

// A kernel caches the pattern of the previous step.
TEST_F(StringKernelsTest, PatternMayChangeBetweenSteps) {
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       harness_.Make("RegexFullMatch", {DT_STRING, DT_STRING}));
  for (const char* pattern : {"a", "b", "b", "a"}) {
    ASSERT_OK_AND_ASSIGN(const auto got,
                         kernel->Run({Texts({"a"}), Tensor::Scalar(pattern)}));
    EXPECT_EQ(got[0].flat<bool>()[0], *pattern == 'a');
  }
}

TEST_F(StringKernelsTest, SegmentsAreJoined) {
  const Tensor rows =
      Tensor::FromValues<std::string>({3, 2}, {"a", "b", "", "d", "e", "f"});
  ExpectOne(
      "UnsortedSegmentJoin",
      {rows, Tensor::Vector({1, 0, 1}), Tensor::Scalar(3)},
      {{"separator", "-"}},
      Tensor::FromValues<std::string>({3, 2}, {"", "d", "a-e", "b-f", "", ""}));
  const auto run = [&](const Tensor& ids, int64_t count) {
    return harness_.Run("UnsortedSegmentJoin",
                        {rows, ids, Tensor::Scalar(count)});
  };
  EXPECT_THAT(run(Tensor::Vector({1, 0, 3}), 3), StatusIs(kInvalid));
  EXPECT_THAT(run(Tensor::Vector({1, 0, -1}), 3), StatusIs(kInvalid));
  EXPECT_THAT(run(Tensor::Vector({1, 0}), 3), StatusIs(kInvalid));
  EXPECT_THAT(run(Tensor::Scalar(1), 3), StatusIs(kInvalid, "rank 0"));
  EXPECT_THAT(run(Tensor::Vector({0, 0, 0}), -1), StatusIs(kInvalid));
  EXPECT_THAT(run(Tensor::Vector({0, 0, 0}), int64_t{1} << 62),
              StatusIs(kInvalid));
  EXPECT_THAT(run(Tensor::Vector({0, 0, 0}), int64_t{1} << 50),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

AttrMap NGramsOf(std::vector<int64_t> widths, int64_t pad_width) {
  return {{"separator", "|"},       {"ngram_widths", std::move(widths)},
          {"left_pad", "L"},        {"right_pad", "R"},
          {"pad_width", pad_width}, {"preserve_short_sequences", false}};
}

TEST_F(StringKernelsTest, NeighboursAreJoined) {
  const Tensor texts = Texts({"a", "b", "c"});
  const auto splits = [](std::initializer_list<int64_t> values) {
    return Tensor::Vector<int64_t>(values);
  };
  ExpectOutputs("StringNGrams", {texts, splits({0, 1, 3})},
                NGramsOf({2, 1}, -1),
                {Texts({"L|a", "a|R", "a", "L|b", "b|c", "c|R", "b", "c"}),
                 splits({0, 3, 8})});
  AttrMap attrs = NGramsOf({4}, 0);
  attrs["preserve_short_sequences"] = true;
  ExpectOutputs("StringNGrams", {texts, splits({0, 0, 3})}, attrs,
                {Texts({"a|b|c"}), splits({0, 0, 1})});
  for (const Tensor& bad :
       {splits({1, 3}), splits({0, 4}), splits({0, 2, 1, 3}), splits({0, 2}),
        splits({0, -1, 3})}) {
    EXPECT_THAT(harness_.Run("StringNGrams", {texts, bad}, NGramsOf({1}, 0)),
                StatusIs(kInvalid, "plit value"));
  }
  EXPECT_THAT(harness_.Run("StringNGrams", {texts, splits({0, 3})},
                           NGramsOf({int64_t{1} << 40}, -1)),
              StatusIs(kInvalid, "ngram_widths"));
}

// The ngrams take no memory, but the time of 2^40 parts.
TEST_F(StringKernelsTest, NGramsOfEmptyStringsAreCancelled) {
  AttrMap attrs = NGramsOf({int64_t{1} << 20}, -1);
  for (const char* text : {"separator", "left_pad", "right_pad"}) {
    attrs[text] = "";
  }
  harness_.cancellation().Cancel(absl::CancelledError("over"));
  EXPECT_THAT(
      harness_.Run("StringNGrams",
                   {Texts({"", ""}), Tensor::Vector<int64_t>({0, 2})}, attrs),
      StatusIs(absl::StatusCode::kCancelled, "over"));
}

TEST_F(StringKernelsTest, StringsArePaddedWithAllTheirBytes) {
  using std::string_literals::operator""s;
  ExpectOne("AsString", {Texts({"a\0b"s})}, {{"width", 5}}, Texts({"  a\0b"s}));
  ExpectOne("AsString", {Texts({"a\0b"s})}, {{"width", 4}, {"fill", "-"}},
            Texts({"a\0b "s}));
  ExpectOne("AsString", {Texts({"abc"})}, {{"width", 4}, {"precision", 2}},
            Texts({"  ab"}));
  ExpectOne("AsString", {Texts({"abc"})}, {{"precision", 2}}, Texts({"abc"}));
  ExpectOne("AsString", {Tensor::Vector<bool>({true})}, {{"width", 9}},
            Texts({"true"}));
}

}  // namespace
}  // namespace weft
