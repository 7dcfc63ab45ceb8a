// RequestTable numbers the different requests of groups, so that a graph of
// many nodes compares numbers.
//
// Not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_REQUEST_TABLE_H_
#define WEFT_LIBS_PLACEMENT_REQUEST_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/placement/group_request.h"

namespace weft {

class RequestTable {
 public:
  static constexpr int kNothing = 0;
  enum class Weight { kPlaced, kState, kOther };

  RequestTable() { Add(GroupRequest()); }

  const GroupRequest& Get(int request) const { return requests_[request]; }

  // The request of one node. INVALID_ARGUMENT: not a device name.
  absl::StatusOr<int> Parse(const std::string& device, Weight weight);
  // GroupRequest::MergeFrom.
  absl::StatusOr<int> Merge(int a, int b, bool soft_placement);
  // GroupRequest::FollowReference of `request` to `source`.
  absl::StatusOr<int> FollowReference(int request, int source);

 private:
  int Add(GroupRequest request);

  std::vector<GroupRequest> requests_;
  absl::flat_hash_map<std::string, int> numbers_;  // by GroupRequest::Key
  absl::flat_hash_map<std::pair<Weight, std::string>, int> parsed_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_REQUEST_TABLE_H_
