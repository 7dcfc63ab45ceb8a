// Checks that passes are not observable: each case in
// integration_tests/testdata/conformance is replayed with and without passes.
// It must give the same bits or the same errors.
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

// Maximum number of replays if the values of a case vary between replays.
constexpr int kMostReplays = 10;

class PassesTest : public ::testing::TestWithParam<std::string> {
 protected:
  // All cases share one process, because starting its threads takes longer than
  // a case.
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

TEST_P(PassesTest, PassesKeepAllResults) {
  RunRecord with, without;
  Replay(AllRewrites(), with);
  Replay(NoRewrites(), without);
  EXPECT_GT(with.num_runs(), 0);
  std::map<std::string, std::string> differences =
      RunRecord::Compare(with, without);
  // Values that also differ between two replays without passes, because of
  // random numbers or thread order, are not compared. Two replays may agree by
  // chance, so there are several.
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

TEST(PassesCasesTest, NumberOfCasesIsAsExpected) {
  EXPECT_EQ(CountCases(RecordedCases()), ExpectedCases());
}

// Returns the cases that run graphs. The others check files of savers or event
// files, which passes cannot change.
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
