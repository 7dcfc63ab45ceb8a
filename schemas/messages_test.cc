// The bus's messages survive the trip, bad bytes are refused, and what a later
// version adds does no harm.
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "schemas/envelope_generated.h"
#include "schemas/testing/envelope_of_the_future_generated.h"

namespace weft::wire {
namespace {

constexpr int kMaxDepth = 16;

bool IsValid(const std::string& bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()),
                                 bytes.size(), kMaxDepth);
  return VerifyEnvelopeBuffer(verifier);
}

template <typename Builder>
std::string BytesOf(const Builder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()),
          builder.GetSize()};
}

// A RunPartition with one small feed.
std::string RunPartitionMessage() {
  flatbuffers::FlatBufferBuilder builder;
  const float value = 2.5f;
  const auto* memory = reinterpret_cast<const uint8_t*>(&value);
  const auto data =
      CreateBytes(builder, builder.CreateVector(memory, sizeof(value)));
  const auto shape = builder.CreateVector(std::vector<int64_t>{1});
  const auto tensor = CreateTensor(builder, 1, shape, sizeof(value), data);
  const auto feeds =
      builder.CreateVector(std::vector{CreateEdgeTensor(builder, 42, tensor)});
  RunPartitionBuilder run(builder);
  run.add_master_incarnation(99);
  run.add_step(7);
  run.add_steps_over_below(5);
  run.add_feeds(feeds);
  const auto body = run.Finish();
  FinishEnvelopeBuffer(builder,
                       CreateEnvelope(builder, Kind::Request, 3, 1000, 99, 0,
                                      Body::RunPartition, body.Union()));
  return BytesOf(builder);
}

TEST(MessagesTest, RoundTrip) {
  const std::string bytes = RunPartitionMessage();
  ASSERT_TRUE(IsValid(bytes));
  const Envelope& envelope = *GetEnvelope(bytes.data());
  EXPECT_EQ(envelope.kind(), Kind::Request);
  EXPECT_EQ(envelope.call_id(), 3u);
  EXPECT_EQ(envelope.time_remaining_us(), 1000);
  EXPECT_EQ(envelope.error(), nullptr);
  const RunPartition* run = envelope.body_as_RunPartition();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->step(), 7u);
  EXPECT_EQ(run->steps_over_below(), 5u);
  ASSERT_EQ(run->feeds()->size(), 1u);
  const EdgeTensor& feed = *run->feeds()->Get(0);
  EXPECT_EQ(feed.edge(), 42u);
  EXPECT_EQ(feed.tensor()->num_bytes(), 4u);
  EXPECT_EQ(feed.tensor()->data()->bytes()->size(), 4u);
}

TEST(MessagesTest, EachCutIsRefusedAndEachFlipIsSurvived) {
  const std::string bytes = RunPartitionMessage();
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(IsValid(bytes.substr(0, i))) << i;
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
    (void)IsValid(flipped);
  }
}

TEST(MessagesTest, HeadersHaveTheSameLayoutForAll) {
  EXPECT_EQ(sizeof(PushHeader), 48u);
  EXPECT_EQ(sizeof(ChunkHeader), 24u);
}

// A message of a later version: more fields, a new body, a new kind.
std::string MessageOfTheFuture() {
  flatbuffers::FlatBufferBuilder builder;
  const auto stack = builder.CreateVector(
      std::vector{builder.CreateString("a"), builder.CreateString("b")});
  const auto error =
      future::CreateError(builder, 5, builder.CreateString("no x"), true, 0,
                          builder.CreateString("/job:ps/task:0"), stack);
  const auto unheard =
      future::CreateUnheard(builder, builder.CreateString("of"));
  future::FinishEnvelopeBuffer(
      builder,
      future::CreateEnvelope(builder, future::Kind::Telepathy, 3, -1, 99, error,
                             future::Body::Unheard, unheard.Union(),
                             builder.CreateString("good")));
  return BytesOf(builder);
}

TEST(MessagesTest, WhatALaterVersionAddsDoesNoHarm) {
  const std::string bytes = MessageOfTheFuture();
  ASSERT_TRUE(IsValid(bytes));
  const Envelope& envelope = *GetEnvelope(bytes.data());
  EXPECT_EQ(static_cast<int>(envelope.kind()), 4);
  EXPECT_EQ(static_cast<int>(envelope.body_type()), 99);
  EXPECT_EQ(envelope.body_as_RunPartition(), nullptr);
  ASSERT_NE(envelope.error(), nullptr);
  EXPECT_EQ(envelope.error()->code(), 5);
  EXPECT_EQ(envelope.error()->text()->str(), "no x");
  EXPECT_TRUE(envelope.error()->derived());
  EXPECT_EQ(envelope.error()->node(), nullptr);
}

TEST(MessagesTest, AnEarlierVersionLeavesFieldsOut) {
  flatbuffers::FlatBufferBuilder builder;
  FinishEnvelopeBuffer(builder, EnvelopeBuilder(builder).Finish());
  const std::string bytes = BytesOf(builder);
  ASSERT_TRUE(IsValid(bytes));
  EXPECT_EQ(GetEnvelope(bytes.data())->time_remaining_us(), -1);
  EXPECT_EQ(GetEnvelope(bytes.data())->body_type(), Body::NONE);
}

}  // namespace
}  // namespace weft::wire
