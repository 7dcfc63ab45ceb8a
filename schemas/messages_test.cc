// Tests the messages of the bus. They round-trip, malformed bytes are rejected,
// and messages of later or earlier versions are harmless.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "schemas/body_generated.h"
#include "schemas/envelope_generated.h"
#include "schemas/testing/body_of_the_future_generated.h"
#include "schemas/testing/envelope_of_the_future_generated.h"

namespace weft::schemas {
namespace {

constexpr int kMaxDepth = 16;

flatbuffers::Verifier VerifierOf(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
          kMaxDepth};
}

bool IsEnvelope(const std::string& bytes) {
  flatbuffers::Verifier verifier = VerifierOf(bytes);
  return VerifyEnvelopeBuffer(verifier);
}

bool IsMessage(const std::string& bytes) {
  flatbuffers::Verifier verifier = VerifierOf(bytes);
  return VerifyMessageBuffer(verifier);
}

std::string BytesOf(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()),
          builder.GetSize()};
}

// Returns an envelope of a failed reply with attachments, in which all fields
// are set.
std::string FullEnvelope() {
  flatbuffers::FlatBufferBuilder builder;
  // FlatBuffers are built from the end, so the field that is created first is
  // the last one in the bytes. It ends without padding.
  const auto attachments =
      builder.CreateVector(std::vector{CreateAttachment(builder, 100, 0),
                                       CreateAttachment(builder, 1 << 20, 7)});
  const auto error =
      CreateError(builder, 9, builder.CreateString("no x"), true,
                  builder.CreateString("x"), builder.CreateString("ps"));
  FinishEnvelopeBuffer(builder, CreateEnvelope(builder, Kind::Reply, 23, 3,
                                               1000, error, attachments));
  return BytesOf(builder);
}

// Returns a serialized RunPartition with one small feed.
std::string RunPartitionMessage() {
  flatbuffers::FlatBufferBuilder builder;
  const float value = 2.5f;
  const auto* memory = reinterpret_cast<const uint8_t*>(&value);
  const auto data =
      CreateBytes(builder, builder.CreateVector(memory, sizeof(value)));
  const auto shape = builder.CreateVector(std::vector<int64_t>{1});
  const auto tensor = CreateTensor(builder, 1, shape, sizeof(value), data);
  const auto feeds = builder.CreateVector(
      std::vector{CreateIndexedTensor(builder, 42, tensor)});
  const auto fetches = builder.CreateVector(std::vector<uint32_t>{3, 5});
  RunPartitionBuilder run(builder);
  run.add_master_incarnation(99);
  run.add_step(7);
  run.add_steps_finished_below(5);
  run.add_feeds(feeds);
  run.add_fetch_indices(fetches);
  const auto body = run.Finish();
  FinishMessageBuffer(builder,
                      CreateMessage(builder, Body::RunPartition, body.Union()));
  return BytesOf(builder);
}

// Returns serialized Pushes with one live and one dead value.
std::string PushesMessage() {
  flatbuffers::FlatBufferBuilder builder;
  const PushHeader live(1, 2, 3, 4, 5, 6, 0, 0);
  const PushHeader dead(1, 2, 3, 4, 5, 7, static_cast<uint32_t>(PushFlag::Dead),
                        0);
  const auto tensor =
      CreateTensor(builder, 1, 0, 8, CreateBytes(builder, 0, 1));
  const auto pushes = builder.CreateVector(std::vector{
      CreatePush(builder, &live, tensor), CreatePush(builder, &dead, 0)});
  const auto body = CreatePushes(builder, pushes);
  FinishMessageBuffer(builder,
                      CreateMessage(builder, Body::Pushes, body.Union()));
  return BytesOf(builder);
}

TEST(MessagesTest, EnvelopeRoundTrip) {
  const std::string bytes = FullEnvelope();
  ASSERT_TRUE(IsEnvelope(bytes));
  // the file identifiers of envelope and body differ
  EXPECT_FALSE(IsMessage(bytes));
  const Envelope& envelope = *GetEnvelope(bytes.data());
  EXPECT_EQ(envelope.kind(), Kind::Reply);
  EXPECT_EQ(envelope.method(), static_cast<int>(Body::RunPartition));
  EXPECT_EQ(envelope.call_id(), 3u);
  EXPECT_EQ(envelope.time_remaining_us(), 1000);
  ASSERT_NE(envelope.error(), nullptr);
  EXPECT_EQ(envelope.error()->code(), 9);
  EXPECT_TRUE(envelope.error()->derived());
  ASSERT_EQ(envelope.attachments()->size(), 2u);
  EXPECT_EQ(envelope.attachments()->Get(1)->num_bytes(), 1u << 20);
  EXPECT_EQ(envelope.attachments()->Get(1)->stream(), 7u);
}

TEST(MessagesTest, BodyRoundTrip) {
  const std::string bytes = RunPartitionMessage();
  ASSERT_TRUE(IsMessage(bytes));
  EXPECT_FALSE(IsEnvelope(bytes));
  const RunPartition* run = GetMessage(bytes.data())->body_as_RunPartition();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->step(), 7u);
  EXPECT_EQ(run->steps_finished_below(), 5u);
  ASSERT_EQ(run->feeds()->size(), 1u);
  const IndexedTensor& feed = *run->feeds()->Get(0);
  EXPECT_EQ(feed.index(), 42u);
  EXPECT_EQ(feed.tensor()->num_bytes(), 4u);
  EXPECT_EQ(feed.tensor()->data()->bytes()->size(), 4u);
  ASSERT_EQ(run->fetch_indices()->size(), 2u);
  EXPECT_EQ(run->fetch_indices()->Get(1), 5u);
}

TEST(MessagesTest, PushesRoundTrip) {
  const std::string bytes = PushesMessage();
  ASSERT_TRUE(IsMessage(bytes));
  const Pushes* pushes = GetMessage(bytes.data())->body_as_Pushes();
  ASSERT_NE(pushes, nullptr);
  ASSERT_EQ(pushes->pushes()->size(), 2u);
  const Push& live = *pushes->pushes()->Get(0);
  EXPECT_EQ(live.header()->edge(), 4u);
  EXPECT_EQ(live.header()->flags(), 0u);
  EXPECT_EQ(live.tensor()->data()->attachment(), 1u);
  const Push& dead = *pushes->pushes()->Get(1);
  EXPECT_EQ(dead.header()->iteration(), 7u);
  EXPECT_EQ(dead.header()->flags(), static_cast<uint32_t>(PushFlag::Dead));
  EXPECT_EQ(dead.tensor(), nullptr);
}

// Reads each field of the envelope, so that a sanitizer detects invalid
// accesses.
uint64_t ReadAll(const Envelope& envelope) {
  uint64_t sum = envelope.call_id() + envelope.method();
  if (envelope.error() && envelope.error()->text()) {
    sum += envelope.error()->text()->str().size();
  }
  if (!envelope.attachments()) return sum;
  for (const Attachment* a : *envelope.attachments()) sum += a->num_bytes();
  return sum;
}

uint64_t ReadAll(const Message& message) {
  uint64_t sum = 0;
  if (const Pushes* pushes = message.body_as_Pushes();
      pushes && pushes->pushes()) {
    for (const Push* push : *pushes->pushes()) {
      if (push->header()) sum += push->header()->edge();
    }
  }
  const RunPartition* run = message.body_as_RunPartition();
  if (!run || !run->feeds()) return sum;
  for (const IndexedTensor* feed : *run->feeds()) {
    const Bytes* data = feed->tensor() ? feed->tensor()->data() : nullptr;
    if (data && data->bytes()) {
      for (const uint8_t byte : *data->bytes()) sum += byte;
    }
  }
  return sum;
}

void ExpectCutsRefusedAndFlipsSurvived(
    const std::string& bytes,
    const std::function<bool(const std::string&)>& read) {
  ASSERT_TRUE(read(bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(read(bytes.substr(0, i))) << i;
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ mask);
      (void)read(flipped);
    }
  }
}

TEST(MessagesTest, TruncationIsRefusedAndBitFlipsAreHarmless) {
  volatile uint64_t sink = 0;
  ExpectCutsRefusedAndFlipsSurvived(
      FullEnvelope(), [&](const std::string& bytes) {
        if (!IsEnvelope(bytes)) return false;
        sink = ReadAll(*GetEnvelope(bytes.data()));
        return true;
      });
  for (const std::string& message : {RunPartitionMessage(), PushesMessage()}) {
    ExpectCutsRefusedAndFlipsSurvived(message, [&](const std::string& bytes) {
      if (!IsMessage(bytes)) return false;
      sink = ReadAll(*GetMessage(bytes.data()));
      return true;
    });
  }
}

TEST(MessagesTest, StructsHaveAFixedLayout) {
  EXPECT_EQ(sizeof(PushHeader), 56u);
  EXPECT_EQ(alignof(PushHeader), 8u);
  EXPECT_EQ(sizeof(ChunkHeader), 24u);
  EXPECT_EQ(sizeof(PlacementInput), 8u);
  EXPECT_EQ(alignof(ChunkHeader), 8u);
  const PushHeader push(1, 2, 3, 4, 5, 6, 7, 0);
  const auto* words = reinterpret_cast<const uint64_t*>(&push);
  for (uint64_t i = 0; i < 7; ++i) EXPECT_EQ(words[i], i + 1);
  const ChunkHeader chunk(1, 2, 3);
  words = reinterpret_cast<const uint64_t*>(&chunk);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(words[i], i + 1);
}

TEST(MessagesTest, NumbersOfBodiesNeverChange) {
  EXPECT_EQ(static_cast<int>(Body::Hello), 1);
  EXPECT_EQ(static_cast<int>(Body::Done), 5);
  EXPECT_EQ(static_cast<int>(Body::CreateSession), 6);
  EXPECT_EQ(static_cast<int>(Body::RunCallable), 13);
  EXPECT_EQ(static_cast<int>(Body::ListDevicesReply), 18);
  EXPECT_EQ(static_cast<int>(Body::CreateWorkerSession), 19);
  EXPECT_EQ(static_cast<int>(Body::RunPartition), 23);
  EXPECT_EQ(static_cast<int>(Body::Abort), 25);
  EXPECT_EQ(static_cast<int>(Body::Pushes), 27);
  EXPECT_EQ(static_cast<int>(Body::GetStatus), 29);
  EXPECT_EQ(static_cast<int>(Body::JoinCluster), 30);
  EXPECT_EQ(static_cast<int>(Body::Place), 35);
  EXPECT_EQ(static_cast<int>(Body::ShutdownCluster), 42);
  EXPECT_EQ(static_cast<int>(Body::TaskReport), 43);
  EXPECT_EQ(static_cast<int>(Body::ClusterStatus), 46);
  EXPECT_EQ(static_cast<int>(Body::DescribeWaitsReply), 48);
  EXPECT_EQ(static_cast<int>(Body::FileOperationReply), 50);
  EXPECT_EQ(static_cast<int>(Body::HoldStepsReply), 52);
  EXPECT_EQ(static_cast<int>(Body::RegisterPartitionReply), 53);
}

// Returns an envelope of a later version with more fields, a new kind and a new
// method.
std::string EnvelopeOfTheFuture() {
  flatbuffers::FlatBufferBuilder builder;
  const auto stack = builder.CreateVector(
      std::vector{builder.CreateString("a"), builder.CreateString("b")});
  const auto error =
      future::CreateError(builder, 5, builder.CreateString("no x"), true, 0,
                          builder.CreateString("/job:ps/task:0"), stack);
  const auto attachments = builder.CreateVector(
      std::vector{future::CreateAttachment(builder, 8, 1, 0xdecade)});
  future::FinishEnvelopeBuffer(
      builder, future::CreateEnvelope(builder, future::Kind::Telepathy, 99, 3,
                                      -1, error, attachments, 11, 30,
                                      builder.CreateString("good")));
  return BytesOf(builder);
}

TEST(MessagesTest, FieldsOfALaterEnvelopeAreIgnored) {
  const std::string bytes = EnvelopeOfTheFuture();
  ASSERT_TRUE(IsEnvelope(bytes));
  const Envelope& envelope = *GetEnvelope(bytes.data());
  EXPECT_EQ(static_cast<int>(envelope.kind()), 4);
  EXPECT_EQ(envelope.method(), 99);
  ASSERT_NE(envelope.error(), nullptr);
  EXPECT_EQ(envelope.error()->code(), 5);
  EXPECT_EQ(envelope.error()->text()->str(), "no x");
  EXPECT_TRUE(envelope.error()->derived());
  EXPECT_EQ(envelope.error()->node(), nullptr);
  ASSERT_EQ(envelope.attachments()->size(), 1u);
  EXPECT_EQ(envelope.attachments()->Get(0)->stream(), 1u);
  EXPECT_EQ(envelope.master_incarnation(), 11u);
  EXPECT_EQ(envelope.step(), 30u);
}

TEST(MessagesTest, FieldsOfALaterBodyAreIgnored) {
  flatbuffers::FlatBufferBuilder builder;
  const auto haste =
      builder.CreateVector(std::vector{builder.CreateString("now")});
  const auto run = future::CreateRunPartition(builder, 99, 2, 3, 7, 5, 0, 0,
                                              true, 0, 0, haste);
  future::FinishMessageBuffer(
      builder, future::CreateMessage(builder, future::Body::RunPartition,
                                     run.Union(), builder.CreateString("t")));
  const std::string bytes = BytesOf(builder);
  ASSERT_TRUE(IsMessage(bytes));
  const RunPartition* seen = GetMessage(bytes.data())->body_as_RunPartition();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->step(), 7u);
  EXPECT_EQ(seen->feeds(), nullptr);
  EXPECT_TRUE(seen->collect_stats());
}

TEST(MessagesTest, UnknownBodyIsRecognized) {
  flatbuffers::FlatBufferBuilder builder;
  const auto unheard =
      future::CreateUnheard(builder, builder.CreateString("of"));
  future::FinishMessageBuffer(
      builder,
      future::CreateMessage(builder, future::Body::Unheard, unheard.Union()));
  const std::string bytes = BytesOf(builder);
  ASSERT_TRUE(IsMessage(bytes));
  const Message& message = *GetMessage(bytes.data());
  EXPECT_EQ(static_cast<int>(message.body_type()), 99);
  EXPECT_EQ(message.body_as_RunPartition(), nullptr);
}

TEST(MessagesTest, EarlierEnvelopeHasFewerFields) {
  flatbuffers::FlatBufferBuilder builder;
  FinishEnvelopeBuffer(builder, EnvelopeBuilder(builder).Finish());
  const std::string bytes = BytesOf(builder);
  ASSERT_TRUE(IsEnvelope(bytes));
  EXPECT_EQ(GetEnvelope(bytes.data())->time_remaining_us(), -1);
  EXPECT_EQ(GetEnvelope(bytes.data())->method(), 0);
  EXPECT_EQ(GetEnvelope(bytes.data())->attachments(), nullptr);
}

TEST(MessagesTest, EarlierBodyHasFewerFields) {
  flatbuffers::FlatBufferBuilder builder;
  const auto run = RunCallableBuilder(builder).Finish();
  FinishMessageBuffer(builder,
                      CreateMessage(builder, Body::RunCallable, run.Union()));
  const std::string bytes = BytesOf(builder);
  ASSERT_TRUE(IsMessage(bytes));
  const RunCallable* seen = GetMessage(bytes.data())->body_as_RunCallable();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->timeout_us(), -1);
  EXPECT_EQ(seen->feeds(), nullptr);
}

}  // namespace
}  // namespace weft::schemas
