// Sounds as WAV files: 16 bits a sample, not compressed (Microsoft's
// "Multimedia Programming Interface and Data Specifications 1.0", 1991).
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_SUMMARY_WAV_H_
#define WEFT_LIBS_KERNELS_SUMMARY_WAV_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// `samples`: frame by frame, each with a sample for every channel, from -1 to
// 1: what is beyond is cut, NaN is silence. INVALID_ARGUMENT where there are no
// channels, the header has no room for their number, the rate or the size, or
// samples are left over after the last frame.
absl::StatusOr<std::string> EncodeWav(absl::Span<const float> samples,
                                      int64_t num_channels,
                                      int64_t sample_rate);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_WAV_H_
