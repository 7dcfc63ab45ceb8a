// Tests which replicas of a synchronous training count as ended after programs
// and sessions have restarted.
#include "libs/train/sync_replicas/sync_replicas_members.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/train/sessions/training_members.h"

namespace weft::train {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kMaxWait = absl::Minutes(10);

class SyncReplicasMembersTest : public testing::Test {
 protected:
  struct Part {
    std::string name;
    bool is_numbered = true;
    int num_replicas = 2;
  };
  // One program from its start. In its training, an update needs gradients from
  // two replicas.
  class Program {
   public:
    Program(SyncReplicasMembersTest& test, bool is_chief, const Part& part)
        : random_(NewSeededRandom(++test.num_programs_)),
          members_(nodes_, {is_chief, kMaxWait, random_.get()}, test.logger_) {
      const Scope root = Scope::Root();
      nodes_.total_num_replicas = part.num_replicas;
      nodes_.replicas_to_aggregate = 2;
      nodes_.global_step =
          GetOrCreateGlobalStep(root.WithDevice("/job:ps/task:0"));
      nodes_.own_name = part.name;
      nodes_.is_numbered = part.is_numbered;
      EXPECT_OK(members_.AddNodes(root));
      EXPECT_OK(reader_.AddNodes(root, nodes_.global_step.handle()));
      session_ = Session::Connect(test.cluster_.target("worker", 0), root,
                                  test.cluster_.session_options())
                     .value();
    }
    void BeginSession(int64_t training = 0) {
      EXPECT_OK(members_.BeginSession(*session_, training));
    }
    void JoinTraining(int64_t training) {
      members_.JoinTraining(*session_, training);
    }
    void End(int64_t training = 0) {
      EXPECT_OK(members_.ReportEnded(*session_, training));
    }
    void Beat() { members_.Beat(*session_); }
    // Returns whether too few replicas remain for an update. The first check
    // always returns false, because a second one must confirm it.
    bool AreTooFew(int64_t wait) {
      return members_.AreTooFew(*session_, wait).value();
    }
    bool AreTooFewTwice(int64_t wait) {
      return AreTooFew(wait) || AreTooFew(wait);
    }
    std::string Describe() const { return members_.Describe(); }
    size_t NumEntries() { return reader_.Read(*session_).value().size(); }

   private:
    SyncReplicasNodes nodes_;
    const std::unique_ptr<Random> random_;
    SyncReplicasMembers members_;
    TrainingMembers reader_{"sync_replicas_members", "the test"};
    std::unique_ptr<Session> session_;
  };

  static TestCluster::Options ClusterOptions() {
    TestCluster::Options options;
    options.kind = ClusterKind::kSimulated;
    options.jobs = {{"ps", 1}, {"worker", 1}};
    return options;
  }
  Program Chief(int num_replicas = 2) {
    return Program(*this, true, {"replica 0", true, num_replicas});
  }
  Program Replica() { return Program(*this, false, {"replica 1"}); }
  void Sleep(absl::Duration duration) {
    Scheduler& scheduler = cluster_.scheduler();
    scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + duration);
  }
  std::string Lines() const { return absl::StrJoin(logger_.lines(), "\n"); }

  uint64_t num_programs_ = 0;
  RecordingLogger logger_;
  TestCluster cluster_{ClusterOptions()};
};

TEST_F(SyncReplicasMembersTest, EndedReplicaCountsAtTheNextCheck) {
  Program chief = Chief(), replica = Replica();
  chief.BeginSession();
  replica.BeginSession();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  replica.End();
  EXPECT_TRUE(chief.AreTooFewTwice(1));
  EXPECT_THAT(Lines(), HasSubstr("have ended: replica 1."));
}

TEST_F(SyncReplicasMembersTest, NewSessionOfTheChiefKnowsEndedReplicas) {
  Program chief = Chief(), replica = Replica();
  chief.BeginSession();
  replica.BeginSession();
  replica.End();
  chief.BeginSession();
  EXPECT_TRUE(chief.AreTooFewTwice(1));
}

// A replica has ended before a new chief starts. The chief cannot know whether
// this replica restarts, too, so it waits first.
TEST_F(SyncReplicasMembersTest, NewChiefFirstWaitsForEndedReplicas) {
  {
    Program chief = Chief(), replica = Replica();
    chief.BeginSession();
    replica.BeginSession();
    replica.End();
  }
  Program next = Chief();
  next.BeginSession();
  EXPECT_FALSE(next.AreTooFewTwice(1));
  Sleep(kMaxWait - absl::Minutes(1));
  EXPECT_FALSE(next.AreTooFewTwice(1));
  EXPECT_THAT(next.Describe(), HasSubstr("not started again: replica 1."));
  EXPECT_EQ(Lines(), "");
  Sleep(absl::Minutes(1));
  EXPECT_TRUE(next.AreTooFewTwice(1));
  EXPECT_THAT(Lines(), HasSubstr("have ended: replica 1."));
}

TEST_F(SyncReplicasMembersTest, EachUpdateRestartsWaitForEndedReplicas) {
  {
    Program replica = Replica();
    replica.BeginSession();
    replica.End();
  }
  Program chief = Chief();
  chief.BeginSession();
  for (int wait = 1; wait <= 5; ++wait) {
    EXPECT_FALSE(chief.AreTooFewTwice(wait));
    Sleep(kMaxWait - absl::Minutes(1));
    EXPECT_FALSE(chief.AreTooFewTwice(wait));
  }
  // -1 means that the chief does not wait for gradients now, for example
  // because it saves variables.
  Sleep(kMaxWait);
  EXPECT_FALSE(chief.AreTooFewTwice(-1));
}

// A restarted replica has not ended, even if it starts late and runs only for a
// short time.
TEST_F(SyncReplicasMembersTest, RestartedReplicaHasNotEnded) {
  {
    Program replica = Replica();
    replica.BeginSession();
    replica.End();
  }
  Program chief = Chief();
  chief.BeginSession();
  Sleep(kMaxWait - absl::Minutes(1));
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  Program again = Replica();
  again.BeginSession();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  Sleep(2 * kMaxWait);
  EXPECT_FALSE(chief.AreTooFewTwice(1)) << "it is silent, and may come back";
  again.End();
  EXPECT_TRUE(chief.AreTooFewTwice(1));
}

// A replica restarts and ends again between two checks. The chief sees only
// that the entry of the replica has changed.
TEST_F(SyncReplicasMembersTest, ReplicaThatEndsBetweenChecksHasEnded) {
  {
    Program replica = Replica();
    replica.BeginSession();
    replica.End();
  }
  Program chief = Chief();
  chief.BeginSession();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  Sleep(absl::Seconds(1));
  Program again = Replica();
  again.BeginSession();
  again.End();
  EXPECT_TRUE(chief.AreTooFewTwice(1));
}

// A restarted replica without a number has another name. The entry of the old
// one may send no heartbeat for a long time and then continue.
TEST_F(SyncReplicasMembersTest, RestartedUnnumberedReplicaHasNotEnded) {
  const Part part = {"/job:worker/task:1", /*is_numbered=*/false};
  for (const bool is_before_the_chief : {false, true}) {
    const int64_t training = is_before_the_chief ? 1 : 0;
    {
      Program replica(*this, false, part);
      replica.BeginSession(training);
      replica.End(training);
    }
    Program chief = Chief(), again(*this, false, part);
    if (is_before_the_chief) again.BeginSession(training);
    chief.BeginSession(training);
    EXPECT_FALSE(chief.AreTooFewTwice(1));
    if (!is_before_the_chief) again.BeginSession(training);
    EXPECT_FALSE(chief.AreTooFewTwice(1));
    Sleep(kMaxWait + absl::Minutes(1));
    EXPECT_FALSE(chief.AreTooFewTwice(1));
    EXPECT_THAT(chief.Describe(), testing::Not(HasSubstr("Ended before")));
    again.End(training);
    EXPECT_TRUE(chief.AreTooFewTwice(1));
  }
}

// Two replicas without numbers have ended, and only one of them was restarted.
TEST_F(SyncReplicasMembersTest, UnnumberedReplicaWithoutRestartHasEnded) {
  const Part first = {"/job:worker/task:1", /*is_numbered=*/false, 3};
  const Part second = {"/job:worker/task:2", /*is_numbered=*/false, 3};
  for (const Part& part : {first, second}) {
    Program replica(*this, false, part);
    replica.BeginSession();
    replica.End();
  }
  Program chief = Chief(3), again(*this, false, second);
  chief.BeginSession();
  again.BeginSession();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  EXPECT_THAT(chief.Describe(),
              HasSubstr("not started again: /job:worker/task:1."));
  again.End();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  Sleep(kMaxWait);
  EXPECT_TRUE(chief.AreTooFewTwice(1));
}

// A replica joined a training whose chief has ended. Another chief has begun
// before the replica's next check.
TEST_F(SyncReplicasMembersTest, ReplicaEndsInTheTrainingThatItJoined) {
  Program chief = Chief(), replica = Replica();
  replica.BeginSession(0);
  chief.BeginSession(1);
  replica.JoinTraining(1);
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  replica.End(1);
  replica.JoinTraining(1);
  EXPECT_TRUE(chief.AreTooFewTwice(1));
}

// Several replicas may have the same task name, for example if their programs
// use one server.
TEST_F(SyncReplicasMembersTest, ReplicasOfOneTaskEndOneByOne) {
  Program chief = Chief(3);
  const Part part = {"/job:worker/task:1", /*is_numbered=*/false, 3};
  Program first(*this, false, part), second(*this, false, part);
  chief.BeginSession();
  first.BeginSession();
  second.BeginSession();
  first.End();
  second.Beat();
  EXPECT_FALSE(chief.AreTooFewTwice(1));
  second.End();
  EXPECT_TRUE(chief.AreTooFewTwice(1));
  EXPECT_THAT(Lines(),
              HasSubstr("have ended: /job:worker/task:1, /job:worker/task:1."));
}

// Each replica that replaces another one has a new name. Entries of old names
// are removed.
TEST_F(SyncReplicasMembersTest, ReplacedReplicasLeaveNoEntries) {
  Program chief = Chief();
  chief.BeginSession();
  for (int i = 0; i < 5; ++i) {
    Program replica(*this, false, {"/job:worker/task:1", false});
    replica.BeginSession();
    EXPECT_FALSE(chief.AreTooFewTwice(1));
    Sleep(absl::Seconds(30));
    chief.Beat();
  }
  EXPECT_LE(chief.NumEntries(), 3u);
}

}  // namespace
}  // namespace weft::train
