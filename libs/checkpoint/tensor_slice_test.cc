#include "libs/checkpoint/tensor_slice.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/ordered_code.h"

namespace weft::checkpoint {
namespace {

std::string Signed(int64_t value) {
  std::string bytes;
  AppendSignedNumIncreasing(value, &bytes);
  return bytes;
}

std::string Unsigned(uint64_t value) {
  std::string bytes;
  AppendNumIncreasing(value, &bytes);
  return bytes;
}

std::string Coded(absl::string_view value) {
  std::string bytes;
  AppendStringIncreasing(value, &bytes);
  return bytes;
}

// The expected bytes were written by TensorFlow's code.
TEST(OrderedCodeTest, SignedNumbersMatchTensorFlow) {
  const std::vector<std::pair<int64_t, std::string>> codes = {
      {0, "80"},      {5, "85"},        {-1, "7f"},         {63, "bf"},
      {-64, "40"},    {64, "c040"},     {100, "c064"},      {-65, "3fbf"},
      {8191, "dfff"}, {8192, "e02000"}, {1000000, "ef4240"}};
  for (const auto& [value, code] : codes) {
    EXPECT_EQ(absl::BytesToHexString(Signed(value)), code) << value;
  }
}

// Returns each power of two and its neighbors, with both signs, in ascending
// order.
std::vector<int64_t> ManyNumbers() {
  std::vector<int64_t> values = {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max()};
  for (int bit = 0; bit < 62; ++bit) {
    for (int64_t around = -1; around <= 1; ++around) {
      values.push_back((int64_t{1} << bit) + around);
      values.push_back(-((int64_t{1} << bit) + around));
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

TEST(OrderedCodeTest, SignedNumbersRoundTripInOrder) {
  std::string last;
  for (const int64_t value : ManyNumbers()) {
    const std::string bytes = Signed(value);
    EXPECT_GT(bytes, last) << value;
    last = bytes;
    absl::string_view rest = bytes;
    ASSERT_OK_AND_ASSIGN(const int64_t read, ReadSignedNumIncreasing(&rest));
    EXPECT_EQ(read, value);
    EXPECT_EQ(rest, "");
  }
}

TEST(OrderedCodeTest, NumbersRoundTripInOrder) {
  std::string last;
  for (const int64_t value : ManyNumbers()) {
    if (value < 0) continue;
    const std::string bytes = Unsigned(value);
    EXPECT_GT(bytes, last) << value;
    last = bytes;
    absl::string_view rest = bytes;
    ASSERT_OK_AND_ASSIGN(const uint64_t read, ReadNumIncreasing(&rest));
    EXPECT_EQ(read, static_cast<uint64_t>(value));
    EXPECT_EQ(rest, "");
  }
}

TEST(OrderedCodeTest, StringsRoundTripInOrder) {
  const std::vector<std::string> values = {"",
                                           std::string("\0", 1),
                                           std::string("\0\0", 2),
                                           std::string("\0\xff", 2),
                                           "a",
                                           std::string("a\0", 2),
                                           "ab",
                                           "\xff",
                                           "\xff\xff"};
  std::string last;
  for (const std::string& value : values) {
    const std::string bytes = Coded(value);
    EXPECT_GT(bytes, last);
    last = bytes;
    const std::string more = bytes + "next";
    absl::string_view rest = more;
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadStringIncreasing(&rest));
    EXPECT_EQ(read, value);
    EXPECT_EQ(rest, "next");
  }
}

// If a number had two encodings, the same slice would have two keys.
TEST(OrderedCodeTest, NonCanonicalNumbersAreRejected) {
  for (const char* code :
       {"c000", "c005", "3fff", "e00000", "00", "ff", "ffc0"}) {
    const std::string bytes = absl::HexStringToBytes(code);
    absl::string_view rest = bytes;
    EXPECT_THAT(ReadSignedNumIncreasing(&rest),
                StatusIs(absl::StatusCode::kInvalidArgument, "ordered code"))
        << code;
    EXPECT_EQ(rest, bytes);
  }
  for (const char* code : {"", "0100", "02", "0201", "09000000000000000001"}) {
    const std::string bytes = absl::HexStringToBytes(code);
    absl::string_view rest = bytes;
    EXPECT_THAT(ReadNumIncreasing(&rest),
                StatusIs(absl::StatusCode::kInvalidArgument, "ordered code"))
        << code;
    EXPECT_EQ(rest, bytes);
  }
}

TEST(OrderedCodeTest, UnterminatedStringsAreRejected) {
  for (const char* code :
       {"", "61", "6100", "00ff", "0002", "ff01", "ff000001"}) {
    const std::string bytes = absl::HexStringToBytes(code);
    absl::string_view rest = bytes;
    if (std::string(code) == "ff000001") {
      EXPECT_OK(ReadStringIncreasing(&rest));
      continue;
    }
    EXPECT_THAT(ReadStringIncreasing(&rest),
                StatusIs(absl::StatusCode::kInvalidArgument, "ordered code"))
        << code;
    EXPECT_EQ(rest, bytes);
  }
}

TEST(TensorSliceTest, TextRoundTrips) {
  for (const char* text : {"", "-", "0,5", "-:-", "3,2:-:0,1"}) {
    ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse(text));
    EXPECT_EQ(slice.ToString(), text);
  }
  ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse("3,2:-"));
  EXPECT_EQ(slice.rank(), 2);
  EXPECT_EQ(slice.extents()[0], (TensorSlice::Extent{3, 2}));
  EXPECT_TRUE(slice.extents()[1].IsFull());
  EXPECT_FALSE(slice.IsFull());
  EXPECT_TRUE(TensorSlice(3).IsFull());
  EXPECT_TRUE(TensorSlice().IsFull());
}

TEST(TensorSliceTest, InvalidTextIsRejected) {
  for (const char* text :
       {"x", "1", "1,2,3", "1,", ",1", "0,0", "-1,2", "0,-1", "1,-2",
        "9223372036854775807,1", "99999999999999999999,1", "--"}) {
    EXPECT_THAT(TensorSlice::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         std::string(": string = ") + text))
        << text;
  }
  std::string long_text = "-";
  for (int i = 0; i < kMaxRank; ++i) long_text += ":-";
  EXPECT_THAT(TensorSlice::Parse(long_text),
              StatusIs(absl::StatusCode::kInvalidArgument, "255 dimensions"));
}

TEST(TensorSliceTest, SliceShapeIsCheckedAgainstTensor) {
  ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse("3,2:-"));
  ASSERT_OK_AND_ASSIGN(const TensorShape shape,
                       slice.SliceShape(TensorShape({5, 4})));
  EXPECT_EQ(shape, TensorShape({2, 4}));
  EXPECT_THAT(slice.SliceShape(TensorShape({4, 3})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Extent in dimension 0 out of bounds: shape = [4,3], "
                       "slice = 3,2:-"));
  EXPECT_THAT(
      slice.SliceShape(TensorShape({5})),
      StatusIs(absl::StatusCode::kInvalidArgument, "Mismatching ranks"));
}

TEST(ShapeAndSliceTest, ParsesShapeThenSlice) {
  ASSERT_OK_AND_ASSIGN(const ShapeAndSlice read,
                       ParseShapeAndSlice("10 4 0,5:-"));
  EXPECT_EQ(read.shape, TensorShape({10, 4}));
  EXPECT_EQ(read.slice.ToString(), "0,5:-");
  EXPECT_EQ(read.slice_shape, TensorShape({5, 4}));
  for (const char* text : {"", "10", "10,4", "x 0,1", "10 4 0,5", "10 8,5",
                           "-1 -", "10  0,5", "10 0,5 "}) {
    EXPECT_THAT(ParseShapeAndSlice(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         std::string("shape_and_slice specification: ") + text))
        << text;
  }
}

// The expected key was written by TensorFlow's code.
TEST(TensorNameSliceTest, KeyMatchesTensorFlow) {
  ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse("0,5:0,4"));
  EXPECT_EQ(absl::BytesToHexString(EncodeTensorNameSlice("embedding", slice)),
            "00656d62656464696e67000101028085"
            "8084");
}

TEST(TensorNameSliceTest, KeysRoundTrip) {
  for (const char* text : {"", "-", "0,5:-", "1000000,1000000:8191,8192"}) {
    ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse(text));
    for (const std::string& name :
         {std::string("a/b"), std::string(), std::string("\0\xff", 2)}) {
      const std::string key = EncodeTensorNameSlice(name, slice);
      ASSERT_OK_AND_ASSIGN(const TensorNameSlice read,
                           DecodeTensorNameSlice(key));
      EXPECT_EQ(read.name, name);
      EXPECT_EQ(read.slice, slice);
      for (size_t cut = 0; cut < key.size(); ++cut) {
        EXPECT_THAT(DecodeTensorNameSlice(key.substr(0, cut)),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             "not the key of a slice"));
      }
      EXPECT_THAT(DecodeTensorNameSlice(key + "x"),
                  StatusIs(absl::StatusCode::kInvalidArgument, "is too long"));
    }
  }
}

// A key of a few bytes may declare any rank. No memory may be reserved for a
// rank without extents.
TEST(TensorNameSliceTest, RankWithoutExtentsIsRejected) {
  std::string key = Unsigned(0) + Coded("x") + Unsigned(uint64_t{1} << 60);
  EXPECT_THAT(
      DecodeTensorNameSlice(key),
      StatusIs(absl::StatusCode::kInvalidArgument, "extents are missing"));
}

}  // namespace
}  // namespace weft::checkpoint
