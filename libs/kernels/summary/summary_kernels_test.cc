#include "libs/kernels/summary/summary_kernels.h"

#include <png.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/summary/event.h"

namespace weft {
namespace {

using summary::AudioValue;
using summary::HistogramValue;
using summary::ImageValue;
using summary::Summary;
using summary::SummaryMetadata;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Text(std::string text) {
  return Tensor::Scalar<std::string>(std::move(text));
}

class SummaryKernelsTest : public testing::Test {
 protected:
  SummaryKernelsTest() : harness_(RegisterSummaryKernels) {}

  absl::StatusOr<Summary> Run(absl::string_view op,
                              std::vector<KernelInput> inputs,
                              AttrMap attrs = {}) {
    ASSIGN_OR_RETURN(const Tensor output,
                     harness_.RunOne(op, std::move(inputs), std::move(attrs)));
    EXPECT_EQ(output.rank(), 0);
    return summary::ParseSummary(output.flat<std::string>()[0]);
  }

  KernelTestHarness harness_;
};

template <typename T>
std::vector<T> ValuesOf(const Summary& summary) {
  std::vector<T> values;
  for (const auto& value : summary.value) {
    values.push_back(std::get<T>(value.value));
  }
  return values;
}
std::vector<std::string> TagsOf(const Summary& summary) {
  std::vector<std::string> tags;
  for (const auto& value : summary.value) tags.push_back(value.tag);
  return tags;
}

// ---- ScalarSummary, HistogramSummary ----

TEST_F(SummaryKernelsTest, ScalarsOfAllTypesBecomeFloats) {
  const Tensor values[] = {
      Tensor::Scalar(7.0f),        Tensor::Scalar(7.0),
      Tensor::Scalar(half(7)),     Tensor::Scalar(bfloat16(7)),
      Tensor::Scalar<int8_t>(7),   Tensor::Scalar<int16_t>(7),
      Tensor::Scalar<int32_t>(7),  Tensor::Scalar<int64_t>(7),
      Tensor::Scalar<uint8_t>(7),  Tensor::Scalar<uint16_t>(7),
      Tensor::Scalar<uint32_t>(7), Tensor::Scalar<uint64_t>(7)};
  for (const Tensor& value : values) {
    ASSERT_OK_AND_ASSIGN(const Summary summary,
                         Run("ScalarSummary", {Text("tag"), value}));
    EXPECT_THAT(TagsOf(summary), ElementsAre("tag"));
    EXPECT_THAT(ValuesOf<float>(summary), ElementsAre(7.0f));
  }
}

TEST_F(SummaryKernelsTest, ScalarSummaryKeepsNonFiniteValues) {
  ASSERT_OK_AND_ASSIGN(
      const Summary summary,
      Run("ScalarSummary",
          {Tensor::Vector<std::string>({"a", "b", "c", "d"}),
           Tensor::Vector<double>({kInf, kNan, -0.0, 1e300})}));
  EXPECT_THAT(TagsOf(summary), ElementsAre("a", "b", "c", "d"));
  const std::vector<float> values = ValuesOf<float>(summary);
  EXPECT_EQ(values[0], kInf);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_TRUE(std::signbit(values[2]));
  EXPECT_EQ(values[3], kInf);
}

TEST_F(SummaryKernelsTest, TagsAndValuesHaveOneShape) {
  ASSERT_OK_AND_ASSIGN(
      const Summary none,
      Run("ScalarSummary", {Tensor(DT_STRING, {0}), Tensor(DT_FLOAT, {0})}));
  EXPECT_THAT(none.value, IsEmpty());
  EXPECT_THAT(
      Run("ScalarSummary", {Tensor::Vector<std::string>({"a", "b"}),
                            Tensor::Vector<float>({1})}),
      StatusIs(kInvalid, "tags and values are not the same shape: [2] != [1]"));
  EXPECT_THAT(Run("ScalarSummary", {Text("loss"), Tensor::Vector<float>({1})}),
              StatusIs(kInvalid, "[] != [1] (tag 'loss')"));
}

TEST_F(SummaryKernelsTest, HistogramsCount) {
  ASSERT_OK_AND_ASSIGN(
      const Summary summary,
      Run("HistogramSummary",
          {Text("h"), Tensor::FromValues<int64_t>({2, 2}, {0, 0, 5, -1})}));
  EXPECT_THAT(TagsOf(summary), ElementsAre("h"));
  const auto value = std::get<HistogramValue>(summary.value[0].value);
  EXPECT_EQ(value.num, 4);
  EXPECT_EQ(value.min, -1);
  EXPECT_EQ(value.max, 5);
  EXPECT_EQ(value.sum_squares, 26);
}

TEST_F(SummaryKernelsTest, HistogramsRejectNonFiniteValues) {
  EXPECT_THAT(
      Run("HistogramSummary", {Text("h"), Tensor::Vector<float>({1, kNan})}),
      StatusIs(kInvalid, "Nan in summary histogram for: "));
  EXPECT_THAT(
      Run("HistogramSummary", {Text("grads/w"), Tensor::Vector<float>({kNan})}),
      StatusIs(kInvalid, "(tag 'grads/w')"));
  EXPECT_THAT(
      Run("HistogramSummary", {Text("h"), Tensor::Vector<double>({-kInf})}),
      StatusIs(kInvalid, "Infinity in Histogram for: "));
  EXPECT_THAT(Run("HistogramSummary",
                  {Tensor::Vector<std::string>({"h"}), Tensor::Scalar(1.0f)}),
              StatusIs(kInvalid, "tags must be scalar"));
}

// ---- ImageSummary ----

std::vector<uint8_t> PixelsOf(const ImageValue& value) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&image, value.encoded.data(),
                                               value.encoded.size()));
  EXPECT_EQ(image.height, static_cast<png_uint_32>(value.height));
  EXPECT_EQ(image.width, static_cast<png_uint_32>(value.width));
  image.format = value.colorspace == 1   ? PNG_FORMAT_GRAY
                 : value.colorspace == 3 ? PNG_FORMAT_RGB
                                         : PNG_FORMAT_RGBA;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_TRUE(
      png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  return pixels;
}

TEST_F(SummaryKernelsTest, ByteImagesAreNotScaled) {
  for (const int64_t channels : {1, 3, 4}) {
    Tensor images(DT_UINT8, TensorShape({2, 2, 3, channels}));
    auto bytes = images.mutable_flat<uint8_t>();
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(255 - 7 * i);
    }
    ASSERT_OK_AND_ASSIGN(const Summary summary,
                         Run("ImageSummary", {Text("tag"), images}));
    EXPECT_THAT(TagsOf(summary), ElementsAre("tag/image/0", "tag/image/1"));
    const std::vector<ImageValue> values = ValuesOf<ImageValue>(summary);
    const size_t half = bytes.size() / 2;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(values[i].height, 2);
      EXPECT_EQ(values[i].width, 3);
      EXPECT_EQ(values[i].colorspace, channels);
      EXPECT_THAT(PixelsOf(values[i]),
                  ElementsAreArray(bytes.subspan(i * half, half)));
    }
  }
}

TEST_F(SummaryKernelsTest, NoMoreImagesThanAskedFor) {
  const Tensor images(DT_UINT8, TensorShape({5, 1, 1, 1}));
  ASSERT_OK_AND_ASSIGN(
      const Summary one,
      Run("ImageSummary", {Text("tag"), images}, {{"max_images", int64_t{1}}}));
  EXPECT_THAT(TagsOf(one), ElementsAre("tag/image"));
  ASSERT_OK_AND_ASSIGN(const Summary three,
                       Run("ImageSummary", {Text("tag"), images}));
  EXPECT_THAT(three.value, SizeIs(3));
}

TEST_F(SummaryKernelsTest, NumbersAreScaled) {
  const auto shown = [&](std::vector<float> values) {
    const auto count = static_cast<int64_t>(values.size());
    std::vector<std::vector<uint8_t>> pixels;
    const TensorShape shape({1, 1, count, 1});
    std::vector<half> halves(values.begin(), values.end());
    std::vector<double> doubles(values.begin(), values.end());
    for (const Tensor& tensor : {Tensor::FromValues<float>(shape, values),
                                 Tensor::FromValues<half>(shape, halves),
                                 Tensor::FromValues<double>(shape, doubles)}) {
      const auto summary = Run("ImageSummary", {Text("i"), tensor});
      EXPECT_OK(summary);
      pixels.push_back(PixelsOf(std::get<ImageValue>(summary->value[0].value)));
    }
    EXPECT_EQ(pixels[0], pixels[1]);
    EXPECT_EQ(pixels[0], pixels[2]);
    return pixels[0];
  };
  EXPECT_THAT(shown({0, 1, 2}), ElementsAre(0, 127, 255));
  EXPECT_THAT(shown({-1, 0, 0.5}), ElementsAre(1, 128, 191));
  EXPECT_THAT(shown({-0.25, 1}), ElementsAre(96, 255));
  // Values too small to be scaled.
  EXPECT_THAT(shown({0, 0}), ElementsAre(0, 0));
  EXPECT_THAT(shown({-5.9604645e-8f, 0}), ElementsAre(128, 128));
  // Only finite values count. Gray is the first byte of red.
  EXPECT_THAT(shown({kNan, kInf, -kInf, 1, 2}),
              ElementsAre(255, 255, 255, 127, 255));
  EXPECT_THAT(shown({kNan}), ElementsAre(255));
}

TEST_F(SummaryKernelsTest, HugeNumbersAreScaledToo) {
  const double most = std::numeric_limits<double>::max();
  ASSERT_OK_AND_ASSIGN(
      const Summary summary,
      Run("ImageSummary",
          {Text("i"), Tensor::FromValues<double>(TensorShape({1, 1, 2, 1}),
                                                 {most, most / 2})}));
  EXPECT_THAT(PixelsOf(std::get<ImageValue>(summary.value[0].value)),
              ElementsAre(255, 127));
}

TEST_F(SummaryKernelsTest, PixelsThatAreNotFiniteGetTheBadColor) {
  const Tensor image = Tensor::FromValues<float>(
      TensorShape({1, 1, 3, 3}), {0, kNan, 0, 1, 1, 1, kInf, 0, 0});
  ASSERT_OK_AND_ASSIGN(const Summary red,
                       Run("ImageSummary", {Text("i"), image}));
  EXPECT_THAT(PixelsOf(std::get<ImageValue>(red.value[0].value)),
              ElementsAre(255, 0, 0, 255, 255, 255, 255, 0, 0));
  ASSERT_OK_AND_ASSIGN(
      const Summary other,
      Run("ImageSummary", {Text("i"), image},
          {{"bad_color", Tensor::Vector<uint8_t>({1, 2, 3})}}));
  EXPECT_THAT(PixelsOf(std::get<ImageValue>(other.value[0].value)),
              ElementsAre(1, 2, 3, 255, 255, 255, 1, 2, 3));
  EXPECT_THAT(Run("ImageSummary", {Text("i"), image},
                  {{"bad_color", Tensor::Vector<uint8_t>({1, 2})}}),
              StatusIs(kInvalid, "got depth = 3, bad_color.size = 2"));
}

TEST_F(SummaryKernelsTest, NonImagesAreRejected) {
  const auto run = [&](const TensorShape& shape, AttrMap attrs = {}) {
    return Run("ImageSummary", {Text("i"), Tensor(DT_UINT8, shape)},
               std::move(attrs));
  };
  EXPECT_THAT(run({2}), StatusIs(kInvalid,
                                 "Tensor must be 4-D with last dim 1, 3, or "
                                 "4, not [2]"));
  EXPECT_THAT(run({1, 2, 2, 2}), StatusIs(kInvalid, "not [1,2,2,2]"));
  EXPECT_THAT(run({1, 0, 2, 1}), StatusIs(kInvalid, "0 x 2"));
  EXPECT_THAT(run({1, 2, 0, 1}), StatusIs(kInvalid, "2 x 0"));
  EXPECT_THAT(run({1, 1, 1000001, 1}), StatusIs(kInvalid, "1 x 1000001"));
  EXPECT_THAT(run({1, 1, 1, 1}, {{"bad_color", Tensor::Scalar<uint8_t>(1)}}),
              StatusIs(kInvalid, "bad_color must be a vector"));
  EXPECT_THAT(run({1, 1, 1, 1}, {{"bad_color", Tensor::Vector<float>({1})}}),
              StatusIs(kInvalid, "bad_color must be uint8, got float"));
  EXPECT_THAT(
      Run("ImageSummary", {Tensor::Vector<std::string>({"a"}),
                           Tensor(DT_UINT8, TensorShape({1, 1, 1, 1}))}),
      StatusIs(kInvalid, "Tags must be scalar"));
  // An empty batch yields no image.
  ASSERT_OK_AND_ASSIGN(const Summary none, run({0, 2, 2, 3}));
  EXPECT_THAT(none.value, IsEmpty());
}

// ---- AudioSummary ----

TEST_F(SummaryKernelsTest, SoundsAreWavFiles) {
  ASSERT_OK_AND_ASSIGN(const Summary summary,
                       Run("AudioSummaryV2",
                           {Text("a"),
                            Tensor::FromValues<float>(TensorShape({1, 2, 3}),
                                                      {0, 1, -1, 2, kNan, 0.5}),
                            Tensor::Scalar(8000.4f)},
                           {{"max_outputs", int64_t{1}}}));
  EXPECT_THAT(TagsOf(summary), ElementsAre("a/audio"));
  const auto audio = std::get<AudioValue>(summary.value[0].value);
  EXPECT_EQ(audio.sample_rate, 8000.4f);
  EXPECT_EQ(audio.num_channels, 3);
  EXPECT_EQ(audio.length_frames, 2);
  EXPECT_EQ(audio.content_type, "audio/wav");
  const std::string expected(
      "RIFF\x30\0\0\0WAVEfmt \x10\0\0\0"
      "\x01\0\x03\0\x40\x1f\0\0\x80\xbb\0\0\x06\0\x10\0"
      "data\x0c\0\0\0"
      "\0\0\xff\x7f\0\x80\xff\x7f\0\0\0\x40",
      56);
  EXPECT_EQ(audio.encoded, expected);
}

TEST_F(SummaryKernelsTest, BothAudioOpsAreTheSame) {
  const Tensor sounds =
      Tensor::FromValues<float>(TensorShape({2, 2}), {0.25f, 0.5f, 0.75f, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor old,
                       harness_.RunOne("AudioSummary", {Text("a"), sounds},
                                       {{"sample_rate", 44100.0f}}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor now,
      harness_.RunOne("AudioSummaryV2",
                      {Text("a"), sounds, Tensor::Vector<float>({44100})}));
  EXPECT_TRUE(SameBits(old, now));
  EXPECT_THAT(TagsOf(summary::ParseSummary(now.flat<std::string>()[0]).value()),
              ElementsAre("a/audio/0", "a/audio/1"));
}

TEST_F(SummaryKernelsTest, InvalidAudioIsRejected) {
  const auto run = [&](const TensorShape& shape, const Tensor& rate) {
    return Run("AudioSummaryV2", {Text("a"), Tensor(DT_FLOAT, shape), rate});
  };
  const Tensor rate = Tensor::Scalar(1.0f);
  EXPECT_THAT(run({2}, rate), StatusIs(kInvalid, "3-D or 2-D, got: [2]"));
  EXPECT_THAT(run({1, 1, 1, 1}, rate), StatusIs(kInvalid, "got: [1,1,1,1]"));
  EXPECT_THAT(run({1, 2, 0}, rate), StatusIs(kInvalid, "num_channels"));
  EXPECT_THAT(run({1, 1, 65536}, rate), StatusIs(kInvalid, "num_channels"));
  EXPECT_OK(run({1, 1, 65535}, rate));
  EXPECT_OK(run({1, 0}, rate));
  EXPECT_OK(run({0, 3}, rate));
  for (const float bad : {0.0f, -1.0f, kNan, kInf, 1e10f}) {
    EXPECT_THAT(run({1, 2}, Tensor::Scalar(bad)),
                StatusIs(kInvalid, "sample_rate must be"))
        << bad;
  }
  EXPECT_OK(run({1, 2}, Tensor::Scalar(0.1f)));
  EXPECT_THAT(run({1, 2}, Tensor::Vector<float>({1, 2})),
              StatusIs(kInvalid, "sample_rate must be rank-0"));
}

// ---- TensorSummary, MergeSummary ----

TEST_F(SummaryKernelsTest, TensorSummaryKeepsItsTensor) {
  const Tensor tensor = Tensor::Vector<int32_t>({3, 3, 3});
  ASSERT_OK_AND_ASSIGN(const Summary old, Run("TensorSummary", {tensor}));
  EXPECT_THAT(TagsOf(old), ElementsAre(""));
  EXPECT_NE(old.value[0].node_name, "");
  EXPECT_TRUE(SameBits(std::get<Tensor>(old.value[0].value), tensor));

  const SummaryMetadata metadata = {.plugin_name = "p", .display_name = "d"};
  ASSERT_OK_AND_ASSIGN(
      const Summary now,
      Run("TensorSummaryV2",
          {Text("t"), Tensor::Vector<std::string>({"x", ""}),
           Text(summary::SerializeSummaryMetadata(metadata))}));
  EXPECT_THAT(TagsOf(now), ElementsAre("t"));
  EXPECT_EQ(now.value[0].metadata, metadata);
  EXPECT_TRUE(SameBits(std::get<Tensor>(now.value[0].value),
                       Tensor::Vector<std::string>({"x", ""})));
  EXPECT_THAT(
      Run("TensorSummaryV2", {Text("t"), Tensor::Scalar(1), Text("\xff")}),
      StatusIs(kInvalid, "serialized_summary_metadata"));
}

TEST_F(SummaryKernelsTest, SummariesAreMerged) {
  const auto scalar = [](absl::string_view tag) {
    Summary summary;
    summary.value.push_back({.tag = std::string(tag), .value = 1.0f});
    return summary::SerializeSummary(summary);
  };
  ASSERT_OK_AND_ASSIGN(
      const Summary merged,
      Run("MergeSummary",
          {Text(scalar("a")),
           Tensor::FromValues<std::string>({2, 1}, {scalar("b"), scalar("")}),
           Text(scalar("")), Text(scalar("c"))}));
  EXPECT_THAT(TagsOf(merged), ElementsAre("a", "b", "", "", "c"));
  EXPECT_THAT(Run("MergeSummary", {Text(scalar("a")), Text(scalar("a"))}),
              StatusIs(kInvalid, "Duplicate tag a found in summary inputs"));
  EXPECT_THAT(Run("MergeSummary", {Text("\xff")}),
              StatusIs(kInvalid, "Could not parse one of the summary inputs"));
}

TEST_F(SummaryKernelsTest, SummariesAreScalars) {
  for (const char* op : {"ScalarSummary", "HistogramSummary", "ImageSummary"}) {
    ASSERT_OK_AND_ASSIGN(
        const auto shapes,
        harness_.InferShapes(op, {{DT_STRING, PartialShape::UnknownRank()},
                                  {DT_FLOAT, PartialShape::UnknownRank()}}));
    EXPECT_THAT(shapes, ElementsAre(PartialShape::Scalar()));
  }
}

}  // namespace
}  // namespace weft
