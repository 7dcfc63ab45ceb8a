// Which variables the nodes of a partition touch, and which of these they may
// write: found once, when it is registered, so that a save can be kept apart
// from the steps that write what it saves. And which they wait for, so that
// nobody waits for what others will never initialise; and which they assign,
// with what these take, so that more than there is memory for is refused.
//
// Follows handles and references from the nodes that make them, by name. An op
// that takes one and is not known to read only counts as writing; so does one
// that assigns, applies or scatters to a variable which comes from elsewhere (a
// feed, another device): it may be any.
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

// A variable that may not be there yet.
struct VariableKey {
  const ResourceManager* resources = nullptr;
  std::string container;  // never empty
  std::string name;
  friend auto operator<=>(const VariableKey&, const VariableKey&) = default;
};

struct VariableUses {
  absl::btree_set<VariableKey> touched;
  absl::btree_set<VariableKey> written;  // of those touched
  bool writes_unknown = false;
  absl::btree_set<VariableKey> asked;    // whether they have a value
  absl::btree_set<VariableKey> awaited;  // until they have one
  // Of those written, the ones that get a whole value, and what that takes in
  // bytes by the declared shape; 0 where that is not known, and for strings.
  absl::btree_map<VariableKey, int64_t> assigned;

  void Add(const VariableUses& other);
  bool MayWrite(const absl::btree_set<VariableKey>& variables) const;
};

// Whether whoever has registered these graphs has given one of `variables`, of
// those in `resources`, its value and asked whether it has one; so does the
// chief of a training when it begins, last of all for all of its variables.
bool HasInitialized(const std::vector<const VariableUses*>& graphs,
                    const absl::btree_set<VariableKey>& variables,
                    const ResourceManager* resources);

// Of a graph whose nodes find their variables in `resources`.
VariableUses FindVariableUses(const Graph& graph,
                              const ResourceManager& resources);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_VARIABLE_USES_H_
