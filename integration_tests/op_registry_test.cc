// Adding an op is one definition, one kernel and one gradient. This test loops
// over the registry and complains until all three are there.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "libs/gradients/gradient_registry.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/standard_kernels.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// The ends of a partition: the executor itself is their kernel.
const std::set<std::string>& RunByTheExecutor() {
  static const auto& ops = *new std::set<std::string>{"_Arg", "_Retval"};
  return ops;
}

class OpRegistryTest : public ::testing::Test {
 protected:
  OpRegistryTest() { RegisterStandardKernels(kernels_); }

  KernelRegistry kernels_;
  const std::vector<const OpDef*> ops_ = StandardOps()->List();
};

TEST_F(OpRegistryTest, EveryOpSaysWhatItIsAndWhatShapesItMakes) {
  ASSERT_GT(ops_.size(), 100u);
  for (const OpDef* op : ops_) {
    EXPECT_FALSE(op->summary.empty()) << op->name << " has no line of doc";
    EXPECT_TRUE(op->shape_fn != nullptr)
        << op->name << " has no shape function";
  }
}

TEST_F(OpRegistryTest, EveryOpHasACpuKernel) {
  for (const OpDef* op : ops_) {
    if (RunByTheExecutor().count(op->name)) continue;
    EXPECT_TRUE(kernels_.Has(op->name, "CPU")) << op->name << " has no kernel";
  }
}

TEST_F(OpRegistryTest, EveryKernelIsOfAKnownOp) {
  for (const KernelDef* kernel : kernels_.List()) {
    const OpDef* op = StandardOps()->Find(kernel->op);
    ASSERT_NE(op, nullptr) << "a kernel of the unknown op " << kernel->op;
    for (const auto& [attr, types] : kernel->types) {
      EXPECT_NE(op->FindAttr(attr), nullptr)
          << "a kernel of " << op->name << " constrains the unknown attr "
          << attr;
    }
  }
}

TEST_F(OpRegistryTest, EveryOpHasAGradientOrSaysThatItHasNone) {
  for (const OpDef* op : ops_) {
    if (op->name[0] == '_') continue;  // made by the runtime, after gradients
    EXPECT_NE(StandardGradients().Find(op->name), nullptr)
        << op->name << " has no gradient and does not say so (RegisterNone)";
  }
}

}  // namespace
}  // namespace weft
