// Passes must not be observable: every case in
// integration_tests/testdata/conformance is replayed with and without passes,
// and must give the same bits, or the same errors.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/fs/local_file_system.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/case.h"
#include "tools/conformance/testing/recorded_cases.h"
#include "tools/conformance/testing/recording_factory.h"
#include "tools/conformance/testing/replayed_case.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

// For a case whose values differ between replays.
constexpr int kMostReplays = 10;

class PassesTest : public ::testing::TestWithParam<std::string> {
 protected:
  // One process for all: starting its threads costs more than a case.
  static void SetUpTestSuite() { process_ = new Process(); }
  static void TearDownTestSuite() { delete process_; }

  void Replay(const GraphOptions& options, RunRecord& record) {
    WeftSessionFactory sessions(*process_, /*target=*/"", options);
    RecordingFactory factory(sessions, record);
    ReplayCase(GetParam(),
               absl::StrCat(TestNameOfCase(GetParam()), "_", num_replays_++),
               factory, *process_);
  }

  static Process* process_;
  int num_replays_ = 0;
};
Process* PassesTest::process_ = nullptr;

TEST_P(PassesTest, KeepAllResults) {
  RunRecord with, without;
  Replay(AllRewrites(), with);
  Replay(NoRewrites(), without);
  EXPECT_GT(with.num_runs(), 0);
  std::map<std::string, std::string> differences =
      RunRecord::Compare(with, without);
  // Differences between two replays without passes, random numbers and thread
  // order, are not caused by passes. Two of them may agree by chance.
  for (int i = 0; i < kMostReplays && !differences.empty(); ++i) {
    RunRecord again;
    Replay(NoRewrites(), again);
    for (const auto& [place, text] : RunRecord::Compare(without, again)) {
      differences.erase(place);
    }
  }
  for (const auto& [place, text] : differences) {
    ADD_FAILURE() << place << ": with passes | without: " << text;
  }
}

TEST(PassesCasesTest, AreAllThere) {
  EXPECT_EQ(CountCases(RecordedCases()), ExpectedCases());
}

// Passes cannot change files of a saver, or an event file.
std::vector<std::string> CasesThatRunGraphs() {
  LocalFileSystem fs;
  std::vector<std::string> cases = RecordedCases();
  std::erase_if(cases, [&](const std::string& directory) {
    const auto test_case = LoadCase(fs, directory);
    return test_case.ok() &&
           (test_case->kind == "saver" || test_case->kind == "events");
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, PassesTest,
                         ::testing::ValuesIn(CasesThatRunGraphs()),
                         CaseTestName);

}  // namespace
}  // namespace weft::conformance
