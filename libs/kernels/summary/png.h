// Pictures as PNG files, by libpng.
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_SUMMARY_PNG_H_
#define WEFT_LIBS_KERNELS_SUMMARY_PNG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// `pixels`: row by row, 8 bits a channel. INVALID_ARGUMENT for a picture
// without pixels or with more than libpng takes (a million in a row or a
// column). REQUIRES: 1, 3 or 4 channels, as many pixels as the sizes say.
absl::StatusOr<std::string> EncodePng(absl::Span<const uint8_t> pixels,
                                      int64_t height, int64_t width,
                                      int64_t channels);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_PNG_H_
