#include "libs/placement/group_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

DeviceName Name(const std::string& text) {
  return DeviceName::Parse(text).value();
}

// Returns the result of the requests, merged in this order.
std::string Merge(const std::vector<GroupRequest>& requests, bool soft) {
  GroupRequest merged;
  for (const GroupRequest& request : requests) {
    const absl::Status status = merged.MergeFrom(request, soft);
    if (!status.ok()) return std::string(status.message());
  }
  return merged.requested().ToString();
}

TEST(GroupRequestTest, PartsAreMerged) {
  EXPECT_EQ(Merge({GroupRequest::Of(Name("/job:ps")), GroupRequest(),
                   GroupRequest::OfState(Name("/task:1")),
                   GroupRequest::Of(Name("/cpu:0"))},
                  false),
            "/job:ps/task:1/device:CPU:0");
}

TEST(GroupRequestTest, ConflictingMergeIsRefusedUnchanged) {
  GroupRequest request = GroupRequest::Of(Name("/job:ps"));
  EXPECT_THAT(request.MergeFrom(GroupRequest::Of(Name("/job:worker")), true),
              StatusIs(absl::StatusCode::kInvalidArgument, "/job:worker"));
  EXPECT_EQ(request.requested().ToString(), "/job:ps");
}

TEST(GroupRequestTest, SoftMergesAreOrderIndependent) {
  std::vector<int> order = {0, 1, 2, 3};
  const std::vector<GroupRequest> requests = {
      GroupRequest::Of(Name("/job:ps/gpu:0")),
      GroupRequest::Of(Name("/device:CPU:0")),
      GroupRequest::Of(Name("/task:1/gpu:0")), GroupRequest()};
  do {
    std::vector<GroupRequest> ordered;
    for (int i : order) ordered.push_back(requests[i]);
    EXPECT_EQ(Merge(ordered, true), "/job:ps/task:1");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(GroupRequestTest, RequestsOfVariablesTakePrecedence) {
  EXPECT_EQ(Merge({GroupRequest::Of(Name("/gpu:0")),
                   GroupRequest::OfState(Name("/cpu:0")),
                   GroupRequest::Of(Name("/gpu:1"))},
                  true),
            "/device:CPU:0");
}

TEST(GroupRequestTest, ReferenceReplacesTheConsumersRequest) {
  const GroupRequest source = GroupRequest::OfState(Name("/job:ps/task:1"));
  GroupRequest consumer = GroupRequest::Of(Name("/job:worker/gpu:0"));
  ASSERT_OK(consumer.FollowReference(source));
  EXPECT_EQ(consumer.requested().ToString(), "/job:ps/task:1");
}

TEST(GroupRequestTest, ReferenceKeepsCompatibleRequests) {
  const GroupRequest source = GroupRequest::OfState(Name("/job:ps"));
  GroupRequest consumer = GroupRequest::Of(Name("/task:1"));
  ASSERT_OK(consumer.FollowReference(source));
  ASSERT_OK(consumer.MergeFrom(source, false));
  EXPECT_EQ(consumer.requested().ToString(), "/job:ps/task:1");
}

TEST(GroupRequestTest, StateOnBothSidesOfAReferenceMustAgree) {
  GroupRequest consumer = GroupRequest::OfState(Name("/job:ps/task:0"));
  EXPECT_THAT(
      consumer.FollowReference(GroupRequest::OfState(Name("/job:ps/task:1"))),
      StatusIs(absl::StatusCode::kInvalidArgument, "incompatible resource"));
}

TEST(GroupRequestTest, SoftPlacementDropsConsumerRequestsFirst) {
  GroupRequest request = GroupRequest::OfState(Name("/job:ps/device:GPU"));
  ASSERT_OK(request.MergeFrom(GroupRequest::Of(Name("/device:GPU:1")), true));
  EXPECT_EQ(request.requested().ToString(), "/job:ps/device:GPU:1");
  EXPECT_EQ(request.WithoutTypeButOfState().ToString(), "/job:ps/device:GPU:*");
  EXPECT_EQ(request.WithoutType().ToString(), "/job:ps");
}

TEST(GroupRequestTest, SoftPlacementKeepsPlacedDevices) {
  const std::string device = "/job:ps/replica:0/task:1/device:GPU:1";
  const GroupRequest request = GroupRequest::OfPlaced(Name(device));
  EXPECT_EQ(request.WithoutType().ToString(), device);
}

TEST(GroupRequestTest, KeysDistinguishRequests) {
  const DeviceName ps = Name("/job:ps");
  EXPECT_NE(GroupRequest::Of(ps).Key(), GroupRequest::OfState(ps).Key());
  EXPECT_EQ(GroupRequest::Of(ps).Key(),
            GroupRequest::Of(Name("/job:ps")).Key());
  GroupRequest opened = GroupRequest::Of(Name("/gpu:0"));
  ASSERT_OK(opened.MergeFrom(GroupRequest::Of(Name("/cpu:0")), true));
  EXPECT_NE(opened.Key(), GroupRequest().Key());
}

}  // namespace
}  // namespace weft
