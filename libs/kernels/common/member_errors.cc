#include "libs/kernels/common/member_errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr char kMember[] = "weft/member_node";

std::string Label(absl::string_view name, absl::string_view op) {
  return absl::StrCat(name, " (", op, ")");
}

}  // namespace

absl::Status OfMember(absl::Status status, absl::string_view name,
                      absl::string_view op) {
  if (!status.ok()) status.SetPayload(kMember, absl::Cord(Label(name, op)));
  return status;
}

std::string TakeFailedNode(absl::Status& status, absl::string_view name,
                           absl::string_view op) {
  const auto member = status.GetPayload(kMember);
  if (!member) return Label(name, op);
  status.ErasePayload(kMember);
  return std::string(*member);
}

}  // namespace weft
