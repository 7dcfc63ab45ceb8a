// VariableUses describes how the nodes of a partition use variables. It is
// computed once, when the partition is registered, for three purposes:
// - A save excludes the steps that may write the saved variables.
// - A step must not wait for a variable that no session will ever initialize.
// - New variables are refused if they exceed the memory, by their sizes.
//
// Handles and references are followed, by name, from the nodes that create
// them. An op that takes a handle or reference counts as a writer unless it is
// known to only read. If it comes from elsewhere (a feed, another device), an
// op that assigns, applies or scatters may write any variable.
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
  absl::btree_set<VariableKey> written;  // a subset of `touched`
  bool writes_unknown = false;
  absl::btree_set<VariableKey> asked;  // nodes check whether they have a value
  absl::btree_set<VariableKey> awaited;  // nodes wait until they have a value
  // The subset of `written` that is assigned a complete value. Maps each
  // variable to its bytes according to the declared shape; 0 for strings and if
  // the shape is unknown.
  absl::btree_map<VariableKey, int64_t> assigned;

  void Add(const VariableUses& other);
  bool MayWrite(const absl::btree_set<VariableKey>& variables) const;
};

// Returns whether the session that registered these graphs has initialized its
// variables: it has assigned one of `variables` in `resources`, and has checked
// whether that variable has a value. A training's chief checks all of its
// variables at the end of its initialization.
bool HasInitialized(const std::vector<const VariableUses*>& graphs,
                    const absl::btree_set<VariableKey>& variables,
                    const ResourceManager* resources);

// Returns the uses of a graph whose nodes find their variables in `resources`.
VariableUses FindVariableUses(const Graph& graph,
                              const ResourceManager& resources);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_VARIABLE_USES_H_
