// Tests a task with few threads on which many sessions wait for a missing task.
// It must still serve requests that need only available tasks. Runs over the
// in-memory wire with real threads.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/api/weft.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/address.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/graph/import/graph_def.h"
#include "libs/protocol/coordinator/coordinator_client.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/master_client.h"

namespace weft {
namespace {

constexpr int kWaiting = 200;
constexpr int kBlockingThreads = 4;

// Returns a graph that computes y = -x on the given job.
std::string GraphOn(const std::string& job) {
  const Scope root = Scope::Root();
  const Scope scope = root.WithDevice(job);
  const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT);
  ops::Neg(scope.WithName("y"), x);
  return ExportGraphDef(root.graph()).value();
}

class WaitingSessionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = Server::Create(
        {{"chief", {"localhost:1000"}}, {"ps", {"localhost:1001"}}},
        {.job_name = "chief",
         .process = server_process_.get(),
         .lease = absl::Milliseconds(100),
         .heartbeat_interval = absl::Milliseconds(50),
         .log_waits_after = absl::Seconds(1),
         .logger = &logger_});
    ASSERT_OK(created);
    server_ = *std::move(created);
  }

  std::unique_ptr<Process> NewProcess(const std::string& name, uint64_t seed) {
    return std::make_unique<Process>(
        nullptr, NewSeededRandom(seed), *scheduler_, [this, name](Scheduler&) {
          return bus::NewMemoryWire(network_, name);
        });
  }
  std::unique_ptr<protocol::MasterClient> Dial() {
    return std::make_unique<protocol::MasterClient>(
        client_process_->transport(),
        protocol::MasterClientOptions{
            .address = *bus::Address::Parse("localhost:1000"),
            .self = {.incarnation = client_process_->random().NextId()},
            .scheduler = scheduler_.get(),
            .allocator = &client_process_->buffers(),
            .operation_timeout = absl::Seconds(60)});
  }

  // Starts `kWaiting` sessions that wait for the missing ps.
  void BeginToWait(protocol::MasterClient& client) {
    protocol::BlockingMaster master(client, *scheduler_);
    const std::string graph = GraphOn("/job:ps");
    for (int i = 0; i < kWaiting; ++i) {
      ASSERT_OK_AND_ASSIGN(const uint64_t session, master.CreateSession({}));
      client.ExtendSession(
          session, {graph, 0}, nullptr,
          [this](const absl::StatusOr<protocol::ExtensionResult>& result) {
            absl::MutexLock lock(&mutex_);
            answers_.push_back(result.status());
          });
    }
  }
  size_t NumAnswers() {
    absl::MutexLock lock(&mutex_);
    return answers_.size();
  }

  const std::unique_ptr<Clock> clock_ = std::make_unique<SystemClock>();
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(
      *clock_,
      {.compute_threads = 2, .max_blocking_threads = kBlockingThreads});
  bus::MemoryNetwork network_{*scheduler_};
  NullLogger logger_;
  std::unique_ptr<Process> server_process_ = NewProcess("chief", 1);
  std::unique_ptr<Process> client_process_ = NewProcess("client", 2);
  std::unique_ptr<Server> server_;
  absl::Mutex mutex_;
  std::vector<absl::Status> answers_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(WaitingSessionsTest, WaitingSessionsDoNotBlockOthers) {
  const auto client = Dial();
  BeginToWait(*client);
  protocol::BlockingMaster master(*client, *scheduler_);

  // This session needs only available tasks, so it is not blocked.
  ASSERT_OK_AND_ASSIGN(
      const uint64_t session,
      master.CreateSession({.device_filters = {"/job:chief"}}));
  ASSERT_OK(master.ExtendSession(session, {GraphOn("/job:chief"), 0}));
  ASSERT_OK_AND_ASSIGN(
      const uint64_t callable,
      master.MakeCallable(session, {.feeds = {"x:0"}, .fetches = {"y:0"}}));
  const Tensor fed = Tensor::Scalar(2.0f);
  Tensor fetched;
  SyncCall<> run(*scheduler_);
  client->RunCallable(session, callable,
                      {.feeds = absl::MakeConstSpan(&fed, 1),
                       .fetches = absl::MakeSpan(&fetched, 1)},
                      run.Done());
  ASSERT_OK(run.Wait());
  EXPECT_EQ(fetched.scalar<float>(), -2);
  EXPECT_OK(master.CloseSession(session));
  EXPECT_EQ(NumAnswers(), 0u);

  // The lease of an abandoned session still expires.
  auto deserter = Dial();
  ASSERT_OK(protocol::BlockingMaster(*deserter, *scheduler_).CreateSession({}));
  deserter.reset();
  const absl::Time limit = clock_->Now() + absl::Minutes(1);
  while (server_->num_sessions() > kWaiting && clock_->Now() < limit) {
    scheduler_->NewEvent()->WaitUntil(clock_->Now() + absl::Milliseconds(5));
  }
  EXPECT_EQ(server_->num_sessions(), kWaiting);

  // Shuts the cluster down as `weft shutdown` does.
  protocol::CoordinatorClient coordinator(
      client_process_->transport(),
      protocol::CoordinatorClientOptions{
          .address = *bus::Address::Parse("localhost:1000"),
          .self = {.incarnation = client_process_->random().NextId()},
          .scheduler = scheduler_.get()});
  SyncCall<> shutdown(*scheduler_);
  coordinator.Shutdown(clock_->Now() + absl::Minutes(1), shutdown.Done());
  ASSERT_OK(shutdown.Wait());
  EXPECT_OK(server_->Join());
  const absl::Time answered = clock_->Now() + absl::Minutes(1);
  while (NumAnswers() < kWaiting && clock_->Now() < answered) {
    scheduler_->NewEvent()->WaitUntil(clock_->Now() + absl::Milliseconds(5));
  }
  EXPECT_EQ(NumAnswers(), static_cast<size_t>(kWaiting));
}

}  // namespace
}  // namespace weft
