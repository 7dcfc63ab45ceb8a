// Checks that channels-first results equal channels-last results to the bit,
// for every op with a data_format.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using List = std::vector<int64_t>;

Dims DimsOf(const Tensor& tensor) {
  return Dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
}

// Returns numbers in which no two neighbors are equal.
Tensor Numbers(const TensorShape& shape, int seed = 1) {
  Tensor tensor(DT_FLOAT, shape);
  int64_t i = seed;
  for (float& value : tensor.mutable_flat<float>()) {
    value = static_cast<float>((i++ * 37) % 101) / 16 - 3;
  }
  return tensor;
}

// Moves the channels from the last to the second dimension.
Tensor ChannelsFirst(const Tensor& image) {
  Dims dims = DimsOf(image);
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  Tensor result(DT_FLOAT, TensorShape(absl::MakeSpan(dims)));
  if (image.num_elements() == 0) return result;
  const int64_t channels = dims[1];
  const int64_t pixels = image.num_elements() / dims[0] / channels;
  for (int64_t at = 0; at < image.num_elements(); ++at) {
    const int64_t n = at / channels / pixels;
    const int64_t pixel = at / channels % pixels;
    const int64_t c = at % channels;
    result.mutable_flat<float>()[(n * channels + c) * pixels + pixel] =
        image.flat<float>()[at];
  }
  return result;
}

// Reorders an attr with one or two numbers per dimension.
List ChannelsFirst(List list) {
  const auto per_dim = static_cast<int64_t>(list.size()) / 4;
  std::rotate(list.begin() + per_dim, list.end() - per_dim, list.end());
  return list;
}

AttrMap ChannelsFirst(AttrMap attrs) {
  for (auto& [name, value] : attrs) {
    if (const List* list = value.Get<List>()) value = ChannelsFirst(*list);
  }
  attrs["data_format"] = "NCHW";
  return attrs;
}

Tensor SizesOf(const Tensor& image) {
  Tensor sizes(DT_INT32, {image.rank()});
  for (int i = 0; i < image.rank(); ++i) {
    sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(image.dim(i));
  }
  return sizes;
}

class NnLayoutTest : public testing::Test {
 protected:
  NnLayoutTest() : harness_(RegisterNnKernels) {}

  // Runs the op in both layouts and returns the channels-last outputs. `images`
  // are the inputs and outputs to convert.
  std::vector<Tensor> ExpectSame(const std::string& op,
                                 const std::vector<Tensor>& inputs,
                                 const AttrMap& attrs,
                                 const std::vector<int>& images,
                                 const std::vector<int>& output_images) {
    std::vector<KernelInput> last, first;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_image =
          std::count(images.begin(), images.end(), static_cast<int>(i)) > 0;
      last.emplace_back(inputs[i]);
      first.emplace_back(is_image ? ChannelsFirst(inputs[i]) : inputs[i]);
    }
    return ExpectSame(op, std::move(last), std::move(first), attrs,
                      output_images);
  }

  std::vector<Tensor> ExpectSame(const std::string& op,
                                 std::vector<KernelInput> last,
                                 std::vector<KernelInput> first,
                                 const AttrMap& attrs,
                                 const std::vector<int>& output_images) {
    const auto expected = harness_.Run(op, std::move(last), attrs);
    const auto got = harness_.Run(op, std::move(first), ChannelsFirst(attrs));
    EXPECT_OK(expected.status());
    EXPECT_OK(got.status());
    if (!expected.ok() || !got.ok()) return {};
    for (size_t i = 0; i < expected->size(); ++i) {
      const bool is_image =
          std::count(output_images.begin(), output_images.end(), i) > 0;
      const Tensor& value = (*expected)[i];
      EXPECT_TRUE(SameBits((*got)[i], is_image ? ChannelsFirst(value) : value))
          << op << " output " << i << ": " << (*got)[i].ToString();
    }
    return *expected;
  }

  // Tests the op `name` and its two gradients.
  void ExpectConvolution(const std::string& name, const Tensor& image,
                         const Tensor& filter, const AttrMap& attrs) {
    const auto outputs = ExpectSame(name, {image, filter}, attrs, {0}, {0});
    ASSERT_EQ(outputs.size(), 1u);
    const Tensor gradient = Numbers(outputs[0].shape(), 5);
    ExpectSame(name + "BackpropFilter", {image, SizesOf(filter), gradient},
               attrs, {0, 2}, {});
    ExpectSame(name + "BackpropInput", {SizesOf(image), filter, gradient},
               {SizesOf(ChannelsFirst(image)), filter, ChannelsFirst(gradient)},
               attrs, {0});
  }

  void ExpectPools(const Tensor& image, const AttrMap& attrs) {
    const auto outputs = ExpectSame("MaxPool", {image}, attrs, {0}, {0});
    ASSERT_EQ(outputs.size(), 1u);
    const Tensor gradient = Numbers(outputs[0].shape(), 5);
    ExpectSame("MaxPoolGrad", {image, outputs[0], gradient}, attrs, {0, 1, 2},
               {0});
    ExpectSame("AvgPool", {image}, attrs, {0}, {0});
    ExpectSame("AvgPoolGrad", {SizesOf(image), gradient},
               {SizesOf(ChannelsFirst(image)), ChannelsFirst(gradient)}, attrs,
               {0});
    ExpectSame("MaxPoolGradGrad", {image, outputs[0], Numbers(image.shape())},
               attrs, {0, 1, 2}, {0});
  }

  KernelTestHarness harness_;
};

AttrMap Windows(List strides, List dilations, List padding = {}) {
  AttrMap attrs = {{"strides", std::move(strides)},
                   {"dilations", std::move(dilations)},
                   {"padding", padding.empty() ? "SAME" : "EXPLICIT"}};
  if (!padding.empty()) attrs["explicit_paddings"] = std::move(padding);
  return attrs;
}

// Covers batches, an empty batch, and channels that fill no block.
std::vector<Tensor> Images() {
  return {Numbers({2, 5, 7, 3}), Numbers({1, 9, 4, 3}), Numbers({0, 5, 7, 3}),
          Numbers({3, 1, 6, 3})};
}

TEST_F(NnLayoutTest, Convolutions) {
  const std::vector<AttrMap> all = {
      Windows({1, 1, 1, 1}, {1, 1, 1, 1}), Windows({1, 2, 3, 1}, {1, 1, 1, 1}),
      Windows({1, 1, 1, 1}, {1, 2, 3, 1}),
      Windows({1, 2, 1, 1}, {1, 1, 2, 1}, {0, 0, 1, 2, 3, 0, 0, 0})};
  for (const Tensor& image : Images()) {
    for (const AttrMap& attrs : all) {
      ExpectConvolution("Conv2D", image, Numbers({2, 3, 3, 5}), attrs);
      ExpectConvolution("DepthwiseConv2dNative", image, Numbers({2, 3, 3, 2}),
                        attrs);
    }
  }
}

TEST_F(NnLayoutTest, ConvolutionsInGroupsAndOfManyChannels) {
  ExpectConvolution("Conv2D", Numbers({2, 5, 4, 6}), Numbers({3, 3, 2, 9}),
                    Windows({1, 1, 1, 1}, {1, 1, 1, 1}));
  // More than one block in each direction, and more work than one thread's
  // share.
  ExpectConvolution("Conv2D", Numbers({3, 33, 40, 70}), Numbers({1, 1, 70, 2}),
                    Windows({1, 1, 1, 1}, {1, 1, 1, 1}));
}

TEST_F(NnLayoutTest, Pools) {
  for (const Tensor& image : Images()) {
    for (const char* padding : {"SAME", "VALID"}) {
      for (const List& ksize : {List{1, 1, 2, 1}, List{1, 1, 3, 1}}) {
        ExpectPools(image, {{"ksize", ksize},
                            {"strides", List{1, 2, 1, 1}},
                            {"padding", padding}});
      }
    }
  }
  const AttrMap padded = {{"ksize", List{1, 3, 2, 1}},
                          {"strides", List{1, 2, 1, 1}},
                          {"padding", "EXPLICIT"},
                          {"explicit_paddings", List{0, 0, 2, 1, 0, 1, 0, 0}}};
  ExpectSame("MaxPool", {Numbers({2, 5, 7, 3})}, padded, {0}, {0});
}

TEST_F(NnLayoutTest, MaxPoolsOfEverySizeOfElement) {
  const AttrMap attrs = {{"ksize", List{1, 1, 1, 2}},
                         {"strides", List{1, 1, 1, 2}},
                         {"padding", "VALID"},
                         {"data_format", "NCHW"}};
  const TensorShape in = {1, 2, 1, 2}, out = {1, 2, 1, 1};
  const auto expect = [&](const Tensor& image, const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne("MaxPool", {image}, attrs));
    EXPECT_TRUE(SameBits(got, expected)) << got.ToString();
  };
  expect(Tensor::FromValues<int8_t>(in, {1, 2, 4, 3}),
         Tensor::FromValues<int8_t>(out, {2, 4}));
  expect(Tensor::FromValues<int16_t>(in, {1, 2, 4, 3}),
         Tensor::FromValues<int16_t>(out, {2, 4}));
  expect(Tensor::FromValues<int64_t>(in, {1, 2, 4, 3}),
         Tensor::FromValues<int64_t>(out, {2, 4}));
}

TEST_F(NnLayoutTest, BatchNormalisation) {
  const Tensor scale = Numbers({3}, 2), offset = Numbers({3}, 3);
  Tensor variance = Numbers({3}, 4);
  for (float& value : variance.mutable_flat<float>()) value = value * value + 1;
  for (const Tensor& image : Images()) {
    for (const char* version : {"", "V2", "V3"}) {
      for (const bool is_training : {true, false}) {
        const AttrMap attrs = {{"is_training", is_training},
                               {"epsilon", 0.01f}};
        ExpectSame(std::string("FusedBatchNorm") + version,
                   {image, scale, offset, offset, variance}, attrs, {0}, {0});
        std::vector<Tensor> inputs = {Numbers(image.shape(), 7), image, scale,
                                      offset, variance};
        if (std::string(version) == "V3") inputs.push_back(offset);
        ExpectSame(std::string("FusedBatchNormGrad") + version, inputs, attrs,
                   {0, 1}, {0});
      }
    }
  }
}

TEST_F(NnLayoutTest, VolumesAreNormalised) {
  const Tensor volume = Numbers({2, 3, 2, 5, 3});
  const Tensor ones = Tensor::Vector<float>({1, 1, 1});
  const Tensor zeros = Tensor::Vector<float>({0, 0, 0});
  const AttrMap last = {{"data_format", "NDHWC"}};
  const AttrMap first = {{"data_format", "NCDHW"}};
  ASSERT_OK_AND_ASSIGN(const auto expected,
                       harness_.Run("FusedBatchNormV3",
                                    {volume, ones, zeros, zeros, ones}, last));
  ASSERT_OK_AND_ASSIGN(
      const auto got,
      harness_.Run("FusedBatchNormV3",
                   {ChannelsFirst(volume), ones, zeros, zeros, ones}, first));
  EXPECT_TRUE(SameBits(got[0], ChannelsFirst(expected[0])));
  // Compares with a 2-D image of the same number of pixels.
  ASSERT_OK_AND_ASSIGN(const Tensor flat, volume.Reshaped({2, 3, 10, 3}));
  ASSERT_OK_AND_ASSIGN(
      const auto image,
      harness_.Run("FusedBatchNormV3", {flat, ones, zeros, zeros, ones}));
  EXPECT_EQ(expected[0].flat<float>(), image[0].flat<float>());
  EXPECT_EQ(image[5].shape(), TensorShape({0}));
}

TEST_F(NnLayoutTest, NonImagesAreRejected) {
  const AttrMap attrs = ChannelsFirst(Windows({1, 1, 1, 1}, {1, 1, 1, 1}));
  const Tensor filter = Numbers({1, 1, 1, 1});
  for (const TensorShape& shape :
       {TensorShape(), TensorShape{3}, TensorShape{1, 2, 3},
        TensorShape{1, 2, 3, 4, 5}}) {
    EXPECT_THAT(harness_.Run("Conv2D", {Numbers(shape), filter}, attrs),
                StatusIs(kInvalid));
    EXPECT_THAT(
        harness_.Run("Conv2DBackpropInput",
                     {Tensor::Vector<int32_t>({1, 2}), filter, Numbers(shape)},
                     attrs),
        StatusIs(kInvalid));
  }
  const Tensor one = Tensor::Vector<float>({1});
  EXPECT_THAT(
      harness_.Run("FusedBatchNormV3", {Numbers({1, 2, 3}), one, one, one, one},
                   {{"data_format", "NCHW"}}),
      StatusIs(kInvalid, "4-dimensional"));
}

// A loop over all images would practically never end.
TEST_F(NnLayoutTest, ManyEmptyImagesTakeNoTime) {
  const Tensor many(DT_FLOAT, {int64_t{1} << 40, 1, 0, 2});
  const AttrMap attrs = {{"ksize", List{1, 1, 1, 1}},
                         {"strides", List{1, 1, 1, 1}},
                         {"padding", "SAME"},
                         {"data_format", "NCHW"}};
  ASSERT_OK_AND_ASSIGN(const Tensor got,
                       harness_.RunOne("MaxPool", {many}, attrs));
  EXPECT_EQ(got.shape(), many.shape());
}

}  // namespace
}  // namespace weft
