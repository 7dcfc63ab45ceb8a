// NodeDevices: on which devices the nodes of a placed graph run. All but a few
// run where they were placed:
//
//  - An Enter or NextIteration runs, copied, on each device that takes its
//    value: they have to be where their Merge is, and the value of a constant
//    Enter then crosses once instead of in each iteration.
//  - An Exit runs where its input is, so that its value crosses once.
//  - A constant that is used in a loop is copied to where it is used; sent, it
//    would come but once. So is a small one outside of loops, such as a
//    learning rate: it would be sent in each step.
//
// Those that hand on a reference stay: the placer has put them where their
// variable is. Internal to this room. Immutable; `graph` and `loops` outlive
// it.
#ifndef WEFT_LIBS_PARTITION_NODE_DEVICES_H_
#define WEFT_LIBS_PARTITION_NODE_DEVICES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"
#include "libs/partition/loop_structure.h"

namespace weft {

class NodeDevices {
 public:
  NodeDevices(const Graph& graph, const LoopStructure& loops);

  // At least one, in order of name.
  absl::Span<const std::string> Of(const Node& node) const;
  bool Has(const Node& node, const std::string& device) const;
  // Where other devices get the node's outputs from.
  const std::string& Home(const Node& node) const;

 private:
  bool IsCopied(const Node& node) const;
  void MoveExits();
  void CopyToConsumers();
  // Takes `consumer`'s inputs to its devices.
  void Fetch(const Node& consumer);
  // Outside of loops.
  void FetchConstant(const Node& constant,
                     const std::vector<std::string>& wanted);
  void AddDevices(const Node& node, absl::Span<const std::string> devices);

  const Graph& graph_;
  const LoopStructure& loops_;
  // Of nodes that do not just run where they were placed.
  FlatHashMap<const Node*, std::vector<std::string>> devices_;
};

// An edge between devices: `source` does not run on `device`, one of
// `consumer`'s. Edges that order nothing are none: a constant's control edges.
struct Crossing {
  OutputTensor source;
  bool is_control = false;  // then source.index is 0
  const Node* consumer = nullptr;
  const std::string& device;
};

// Of one of the consumer's devices.
void ForEachCrossing(const Node& consumer, const std::string& device,
                     const LoopStructure& loops, const NodeDevices& devices,
                     absl::FunctionRef<void(const Crossing&)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_NODE_DEVICES_H_
