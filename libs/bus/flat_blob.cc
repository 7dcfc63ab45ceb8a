#include "absl/strings/cord.h"
#include "libs/base/shorten.h"
#include "libs/bus/flat_blob_inl.h"
#include "libs/bus/message.h"

namespace weft::bus {
namespace {

using flatbuffers::Offset;
using flatbuffers::String;

absl::string_view View(const String* text) {
  if (text == nullptr) return {};
  return {text->data(), text->size()};
}

Offset<String> PackPayload(flatbuffers::FlatBufferBuilder& builder,
                           const absl::Status& status, absl::string_view name) {
  const auto payload = status.GetPayload(name);
  if (!payload.has_value()) return 0;
  return builder.CreateString(
      ShortenText(std::string(*payload), kMaxErrorText));
}

void UnpackPayload(const String* text, absl::string_view name,
                   absl::Status* status) {
  if (text != nullptr) status->SetPayload(name, absl::Cord(View(text)));
}

}  // namespace

Offset<schemas::Error> PackError(flatbuffers::FlatBufferBuilder& builder,
                                 const absl::Status& status) {
  // Shortens the text, because an error text may have any length but a message
  // may not.
  const auto text =
      builder.CreateString(ShortenText(status.message(), kMaxErrorText));
  const auto node = PackPayload(builder, status, kErrorNodePayload);
  const auto task = PackPayload(builder, status, kErrorTaskPayload);
  return schemas::CreateError(builder, static_cast<int>(status.code()), text,
                              IsDerived(status), node, task);
}

absl::Status UnpackError(const schemas::Error& error) {
  const int code = error.code();
  const bool known =
      code > static_cast<int>(absl::StatusCode::kOk) &&
      code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  absl::Status status(
      known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
      View(error.text()));
  UnpackPayload(error.node(), kErrorNodePayload, &status);
  UnpackPayload(error.task(), kErrorTaskPayload, &status);
  return error.derived() ? MarkDerived(std::move(status)) : status;
}

}  // namespace weft::bus
