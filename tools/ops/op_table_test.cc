// Checks the requirements of docs/design/adding_an_op.md: each op has a
// definition, a kernel and a gradient. The test loops over the rows that the
// tool prints, and fails until all three exist.
#include "tools/ops/op_table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "libs/graph/inference_context.h"
#include "libs/kernels/host_gpu_kernels.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/ops/standard_ops.h"

namespace weft::tools {
namespace {

// Returns the ops whose shape function infers nothing, with a reason for each.
const std::map<std::string, std::string>& NotInferred() {
  constexpr char kFromOutside[] = "it comes from outside of the partition";
  constexpr char kBytes[] = "only the bytes tell";
  constexpr char kElements[] = "the elements may have any shape";
  constexpr char kFunction[] = "only the function's body tells";
  constexpr char kProgram[] = "only the program's function tells";
  constexpr char kFused[] = "it is made when nobody asks for shapes any more";
  static const auto& ops = *new std::map<std::string, std::string>{
      {"_Arg", kFromOutside},
      {"_Recv", kFromOutside},
      {"_FusedConv2D", kFused},
      {"_FusedDepthwiseConv2dNative", kFused},
      {"_FusedElementwise", kFused},
      {"_FusedMatMul", kFused},
      {"_SlicedMatMul", kFused},
      {"PyFunc", kProgram},
      {"PyFuncStateless", kProgram},
      {"EagerPyFunc", kProgram},
      {"ParseTensor", kBytes},
      {"PartitionedCall", kFunction},
      {"StatefulPartitionedCall", kFunction},
      {"SymbolicGradient", kFunction},
      {"TensorListElementShape", kElements},
      {"StackPop", kElements},
      {"StackPopV2", kElements},
      {"TensorArrayRead", kElements},
      {"TensorArrayReadV2", kElements},
      {"TensorArrayReadV3", kElements},
      {"Unstage", kElements},
      {"MapUnstage", kElements},
      {"MapPeek", kElements},
      {"OrderedMapUnstage", kElements},
      {"OrderedMapPeek", kElements}};
  return ops;
}

// Returns the types of `part` that are not in `whole`.
std::vector<DataType> Beyond(std::vector<DataType> part,
                             std::vector<DataType> whole) {
  std::sort(part.begin(), part.end());
  std::sort(whole.begin(), whole.end());
  std::vector<DataType> result;
  std::set_difference(part.begin(), part.end(), whole.begin(), whole.end(),
                      std::back_inserter(result));
  return result;
}

class OpTableTest : public ::testing::Test {
 protected:
  const std::vector<OpRow> rows_ = StandardOpTable();
};

TEST_F(OpTableTest, EachOpHasOneRow) {
  const std::vector<const OpDef*> ops = StandardOps()->List();
  ASSERT_GT(ops.size(), 100u);
  ASSERT_EQ(rows_.size(), ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    EXPECT_EQ(rows_[i].name, ops[i]->name);
    EXPECT_EQ(rows_[i].is_stateful, ops[i]->is_stateful);
  }
}

TEST_F(OpTableTest, EveryOpHasADescription) {
  for (const OpRow& row : rows_) {
    EXPECT_FALSE(row.summary.empty()) << row.name << " has no line of doc";
    EXPECT_FALSE(absl::StrContains(row.summary, "\n"))
        << row.name << " has more than a line of doc";
    EXPECT_TRUE(absl::StrContains(row.signature, "->")) << row.name;
  }
}

TEST_F(OpTableTest, EveryOpInfersShapesOrGivesReason) {
  for (const OpRow& row : rows_) {
    const auto reason = NotInferred().find(row.name);
    if (row.shape == ShapeStatus::kUnknown) {
      EXPECT_NE(reason, NotInferred().end())
          << row.name << " infers no shape, and there is no reason for it";
    } else {
      EXPECT_EQ(reason, NotInferred().end())
          << row.name << " infers shapes by now: take it from the list";
    }
  }
  for (const auto& [name, reason] : NotInferred()) {
    EXPECT_NE(StandardOps()->Find(name), nullptr) << name;
    EXPECT_FALSE(reason.empty()) << name;
  }
}

TEST_F(OpTableTest, EveryOpHasACpuKernel) {
  for (const OpRow& row : rows_) {
    EXPECT_NE(row.cpu.status, KernelStatus::kMissing)
        << row.name << " has no kernel";
  }
}

TEST_F(OpTableTest, EveryOpHasAGradientOrIsMarkedWithout) {
  for (const OpRow& row : rows_) {
    EXPECT_NE(row.gradient, GradientStatus::kMissing)
        << row.name << " has no gradient and does not say so (RegisterNone)";
  }
}

// An op can never run if its kernels support none of the allowed types.
TEST_F(OpTableTest, KernelsAcceptSomeAllowedType) {
  for (const OpRow& row : rows_) {
    for (const KernelColumn* column : {&row.cpu, &row.gpu}) {
      for (const auto& [attr, types] : column->types) {
        EXPECT_FALSE(types.empty()) << row.name << " " << attr;
      }
    }
  }
}

TEST_F(OpTableTest, KernelTypeAttrsExistInTheirOps) {
  KernelRegistry kernels;
  RegisterStandardKernels(kernels);
  ASSERT_FALSE(kernels.List().empty());
  for (const KernelDef* kernel : kernels.List()) {
    const OpDef* op = StandardOps()->Find(kernel->op);
    ASSERT_NE(op, nullptr) << "a kernel of the unknown op " << kernel->op;
    for (const auto& [name, types] : kernel->types) {
      const AttrDef* attr = op->FindAttr(name);
      ASSERT_NE(attr, nullptr) << "a kernel of " << op->name
                               << " constrains the unknown attr " << name;
      EXPECT_TRUE(attr->type == "type" || attr->type == "list(type)")
          << op->name << " " << name << " is of type " << attr->type;
    }
  }
}

// A kernel that is registered for a type that no node can have is an error.
TEST_F(OpTableTest, KernelTypesAreAllowedByTheirOps) {
  KernelRegistry kernels;
  RegisterStandardKernels(kernels);
  RegisterHostGpuKernels(kernels);
  for (const KernelDef* kernel : kernels.List()) {
    const OpDef* op = StandardOps()->Find(kernel->op);
    ASSERT_NE(op, nullptr) << kernel->op;
    for (const auto& [name, types] : kernel->types) {
      const AttrDef* attr = op->FindAttr(name);
      ASSERT_NE(attr, nullptr) << op->name << " " << name;
      if (attr->allowed_types.empty()) continue;
      for (DataType type : Beyond(types, attr->allowed_types)) {
        ADD_FAILURE() << "a kernel of " << op->name << " on "
                      << kernel->device_type << " takes " << name << " "
                      << DataTypeName(type) << ", which the op does not allow";
      }
    }
  }
}

// A few GPU kernels exist even without the CUDA toolkit.
TEST_F(OpTableTest, GpuKernelsAreASubsetOfCpuKernels) {
  int on_gpus = 0;
  for (const OpRow& row : rows_) {
    if (row.gpu.status != KernelStatus::kYes) continue;
    ++on_gpus;
    EXPECT_EQ(row.cpu.status, KernelStatus::kYes) << row.name;
    for (const auto& [attr, types] : row.gpu.types) {
      const auto cpu = row.cpu.types.find(attr);
      if (cpu == row.cpu.types.end()) continue;
      EXPECT_EQ(Beyond(types, cpu->second), std::vector<DataType>())
          << row.name << " " << attr;
    }
  }
  EXPECT_GT(on_gpus, 50);
}

// A GPU that uses the host's memory runs the CPU kernels.
TEST_F(OpTableTest, HostGpuKernelsAreASubsetOfCpuKernels) {
  KernelRegistry kernels;
  RegisterStandardKernels(kernels);
  RegisterHostGpuKernels(kernels);
  int on_gpus = 0;
  for (const OpRow& row :
       OpTable(*StandardOps(), kernels, StandardGradients())) {
    if (row.gpu.status != KernelStatus::kYes) continue;
    ++on_gpus;
    EXPECT_EQ(row.cpu.status, KernelStatus::kYes) << row.name;
    for (const auto& [attr, types] : row.cpu.types) {
      const auto gpu = row.gpu.types.find(attr);
      ASSERT_NE(gpu, row.gpu.types.end()) << row.name << " " << attr;
      EXPECT_EQ(Beyond(gpu->second, types), std::vector<DataType>())
          << row.name << " " << attr;
    }
  }
  EXPECT_GT(on_gpus, 100);
}

TEST_F(OpTableTest, KnownRowsAreCorrect) {
  const auto find = [&](absl::string_view name) {
    const auto row = std::find_if(
        rows_.begin(), rows_.end(),
        [&](const OpRow& candidate) { return candidate.name == name; });
    EXPECT_NE(row, rows_.end()) << name;
    return row == rows_.end() ? OpRow() : *row;
  };
  const OpRow concat = find("ConcatV2");
  EXPECT_EQ(concat.signature, "values: N * T, axis: Tidx -> output: T");
  EXPECT_EQ(concat.gradient, GradientStatus::kYes);
  const OpRow assign = find("Assign");
  EXPECT_EQ(assign.signature, "ref: Ref(T), value: T -> output_ref: Ref(T)");
  EXPECT_EQ(find("NoOp").signature, "->");
  EXPECT_EQ(find("NoOp").shape, ShapeStatus::kNoOutputs);
  EXPECT_EQ(find("Shape").gradient, GradientStatus::kNone);
  EXPECT_EQ(find("_Arg").cpu.status, KernelStatus::kExecutor);
  EXPECT_EQ(find("_Send").gradient, GradientStatus::kRuntime);
  EXPECT_EQ(find("StringJoin").gpu.status, KernelStatus::kMissing);
}

// Builds a table with an op that has only a definition, and an op with two
// different kernels.
TEST(OpTableOfOwnRegistriesTest, MissingEntriesAreShown) {
  OpRegistry ops;
  ops.Add(OpDefBuilder("Bare")
              .Output("y: float")
              .Doc("It is.")
              .Shape(shapes::Unknown));
  ops.Add(OpDefBuilder("Some")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {float, int32, int64}")
              .Attr("I: type = DT_INT32")
              .Doc("It does.")
              .Shape(shapes::Unchanged));
  KernelRegistry kernels;
  kernels.Register({"Some", "CPU", {{"T", {DT_FLOAT}}, {"I", {DT_INT32}}}},
                   nullptr);
  kernels.Register({"Some", "CPU", {{"T", {DT_INT32, DT_BOOL, DT_FLOAT}}}},
                   nullptr);
  const std::vector<OpRow> rows = OpTable(ops, kernels, GradientRegistry());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].cpu.status, KernelStatus::kMissing);
  EXPECT_EQ(rows[0].gradient, GradientStatus::kMissing);
  EXPECT_EQ(rows[0].shape, ShapeStatus::kUnknown);
  EXPECT_EQ(rows[1].shape, ShapeStatus::kInferred);
  EXPECT_EQ(rows[1].cpu.status, KernelStatus::kYes);
  // The second kernel supports any type I, so I is omitted. The op does not
  // allow bool for T.
  EXPECT_EQ(rows[1].cpu.types, (std::map<std::string, std::vector<DataType>>{
                                   {"T", {DT_FLOAT, DT_INT32}}}));
  EXPECT_EQ(rows[1].gpu.status, KernelStatus::kMissing);
}

}  // namespace
}  // namespace weft::tools
