#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/image/image_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::Pointwise;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class ResizeKernelsTest : public testing::Test {
 protected:
  ResizeKernelsTest() : harness_(RegisterImageKernels) {}

  static Tensor Floats(const TensorShape& shape, std::vector<float> values) {
    return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
  }
  static Tensor Size(std::vector<int32_t> sizes) {
    return Tensor::FromValues<int32_t>({static_cast<int64_t>(sizes.size())},
                                       absl::Span<const int32_t>(sizes));
  }
  absl::StatusOr<Tensor> Run(const char* op, const Tensor& images,
                             const Tensor& other, const AttrMap& attrs = {}) {
    return harness_.RunOne(op, {images, other}, attrs);
  }
  std::vector<float> ValuesOf(const char* op, const Tensor& images,
                              const Tensor& size, const AttrMap& attrs = {}) {
    const auto got = Run(op, images, size, attrs);
    EXPECT_OK(got.status());
    if (!got.ok()) return {};
    const auto values = got->flat<float>();
    return {values.begin(), values.end()};
  }

  KernelTestHarness harness_;
};

constexpr const char* kResizes[] = {"ResizeArea", "ResizeBicubic",
                                    "ResizeBilinear", "ResizeNearestNeighbor"};

TEST_F(ResizeKernelsTest, InterpolatesBetweenTwoPixels) {
  const Tensor row = Floats({1, 1, 2, 1}, {0, 4});
  const Tensor size = Size({1, 4});
  EXPECT_THAT(ValuesOf("ResizeBilinear", row, size), ElementsAre(0, 2, 4, 4));
  EXPECT_THAT(
      ValuesOf("ResizeBilinear", row, size, {{"half_pixel_centers", true}}),
      ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(
      ValuesOf("ResizeBilinear", row, Size({1, 5}), {{"align_corners", true}}),
      ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ValuesOf("ResizeNearestNeighbor", row, size),
              ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(ValuesOf("ResizeArea", row, size), ElementsAre(0, 0, 4, 4));
}

TEST_F(ResizeKernelsTest, AreasAreMeans) {
  EXPECT_THAT(
      ValuesOf("ResizeArea", Floats({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
               Size({1, 2})),
      ElementsAre(3.5, 5.5));
}

// This must hold for all rounded weights, and for any number of output rows per
// source row.
TEST_F(ResizeKernelsTest, ConstantImageStaysConstant) {
  Tensor images(DT_FLOAT, {3, 5, 7, 18});
  for (float& value : images.mutable_flat<float>()) value = 0.7f;
  for (const char* op : kResizes) {
    for (const std::vector<int32_t>& size :
         {std::vector<int32_t>{13, 3}, {2, 19}, {5, 7}, {1, 1}}) {
      for (const float value : ValuesOf(op, images, Size(size))) {
        ASSERT_NEAR(value, 0.7f, op[6] == 'A' ? 1e-6 : 2e-7) << op;
      }
    }
  }
}

// Each image, row and channel has the same result as alone.
TEST_F(ResizeKernelsTest, ImagesAndChannelsAreIndependent) {
  constexpr int64_t kImages = 3, kRows = 6, kColumns = 5, kChannels = 19;
  Tensor all(DT_FLOAT, {kImages, kRows, kColumns, kChannels});
  for (int64_t i = 0; i < all.num_elements(); ++i) {
    all.mutable_flat<float>()[i] = static_cast<float>(i * i % 101);
  }
  const auto one = [&](const Tensor& from, int64_t n, int64_t channel) {
    Tensor result(DT_FLOAT, {1, from.dim(1), from.dim(2), 1});
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      result.mutable_flat<float>()[i] =
          from.flat<float>()[(n * result.num_elements() + i) * kChannels +
                             channel];
    }
    return result;
  };
  for (const char* op :
       {"ResizeArea", "ResizeBicubic", "ResizeBilinear",
        "ResizeNearestNeighbor", "ResizeNearestNeighborGrad"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor got, Run(op, all, Size({9, 4})));
    for (int64_t n = 0; n < kImages; ++n) {
      for (const int64_t channel : {int64_t{0}, int64_t{16}, kChannels - 1}) {
        ASSERT_OK_AND_ASSIGN(const Tensor wanted,
                             Run(op, one(all, n, channel), Size({9, 4})));
        EXPECT_TRUE(SameBits(one(got, n, channel), wanted)) << op;
      }
    }
  }
}

TEST_F(ResizeKernelsTest, SameSizeKeepsInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(ValuesOf("ResizeBilinear", Floats({1, 1, 3, 1}, {1, inf, 2}),
                       Size({1, 3})),
              ElementsAre(1, inf, 2));
}

TEST_F(ResizeKernelsTest, IntegersBecomeFloats) {
  const Tensor images = Tensor::FromValues<uint8_t>({1, 1, 2, 1}, {0, 255});
  EXPECT_THAT(ValuesOf("ResizeBilinear", images, Size({1, 4})),
              ElementsAre(0, 127.5, 255, 255));
  ASSERT_OK_AND_ASSIGN(const Tensor nearest,
                       Run("ResizeNearestNeighbor", images, Size({2, 1})));
  EXPECT_TRUE(
      SameBits(nearest, Tensor::FromValues<uint8_t>({1, 2, 1, 1}, {0, 0})));
}

// The sum of the result equals the sum of the incoming gradient.
TEST_F(ResizeKernelsTest, GradientsFlowToTheirSourcePixels) {
  const Tensor gradient = Floats({1, 1, 4, 1}, {1, 2, 3, 4});
  const Tensor image = Floats({1, 1, 2, 1}, {0, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor linear,
                       Run("ResizeBilinearGrad", gradient, image));
  EXPECT_THAT(linear.flat<float>(), ElementsAre(2, 8));
  ASSERT_OK_AND_ASSIGN(const Tensor nearest, Run("ResizeNearestNeighborGrad",
                                                 gradient, Size({1, 2})));
  EXPECT_THAT(nearest.flat<float>(), ElementsAre(3, 7));
  ASSERT_OK_AND_ASSIGN(const Tensor cubic,
                       Run("ResizeBicubicGrad", gradient,
                           Tensor::FromValues<double>({1, 1, 2, 1}, {0, 0})));
  EXPECT_NEAR(cubic.flat<double>()[0] + cubic.flat<double>()[1], 10, 1e-6);
}

TEST_F(ResizeKernelsTest, GradientsOfIntegersWrapRound) {
  const int32_t most = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(
      const Tensor got,
      Run("ResizeNearestNeighborGrad",
          Tensor::FromValues<int32_t>({1, 1, 2, 1}, {most, 3}), Size({1, 1})));
  EXPECT_THAT(got.flat<int32_t>(), ElementsAre(-2147483646));
}

TEST_F(ResizeKernelsTest, EmptyGradientGivesZeros) {
  ASSERT_OK_AND_ASSIGN(const Tensor got,
                       Run("ResizeNearestNeighborGrad",
                           Tensor(DT_FLOAT, {2, 0, 3, 4}), Size({2, 3})));
  EXPECT_EQ(got.shape(), TensorShape({2, 2, 3, 4}));
  EXPECT_THAT(got.flat<float>(), Each(0));
}

// The size of an image does not matter if the batch is empty.
TEST_F(ResizeKernelsTest, NoImagesTakeNoTime) {
  const Tensor none(DT_FLOAT, {0, 2, 2, 1});
  for (const char* op : kResizes) {
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         Run(op, none, Size({2147483647, 2})));
    EXPECT_EQ(got.shape(), TensorShape({0, 2147483647, 2, 1})) << op;
  }
  const Tensor long_one(DT_FLOAT, {0, int64_t{1} << 33, 2, 1});
  EXPECT_OK(Run("ResizeBilinearGrad", long_one, none).status());
  EXPECT_OK(Run("ResizeNearestNeighborGrad", long_one, Size({2, 2})).status());
}

// A single pixel has no separate corners to align.
TEST_F(ResizeKernelsTest, OnePixelFillsTheOutput) {
  for (const char* op : kResizes) {
    EXPECT_THAT(ValuesOf(op, Floats({1, 1, 2, 1}, {3, -2}), Size({3, 2}),
                         {{"align_corners", true}}),
                Pointwise(FloatEq(), {3, -2, 3, -2, 3, -2}))
        << op;
  }
}

// A 16-bit sum could not add hundreds of them one by one.
TEST_F(ResizeKernelsTest, SixteenBitGradientsAreRoundedOnce) {
  Tensor gradient(DT_FLOAT, {1, 1, 1000, 1});
  for (float& value : gradient.mutable_flat<float>()) value = 1;
  ASSERT_OK_AND_ASSIGN(
      const Tensor got,
      Run("ResizeBilinearGrad", gradient, Tensor(DT_BFLOAT16, {1, 1, 1, 1})));
  EXPECT_EQ(static_cast<float>(got.flat<bfloat16>()[0]), 1000);
}

TEST_F(ResizeKernelsTest, NearestNeighborLimitsHeightAndWidth) {
  const Tensor image(DT_INT8, {1, 16777216, 1, 1});
  EXPECT_THAT(Run("ResizeNearestNeighbor", image, Size({1, 1})).status(),
              StatusIs(kInvalid,
                       "nearest neighbor requires max height & width of 2^24"));
}

TEST_F(ResizeKernelsTest, InvalidSizesAreRejected) {
  const Tensor image(DT_FLOAT, {1, 2, 2, 1});
  for (const char* op : kResizes) {
    EXPECT_THAT(Run(op, Tensor(DT_FLOAT, {2, 2}), Size({2, 2})).status(),
                StatusIs(kInvalid, "input must be 4-dimensional[2,2]"));
    EXPECT_THAT(Run(op, image, Size({2})).status(),
                StatusIs(kInvalid, "shape_t must have two elements[1]"));
    EXPECT_THAT(Run(op, image, Tensor(DT_INT32, {1, 2})).status(),
                StatusIs(kInvalid, "shape_t must be 1-dimensional[1,2]"));
    for (const std::vector<int32_t>& size :
         {std::vector<int32_t>{0, 2}, {2, -1}}) {
      EXPECT_THAT(Run(op, image, Size(size)).status(),
                  StatusIs(kInvalid, "output dimensions must be positive"));
    }
    EXPECT_THAT(Run(op, Tensor(DT_FLOAT, {1, 0, 2, 1}), Size({2, 2})).status(),
                StatusIs(kInvalid, "input image must be of non-zero size"));
    EXPECT_THAT(Run(op, Tensor(DT_FLOAT, {1, 2, 2, 0}), Size({2, 2})).status(),
                StatusIs(kInvalid, "image must have at least one channel"));
    // The first size exceeds all memory, the second one an int64.
    EXPECT_FALSE(Run(op, image, Size({2147483647, 2147483647})).ok());
    EXPECT_FALSE(
        Run(op, Tensor(DT_FLOAT, {9, 1, 1, 9}), Size({2147483647, 2147483647}))
            .ok());
    ASSERT_OK_AND_ASSIGN(const Tensor none,
                         Run(op, Tensor(DT_FLOAT, {0, 2, 2, 1}), Size({3, 4})));
    EXPECT_EQ(none.shape(), TensorShape({0, 3, 4, 1}));
  }
}

// The weights take up to 32 times the memory of a narrow image.
TEST_F(ResizeKernelsTest, WeightMemoryIsBounded) {
  constexpr size_t kRoom = size_t{5} << 20;
  for (const char* op : kResizes) {
    SmallAllocator allocator(kRoom, kRoom);
    harness_.set_allocator(allocator);
    EXPECT_THAT(
        Run(op, Tensor(DT_FLOAT, {1, 2, 1, 1}), Size({1000000, 1})),
        StatusIs(absl::StatusCode::kResourceExhausted, "strings or containers"))
        << op;
    harness_.set_allocator(HeapAllocator());
  }
}

TEST_F(ResizeKernelsTest, GradientsOfOtherShapesAreRefused) {
  const Tensor image(DT_FLOAT, {1, 2, 2, 1});
  const Tensor empty(DT_FLOAT, {1, 0, 2, 1}), matrix(DT_FLOAT, {2, 2});
  for (const char* op : {"ResizeBilinearGrad", "ResizeBicubicGrad"}) {
    EXPECT_THAT(Run(op, matrix, image).status(),
                StatusIs(kInvalid, "input_grad must be 4-dimensional[2,2]"));
    EXPECT_THAT(
        Run(op, image, matrix).status(),
        StatusIs(kInvalid, "original_image must be 4-dimensional[2,2]"));
    EXPECT_THAT(Run(op, empty, image).status(),
                StatusIs(kInvalid, "resized dimensions must be positive"));
    EXPECT_THAT(Run(op, image, empty).status(),
                StatusIs(kInvalid, "original dimensions must be positive"));
  }
  EXPECT_THAT(Run("ResizeNearestNeighborGrad", image, Size({2, 0})).status(),
              StatusIs(kInvalid, "shape_t's elements must be positive"));
}

TEST_F(ResizeKernelsTest, ConflictingPixelCentersAreRejected) {
  const Tensor image(DT_FLOAT, {1, 2, 2, 1});
  const AttrMap both = {{"align_corners", true}, {"half_pixel_centers", true}};
  for (const char* op :
       {"ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"}) {
    EXPECT_THAT(Run(op, image, Size({2, 2}), both).status(),
                StatusIs(kInvalid,
                         "If half_pixel_centers is True, align_corners must be "
                         "False."));
  }
}

}  // namespace
}  // namespace weft
