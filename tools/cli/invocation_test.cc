#include "tools/cli/invocation.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<Invocation> Parse(const std::vector<std::string>& arguments) {
  return ParseInvocation(arguments, {.is_terminal = true});
}

TEST(InvocationTest, FlagsMayBeAnywhereInEitherForm) {
  ASSERT_OK_AND_ASSIGN(
      const Invocation call,
      Parse({"reset", "--target=zmq://a:1", "model_1", "--timeout", "200ms",
             "model_2", "--yes", "--json"}));
  EXPECT_EQ(call.command, "reset");
  EXPECT_THAT(call.arguments, ElementsAre("model_1", "model_2"));
  EXPECT_EQ(call.target, "zmq://a:1");
  EXPECT_EQ(call.timeout, absl::Milliseconds(200));
  EXPECT_TRUE(call.yes);
  EXPECT_FALSE(call.all);
  EXPECT_EQ(call.format, Format::kJson);
}

// --json names the request for predict, and selects the output format for other
// commands.
TEST(InvocationTest, PredictAndShowParseModelFlags) {
  ASSERT_OK_AND_ASSIGN(Invocation call,
                       Parse({"predict", "--model=/m", "--json", "-",
                              "--signature=f", "--tag_set=serve,gpu"}));
  EXPECT_EQ(call.model, "/m");
  EXPECT_EQ(call.request_file, "-");
  EXPECT_EQ(call.signature, "f");
  EXPECT_THAT(call.tags, ElementsAre("serve", "gpu"));
  EXPECT_TRUE(call.tags_given);
  EXPECT_FALSE(call.clear_devices);
  ASSERT_OK_AND_ASSIGN(call, Parse({"predict", "--model=/m", "--json=-",
                                    "--tag_set=", "--clear_devices"}));
  EXPECT_TRUE(call.tags_given);
  EXPECT_TRUE(call.tags.empty());
  EXPECT_TRUE(call.clear_devices);
  ASSERT_OK_AND_ASSIGN(call, Parse({"predict", "--model=/m", "--json=-"}));
  EXPECT_FALSE(call.tags_given);
  ASSERT_OK_AND_ASSIGN(call, Parse({"saved_model", "show", "/m", "--json"}));
  EXPECT_THAT(call.arguments, ElementsAre("/m"));
  EXPECT_EQ(call.format, Format::kJson);
}

TEST(InvocationTest, EnvironmentProvidesDefaults) {
  ASSERT_OK_AND_ASSIGN(Invocation call,
                       ParseInvocation({"status"}, {"zmq://b:2", false}));
  EXPECT_EQ(call.target, "zmq://b:2");
  EXPECT_EQ(call.format, Format::kJson);
  EXPECT_EQ(call.timeout, absl::Seconds(5));
  ASSERT_OK_AND_ASSIGN(
      call, ParseInvocation({"status", "--table", "--target=zmq://a:1"},
                            {"zmq://b:2", false}));
  EXPECT_EQ(call.target, "zmq://a:1");
  EXPECT_EQ(call.format, Format::kTable);
}

TEST(InvocationTest, WordsAfterTwoDashesAreNoFlags) {
  ASSERT_OK_AND_ASSIGN(const Invocation call,
                       Parse({"reset", "--", "--all", "--"}));
  EXPECT_THAT(call.arguments, ElementsAre("--all", "--"));
  EXPECT_FALSE(call.all);
}

TEST(InvocationTest, ExplainHasTwoForms) {
  ASSERT_OK_AND_ASSIGN(Invocation call,
                       Parse({"graph", "explain", "a.pb", "x", "y"}));
  EXPECT_THAT(call.arguments, ElementsAre("a.pb"));
  EXPECT_THAT(call.explain, ElementsAre("x", "y"));
  ASSERT_OK_AND_ASSIGN(call, Parse({"graph", "explain", "a.pb"}));
  EXPECT_THAT(call.explain, ElementsAre("all"));
  ASSERT_OK_AND_ASSIGN(
      call, Parse({"graph", "a.pb", "--explain=x,y", "--devices=/cpu:0,/cpu:1",
                   "--allow_soft_placement"}));
  EXPECT_THAT(call.explain, ElementsAre("x", "y"));
  EXPECT_THAT(call.devices, ElementsAre("/cpu:0", "/cpu:1"));
  EXPECT_TRUE(call.allow_soft_placement);
  ASSERT_OK_AND_ASSIGN(call, Parse({"graph", "stats", "a.pb", "x:0"}));
  EXPECT_TRUE(call.stats);
  EXPECT_THAT(call.arguments, ElementsAre("a.pb"));
  EXPECT_THAT(call.wanted, ElementsAre("x:0"));
  ASSERT_OK_AND_ASSIGN(call, Parse({"graph", "explain"}));
  // "explain" is the name of a file here
  EXPECT_THAT(call.arguments, ElementsAre("explain"));
  EXPECT_THAT(call.explain, IsEmpty());
}

TEST(InvocationTest, GraphCommandsAreParsed) {
  ASSERT_OK_AND_ASSIGN(
      Invocation call,
      Parse({"graph", "show", "a.pb", "--name=^x", "--op", "Const,Add"}));
  EXPECT_THAT(call.arguments, ElementsAre("a.pb"));
  EXPECT_EQ(call.name_pattern, "^x");
  EXPECT_THAT(call.ops, ElementsAre("Const", "Add"));
  EXPECT_FALSE(call.run);
  ASSERT_OK_AND_ASSIGN(
      call, Parse({"graph", "run", "a.pb", "--feed", "x:0=[1, 2]",
                   "--feed=s=\"a=b\"", "--fetch=y,z:1", "w", "--init=i"}));
  EXPECT_TRUE(call.run);
  EXPECT_THAT(call.arguments, ElementsAre("a.pb"));
  EXPECT_THAT(call.feeds, ElementsAre(testing::Pair("x:0", "[1, 2]"),
                                      testing::Pair("s", "\"a=b\"")));
  EXPECT_THAT(call.fetches, ElementsAre("y", "z:1", "w"));
  EXPECT_THAT(call.inits, ElementsAre("i"));
  EXPECT_FALSE(call.timeout_given);
}

// A run on a cluster leaves variables there, so `graph run` uses a cluster only
// if the flag is given.
TEST(InvocationTest, ExplicitTargetIsDetected) {
  ASSERT_OK_AND_ASSIGN(
      Invocation call,
      ParseInvocation({"graph", "run", "a.pb", "y"}, {"zmq://b:2", true}));
  EXPECT_FALSE(call.target_given);
  ASSERT_OK_AND_ASSIGN(
      call, ParseInvocation({"graph", "run", "a.pb", "y", "--target=zmq://a:1",
                             "--timeout=9s"},
                            {"zmq://b:2", true}));
  EXPECT_TRUE(call.target_given);
  EXPECT_EQ(call.target, "zmq://a:1");
  EXPECT_TRUE(call.timeout_given);
}

TEST(InvocationTest, HelpIsAcceptedEverywhere) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help"},
        {"--help"},
        {"-h"},
        {"status", "--help"},
        {"graph", "-h"}}) {
    ASSERT_OK_AND_ASSIGN(const Invocation call, Parse(words));
    EXPECT_EQ(call.command, "help");
  }
  for (const char* command :
       {"status", "devices", "variables", "containers", "reset", "shutdown",
        "graph", "events", "trace", "wire"}) {
    EXPECT_THAT(Usage(), HasSubstr(std::string("weft ") + command));
  }
}

TEST(InvocationTest, ErrorsNameTheArgument) {
  EXPECT_THAT(Parse({}), StatusIs(kInvalid, "command is missing"));
  EXPECT_THAT(Parse({"stauts"}), StatusIs(kInvalid, "status, devices"));
  EXPECT_THAT(Parse({"stauts"}),
              StatusIs(kInvalid, "Did you mean \"status\"?"));
  EXPECT_THAT(Parse({"status", "--al"}), StatusIs(kInvalid, "no flag --al"));
  EXPECT_THAT(Parse({"status", "--taget=x"}),
              StatusIs(kInvalid, "Did you mean \"target\"?"));
  EXPECT_THAT(Parse({"status", "--all"}), StatusIs(kInvalid, "--target"));
  EXPECT_THAT(Parse({"wire", "f", "--json"}),
              StatusIs(kInvalid, "it has none"));
  EXPECT_THAT(Parse({"status", "-y"}), StatusIs(kInvalid, "two dashes"));
  EXPECT_THAT(Parse({"status", "--json=1"}), StatusIs(kInvalid, "no value"));
  EXPECT_THAT(Parse({"status", "--target"}), StatusIs(kInvalid, "a value"));
  EXPECT_THAT(Parse({"status", "--timeout=5"}), StatusIs(kInvalid, "5s"));
  EXPECT_THAT(Parse({"status", "--timeout=-5s"}), StatusIs(kInvalid, "-5s"));
  EXPECT_THAT(Parse({"status", "x"}), StatusIs(kInvalid, "\"x\""));
  EXPECT_THAT(Parse({"graph"}), StatusIs(kInvalid, "one file"));
  EXPECT_THAT(Parse({"graph", "show", "a", "b"}),
              StatusIs(kInvalid, "one file"));
  EXPECT_THAT(Parse({"graph", "run", "a"}), StatusIs(kInvalid, "--fetch"));
  EXPECT_THAT(Parse({"graph", "run", "a", "x=1"}),
              StatusIs(kInvalid, "--feed=x=1"));
  for (const char* feed : {"--feed=x", "--feed==1", "--feed="}) {
    EXPECT_THAT(Parse({"graph", "run", "a", "y", feed}),
                StatusIs(kInvalid, "--feed=NAME=VALUE"));
  }
  EXPECT_THAT(Parse({"graph", "stats", "a", "--feed=x=1"}),
              StatusIs(kInvalid, "`weft graph stats` has no flag --feed"));
  EXPECT_THAT(Parse({"graph", "run", "a", "y", "--op=Add"}),
              StatusIs(kInvalid, "`weft graph show` has"));
  EXPECT_THAT(Parse({"wire", "a", "b"}), StatusIs(kInvalid, "one file"));
  EXPECT_THAT(Parse({"events"}), StatusIs(kInvalid, "one file"));
  EXPECT_THAT(Parse({"predict", "--json=-"}),
              StatusIs(kInvalid, "--model=DIR"));
  EXPECT_THAT(Parse({"predict", "--model=m"}), StatusIs(kInvalid, "--json=-"));
  EXPECT_THAT(Parse({"predict", "m", "--model=m", "--json=-"}),
              StatusIs(kInvalid, "takes no \"m\""));
  EXPECT_THAT(Parse({"saved_model", "m"}),
              StatusIs(kInvalid, "saved_model show DIR"));
  EXPECT_THAT(Parse({"trace"}), StatusIs(kInvalid, "one file"));
  EXPECT_THAT(Parse({"events", "a", "--tag=x"}), StatusIs(kInvalid, "--tag"));
  ASSERT_OK_AND_ASSIGN(const Invocation trace,
                       Parse({"trace", "a", "--tag=step_2"}));
  EXPECT_EQ(trace.tag, "step_2");
  EXPECT_THAT(Parse({"reset", "a", "--all"}), StatusIs(kInvalid, "either"));
}

}  // namespace
}  // namespace weft::tools
