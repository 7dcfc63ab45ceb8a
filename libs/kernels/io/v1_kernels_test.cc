// Tests Save, SaveSlices, Restore, RestoreSlice and ShardedFilespec, and
// RestoreV2 of files in TensorFlow's V1 format.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Text(const std::string& text) {
  return Tensor::Scalar<std::string>(text);
}
Tensor Texts(const std::vector<std::string>& texts) {
  return Tensor::Vector<std::string>(texts);
}

class V1KernelsTest : public testing::Test {
 protected:
  V1KernelsTest() : harness_(RegisterIoKernels) {
    harness_.set_file_system(files_);
  }
  // Saves "v" and rows 0 and 1 of "m" in one file, and rows 2 and 3 in another.
  void SaveShards() {
    ASSERT_OK(harness_.Run("SaveSlices",
                           {Text("/m-00000-of-00002"), Texts({"v", "m"}),
                            Texts({"", "4 2 0,2:-"}), v_, top_}));
    ASSERT_OK(
        harness_.Run("SaveSlices", {Text("/m-00001-of-00002"), Texts({"m"}),
                                    Texts({"4 2 2,2:-"}), bottom_}));
  }

  const std::string pattern_ = "/m-\?\?\?\?\?-of-00002";
  const Tensor v_ = Tensor::Vector<int32_t>({1, 2, 3});
  const Tensor top_ = Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4});
  const Tensor bottom_ = Tensor::FromValues<float>({2, 2}, {5, 6, 7, 8});
  MemoryFileSystem files_;
  KernelTestHarness harness_;
};

TEST_F(V1KernelsTest, SavedTensorsAreRestored) {
  ASSERT_OK(harness_.Run("Save", {Text("/m"), Texts({"v", "top"}), v_, top_}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor v,
      harness_.RunOne("Restore", {Text("/m"), Text("v")}, {{"dt", DT_INT32}}));
  EXPECT_TRUE(SameBits(v, v_));
  ASSERT_OK_AND_ASSIGN(
      const Tensor row,
      harness_.RunOne("RestoreSlice",
                      {Text("/m"), Text("top"), Text("2 2 1,1:-")},
                      {{"dt", DT_FLOAT}}));
  EXPECT_TRUE(SameBits(row, Tensor::FromValues<float>({1, 2}, {3, 4})));
}

TEST_F(V1KernelsTest, ShardsAreRestoredByTheirPattern) {
  ASSERT_NO_FATAL_FAILURE(SaveShards());
  ASSERT_OK_AND_ASSIGN(
      const Tensor pattern,
      harness_.RunOne("ShardedFilespec",
                      {Text("/m"), Tensor::Scalar<int32_t>(2)}));
  EXPECT_EQ(pattern.scalar<std::string>(), pattern_);
  ASSERT_OK_AND_ASSIGN(
      const Tensor rows,
      harness_.RunOne("RestoreSlice", {pattern, Text("m"), Text("4 2 1,2:-")},
                      {{"dt", DT_FLOAT}, {"preferred_shard", 1}}));
  EXPECT_TRUE(SameBits(rows, Tensor::FromValues<float>({2, 2}, {3, 4, 5, 6})));
  ASSERT_OK_AND_ASSIGN(
      const Tensor whole,
      harness_.RunOne("RestoreSlice", {pattern, Text("m"), Text("")},
                      {{"dt", DT_FLOAT}}));
  EXPECT_EQ(whole.shape(), TensorShape({4, 2}));
}

TEST_F(V1KernelsTest, RestoreV2ReadsV1Files) {
  ASSERT_NO_FATAL_FAILURE(SaveShards());
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> all,
      harness_.Run(
          "RestoreV2",
          {Text(pattern_), Texts({"v", "m"}), Texts({"", "4 2 2,2:-"})},
          {{"dtypes", DataTypeVector{DT_INT32, DT_FLOAT}}}));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(SameBits(all[0], v_));
  EXPECT_TRUE(SameBits(all[1], bottom_));
}

TEST_F(V1KernelsTest, RestoreErrorsNameTheirCause) {
  ASSERT_NO_FATAL_FAILURE(SaveShards());
  const auto restore = [&](const Tensor& file, const Tensor& name,
                           const std::string& slice, DataType dtype) {
    return harness_
        .RunOne("RestoreSlice", {file, name, Text(slice)}, {{"dt", dtype}})
        .status();
  };
  EXPECT_THAT(restore(Text("/none"), Text("v"), "", DT_INT32),
              StatusIs(absl::StatusCode::kNotFound,
                       "Failed to find any matching files for /none"));
  EXPECT_THAT(restore(Text(pattern_), Text("w"), "", DT_INT32),
              StatusIs(absl::StatusCode::kNotFound,
                       "Tensor name \"w\" not found in checkpoint files"));
  EXPECT_THAT(restore(Text(pattern_), Text("v"), "", DT_FLOAT),
              StatusIs(kInvalid, "does not equal original dtype int32"));
  EXPECT_THAT(restore(Text(pattern_), Text("m"), "5 2 0,1:-", DT_FLOAT),
              StatusIs(kInvalid, "does not match the shape stored"));
  EXPECT_THAT(restore(Text(pattern_), Text("m"), "y", DT_FLOAT),
              StatusIs(kInvalid, "Need least two elements"));
}

TEST_F(V1KernelsTest, SaveErrorsNameTheirCause) {
  EXPECT_THAT(
      harness_.Run("SaveSlices", {Text("/m"), Texts({"v"}), Texts({"y"}), v_}),
      StatusIs(kInvalid, "Need least two elements"));
  EXPECT_THAT(harness_.Run("SaveSlices",
                           {Text("/m"), Texts({"v"}), Texts({"4 0,2"}), v_}),
              StatusIs(kInvalid, "its slice has shape [2], its values [3]"));
  EXPECT_THAT(files_.FileExists("/m"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(V1KernelsTest, Shapes) {
  const auto slice = [&](const std::string& text) {
    return harness_.InferShapes("RestoreSlice",
                                {Text("/m"), Text("m"), Text(text)},
                                {{"dt", DT_FLOAT}});
  };
  ASSERT_OK_AND_ASSIGN(const auto part, slice("4 2 1,2:-"));
  EXPECT_EQ(part[0], PartialShape({2, 2}));
  ASSERT_OK_AND_ASSIGN(const auto whole, slice(""));
  EXPECT_FALSE(whole[0].has_rank());
  EXPECT_THAT(slice("y"), StatusIs(kInvalid, "Need least two elements"));
  EXPECT_THAT(harness_.InferShapes("Save", {Text("/m"), Texts({"v", "w"}), v_}),
              StatusIs(kInvalid, "Got 2 tensor names but 1 tensors."));
}

}  // namespace
}  // namespace weft
