#include "benchmarks/common/fashion_mnist.h"

#include <zlib.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {
namespace {

constexpr size_t kPixels = size_t{28} * 28;

// Returns the data after the header of one file. Only the existence and the
// size of the file are checked, because the files are part of a Debian package.
std::vector<uint8_t> ReadBytes(const std::string& path, size_t header) {
  constexpr unsigned kAtOnce = 1 << 20;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    Check(absl::NotFoundError(
        absl::StrCat(path,
                     ": install the package dataset-fashion-mnist, or give "
                     "--data_dir")));
  }
  std::vector<uint8_t> bytes;
  int got = 0;
  do {
    const size_t size = bytes.size();
    bytes.resize(size + kAtOnce);
    got = gzread(file, bytes.data() + size, kAtOnce);
    bytes.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
  } while (got > 0);
  if (gzclose(file) != Z_OK || got < 0 || bytes.size() <= header) {
    Check(absl::DataLossError(absl::StrCat(path, " is damaged")));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(header));
  return bytes;
}

}  // namespace

LabelledRows ReadFashionMnist(const std::string& directory,
                              const std::string& split) {
  const std::string base = absl::StrCat(directory, "/", split);
  const auto pixels = ReadBytes(base + "-images-idx3-ubyte.gz", 16);
  const auto labels = ReadBytes(base + "-labels-idx1-ubyte.gz", 8);
  if (pixels.size() != labels.size() * kPixels) {
    Check(absl::DataLossError(base + ": images and labels do not fit"));
  }
  const auto n = static_cast<int64_t>(labels.size());
  LabelledRows data = {Tensor(DT_FLOAT, TensorShape({n, int64_t{kPixels}})),
                       Tensor(DT_INT32, TensorShape({n}))};
  float* pixel = data.rows.mutable_flat<float>().data();
  for (uint8_t value : pixels) *pixel++ = static_cast<float>(value) / 255;
  int32_t* label = data.labels.mutable_flat<int32_t>().data();
  for (uint8_t value : labels) *label++ = value;
  return data;
}

}  // namespace weft::benchmarks
