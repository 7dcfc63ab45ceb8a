#include "libs/placement/group_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status Incompatible(absl::string_view what, const DeviceName& source,
                          const DeviceName& own) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot place the graph because a reference or resource edge connects "
      "colocation groups with incompatible ",
      what, " devices: ", source.ToString(), " vs ", own.ToString(), "."));
}

DeviceName Without(DeviceName request, bool type, bool index) {
  if (type) request.type.reset();
  if (index) request.index.reset();
  return request;
}

}  // namespace

GroupRequest GroupRequest::OfPlaced(DeviceName device) {
  GroupRequest result;
  result.assigned_ = device;
  result.requested_ = std::move(device);
  return result;
}

GroupRequest GroupRequest::OfState(DeviceName request) {
  GroupRequest result;
  result.state_ = request;
  result.requested_ = std::move(request);
  return result;
}

GroupRequest GroupRequest::Of(DeviceName request) {
  GroupRequest result;
  result.requested_ = std::move(request);
  return result;
}

absl::Status GroupRequest::MergeFrom(const GroupRequest& other,
                                     bool soft_placement) {
  GroupRequest merged = *this;
  RETURN_IF_ERROR(merged.assigned_.MergeFrom(other.assigned_));
  RETURN_IF_ERROR(merged.state_.MergeFrom(other.state_));
  merged.MergeTypesFrom(other);
  RETURN_IF_ERROR(
      merged.requested_.MergeFrom(other.requested_, soft_placement));
  merged.Restrict();
  *this = std::move(merged);
  return absl::OkStatus();
}

// Must run before requested_ is merged.
void GroupRequest::MergeTypesFrom(const GroupRequest& other) {
  const auto differ = [](const auto& a, const auto& b) {
    return a && b && *a != *b;
  };
  types_differ_ = types_differ_ || other.types_differ_ ||
                  differ(requested_.type, other.requested_.type);
  indexes_differ_ = indexes_differ_ || other.indexes_differ_ || types_differ_ ||
                    differ(requested_.index, other.requested_.index);
}

// Makes requested_ consistent with the requests of higher precedence.
void GroupRequest::Restrict() {
  requested_ = Without(std::move(requested_), types_differ_, indexes_differ_)
                   .OverriddenBy(assigned_)
                   .OverriddenBy(state_);
}

absl::Status GroupRequest::FollowReference(const GroupRequest& source) {
  if (!source.assigned_.IsCompatibleWith(assigned_)) {
    return Incompatible("assigned", source.assigned_, assigned_);
  }
  if (!source.state_.IsCompatibleWith(state_)) {
    return Incompatible("resource", source.state_, state_);
  }
  if (source.requested_.IsCompatibleWith(requested_)) return absl::OkStatus();
  requested_ = source.requested_;
  types_differ_ = source.types_differ_;
  indexes_differ_ = source.indexes_differ_;
  Restrict();
  return absl::OkStatus();
}

DeviceName GroupRequest::WithoutTypeButOfState() const {
  return Without(requested_, !assigned_.type && !state_.type,
                 !assigned_.index && !state_.index);
}

DeviceName GroupRequest::WithoutType() const {
  return Without(requested_, !assigned_.type, !assigned_.index);
}

std::string GroupRequest::Key() const {
  return absl::StrCat(assigned_.ToString(), " ", state_.ToString(), " ",
                      requested_.ToString(), " ", types_differ_ ? 1 : 0,
                      indexes_differ_ ? 1 : 0);
}

}  // namespace weft
