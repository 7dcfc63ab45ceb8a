#include "examples/fashion_mnist_data.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft::examples {
namespace {

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return bytes;
}

std::string Gzip(const std::string& data) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(data.size() + 100, '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class FashionMnistDataTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_OK(files_.WriteFileAtomically("/data/" + name, bytes));
  }
  void WriteGood() {
    ASSERT_OK(files_.CreateDirectory("/data"));
    Write("train-images-idx3-ubyte.gz",
          Gzip(BigEndian(0x803) + BigEndian(2) + BigEndian(28) + BigEndian(28) +
               std::string(2 * kPixels, '\xff')));
    Write("train-labels-idx1-ubyte.gz",
          Gzip(BigEndian(0x801) + BigEndian(2) + std::string("\x03\x09")));
  }
  absl::StatusOr<ImageSet> Read() {
    return ReadFashionMnist(files_, "/data", "train");
  }

  MemoryFileSystem files_;
};

TEST_F(FashionMnistDataTest, ReadsImagesAndLabels) {
  WriteGood();
  auto data = Read();
  ASSERT_OK(data);
  EXPECT_EQ(data->images.shape(), TensorShape({2, kPixels}));
  EXPECT_EQ(data->images.flat<float>()[0], 1.0f);
  EXPECT_EQ(data->labels.flat<int32_t>()[1], 9);
}

TEST_F(FashionMnistDataTest, MissingFileNamesThePackage) {
  EXPECT_THAT(Read(),
              StatusIs(absl::StatusCode::kNotFound, "dataset-fashion-mnist"));
}

TEST_F(FashionMnistDataTest, CorruptionNamesTheFile) {
  WriteGood();
  const std::string good =
      Gzip(BigEndian(0x801) + BigEndian(2) + std::string("\x03\x09"));
  const std::string damaged[] = {
      "",
      "not gzip",
      good.substr(0, good.size() - 9),
      Gzip(BigEndian(0x801)),
      Gzip(BigEndian(0x801) + BigEndian(0xffffffff) + "\x01"),
      Gzip(BigEndian(0x801) + BigEndian(3) + std::string("\x03\x09")),
      Gzip(BigEndian(0x801) + BigEndian(2) + std::string("\x03\x0a"))};
  for (const std::string& bytes : damaged) {
    Write("train-labels-idx1-ubyte.gz", bytes);
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss,
                                 "train-labels-idx1-ubyte.gz"));
  }
}

}  // namespace
}  // namespace weft::examples
