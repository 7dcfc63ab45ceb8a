// EncodeWav encodes audio as WAV files: uncompressed, 16 bits per sample
// (Microsoft's "Multimedia Programming Interface and Data Specifications 1.0",
// 1991).
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_SUMMARY_WAV_H_
#define WEFT_LIBS_KERNELS_SUMMARY_WAV_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

// `samples` are frame by frame, each with a sample for every channel, from -1
// to 1. Values beyond are clipped; NaN is silence. Returns INVALID_ARGUMENT
// without channels, if their number, the rate or the size exceeds the header's
// fields, or if the last frame is incomplete.
absl::StatusOr<std::string> EncodeWav(absl::Span<const float> samples,
                                      int64_t num_channels,
                                      int64_t sample_rate);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SUMMARY_WAV_H_
