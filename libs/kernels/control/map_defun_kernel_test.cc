// Tests MapDefun with a function that throws: the node fails and does not wait
// for a row whose `done` was destroyed.
#include <cstdint>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

// Whether there is memory for the error text.
enum class Memory { kForText, kNone };

// Returns its argument. Rows before `throws_at` wait for the last row. Row
// `throws_at` throws and destroys its `done`.
class ThrowingFunction : public RunnableFunction {
 public:
  ThrowingFunction(int32_t throws_at, int32_t last, Memory memory)
      : throws_at_(throws_at), last_(last), memory_(memory) {}

  const DataTypeVector& arg_types() const override { return types_; }
  const DataTypeVector& result_types() const override { return types_; }
  void Run(const StepContext&, std::vector<Tensor> args,
           Done done) const override {
    const int32_t row = args[0].scalar<int32_t>();
    if (row == throws_at_) {
      std::optional<FailingMemory> none;  // outlives `lost`
      if (memory_ == Memory::kNone) none.emplace(1);
      const Done lost = std::move(done);
      throw std::bad_alloc();
    }
    waiting_.push_back({std::move(args), std::move(done)});
    if (row != last_) return;
    for (Waiting& call : waiting_) call.done(std::move(call.args));
  }

 private:
  struct Waiting {
    std::vector<Tensor> args;
    Done done;
  };

  const int32_t throws_at_, last_;
  const Memory memory_;
  const DataTypeVector types_ = {DT_INT32};
  mutable std::vector<Waiting> waiting_;  // all rows are called on one thread
};

class OneFunction : public FunctionRuntime {
 public:
  explicit OneFunction(const RunnableFunction& function)
      : function_(function) {}
  absl::StatusOr<const RunnableFunction*> Find(const NameAttrList&) override {
    return &function_;
  }

 private:
  const RunnableFunction& function_;
};

absl::StatusOr<Tensor> MapOf(const Tensor& rows, int32_t throws_at,
                             Memory memory = Memory::kForText) {
  const ThrowingFunction function(
      throws_at, static_cast<int32_t>(rows.num_elements()) - 1, memory);
  OneFunction functions(function);
  KernelTestHarness harness(RegisterFunctionalKernels);
  harness.set_functions(&functions);
  return harness.RunOne(
      "MapDefun", {rows},
      {{"f", NameAttrList{.name = "f"}},
       {"Targuments", DataTypeVector{DT_INT32}},
       {"Tcaptured", DataTypeVector{}},
       {"output_types", DataTypeVector{DT_INT32}},
       {"output_shapes", std::vector<PartialShape>{PartialShape({})}}});
}

TEST(MapDefunTest, ExceptionInOneRowFailsTheNode) {
  const Tensor rows = Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6});
  EXPECT_OK(MapOf(rows, /*throws_at=*/-1));
  EXPECT_THAT(MapOf(rows, /*throws_at=*/5),
              StatusIs(absl::StatusCode::kResourceExhausted, "row 5"));
}

// The row ends while an exception unwinds the stack: a second exception would
// terminate the process.
TEST(MapDefunTest, RowEndsWithoutMemoryForItsError) {
  const Tensor rows = Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6});
  EXPECT_THAT(MapOf(rows, /*throws_at=*/5, Memory::kNone),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace weft
