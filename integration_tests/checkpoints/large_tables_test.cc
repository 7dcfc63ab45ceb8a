// Tests tables that exceed the memory of the cluster's tasks or machines: they
// are rejected before any memory is allocated. Tables that fit are accepted.
// Each task is a separate process with a simulated machine and memory size.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int kServers = 3;
constexpr int64_t kWidth = 20;
// Bytes of the part of a table that each server stores.
constexpr int64_t kPart = int64_t{80} << 20;
constexpr int64_t kRows = kServers * kPart / kWidth / 4;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

class LargeTablesTest : public ::testing::Test {
 protected:
  static std::string Server(int index) {
    return absl::StrCat("/job:ps/replica:0/task:", index);
  }
  // Starts the cluster. `bound` limits the memory of each process. The last
  // server is on `last_machine` and all others are on `machine`. Each machine
  // has `machines_have` bytes of memory.
  void Begin(int64_t bound, const std::string& machine,
             const std::string& last_machine, int64_t machines_have) {
    bound_ = bound;
    machines_have_ = machines_have;
    cluster_.emplace(TestCluster::Options{
        .kind = ClusterKind::kSimulated,
        .jobs = {{"ps", kServers}, {"worker", 1}},
        .memory = [=, this](const std::string& name) -> ProcessMemory {
          const bool is_last = name == Server(kServers - 1);
          return {.bound = bound_,
                  .machine = {.machine = is_last ? last_machine : machine,
                              .available = machines_have_}};
        }});
  }
  Session& session() {
    if (session_ == nullptr) {
      session_ = ValueOf(Session::Connect(cluster_->target("worker", 0), root_,
                                          cluster_->session_options()));
    }
    return *session_;
  }

  ops::PartitionedVariable Table(const std::string& name, int64_t rows) {
    auto table = ops::GetPartitionedVariable(
        model_, name, TensorShape({rows, kWidth}),
        {.initializer = ops::initializers::Zeros(),
         .partitioner = ops::FixedSizePartitioner(kServers)});
    EXPECT_OK(root_.status());
    return table;
  }
  static std::vector<Operation> InitializersOf(
      const ops::PartitionedVariable& table) {
    std::vector<Operation> initializers;
    for (const ops::Variable& part : table.parts()) {
      initializers.push_back(part.initializer());
    }
    return initializers;
  }
  // Returns the initializers of the Adagrad slots of all parts.
  std::vector<Operation> SlotInitializersOf(
      const ops::PartitionedVariable& table) {
    const Output rows = nn::EmbeddingLookup(model_, table, {0, 1},
                                            {.partition_strategy = "div"});
    train::Adagrad optimizer(0.1f);
    optimizer.Minimize(model_, ops::Sum(model_, rows, {0, 1}));
    EXPECT_OK(root_.status());
    std::vector<Operation> initializers;
    for (const ops::Variable& part : table.parts()) {
      initializers.push_back(
          optimizer.GetSlot(part, "accumulator").initializer());
    }
    return initializers;
  }
  absl::Status Run(const std::vector<Operation>& operations) {
    return session().Run({}, {}, operations).status();
  }
  void ExpectNothingWasAllocated() {
    for (int i = 0; i < kServers; ++i) {
      const BufferPoolStats pool = cluster_->process("ps", i).buffers().stats();
      EXPECT_LT(pool.peak_bytes_in_use, 1 << 20) << i;
    }
  }
  // Checks that the session is still usable.
  void ExpectASmallTableWorks() {
    const auto small = Table("small", 3000);
    ASSERT_OK(Run(InitializersOf(small)));
    const auto part = session().Run(small.parts()[2].value());
    ASSERT_OK(part);
    EXPECT_EQ(part->shape(), TensorShape({1000, kWidth}));
  }

  std::atomic<int64_t> bound_ = 0;
  std::atomic<int64_t> machines_have_ = 0;
  std::optional<TestCluster> cluster_;
  Scope root_ = Scope::Root();
  const Scope model_ =
      root_.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = kServers}));
  std::unique_ptr<Session> session_;  // must be destroyed before the cluster
};

TEST_F(LargeTablesTest, MachineLimitCountsAllServersOnIt) {
  Begin(30'000'000'000, "m", "m", 64'000'000'000);
  const auto table = Table("table", 1'000'000'000);
  const std::string text = absl::StrCat(
      "There is too little memory for the variables that this run makes: ",
      Server(0),
      " needs 26666666720 bytes (the largest: table/part_0, "
      "26666666720); ",
      Server(1),
      " needs 26666666640 bytes (the largest: table/part_1, "
      "26666666640); ",
      Server(2),
      " needs 26666666640 bytes (the largest: table/part_2, "
      "26666666640); these 3 share the memory of one machine: 80000000000 "
      "bytes together, and it has room for 64000000000. Nothing has run, and "
      "none was "
      "allocated.");
  EXPECT_THAT(Run(InitializersOf(table)), StatusIs(kExhausted, text));
  // The rejected step must not count as a running step.
  EXPECT_THAT(Run(InitializersOf(table)), StatusIs(kExhausted, text));
  ExpectNothingWasAllocated();
  ExpectASmallTableWorks();
}

TEST_F(LargeTablesTest, OptimizerSlotsCountAgainstServerMemory) {
  Begin(40'000'000'000, "a", "b", 100'000'000'000);
  const auto table = Table("table", 1'000'000'000);
  std::vector<Operation> all = InitializersOf(table);
  for (const Operation& slot : SlotInitializersOf(table)) all.push_back(slot);
  const absl::Status refused = Run(all);
  EXPECT_THAT(
      refused,
      StatusIs(kExhausted, absl::StrCat(Server(0),
                                        " needs 53333333440 bytes (the "
                                        "largest: table/part_0, "
                                        "26666666720) and has room for ")));
  EXPECT_THAT(refused,
              StatusIs(kExhausted,
                       absl::StrCat(Server(2), " needs 53333333280 bytes")));
  ExpectNothingWasAllocated();
  ExpectASmallTableWorks();
}

// A table is initialized first and fits. Its optimizer slots, initialized by a
// later run, do not fit beside it.
TEST_F(LargeTablesTest, ExistingVariablesReduceFreeMemory) {
  Begin(kPart + kPart / 2, "a", "b", 10 * kPart);
  const auto table = Table("table", kRows);
  const std::vector<Operation> slots = SlotInitializersOf(table);
  ASSERT_OK(Run(InitializersOf(table)));
  EXPECT_THAT(
      Run(slots),
      StatusIs(kExhausted, absl::StrCat(Server(1), " needs ", kPart,
                                        " bytes (the largest: table/part_1/")));
  bound_ = 3 * kPart;
  EXPECT_OK(Run(slots));
}

TEST_F(LargeTablesTest, TablesOnTwoMachinesFit) {
  Begin(2 * kPart, "a", "b", 2 * kPart + 1);
  EXPECT_OK(Run(InitializersOf(Table("table", kRows))));
}

TEST_F(LargeTablesTest, TablesOnOneMachineDoNotFit) {
  Begin(2 * kPart, "a", "a", 2 * kPart + 1);
  const auto table = Table("table", kRows);
  EXPECT_THAT(
      Run(InitializersOf(table)),
      StatusIs(kExhausted,
               absl::StrCat(
                   "these 3 share the memory of one machine: ", 3 * kPart,
                   " bytes together, and it has room for ", 2 * kPart + 1)));
  ExpectNothingWasAllocated();
  machines_have_ = 3 * kPart;
  EXPECT_OK(Run(InitializersOf(table)));
}

TEST_F(LargeTablesTest, UnknownMachineHasNoSharedLimit) {
  Begin(2 * kPart, "", "", 1);
  EXPECT_OK(Run(InitializersOf(Table("table", kRows))));
}

// Initializing a table again replaces its values and needs no extra memory,
// also if the initializing session is a new one.
TEST_F(LargeTablesTest, ReinitializationNeedsNoExtraMemory) {
  Begin(4 * kPart, "a", "a", 3 * kPart);
  const auto table = Table("table", kRows);
  ASSERT_OK(Run(InitializersOf(table)));
  machines_have_ = 1;
  session_ = nullptr;
  EXPECT_OK(Run(InitializersOf(table)));
  // This table exceeds the freed memory that the processes keep for reuse.
  EXPECT_THAT(Run(InitializersOf(Table("other", 2 * kRows))),
              StatusIs(kExhausted, "other/part_0"));
}

// A restored table counts like an initialized one of the same size.
TEST_F(LargeTablesTest, RestoredVariablesCount) {
  Begin(30'000'000'000, "m", "m", 64'000'000'000);
  const auto table = Table("table", 1'000'000'000);
  train::Saver saver(root_);
  ASSERT_OK(root_.status());
  EXPECT_THAT(saver.Restore(session(), "/nowhere/model"),
              StatusIs(kExhausted, "these 3 share the memory of one machine"));
  ExpectNothingWasAllocated();
}

}  // namespace
}  // namespace weft
