#include "libs/runtime/graph_bytes.h"

#include <limits>

#include "libs/graph/graph.h"

namespace weft {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return tensor.RefCountIsOne() ? static_cast<int64_t>(tensor.TotalBytes()) : 0;
}

int64_t BytesOf(const AttrValue& value) {
  int64_t bytes = value.NumBytes(std::numeric_limits<int32_t>::max());
  if (const auto* tensor = value.Get<Tensor>()) bytes += BytesOf(*tensor);
  if (const auto* tensors = value.Get<std::vector<Tensor>>()) {
    for (const Tensor& tensor : *tensors) bytes += BytesOf(tensor);
  }
  return bytes;
}

int64_t BytesOf(const Node& node) {
  int64_t bytes =
      kRegisteredNodeBytes + static_cast<int64_t>(node.name().size());
  for (const auto& [name, value] : node.attrs()) bytes += BytesOf(value);
  return bytes;
}

}  // namespace

int64_t BytesOfGraphs(
    const std::vector<protocol::DevicePartition>& partitions) {
  int64_t bytes = 0;
  for (const protocol::DevicePartition& partition : partitions) {
    if (partition.graph == nullptr) continue;
    for (const Node* node : partition.graph->nodes()) bytes += BytesOf(*node);
  }
  return bytes;
}

}  // namespace weft
