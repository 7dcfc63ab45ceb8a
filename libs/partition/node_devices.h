// NodeDevices determines the devices on which the nodes of a placed graph run.
// Most run where they were placed, with these exceptions:
//
//  - An Enter or NextIteration runs, copied, on each device that consumes its
//    value: it must be on the device of its Merge, and the value of a constant
//    Enter is then sent once instead of in each iteration.
//  - An Exit runs on the device of its input, so that its value is sent once.
//  - A constant that is used in a loop is copied to its consumers; sent, it
//    would arrive only once. A small one outside of loops, such as a learning
//    rate, is copied, too: otherwise it would be sent in each step.
//
// Those that forward a reference stay: the placer has put them on the device of
// their variable. Internal to this module. Immutable; `graph` and `loops` must
// outlive it.
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

  // At least one, sorted by name.
  absl::Span<const std::string> Of(const Node& node) const;
  bool Has(const Node& node, const std::string& device) const;
  // The device from which other devices receive the node's outputs.
  const std::string& Home(const Node& node) const;

 private:
  bool IsCopied(const Node& node) const;
  void MoveExits();
  void CopyToConsumers();
  // Makes `consumer`'s inputs available on its devices.
  void Fetch(const Node& consumer);
  // Outside of loops.
  void FetchConstant(const Node& constant,
                     const std::vector<std::string>& wanted);
  void AddDevices(const Node& node, absl::Span<const std::string> devices);

  const Graph& graph_;
  const LoopStructure& loops_;
  // Only nodes that do not run on their assigned device alone.
  FlatHashMap<const Node*, std::vector<std::string>> devices_;
};

// An edge between devices: `source` does not run on `device`, one of
// `consumer`'s. A constant's control edges are left out, because they order
// nothing.
struct Crossing {
  OutputTensor source;
  bool is_control = false;  // if true, source.index is 0
  const Node* consumer = nullptr;
  const std::string& device;
};

// For one of the consumer's devices.
void ForEachCrossing(const Node& consumer, const std::string& device,
                     const LoopStructure& loops, const NodeDevices& devices,
                     absl::FunctionRef<void(const Crossing&)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_NODE_DEVICES_H_
