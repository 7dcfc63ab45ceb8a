// MessageReader: a message that came in, verified and opened. What the message
// names is handed out once at most and no more of it than there is, so that a
// small message can't ask for much memory.
//
// The format: schemas/body.fbs. FlatBuffers itself stays in .cc files.
//
// Threads: not synchronised. Errors are INVALID_ARGUMENT: somebody sent what no
// Weft sends.
#ifndef WEFT_LIBS_PROTOCOL_MESSAGE_READER_H_
#define WEFT_LIBS_PROTOCOL_MESSAGE_READER_H_

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

// What one message may make us hold that it does not bring itself: the elements
// of tensors whose one value repeats.
inline constexpr int64_t kMaxExpandedBytes = int64_t{2} << 30;

// INVALID_ARGUMENT: "damaged message: ", and what is wrong with it.
absl::Status DamagedMessage(absl::string_view what);

class MessageReader {
 public:
  // `expected`: the number in schemas::Body that the message must be.
  static absl::StatusOr<MessageReader> Open(bus::Message message,
                                            uint8_t expected);

  // The table: a schemas::RunCallable where that was expected. Lives as long as
  // the reader, wherever it is moved.
  template <typename T>
  const T& body() const {
    return *static_cast<const T*>(body_);
  }

  // Absent ones are empty.
  absl::StatusOr<std::string> ReadString(const flatbuffers::String* text);
  absl::StatusOr<std::vector<std::string>> ReadStrings(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>*
          texts);
  // The sizes of a shape; no more than kMaxRank.
  absl::StatusOr<Dims> ReadSizes(const flatbuffers::Vector<int64_t>* sizes);
  // Views the body or an attachment, and keeps it alive.
  absl::StatusOr<bus::Blob> ReadBytes(const schemas::Bytes* bytes);

  // Before `bytes` of the body are copied: fails once more was copied than the
  // body has, which takes parts that are named twice.
  absl::Status SpendCopied(size_t bytes);
  // Before memory is filled that the message does not bring.
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

#endif  // WEFT_LIBS_PROTOCOL_MESSAGE_READER_H_
