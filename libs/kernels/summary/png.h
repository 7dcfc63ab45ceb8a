// EncodePng encodes images as PNG files, with libpng.
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_SUMMARY_PNG_H_
#define WEFT_LIBS_KERNELS_SUMMARY_PNG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// `pixels` are row by row, with 8 bits per channel. Returns INVALID_ARGUMENT
// for an empty image or one beyond libpng's limit (a million pixels per row or
// column). REQUIRES: 1, 3 or 4 channels, and as many pixels as the sizes
// require.
absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels,
                                      int64_t height, int64_t width,
                                      int64_t channels);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_PNG_H_
