#include "libs/protocol/coordinator/placement_messages.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/inner_message_inl.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/coordinator/resource_codec_inl.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Numbers = flatbuffers::Vector<uint32_t>;
using Names = std::vector<std::string>;

// An upper bound for fields of fixed size.
constexpr size_t kNodeOverhead = 128;
// Its offset, its vtable offset, and its name's offset and length.
constexpr size_t kLeastNodeBytes = 4 * sizeof(uint32_t);
// Its offset, its vtable offset, and its vector's offset and length.
constexpr size_t kLeastListBytes = 4 * sizeof(uint32_t);

absl::Status TooMany(size_t num_nodes) {
  return absl::InvalidArgumentError(
      absl::StrCat(num_nodes, " nodes to be placed at once; no more than ",
                   kMaxPlacementNodes, " are allowed"));
}

class GraphWriter {
 public:
  absl::StatusOr<Offset<schemas::Bytes>> Write(const PlacementGraph& graph,
                                               FlatBufferBuilder& outer,
                                               Attachments& attachments) {
    std::vector<Offset<schemas::PlacementNode>> nodes;
    nodes.reserve(graph.nodes.size());
    for (const PlacementNode& node : graph.nodes) {
      ASSIGN_OR_RETURN(const auto written, WriteNode(node));
      nodes.push_back(written);
    }
    const auto node_vector = builder().CreateVector(nodes);
    const auto types = builder().CreateVector(lists_);
    ASSIGN_OR_RETURN(const auto strings, inner_.WriteStrings());
    const auto body =
        schemas::CreatePlacementGraph(builder(), strings, types, node_vector);
    return inner_.Finish(body, outer, attachments);
  }

 private:
  FlatBufferBuilder& builder() { return inner_.builder(); }

  Offset<Numbers> WriteNames(const Names& names) {
    if (names.empty()) return 0;
    std::vector<uint32_t> numbers;
    numbers.reserve(names.size());
    for (const std::string& name : names) {
      numbers.push_back(inner_.Number(name));
    }
    return builder().CreateVector(numbers);
  }

  // Returns the number of the list, which most nodes share with others.
  uint32_t KernelTypes(const Names& types) {
    if (types.empty()) return 0;
    const auto [it, is_new] = list_numbers_.try_emplace(
        types, static_cast<uint32_t>(lists_.size() + 1));
    if (is_new) {
      lists_.push_back(
          schemas::CreateDeviceTypes(builder(), WriteNames(types)));
    }
    return it->second;
  }

  Offset<flatbuffers::Vector<const schemas::PlacementInput*>> WriteInputs(
      const PlacementNode& node) {
    if (node.inputs.empty()) return 0;
    std::vector<schemas::PlacementInput> inputs;
    inputs.reserve(node.inputs.size());
    for (const PlacementNode::Input& input : node.inputs) {
      inputs.emplace_back(static_cast<uint32_t>(input.node),
                          input.shares_device);
    }
    return builder().CreateVectorOfStructs(inputs);
  }

  absl::StatusOr<Offset<schemas::PlacementNode>> WriteNode(
      const PlacementNode& node) {
    const size_t num_parts = node.inputs.size() + node.colocate_with.size() +
                             2 * node.kernel_types.size();
    RETURN_IF_ERROR(
        inner_.CheckRoom(node.name.size() + kNodeOverhead +
                         num_parts * sizeof(schemas::PlacementInput)));
    Offset<schemas::NamedResource> resource = 0;
    if (node.resource) {
      ASSIGN_OR_RETURN(resource, WriteResource(*node.resource, inner_));
    }
    const auto name = builder().CreateString(node.name);
    const auto inputs = WriteInputs(node);
    const auto colocate_with = WriteNames(node.colocate_with);
    const uint32_t types = KernelTypes(node.kernel_types);
    return schemas::CreatePlacementNode(builder(), name, inner_.Number(node.op),
                                        inner_.Number(node.assigned_device),
                                        inner_.Number(node.requested_device),
                                        types, inputs, colocate_with,
                                        node.is_generator, node.is_metadata,
                                        inner_.Number(node.attrs), resource);
  }

  InnerWriter inner_;
  absl::flat_hash_map<Names, uint32_t> list_numbers_;
  std::vector<Offset<schemas::DeviceTypes>> lists_;
};

class GraphReader {
 public:
  static absl::StatusOr<PlacementGraph> Read(const schemas::Bytes* bytes,
                                             MessageReader& outer) {
    ASSIGN_OR_RETURN(InnerReader inner,
                     InnerReader::Open<schemas::PlacementGraph>(bytes, outer));
    GraphReader reader(std::move(inner));
    RETURN_IF_ERROR(reader.ReadKernelTypes());
    return reader.ReadNodes();
  }

 private:
  explicit GraphReader(InnerReader inner) : inner_(std::move(inner)) {}

  const schemas::PlacementGraph& body() const {
    return inner_.body<schemas::PlacementGraph>();
  }

  absl::StatusOr<Names> ReadNames(const Numbers* numbers) {
    Names result;
    if (numbers == nullptr) return result;
    RETURN_IF_ERROR(
        inner_.reader().SpendCopied(numbers->size() * sizeof(uint32_t)));
    result.reserve(numbers->size());
    for (const uint32_t number : *numbers) {
      ASSIGN_OR_RETURN(std::string name, inner_.Text(number));
      result.push_back(std::move(name));
    }
    return result;
  }

  absl::Status ReadKernelTypes() {
    if (body().kernel_types() == nullptr) return absl::OkStatus();
    for (const schemas::DeviceTypes* list : *body().kernel_types()) {
      RETURN_IF_ERROR(inner_.reader().SpendCopied(kLeastListBytes));
      ASSIGN_OR_RETURN(Names types, ReadNames(list->types()));
      lists_.push_back(std::move(types));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Names> KernelTypes(uint32_t number) {
    if (number == 0) return Names();
    if (number > lists_.size()) {
      return DamagedMessage(absl::StrCat("it names kernel types ", number,
                                         " of ", lists_.size()));
    }
    const Names& types = lists_[number - 1];
    size_t bytes = types.size() * sizeof(std::string);
    for (const std::string& type : types) bytes += type.size();
    RETURN_IF_ERROR(inner_.SpendText(bytes));
    return types;
  }

  absl::Status ReadInputs(const schemas::PlacementNode& node,
                          PlacementNode& result) {
    if (node.inputs() == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(inner_.reader().SpendCopied(
        node.inputs()->size() * sizeof(schemas::PlacementInput)));
    result.inputs.reserve(node.inputs()->size());
    for (const schemas::PlacementInput* input : *node.inputs()) {
      if (input->node() >= body().nodes()->size()) {
        return DamagedMessage(absl::StrCat("node ", result.name, " has input ",
                                           input->node(), " of ",
                                           body().nodes()->size()));
      }
      result.inputs.push_back(
          {static_cast<int>(input->node()), input->shares_device()});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PlacementNode> ReadNode(const schemas::PlacementNode& node) {
    PlacementNode result;
    ASSIGN_OR_RETURN(result.name, inner_.reader().ReadString(node.name()));
    ASSIGN_OR_RETURN(result.op, inner_.Text(node.op()));
    ASSIGN_OR_RETURN(result.assigned_device,
                     inner_.Text(node.assigned_device()));
    ASSIGN_OR_RETURN(result.requested_device,
                     inner_.Text(node.requested_device()));
    ASSIGN_OR_RETURN(result.kernel_types, KernelTypes(node.kernel_types()));
    RETURN_IF_ERROR(ReadInputs(node, result));
    ASSIGN_OR_RETURN(result.colocate_with, ReadNames(node.colocate_with()));
    result.is_generator = node.is_generator();
    result.is_metadata = node.is_metadata();
    ASSIGN_OR_RETURN(result.attrs, inner_.Text(node.attrs()));
    if (node.resource() != nullptr) {
      ASSIGN_OR_RETURN(result.resource, ReadResource(*node.resource(), inner_));
    }
    return result;
  }

  absl::StatusOr<PlacementGraph> ReadNodes() {
    PlacementGraph graph;
    const auto* nodes = body().nodes();
    if (nodes == nullptr) return graph;
    if (nodes->size() > kMaxPlacementNodes) return TooMany(nodes->size());
    RETURN_IF_ERROR(
        inner_.reader().SpendCopied(nodes->size() * kLeastNodeBytes));
    graph.nodes.reserve(nodes->size());
    for (const schemas::PlacementNode* node : *nodes) {
      ASSIGN_OR_RETURN(PlacementNode read, ReadNode(*node));
      graph.nodes.push_back(std::move(read));
    }
    return graph;
  }

  InnerReader inner_;
  std::vector<Names> lists_;
};

// One text for each node, most of them equal to others.
absl::StatusOr<Offset<Numbers>> WriteTexts(const Names& texts,
                                           InnerWriter& inner) {
  RETURN_IF_ERROR(inner.CheckRoom(texts.size() * sizeof(uint32_t)));
  std::vector<uint32_t> numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts) numbers.push_back(inner.Number(text));
  return inner.builder().CreateVector(numbers);
}

absl::StatusOr<Names> ReadTexts(const Numbers* numbers, InnerReader& inner) {
  Names result;
  if (numbers == nullptr) return result;
  if (numbers->size() > kMaxPlacementNodes) return TooMany(numbers->size());
  RETURN_IF_ERROR(
      inner.reader().SpendCopied(numbers->size() * sizeof(uint32_t)));
  result.reserve(numbers->size());
  for (const uint32_t number : *numbers) {
    ASSIGN_OR_RETURN(std::string text, inner.Text(number));
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace

absl::StatusOr<bus::Message> WritePlace(const PlacementRequest& request,
                                        absl::Duration answer_time) {
  const size_t num_nodes = request.graph.nodes.size();
  if (num_nodes > kMaxPlacementNodes) return TooMany(num_nodes);
  FlatBufferBuilder builder;
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto graph,
                   GraphWriter().Write(request.graph, builder, attachments));
  const auto task = builder.CreateString(request.task);
  const auto filters = builder.CreateVectorOfStrings(request.device_filters);
  return Finish(schemas::CreatePlace(
                    builder, request.session, task, request.incarnation, graph,
                    request.allow_soft_placement, request.isolated, filters,
                    request.explain, absl::ToInt64Microseconds(answer_time)),
                builder, std::move(attachments));
}

absl::StatusOr<PlaceCall> ReadPlace(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::Place>(std::move(message)));
  const auto& body = reader.body<schemas::Place>();
  PlaceCall call;
  PlacementRequest& request = call.request;
  request.session = body.session();
  ASSIGN_OR_RETURN(request.task, reader.ReadString(body.task()));
  request.incarnation = body.incarnation();
  ASSIGN_OR_RETURN(request.graph, GraphReader::Read(body.graph(), reader));
  request.allow_soft_placement = body.allow_soft_placement();
  request.isolated = body.isolated();
  ASSIGN_OR_RETURN(request.device_filters,
                   reader.ReadStrings(body.device_filters()));
  request.explain = body.explain();
  call.answer_time =
      absl::Microseconds(std::max<int64_t>(0, body.answer_time_us()));
  return call;
}

absl::StatusOr<bus::Message> WritePlaceReply(const PlacementReply& reply) {
  InnerWriter inner;
  ASSIGN_OR_RETURN(const auto devices, WriteTexts(reply.devices, inner));
  ASSIGN_OR_RETURN(const auto reasons, WriteTexts(reply.reasons, inner));
  ASSIGN_OR_RETURN(const auto strings, inner.WriteStrings());
  const auto placement =
      schemas::CreatePlacement(inner.builder(), strings, devices, reasons);
  FlatBufferBuilder builder;
  Attachments attachments;
  const auto bytes = inner.Finish(placement, builder, attachments);
  return Finish(schemas::CreatePlaceReply(builder, bytes), builder,
                std::move(attachments));
}

absl::StatusOr<PlacementReply> ReadPlaceReply(bus::Message message,
                                              size_t num_nodes) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::PlaceReply>(std::move(message)));
  ASSIGN_OR_RETURN(InnerReader inner,
                   InnerReader::Open<schemas::Placement>(
                       reader.body<schemas::PlaceReply>().placement(), reader));
  const auto& body = inner.body<schemas::Placement>();
  PlacementReply reply;
  ASSIGN_OR_RETURN(reply.devices, ReadTexts(body.devices(), inner));
  ASSIGN_OR_RETURN(reply.reasons, ReadTexts(body.reasons(), inner));
  const size_t num_reasons = reply.reasons.size();
  if (reply.devices.size() != num_nodes ||
      (num_reasons != 0 && num_reasons != num_nodes)) {
    return DamagedMessage(absl::StrCat("it places ", reply.devices.size(),
                                       " nodes with ", num_reasons,
                                       " reasons instead of ", num_nodes));
  }
  return reply;
}

}  // namespace weft::protocol
