// Fits finds the devices that fit a group's request, once for all groups with
// the same request.
//
// Not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_FITS_H_
#define WEFT_LIBS_PLACEMENT_FITS_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "libs/placement/candidates.h"
#include "libs/placement/group_request.h"

namespace weft {

struct Fit {
  std::vector<const Candidate*> devices;  // best first
  // The request that they match: the original one, or what soft placement left
  // of it.
  DeviceName request;
  bool is_softened = false;
  const DeviceTypes* types = nullptr;

  bool Has(const Candidate& device) const;
};

class Fits {
 public:
  Fits(const Candidates& candidates, bool soft_placement)
      : candidates_(candidates), soft_placement_(soft_placement) {}

  // `request_number` and `types_number` identify requests and sets of types;
  // referenced objects must outlive this.
  const Fit& Find(int request_number, const GroupRequest& request,
                  int types_number, const DeviceTypes& types);

 private:
  Fit Seek(const GroupRequest& request, const DeviceTypes& types) const;

  const Candidates& candidates_;
  const bool soft_placement_;
  absl::flat_hash_map<std::pair<int, int>, std::unique_ptr<Fit>> fits_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_FITS_H_
