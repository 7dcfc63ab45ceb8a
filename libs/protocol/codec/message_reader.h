// MessageReader is a received message, verified and opened. Each item of the
// message can be read at most once, so that a small message cannot request much
// memory.
//
// schemas/body.fbs defines the format. Only .cc files include FlatBuffers.
//
// Threads: not synchronized. Errors are INVALID_ARGUMENT: no Weft process sends
// such a message.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_READER_H_
#define WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"
#include "libs/tensor/shape.h"

namespace flatbuffers {
struct String;
template <typename T>
struct Offset;
template <typename T>
class Vector;
}  // namespace flatbuffers

namespace weft::schemas {
struct Bytes;
}  // namespace weft::schemas

namespace weft::protocol {

// The maximum memory of one message beyond its own bytes: the elements of
// tensors with one repeated value.
inline constexpr int64_t kMaxExpandedBytes = int64_t{2} << 30;

// Returns INVALID_ARGUMENT: "damaged message: " and the defect.
absl::Status DamagedMessage(absl::string_view what);

class MessageReader {
 public:
  // Opens a message whose number in schemas::Body must be `expected`.
  static absl::StatusOr<MessageReader> Open(bus::Message message,
                                            uint8_t expected);

  // Returns the body, whose type must be that of the expected number, for
  // example schemas::RunCallable. It lives as long as the reader, even if the
  // reader is moved.
  template <typename T>
  const T& body() const {
    return *static_cast<const T*>(body_);
  }

  // Returns the text; empty if the string is missing.
  absl::StatusOr<std::string> ReadString(const flatbuffers::String* text);
  absl::StatusOr<std::vector<std::string>> ReadStrings(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>*
          texts);
  // Returns the sizes of a shape, of which there are at most kMaxRank.
  absl::StatusOr<Dims> ReadSizes(const flatbuffers::Vector<int64_t>* sizes);
  // Returns a view of bytes in the body or in an attachment. The view keeps
  // these alive.
  absl::StatusOr<bus::Blob> ReadBytes(const schemas::Bytes* bytes);

  // Must be called before `bytes` of the body are copied: fails once more was
  // copied than the body has, which means that parts are referred to twice.
  absl::Status SpendCopied(size_t bytes);
  // Must be called before memory is filled beyond the message's own bytes.
  absl::Status SpendExpanded(int64_t bytes);

 private:
  MessageReader() = default;

  bus::Blob frame_;  // aligned
  const void* body_ = nullptr;
  std::vector<bus::Blob> attachments_;
  std::vector<bool> taken_;
  size_t copied_left_ = 0;
  int64_t expanded_left_ = kMaxExpandedBytes;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_MESSAGE_READER_H_
