// Strings beside the allocator: every kernel that makes strings out of others
// fails where the memory bound has no room for them, before it makes them.
#include "libs/kernels/string_charge.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
// For charges; what is free, and the elements of outputs, come on top.
constexpr size_t kRoom = kMiB / 2;

Tensor Text(size_t size) { return Tensor::Scalar(std::string(size, 'a')); }
Tensor Texts(int count, size_t size) {
  return Tensor::Vector<std::string>(
      std::vector<std::string>(count, std::string(size, 'a')));
}
Tensor Square(size_t size) { return *Texts(4, size).Reshaped({2, 2}); }
Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector<int32_t>(values);
}
Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector<int64_t>(values);
}
Tensor Int(int32_t value) { return Tensor::Scalar(value); }

// A run of an op that takes at least 2 MiB for strings or their parts.
struct Case {
  std::string op;
  std::vector<KernelInput> inputs;
  AttrMap attrs = {};
};

std::vector<Case> JoiningCases() {
  const Tensor text = Text(kMiB), texts = Texts(4, kMiB);
  return {
      {"StringJoin", {text, text, text, text}},
      {"ReduceJoin", {texts, Int(0)}},
      {"UnsortedSegmentJoin", {texts, Ints({0, 0, 0, 0}), Int(1)}},
      {"Add", {text, Texts(4, 0)}},
      {"StringNGrams",
       {texts, Longs({0, 4})},
       {{"separator", " "},
        {"ngram_widths", std::vector<int64_t>{2}},
        {"left_pad", ""},
        {"right_pad", ""},
        {"pad_width", 0},
        {"preserve_short_sequences", false}}},
      {"ConcatV2", {texts, texts, Int(0)}, {{"N", 2}}},
      {"Pack", {texts, texts}, {{"N", 2}}},
  };
}

std::vector<Case> RepeatingCases() {
  const Tensor text = Text(kMiB);
  const Tensor one = Texts(1, kMiB);
  const Tensor paddings =
      Tensor::FromValues<int32_t>(TensorShape({1, 2}), {0, 4});
  return {
      {"Fill", {Ints({4}), text}},
      {"Tile", {one, Ints({4})}},
      {"BroadcastTo", {one, Ints({4})}},
      {"PadV2", {one, paddings, text}},
      {"MirrorPad", {Texts(4, kMiB), paddings}, {{"mode", "SYMMETRIC"}}},
      {"GatherV2", {one, Ints({0, 0, 0, 0}), Int(0)}},
      {"GatherNd",
       {one, Tensor::FromValues<int32_t>(TensorShape({4, 1}), {0, 0, 0, 0})}},
      {"OneHot", {Ints({0}), Int(4), text, text}},
      {"SelectV2",
       {Tensor::Vector<bool>({true, true, true, true}), text, Text(0)}},
      {"SparseToDense", {Ints({0}), Ints({5}), Text(0), text}},
      {"Substr", {text, Ints({0, 0, 0, 0}), Ints({-1, -1, -1, -1})}},
  };
}

std::vector<Case> ChangingCases() {
  const Tensor text = Text(4 * kMiB);
  return {
      {"EncodeBase64", {text}},
      {"StringUpper", {text}},
      {"StringStrip", {text}},
      {"AsString", {text}},
      {"AsString", {Texts(1000, 1)}, {{"width", 5000}}},
      {"RegexReplace", {Text(kMiB / 16), Text(1), Text(20)}},
      {"StaticRegexReplace",
       {Text(10 * 1024)},
       {{"pattern", "a"}, {"rewrite", std::string(1024, 'b')}}},
      {"StringSplitV2", {Texts(1, kMiB / 16), Text(1)}},
      {"StringSplit", {Texts(1, kMiB / 16), Text(0)}},
      {"ReverseV2", {Texts(4, kMiB), Ints({0})}},
      {"Transpose", {Square(kMiB), Ints({1, 0})}},
      {"Slice", {Texts(9, kMiB), Ints({1}), Ints({4})}},
      {"Unique", {Texts(1, 4 * kMiB)}},
  };
}

class StringChargeTest : public ::testing::Test {
 protected:
  // With memory for elements, but not for the strings.
  void ExpectRefused(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      SmallAllocator allocator(kRoom, kRoom);
      harness_.set_allocator(allocator);
      EXPECT_THAT(harness_.Run(test.op, test.inputs, test.attrs),
                  StatusIs(absl::StatusCode::kResourceExhausted,
                           "strings or containers"))
          << test.op;
      harness_.set_allocator(HeapAllocator());
      EXPECT_OK(harness_.Run(test.op, test.inputs, test.attrs)) << test.op;
    }
  }

  KernelTestHarness harness_{RegisterStandardKernels};
};

TEST_F(StringChargeTest, JoinedStringsAreBounded) {
  ExpectRefused(JoiningCases());
}

TEST_F(StringChargeTest, RepeatedStringsAreBounded) {
  ExpectRefused(RepeatingCases());
}

TEST_F(StringChargeTest, ChangedStringsAreBounded) {
  ExpectRefused(ChangingCases());
}

}  // namespace
}  // namespace weft
