#include "tools/conformance/case_runner.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/standard_ops.h"

namespace weft::conformance {
namespace {

using ::testing::HasSubstr;
using Result = Outcome::Result;

constexpr char kDirectory[] = "/cases/group/name";

// A session that accepts all runs and returns no values.
class IdleSession : public ReplaySession {
 public:
  absl::StatusOr<std::vector<Tensor>> Run(const RunRequest&) override {
    return std::vector<Tensor>{};
  }
  absl::Status Extend(absl::string_view) override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
  std::vector<Placement> Placements() override { return {}; }
};

class CaseRunnerTest : public ::testing::Test, public SessionFactory {
 protected:
  CaseRunnerTest() : scheduler_(clock_), ops_(StandardOps()) {
    EXPECT_OK(fs_.CreateDirectories(kDirectory));
    Write("graph.pb", GraphOf("NoOp"));
    kernels_.Register({.op = "NoOp"}, nullptr);
  }

  absl::StatusOr<std::unique_ptr<ReplaySession>> NewSession(const SessionSpec&,
                                                            absl::string_view,
                                                            bool) override {
    return std::make_unique<IdleSession>();
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope&) override {
    return absl::UnimplementedError("no case here has a saver");
  }
  absl::Status Reset(const std::string&,
                     const std::vector<std::string>&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<SessionFactory>> StartCluster(
      const std::map<std::string, int>&) override {
    return absl::UnimplementedError("no case here needs a cluster");
  }

  // Returns a serialized GraphDef with one node of op `op`: { node { name: "n"
  // op: OP } }.
  static std::string GraphOf(absl::string_view op) {
    const std::string node =
        absl::StrCat("\x0a\x01n\x12", std::string(1, char(op.size())), op);
    return absl::StrCat("\x0a", std::string(1, char(node.size())), node);
  }
  void Write(absl::string_view name, absl::string_view contents) {
    EXPECT_OK(
        fs_.WriteFileAtomically(absl::StrCat(kDirectory, "/", name), contents));
  }
  Outcome Run(absl::string_view json) {
    Write("case.json", json);
    CaseRunner runner({.fs = &fs_,
                       .scratch_root = "/scratch",
                       .factory = this,
                       .scheduler = &scheduler_,
                       .ops = ops_.get(),
                       .kernels = &kernels_});
    return runner.Run(kDirectory);
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_;
  MemoryFileSystem fs_;
  std::shared_ptr<const OpRegistry> ops_;
  KernelRegistry kernels_;
};

TEST_F(CaseRunnerTest, PassingCaseLeavesNoScratchFiles) {
  const Outcome outcome = Run(R"({
      "sessions": {"main": {"graph": "graph.pb"}},
      "steps": [{"targets": ["n"]}]})");
  EXPECT_EQ(outcome.result, Result::kPassed) << outcome.reason;
  EXPECT_EQ(outcome.case_name, "group/name");
  EXPECT_TRUE(fs_.ListDirectory("/scratch").value().empty());
}

TEST_F(CaseRunnerTest, FailureNamesTheStep) {
  const Outcome outcome = Run(R"({
      "sessions": {"main": {"graph": "graph.pb"}},
      "steps": [{}, {"name": "reads x", "expect": ["t0"]}]})");
  EXPECT_EQ(outcome.result, Result::kFailed);
  EXPECT_THAT(outcome.reason, HasSubstr("step 1 (reads x): "));
}

TEST_F(CaseRunnerTest, SkippedCaseNamesMissingOps) {
  Write("graph.pb", GraphOf("Surprise"));
  const Outcome outcome = Run(R"({
      "kind": "estimator", "cluster": {"ps": 1},
      "sessions": {"main": {"graph": "graph.pb"}},
      "steps": [{"action": "dance"}]})");
  EXPECT_EQ(outcome.result, Result::kSkipped);
  EXPECT_EQ(outcome.reason, "op Surprise, kind estimator, action dance");
}

TEST_F(CaseRunnerTest, OpWithoutAnyKernelIsMissing) {
  Write("graph.pb", GraphOf("Const"));
  const Outcome outcome = Run(R"({
      "sessions": {"main": {"graph": "graph.pb"}}, "steps": [{}]})");
  EXPECT_EQ(outcome.result, Result::kSkipped);
  EXPECT_EQ(outcome.reason, "kernel of op Const");
}

TEST_F(CaseRunnerTest, UnreadableCaseFails) {
  for (absl::string_view json :
       {"{", "{}", R"({"steps": []})",
        R"({"sessions": {"main": {"graph": "missing.pb"}}, "steps": [{}]})"}) {
    const Outcome outcome = Run(json);
    EXPECT_EQ(outcome.result, Result::kFailed) << json;
    EXPECT_NE(outcome.reason, "");
  }
  Write("tensors.pb", "no pack");
  EXPECT_EQ(Run(R"({"steps": [{}]})").result, Result::kFailed);
}

}  // namespace
}  // namespace weft::conformance
