#include "examples/fashion_mnist_data.h"

#include <zlib.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"

namespace weft::examples {
namespace {

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, " is damaged: ", what,
                   ". Install the package dataset-fashion-mnist again."));
}

// Returns the contents of a gzipped file of at most `max_bytes`.
absl::StatusOr<std::string> Gunzip(const std::string& path,
                                   absl::string_view compressed,
                                   size_t max_bytes) {
  z_stream stream = {};
  constexpr int kGzipFormat = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipFormat) != Z_OK) {
    return absl::ResourceExhaustedError("zlib failed to allocate memory");
  }
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string result;
  int code = Z_OK;
  while (code == Z_OK && result.size() <= max_bytes) {
    constexpr size_t kChunk = size_t{1} << 20;
    result.resize(stream.total_out + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(&result[stream.total_out]);
    stream.avail_out = kChunk;
    code = inflate(&stream, Z_NO_FLUSH);
    result.resize(stream.total_out);
  }
  inflateEnd(&stream);
  if (code == Z_STREAM_END) return result;
  if (code == Z_BUF_ERROR) return Damaged(path, "it ends early");
  return Damaged(path, code == Z_OK ? "it is too long" : "it is not gzip");
}

uint32_t BigEndian32(absl::string_view bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  }
  return value;
}

// The contents of an IDX file of unsigned bytes: its dimensions and its data.
struct Idx {
  std::vector<uint32_t> dims;
  std::string data;
};

// Reads an IDX file. The format is described at
// http://yann.lecun.com/exdb/mnist, "the IDX file format".
absl::StatusOr<Idx> ReadIdx(FileSystem& files, const std::string& path,
                            size_t rank) {
  constexpr size_t kMaxBytes = size_t{1} << 28;
  absl::StatusOr<std::string> compressed = files.ReadFile(path);
  if (absl::IsNotFound(compressed.status())) {
    return Append(compressed.status(),
                  "Install the package dataset-fashion-mnist, or give "
                  "--data_dir.");
  }
  RETURN_IF_ERROR(compressed.status());
  ASSIGN_OR_RETURN(std::string bytes, Gunzip(path, *compressed, kMaxBytes));
  const size_t header = 4 + 4 * rank;
  constexpr uint32_t kUnsignedByte = 0x08;
  if (bytes.size() < header ||
      BigEndian32(bytes, 0) != (kUnsignedByte << 8 | rank)) {
    return Damaged(path, "its header is not that of an IDX file of bytes");
  }
  Idx idx;
  uint64_t expected = 1;
  for (size_t i = 0; i < rank; ++i) {
    idx.dims.push_back(BigEndian32(bytes, 4 + 4 * i));
    expected *= idx.dims.back();
    if (expected > kMaxBytes) return Damaged(path, "its sizes are too large");
  }
  if (bytes.size() - header != expected) {
    return Damaged(path, absl::StrCat("it holds ", bytes.size() - header,
                                      " bytes instead of ", expected));
  }
  idx.data = bytes.substr(header);
  return idx;
}

}  // namespace

absl::StatusOr<ImageSet> ReadFashionMnist(FileSystem& files,
                                          const std::string& directory,
                                          const std::string& prefix) {
  const std::string image_path =
      absl::StrCat(directory, "/", prefix, "-images-idx3-ubyte.gz");
  const std::string label_path =
      absl::StrCat(directory, "/", prefix, "-labels-idx1-ubyte.gz");
  ASSIGN_OR_RETURN(const Idx images, ReadIdx(files, image_path, 3));
  ASSIGN_OR_RETURN(const Idx labels, ReadIdx(files, label_path, 1));
  if (images.dims[1] * images.dims[2] != kPixels ||
      images.dims[0] != labels.dims[0] || labels.dims[0] == 0) {
    return Damaged(image_path, "it does not fit its labels");
  }
  const int64_t n = images.dims[0];
  ImageSet result{Tensor(DT_FLOAT, TensorShape({n, kPixels})),
                  Tensor(DT_INT32, TensorShape({n}))};
  absl::Span<float> pixels = result.images.mutable_flat<float>();
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(static_cast<uint8_t>(images.data[i])) / 255;
  }
  absl::Span<int32_t> classes = result.labels.mutable_flat<int32_t>();
  for (size_t i = 0; i < classes.size(); ++i) {
    classes[i] = static_cast<uint8_t>(labels.data[i]);
    if (classes[i] >= kClasses) {
      return Damaged(label_path, absl::StrCat("label ", classes[i]));
    }
  }
  return result;
}

}  // namespace weft::examples
