#include "libs/protocol/codec/message_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

constexpr int kMaxDepth = 16;
// The largest scalar of the schemas.
constexpr uintptr_t kAlignment = 8;

// A frame may begin anywhere in a socket's receive buffer.
bus::Blob Aligned(bus::Blob frame) {
  if (reinterpret_cast<uintptr_t>(frame.data()) % kAlignment == 0) return frame;
  const size_t words = frame.size() / sizeof(uint64_t) + 1;
  std::shared_ptr<uint64_t[]> memory(new uint64_t[words]);
  std::memcpy(memory.get(), frame.data(), frame.size());
  const void* data = memory.get();
  return bus::Blob(std::move(memory), data, frame.size());
}

// Each table takes at least 8 bytes, so no valid message has more of them, and
// verification takes time in proportion to the bytes.
bool IsMessage(const bus::Blob& frame) {
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(std::min<size_t>(
      frame.size() / 8, std::numeric_limits<flatbuffers::uoffset_t>::max()));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(frame.data()),
                                 frame.size(), kMaxDepth, max_tables);
  return schemas::VerifyMessageBuffer(verifier);
}

}  // namespace

absl::Status DamagedMessage(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged message: ", what));
}

absl::StatusOr<MessageReader> MessageReader::Open(bus::Message message,
                                                  uint8_t expected) {
  const char* name =
      schemas::EnumNameBody(static_cast<schemas::Body>(expected));
  if (message.method != expected) {
    return DamagedMessage(
        absl::StrCat("it is of type ", message.method, " instead of ", name));
  }
  MessageReader reader;
  reader.frame_ = Aligned(std::move(message.body));
  if (!IsMessage(reader.frame_))
    return DamagedMessage(absl::StrCat("no ", name));
  const schemas::Message* root = schemas::GetMessage(reader.frame_.data());
  if (static_cast<uint8_t>(root->body_type()) != expected ||
      root->body() == nullptr) {
    return DamagedMessage(absl::StrCat("its body is not of type ", name));
  }
  reader.body_ = root->body();
  reader.attachments_ = std::move(message.attachments);
  reader.taken_.resize(reader.attachments_.size());
  reader.copied_left_ = reader.frame_.size();
  return reader;
}

absl::StatusOr<std::string> MessageReader::ReadString(
    const flatbuffers::String* text) {
  if (text == nullptr) return std::string();
  RETURN_IF_ERROR(SpendCopied(text->size()));
  return text->str();
}

absl::StatusOr<std::vector<std::string>> MessageReader::ReadStrings(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>*
        texts) {
  std::vector<std::string> result;
  if (texts == nullptr) return result;
  // The offset of each, and its length.
  RETURN_IF_ERROR(SpendCopied(sizeof(uint32_t) * 2 * texts->size()));
  result.reserve(texts->size());
  for (const flatbuffers::String* text : *texts) {
    ASSIGN_OR_RETURN(std::string copy, ReadString(text));
    result.push_back(std::move(copy));
  }
  return result;
}

absl::StatusOr<Dims> MessageReader::ReadSizes(
    const flatbuffers::Vector<int64_t>* sizes) {
  Dims result;
  if (sizes == nullptr) return result;
  if (sizes->size() > kMaxRank) {
    return DamagedMessage(
        absl::StrCat("it has a shape of rank ", sizes->size()));
  }
  const size_t bytes = sizes->size() * sizeof(int64_t);
  RETURN_IF_ERROR(SpendCopied(bytes));
  result.resize(sizes->size());
  // The verifier does not check the alignment of elements of vectors.
  if (bytes > 0) std::memcpy(result.data(), sizes->Data(), bytes);
  return result;
}

absl::StatusOr<bus::Blob> MessageReader::ReadBytes(
    const schemas::Bytes* bytes) {
  if (bytes == nullptr) return bus::Blob();
  if (bytes->bytes() != nullptr) {
    RETURN_IF_ERROR(SpendCopied(bytes->bytes()->size()));
    return bus::Blob(frame_.owner(), bytes->bytes()->data(),
                     bytes->bytes()->size());
  }
  const uint32_t number = bytes->attachment();
  if (number == 0) return bus::Blob();
  if (number > attachments_.size()) {
    return DamagedMessage(absl::StrCat("it names attachment ", number, " of ",
                                       attachments_.size()));
  }
  if (taken_[number - 1]) {
    return DamagedMessage(
        absl::StrCat("it names attachment ", number, " twice"));
  }
  taken_[number - 1] = true;
  return std::move(attachments_[number - 1]);
}

absl::Status MessageReader::SpendCopied(size_t bytes) {
  if (bytes > copied_left_) return DamagedMessage("its parts overlap");
  copied_left_ -= bytes;
  return absl::OkStatus();
}

absl::Status MessageReader::SpendExpanded(int64_t bytes) {
  if (bytes < 0 || bytes > expanded_left_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the strings, resources and variants of one message take more than ",
        kMaxExpandedBytes, " bytes"));
  }
  expanded_left_ -= bytes;
  return absl::OkStatus();
}

}  // namespace weft::protocol
