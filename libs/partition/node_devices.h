// NodeDevices determines the devices on which the nodes of a placed graph run.
// Most nodes run where they were placed, with these exceptions:
//
//  - An Enter or NextIteration is copied to each device that consumes its
//    value. It must be on the device of its Merge, and the value of a constant
//    Enter is then sent once instead of in each iteration.
//  - An Exit runs on the device of its input, so that its value is sent once.
//  - A constant that is used in a loop is copied to its consumers; if it were
//    sent, it would arrive only once. A small constant outside of loops, such
//    as a learning rate, is copied, too, so that it is not sent in each step.
//
// Nodes that forward a reference are not copied: the placer has put them on the
// device of their variable.
//
// Internal to this module. Immutable; `graph` and `loops` must outlive it.
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

  // Returns the devices of the node: at least one, sorted by name.
  absl::Span<const std::string> Of(const Node& node) const;
  bool Has(const Node& node, const std::string& device) const;
  // The device from which other devices receive the node's outputs.
  const std::string& Home(const Node& node) const;

 private:
  bool IsCopied(const Node& node) const;
  void MoveExits();
  void CopyToConsumers();
  // Makes the inputs of `consumer` available on its devices.
  void Fetch(const Node& consumer);
  // Makes a constant outside of loops available on the wanted devices.
  void FetchConstant(const Node& constant,
                     const std::vector<std::string>& wanted);
  void AddDevices(const Node& node, absl::Span<const std::string> devices);

  const Graph& graph_;
  const LoopStructure& loops_;
  // Contains only nodes that do not run on exactly their assigned device.
  FlatHashMap<const Node*, std::vector<std::string>> devices_;
};

// An edge between devices: `source` does not run on `device`, which is a device
// of `consumer`. Control edges from constants are left out, because they have
// no effect on the order.
struct Crossing {
  OutputTensor source;
  bool is_control = false;  // if true, source.index is 0
  const Node* consumer = nullptr;
  const std::string& device;
};

// Calls a function for each crossing to `device`, which is one of the devices
// of `consumer`.
void ForEachCrossing(const Node& consumer, const std::string& device,
                     const LoopStructure& loops, const NodeDevices& devices,
                     absl::FunctionRef<void(const Crossing&)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_NODE_DEVICES_H_
