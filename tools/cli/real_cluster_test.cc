// Runs the commands on real servers. The state that a session leaves on the
// servers is shown and cleared, and the servers stop. The servers use separate
// Process objects, so they share only sockets, threads and memory of the
// operating system.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/zmq/free_port.h"
#include "libs/fs/memory_file_system.h"
#include "libs/graph/import/graph_def.h"
#include "nlohmann/json.hpp"
#include "tools/cli/cluster_commands.h"
#include "tools/cli/graph_commands.h"

namespace weft::tools {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr absl::Duration kLimit = absl::Seconds(60);

class RealClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    ClusterSpec spec;
    for (const char* job : {"ps", "worker"}) {
      ASSERT_OK_AND_ASSIGN(const uint16_t port, bus::FreePort());
      ASSERT_OK(spec.AddTask(job, 0, absl::StrCat("localhost:", port)));
    }
    for (const char* job : {"ps", "worker"}) {
      processes_.push_back(
          std::make_unique<Process>(ProcessOptions{.compute_threads = 1}));
      ASSERT_OK_AND_ASSIGN(
          auto server,
          Server::Create(spec, {.job_name = job,
                                .process = processes_.back().get(),
                                .heartbeat_interval = absl::Milliseconds(20),
                                .heartbeat_timeout = absl::Minutes(1),
                                .logger = &logger_}));
      servers_.push_back(std::move(server));
    }
  }
  void TearDown() override {
    for (auto& server : servers_) EXPECT_OK(server->Stop(absl::ZeroDuration()));
  }

  absl::StatusOr<Json> Run(std::vector<std::string> words) {
    words.push_back("--timeout=60s");
    auto invocation = ParseInvocation(
        words, {.target = servers_.back()->target(), .is_terminal = false});
    if (!invocation.ok()) return invocation.status();
    const auto text =
        IsClusterCommand(invocation->command)
            ? RunClusterCommand(client_, *invocation, nullptr)
            : RunGraphCommand(client_, files_, invocation->arguments[0],
                              *invocation);
    if (!text.ok()) return text.status();
    return Json::parse(*text);
  }
  // Runs a command repeatedly until `arrived` returns true or a time limit is
  // reached, because tasks join in the background.
  Json RunUntil(const std::vector<std::string>& words,
                const std::function<bool(const Json&)>& arrived) {
    const absl::Time limit = client_.clock().Now() + kLimit;
    absl::StatusOr<Json> seen;
    do {
      seen = Run(words);
      if (!seen.ok()) break;
    } while (!arrived(*seen) && client_.clock().Now() < limit);
    EXPECT_OK(seen);
    return seen.ok() ? *seen : Json();
  }

  NullLogger logger_;
  Process client_{{.compute_threads = 1}};
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Server>> servers_;  // ps, worker
  MemoryFileSystem files_;
};

TEST_F(RealClusterTest, TasksAndTheirDevicesAreShown) {
  const Json status = RunUntil({"status"}, [](const Json& json) {
    return json["tasks"][0]["state"] == "alive" &&
           json["tasks"][1]["state"] == "alive";
  });
  EXPECT_EQ(status["coordinator"], "/job:ps/replica:0/task:0");
  EXPECT_EQ(status["tasks"][0]["target"], servers_[0]->target());
  EXPECT_EQ(status["tasks"][1]["target"], servers_[1]->target());
  ASSERT_OK_AND_ASSIGN(const Json devices, Run({"devices"}));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0]["device"], kPsCpu);
}

TEST_F(RealClusterTest, VariablesAreShownAndCleared) {
  Scope root = Scope::Root();
  ops::Variable x(root.WithDevice("/job:ps").WithName("x"),
                  Tensor(DT_FLOAT, TensorShape({100})));
  SessionOptions options;
  options.process = &client_;
  options.operation_timeout = kLimit;
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(servers_[1]->target(), root, options));
  // Declares the variable, before any of its ops runs.
  ASSERT_OK(session->Extend());
  ASSERT_OK_AND_ASSIGN(const Json declared, Run({"variables"}));
  ASSERT_EQ(declared.size(), 1u);
  EXPECT_EQ(declared[0]["name"], "x");
  EXPECT_EQ(declared[0]["device"], kPsCpu);
  EXPECT_EQ(declared[0]["shape"], Json({100}));
  EXPECT_EQ(declared[0]["has_value"], false);
  ASSERT_OK(session->Run(x.initializer()));

  // Fetches the current state of the tasks, so the value is included.
  ASSERT_OK_AND_ASSIGN(const Json variables, Run({"variables"}));
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0]["has_value"], true);
  EXPECT_EQ(variables[0]["num_bytes"], 400);
  EXPECT_EQ(variables[0]["name"], "x");
  EXPECT_EQ(variables[0]["container"], "ps");
  EXPECT_EQ(variables[0]["device"], kPsCpu);
  EXPECT_EQ(variables[0]["dtype"], "float");
  EXPECT_EQ(variables[0]["shape"], Json({100}));
  EXPECT_THAT(Run({"reset", "other"}),
              StatusIs(absl::StatusCode::kNotFound, "\"ps\""));

  ASSERT_OK(Run({"reset", "ps"}));
  EXPECT_THAT(session->Run(x), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK_AND_ASSIGN(const Json rest, Run({"containers"}));
  EXPECT_TRUE(rest.empty()) << rest;
}

TEST_F(RealClusterTest, ExplainRegistersNoGraph) {
  ASSERT_OK(files_.WriteFileAtomically("/g.pbtxt", R"(
node {
  name: "v" op: "VariableV2" device: "/job:ps"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } }
}
node {
  name: "c" op: "Const"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value {
    tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } }
})"));
  // Waits until the tasks have joined.
  (void)RunUntil({"status"}, [](const Json& json) {
    return json["tasks"][1]["state"] == "alive";
  });
  ASSERT_OK_AND_ASSIGN(const Json placed,
                       Run({"graph", "explain", "/g.pbtxt"}));
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[0]["device"], kPsCpu);
  EXPECT_EQ(placed[1]["device"], "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_THAT(placed[0]["reason"].get<std::string>(), HasSubstr("/job:ps"));
  ASSERT_OK_AND_ASSIGN(const Json containers, Run({"containers"}));
  EXPECT_TRUE(containers.empty()) << containers;
}

TEST_F(RealClusterTest, ExplainUsesExistingVariables) {
  Scope root = Scope::Root();
  ops::Variable x(root.WithDevice("/job:ps").WithName("x"), 1.0f);
  SessionOptions options;
  options.process = &client_;
  options.operation_timeout = kLimit;
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(servers_[1]->target(), root, options));
  ASSERT_OK(session->Run(x.initializer()));

  Scope other = Scope::Root();
  ops::Variable same(other.WithName("x"), 1.0f);
  ASSERT_OK(files_.WriteFileAtomically("/g.pb",
                                       ExportGraphDef(other.graph()).value()));
  ASSERT_OK_AND_ASSIGN(const Json placed,
                       Run({"graph", "explain", "/g.pb", "x"}));
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0]["device"], kPsCpu);
  EXPECT_THAT(placed[0]["reason"].get<std::string>(),
              HasSubstr("because Var 'x' lives there already"));
}

// A run on the cluster leaves its state there for the next run.
TEST_F(RealClusterTest, GraphRunsOnTheCluster) {
  ASSERT_OK(files_.WriteFileAtomically("/g.pbtxt", R"pb(
    node {
      name: "v"
      op: "VariableV2"
      device: "/job:ps"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
      attr {
        key: "shape"
        value { shape { dim { size: 2 } } }
      }
    }
    node {
      name: "x"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "set"
      op: "Assign"
      input: "v"
      input: "x"
      attr {
        key: "T"
        value { type: DT_FLOAT }
      }
    })pb"));
  const std::string target = "--target=" + servers_[1]->target();
  ASSERT_OK_AND_ASSIGN(Json json, Run({"graph", "run", "/g.pbtxt",
                                       "--feed=x=[1, 2.5]", "set", target}));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["value"], Json({1, 2.5}));
  ASSERT_OK_AND_ASSIGN(json, Run({"graph", "run", "/g.pbtxt", "v", target}));
  EXPECT_EQ(json[0]["value"], Json({1, 2.5}));
  // Without --target, the graph runs in this process, which has no parameter
  // server, even if WEFT_TARGET is set.
  EXPECT_THAT(Run({"graph", "run", "/g.pbtxt", "v"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "/job:ps"));
}

TEST_F(RealClusterTest, ShutdownStopsAllTasks) {
  (void)RunUntil({"status"}, [](const Json& json) {
    return json["tasks"][0]["state"] == "alive" &&
           json["tasks"][1]["state"] == "alive";
  });
  ASSERT_OK(Run({"shutdown"}));
  for (auto& server : servers_) EXPECT_OK(server->Join());
}

}  // namespace
}  // namespace weft::tools
