// Checks that conflicting replicas of a program are rejected before their first
// step, with an error that names the difference, its location and the likely
// reason. kFaults lists the injected differences. All are checked in the same
// way.
//
// Different builds and versions are rejected in the handshake of tasks: see
// libs/coordinator/coordinator_test.cc (AnotherBuildIsRefused) and
// libs/bus/testing/transport_conformance.h (AnotherVersionIsRefused).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/zmq/free_port.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// The graph of one replica, and the operations of its first step.
struct Replica {
  explicit Replica(int index) : worker(index) {}

  std::string device() const {
    return absl::StrCat("/job:worker/task:", worker);
  }
  // Returns the scope of a model. Its variables are assigned round robin to the
  // parameter servers.
  Scope Model(ReplicaDeviceSetterOptions options = {.ps_tasks = 2}) const {
    options.worker_device = device();
    return root.WithDeviceFunction(ReplicaDeviceSetter(std::move(options)));
  }

  const int worker;
  Scope root = Scope::Root();
  std::vector<Operation> first_step;
};

using Program = std::function<void(Replica& replica)>;

ops::Variable Var(Replica& replica, const Scope& scope, const std::string& name,
                  const TensorShape& shape, ops::VariableOptions options = {}) {
  if (options.dtype == DT_INVALID) options.dtype = DT_FLOAT;
  ops::Variable variable(scope.WithName(name), ops::initializers::Zeros(),
                         shape, options);
  replica.first_step.push_back(variable.initializer());
  return variable;
}

void Partitioned(Replica& replica, const Scope& scope, const std::string& name,
                 const TensorShape& shape, ops::Partitioner partitioner) {
  const auto variable =
      ops::GetPartitionedVariable(scope, name, shape,
                                  {.initializer = ops::initializers::Zeros(),
                                   .partitioner = std::move(partitioner)});
  for (const ops::Variable& part : variable.parts()) {
    replica.first_step.push_back(part.initializer());
  }
}

// Builds the model into which most faults are injected. Variables w and c are
// on the first parameter server, and b is on the second.
void Model(Replica& replica, const Scope& model) {
  Var(replica, model, "w", {8, 4});
  Var(replica, model, "b", {4});
  Var(replica, model, "c", {2});
}
void RightModel(Replica& replica) { Model(replica, replica.Model()); }

// Builds five variables, enough for different placement strategies to lead to
// different placements.
Program WithStrategy(PsStrategy strategy) {
  return [strategy](Replica& replica) {
    const Scope model = replica.Model({.ps_tasks = 2, .strategy = strategy});
    Model(replica, model);
    Var(replica, model, "d", {2});
    Var(replica, model, "e", {2});
  };
}

Program WithPartitioner(ops::Partitioner partitioner) {
  return [partitioner](Replica& replica) {
    const Scope model = replica.Model();
    Partitioned(replica, model, "embedding", {12, 4}, partitioner);
    Var(replica, model, "w", {4});
  };
}

// Builds a model and another shared resource on the first parameter server.
Program WithShared(std::function<Operation(const Scope& server)> shared) {
  return [shared](Replica& replica) {
    RightModel(replica);
    replica.first_step.push_back(
        shared(replica.root.WithDevice("/job:ps/task:0")));
  };
}

Program WithQueue(DataType type, int64_t capacity) {
  return WithShared([=](const Scope& server) -> Operation {
    return ops::FIFOQueue(server.WithName("inputs"), {type},
                          {.capacity = capacity, .shared_name = "inputs"});
  });
}

Operation ShuffledQueue(const Scope& server) {
  ops::RandomShuffleQueueAttrs attrs;
  attrs.capacity = 10;
  attrs.shared_name = "inputs";
  return ops::RandomShuffleQueue(server.WithName("inputs"), {DT_FLOAT}, attrs);
}

Program WithTable(DataType value_type, bool is_mutable) {
  return WithShared([=](const Scope& server) -> Operation {
    const Scope named = server.WithName("vocabulary");
    const ops::HashTableAttrs attrs = {.shared_name = "vocabulary"};
    return is_mutable
               ? ops::MutableHashTable(named, DT_STRING, value_type, attrs)
               : ops::HashTable(named, DT_STRING, value_type, attrs);
  });
}

Program WithAccumulator(const PartialShape& shape,
                        const std::string& reduction) {
  return WithShared([=](const Scope& server) -> Operation {
    return ops::ConditionalAccumulator(
        server.WithName("gradients"), DT_FLOAT, shape,
        {.shared_name = "gradients", .reduction_type = reduction});
  });
}

void MomentumModel(Replica& replica) {
  const Scope model = replica.Model();
  const ops::Variable w = Var(replica, model, "w", {8, 4});
  const Output loss = ops::Sum(model, ops::Square(model, w), {0, 1});
  train::Momentum(0.1f, 0.9f).Minimize(model, loss);
}
// Builds a variable with a slot that has only one number per row.
void RowMomentumModel(Replica& replica) {
  const Scope model = replica.Model();
  const ops::Variable w = Var(replica, model, "w", {8, 4});
  Var(replica, model.ColocateWith(Operation(w.handle())).ReenterScope("w"),
      "Momentum", {8});
}

// FirstOfTwo and SecondOfTwo build different programs that accidentally use the
// same container and the same variable name.
void FirstOfTwo(Replica& replica) {
  const Scope model = replica.Model().WithContainer("jobs");
  Var(replica, model, "w", {8, 4});
  Var(replica, model, "b", {4});
}
void SecondOfTwo(Replica& replica) {
  const Scope model = replica.Model().WithContainer("jobs");
  Var(replica, model, "w", {5});
  Var(replica, model, "scale", {});
}

// Builds a node "bias" that refers to the resource "w" by mistake.
void SharesTheWrongName(Replica& replica) {
  const Output bias = replica.root.WithDevice("/job:ps/task:0")
                          .WithName("bias")
                          .AddOutput("VarHandleOp", {},
                                     {{"dtype", DT_FLOAT},
                                      {"shape", PartialShape({4})},
                                      {"shared_name", "w"}});
  replica.first_step.push_back(bias);
}

ClusterSpec SpecWithServers(int num_servers) {
  ClusterSpec spec;
  for (int i = 0; i < num_servers; ++i) {
    EXPECT_OK(spec.AddTask("ps", i, absl::StrCat("ps", i, ":2222")));
  }
  return spec;
}

struct Fault {
  std::string name;
  Program there;  // the correct replica, on worker 0
  Program here;   // the rejected replica, on worker 1
  std::vector<std::string> told;
  absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
};

constexpr char kOn0[] = "on /job:ps/replica:0/task:0/device:CPU:0";
constexpr char kOn1[] = "on /job:ps/replica:0/task:1/device:CPU:0";

std::vector<Fault> PlacementFaults() {
  return {
      {"OrderOfCreation",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model();
         Var(replica, model, "b", {4});
         Var(replica, model, "w", {8, 4});
         Var(replica, model, "c", {2});
       },
       {"node w", absl::StrCat("here:  float [8,4] ", kOn1),
        absl::StrCat("there: float [8,4] ", kOn0),
        "another order: here \"b\" comes before \"w\", there after it"}},
      {"FewerServers",
       RightModel,
       [](Replica& replica) { Model(replica, replica.Model({.ps_tasks = 1})); },
       {"node b", absl::StrCat("here:  float [4] ", kOn0),
        absl::StrCat("there: float [4] ", kOn1),
        "lie on 1 task of job ps here and on 2 there"}},
      {"MoreServers",
       RightModel,
       [](Replica& replica) { Model(replica, replica.Model({.ps_tasks = 3})); },
       {"node c", "/job:ps/replica:0/task:2", kOn0, "another ps_tasks"}},
      {"ClusterListWithoutAServer",
       RightModel,
       [](Replica& replica) {
         Model(replica, replica.Model({.cluster = SpecWithServers(1)}));
       },
       {"node b", kOn0, kOn1, "another ps_tasks or cluster spec"}},
      {"ClusterListWithAServerThatIsNone",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model({.cluster = SpecWithServers(4)});
         Model(replica, model);
         Var(replica, model, "d", {2});
       },
       {"{{node d}}", "/job:ps/task:3", "/job:ps/replica:0/task:2",
        "no task 3 of job \"ps\" here: was the program given another cluster "
        "spec or ps_tasks?"},
       absl::StatusCode::kInvalidArgument},
      {"NoSuchJob",
       RightModel,
       [](Replica& replica) {
         Model(replica,
               replica.Model({.ps_tasks = 2, .ps_device = "/job:parameters"}));
       },
       {"{{node w}}", "/job:parameters/task:0", "/job:ps/replica:0/task:0",
        "no job \"parameters\" here: compare the device strings"},
       absl::StatusCode::kInvalidArgument},
      {"OtherJob",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model();
         Var(replica, model, "w", {8, 4});
         Var(replica, model, "b", {4});
         Var(replica,
             model.WithDevice(
                 absl::StrCat("/job:worker/task:", 1 - replica.worker)),
             "c", {2});
       },
       {"node c", "on /job:worker/replica:0/task:0", kOn0,
        "\"c\" is in job worker here and in job ps there"}},
      {"DeviceString",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model();
         Var(replica, model, "w", {8, 4});
         Var(replica, model, "b", {4});
         Var(replica, model.WithDevice("/job:ps/task:1"), "c", {2});
       },
       {"node c", absl::StrCat("here:  float [2] ", kOn1),
        absl::StrCat("there: float [2] ", kOn0),
        "only \"c\" is elsewhere: it asks for another device"}},
      {"GreedyStrategy",
       WithStrategy(nullptr),
       WithStrategy(GreedyLoadBalancing(2)),
       {"node c", kOn1, kOn0, "another strategy"}},
      {"RandomStrategy",
       WithStrategy(nullptr),
       WithStrategy(RandomByName(2)),
       {"node ", kOn1, kOn0, "another strategy"}},
      {"ExtraVariable",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model();
         Var(replica, model, "w", {8, 4});
         Var(replica, model, "extra", {4});
         Var(replica, model, "b", {4});
         Var(replica, model, "c", {2});
       },
       {"node b", kOn0, kOn1,
        "only the program here creates \"extra\", before \"b\""}},
      {"MissingVariable",
       RightModel,
       [](Replica& replica) {
         const Scope model = replica.Model();
         Var(replica, model, "b", {4});
         Var(replica, model, "c", {2});
       },
       {"node b", kOn0, kOn1,
        "only the program there creates \"w\", before \"b\""}},
  };
}

std::vector<Fault> DefinitionFaults() {
  return {
      {"Shape",
       RightModel,
       [](Replica& replica) {
         Var(replica, replica.Model(), "w", {9, 4});
       },
       {"node w", "here:  float [9,4] on", "there: float [8,4] on",
        "another model: \"w\" has another shape"}},
      {"Rank",
       RightModel,
       [](Replica& replica) {
         Var(replica, replica.Model(), "w", {8, 4, 1});
       },
       {"node w", "float [8,4,1]", "float [8,4]", "another model"}},
      {"Type",
       RightModel,
       [](Replica& replica) {
         Var(replica, replica.Model(), "w", {8, 4}, {.dtype = DT_DOUBLE});
       },
       {"node w", "here:  double [8,4]", "there: float [8,4]",
        "the programs give \"w\" another type"}},
      {"VariablesByReference",
       RightModel,
       [](Replica& replica) {
         Var(replica, replica.Model(), "w", {8, 4}, {.use_resource = false});
       },
       {"node w", "here:  float [8,4] (Variable)",
        "there: float [8,4] (VarHandleOp)", "use_resource"}},
      {"NumberOfPartitions",
       WithPartitioner(ops::FixedSizePartitioner(2)),
       WithPartitioner(ops::FixedSizePartitioner(3)),
       {"node embedding/part_0", "float [4,4]", "float [6,4]",
        "\"embedding\" is cut into 3 parts here and 2 there"}},
      {"AxisOfPartitions",
       WithPartitioner(ops::FixedSizePartitioner(2)),
       WithPartitioner(ops::FixedSizePartitioner(2, 1)),
       {"node embedding/part_0", "float [12,2]", "float [6,4]",
        "\"embedding\" is cut along another axis"}},
      {"NoPartitions",
       WithPartitioner(nullptr),
       WithPartitioner(ops::FixedSizePartitioner(2)),
       {"node w", kOn0, kOn1,
        "only the program here creates \"embedding/part_0\""}},
      {"SlotsOfAnotherOptimizer",
       MomentumModel,
       RowMomentumModel,
       {"node w/Momentum", "float [8] on", "float [8,4] on",
        "\"w/Momentum\" belongs to \"w\"", "another optimizer"}},
      {"ContainerOfAnotherProgram",
       FirstOfTwo,
       SecondOfTwo,
       {"node w", "in container \"jobs\"", "float [5]", "float [8,4]",
        "two different programs in one container, \"jobs\""}},
      {"SharedName",
       RightModel,
       SharesTheWrongName,
       {"Var \"w\"", "node bias", "float [4]", "float [8,4]", "another model"}},
      {"QueueCapacity",
       WithQueue(DT_FLOAT, 10),
       WithQueue(DT_FLOAT, 5),
       {"Queue \"inputs\"", "node inputs", "capacity=5", "capacity=10",
        "the programs make Queue \"inputs\""}},
      {"QueueType",
       WithQueue(DT_FLOAT, 10),
       WithQueue(DT_INT32, 10),
       {"node inputs", "component_types=[DT_INT32]",
        "component_types=[DT_FLOAT]", "by another op or with other"}},
      {"QueueKind",
       WithQueue(DT_FLOAT, 10),
       WithShared(ShuffledQueue),
       {"node inputs", "here:  RandomShuffleQueue", "there: FIFOQueue",
        "by another op or with other"}},
      {"TableType",
       WithTable(DT_INT64, true),
       WithTable(DT_FLOAT, true),
       {"LookupTable \"vocabulary\"", "node vocabulary", "value_dtype=DT_FLOAT",
        "value_dtype=DT_INT64", "by another op or with other"}},
      {"TableKind",
       WithTable(DT_INT64, true),
       WithTable(DT_INT64, false),
       {"node vocabulary", "here:  HashTable", "there: MutableHashTable",
        "by another op or with other"}},
      {"AccumulatorShape",
       WithAccumulator({8, 4}, "MEAN"),
       WithAccumulator({4}, "MEAN"),
       {"node gradients", "float [4]", "float [8,4]", "another shape"}},
      {"AccumulatorReduction",
       WithAccumulator({4}, "MEAN"),
       WithAccumulator({4}, "SUM"),
       {"node gradients", "reduction_type=\"SUM\"", "reduction_type=\"MEAN\"",
        "by another op or with other"}},
      {"KindOfResource",
       WithQueue(DT_FLOAT, 10),
       [](Replica& replica) {
         const Scope model = replica.Model();
         Model(replica, model);
         Var(replica, model.WithDevice("/job:ps/task:0"), "inputs", {2});
       },
       {"Var \"inputs\"", "node inputs", "here:  float [2]",
        "there: Queue, FIFOQueue",
        "\"inputs\" names a Var here and a Queue there"}},
  };
}

class DisagreeingReplicasTest : public ::testing::TestWithParam<Fault> {
 protected:
  struct Connected {
    explicit Connected(int worker) : replica(worker) {}
    absl::Status RunFirstStep() {
      return session->Run({}, {}, replica.first_step).status();
    }
    Replica replica;
    std::unique_ptr<Session> session;
  };

  std::unique_ptr<Connected> Connect(const Program& program, int worker) {
    auto connected = std::make_unique<Connected>(worker);
    program(connected->replica);
    auto session =
        Session::Connect(cluster_.target("worker", worker),
                         connected->replica.root, cluster_.session_options());
    EXPECT_OK(session);
    if (session.ok()) connected->session = *std::move(session);
    return connected;
  }

  // Returns the names of the resources on all tasks.
  std::set<std::string> Resources() {
    std::set<std::string> names;
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        auto& runtime = cluster_.server(job, index).runtime();
        for (const auto& one : runtime.SharedResources()) {
          names.insert(absl::StrCat(one.device, " ", one.resource.container,
                                    " ", one.resource.kind, " ",
                                    one.resource.name, " ", one.description));
        }
      }
    }
    return names;
  }

  TestCluster cluster_{{.jobs = {{"ps", 3}, {"worker", 2}}}};
};

TEST_P(DisagreeingReplicasTest, ReplicaIsRejectedBeforeItsFirstStep) {
  const Fault& fault = GetParam();
  auto there = Connect(fault.there, 0);
  ASSERT_OK(there->RunFirstStep());
  const std::set<std::string> before = Resources();
  EXPECT_FALSE(before.empty());

  auto here = Connect(fault.here, 1);
  const absl::Status refused = here->RunFirstStep();
  EXPECT_EQ(refused.code(), fault.code) << refused;
  for (const std::string& text : fault.told) {
    EXPECT_THAT(std::string(refused.message()), HasSubstr(text));
  }

  // The rejected step has created no resource and declared no resource to the
  // coordinator.
  EXPECT_EQ(Resources(), before);
  ASSERT_OK(there->session->Close());
  EXPECT_OK(Connect(fault.there, 0)->RunFirstStep());
  EXPECT_EQ(Resources(), before);
}

// If the replicas start in the reverse order, the correct one is rejected: the
// first replica defines the model.
TEST_P(DisagreeingReplicasTest, SecondReplicaIsRejectedInEitherOrder) {
  const Fault& fault = GetParam();
  if (fault.code != absl::StatusCode::kFailedPrecondition) GTEST_SKIP();
  auto here = Connect(fault.here, 0);
  ASSERT_OK(here->RunFirstStep());
  const absl::Status refused = Connect(fault.there, 1)->RunFirstStep();
  EXPECT_EQ(refused.code(), fault.code) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Likely cause: "));
}

std::string NameOf(const ::testing::TestParamInfo<Fault>& fault) {
  return fault.param.name;
}
INSTANTIATE_TEST_SUITE_P(Placement, DisagreeingReplicasTest,
                         ::testing::ValuesIn(PlacementFaults()), NameOf);
INSTANTIATE_TEST_SUITE_P(Definition, DisagreeingReplicasTest,
                         ::testing::ValuesIn(DefinitionFaults()), NameOf);

// A difference in the cluster spec of a task. Tasks with contradicting specs do
// not form a cluster.

struct SpecFault {
  std::string name;
  // Changes the worker's spec. The coordinator's spec contains ps0 and ps1 in
  // this order.
  std::function<void(ClusterSpec& spec, const std::string& ps0,
                     const std::string& ps1)>
      plant;
  std::vector<std::string> told;
};

class DisagreeingSpecsTest : public ::testing::TestWithParam<SpecFault> {};

TEST_P(DisagreeingSpecsTest, TaskWithDifferentSpecIsRejected) {
  const auto free_address = [] {
    return absl::StrCat("localhost:", *bus::FreePort());
  };
  const std::string coordinator = free_address(), worker = free_address();
  const std::string ps0 = free_address(), ps1 = free_address();
  const ClusterSpec right = {
      {"coordinator", {coordinator}}, {"ps", {ps0, ps1}}, {"worker", {worker}}};
  ClusterSpec wrong = {{"coordinator", {coordinator}}, {"worker", {worker}}};
  GetParam().plant(wrong, ps0, ps1);

  NullLogger logger;
  Process process({.compute_threads = 2}), other({.compute_threads = 2});
  ASSERT_OK_AND_ASSIGN(auto first,
                       Server::Create(right, {.job_name = "coordinator",
                                              .process = &process,
                                              .logger = &logger}));
  ASSERT_OK_AND_ASSIGN(auto second, Server::Create(wrong, {.job_name = "worker",
                                                           .process = &other,
                                                           .logger = &logger}));
  const absl::Status refused = second->Join();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("/job:worker/replica:0/task:0"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(ps0));
  for (const std::string& text : GetParam().told) {
    EXPECT_THAT(std::string(refused.message()), HasSubstr(text));
  }
}

std::vector<SpecFault> SpecFaults() {
  return {{"OtherOrder",
           [](ClusterSpec& spec, const auto& ps0, const auto& ps1) {
             EXPECT_OK(spec.AddTask("ps", 0, ps1));
             EXPECT_OK(spec.AddTask("ps", 1, ps0));
           },
           {"task 0 of job \"ps\"", "the same, in another order"}},
          {"OtherAddress",
           [](ClusterSpec& spec, const auto&, const auto& ps1) {
             EXPECT_OK(spec.AddTask("ps", 0, "localhost:1"));
             EXPECT_OK(spec.AddTask("ps", 1, ps1));
           },
           {"task 0 of job \"ps\"", "localhost:1 in the second"}},
          {"OtherName",
           [](ClusterSpec& spec, const auto& ps0, const auto&) {
             EXPECT_OK(spec.AddTask("parameters", 0, ps0));
           },
           {"task 0 of job \"ps\" in the first",
            "task 0 of job \"parameters\" in the second"}}};
}

INSTANTIATE_TEST_SUITE_P(All, DisagreeingSpecsTest,
                         ::testing::ValuesIn(SpecFaults()),
                         [](const auto& fault) { return fault.param.name; });

}  // namespace
}  // namespace weft
