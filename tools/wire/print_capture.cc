#include "tools/wire/print_capture.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "flatbuffers/minireflect.h"
#include "libs/base/status.h"
#include "libs/bus/capture.h"
#include "schemas/body_generated.h"
#include "schemas/envelope_generated.h"

namespace weft::tools {
namespace {

using bus::CapturedFrame;
using bus::CapturedMessage;

// Maximum number of elements that are printed of a list, such as the bytes of a
// tensor.
constexpr size_t kMaxNumbers = 16;
constexpr size_t kMaxDepth = 16;

// Writes a FlatBuffer as `{field: value, ...}`.
class Printer : public flatbuffers::IterationVisitor {
 public:
  std::string Take() { return std::move(text_); }

  void StartSequence() override { Put("{"); }
  void EndSequence() override { Put("}"); }
  void Field(size_t /*field*/, size_t set, flatbuffers::ElementaryType /*type*/,
             bool /*is_vector*/, const flatbuffers::TypeTable* /*table*/,
             const char* name, const uint8_t* value) override {
    if (value == nullptr) return;
    Put(absl::StrCat(set > 0 ? ", " : "", name ? name : "?", ": "));
  }
  void StartVector() override {
    Put("[");
    lists_.push_back({});
  }
  void EndVector() override {
    const List list = lists_.back();
    lists_.pop_back();
    if (list.hidden) {
      --hidden_;
      Put(absl::StrCat(", ... ", list.size, " in all"));
    }
    Put("]");
  }
  void Element(size_t i, flatbuffers::ElementaryType type,
               const flatbuffers::TypeTable* /*table*/,
               const uint8_t* /*value*/) override {
    List& list = lists_.back();
    list.size = i + 1;
    const bool is_number =
        type != flatbuffers::ET_SEQUENCE && type != flatbuffers::ET_STRING;
    if (i == kMaxNumbers && is_number) {
      list.hidden = true;
      ++hidden_;
    }
    if (i > 0) Put(", ");
  }
  void UType(uint8_t value, const char* name) override { Named(value, name); }
  void Bool(bool value) override { Put(value ? "true" : "false"); }
  void Char(int8_t value, const char* name) override { Named(value, name); }
  void UChar(uint8_t value, const char* name) override { Named(value, name); }
  void Short(int16_t value, const char* name) override { Named(value, name); }
  void UShort(uint16_t value, const char* name) override { Named(value, name); }
  void Int(int32_t value, const char* name) override { Named(value, name); }
  void UInt(uint32_t value, const char* name) override { Named(value, name); }
  void Long(int64_t value) override { Put(absl::StrCat(value)); }
  void ULong(uint64_t value) override { Put(absl::StrCat(value)); }
  void Float(float value) override { Put(absl::StrCat(value)); }
  void Double(double value) override { Put(absl::StrCat(value)); }
  void String(const flatbuffers::String* value) override {
    Put(absl::StrCat("\"", absl::CHexEscape({value->data(), value->size()}),
                     "\""));
  }
  void Unknown(const uint8_t* /*value*/) override {
    Put("(of a later version)");
  }

 private:
  struct List {
    size_t size = 0;
    bool hidden = false;
  };

  void Put(absl::string_view text) {
    if (hidden_ == 0) absl::StrAppend(&text_, text);
  }
  void Named(int64_t value, const char* name) {
    Put(name != nullptr ? std::string(name) : absl::StrCat(value));
  }

  std::string text_;
  std::vector<List> lists_;
  int hidden_ = 0;  // number of enclosing lists that are being truncated
};

std::string BodyName(uint8_t method) {
  const std::string name =
      schemas::EnumNameBody(static_cast<schemas::Body>(method));
  return name.empty() ? absl::StrCat("body ", method) : name;
}

std::string Unreadable(absl::string_view what, const CapturedFrame& frame) {
  if (frame.bytes.size() < frame.size) {
    return absl::StrCat(what, ": ", frame.size, " bytes, of which only ",
                        frame.bytes.size(), " were captured");
  }
  return absl::StrCat(what, ": ", frame.size, " bytes that are none");
}

flatbuffers::Verifier VerifierOf(const CapturedFrame& frame) {
  return {reinterpret_cast<const uint8_t*>(frame.bytes.data()),
          frame.bytes.size(), kMaxDepth};
}

// Returns null if the frame is not an Envelope.
const schemas::Envelope* EnvelopeOf(const CapturedFrame& frame) {
  flatbuffers::Verifier verifier = VerifierOf(frame);
  if (!schemas::VerifyEnvelopeBuffer(verifier)) return nullptr;
  return schemas::GetEnvelope(frame.bytes.data());
}

// Returns the kind and method, for example "Request RunPartition", and all
// fields. Fields with default values would be hidden otherwise.
std::string PrintEnvelope(const schemas::Envelope& envelope,
                          const CapturedFrame& frame) {
  const std::string kind = schemas::EnumNameKind(envelope.kind());
  Printer printer;
  flatbuffers::IterateFlatBuffer(
      reinterpret_cast<const uint8_t*>(frame.bytes.data()),
      schemas::EnvelopeTypeTable(), &printer);
  return absl::StrCat(kind.empty() ? "unknown kind" : kind,
                      envelope.method() != 0 ? " " : "",
                      envelope.method() != 0 ? BodyName(envelope.method()) : "",
                      ": Envelope ", printer.Take());
}

std::string PrintBody(uint8_t method, const CapturedFrame& frame) {
  const std::string name = BodyName(method);
  flatbuffers::Verifier verifier = VerifierOf(frame);
  if (!schemas::VerifyMessageBuffer(verifier)) return Unreadable(name, frame);
  const schemas::Message* message = schemas::GetMessage(frame.bytes.data());
  if (message->body_type() == schemas::Body::NONE ||
      message->body() == nullptr) {
    return absl::StrCat(name, ": a message without a body");
  }
  Printer printer;
  flatbuffers::IterateFlatBuffer(
      reinterpret_cast<const uint8_t*>(frame.bytes.data()),
      schemas::MessageTypeTable(), &printer);
  return absl::StrCat("Message ", printer.Take());
}

std::string PrintControl(const CapturedMessage& message) {
  if (message.frames.empty()) return "  no frames\n";
  const schemas::Envelope* envelope = EnvelopeOf(message.frames[0]);
  if (envelope == nullptr) {
    return absl::StrCat("  ", Unreadable("Envelope", message.frames[0]), "\n");
  }
  std::string text =
      absl::StrCat("  ", PrintEnvelope(*envelope, message.frames[0]), "\n");
  size_t next = 1;
  if (envelope->method() != 0 && message.frames.size() > 1) {
    absl::StrAppend(&text, "  ",
                    PrintBody(envelope->method(), message.frames[1]), "\n");
    next = 2;
  }
  for (size_t i = next; i < message.frames.size(); ++i) {
    absl::StrAppend(&text, "  attachment of ", message.frames[i].size,
                    " bytes\n");
  }
  return text;
}

std::string PrintBulk(const CapturedMessage& message) {
  if (message.frames.empty() ||
      message.frames[0].bytes.size() != sizeof(schemas::ChunkHeader)) {
    return "  no ChunkHeader\n";
  }
  schemas::ChunkHeader header;
  std::memcpy(&header, message.frames[0].bytes.data(), sizeof(header));
  std::string text = absl::StrCat(
      "  ChunkHeader {stream: ", header.stream(), ", offset: ", header.offset(),
      ", stream_bytes: ", header.stream_bytes(), "}\n");
  for (size_t i = 1; i < message.frames.size(); ++i) {
    absl::StrAppend(&text, "  chunk of ", message.frames[i].size, " bytes\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> PrintCapture(absl::string_view file) {
  ASSIGN_OR_RETURN(const std::vector<CapturedMessage> messages,
                   bus::ReadCapture(file));
  std::string text;
  for (const CapturedMessage& message : messages) {
    const bool is_control = message.channel_kind == bus::ChannelKind::kControl;
    absl::StrAppend(
        &text,
        absl::FormatTime("%H:%M:%E6S", message.time, absl::UTCTimeZone()),
        message.received ? " received" : " sent", " on connection ",
        message.connection, ", ", is_control ? "control" : "bulk", "\n",
        is_control ? PrintControl(message) : PrintBulk(message));
  }
  return text;
}

}  // namespace weft::tools
