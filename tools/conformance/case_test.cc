#include "tools/conformance/case.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft::conformance {
namespace {

using ::testing::ElementsAre;

class CaseTest : public ::testing::Test {
 protected:
  absl::StatusOr<Case> Load(absl::string_view json) {
    EXPECT_OK(fs_.CreateDirectories("/cases/group/name"));
    EXPECT_OK(fs_.WriteFileAtomically("/cases/group/name/case.json", json));
    return LoadCase(fs_, "/cases/group/name/");
  }

  MemoryFileSystem fs_;
};

TEST_F(CaseTest, SessionsAndStepsAreRead) {
  ASSERT_OK_AND_ASSIGN(const Case c, Load(R"({
    "name": "name", "checks": "something", "rtol": 0.5,
    "sessions": {"main": {"graph": "g.pb", "config": {
        "allow_soft_placement": true, "operation_timeout_in_ms": 400}}},
    "steps": [
      {"feeds": {"x:0": "t0"}, "repeat_feeds": {"x:0": "t1"},
       "path_feeds": {"p:0": "@tmp/a", "q:0": ["b", "c"]},
       "fetches": ["y:0"], "targets": ["op"], "expect": ["t2"],
       "run_options": {"timeout_in_ms": 300}, "atol": 2},
      {"action": "extend", "session": "other", "graph": "more.pb"},
      {"fetches": [], "targets": [],
       "expect_error": {"code": "NOT_FOUND", "contains": "x",
                        "tf_message": "x is missing"}}]})"));
  EXPECT_EQ(c.name, "group/name");
  EXPECT_EQ(c.directory, "/cases/group/name");
  EXPECT_TRUE(c.cluster.empty());
  const SessionSpec& session = c.sessions.at("main");
  EXPECT_TRUE(session.allow_soft_placement);
  EXPECT_EQ(session.operation_timeout, absl::Milliseconds(400));
  ASSERT_EQ(c.steps.size(), 3u);
  const Step& run = c.steps[0];
  EXPECT_EQ(run.action, "run");
  EXPECT_EQ(run.session, "main");
  EXPECT_EQ(run.feeds, (KeyedFeeds{{"x:0", "t0"}}));
  EXPECT_EQ(run.repeat_feeds, (KeyedFeeds{{"x:0", "t1"}}));
  ASSERT_EQ(run.path_feeds.size(), 2u);
  EXPECT_FALSE(run.path_feeds[0].is_vector);
  EXPECT_THAT(run.path_feeds[1].paths, ElementsAre("b", "c"));
  EXPECT_EQ(run.timeout, absl::Milliseconds(300));
  EXPECT_EQ(run.compare.tolerance.relative, 0.5);
  EXPECT_EQ(run.compare.tolerance.absolute, 2);
  ASSERT_TRUE(c.steps[2].expect_error.has_value());
  EXPECT_EQ(c.steps[2].expect_error->code, "NOT_FOUND");
  EXPECT_THAT(c.GraphFiles(), ElementsAre("g.pb", "more.pb"));
}

TEST_F(CaseTest, ComparisonsAreRead) {
  ASSERT_OK_AND_ASSIGN(const Case c, Load(R"({"steps": [
      {"compare": "exact"}, {"compare": "multiset"}, {},
      {"compare": {"dtype": "float32", "shape": [2, 3],
                   "moments": {"mean": [-1, 1]}}}]})"));
  using Mode = Comparison::Mode;
  EXPECT_EQ(c.steps[0].compare.mode, Mode::kExact);
  EXPECT_EQ(c.steps[1].compare.mode, Mode::kMultiset);
  EXPECT_EQ(c.steps[2].compare.mode, Mode::kClose);
  EXPECT_EQ(c.steps[3].compare.mode, Mode::kMoments);
  EXPECT_EQ(c.steps[3].compare.dtype, "float32");
  EXPECT_THAT(*c.steps[3].compare.shape, ElementsAre(2, 3));
  EXPECT_EQ(c.steps[3].compare.moments.at("mean").low, -1);
}

TEST_F(CaseTest, GradientsAreRead) {
  ASSERT_OK_AND_ASSIGN(const Case c, Load(R"({"kind": "gradient",
      "gradients": [{"ys": ["y:0"], "xs": ["a:0", "b:0"], "grad_ys": ["d:0"],
                     "feeds": {"a:0": "t0"}, "expect": ["t1", null]}]})"));
  EXPECT_EQ(c.kind, "gradient");
  ASSERT_EQ(c.gradients.size(), 1u);
  EXPECT_EQ(c.gradients[0].expect[0], "t1");
  EXPECT_FALSE(c.gradients[0].expect[1].has_value());
  EXPECT_THAT(c.GraphFiles(), ElementsAre("graph.pb"));
}

TEST_F(CaseTest, UnknownFieldIsAnError) {
  for (absl::string_view json :
       {R"({"steps": [{"surprise": 1}]})",
        R"({"steps": [{"compare": "roughly"}]})",
        R"({"steps": [{"compare": {"moments": {"median": [0, 1]}}}]})",
        R"({"steps": [{"run_options": {"trace_level": 1}}]})",
        R"({"sessions": {"a": {"graph": "g", "config": {"x": 1}}}})",
        R"({"sessions": {"a": {}}})", R"({"steps": [{"expect": "t0"}]})", "{",
        "[]", ""}) {
    EXPECT_THAT(Load(json), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "/cases/group/name/case.json"))
        << json;
  }
}

TEST_F(CaseTest, CasesBelowADirectoryAreFound) {
  for (const char* name : {"b/y", "a/z", "a/x"}) {
    const std::string directory = absl::StrCat("/cases/", name);
    ASSERT_OK(fs_.CreateDirectories(directory));
    ASSERT_OK(fs_.WriteFileAtomically(directory + "/case.json", "{}"));
  }
  EXPECT_THAT(FindCases(fs_, "/cases").value(),
              ElementsAre("/cases/a/x", "/cases/a/z", "/cases/b/y"));
  EXPECT_THAT(FindCases(fs_, "/cases/a").value(),
              ElementsAre("/cases/a/x", "/cases/a/z"));
  EXPECT_THAT(FindCases(fs_, "/cases/b/y/").value(), ElementsAre("/cases/b/y"));
  EXPECT_THAT(FindCases(fs_, "/missing"),
              StatusIs(absl::StatusCode::kNotFound, "/missing"));
}

}  // namespace
}  // namespace weft::conformance
