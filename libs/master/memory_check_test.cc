#include "libs/master/memory_check.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class MemoryCheckTest : public ::testing::Test {
 protected:
  static std::string Task(int index) {
    return absl::StrCat("/job:ps/replica:0/task:", index);
  }
  // The task `index` is about to make one variable.
  void Tell(int index, int64_t bytes, protocol::AvailableMemory available) {
    protocol::NewVariables made;
    made.Add(absl::StrCat("t/part_", index), bytes);
    made.available = std::move(available);
    Answer(index, std::move(made));
  }
  void Answer(int index, absl::StatusOr<protocol::NewVariables> made) {
    check_->Hear(Task(index), [this](const absl::Status& status) {
      passed_on_ = status;
    })(std::move(made));
  }

  std::shared_ptr<MemoryCheck> check_ = std::make_shared<MemoryCheck>();
  absl::Status passed_on_ = absl::UnknownError("nothing");
};

TEST_F(MemoryCheckTest, NoNewVariablesNeedNoMemory) {
  EXPECT_OK(check_->Check());
  Answer(0, protocol::NewVariables());
  EXPECT_OK(passed_on_);
  EXPECT_OK(check_->Check());
}

TEST_F(MemoryCheckTest, RegistrationErrorIsForwarded) {
  Answer(0, absl::AbortedError("restarted"));
  EXPECT_THAT(passed_on_, StatusIs(absl::StatusCode::kAborted, "restarted"));
  EXPECT_OK(check_->Check());
}

TEST_F(MemoryCheckTest, TasksWithoutEnoughMemoryAreNamed) {
  Tell(0, 80, {.task = 79});
  Tell(1, 80, {.task = 80});
  Tell(2, 81, {.task = 0});
  EXPECT_EQ(
      check_->Check(),
      absl::ResourceExhaustedError(
          "There is too little memory for the variables that this run makes: "
          "/job:ps/replica:0/task:0 needs 80 bytes (the largest: t/part_0, 80) "
          "and has room for 79; /job:ps/replica:0/task:2 needs 81 bytes (the "
          "largest: t/part_2, 81) and has room for 0. Nothing has run, and "
          "none was allocated. Spread them over more parameter servers, or "
          "give these more memory, or make them smaller: fewer rows or "
          "columns, a smaller dtype, an optimizer with fewer slots."));
}

TEST_F(MemoryCheckTest, TasksOfOneMachineShareItsMemory) {
  Tell(0, 80, {.machine = "a", .machine_has = 160});
  Tell(1, 80, {.machine = "a", .machine_has = 160});
  Tell(2, 1000, {.machine = "b", .machine_has = 2000});
  EXPECT_OK(check_->Check());
  Tell(3, 1, {.machine = "a", .machine_has = 160});
  EXPECT_EQ(
      check_->Check(),
      absl::ResourceExhaustedError(
          "There is too little memory for the variables that this run makes: "
          "/job:ps/replica:0/task:0 needs 80 bytes (the largest: t/part_0, "
          "80); /job:ps/replica:0/task:1 needs 80 bytes (the largest: "
          "t/part_1, 80); /job:ps/replica:0/task:3 needs 1 bytes (the largest: "
          "t/part_3, 1); these 3 share the memory of one machine: 161 bytes "
          "together, and it has room for 160. Nothing has run, and none was "
          "allocated. "
          "Spread them over parameter servers on more machines, or make them "
          "smaller: fewer rows or columns, a smaller dtype, an optimizer with "
          "fewer slots."));
}

TEST_F(MemoryCheckTest, TasksOfUnknownMachinesCountAlone) {
  Tell(0, 80, {.task = 100, .machine_has = 100});
  Tell(1, 80, {.task = 100, .machine_has = 100});
  EXPECT_OK(check_->Check());
}

// One task has its own available memory; the machine's matters for several
// tasks.
TEST_F(MemoryCheckTest, SingleTaskOfAMachineCountsAlone) {
  Tell(0, 80, {.task = 80, .machine = "a", .machine_has = 79});
  EXPECT_OK(check_->Check());
}

TEST_F(MemoryCheckTest, LargestReportOfAMachineCounts) {
  Tell(0, 80, {.machine = "a", .machine_has = 0});
  Tell(1, 80, {.machine = "a", .machine_has = 160});
  EXPECT_OK(check_->Check());
}

TEST_F(MemoryCheckTest, CachedMemoryIsUsedFirst) {
  for (int i = 0; i < 3; ++i) {
    Tell(i, 80, {.machine = "a", .machine_has = 160, .kept = i == 2 ? 100 : 0});
  }
  EXPECT_OK(check_->Check()) << "what one keeps beyond its need is its own";
  Tell(3, 1, {.machine = "a", .machine_has = 160});
  EXPECT_THAT(check_->Check(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "161 bytes together"));
}

TEST_F(MemoryCheckTest, HugeNumbersDoNotOverflow) {
  Tell(0, kMost, {.machine = "a", .machine_has = 1000});
  Tell(1, kMost, {.machine = "a", .machine_has = 1000});
  EXPECT_THAT(check_->Check(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       absl::StrCat(kMost, " bytes together")));
}

TEST_F(MemoryCheckTest, ManyTasksAreNotAllNamed) {
  for (int i = 0; i < 100; ++i) Tell(i, 80, {.task = 1});
  EXPECT_THAT(check_->Check(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        "; and 84 more. Nothing has run"));
}

}  // namespace
}  // namespace weft
