// Large messages nested in the Bytes of another message. Repeated text is
// written once and referred to by number (schemas/coordinator.fbs). Only for
// .cc files of this module: it includes FlatBuffers.
//
// Threads: not synchronized. Errors are as in message_reader.h.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_INNER_MESSAGE_INL_H_
#define WEFT_LIBS_PROTOCOL_CODEC_INNER_MESSAGE_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "libs/protocol/codec/messages_inl.h"
#include "schemas/body_generated.h"

namespace weft::protocol {

// The maximum size of a nested message. FlatBuffers would abort the process at
// 2 GiB.
inline constexpr size_t kMaxInnerBytes = size_t{1} << 30;

// The limit of text that the numbers of a message may expand to: a fixed
// amount, plus a multiple of the message's size. Short messages must not expand
// to long texts.
inline constexpr size_t kFreeText = size_t{64} << 20;
inline constexpr size_t kTextPerByte = 64;
inline constexpr size_t kMaxText = size_t{2} << 30;

class InnerWriter {
 public:
  using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  // Must be called before at most `bytes` are written. Returns
  // RESOURCE_EXHAUSTED if the message would become too large.
  absl::Status CheckRoom(size_t bytes) const {
    if (builder_.GetSize() + string_bytes_ + bytes <= kMaxInnerBytes) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(
        absl::StrCat("a message for the coordinator, or from it, would be "
                     "larger than ",
                     kMaxInnerBytes, " bytes"));
  }

  // Returns the number for `text`, which must outlive the writer.
  uint32_t Number(absl::string_view text) {
    if (text.empty()) return 0;
    const auto [it, is_new] =
        numbers_.try_emplace(text, static_cast<uint32_t>(strings_.size() + 1));
    if (is_new) {
      strings_.push_back(text);
      string_bytes_ += text.size() + kStringOverhead;
    }
    return it->second;
  }

  // Writes all numbered texts. Must be called after the last call of Number.
  absl::StatusOr<flatbuffers::Offset<Strings>> WriteStrings() {
    RETURN_IF_ERROR(CheckRoom(0));
    std::vector<flatbuffers::Offset<flatbuffers::String>> written;
    written.reserve(strings_.size());
    for (const absl::string_view text : strings_) {
      written.push_back(builder_.CreateString(text.data(), text.size()));
    }
    return builder_.CreateVector(written);
  }

  // Ends the message, and puts it into another one.
  template <typename T>
  flatbuffers::Offset<schemas::Bytes> Finish(
      flatbuffers::Offset<T> body, flatbuffers::FlatBufferBuilder& outer,
      Attachments& attachments) {
    return WriteBytes(protocol::Finish(body, builder_).body, outer,
                      attachments);
  }

 private:
  // The bytes that a string takes beside its text: offset, length, terminator
  // and padding.
  static constexpr size_t kStringOverhead = 16;

  flatbuffers::FlatBufferBuilder builder_;
  absl::flat_hash_map<absl::string_view, uint32_t> numbers_;
  std::vector<absl::string_view> strings_;
  size_t string_bytes_ = 0;
};

class InnerReader {
 public:
  // Opens a message whose body is a T from the Bytes of `outer`.
  template <typename T>
  static absl::StatusOr<InnerReader> Open(const schemas::Bytes* bytes,
                                          MessageReader& outer) {
    bus::Message message;
    message.method = static_cast<uint8_t>(schemas::BodyTraits<T>::enum_value);
    ASSIGN_OR_RETURN(message.body, outer.ReadBytes(bytes));
    if (message.body.size() > kMaxInnerBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "damaged message: it holds one of ", message.body.size(), " bytes"));
    }
    const size_t most_text =
        std::min(kMaxText, kFreeText + kTextPerByte * message.body.size());
    ASSIGN_OR_RETURN(MessageReader reader,
                     protocol::Open<T>(std::move(message)));
    InnerReader inner(std::move(reader), most_text);
    ASSIGN_OR_RETURN(inner.strings_,
                     inner.reader_.ReadStrings(inner.body<T>().strings()));
    return inner;
  }

  template <typename T>
  const T& body() const {
    return reader_.body<T>();
  }
  MessageReader& reader() { return reader_; }

  // Returns the text of this number.
  absl::StatusOr<std::string> Text(uint32_t number) {
    if (number == 0) return std::string();
    if (number > strings_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("damaged message: it names string ", number, " of ",
                       strings_.size()));
    }
    const std::string& text = strings_[number - 1];
    RETURN_IF_ERROR(SpendText(text.size()));
    return text;
  }
  // Must be called before `bytes` of a numbered text are copied.
  absl::Status SpendText(size_t bytes) {
    if (bytes > text_left_) {
      return absl::ResourceExhaustedError(
          "a message repeats too much text: more than is sensible for its "
          "size");
    }
    text_left_ -= bytes;
    return absl::OkStatus();
  }

 private:
  InnerReader(MessageReader reader, size_t most_text)
      : reader_(std::move(reader)), text_left_(most_text) {}

  MessageReader reader_;
  std::vector<std::string> strings_;
  size_t text_left_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_INNER_MESSAGE_INL_H_
