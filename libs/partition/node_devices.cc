#include "libs/partition/node_devices.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace weft {
namespace {

bool PassesReference(const Node& node) {
  return IsRefType(node.output_type(0));
}

// Returns whether it is better to keep a copy of a constant on each device than
// to send it in each step. Strings may have any length.
bool IsSmallConstant(const Node& node) {
  constexpr size_t kMaxBytes = 1024;
  const Tensor* value = node.attr<Tensor>("value");
  return value != nullptr && DataTypeSize(value->dtype()) > 0 &&
         value->num_elements() * DataTypeSize(value->dtype()) <= kMaxBytes;
}

// Returns the device type ("/device:CPU") in a full name. A device of another
// type may lack a kernel for the constant.
absl::string_view TypeOf(absl::string_view device) {
  const size_t begin = device.rfind("/device:");
  if (begin == absl::string_view::npos) return device;
  return device.substr(begin, device.rfind(':') - begin);
}

}  // namespace

NodeDevices::NodeDevices(const Graph& graph, const LoopStructure& loops)
    : graph_(graph), loops_(loops) {
  if (loops.has_loops()) MoveExits();
  CopyToConsumers();
}

absl::Span<const std::string> NodeDevices::Of(const Node& node) const {
  auto it = devices_.find(&node);
  if (it == devices_.end()) {
    return absl::MakeConstSpan(&node.assigned_device(), 1);
  }
  return it->second;
}

bool NodeDevices::Has(const Node& node, const std::string& device) const {
  const absl::Span<const std::string> devices = Of(node);
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

const std::string& NodeDevices::Home(const Node& node) const {
  if (Has(node, node.assigned_device())) return node.assigned_device();
  return Of(node).front();
}

bool NodeDevices::IsCopied(const Node& node) const {
  if (loops_.is_constant[node.id()]) return true;
  return (IsEnter(node) || IsNextIteration(node)) && !PassesReference(node);
}

void NodeDevices::MoveExits() {
  for (const Node* node : graph_.nodes()) {
    if (!IsExit(*node) || PassesReference(*node)) continue;
    const Node& input = *node->input(0).node;
    if (!IsCopied(input)) devices_[node] = {Home(input)};
  }
}

// Copies nodes to the devices of their consumers. Copied nodes are visited from
// last to first, so that all consumers of a node are known before the node.
// Back edges, which end at earlier Merge nodes, do not matter because Merge
// nodes are not copied.
void NodeDevices::CopyToConsumers() {
  for (const Node* node : graph_.nodes()) {
    if (!IsCopied(*node)) Fetch(*node);
  }
  for (int id = graph_.num_nodes() - 1; id >= 0; --id) {
    if (IsCopied(*graph_.node(id))) Fetch(*graph_.node(id));
  }
}

void NodeDevices::Fetch(const Node& consumer) {
  const bool in_loop = loops_.InputFrame(consumer) != 0;
  const absl::Span<const std::string> span = Of(consumer);
  const std::vector<std::string> wanted(span.begin(), span.end());
  for (const OutputTensor& input : consumer.inputs()) {
    if (!IsCopied(*input.node)) continue;
    if (loops_.is_constant[input.node->id()] && !in_loop) {
      FetchConstant(*input.node, wanted);
    } else {
      AddDevices(*input.node, wanted);
    }
  }
  for (const Node* control : consumer.control_inputs()) {
    if (IsCopied(*control) && !loops_.is_constant[control->id()]) {
      AddDevices(*control, wanted);
    }
  }
}

void NodeDevices::FetchConstant(const Node& constant,
                                const std::vector<std::string>& wanted) {
  const std::string& placed = constant.assigned_device();
  const bool is_small = IsSmallConstant(constant);
  for (const std::string& device : wanted) {
    const bool is_copied = is_small && TypeOf(device) == TypeOf(placed);
    // A constant that is not copied is sent from the device on which it was
    // placed.
    AddDevices(constant, {is_copied ? device : placed});
  }
}

void NodeDevices::AddDevices(const Node& node,
                             absl::Span<const std::string> added) {
  std::vector<std::string>& devices = devices_[&node];
  devices.insert(devices.end(), added.begin(), added.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
}

void ForEachCrossing(const Node& consumer, const std::string& device,
                     const LoopStructure& loops, const NodeDevices& devices,
                     absl::FunctionRef<void(const Crossing&)> visit) {
  for (const OutputTensor& input : consumer.inputs()) {
    if (devices.Has(*input.node, device)) continue;
    visit({input, false, &consumer, device});
  }
  for (const Node* control : consumer.control_inputs()) {
    if (loops.is_constant[control->id()]) continue;
    if (devices.Has(*control, device)) continue;
    visit({{control, 0}, true, &consumer, device});
  }
}

}  // namespace weft
