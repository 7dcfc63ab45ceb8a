#include <cmath>
#include <string>

#include "libs/base/test_matchers.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/tensor_summary.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using AppendFn = void (*)(const Tensor&, int64_t, ChargedText&);

std::string TextOf(AppendFn append, const Tensor& tensor, int64_t limit) {
  HeapCharge charge(HeapAllocator());
  ChargedText text(charge);
  append(tensor, limit, text);
  return std::move(text).Take().value();
}
std::string SummarizeValues(const Tensor& tensor, int64_t max_values) {
  return TextOf(AppendValues, tensor, max_values);
}
std::string SummarizeEnds(const Tensor& tensor, int64_t at_ends) {
  return TextOf(AppendEnds, tensor, at_ends);
}

TEST(SummarizeValuesTest, MatchesTensorFlow) {
  const auto matrix = Tensor::FromValues({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(SummarizeValues(matrix, -1), "[1 2][3 4]");
  EXPECT_EQ(SummarizeValues(matrix, 3), "[1 2][3...]...");
  EXPECT_EQ(SummarizeValues(Tensor::Vector<float>({4, -9.5f}), 3), "4 -9.5");
  EXPECT_EQ(SummarizeValues(Tensor::Vector({1, 2, 3}), 2), "1 2...");
  EXPECT_EQ(SummarizeValues(Tensor::Scalar(true), 3), "1");
  EXPECT_EQ(SummarizeValues(Tensor::Scalar("a\nb"), 3), "a\\nb");
  EXPECT_EQ(SummarizeValues(Tensor(DT_FLOAT, {0, 2}), 3), "");
  EXPECT_EQ(SummarizeValues(Tensor(DT_FLOAT, {2, 0}), 3), "[][]");
  // The number of empty rows does not matter.
  EXPECT_LT(SummarizeValues(Tensor(DT_FLOAT, {int64_t{1} << 40, 0}), 3).size(),
            2000u);
}

TEST(SummarizeValuesTest, NumbersHaveRoundTripDigits) {
  EXPECT_EQ(
      SummarizeValues(
          Tensor::Vector<float>({0.1f, 1e20f, 123456792, 1e6f, -0.0f}), 9),
      "0.1 1e+20 123456792 1e+06 -0");
  EXPECT_EQ(
      SummarizeValues(Tensor::Vector<float>({1 / 3.0f, NAN, -INFINITY}), 9),
      "0.333333343 nan -inf");
  EXPECT_EQ(SummarizeValues(Tensor::Vector<double>({0.1, 1 / 3.0}), 9),
            "0.1 0.33333333333333331");
  EXPECT_EQ(SummarizeValues(Tensor::Vector<half>({half(0.1f)}), 9),
            "0.0999755859");
}

TEST(SummarizeValuesTest, LongStringsAreEscapedLikeShortOnes) {
  std::string text, escaped;
  for (int i = 0; i < 3000; ++i) {
    text +=
        "\n\x01"
        "7\xc3\xa9";
    escaped += "\\n\\0017\xc3\xa9";
  }
  EXPECT_EQ(SummarizeValues(Tensor::Scalar(text), 3), escaped);
  EXPECT_EQ(SummarizeEnds(Tensor::Scalar(text), 3), "\"" + escaped + "\"");
}

TEST(SummarizeValuesTest, ComplexValuesArePrintedAsQuestionMarks) {
  EXPECT_EQ(SummarizeValues(Tensor(DT_COMPLEX64, {2, 2}), 3), "? ? ?...");
  EXPECT_EQ(SummarizeEnds(Tensor(DT_COMPLEX64, {2}), 3), "[? ?]");
}

TEST(SummarizeEndsTest, ShowsTheEndsOfEachDimension) {
  const auto matrix =
      Tensor::FromValues({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0});
  EXPECT_EQ(SummarizeEnds(matrix, 1), "[[1 ... 5]\n [6 ... 0]]");
  EXPECT_EQ(SummarizeEnds(matrix, -1), "[[1 2 3 4 5]\n [6 7 8 9 0]]");
  EXPECT_EQ(SummarizeEnds(Tensor::Vector({1, 2, 3, 4}), 2), "[1 2 3 4]");
  EXPECT_EQ(SummarizeEnds(Tensor::Scalar("a\"b"), 2), "\"a\\\"b\"");
  EXPECT_EQ(SummarizeEnds(Tensor(DT_FLOAT, {int64_t{1} << 40, 0}), 3),
            "[\n ...]");
}

TEST(LoggingKernelsTest, StringFormatFillsItsPlaceholders) {
  KernelTestHarness harness(RegisterLoggingKernels);
  ASSERT_OK_AND_ASSIGN(
      auto outputs,
      harness.Run("StringFormat",
                  {Tensor::Scalar(1), Tensor::Vector<std::string>({"x"})},
                  {{"template", "a{}b{}"}, {"placeholder", "{}"}}));
  EXPECT_EQ(outputs[0].scalar<std::string>(), "a1b[\"x\"]");
  EXPECT_THAT(
      harness.Run("StringFormat", {Tensor::Scalar(1)}, {{"template", "none"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, "0 vs. 1"));
}

TEST(LoggingKernelsTest, AssertFailsWithItsData) {
  KernelTestHarness harness(RegisterLoggingKernels);
  const Tensor text = Tensor::Scalar("not positive:");
  const Tensor x = Tensor::Vector<float>({4, -9});
  EXPECT_OK(harness.Run("Assert", {Tensor::Scalar(true), text, x}));
  EXPECT_THAT(harness.Run("Assert", {Tensor::Scalar(false), text, x}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "assertion failed: [not positive:] [4 -9]"));
  EXPECT_THAT(harness.Run("Assert", {Tensor(DT_BOOL, {2}), text}),
              StatusIs(absl::StatusCode::kInvalidArgument, "scalar"));
}

TEST(LoggingKernelsTest, PrintLogsAndForwardsItsInput) {
  KernelTestHarness harness(RegisterLoggingKernels);
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       harness.Make("Print", {DT_INT32, DT_FLOAT},
                                    {{"message", "seen"}, {"first_n", 1}}));
  const Tensor x = Tensor::Scalar(7);
  const Tensor data = Tensor::Vector<float>({1, 2});
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(auto outputs, kernel->Run({x, data}));
    EXPECT_EQ(outputs[0].scalar<int32_t>(), 7);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "seen[1 2]\n");
}

}  // namespace
}  // namespace weft
