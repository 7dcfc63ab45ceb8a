#include "libs/kernels/summary/wav.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

constexpr uint16_t kPcm = 1;
constexpr uint16_t kBitsPerSample = 16;
constexpr uint32_t kBytesPerSample = 2;
constexpr uint32_t kFormatBytes = 16;
constexpr uint64_t kHeaderBytes = 44;

// The machine is little-endian, like the format.
template <typename T>
void AppendTo(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

int16_t ToSample(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<int16_t>(
      std::clamp(std::round(value * 32768.0f), -32768.0f, 32767.0f));
}

absl::Status CheckHeader(size_t num_samples, int64_t num_channels,
                         int64_t sample_rate) {
  if (num_channels < 1 || num_channels > std::numeric_limits<uint16_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_channels must be in (0, 2^16), got: ", num_channels));
  }
  if (sample_rate < 1 || sample_rate > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sample_rate must be in (0, 2^32), got: ", sample_rate));
  }
  if (num_samples % static_cast<size_t>(num_channels) != 0) {
    return absl::InvalidArgumentError("the last frame lacks samples");
  }
  if (num_samples >
      (std::numeric_limits<uint32_t>::max() - kHeaderBytes) / kBytesPerSample) {
    return absl::InvalidArgumentError(
        "Provided channels and frames cannot be encoded as a WAV.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EncodeWav(absl::Span<const float> samples,
                                      int64_t num_channels,
                                      int64_t sample_rate) {
  RETURN_IF_ERROR(CheckHeader(samples.size(), num_channels, sample_rate));
  const auto data_bytes =
      static_cast<uint32_t>(samples.size() * kBytesPerSample);
  const auto rate = static_cast<uint32_t>(sample_rate);
  const auto frame_bytes =
      static_cast<uint32_t>(num_channels) * kBytesPerSample;
  std::string wav;
  wav.reserve(kHeaderBytes + data_bytes);
  wav += "RIFF";
  AppendTo(wav, static_cast<uint32_t>(kHeaderBytes - 8 + data_bytes));
  wav += "WAVEfmt ";
  AppendTo(wav, kFormatBytes);
  AppendTo(wav, kPcm);
  AppendTo(wav, static_cast<uint16_t>(num_channels));
  AppendTo(wav, rate);
  // With many fast channels it overflows: the field has its low bits, as in
  // TensorFlow's files.
  AppendTo(wav, rate * frame_bytes);
  AppendTo(wav, static_cast<uint16_t>(frame_bytes));
  AppendTo(wav, kBitsPerSample);
  wav += "data";
  AppendTo(wav, data_bytes);
  for (const float sample : samples) AppendTo(wav, ToSample(sample));
  return wav;
}

}  // namespace weft
