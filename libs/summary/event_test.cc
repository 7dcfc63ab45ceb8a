#include "libs/summary/event.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/events_writer.h"
#include "libs/summary/histogram.h"
#include "schemas/tf/summary.pb.h"

namespace weft::summary {
namespace {

using testing::ElementsAre;

constexpr double kLargest = std::numeric_limits<double>::max();

// A file that was written by TensorFlow's FileWriter.
constexpr char kRecorded[] =
    "integration_tests/testdata/conformance/events/event_file/events.out";

// When Weft reads TensorFlow's file and writes it again, the bytes are the
// same.
TEST(EventTest, TensorFlowFileRoundTripsToSameBytes) {
  LocalFileSystem local;
  ASSERT_OK_AND_ASSIGN(auto reader, EventsReader::Open(local, kRecorded));
  MemoryFileSystem files;
  RecordWriter writer(files.NewWritableFile("f").value());
  int events = 0;
  for (;;) {
    const absl::StatusOr<Event> event = reader->Next();
    if (!event.ok()) {
      EXPECT_TRUE(absl::IsOutOfRange(event.status())) << event.status();
      break;
    }
    ++events;
    ASSERT_OK(writer.WriteRecord(SerializeEvent(*event)));
  }
  EXPECT_EQ(events, 10);
  ASSERT_OK(writer.Close());
  EXPECT_TRUE(files.ReadFile("f").value() == local.ReadFile(kRecorded).value());
}

TEST(EventTest, ValuesRoundTrip) {
  Histogram histogram;
  histogram.Add(1.5);
  Summary summary;
  summary.value.push_back({.tag = "scalar", .value = -0.0f});
  summary.value.push_back({.tag = "histogram", .value = histogram.ToValue()});
  summary.value.push_back(
      {.tag = "image",
       .value = ImageValue{
           .height = 1, .width = 2, .colorspace = 4, .encoded = "png"}});
  summary.value.push_back({.tag = "audio",
                           .value = AudioValue{.sample_rate = 8000,
                                               .num_channels = 2,
                                               .length_frames = 3,
                                               .encoded = "wav",
                                               .content_type = "audio/wav"}});
  summary.value.push_back(
      {.node_name = "node",
       .value = Tensor::Vector<float>({1, 1, 1}),
       .metadata = SummaryMetadata{.plugin_name = "p",
                                   .plugin_content = std::string("\0c", 2),
                                   .display_name = "d",
                                   .description = "e",
                                   .data_class = 2}});
  ASSERT_OK_AND_ASSIGN(const Summary read,
                       ParseSummary(SerializeSummary(summary)));
  ASSERT_EQ(read.value.size(), summary.value.size());
  for (size_t i = 0; i < read.value.size(); ++i) {
    const SummaryValue& a = summary.value[i];
    const SummaryValue& b = read.value[i];
    EXPECT_EQ(a.tag, b.tag);
    EXPECT_EQ(a.node_name, b.node_name);
    EXPECT_EQ(a.metadata, b.metadata);
    EXPECT_EQ(a.value.index(), b.value.index());
  }
  EXPECT_TRUE(std::signbit(std::get<float>(read.value[0].value)));
  EXPECT_EQ(summary.value[1].value.index(), 2u);
  EXPECT_EQ(std::get<HistogramValue>(read.value[1].value), histogram.ToValue());
  EXPECT_EQ(std::get<ImageValue>(read.value[2].value),
            std::get<ImageValue>(summary.value[2].value));
  EXPECT_EQ(std::get<AudioValue>(read.value[3].value),
            std::get<AudioValue>(summary.value[3].value));
  EXPECT_TRUE(SameBits(std::get<Tensor>(read.value[4].value),
                       Tensor::Vector<float>({1, 1, 1})));
}

TEST(EventTest, InvalidBytesAreRejected) {
  EXPECT_THAT(ParseEvent("\xff\xff"),
              StatusIs(kInvalid, "are not a valid Event"));
  EXPECT_THAT(ParseSummary("\xff"),
              StatusIs(kInvalid, "are not a valid Summary"));
  EXPECT_THAT(ParseSummaryMetadata("\xff"),
              StatusIs(kInvalid, "are not a valid SummaryMetadata"));
  // The tensor declares three floats but has only two bytes of data.
  const std::string tensor("\x08\x01\x12\x04\x12\x02\x08\x03\x22\x02zz", 12);
  const std::string value = "\x0a\x01t\x42\x0c" + tensor;
  const std::string summary = "\x0a" + std::string(1, '\x11') + value;
  EXPECT_THAT(ParseSummary(summary), StatusIs(kInvalid, "tag t"));
}

TEST(EventTest, DeclaredTensorSizeIsBounded) {
  tf::Summary proto;
  tf::TensorProto& tensor = *proto.add_value()->mutable_tensor();
  tensor.set_dtype(tf::DT_FLOAT);
  tensor.add_float_val(1);  // one value for all elements
  auto& size = *tensor.mutable_tensor_shape()->add_dim();
  size.set_size(1 << 20);
  EXPECT_OK(ParseSummary(proto.SerializeAsString()));
  size.set_size(1 << 28);
  EXPECT_THAT(ParseSummary(proto.SerializeAsString()),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(EventTest, EmptyBytesAreAnEmptyEvent) {
  ASSERT_OK_AND_ASSIGN(const Event event, ParseEvent(""));
  EXPECT_EQ(event.what.index(), 0u);
  EXPECT_EQ(SerializeEvent(event), "");
}

// ---- Histogram ----

HistogramValue HistogramOf(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values) histogram.Add(value);
  return histogram.ToValue();
}

TEST(HistogramTest, HistogramWithoutValuesHasOneBucket) {
  const HistogramValue value = HistogramOf({});
  EXPECT_EQ(value.num, 0);
  EXPECT_EQ(value.min, kLargest);
  EXPECT_EQ(value.max, -kLargest);
  EXPECT_THAT(value.bucket_limit, ElementsAre(kLargest));
  EXPECT_THAT(value.bucket, ElementsAre(0));
}

TEST(HistogramTest, ZerosOfBothSignsAreInTheFirstBucketAboveZero) {
  const HistogramValue value = HistogramOf({0.0, -0.0});
  EXPECT_THAT(value.bucket_limit, ElementsAre(0, 1e-12, kLargest));
  EXPECT_THAT(value.bucket, ElementsAre(0, 2, 0));
}

TEST(HistogramTest, RunsOfEmptyBucketsAreMerged) {
  const HistogramValue value = HistogramOf({1, 1, -2, 3});
  EXPECT_EQ(value.num, 4);
  EXPECT_EQ(value.min, -2);
  EXPECT_EQ(value.max, 3);
  EXPECT_EQ(value.sum, 3);
  EXPECT_EQ(value.sum_squares, 15);
  ASSERT_EQ(value.bucket.size(), 7u);
  EXPECT_THAT(value.bucket, ElementsAre(0, 1, 0, 2, 0, 1, 0));
  // Each value is below the limit of its bucket, and not below the limit of the
  // bucket before.
  EXPECT_LE(value.bucket_limit[0], -2);
  EXPECT_GT(value.bucket_limit[1], -2);
  EXPECT_LE(value.bucket_limit[2], 1);
  EXPECT_GT(value.bucket_limit[3], 1);
}

TEST(HistogramTest, LargestNumbersAreInABucket) {
  const HistogramValue value = HistogramOf({kLargest, -kLargest, 1e300});
  EXPECT_EQ(value.num, 3);
  EXPECT_EQ(value.bucket.back(), 2);
  EXPECT_EQ(value.bucket_limit.back(), kLargest);
  double count = 0;
  for (const double bucket : value.bucket) count += bucket;
  EXPECT_EQ(count, 3);
}

// Checks the limits of the bucket that contains a value.
void ExpectInItsBucket(double value) {
  const HistogramValue one = HistogramOf({value});
  size_t bucket = 0;
  while (one.bucket[bucket] == 0) ++bucket;
  EXPECT_GT(one.bucket_limit[bucket], value);
  const double low = bucket > 0 ? one.bucket_limit[bucket - 1] : -kLargest;
  EXPECT_LE(low, value);
  // The bucket must not be wider than TensorFlow's.
  const double nearest =
      std::min(std::abs(low), std::abs(one.bucket_limit[bucket]));
  if (nearest > 0 && nearest < 1e19) {
    EXPECT_LE(one.bucket_limit[bucket] - low, 0.1000001 * nearest) << value;
  }
}

TEST(HistogramTest, ValueAtALimitIsInTheNextBucket) {
  int i = 0;
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) {
    if (++i % 7 != 0) continue;
    for (const double sign : {1.0, -1.0}) {
      ExpectInItsBucket(sign * limit);
      ExpectInItsBucket(sign * std::nextafter(limit, 0));
      ExpectInItsBucket(sign * std::nextafter(limit, kLargest));
      ExpectInItsBucket(sign * limit * 1.04);
    }
  }
}

}  // namespace
}  // namespace weft::summary
