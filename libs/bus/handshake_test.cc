#include "libs/bus/handshake.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/learned_uuid.h"

namespace weft::bus {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

Identity Task(const std::string& name,
              std::shared_ptr<const LearnedUuid> learned_uuid) {
  return {
      .task = name, .incarnation = 7, .learned_uuid = std::move(learned_uuid)};
}

// Returns the HELLO that the peer reads if this identity sends one now.
Hello Said(const Identity& self) {
  Hello hello;
  hello.self = self;
  const auto read = DecodeHello(EncodeHello(hello));
  EXPECT_OK(read);
  return read.value_or(Hello());
}

HelloReply Answered(const Identity& self) {
  HelloReply reply;
  reply.self = self;
  reply.bulk_port = reply.max_control_bytes = 1;
  reply.credit_bytes = reply.bulk_token = 1;
  const auto read = DecodeHelloReply(EncodeHelloReply(reply));
  EXPECT_OK(read);
  return read.value_or(HelloReply());
}

TEST(HandshakeTest, HelloCarriesTheClusterOnceKnown) {
  const auto uuid = std::make_shared<LearnedUuid>();
  const Identity self = Task(kPs, uuid);
  EXPECT_EQ(Said(self).self.cluster_uuid, "");
  EXPECT_EQ(Answered(self).self.cluster_uuid, "");
  uuid->Set("c0ffee");
  EXPECT_EQ(Said(self).self.cluster_uuid, "c0ffee");
  EXPECT_EQ(Answered(self).self.cluster_uuid, "c0ffee");
}

TEST(HandshakeTest, UnknownClusterMatchesAnyCluster) {
  const auto ours = std::make_shared<LearnedUuid>();
  const auto theirs = std::make_shared<LearnedUuid>();
  const Identity ps = Task(kPs, ours);
  const Identity worker = Task(kWorker, theirs);
  EXPECT_OK(CheckHello(ps, Said(worker)));
  theirs->Set("c0ffee");
  EXPECT_OK(CheckHello(ps, Said(worker)));
  EXPECT_OK(CheckHelloReply(ps, kWorker, Answered(worker)));
  ours->Set("c0ffee");
  EXPECT_OK(CheckHello(ps, Said(worker)));
  EXPECT_OK(CheckHelloReply(ps, kWorker, Answered(worker)));
}

TEST(HandshakeTest, TaskOfAnotherClusterIsRefusedNamingBoth) {
  const auto ours = std::make_shared<LearnedUuid>();
  const auto theirs = std::make_shared<LearnedUuid>();
  ours->Set("c0ffee");
  theirs->Set("decade");
  const Identity ps = Task(kPs, ours);
  const Identity worker = Task(kWorker, theirs);
  for (const absl::Status& refusal :
       {CheckHello(ps, Said(worker)),
        CheckHelloReply(worker, kPs, Answered(ps))}) {
    EXPECT_THAT(refusal,
                StatusIs(kRefused,
                         "/job:ps/replica:0/task:0 belongs to another cluster "
                         "than /job:worker/replica:0/task:0: c0ffee is not "
                         "decade; compare the addresses"));
  }
  EXPECT_OK(CheckHello(ps, Said(Task("", nullptr)))) << "a client";
}

}  // namespace
}  // namespace weft::bus
