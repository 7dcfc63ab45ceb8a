// Checks that TopKV2 with sorted=false returns the same columns in the same
// order as TensorFlow's CPU kernel. The expected results are in
// testdata/tensorflow_top_k.txt (tools/tensorflow_top_k.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/fnv1a.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr char kFile[] = "libs/kernels/nn/testdata/tensorflow_top_k.txt";
constexpr size_t kMaxListed = 32;

struct Case {
  std::string type;
  std::string index_type;
  int64_t rows = 0;
  int64_t columns = 0;
  int32_t k = 0;
  uint64_t range = 0;
  uint64_t seed = 0;
  bool specials = false;
};

template <typename T>
T Value(const Case& c, uint64_t number) {
  constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(),
                                  -0.0, 0.0};
  if (c.specials && number < 5) {
    return static_cast<T>(static_cast<float>(kSpecials[number]));
  }
  if (c.type.starts_with("uint")) return static_cast<T>(number);
  const auto shift = static_cast<int64_t>(c.range / 2);
  return static_cast<T>(
      static_cast<Wide<T>>(static_cast<int64_t>(number) - shift));
}

Tensor InputOf(const Case& c) {
  Tensor input(*DataTypeFromName(c.type), {c.rows, c.columns});
  EXPECT_OK(
      DispatchType(RealNumbers{}, input.dtype(), [&]<typename T>(TypeTag<T>) {
        uint64_t x = c.seed;
        for (T& value : input.mutable_flat<T>()) {
          x = x * 6364136223846793005u + 1442695040888963407u;
          value = Value<T>(c, (x >> 33) % c.range);
        }
        return absl::OkStatus();
      }));
  return input;
}

std::vector<int64_t> AsNumbers(const Tensor& indices) {
  std::vector<int64_t> result;
  EXPECT_OK(DispatchType(SmallIndexTypes{}, indices.dtype(),
                         [&]<typename I>(TypeTag<I>) {
                           const auto all = indices.flat<I>();
                           result.assign(all.begin(), all.end());
                           return absl::OkStatus();
                         }));
  return result;
}

std::string Notation(const std::vector<int64_t>& indices) {
  if (indices.size() <= kMaxListed) return absl::StrJoin(indices, " ");
  uint64_t hash = kFnv1aOffset;
  for (const int64_t index : indices) {
    hash = ExtendFnv1aWithNumber(hash, static_cast<uint64_t>(index));
  }
  return absl::StrCat("#", absl::Hex(hash, absl::kZeroPad16));
}

Case ParseCase(const std::string& text) {
  Case c;
  std::istringstream in(text);
  in >> c.type >> c.index_type >> c.rows >> c.columns >> c.k >> c.range >>
      c.seed >> c.specials;
  EXPECT_TRUE(in) << kFile << ": " << text;
  return c;
}

// Each value must equal the value of its column, to the bit.
void ExpectValuesOfColumns(const Case& c, const Tensor& input,
                           const Tensor& values,
                           const std::vector<int64_t>& columns) {
  const size_t size = DataTypeSize(input.dtype());
  const auto* from = static_cast<const char*>(input.data());
  const auto* to = static_cast<const char*>(values.data());
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t row = i / c.k;
    const char* value = from + (row * c.columns + columns[i]) * size;
    EXPECT_EQ(std::string(value, size), std::string(to + i * size, size)) << i;
  }
}

TEST(TopKOrderTest, UnsortedColumnsAreThoseOfTensorFlow) {
  KernelTestHarness harness(RegisterNnKernels);
  std::ifstream file(kFile);
  int num_cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ": ");
    ASSERT_EQ(parts.size(), 2u) << line;
    const Case c = ParseCase(parts[0]);
    const Tensor input = InputOf(c);
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> top,
        harness.Run("TopKV2", {input, Tensor::Scalar(c.k)},
                    {{"sorted", false},
                     {"index_type", *DataTypeFromName(c.index_type)}}));
    const std::vector<int64_t> columns = AsNumbers(top[1]);
    EXPECT_EQ(Notation(columns), parts[1]) << parts[0];
    ExpectValuesOfColumns(c, input, top[0], columns);
    ++num_cases;
  }
  EXPECT_GT(num_cases, 500);
}

// NaNs make comparisons inconsistent, which must not cause accesses outside the
// row.
TEST(TopKOrderTest, RowsOfManyNaNsAreReturnedWhole) {
  KernelTestHarness harness(RegisterNnKernels);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Case c{.type = "float",
                 .rows = 1,
                 .columns = 300,
                 .k = 300,
                 .range = 5 + seed % 60,
                 .seed = seed,
                 .specials = true};
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> top,
        harness.Run("TopKV2", {InputOf(c), Tensor::Scalar(c.k)},
                    {{"sorted", false}}));
    std::vector<int64_t> columns = AsNumbers(top[1]);
    std::sort(columns.begin(), columns.end());
    for (int64_t i = 0; i < c.k; ++i) ASSERT_EQ(columns[i], i) << seed;
  }
}

}  // namespace
}  // namespace weft
