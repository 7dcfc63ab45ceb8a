// InitializeOrWait: how the replicas of a model begin: the chief initialises
// the variables, the others wait until it has.
#ifndef WEFT_EXAMPLES_INITIALIZE_OR_WAIT_H_
#define WEFT_EXAMPLES_INITIALIZE_OR_WAIT_H_

#include <functional>

#include "absl/time/time.h"
#include "libs/api/weft.h"

namespace weft::examples {

// Calls `done` every `interval` until it says true, or an error.
// DEADLINE_EXCEEDED after `limit`.
absl::Status Poll(Session& session, absl::Duration interval,
                  absl::Duration limit,
                  const std::function<absl::StatusOr<bool>()>& done);

// For all global variables of `scope`'s graph, to which it adds nodes, so
// before other threads use the session. DEADLINE_EXCEEDED, naming a variable,
// when the chief has not done it within `limit`.
absl::Status InitializeOrWait(Session& session, const Scope& scope,
                              bool is_chief,
                              absl::Duration limit = absl::Minutes(10));

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_INITIALIZE_OR_WAIT_H_
