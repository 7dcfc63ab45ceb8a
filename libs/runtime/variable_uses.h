// VariableUses are the variables that the nodes of a partition access, and
// which of these they may write. They are found once, when it is registered, so
// that a save can exclude the steps that write the saved variables. They also
// contain the variables that the nodes wait for, so that no step waits for what
// no session will ever initialize, and the assigned variables with their sizes,
// so that more than the memory can hold is refused.
//
// Follows handles and references from the nodes that create them, by name. An
// op that takes one and is not known to only read counts as writing; an op that
// assigns, applies or scatters to a variable from elsewhere (a feed, another
// device) may write any.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_RUNTIME_VARIABLE_USES_H_
#define WEFT_LIBS_RUNTIME_VARIABLE_USES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "libs/graph/graph.h"
#include "libs/resource/resource_manager.h"

namespace weft {

// Identifies a variable that may not exist yet.
struct VariableKey {
  const ResourceManager* resources = nullptr;
  std::string container;  // never empty
  std::string name;
  friend auto operator<=>(const VariableKey&, const VariableKey&) = default;
};

struct VariableUses {
  absl::btree_set<VariableKey> touched;
  absl::btree_set<VariableKey> written;  // of the touched ones
  bool writes_unknown = false;
  absl::btree_set<VariableKey> asked;  // nodes check whether they have a value
  absl::btree_set<VariableKey> awaited;  // nodes wait until they have a value
  // Of the written ones, those that get a whole value, with its bytes by the
  // declared shape; 0 if that is unknown, and for strings.
  absl::btree_map<VariableKey, int64_t> assigned;

  void Add(const VariableUses& other);
  bool MayWrite(const absl::btree_set<VariableKey>& variables) const;
};

// Whether the session that registered these graphs has assigned one of
// `variables`, of those in `resources`, and checked whether it has a value. A
// training's chief does that when it begins, finally for all of its variables.
bool HasInitialized(const std::vector<const VariableUses*>& graphs,
                    const absl::btree_set<VariableKey>& variables,
                    const ResourceManager* resources);

// Of a graph whose nodes find their variables in `resources`.
VariableUses FindVariableUses(const Graph& graph,
                              const ResourceManager& resources);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_VARIABLE_USES_H_
