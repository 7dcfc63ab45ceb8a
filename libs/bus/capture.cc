#include "libs/bus/capture.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

// Appends a number to `out`, in little endian like all numbers of a capture.
template <typename T>
void Put(T number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

absl::Status CutShort(size_t left) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the capture ends within a message, ", left, " bytes after its begin"));
}

// Cursor takes numbers and bytes from the front of a capture.
class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : left_(bytes) {}
  bool at_end() const { return left_.empty(); }

  template <typename T>
  absl::StatusOr<T> Number() {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Bytes(sizeof(T)));
    T number;
    std::memcpy(&number, bytes.data(), sizeof(T));
    return number;
  }
  absl::StatusOr<absl::string_view> Bytes(uint64_t size) {
    if (size > left_.size()) return CutShort(left_.size());
    const absl::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }

 private:
  absl::string_view left_;
};

absl::StatusOr<CapturedFrame> ReadFrame(Cursor& cursor) {
  CapturedFrame frame;
  ASSIGN_OR_RETURN(frame.size, cursor.Number<uint64_t>());
  ASSIGN_OR_RETURN(const uint64_t kept, cursor.Number<uint64_t>());
  ASSIGN_OR_RETURN(const absl::string_view bytes, cursor.Bytes(kept));
  frame.bytes = std::string(bytes);
  return frame;
}

absl::StatusOr<CapturedMessage> ReadMessage(Cursor& cursor) {
  CapturedMessage message;
  ASSIGN_OR_RETURN(const int64_t time, cursor.Number<int64_t>());
  message.time = absl::FromUnixMicros(time);
  ASSIGN_OR_RETURN(message.connection, cursor.Number<uint64_t>());
  ASSIGN_OR_RETURN(const uint8_t channel_kind, cursor.Number<uint8_t>());
  message.channel_kind =
      channel_kind == 0 ? ChannelKind::kControl : ChannelKind::kBulk;
  ASSIGN_OR_RETURN(const uint8_t received, cursor.Number<uint8_t>());
  message.received = received != 0;
  ASSIGN_OR_RETURN(const uint16_t num_frames, cursor.Number<uint16_t>());
  RETURN_IF_ERROR(cursor.Number<uint32_t>());  // unused
  for (int i = 0; i < num_frames; ++i) {
    ASSIGN_OR_RETURN(CapturedFrame frame, ReadFrame(cursor));
    message.frames.push_back(std::move(frame));
  }
  return message;
}

}  // namespace

absl::string_view CaptureHeader() { return "WEFTCAP1"; }

std::string EncodeCapture(absl::Time time, ConnectionId connection,
                          ChannelKind channel_kind, bool received,
                          const Frames& frames, size_t max_frame_bytes) {
  const size_t num_frames =
      std::min<size_t>(frames.size(), std::numeric_limits<uint16_t>::max());
  std::string out;
  Put<int64_t>(absl::ToUnixMicros(time), out);
  Put<uint64_t>(connection, out);
  Put<uint8_t>(channel_kind == ChannelKind::kControl ? 0 : 1, out);
  Put<uint8_t>(received ? 1 : 0, out);
  Put<uint16_t>(static_cast<uint16_t>(num_frames), out);
  Put<uint32_t>(0, out);
  for (size_t i = 0; i < num_frames; ++i) {
    const size_t kept = std::min(frames[i].size(), max_frame_bytes);
    Put<uint64_t>(frames[i].size(), out);
    Put<uint64_t>(kept, out);
    if (kept > 0) out.append(frames[i].data(), kept);
  }
  return out;
}

absl::StatusOr<std::vector<CapturedMessage>> ReadCapture(
    absl::string_view file) {
  const absl::string_view header = CaptureHeader();
  if (file.substr(0, header.size()) != header) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a capture: it does not begin with ", header));
  }
  Cursor cursor(file.substr(header.size()));
  std::vector<CapturedMessage> messages;
  while (!cursor.at_end()) {
    ASSIGN_OR_RETURN(CapturedMessage message, ReadMessage(cursor));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace weft::bus
