// Tests how the register changes with the reports of sessions and tasks, and
// which conflicts are refused.
#include "libs/coordinator/resource_register.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0";
constexpr char kWorker1[] = "/job:worker/replica:0/task:1";

std::string Cpu(const std::string& task) { return task + "/device:CPU:0"; }

NamedResource Var(const std::string& container, const std::string& name,
                  PartialShape shape = {2, 3}, DataType dtype = DT_FLOAT) {
  return {container, name, "Var", dtype, std::move(shape)};
}

NodeResource On(const std::string& task, NamedResource resource) {
  return {resource.name, resource, Cpu(task)};
}

protocol::PlacedResource Held(NamedResource resource,
                              const std::string& device) {
  protocol::PlacedResource held;
  held.resource = std::move(resource);
  held.device = device;
  return held;
}

class ResourceRegisterTest : public testing::Test {
 protected:
  ResourceRegisterTest() {
    for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) {
      register_.AddTask(task);
    }
  }

  // Compares and declares the resources, as a placement does.
  absl::Status Place(uint64_t session, const std::string& task,
                     const std::vector<NodeResource>& placed) {
    const ResourceRegister::Comparison comparison =
        register_.Compare({session, task}, placed, register_.NextTimestamp());
    unconfirmed_ = comparison.unconfirmed_tasks;
    if (!comparison.differences.empty()) {
      return ToStatus(comparison.differences, comparison.causes);
    }
    if (unconfirmed_.empty()) register_.Declare({session, task}, placed);
    return absl::OkStatus();
  }

  // Simulates the answer to a heartbeat, and the next heartbeat with a report.
  // The report contains the open sessions of the task as the register knows
  // them.
  void Report(const std::string& task,
              const std::vector<NamedResource>& held = {},
              const std::vector<protocol::DeclaredResources>& sessions = {}) {
    register_.Answer(task);
    protocol::TaskReport report;
    for (const NamedResource& one : held) {
      report.resources.push_back(Held(one, Cpu(task)));
    }
    report.sessions = sessions;
    register_.Report(task, report);
  }

  ResourceRegister register_{/*has_reports=*/true};
  std::set<std::string> unconfirmed_;
};

constexpr auto kDisagrees = absl::StatusCode::kFailedPrecondition;

TEST_F(ResourceRegisterTest, ReplicasThatAgreeShare) {
  const std::vector<NodeResource> model = {On(kPs0, Var("ps", "w")),
                                           On(kPs1, Var("ps", "b", {3}))};
  EXPECT_OK(Place(1, kWorker0, model));
  EXPECT_OK(Place(2, kWorker1, model));
  EXPECT_OK(Place(3, kPs0, model));
  EXPECT_EQ(register_.num_entries(), 2);
  EXPECT_THAT(register_.SessionsOfTasks(),
              ElementsAre(Pair(kPs0, 1), Pair(kWorker0, 1), Pair(kWorker1, 1)));
}

TEST_F(ResourceRegisterTest, SessionsAreCountedByContainer) {
  EXPECT_OK(Place(1, kWorker0,
                  {On(kPs0, Var("ps", "a")), On(kPs0, Var("ps", "b")),
                   On(kPs0, Var("box", "a"))}));
  EXPECT_OK(Place(2, kWorker0, {On(kPs0, Var("ps", "a"))}));
  EXPECT_OK(Place(3, kWorker1, {On(kPs0, Var("ps", "a"))}));
  EXPECT_THAT(
      register_.SessionsByContainer(),
      ElementsAre(Pair(kWorker0, ElementsAre(Pair("box", 1), Pair("ps", 2))),
                  Pair(kWorker1, ElementsAre(Pair("ps", 1)))));
  register_.EndSession(3);
  EXPECT_THAT(register_.SessionsByContainer(), testing::SizeIs(1));
}

TEST_F(ResourceRegisterTest, UnreportedResourceIsOnlyDeclared) {
  EXPECT_OK(
      Place(1, kWorker0, {On(kPs0, Var("ps", "b")), On(kPs0, Var("ps", "a"))}));
  const auto declared = [&](const std::string& task) {
    std::vector<std::string> names;
    for (const auto& one : register_.OnlyDeclaredOn(task)) {
      EXPECT_EQ(one.device, Cpu(task));
      EXPECT_EQ(one.resource, Var("ps", one.resource.name));
      names.push_back(one.resource.name);
    }
    return names;
  };
  EXPECT_THAT(declared(kPs0), ElementsAre("b", "a"));
  EXPECT_THAT(declared(kPs1), testing::IsEmpty());
  Report(kPs0, {Var("ps", "b")});
  EXPECT_THAT(declared(kPs0), ElementsAre("a"));
  register_.EndSession(1);
  EXPECT_THAT(declared(kPs0), testing::IsEmpty());
}

TEST_F(ResourceRegisterTest, KnownTypesAndShapesMustAgree) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w", {2, -1}))}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {-1, 3}))}));
  EXPECT_OK(Place(3, kWorker1, {On(kPs0, Var("ps", "w", PartialShape()))}));
  EXPECT_OK(Place(4, kWorker1, {On(kPs0, Var("ps", "w", {2, 3}, DT_INVALID))}));
  EXPECT_THAT(Place(5, kWorker1, {On(kPs0, Var("ps", "w", {3, 3}))}),
              StatusIs(kDisagrees, "float [3,3]"));
  EXPECT_THAT(Place(5, kWorker1, {On(kPs0, Var("ps", "w", {2, 3, 1}))}),
              StatusIs(kDisagrees, "float [2,3,1]"));
  EXPECT_THAT(Place(5, kWorker1, {On(kPs0, Var("ps", "w", {2, 3}, DT_INT32))}),
              StatusIs(kDisagrees, "int32 [2,3]"));
}

TEST_F(ResourceRegisterTest, ReferenceTypeMatchesItsBaseType) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  EXPECT_OK(Place(2, kWorker1,
                  {On(kPs0, Var("ps", "w", {2, 3}, MakeRefType(DT_FLOAT)))}));
}

TEST_F(ResourceRegisterTest, ErrorOfADisagreementShowsBothSides) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  const absl::Status status = Place(
      2, kWorker1, {{"model/w", Var("ps", "w", {2, 3}, DT_INT32), Cpu(kPs0)}});
  EXPECT_EQ(status.code(), kDisagrees);
  EXPECT_EQ(
      status.message(),
      "The session disagrees with the rest of the cluster about resources that "
      "they would share:\n"
      "  Var \"w\" in container \"ps\", node model/w\n"
      "    here:  int32 [2,3] on /job:ps/replica:0/task:0/device:CPU:0, "
      "declared by this session of /job:worker/replica:0/task:1\n"
      "    there: float [2,3] on /job:ps/replica:0/task:0/device:CPU:0, "
      "declared by a session of /job:worker/replica:0/task:0\n"
      "Likely cause: the programs give \"w\" another type.\n"
      "Run the same program in all replicas, take another container or other "
      "names, or reset the container if its resources are not needed.");
}

TEST_F(ResourceRegisterTest, DifferentOrderOfCreationIsADisagreement) {
  EXPECT_OK(Place(1, kWorker0,
                  {On(kPs0, Var("ps", "w")), On(kPs1, Var("ps", "b", {3}))}));
  const absl::Status status = Place(
      2, kWorker1, {On(kPs0, Var("ps", "b", {3})), On(kPs1, Var("ps", "w"))});
  EXPECT_THAT(status, StatusIs(kDisagrees, "Var \"w\""));
  EXPECT_THAT(status, StatusIs(kDisagrees, "Var \"b\""));
  EXPECT_THAT(status,
              StatusIs(kDisagrees,
                       "Likely cause: the programs create their variables in "
                       "another order: here \"b\" comes before \"w\", there "
                       "after it."));
}

TEST_F(ResourceRegisterTest, KnownDefinitionsMustAgree) {
  const auto queue = [](const std::string& definition) {
    return On(kPs0,
              {"ps", "q", "Queue", DT_INVALID, PartialShape(), definition});
  };
  EXPECT_OK(Place(1, kWorker0, {queue("FIFOQueue capacity=10")}));
  EXPECT_OK(Place(2, kWorker1, {queue("FIFOQueue capacity=10")}));
  EXPECT_OK(Place(3, kWorker1, {queue("")}));
  const absl::Status status =
      Place(4, kWorker1, {queue("FIFOQueue capacity=5")});
  EXPECT_THAT(status, StatusIs(kDisagrees, "here:  FIFOQueue capacity=5 on"));
  EXPECT_THAT(status, StatusIs(kDisagrees, "there: FIFOQueue capacity=10 on"));
  // The definition that was declared last stays in force, although the report
  // has no definition.
  for (const uint64_t session : {1, 2, 3}) register_.EndSession(session);
  Report(kPs0, {queue("").resource});
  EXPECT_THAT(
      ToStatus(
          register_.Compare({5, kWorker1}, {queue("FIFOQueue capacity=5")}, 0)
              .differences,
          {}),
      StatusIs(kDisagrees, "capacity=5"));
}

TEST_F(ResourceRegisterTest, ReplicaThatUsesAnotherJobDisagrees) {
  const std::vector<NodeResource> shared = {On(kPs0, Var("ps", "w")),
                                            On(kPs1, Var("ps", "b"))};
  EXPECT_OK(Place(1, kWorker0, shared));
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "step", {}))}));
  EXPECT_OK(Place(2, kWorker1, shared));
  EXPECT_THAT(
      Place(2, kWorker1, {On(kWorker0, Var("worker", "step", {}))}),
      StatusIs(kDisagrees, "\"step\" is in job worker here and in job ps"));
}

TEST_F(ResourceRegisterTest, ReplicaWithAnotherKindDisagrees) {
  const std::vector<NodeResource> shared = {On(kPs0, Var("ps", "w"))};
  NamedResource queue = Var("ps", "q");
  queue.kind = "Queue";
  EXPECT_OK(Place(1, kWorker0, shared));
  EXPECT_OK(Place(1, kWorker0, {On(kPs1, Var("ps", "b")), On(kPs0, queue)}));
  EXPECT_OK(Place(2, kWorker1, shared));
  EXPECT_OK(Place(2, kWorker1, {On(kPs1, Var("ps", "b"))}));
  EXPECT_THAT(Place(2, kWorker1, {On(kPs0, Var("ps", "q"))}),
              StatusIs(kDisagrees, "there: Queue, float [2,3] on"));
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "q")), On(kPs0, queue)}))
      << "it has both";
}

TEST_F(ResourceRegisterTest, DifferentJobsAreDifferentPrograms) {
  EXPECT_OK(Place(1, kWorker0,
                  {On(kPs0, Var("ps", "score", {})), On(kPs1, Var("ps", "w")),
                   On(kPs1, Var("ps", "b"))}));
  EXPECT_OK(
      Place(2, kWorker1,
            {On(kPs0, Var("ps", "score", {})), On(kWorker0, Var("worker", "w")),
             On(kWorker0, Var("worker", "b"))}))
      << "two experiments that share a score";
  EXPECT_OK(Place(3, kWorker1,
                  {On(kPs0, Var("ps", "score", {})), On(kPs1, Var("ps", "w")),
                   On(kWorker1, Var("worker", "b"))}))
      << "what a session has on its own task is its own";
  EXPECT_OK(Place(4, kWorker1,
                  {On(kPs0, Var("ps", "score", {})), On(kPs1, Var("ps", "w")),
                   On(kPs1, Var("own", "b"))}))
      << "a container that is asked for is meant";
}

TEST_F(ResourceRegisterTest, LongDiffIsTruncated) {
  std::vector<NodeResource> here, there;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "w" + std::to_string(i);
    here.push_back(On(kPs0, Var("ps", name, {4})));
    there.push_back(On(kPs0, Var("ps", name, {5})));
  }
  EXPECT_OK(Place(1, kWorker0, there));
  const absl::Status status = Place(2, kWorker1, here);
  EXPECT_THAT(status, StatusIs(kDisagrees, "and 4 more"));
  EXPECT_THAT(status, StatusIs(kDisagrees, "another model: \"w4\""));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\"w5\"")));
}

TEST_F(ResourceRegisterTest, DifferentPartitionCountIsADisagreement) {
  EXPECT_OK(Place(1, kWorker0,
                  {On(kPs0, Var("ps", "e/part_0", {5, 4})),
                   On(kPs1, Var("ps", "e/part_1", {5, 4}))}));
  EXPECT_THAT(Place(2, kWorker1,
                    {On(kPs0, Var("ps", "e/part_0", {4, 4})),
                     On(kPs1, Var("ps", "e/part_1", {3, 4})),
                     On(kPs0, Var("ps", "e/part_2", {3, 4}))}),
              StatusIs(kDisagrees, "partitioner"));
}

TEST_F(ResourceRegisterTest, ContainerNameAndKindIdentifyAResource) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  NamedResource table = Var("ps", "w", {7});
  table.kind = "HashTable";
  EXPECT_OK(Place(2, kWorker1, {On(kPs1, table)}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs1, Var("model_1", "w", {7}))}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs1, Var("ps", "w_1", {7}))}));
  EXPECT_EQ(register_.num_entries(), 4);
}

// ---- correct programs, which must never be refused ----

TEST_F(ResourceRegisterTest, LocalResourcesWithOneNameAreNotCompared) {
  const NamedResource step = Var("worker", "sync_rep_local_step", {});
  EXPECT_OK(Place(1, kWorker0, {On(kWorker0, step)}));
  EXPECT_OK(Place(2, kWorker1, {On(kWorker1, step)}));
  EXPECT_OK(Place(3, kWorker1, {On(kWorker1, Var("worker", step.name, {9}))}))
      << "nor is what a session has on its own task";
  // Resources that these sessions leave behind are not compared either.
  for (const uint64_t session : {1, 2, 3}) register_.EndSession(session);
  Report(kWorker0, {step});
  Report(kWorker1);
  EXPECT_OK(Place(4, kPs0, {On(kWorker1, Var("worker", step.name, {9}))}));
  EXPECT_THAT(unconfirmed_, IsEmpty());
}

TEST_F(ResourceRegisterTest, SessionIsNotComparedWithItself) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w", {2}))}));
  EXPECT_OK(
      Place(1, kWorker0,
            {On(kPs0, Var("ps", "w", {3})), On(kPs1, Var("ps", "w", {4}))}));
}

TEST_F(ResourceRegisterTest, OneClientMayUseANameOnTwoDevices) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  EXPECT_OK(Place(2, kWorker0, {On(kPs1, Var("ps", "w"))}));
  EXPECT_THAT(Place(3, kWorker0, {On(kPs1, Var("ps", "w", {7}))}),
              StatusIs(kDisagrees, "[7]"))
      << "on one device it is one resource";
}

TEST_F(ResourceRegisterTest, LongerProgramDoesNotDisagree) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w"))}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs1, Var("ps", "w"))}))
      << "the other replica comes to it later";
  EXPECT_OK(Place(1, kWorker0, {On(kPs1, Var("ps", "w"))}));
  EXPECT_OK(Place(3, kPs0, {On(kPs1, Var("ps", "w"))}));
}

// ---- resources that remain when sessions end ----

TEST_F(ResourceRegisterTest, EntryEndsWithItsSessionAndResource) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.EndSession(1);
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {7}))}));
  EXPECT_THAT(unconfirmed_, ElementsAre(kPs0)) << "only the ps knows";
  Report(kPs0);
  EXPECT_EQ(register_.num_entries(), 0);
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {7}))}));
  EXPECT_THAT(unconfirmed_, IsEmpty());
}

TEST_F(ResourceRegisterTest, ExistingResourceKeepsItsEntry) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.EndSession(1);
  const uint64_t since = register_.NextTimestamp();
  Report(kPs0, {Var("ps", "w")});
  const auto refused = [&](const NodeResource& placed) {
    const auto comparison = register_.Compare({2, kWorker1}, {placed}, since);
    EXPECT_THAT(comparison.unconfirmed_tasks, IsEmpty());
    return comparison.differences.empty()
               ? absl::OkStatus()
               : ToStatus(comparison.differences, comparison.causes);
  };
  EXPECT_THAT(refused(On(kPs0, Var("ps", "w", {7}))),
              StatusIs(kDisagrees,
                       "where it has lived since a session of "
                       "/job:worker/replica:0/task:0 that has "
                       "ended"));
  EXPECT_THAT(refused(On(kPs1, Var("ps", "w"))),
              StatusIs(kDisagrees, "an earlier program has left"));
  EXPECT_OK(refused(On(kPs0, Var("ps", "w"))));
}

// A variable whose shape may change matches later declarations, although an
// earlier program declared a fixed shape.
TEST_F(ResourceRegisterTest, UnknownShapeMatchesLaterDeclarations) {
  EXPECT_OK(
      Place(1, kWorker0, {On(kPs0, Var("ps", "w")), On(kPs0, Var("ps", "v"))}));
  register_.EndSession(1);
  Report(kPs0, {Var("ps", "w", {-1, 3}), Var("ps", "v", PartialShape())});
  const auto place = [&](NamedResource resource) {
    const auto comparison =
        register_.Compare({2, kWorker1}, {On(kPs0, std::move(resource))}, 0);
    EXPECT_THAT(comparison.unconfirmed_tasks, IsEmpty());
    return comparison.differences.empty()
               ? absl::OkStatus()
               : ToStatus(comparison.differences, comparison.causes);
  };
  EXPECT_OK(place(Var("ps", "w", {7, 3})));
  EXPECT_THAT(place(Var("ps", "w", {7, 4})),
              StatusIs(kDisagrees, "there: float [?,3]"));
  EXPECT_OK(place(Var("ps", "v", {5})));
  EXPECT_THAT(place(Var("ps", "v", {5}, DT_INT32)),
              StatusIs(kDisagrees, "there: float"));
}

// This also applies on the session's own task, where resources that other open
// sessions declare are not compared.
TEST_F(ResourceRegisterTest, ResourceLeftOnOwnTaskMustAgree) {
  const auto queue = [](const std::string& definition) {
    return On(kWorker0,
              {"worker", "q", "Queue", DT_INVALID, PartialShape(), definition});
  };
  EXPECT_OK(
      Place(1, kWorker0,
            {On(kWorker0, Var("worker", "x", {2})), queue("capacity=1")}));
  EXPECT_OK(Place(2, kWorker0, {On(kWorker0, Var("worker", "x", {3}))}))
      << "both are open: its initialization decides";
  register_.EndSession(2);
  register_.EndSession(1);
  EXPECT_OK(Place(3, kWorker0, {On(kWorker0, Var("worker", "x", {4}))}));
  EXPECT_THAT(unconfirmed_, ElementsAre(kWorker0)) << "is it still there?";
  Report(kWorker0, {Var("worker", "x", {2})});
  const auto place = [&](const NodeResource& placed) {
    const auto comparison = register_.Compare({3, kWorker0}, {placed}, 0);
    return comparison.differences.empty()
               ? absl::OkStatus()
               : ToStatus(comparison.differences, comparison.causes);
  };
  const absl::Status refused = place(On(kWorker0, Var("worker", "x", {4})));
  EXPECT_EQ(refused.code(), kDisagrees);
  EXPECT_EQ(
      refused.message(),
      "The session defines resources differently from earlier sessions whose "
      "resources still exist:\n"
      "  Var \"x\" in container \"worker\", node x\n"
      "    here:  float [4] on /job:worker/replica:0/task:0/device:CPU:0, "
      "declared by this session of /job:worker/replica:0/task:0\n"
      "    there: float [2] on /job:worker/replica:0/task:0/device:CPU:0, "
      "where it has lived since a session of "
      "/job:worker/replica:0/task:0 that has ended\n"
      "Likely cause: an earlier program has left its resources, and this "
      "one defines its model differently: reset the container.\n"
      "Likely cause: the programs build another model: \"x\" has "
      "another shape.\n"
      "What a session has made lives on in its container until that is "
      "reset. If it is not needed any more: `weft reset worker`, or "
      "Session::Reset(target, {\"worker\"}). If it is: give this "
      "program a container (Scope::WithContainer) or names "
      "(Scope::SubScope) of its own.");
  EXPECT_THAT(place(On(kWorker0, Var("worker", "x", {2}, DT_INT32))),
              StatusIs(kDisagrees, "int32 [2]"));
  EXPECT_OK(place(On(kWorker0, Var("worker", "x", {2}))));
  EXPECT_OK(place(On(kWorker0, Var("worker", "x", PartialShape()))));
  EXPECT_OK(place(queue("capacity=2"))) << "the op says so itself";
}

TEST_F(ResourceRegisterTest, StaleReportIsNotTrusted) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  // The ps has received an answer and builds a report. Then the session ends,
  // after it has created the variable, so the report does not contain it.
  EXPECT_FALSE(register_.Answer(kPs0));
  register_.EndSession(1);
  register_.Report(kPs0, {});
  EXPECT_EQ(register_.num_entries(), 1);
  EXPECT_TRUE(register_.Answer(kPs0)) << "another report is wanted";
  register_.Report(kPs0, {});
  EXPECT_EQ(register_.num_entries(), 0);
  EXPECT_FALSE(register_.Answer(kPs0));
}

// Heartbeats continue while a task collects its report, so a later answer does
// not make that report more recent.
TEST_F(ResourceRegisterTest, LaterAnswerDoesNotRefreshAReport) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.EndSession(1);
  EXPECT_TRUE(register_.Answer(kPs0)) << "it collects the report now";
  EXPECT_OK(Place(2, kWorker0, {On(kPs0, Var("ps", "v"))}));
  register_.EndSession(2);
  EXPECT_TRUE(register_.Answer(kPs0)) << "to a heartbeat";
  register_.Report(kPs0, {});
  EXPECT_EQ(register_.num_entries(), 1) << "it does not know of v yet";
  EXPECT_TRUE(register_.Answer(kPs0)) << "another report is wanted";
  register_.Report(kPs0, {});
  EXPECT_EQ(register_.num_entries(), 0);
}

TEST_F(ResourceRegisterTest, ResourceOfAnOpenSessionIsConfirmed) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w"))}));
  register_.EndSession(1);
  EXPECT_FALSE(register_.Answer(kPs0));
  Report(kPs0);
  EXPECT_EQ(register_.num_entries(), 1);
}

TEST_F(ResourceRegisterTest, DeclarationsTakePrecedenceOverResources) {
  // A program that may change a variable's shape declares no shape.
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w", PartialShape()))}));
  Report(kPs0, {Var("ps", "w", {5})});
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {6}))}));
}

TEST_F(ResourceRegisterTest, OnlyOpenSessionsCountWithoutReports) {
  ResourceRegister alone(/*has_reports=*/false);
  alone.AddTask(kPs0);
  alone.Declare({1, kWorker0}, {On(kPs0, Var("ps", "w"))});
  EXPECT_FALSE(alone
                   .Compare({2, kWorker1}, {On(kPs0, Var("ps", "w", {7}))},
                            alone.NextTimestamp())
                   .differences.empty());
  alone.EndSession(1);
  const auto comparison = alone.Compare(
      {2, kWorker1}, {On(kPs0, Var("ps", "w", {7}))}, alone.NextTimestamp());
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_TRUE(comparison.unconfirmed_tasks.empty());
  EXPECT_FALSE(alone.Answer(kPs0));
  EXPECT_THAT(alone.Homes(Var("", "w")), ElementsAre(Cpu(kPs0)))
      << "it may live there";
}

// Tests that the cost of a placement does not depend on the number of known
// resources. The cost is the number of entries examined, not the time.

class ResourceRegisterCostTest : public ResourceRegisterTest {
 protected:
  static std::string Worker(int i) {
    return absl::StrCat("/job:worker/replica:0/task:", i);
  }
  // Returns the model of a replica: its variables on the parameter servers, and
  // its own step counter.
  static std::vector<NodeResource> Model(const std::string& worker,
                                         int num_variables) {
    std::vector<NodeResource> model;
    for (int i = 0; i < num_variables; ++i) {
      model.push_back(
          On(i % 2 == 0 ? kPs0 : kPs1, Var("ps", absl::StrCat("w", i))));
    }
    model.push_back(On(worker, Var("worker", "local_step", {})));
    return model;
  }
  // Returns the number of entries that `work` examines.
  template <typename Work>
  uint64_t CostOf(const Work& work) {
    const uint64_t before = register_.num_looks();
    work();
    return register_.num_looks() - before;
  }
  // Acts as a new replica: looks up the devices of resources, compares, and
  // declares.
  void Come(int worker, int num_variables) {
    const std::vector<NodeResource> model =
        Model(Worker(worker), num_variables);
    for (const NodeResource& one : model) register_.Homes(one.resource);
    ASSERT_OK(Place(1 + worker, Worker(worker), model));
    ASSERT_THAT(unconfirmed_, IsEmpty());
  }
};

TEST_F(ResourceRegisterCostTest, CostOfAReplicaIsConstant) {
  constexpr int kVariables = 50;
  for (int i = 0; i < 3; ++i) Come(i, kVariables);
  const uint64_t third = CostOf([&] { Come(3, kVariables); });
  for (int i = 4; i < 100; ++i) Come(i, kVariables);
  EXPECT_LE(CostOf([&] { Come(100, kVariables); }), 2 * third);
  EXPECT_LE(third, 10 * kVariables);
  EXPECT_GE(third, kVariables) << "each is looked at, and that is counted";
}

TEST_F(ResourceRegisterCostTest, ExtensionCostsOnlyItsNewNodes) {
  Come(0, 500);
  Come(1, 500);
  const auto extend = [&](const std::string& name) {
    return CostOf(
        [&] { EXPECT_OK(Place(1, Worker(0), {On(kPs0, Var("ps", name))})); });
  };
  EXPECT_LE(extend("late"), 10);
  EXPECT_LE(extend("later"), 10);
}

TEST_F(ResourceRegisterCostTest, OtherContainersAndLocalsAreFree) {
  constexpr int kVariables = 20;
  for (int i = 0; i < 100; ++i) {
    std::vector<NodeResource> own;
    for (int k = 0; k < kVariables; ++k) {
      const std::string name = absl::StrCat("w", k);
      own.push_back(On(kPs0, Var(absl::StrCat("experiment", i), name)));
      // Each worker keeps a copy of each variable on its own device.
      own.push_back(On(Worker(i), Var("ps", name)));
    }
    ASSERT_OK(Place(1000 + i, Worker(i), own));
  }
  EXPECT_LE(CostOf([&] {
              EXPECT_OK(Place(1, Worker(100), Model(Worker(100), kVariables)));
            }),
            15 * kVariables);
}

// The two programs have only the names of their variables in common.
TEST_F(ResourceRegisterCostTest, UnrelatedProgramsCostNoMoreThanOne) {
  constexpr int kVariables = 50;
  const auto come_as_stranger = [&](int worker) {
    std::vector<NodeResource> model;
    for (int i = 0; i < kVariables; ++i) {
      model.push_back(
          On(Worker(900 + i % 2), Var("worker", absl::StrCat("w", i))));
    }
    ASSERT_OK(Place(1000 + worker, Worker(worker), model));
  };
  for (int i = 0; i < 3; ++i) Come(i, kVariables);
  const uint64_t few = CostOf([&] { come_as_stranger(200); });
  for (int i = 3; i < 100; ++i) Come(i, kVariables);
  EXPECT_LE(CostOf([&] { come_as_stranger(201); }), 2 * few);
}

// ---- tasks that join and leave ----

TEST_F(ResourceRegisterTest, LostTaskLosesContainersAndSessions) {
  EXPECT_OK(
      Place(1, kWorker0, {On(kPs0, Var("ps", "w")), On(kPs1, Var("ps", "b"))}));
  register_.DropTask(kPs0);
  EXPECT_EQ(register_.num_entries(), 1);
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {7}))}));
  register_.DropTask(kWorker0);
  EXPECT_THAT(register_.SessionsOfTasks(), ElementsAre(Pair(kWorker1, 1)));
  EXPECT_TRUE(register_.Answer(kPs1)) << "does b still exist?";
  Report(kPs1);
  EXPECT_EQ(register_.num_entries(), 1);
}

TEST_F(ResourceRegisterTest, ReturningTaskReportsAgain) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.DropTask(kWorker0);
  register_.AddTask(kWorker0);
  Report(kWorker0, {}, {{1, {Held(Var("ps", "w"), Cpu(kPs0))}}});
  EXPECT_THAT(Place(2, kWorker1, {On(kPs1, Var("ps", "w"))}),
              StatusIs(kDisagrees,
                       "declared by a session of "
                       "/job:worker/replica:0/task:0"));
}

TEST_F(ResourceRegisterTest, NewRegisterLearnsFromReports) {
  ResourceRegister restarted(/*has_reports=*/true);
  // The worker joins the new coordinator before the ps does.
  restarted.AddTask(kWorker0);
  restarted.Report(kWorker0, {{}, {{1, {Held(Var("ps", "w"), Cpu(kPs0))}}}});
  restarted.AddTask(kPs0);
  restarted.Report(kPs0, {{Held(Var("ps", "w"), Cpu(kPs0)),
                           Held(Var("ps", "old"), Cpu(kPs0))},
                          {}});
  restarted.Answer(kPs0);
  restarted.Report(kPs0, {{Held(Var("ps", "w"), Cpu(kPs0)),
                           Held(Var("ps", "old"), Cpu(kPs0))},
                          {}});
  const auto differences = [&](const NodeResource& placed) {
    return restarted.Compare({2, kWorker1}, {placed}, 0).differences.size();
  };
  EXPECT_EQ(differences(On(kPs1, Var("ps", "w"))), 1u);
  EXPECT_EQ(differences(On(kPs0, Var("ps", "w", {7}))), 1u);
  EXPECT_EQ(differences(On(kPs0, Var("ps", "old", {7}))), 1u);
  EXPECT_EQ(differences(On(kPs1, Var("ps", "old"))), 0u)
      << "nobody knows whether it was somebody's local one";
  EXPECT_THAT(restarted.Homes(Var("", "old")), ElementsAre(Cpu(kPs0)));
}

TEST_F(ResourceRegisterTest, SessionMissingFromReportsHasEnded) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  // After the first report, the master may not know yet that the session was
  // placed.
  Report(kWorker0);
  EXPECT_THAT(register_.SessionsOfTasks(), ElementsAre(Pair(kWorker0, 1)));
  EXPECT_TRUE(register_.Answer(kWorker0)) << "so another report is wanted";
  Report(kWorker0, {}, {{1, {Held(Var("ps", "w"), Cpu(kPs0))}}});
  Report(kWorker0);
  EXPECT_THAT(register_.SessionsOfTasks(), ElementsAre(Pair(kWorker0, 1)));
  Report(kWorker0);
  EXPECT_THAT(register_.SessionsOfTasks(), IsEmpty());
}

TEST_F(ResourceRegisterTest, LateReportRestoresASession) {
  EXPECT_OK(Place(1, kWorker0, {On(kWorker0, Var("worker", "w"))}));
  Report(kWorker0);
  Report(kWorker0);
  EXPECT_THAT(register_.SessionsOfTasks(), IsEmpty());
  EXPECT_TRUE(register_.Answer(kWorker0)) << "so another report is wanted";
  Report(kWorker0, {}, {{1, {Held(Var("worker", "w"), Cpu(kWorker0))}}});
  EXPECT_THAT(register_.SessionsOfTasks(), ElementsAre(Pair(kWorker0, 1)));
  // Resources that the session leaves on the task are known like those of any
  // other task.
  register_.EndSession(1);
  Report(kWorker0, {Var("worker", "w")});
  const NodeResource other = On(kWorker0, Var("worker", "w", {4}));
  EXPECT_THAT(register_.Compare({2, kWorker0}, {other}, 0).differences,
              SizeIs(1));
}

TEST_F(ResourceRegisterTest, ReportInFlightDoesNotReviveASession) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.EndSession(1);
  EXPECT_TRUE(register_.HasEnded(1));
  Report(kWorker0, {}, {{1, {Held(Var("ps", "w"), Cpu(kPs0))}}});
  EXPECT_THAT(register_.SessionsOfTasks(), IsEmpty());
}

TEST_F(ResourceRegisterTest, MalformedReportEntriesAreSkipped) {
  Report(kWorker0);
  register_.Report(
      kWorker0,
      {{Held(Var("worker", "a"), "nonsense"),
        Held(Var("worker", "b"), "/job:worker/task:0/cpu:0"),
        Held(Var("", "c"), Cpu(kWorker0)),
        Held(Var("ps", "d"), Cpu(kPs0))},  // on another task
       {{1, {Held(Var("ps", "e"), ""), Held(Var("", "f"), Cpu(kPs0))}}}});
  EXPECT_EQ(register_.num_entries(), 0);
  // A task cannot report declarations of another task's session either.
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  Report(kWorker1, {}, {{1, {Held(Var("ps", "x"), Cpu(kPs0))}}});
  EXPECT_EQ(register_.num_entries(), 1);
}

// ---- Homes and Forget ----

TEST_F(ResourceRegisterTest, DevicesOfDeclaredAndExistingAreFound) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  Report(kWorker1, {Var("worker", "w"), Var("ps", "w"), Var("shared", "w")});
  EXPECT_THAT(register_.Homes(Var("", "w")),
              ElementsAre(Cpu(kPs0), Cpu(kWorker1)))
      << "default containers only";
  EXPECT_THAT(register_.Homes(Var("ps", "w")),
              ElementsAre(Cpu(kPs0), Cpu(kWorker1)));
  EXPECT_THAT(register_.Homes(Var("shared", "w")), ElementsAre(Cpu(kWorker1)));
  EXPECT_THAT(register_.Homes(Var("", "v")), IsEmpty());
  NamedResource table = Var("", "w");
  table.kind = "HashTable";
  EXPECT_THAT(register_.Homes(table), IsEmpty());
}

TEST_F(ResourceRegisterTest, ResetForgetsDeclarations) {
  auto forget = [&](const std::vector<std::string>& containers,
                    const std::vector<std::string>& filters) {
    absl::StatusOr<ContainerFilter> filter =
        ContainerFilter::Create(containers, filters);
    ASSERT_OK(filter);
    register_.Forget(*filter);
  };
  EXPECT_OK(Place(1, kWorker0,
                  {On(kPs0, Var("ps", "w")), On(kPs0, Var("a", "w")),
                   On(kPs1, Var("a", "v")), On(kPs1, Var("ps", "v"))}));
  forget({"nothing"}, {});
  EXPECT_EQ(register_.num_entries(), 4);
  forget({"a"}, {"/job:ps/task:0"});
  EXPECT_THAT(register_.Homes(Var("a", "w")), IsEmpty());
  EXPECT_EQ(register_.num_entries(), 3);
  forget({}, {"/job:ps"});
  EXPECT_THAT(register_.Homes(Var("a", "v")), ElementsAre(Cpu(kPs1)));
  EXPECT_EQ(register_.num_entries(), 1);
  EXPECT_OK(Place(2, kWorker1, {On(kPs0, Var("ps", "w", {7}))}));
  register_.EndSession(1);
  EXPECT_THAT(register_.SessionsOfTasks(), ElementsAre(Pair(kWorker1, 1)));
}

TEST_F(ResourceRegisterTest, ReportFromBeforeAResetIsIgnored) {
  EXPECT_OK(Place(1, kWorker0, {On(kPs0, Var("ps", "w"))}));
  register_.Answer(kPs0);
  absl::StatusOr<ContainerFilter> all = ContainerFilter::Create({}, {});
  ASSERT_OK(all);
  register_.Forget(*all);
  const protocol::TaskReport late = {{Held(Var("ps", "w"), Cpu(kPs0))}, {}};
  EXPECT_FALSE(register_.Report(kPs0, late));
  EXPECT_EQ(register_.num_entries(), 0);
  EXPECT_TRUE(register_.Answer(kPs0));
  EXPECT_TRUE(register_.Report(kPs0, late));
  EXPECT_EQ(register_.num_entries(), 1) << "made anew since";
}

}  // namespace
}  // namespace weft
