// Tests that a graph to be placed is decoded as it was encoded, that its
// encoding is compact, and that a damaged one is refused or at least harmless.
#include "libs/protocol/coordinator/placement_messages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/damage.h"

namespace weft::protocol {
namespace {

using testing::IsEmpty;

constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";

// One node that was placed before, and two that use all fields.
PlacementGraph SampleGraph() {
  PlacementNode old;
  old.name = "x";
  old.op = "VariableV2";
  old.assigned_device = kPs;
  PlacementNode variable;
  variable.name = "y";
  variable.op = "VariableV2";
  variable.requested_device = "/job:ps";
  variable.kernel_types = {"GPU", "CPU"};
  variable.is_generator = true;
  variable.attrs = "dtype=DT_FLOAT";
  variable.resource = NamedResource{
      "model_1", "y", "Var", DT_FLOAT, PartialShape({2, -1}), "Variable"};
  PlacementNode assign;
  assign.name = "y/Assign";
  assign.op = "Assign";
  assign.kernel_types = {"GPU", "CPU"};
  assign.inputs = {{1, true}, {0, false}};
  assign.colocate_with = {"y", "x"};
  assign.is_metadata = true;
  assign.resource = NamedResource{"", "", "", DT_INVALID, PartialShape()};
  return {{old, variable, assign}};
}

PlacementRequest SampleRequest(PlacementGraph graph = SampleGraph()) {
  PlacementRequest request;
  request.session = 7;
  request.task = "/job:worker/replica:0/task:1";
  request.incarnation = 11;
  request.graph = std::move(graph);
  request.allow_soft_placement = true;
  request.device_filters = {"/job:ps", "/job:worker/task:1"};
  request.explain = true;
  return request;
}

// A chain of nodes like those of a large model.
PlacementGraph LargeGraph(int num_nodes) {
  PlacementGraph graph;
  graph.nodes.reserve(num_nodes);
  for (int i = 0; i < num_nodes; ++i) {
    PlacementNode node;
    node.name = absl::StrCat("tower_", i % 8, "/layer/op_", i);
    node.op = i % 2 == 0 ? "MatMul" : "AddV2";
    node.requested_device = absl::StrCat("/job:worker/task:", i % 8);
    node.kernel_types = {"GPU", "CPU"};
    if (i > 0) node.inputs = {{i - 1, false}, {i / 2, false}};
    node.attrs = "T=DT_FLOAT, transpose_a=false, transpose_b=false";
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

size_t SizeOf(const bus::Message& message) {
  size_t bytes = message.body.size();
  for (const bus::Blob& blob : message.attachments) bytes += blob.size();
  return bytes;
}

absl::StatusOr<PlaceCall> RoundTrip(const PlacementRequest& request) {
  auto message = WritePlace(request, absl::Milliseconds(500));
  if (!message.ok()) return message.status();
  return ReadPlace(*std::move(message));
}

TEST(PlacementMessagesTest, PlaceRoundTrips) {
  const PlacementRequest request = SampleRequest();
  ASSERT_OK_AND_ASSIGN(const PlaceCall read, RoundTrip(request));
  EXPECT_EQ(read.answer_time, absl::Milliseconds(500));
  EXPECT_EQ(read.request.session, 7u);
  EXPECT_EQ(read.request.task, request.task);
  EXPECT_EQ(read.request.incarnation, 11u);
  EXPECT_TRUE(read.request.graph == request.graph);
  EXPECT_TRUE(read.request.allow_soft_placement);
  EXPECT_FALSE(read.request.isolated);
  EXPECT_EQ(read.request.device_filters, request.device_filters);
  EXPECT_TRUE(read.request.explain);
}

TEST(PlacementMessagesTest, EmptyPlacementRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const PlaceCall read, RoundTrip({}));
  EXPECT_THAT(read.request.graph.nodes, IsEmpty());
  EXPECT_THAT(read.request.device_filters, IsEmpty());
}

TEST(PlacementMessagesTest, AnswerTimesAreNotNegative) {
  ASSERT_OK_AND_ASSIGN(bus::Message message,
                       WritePlace({}, -absl::Seconds(100)));
  ASSERT_OK_AND_ASSIGN(const PlaceCall read, ReadPlace(std::move(message)));
  EXPECT_EQ(read.answer_time, absl::ZeroDuration());
}

TEST(PlacementMessagesTest, LargeGraphIsEncodedCompactly) {
  constexpr int kNodes = 100000;
  const PlacementRequest request = SampleRequest(LargeGraph(kNodes));
  ASSERT_OK_AND_ASSIGN(const bus::Message message,
                       WritePlace(request, absl::ZeroDuration()));
  EXPECT_LT(SizeOf(message), size_t{110} * kNodes);
  EXPECT_LT(message.body.size(), 1024u);  // the rest may be streamed
  ASSERT_OK_AND_ASSIGN(const PlaceCall read, ReadPlace(message));
  EXPECT_TRUE(read.request.graph == request.graph);
}

TEST(PlacementMessagesTest, PlaceReplyRoundTrips) {
  PlacementReply reply;
  reply.devices = {kPs, "/job:worker/replica:0/task:0/device:GPU:0", kPs};
  ASSERT_OK_AND_ASSIGN(bus::Message message, WritePlaceReply(reply));
  ASSERT_OK_AND_ASSIGN(PlacementReply read,
                       ReadPlaceReply(std::move(message), 3));
  EXPECT_EQ(read.devices, reply.devices);
  EXPECT_THAT(read.reasons, IsEmpty());
  reply.reasons = {"it was there", "asked for", ""};
  ASSERT_OK_AND_ASSIGN(message, WritePlaceReply(reply));
  ASSERT_OK_AND_ASSIGN(read, ReadPlaceReply(message, 3));
  EXPECT_EQ(read.reasons, reply.reasons);
  EXPECT_THAT(ReadPlaceReply(message, 4), StatusIs(kInvalid, "instead of 4"));
}

TEST(PlacementMessagesTest, ReasonsCoverAllNodesOrNone) {
  PlacementReply reply;
  reply.devices = {kPs, kPs};
  reply.reasons = {"asked for"};
  ASSERT_OK_AND_ASSIGN(const bus::Message message, WritePlaceReply(reply));
  EXPECT_THAT(ReadPlaceReply(message, 2), StatusIs(kInvalid, "1 reasons"));
}

TEST(PlacementMessagesTest, InputsMustBeInTheGraph) {
  for (const int input : {3, 1 << 30, -1}) {
    PlacementGraph graph = SampleGraph();
    graph.nodes[2].inputs[1].node = input;
    EXPECT_THAT(RoundTrip(SampleRequest(graph)),
                StatusIs(kInvalid, "node y/Assign has input"))
        << input;
  }
}

TEST(PlacementMessagesTest, InvalidTypesAndShapesAreRefused) {
  PlacementGraph graph = SampleGraph();
  graph.nodes[1].resource->dtype = static_cast<DataType>(99);
  EXPECT_THAT(RoundTrip(SampleRequest(graph)), StatusIs(kInvalid, "dtype 99"));
  graph = SampleGraph();
  graph.nodes[1].resource->shape = PartialShape(Dims{2, -7});
  EXPECT_THAT(RoundTrip(SampleRequest(graph)), StatusIs(kInvalid));
  graph.nodes[1].resource->shape = PartialShape(Dims(kMaxRank + 1, 1));
  EXPECT_THAT(RoundTrip(SampleRequest(graph)), StatusIs(kInvalid, "rank"));
  for (const PartialShape& shape :
       {PartialShape(), PartialShape::Scalar(), PartialShape::OfRank(3)}) {
    graph.nodes[1].resource->shape = shape;
    ASSERT_OK_AND_ASSIGN(const PlaceCall read, RoundTrip(SampleRequest(graph)));
    EXPECT_TRUE(read.request.graph == graph);
  }
}

TEST(PlacementMessagesTest, ShortMessageCannotExpandToLongText) {
  PlacementGraph graph = LargeGraph(1200);
  const std::string text(100000, 'a');
  for (PlacementNode& node : graph.nodes) node.attrs = text;
  EXPECT_THAT(RoundTrip(SampleRequest(graph)),
              StatusIs(absl::StatusCode::kResourceExhausted, "text"));
  graph = LargeGraph(300);
  const std::vector<std::string> types(300, std::string(1000, 'g'));
  for (PlacementNode& node : graph.nodes) node.kernel_types = types;
  EXPECT_THAT(RoundTrip(SampleRequest(graph)),
              StatusIs(absl::StatusCode::kResourceExhausted, "text"));
}

// A damaged request that can be parsed must still be one that a coordinator
// accepts.
bool ReadsAsPlace(bus::Message message) {
  const auto read = ReadPlace(std::move(message));
  if (!read.ok()) return false;
  const auto num_nodes = static_cast<int>(read->request.graph.nodes.size());
  for (const PlacementNode& node : read->request.graph.nodes) {
    for (const PlacementNode::Input& input : node.inputs) {
      EXPECT_GE(input.node, 0);
      EXPECT_LT(input.node, num_nodes);
    }
  }
  return true;
}

TEST(PlacementMessagesTest, DamagedBytesAreRefusedOrHarmless) {
  ASSERT_OK_AND_ASSIGN(const bus::Message place,
                       WritePlace(SampleRequest(), absl::Milliseconds(500)));
  ASSERT_THAT(place.attachments, IsEmpty());
  ReadDamaged(place, ReadsAsPlace);
  ASSERT_OK_AND_ASSIGN(const bus::Message reply,
                       WritePlaceReply({{kPs, kPs}, {"asked for", ""}}));
  ReadDamaged(reply, [](bus::Message message) {
    return ReadPlaceReply(std::move(message), 2).ok();
  });
}

TEST(PlacementMessagesTest, DamagedAttachmentsAreRefusedOrHarmless) {
  ASSERT_OK_AND_ASSIGN(
      const bus::Message place,
      WritePlace(SampleRequest(LargeGraph(30)), absl::ZeroDuration()));
  ASSERT_EQ(place.attachments.size(), 1u);
  const std::string graph(place.attachments[0].view());
  ASSERT_TRUE(ReadsAsPlace(place));
  const auto with = [&](std::string bytes) {
    bus::Message message = place;
    message.attachments[0] = bus::Blob::FromString(std::move(bytes));
    return message;
  };
  for (size_t i = 0; i < graph.size(); ++i) {
    const bool was_read = ReadsAsPlace(with(graph.substr(0, i)));
    EXPECT_FALSE(was_read && i + 8 < graph.size()) << "cut at " << i;
    std::string flipped = graph;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
    (void)ReadsAsPlace(with(std::move(flipped)));
  }
}

TEST(PlacementMessagesTest, MessageTypesAreNotConfused) {
  ASSERT_OK_AND_ASSIGN(bus::Message reply, WritePlaceReply({{kPs}, {}}));
  EXPECT_THAT(ReadPlace(reply), StatusIs(kInvalid, "Place"));
  reply.method = static_cast<uint8_t>(Method::kPlace);
  EXPECT_THAT(ReadPlace(reply), StatusIs(kInvalid, "Place"));
}

}  // namespace
}  // namespace weft::protocol
