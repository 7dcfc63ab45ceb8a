#include "libs/kernels/data/element_result.h"

#include <string>

#include "libs/base/status.h"

namespace weft {

int64_t ElementResult::TotalBytes() const {
  // Includes the objects around the values, because elements may be many and
  // small.
  constexpr size_t kBytesOfTensor = sizeof(Tensor) + 128;
  size_t bytes = sizeof(ElementResult) + status.message().size() +
                 element.size() * kBytesOfTensor;
  for (const Tensor& tensor : element) bytes += tensor.TotalBytes();
  return static_cast<int64_t>(bytes);
}

void WriteResult(IteratorStateWriter writer, absl::string_view name,
                 const ElementResult& result) {
  IteratorStateWriter within = writer.Within(name);
  if (result.status.ok()) return within.Write("element", result.element);
  within.Write("code", static_cast<int64_t>(result.status.raw_code()));
  within.Write("message", Tensor::Scalar(std::string(result.status.message())));
}

absl::StatusOr<ElementResult> ReadResult(const IteratorStateReader& reader,
                                         absl::string_view name) {
  const IteratorStateReader within = reader.Within(name);
  ElementResult result;
  if (!within.Has("code")) {
    ASSIGN_OR_RETURN(result.element, within.ReadElement("element"));
    return result;
  }
  ASSIGN_OR_RETURN(const int64_t code, within.ReadInt("code"));
  ASSIGN_OR_RETURN(const Tensor message, within.Read("message", DT_STRING));
  if (code < 1 || code > 16 || message.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the saved state of an iterator has an error with code ", code));
  }
  result.status = absl::Status(static_cast<absl::StatusCode>(code),
                               message.flat<std::string>()[0]);
  return result;
}

absl::Status CheckResult(const ElementSpec& expected,
                         const ElementResult& result) {
  if (!result.status.ok()) return absl::OkStatus();
  return Annotate(CheckElementTypes(expected, TypesOfElement(result.element)),
                  "the saved state of an iterator");
}

}  // namespace weft
