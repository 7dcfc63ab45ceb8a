#include "libs/cluster/cluster_spec.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

TEST(ClusterSpecTest, JsonAndShortFormsAreEquivalent) {
  ASSERT_OK_AND_ASSIGN(
      ClusterSpec json,
      ClusterSpec::Parse(R"({"ps": ["a:1"], "worker": ["b:2", "c:3"]})"));
  ASSERT_OK_AND_ASSIGN(ClusterSpec shorter,
                       ClusterSpec::Parse(" ps|a:1,worker|b:2;c:3 "));
  EXPECT_EQ(json, shorter);
  EXPECT_EQ(json, (ClusterSpec{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}}));
  EXPECT_EQ(json.num_tasks("worker"), 2);
  EXPECT_EQ(json.num_tasks("evaluator"), 0);
}

TEST(ClusterSpecTest, ToStringCanBeParsed) {
  ASSERT_OK_AND_ASSIGN(
      ClusterSpec spec,
      ClusterSpec::Parse(R"({"ps": ["a:1"], "worker": {"1": "c:3"}})"));
  ASSERT_OK_AND_ASSIGN(ClusterSpec again, ClusterSpec::Parse(spec.ToString()));
  EXPECT_EQ(spec, again);
  EXPECT_EQ(spec.ToString(), R"({"ps":["a:1"],"worker":{"1":"c:3"}})");
}

TEST(ClusterSpecTest, ClusterDefTextIsParsed) {
  const ClusterSpec expected{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  for (const char* text : {
           R"(job { name: "ps" tasks { key: 0 value: "a:1" } }
              job { name: "worker"
                    tasks { key: 1 value: "c:3" }
                    tasks { key: 0 value: "b:2" } })",
           R"( # as protobuf prints it with brackets
              job <name: 'ps', tasks: {key: 0, value: 'a:1'}>
              job <name: 'worker', tasks: [{key: 0, value: 'b:2'},
                                           {key: 1, value: 'c:3'}]>)",
           R"(job{name:"worker"tasks{key:0 value:"b:2"}}
              job: {name: "ps" tasks {value: "a:1"}}
              job: {name: "worker" tasks {key: 1 value: "c:3"}})",
       }) {
    ASSERT_OK_AND_ASSIGN(const ClusterSpec spec, ClusterSpec::Parse(text));
    EXPECT_EQ(spec, expected) << text;
  }
}

TEST(ClusterSpecTest, NameOfAJobMayBeJob) {
  ASSERT_OK_AND_ASSIGN(const ClusterSpec spec, ClusterSpec::Parse("job|a:1"));
  EXPECT_EQ(spec, (ClusterSpec{{"job", {"a:1"}}}));
}

TEST(ClusterSpecTest, TaskIndicesMayHaveGaps) {
  for (const char* text : {R"({"worker": {"1": "b:1", "3": "d:1"}})",
                           R"(job { name: "worker" tasks { key: 3 value: "d:1" }
                                tasks { key: 1 value: "b:1" } })"}) {
    ASSERT_OK_AND_ASSIGN(const ClusterSpec spec, ClusterSpec::Parse(text));
    EXPECT_EQ(spec.num_tasks("worker"), 2);
    ASSERT_OK_AND_ASSIGN(const std::string address,
                         spec.TaskAddress("worker", 3));
    EXPECT_EQ(address, "d:1");
    EXPECT_THAT(spec.TaskAddress("worker", 0).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "it has 1, 3"));
  }
}

TEST(ClusterSpecTest, SpecsAgreeUnlessATaskHasTwoAddresses) {
  const struct {
    const char *a, *b;
    bool agree;
  } kCases[] = {
      {"ps|a:1,worker|b:1;c:1", "ps|a:1,worker|b:1;c:1", true},
      {"ps|a:1,worker|b:1;c:1", "ps|a:1", true},
      {"ps|a:1", "worker|b:1", true},
      {"ps|a:1,worker|b:1;c:1", R"({"ps": ["a:1"], "worker": {"1": "c:1"}})",
       true},
      {R"({"worker": {"0": "b:1"}})", R"({"worker": {"1": "c:1"}})", true},
      {"ps|a:1", "ps|a:2", false},
      {"ps|a:1", "parameter_server|a:1", false},
      {"ps|localhost:0", "worker|localhost:0", true},
      {"ps|a:1,worker|b:1;c:1", R"({"worker": {"1": "d:1"}})", false},
  };
  for (const auto& c : kCases) {
    ASSERT_OK_AND_ASSIGN(const ClusterSpec a, ClusterSpec::Parse(c.a));
    ASSERT_OK_AND_ASSIGN(const ClusterSpec b, ClusterSpec::Parse(c.b));
    EXPECT_EQ(CheckSpecsAgree(a, "x", b, "y").ok(), c.agree) << c.a << c.b;
    EXPECT_EQ(CheckSpecsAgree(b, "y", a, "x").ok(), c.agree) << c.a << c.b;
  }
}

TEST(ClusterSpecTest, AContradictionNamesBothSides) {
  const absl::Status status =
      CheckSpecsAgree(ClusterSpec{{"worker", {"b:1", "c:1"}}}, "the launcher",
                      ClusterSpec{{"worker", {"b:1", "d:1"}}}, "the worker");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "The cluster specs of the launcher and the "
                               "worker contradict each other: task 1 of job "
                               "\"worker\" is c:1 in the first and d:1 in the "
                               "second."));
}

TEST(ClusterSpecTest, ContradictionNamesItsCause) {
  const auto contradiction = [](const char* a, const char* b) {
    return CheckSpecsAgree(*ClusterSpec::Parse(a), "x", *ClusterSpec::Parse(b),
                           "y");
  };
  EXPECT_THAT(contradiction("ps|a:1;b:1", "ps|b:1;a:1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "The addresses of the job are the same, in another "
                       "order."));
  EXPECT_THAT(contradiction("ps|a:1", "parameter_server|a:1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "a:1 is task 0 of job \"ps\" in the first and task 0 "
                       "of job \"parameter_server\" in the second."));
}

TEST(ClusterSpecTest, CoordinatorsAndWritersHaveNoDevices) {
  EXPECT_TRUE(HasDevices("ps"));
  EXPECT_TRUE(HasDevices("worker"));
  EXPECT_TRUE(HasDevices("anything"));
  EXPECT_FALSE(HasDevices("coordinator"));
  EXPECT_FALSE(HasDevices("checkpoint_writer"));
}

TEST(ClusterSpecTest, TaskAddressesAreFound) {
  const ClusterSpec spec{{"ps", {"a:1"}}, {"worker", {"b:2", "c:3"}}};
  ASSERT_OK_AND_ASSIGN(std::string address, spec.TaskAddress("worker", 1));
  EXPECT_EQ(address, "c:3");
  EXPECT_THAT(spec.TaskAddress("worker", 2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Task 2 was not defined in job \"worker\""));
  EXPECT_THAT(
      spec.TaskAddress("master", 0).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "it has ps, worker"));
}

TEST(ClusterSpecTest, MalformedSpecErrorsNameTheDefect) {
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {
      {"", "is empty"},
      {"{\"ps\": ", "not a JSON object"},
      {"{\"ps\": ", "line 1, column 7: syntax error"},
      {"{\"ps\": [\"a:1\"],\n 'worker': [\"b:1\"]}", "line 2, column 2"},
      {"{\"ps\": [], \"worker\": [\"a:1\"]}",
       "Job \"ps\" of the cluster spec "
       "has no tasks"},
      {"{\"ps\": {}}", "has no tasks"},
      {"job { name: \"ps\" }", "has no tasks"},
      {"{\"ps\": 3}", "\"ps\""},
      {"{\"ps\": [3]}", "3 is not an address"},
      {"{\"ps\": [\"\"]}", "not an address"},
      {"{\"ps\": {\"x\": \"a:1\"}}", "\"x\" is not a task index"},
      {"{\"ps\": {\"-1\": \"a:1\"}}", "-1"},
      {"{\"p s\": [\"a:1\"]}", "\"p s\""},
      {"ps=a:1", "ps=a:1"},
      {"ps|a:1,ps|b:1", "two addresses"},
      {"job { name: \"ps\" tasks { key: 0 value: 3 } }", "line 1, column"},
      {"job { name: \"ps\"\n  address: \"a:1\" }", "line 2, column"},
      {"job { name: \"ps\" tasks { key: 0 value: \"a:1\" }", "ClusterDef"},
      {"job { name: \"p s\" tasks { key: 0 value: \"a:1\" } }", "\"p s\""},
      {"job { tasks { key: 0 value: \"a:1\" } }", "not a job name"},
      {"job { name: \"ps\" tasks { key: -1 value: \"a:1\" } }", "-1"},
      {"job { name: \"ps\" tasks { key: 0 } }", "not an address"},
      {"job { name: \"ps\" tasks { value: \"a:1\" } }\n"
       "job { name: \"ps\" tasks { value: \"b:1\" } }",
       "two addresses"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(ClusterSpec::Parse(c.text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, c.says))
        << c.text;
  }
}

// An address that is not UTF-8 could not be written as JSON, so a task that
// joins with it could crash the coordinator.
TEST(ClusterSpecTest, AddressesMustBeUtf8) {
  EXPECT_THAT(ClusterSpec::Parse("ps|\xa1:2222"),
              StatusIs(absl::StatusCode::kInvalidArgument, "UTF-8"));
  ASSERT_OK_AND_ASSIGN(const ClusterSpec spec,
                       ClusterSpec::Parse("ps|\xc3\xa9:2222"));
  ASSERT_OK_AND_ASSIGN(const ClusterSpec again,
                       ClusterSpec::Parse(spec.ToString()));
  EXPECT_EQ(again, spec);
}

TEST(ClusterSpecTest, DeeplyNestedListsAreRefused) {
  const std::string open(1000000, '['), close(1000000, ']');
  EXPECT_THAT(ClusterSpec::Parse("{\"ps\": [" + open + close + "]}"),
              StatusIs(absl::StatusCode::kInvalidArgument, "array"));
}

}  // namespace
}  // namespace weft
