#include "libs/kernels/kernel_registry.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/inference_context.h"
#include "libs/kernels/host_gpu_kernels.h"

namespace weft {
namespace {

class Nothing : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

std::shared_ptr<const OpRegistry> TestOps() {
  auto ops = std::make_shared<OpRegistry>();
  for (const char* name : {"Square", "Relu6", "QueueSize", "Lonely"}) {
    ops->Add(OpDefBuilder(name).Attr("T: type").Shape(shapes::NoOutputs));
  }
  ops->Add(
      OpDefBuilder("Many").Attr("Ts: list(type)").Shape(shapes::NoOutputs));
  ops->Add(
      OpDefBuilder("VariableV2").Attr("dtype: type").Shape(shapes::NoOutputs));
  return ops;
}

class KernelRegistryTest : public ::testing::Test {
 protected:
  KernelRegistryTest() : graph_(TestOps()) {
    registry_.Register<Nothing>("Square", {{"T", {DT_FLOAT, DT_STRING}}});
    registry_.Register<Nothing>("Square", {{"T", {DT_INT32}}},
                                /*is_cheap=*/true);
    registry_.Register<Nothing>("Many", {{"Ts", {DT_FLOAT, DT_INT32}}});
    registry_.Register<Nothing>("QueueSize");
    registry_.Register<Nothing>("Relu6", {{"T", {DT_FLOAT, DT_INT64}}});
    registry_.Register<Nothing>("VariableV2");
  }

  const Node& Add(const std::string& op, AttrMap attrs) {
    return **graph_.AddNode({.name = absl::StrCat("node", graph_.num_nodes()),
                             .op = op,
                             .attrs = std::move(attrs)});
  }

  Graph graph_;
  KernelRegistry registry_;
};

TEST_F(KernelRegistryTest, FindsByType) {
  ASSERT_OK_AND_ASSIGN(const auto* of_float,
                       registry_.Find(Add("Square", {{"T", DT_FLOAT}}), "CPU"));
  EXPECT_FALSE(of_float->def.is_cheap);
  ASSERT_OK_AND_ASSIGN(const auto* of_int,
                       registry_.Find(Add("Square", {{"T", DT_INT32}}), "CPU"));
  EXPECT_TRUE(of_int->def.is_cheap);
  EXPECT_TRUE(registry_.Has("Square", "CPU"));
  EXPECT_FALSE(registry_.Has("Square", "GPU"));
  EXPECT_FALSE(registry_.Has("Lonely", "CPU"));
}

TEST_F(KernelRegistryTest, ListsOfTypesMatchWhenAllDo) {
  using Types = std::vector<DataType>;
  EXPECT_OK(registry_.Find(
      Add("Many", {{"Ts", Types{DT_FLOAT, DT_INT32, DT_FLOAT}}}), "CPU"));
  EXPECT_OK(registry_.Find(Add("Many", {{"Ts", Types{}}}), "CPU"));
  EXPECT_THAT(
      registry_.Find(Add("Many", {{"Ts", Types{DT_FLOAT, DT_BOOL}}}), "CPU"),
      StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(KernelRegistryTest, NotFoundErrorListsRegistrations) {
  EXPECT_THAT(registry_.Find(Add("Square", {{"T", DT_BOOL}}), "CPU"),
              StatusIs(absl::StatusCode::kNotFound,
                       "No registered 'Square' OpKernel for 'CPU' devices "
                       "compatible with node node0 (OpKernel was found, but "
                       "attributes didn't match) Requested Attributes: "
                       "T=DT_BOOL.  Registered:\n"
                       "  device='CPU'; T in [DT_FLOAT, DT_STRING]\n"
                       "  device='CPU'; T in [DT_INT32]"));
  EXPECT_THAT(registry_.Find(Add("Lonely", {{"T", DT_BOOL}}), "CPU"),
              StatusIs(absl::StatusCode::kNotFound, "<no registered kernels>"));
}

TEST_F(KernelRegistryTest, AmbiguousMatchIsRejected) {
  registry_.Register<Nothing>("Square");
  EXPECT_THAT(registry_.Find(Add("Square", {{"T", DT_FLOAT}}), "CPU"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Multiple OpKernel registrations match node node0"));
}

TEST_F(KernelRegistryTest, ListIsSortedByOp) {
  std::vector<std::string> ops;
  for (const KernelDef* def : registry_.List()) ops.push_back(def->op);
  EXPECT_EQ(ops, (std::vector<std::string>{"Many", "QueueSize", "Relu6",
                                           "Square", "Square", "VariableV2"}));
}

TEST_F(KernelRegistryTest, HostGpusRunTensorFlowGpuOps) {
  RegisterHostGpuKernels(registry_);
  const std::vector<std::string> both = {"CPU", "GPU"};
  const std::vector<std::string> cpu = {"CPU"};
  auto types = [&](const std::string& op, const char* attr, DataType type) {
    return registry_.DeviceTypesFor(Add(op, {{attr, type}}));
  };
  EXPECT_EQ(types("Square", "T", DT_FLOAT), both);
  EXPECT_EQ(types("Square", "T", DT_INT32), both);
  EXPECT_EQ(types("Square", "T", DT_STRING), cpu);
  EXPECT_EQ(types("Relu6", "T", DT_FLOAT), both);
  EXPECT_EQ(types("Relu6", "T", DT_INT64), cpu);
  EXPECT_EQ(types("QueueSize", "T", DT_FLOAT), cpu);
  EXPECT_EQ(types("VariableV2", "dtype", DT_FLOAT), both);
  EXPECT_EQ(types("VariableV2", "dtype", DT_INT32), cpu);
  EXPECT_TRUE(types("Lonely", "T", DT_FLOAT).empty());
}

}  // namespace
}  // namespace weft
