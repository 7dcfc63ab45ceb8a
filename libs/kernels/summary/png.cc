#include "libs/kernels/summary/png.h"

#include <png.h>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

absl::Status CannotBe(int64_t height, int64_t width, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("an image of ", height, " x ", width,
                   " cannot be encoded as a PNG file: ", why));
}

}  // namespace

absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels,
                                      int64_t height, int64_t width,
                                      int64_t channels) {
  constexpr int64_t kMost = 1'000'000;  // libpng's limit
  if (height < 1 || width < 1 || height > kMost || width > kMost) {
    return CannotBe(height, width,
                    "it has no pixels, or too many in a row or column");
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = channels == 1   ? PNG_FORMAT_GRAY
                 : channels == 3 ? PNG_FORMAT_RGB
                                 : PNG_FORMAT_RGBA;
  const absl::Cleanup free_image = [&] { png_image_free(&image); };
  // The maximum size; unused memory is freed.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string encoded(size, '\0');
  if (!png_image_write_to_memory(&image, encoded.data(), &size,
                                 /*convert_to_8_bit=*/0, pixels.data(),
                                 /*row_stride=*/0, /*colormap=*/nullptr)) {
    return CannotBe(height, width, image.message);
  }
  encoded.resize(size);
  encoded.shrink_to_fit();
  return encoded;
}

}  // namespace weft
