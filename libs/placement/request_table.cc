#include "libs/placement/request_table.h"

#include "libs/base/status.h"

namespace weft {
namespace {

GroupRequest Make(DeviceName device, RequestTable::Weight weight) {
  switch (weight) {
    case RequestTable::Weight::kPlaced:
      return GroupRequest::OfPlaced(std::move(device));
    case RequestTable::Weight::kState:
      return GroupRequest::OfState(std::move(device));
    case RequestTable::Weight::kOther:
      break;
  }
  return GroupRequest::Of(std::move(device));
}

}  // namespace

int RequestTable::Add(GroupRequest request) {
  const int next = static_cast<int>(requests_.size());
  const auto [it, is_new] = numbers_.emplace(request.Key(), next);
  if (is_new) requests_.push_back(std::move(request));
  return it->second;
}

absl::StatusOr<int> RequestTable::Parse(const std::string& device,
                                        Weight weight) {
  if (device.empty()) return kNothing;
  const auto [it, is_new] = parsed_.try_emplace({weight, device}, kNothing);
  if (!is_new) return it->second;
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(device));
  return it->second = Add(Make(std::move(name), weight));
}

absl::StatusOr<int> RequestTable::Merge(int a, int b, bool soft_placement) {
  if (a == b || b == kNothing) return a;
  if (a == kNothing) return b;
  GroupRequest merged = requests_[a];
  RETURN_IF_ERROR(merged.MergeFrom(requests_[b], soft_placement));
  return Add(std::move(merged));
}

absl::StatusOr<int> RequestTable::FollowReference(int request, int source) {
  if (request == source || request == kNothing || source == kNothing) {
    return request;
  }
  GroupRequest following = requests_[request];
  RETURN_IF_ERROR(following.FollowReference(requests_[source]));
  return Add(std::move(following));
}

}  // namespace weft
