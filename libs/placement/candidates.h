// Candidates are the devices on which nodes may be placed, in order of
// preference, as in TensorFlow (colocation_graph.cc, device_set.cc).
//
// Immutable, so any thread may read it.
#ifndef WEFT_LIBS_PLACEMENT_CANDIDATES_H_
#define WEFT_LIBS_PLACEMENT_CANDIDATES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/cluster/device_name.h"
#include "libs/device/device.h"

namespace weft {

struct Candidate {
  std::string name;
  DeviceName parts;
  std::string type;
  bool is_own = false;  // on the session's own task
};

// 0 is the best: GPU before CPU, and both before all others.
int TypeRank(absl::string_view device_type);

// Sorted and without duplicates.
using DeviceTypes = std::vector<std::string>;

class Candidates {
 public:
  // Devices whose names do not parse are left out: no request can match them.
  // `own_task` may be empty.
  Candidates(absl::Span<const DeviceAttributes> devices,
             absl::string_view own_task);
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  // Best first: by type, then the session's own task, then by name. Pointers
  // are valid as long as this lives; their order is the order of preference.
  absl::Span<const Candidate> all() const { return candidates_; }
  // The types of all devices.
  const DeviceTypes& types() const { return types_; }

  // Returns the candidates that match the request and have one of the types,
  // best first.
  std::vector<const Candidate*> Matching(const DeviceName& request,
                                         const DeviceTypes& types) const;
  // Returns null if there is no such device.
  const Candidate* Find(absl::string_view name) const;
  // The names in order, "a, b": for errors.
  std::string NamesText() const;

 private:
  std::vector<Candidate> candidates_;
  absl::flat_hash_map<absl::string_view, const Candidate*> by_name_;
  DeviceTypes types_;
};

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_CANDIDATES_H_
