#include "libs/kernels/state/state_kernels.h"

#include <memory>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/ops/standard_ops.h"
#include "libs/resource/chunk_snapshot.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/testing/counting_allocator.h"

namespace weft {
namespace {

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;

class StateKernelsTest : public testing::Test {
 protected:
  StateKernelsTest() : harness_(RegisterStateKernels) {}

  std::shared_ptr<Variable> Reference(const Tensor& value) {
    auto variable = std::make_shared<Variable>("v", value.dtype(),
                                               PartialShape(value.shape()));
    EXPECT_OK(variable->Assign(harness_.cancellation(), value));
    return variable;
  }

  // Returns a handle like VarHandleOp's.
  Tensor Handle(DataType dtype, const std::string& name = "v") {
    auto handle = harness_.RunOne(
        "VarHandleOp", {},
        {{"dtype", dtype}, {"shape", PartialShape()}, {"shared_name", name}});
    EXPECT_OK(handle);
    return *handle;
  }
  Tensor Handle(const Tensor& value) {
    Tensor handle = Handle(value.dtype());
    EXPECT_OK(harness_.Run("AssignVariableOp", {handle, value}));
    return handle;
  }
  Tensor Read(const Tensor& handle, DataType dtype) {
    auto value =
        harness_.RunOne("ReadVariableOp", {handle}, {{"dtype", dtype}});
    EXPECT_OK(value);
    return *value;
  }

  KernelTestHarness harness_;
};

Tensor Floats(const TensorShape& shape, std::initializer_list<float> values) {
  return Tensor::FromValues<float>(shape, values);
}

TEST_F(StateKernelsTest, VariableIsKeptByName) {
  const AttrMap attrs = {{"shape", PartialShape({2})},
                         {"dtype", DT_FLOAT},
                         {"shared_name", "kept"}};
  std::shared_ptr<Variable> first;
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK_AND_ASSIGN(auto kernel, harness_.Make("VariableV2", {}, attrs));
    Slot out;
    ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&out, 1)));
    ASSERT_TRUE(out.is_ref());
    if (first == nullptr) first = out.variable;
    EXPECT_EQ(out.variable, first);
  }
  EXPECT_EQ(first->name(), "kept");
  EXPECT_THAT(first->Read(),
              StatusIs(kFailedPrecondition,
                       "Attempting to use uninitialized value kept"));
}

TEST_F(StateKernelsTest, ClearedContainerCreatesANewVariable) {
  ASSERT_OK_AND_ASSIGN(auto kernel, harness_.Make("VariableV2", {},
                                                  {{"shape", PartialShape({2})},
                                                   {"dtype", DT_FLOAT},
                                                   {"container", "box"}}));
  Slot before, after;
  ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&before, 1)));
  harness_.resources().ClearContainer("box");
  ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&after, 1)));
  EXPECT_NE(before.variable, after.variable);
}

TEST_F(StateKernelsTest, BadResourceNamesAreRefused) {
  for (const char* op : {"VariableV2", "VarHandleOp"}) {
    EXPECT_THAT(harness_.Make(op, {},
                              {{"shape", PartialShape({2})},
                               {"dtype", DT_FLOAT},
                               {"shared_name", "_private"}}),
                StatusIs(kInvalid, "cannot start with '_'"));
    EXPECT_THAT(harness_.Make(op, {},
                              {{"shape", PartialShape({2})},
                               {"dtype", DT_FLOAT},
                               {"container", "-"}}),
                StatusIs(kInvalid, "container"));
  }
}

TEST_F(StateKernelsTest, AssignChecksShapesWhenAsked) {
  auto v = Reference(Floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(
      harness_.Run("Assign", {v, Floats({1, 2}, {7, 8})}),
      StatusIs(kInvalid,
               "Assign requires shapes of both tensors to match. lhs shape= "
               "[3,2] rhs shape= [1,2]. Variable v may have been created "
               "by another session"));
  EXPECT_OK(harness_.Run("Assign", {v, Floats({1, 2}, {7, 8})},
                         {{"validate_shape", false}}));
  ASSERT_OK_AND_ASSIGN(Tensor value, v->Read());
  EXPECT_EQ(value.shape(), TensorShape({1, 2}));
}

TEST_F(StateKernelsTest, AssignChecksADeclaredShape) {
  auto v = std::make_shared<Variable>("v", DT_FLOAT, PartialShape({2}));
  EXPECT_THAT(harness_.Run("Assign", {v, Floats({3}, {1, 2, 3})}),
              StatusIs(kInvalid, "lhs shape= [2] rhs shape= [3]"));
  EXPECT_FALSE(v->IsInitialized());
}

TEST_F(StateKernelsTest, AssignTakesTheMemoryOfItsInput) {
  auto v = std::make_shared<Variable>("v", DT_FLOAT, PartialShape());
  Tensor value = Floats({2}, {1, 2});
  const void* memory = value.data();
  std::vector<KernelInput> inputs;
  inputs.push_back(v);
  inputs.push_back(std::move(value));
  EXPECT_OK(harness_.Run("Assign", std::move(inputs)));
  EXPECT_OK(harness_.Run("AssignAdd", {v, Floats({2}, {1, 1})}));
  ASSERT_OK_AND_ASSIGN(Tensor now, v->Read());
  EXPECT_EQ(now.data(), memory);
  EXPECT_EQ(v->bytes_copied_on_write(), 0u);
}

TEST_F(StateKernelsTest, IsVariableInitialized) {
  auto v = std::make_shared<Variable>("v", DT_FLOAT, PartialShape());
  ASSERT_OK_AND_ASSIGN(Tensor no,
                       harness_.RunOne("IsVariableInitialized", {v}));
  EXPECT_FALSE(no.scalar<bool>());
  ASSERT_OK_AND_ASSIGN(
      Tensor yes,
      harness_.RunOne("IsVariableInitialized", {Reference(Floats({}, {1}))}));
  EXPECT_TRUE(yes.scalar<bool>());
}

// Covers every numeric type, for reference and resource variables.
TEST_F(StateKernelsTest, AddAndSubtractInEveryType) {
  for (DataType dtype : DataTypesOf(Numbers{})) {
    SCOPED_TRACE(DataTypeName(dtype));
    ASSERT_OK(DispatchType(Numbers{}, dtype, [&]<typename T>(TypeTag<T>) {
      const auto number = [](float x) { return static_cast<T>(x); };
      const Tensor ten = Tensor::Vector<T>({number(10), number(20)});
      const Tensor three = Tensor::Vector<T>({number(3), number(3)});
      const Tensor thirteen = Tensor::Vector<T>({number(13), number(23)});
      auto v = Reference(ten);
      EXPECT_OK(harness_.Run("AssignAdd", {v, three}));
      EXPECT_TRUE(SameBits(*v->Read(), thirteen));
      EXPECT_OK(harness_.Run("AssignSub", {v, three}));
      EXPECT_TRUE(SameBits(*v->Read(), ten));
      Tensor handle = Handle(dtype, DataTypeName(dtype));
      EXPECT_OK(harness_.Run("AssignVariableOp", {handle, ten}));
      EXPECT_OK(harness_.Run("AssignAddVariableOp", {handle, three}));
      EXPECT_TRUE(SameBits(Read(handle, dtype), thirteen));
      EXPECT_OK(harness_.Run("AssignSubVariableOp", {handle, three}));
      EXPECT_TRUE(SameBits(Read(handle, dtype), ten));
      return absl::OkStatus();
    }));
  }
}

TEST_F(StateKernelsTest, AReadKeepsItsValueWhenTheVariableChanges) {
  Tensor handle = Handle(Floats({2}, {1, 2}));
  Tensor before = Read(handle, DT_FLOAT);
  EXPECT_OK(harness_.Run("AssignAddVariableOp", {handle, Floats({2}, {5, 5})}));
  EXPECT_TRUE(SameBits(before, Floats({2}, {1, 2})));
  EXPECT_TRUE(SameBits(Read(handle, DT_FLOAT), Floats({2}, {6, 7})));
}

TEST_F(StateKernelsTest, UpdatesCheckShapeAndType) {
  Tensor handle = Handle(Floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(
      harness_.Run("AssignAddVariableOp", {handle, Floats({2}, {1, 2})}),
      StatusIs(kInvalid,
               "Cannot update variable with shape [3,2] using a Tensor with "
               "shape [2], shapes must be equal."));
  EXPECT_THAT(
      harness_.Run("AssignAddVariableOp", {handle, Tensor::Vector({1, 2})}),
      StatusIs(kInvalid, "wrong dtype"));
  EXPECT_THAT(harness_.Run("AssignVariableOp", {handle, Floats({1}, {1})},
                           {{"validate_shape", true}}),
              StatusIs(kInvalid, "wrong shape. Expected [3,2] got [1]"));
  EXPECT_THAT(harness_.Run("AssignVariableOp", {handle, Tensor::Scalar(1)}),
              StatusIs(kInvalid, "wrong dtype. Expected float got int32"));
}

TEST_F(StateKernelsTest, CancelledStepChangesNoState) {
  Tensor handle = Handle(Floats({2}, {1, 2}));
  auto v = Reference(Floats({1}, {1}));
  harness_.cancellation().Cancel(absl::AbortedError("the step is over"));
  const Tensor one = Floats({2}, {1, 1});
  for (const char* op :
       {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"}) {
    EXPECT_THAT(harness_.Run(op, {handle, one}),
                StatusIs(absl::StatusCode::kAborted, "the step is over"));
  }
  EXPECT_THAT(harness_.Run("Assign", {v, Floats({1}, {9})}),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(SameBits(Read(handle, DT_FLOAT), Floats({2}, {1, 2})));
  EXPECT_TRUE(SameBits(*v->Read(), Floats({1}, {1})));
}

TEST_F(StateKernelsTest, MissingResourceVariables) {
  Tensor handle = Handle(DT_FLOAT, "absent");
  EXPECT_THAT(
      harness_.RunOne("ReadVariableOp", {handle}, {{"dtype", DT_FLOAT}}),
      StatusIs(kFailedPrecondition,
               "Could not find variable absent. This could mean that the "
               "variable has been deleted. In TF1, it can also mean the "
               "variable is uninitialized. Debug info: container=localhost, "
               "status error message=Resource localhost/absent/Var does not "
               "exist. Run its initializer first"));
  EXPECT_THAT(harness_.Run("AssignAddVariableOp", {handle, Floats({}, {1})}),
              StatusIs(absl::StatusCode::kNotFound,
                       "Resource localhost/absent/Var does not exist. Run its "
                       "initializer first"));
  ASSERT_OK_AND_ASSIGN(Tensor made,
                       harness_.RunOne("VarIsInitializedOp", {handle}));
  EXPECT_FALSE(made.scalar<bool>());
  EXPECT_OK(harness_.Run("DestroyResourceOp", {handle}));
  EXPECT_THAT(harness_.Run("DestroyResourceOp", {handle},
                           {{"ignore_lookup_error", false}}),
              StatusIs(absl::StatusCode::kNotFound, "does not exist"));
}

TEST_F(StateKernelsTest, DestroyedVariablesAreGone) {
  Tensor handle = Handle(Floats({1}, {1}));
  ASSERT_OK_AND_ASSIGN(auto read, harness_.Make("ReadVariableOp", {DT_RESOURCE},
                                                {{"dtype", DT_FLOAT}}));
  EXPECT_OK(read->Run({handle}));
  EXPECT_OK(harness_.Run("DestroyResourceOp", {handle}));
  EXPECT_THAT(read->Run({handle}), StatusIs(kFailedPrecondition));
}

// A kernel caches the last handle.
TEST_F(StateKernelsTest, HandlesReadTheirOwnVariables) {
  ASSERT_OK(harness_.Run("AssignVariableOp",
                         {Handle(DT_FLOAT, "a"), Floats({1}, {1})}));
  ASSERT_OK(harness_.Run("AssignVariableOp",
                         {Handle(DT_FLOAT, "b"), Floats({1}, {2})}));
  ASSERT_OK_AND_ASSIGN(auto read, harness_.Make("ReadVariableOp", {DT_RESOURCE},
                                                {{"dtype", DT_FLOAT}}));
  const auto value = [&](const Tensor& handle) {
    const auto values = read->Run({handle});
    return values.ok() ? (*values)[0].flat<float>()[0] : -1;
  };
  // The handles share one buffer.
  Tensor both(DT_RESOURCE, {2});
  both.mutable_flat<ResourceHandle>()[0] =
      Handle(DT_FLOAT, "a").scalar<ResourceHandle>();
  both.mutable_flat<ResourceHandle>()[1] =
      Handle(DT_FLOAT, "b").scalar<ResourceHandle>();
  const Tensor a = *both.SliceRows(0, 1, HeapAllocator());
  const Tensor b = *both.SliceRows(1, 2, HeapAllocator());
  ASSERT_TRUE(a.SharesBufferWith(b));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value(a), 1);
    EXPECT_EQ(value(a), 1);
    EXPECT_EQ(value(b), 2);
    EXPECT_EQ(value(Handle(DT_FLOAT, "a")), 1);
  }
  ASSERT_OK(harness_.Run("DestroyResourceOp", {a}));
  EXPECT_EQ(value(a), -1);
}

TEST_F(StateKernelsTest, HandlesOfOtherThingsAreRefused) {
  ResourceHandle table;
  table.name = "t";
  table.type_name = "HashTable";
  EXPECT_THAT(harness_.RunOne("ReadVariableOp", {Tensor::Scalar(table)},
                              {{"dtype", DT_FLOAT}}),
              StatusIs(kInvalid, "of type 'HashTable'"));
  ResourceHandle elsewhere = Handle(DT_FLOAT).scalar<ResourceHandle>();
  elsewhere.device = "/job:ps/replica:0/task:3/device:CPU:0";
  EXPECT_THAT(harness_.RunOne("ReadVariableOp", {Tensor::Scalar(elsewhere)},
                              {{"dtype", DT_FLOAT}}),
              StatusIs(kInvalid, "task:3"));
  EXPECT_THAT(harness_.RunOne("ReadVariableOp", {Tensor(DT_RESOURCE, {2})},
                              {{"dtype", DT_FLOAT}}),
              StatusIs(kInvalid, "one resource"));
}

TEST_F(StateKernelsTest, VariableShape) {
  Tensor handle = Handle(Floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  ASSERT_OK_AND_ASSIGN(Tensor shape,
                       harness_.RunOne("VariableShape", {handle}));
  EXPECT_TRUE(SameBits(shape, Tensor::Vector({3, 2})));
  ASSERT_OK_AND_ASSIGN(Tensor wide, harness_.RunOne("VariableShape", {handle},
                                                    {{"out_type", DT_INT64}}));
  EXPECT_TRUE(SameBits(wide, Tensor::Vector<int64_t>({3, 2})));
}

TEST_F(StateKernelsTest, CountUpToStopsAtItsLimit) {
  auto v = Reference(Tensor::Scalar(0));
  Tensor handle = Handle(Tensor::Scalar(int64_t{0}));
  const AttrMap attrs = {{"limit", int64_t{2}}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(Tensor count,
                         harness_.RunOne("CountUpTo", {v}, attrs));
    EXPECT_EQ(count.scalar<int32_t>(), i);
    ASSERT_OK_AND_ASSIGN(
        Tensor by_handle,
        harness_.RunOne("ResourceCountUpTo", {handle},
                        {{"limit", int64_t{2}}, {"T", DT_INT64}}));
    EXPECT_EQ(by_handle.scalar<int64_t>(), i);
  }
  EXPECT_THAT(harness_.RunOne("CountUpTo", {v}, attrs),
              StatusIs(absl::StatusCode::kOutOfRange, "Reached limit of 2"));
}

struct ScatterCase {
  const char* name;
  float expected;  // for an initial 6 and an update of 2 applied twice
};

TEST_F(StateKernelsTest, ScattersApplyRepeatedRowsEachTime) {
  for (const ScatterCase& c : std::vector<ScatterCase>{{"Add", 10},
                                                       {"Sub", 2},
                                                       {"Mul", 24},
                                                       {"Div", 1.5f},
                                                       {"Min", 2},
                                                       {"Max", 6},
                                                       {"Update", 2}}) {
    SCOPED_TRACE(c.name);
    const Tensor value = Floats({3, 2}, {1, 1, 6, 6, 1, 1});
    const Tensor expected =
        Floats({3, 2}, {1, 1, c.expected, c.expected, 1, 1});
    const Tensor ids = Tensor::Vector({1, 1});
    const Tensor updates = Floats({2, 2}, {2, 2, 2, 2});
    auto v = Reference(value);
    EXPECT_OK(harness_.Run(std::string("Scatter") + c.name, {v, ids, updates}));
    EXPECT_TRUE(SameBits(*v->Read(), expected));
    Tensor handle = Handle(value);
    EXPECT_OK(harness_.Run(std::string("ResourceScatter") + c.name,
                           {handle, ids, updates}));
    EXPECT_TRUE(SameBits(Read(handle, DT_FLOAT), expected));
  }
}

TEST_F(StateKernelsTest, ScatterTakesScalarsAndStrings) {
  auto v = Reference(Floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_OK(harness_.Run("ScatterUpdate", {v, Tensor::Vector<int64_t>({0, 2}),
                                           Tensor::Scalar(9.0f)}));
  EXPECT_TRUE(SameBits(*v->Read(), Floats({3, 2}, {9, 9, 3, 4, 9, 9})));
  auto names = Reference(Tensor::Vector<std::string>({"a", "b"}));
  EXPECT_OK(harness_.Run("ScatterUpdate",
                         {names, Tensor::Scalar(1), Tensor::Scalar("new")}));
  EXPECT_EQ(names->Read()->flat<std::string>()[1], "new");
}

// Covers widths with and without a remainder after whole vectors, repeated
// rows, and no rows. Each element must change as if it were alone.
TEST_F(StateKernelsTest, ScattersChangeRowsOfAnyWidth) {
  constexpr int64_t kRows = 30, kUpdates = 25;
  for (const int64_t width : {1, 3, 16, 64, 65}) {
    Tensor value(DT_FLOAT, TensorShape({kRows, width}));
    Tensor updates(DT_FLOAT, TensorShape({kUpdates, width}));
    Tensor rows(DT_INT64, TensorShape({kUpdates}));
    const auto fill = [](Tensor& tensor, float scale) {
      const absl::Span<float> x = tensor.mutable_flat<float>();
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = scale * static_cast<float>(i * i % 1013) - 40.0f;
      }
    };
    fill(value, .3f);
    fill(updates, .7f);
    for (int64_t i = 0; i < kUpdates; ++i) {
      rows.mutable_flat<int64_t>()[i] = i * 7 % 23;
    }
    for (const bool adds : {true, false}) {
      auto v = Reference(*value.DeepCopy(HeapAllocator()));
      Tensor expected = *value.DeepCopy(HeapAllocator());
      const absl::Span<float> to = expected.mutable_flat<float>();
      for (int64_t i = 0; i < kUpdates * width; ++i) {
        const float x = updates.flat<float>()[i];
        to[rows.flat<int64_t>()[i / width] * width + i % width] +=
            adds ? x : -x;
      }
      EXPECT_OK(
          harness_.Run(adds ? "ScatterAdd" : "ScatterSub", {v, rows, updates}));
      EXPECT_TRUE(SameBits(*v->Read(), expected)) << width << adds;
      EXPECT_OK(harness_.Run("ScatterAdd",
                             {v, Tensor(DT_INT64, TensorShape({0})),
                              Tensor(DT_FLOAT, TensorShape({0, width}))}));
      EXPECT_TRUE(SameBits(*v->Read(), expected)) << width << adds;
    }
  }
}

TEST_F(StateKernelsTest, InvalidScattersLeaveTheVariable) {
  const Tensor value = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  auto v = Reference(value);
  EXPECT_THAT(harness_.Run("ScatterAdd", {v, Tensor::Vector({0, 3}),
                                          Floats({2, 2}, {1, 1, 1, 1})}),
              StatusIs(kInvalid, "indices[1] = 3 is not in [0, 3)"));
  EXPECT_THAT(
      harness_.Run("ScatterAdd", {v, Tensor::FromValues<int32_t>({1, 1}, {-1}),
                                  Floats({1, 1, 2}, {1, 1})}),
      StatusIs(kInvalid, "indices[0,0] = -1 is not in [0, 3)"));
  EXPECT_THAT(
      harness_.Run("ScatterAdd",
                   {v, Tensor::Vector({0, 1}), Floats({1, 2}, {1, 1})}),
      StatusIs(kInvalid,
               "Must have updates.shape = indices.shape + params.shape[1:] or "
               "updates.shape = [], got updates.shape [1,2], indices.shape "
               "[2], params.shape [3,2]"));
  EXPECT_TRUE(SameBits(*v->Read(), value));
  auto whole = Reference(Tensor::Vector({7}));
  EXPECT_THAT(harness_.Run("ScatterDiv",
                           {whole, Tensor::Vector({0}), Tensor::Vector({0})}),
              StatusIs(kInvalid, "division by zero"));
  auto least = Reference(Tensor::Vector({INT32_MIN}));
  EXPECT_OK(harness_.Run("ScatterDiv",
                         {least, Tensor::Vector({0}), Tensor::Vector({-1})}));
}

// Updating a row copies only that row's chunk of a snapshot being read.
TEST_F(StateKernelsTest, ScattersCopyOnlyTheirSnapshotChunks) {
  constexpr int64_t kRows = 10;
  constexpr int64_t kRowElements = ChunkSnapshot::kChunkBytes / sizeof(float);
  const TensorShape row({1, kRowElements});
  auto v = Reference(Tensor(DT_FLOAT, TensorShape({kRows, kRowElements})));
  auto take = [&] { return *ChunkSnapshot::Take(v, HeapAllocator()); };
  auto snapshot = take();
  EXPECT_OK(harness_.Run("ScatterAdd",
                         {v, Tensor::Vector({3}), Tensor(DT_FLOAT, row)}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), ChunkSnapshot::kChunkBytes);
  const Tensor rows = Tensor::FromValues<int64_t>({1, 1}, {5});
  EXPECT_OK(harness_.Run("ScatterNdUpdate", {v, rows, Tensor(DT_FLOAT, row)}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), 2 * ChunkSnapshot::kChunkBytes);
  const Tensor all = Tensor(DT_INT64, TensorShape({0}));
  EXPECT_OK(harness_.Run(
      "ScatterNdAdd",
      {v, all, Tensor(DT_FLOAT, TensorShape({kRows, kRowElements}))}));
  // The whole value is copied aside.
  EXPECT_EQ(snapshot->bytes_copied_aside(), 2 * ChunkSnapshot::kChunkBytes);
  EXPECT_EQ(v->bytes_copied_on_write(), 0u);
}

TEST_F(StateKernelsTest, ScatterNdChangesSlices) {
  const Tensor value = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  auto v = Reference(value);
  const Tensor rows = Tensor::FromValues<int32_t>({2, 1}, {2, 0});
  EXPECT_OK(
      harness_.Run("ScatterNdAdd", {v, rows, Floats({2, 2}, {1, 1, 2, 2})}));
  EXPECT_TRUE(SameBits(*v->Read(), Floats({3, 2}, {3, 4, 3, 4, 6, 7})));
  const Tensor elements = Tensor::FromValues<int64_t>({2, 2}, {0, 0, 2, 1});
  EXPECT_OK(
      harness_.Run("ScatterNdUpdate", {v, elements, Floats({2}, {8, 9})}));
  EXPECT_TRUE(SameBits(*v->Read(), Floats({3, 2}, {8, 4, 3, 4, 6, 9})));
  Tensor handle = Handle(value);
  EXPECT_OK(harness_.Run("ResourceScatterNdSub",
                         {handle, rows, Floats({2, 2}, {1, 1, 1, 1})}));
  EXPECT_TRUE(
      SameBits(Read(handle, DT_FLOAT), Floats({3, 2}, {0, 1, 3, 4, 4, 5})));
}

// An index without dimensions selects the whole variable.
TEST_F(StateKernelsTest, ScatterNdOfAHeldValueAllocatesOnce) {
  CountingAllocator counting;
  auto v = Reference(Floats({2}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor held, v->Read());
  harness_.set_allocator(counting);
  EXPECT_OK(harness_.Run(
      "ScatterNdAdd", {v, Tensor(DT_INT32, {1, 0}), Floats({1, 2}, {3, 4})}));
  EXPECT_EQ(counting.allocations, 1);
  EXPECT_TRUE(SameBits(*v->Read(), Floats({2}, {4, 6})));
  EXPECT_TRUE(SameBits(held, Floats({2}, {1, 2})));
}

TEST_F(StateKernelsTest, InvalidScatterNdsLeaveTheVariable) {
  const Tensor value = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  auto v = Reference(value);
  EXPECT_THAT(
      harness_.Run("ScatterNdSub", {v, Tensor::FromValues<int32_t>({1, 1}, {9}),
                                    Floats({1, 2}, {1, 1})}),
      StatusIs(kInvalid, "indices[0] = [9] does not index into shape [3,2]"));
  EXPECT_THAT(
      harness_.Run("ScatterNdAdd", {v, Tensor::FromValues<int32_t>({1, 1}, {0}),
                                    Floats({2}, {1, 1})}),
      StatusIs(kInvalid, "Must have updates.shape"));
  EXPECT_THAT(harness_.Run("ScatterNdAdd",
                           {v, Tensor::FromValues<int32_t>({1, 3}, {0, 0, 0}),
                            Floats({1}, {1})}),
              StatusIs(kInvalid, "index a variable of shape [3,2]"));
  EXPECT_THAT(
      harness_.Run("ScatterNdAdd", {v, Tensor::Scalar(0), Floats({}, {1})}),
      StatusIs(kInvalid, "rank at least one"));
  EXPECT_TRUE(SameBits(*v->Read(), value));
}

TEST_F(StateKernelsTest, TemporaryVariablesEndWhenDestroyed) {
  ASSERT_OK_AND_ASSIGN(auto make, harness_.Make("TemporaryVariable", {},
                                                {{"shape", PartialShape({2})},
                                                 {"dtype", DT_FLOAT},
                                                 {"var_name", "t"}}));
  for (int run = 0; run < 2; ++run) {
    Slot made;
    ASSERT_OK(make->RunSlots({}, absl::MakeSpan(&made, 1)));
    EXPECT_OK(harness_.Run("AssignAdd", {made.variable, Floats({2}, {1, 2})}));
    ASSERT_OK_AND_ASSIGN(Tensor value,
                         harness_.RunOne("DestroyTemporaryVariable",
                                         {made.variable}, {{"var_name", "t"}}));
    EXPECT_TRUE(SameBits(value, Floats({2}, {1, 2})));
  }
}

TEST_F(StateKernelsTest, GatherReadsRows) {
  Tensor handle = Handle(Floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  const AttrMap attrs = {{"dtype", DT_FLOAT}};
  ASSERT_OK_AND_ASSIGN(
      Tensor rows,
      harness_.RunOne("ResourceGather",
                      {handle, Tensor::FromValues<int32_t>({1, 2}, {2, 0})},
                      attrs));
  EXPECT_TRUE(SameBits(rows, Floats({1, 2, 2}, {5, 6, 1, 2})));
  EXPECT_THAT(
      harness_.RunOne("ResourceGather", {handle, Tensor::Vector({3})}, attrs),
      StatusIs(kInvalid, "indices[0] = 3 is not in [0, 3)"));
}

TEST_F(StateKernelsTest, GathersRowsOfAnyWidthAndType) {
  for (const int64_t width : {1, 2, 3, 64, 150}) {
    for (const DataType dtype : {DT_FLOAT, DT_DOUBLE, DT_HALF}) {
      Tensor value(dtype, TensorShape({40, width}));
      const size_t size = DataTypeSize(dtype) * width;
      char* const bytes = static_cast<char*>(value.mutable_data());
      for (size_t i = 0; i < 40 * size; ++i) bytes[i] = static_cast<char>(i);
      const Tensor handle =
          Handle(dtype, absl::StrCat(DataTypeName(dtype), width));
      EXPECT_OK(harness_.Run("AssignVariableOp", {handle, value}));
      for (const int64_t count : {0, 1, 9, 200}) {
        Tensor rows(DT_INT64, TensorShape({count}));
        for (int64_t i = 0; i < count; ++i) {
          rows.mutable_flat<int64_t>()[i] = i * i % 40;
        }
        ASSERT_OK_AND_ASSIGN(const Tensor gathered,
                             harness_.RunOne("ResourceGather", {handle, rows},
                                             {{"dtype", dtype}}));
        ASSERT_EQ(gathered.shape(), TensorShape({count, width}));
        const char* const got = static_cast<const char*>(gathered.data());
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(absl::string_view(got + i * size, size),
                    absl::string_view(bytes + i * i % 40 * size, size));
        }
      }
    }
  }
}

TEST_F(StateKernelsTest, GatherInBatches) {
  Tensor handle = Handle(Floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  ASSERT_OK_AND_ASSIGN(
      Tensor picked,
      harness_.RunOne("ResourceGather",
                      {handle, Tensor::FromValues<int32_t>({2, 1}, {2, 0})},
                      {{"dtype", DT_FLOAT}, {"batch_dims", int64_t{1}}}));
  EXPECT_TRUE(SameBits(picked, Floats({2, 1}, {3, 4})));
  EXPECT_THAT(
      harness_.RunOne("ResourceGather", {handle, Tensor::Vector({0})},
                      {{"dtype", DT_FLOAT}, {"batch_dims", int64_t{1}}}),
      StatusIs(kInvalid, "batch_dims"));
  EXPECT_THAT(
      harness_.RunOne("ResourceGather", {handle, Tensor::Vector({0})},
                      {{"dtype", DT_FLOAT}, {"batch_dims", int64_t{7}}}),
      StatusIs(kInvalid, "batch_dims"));
}

// A reader of slices must not force a writer to copy.
TEST_F(StateKernelsTest, GatherForcesNoCopy) {
  Tensor handle = Handle(Floats({2, 1}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(
      Tensor row,
      harness_.RunOne("ResourceGather", {handle, Tensor::Vector({0})},
                      {{"dtype", DT_FLOAT}}));
  EXPECT_OK(
      harness_.Run("AssignAddVariableOp", {handle, Floats({2, 1}, {1, 1})}));
  EXPECT_OK(
      harness_.Run("AssignAddVariableOp", {handle, Floats({2, 1}, {1, 1})}));
  ASSERT_OK_AND_ASSIGN(auto variable,
                       harness_.resources().Lookup<Variable>("", "v"));
  EXPECT_LE(variable->bytes_copied_on_write(), 8u);
}

TEST_F(StateKernelsTest, Shapes) {
  const DataType ref = MakeRefType(DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(
      auto assign,
      harness_.InferShapes("Assign", {{ref, PartialShape({-1, 2})},
                                      {DT_FLOAT, PartialShape({3, -1})}}));
  EXPECT_EQ(assign[0], PartialShape({3, 2}));
  EXPECT_THAT(
      harness_.InferShapes("AssignAdd", {{ref, PartialShape({2})},
                                         {DT_FLOAT, PartialShape({3})}}),
      StatusIs(kInvalid, "must be equal"));
  EXPECT_THAT(
      harness_.InferShapes("ScatterAdd", {{ref, PartialShape({4, 2})},
                                          {DT_INT32, PartialShape({3})},
                                          {DT_FLOAT, PartialShape({3, 5})}}),
      StatusIs(kInvalid));
}

// Handles carry the declared shape to the ops that read them.
TEST_F(StateKernelsTest, ShapesFollowHandles) {
  Graph graph(StandardOps());
  ASSERT_OK_AND_ASSIGN(
      Node * handle,
      graph.AddNode(
          {.name = "v",
           .op = "VarHandleOp",
           .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape({5, 2})}}}));
  ASSERT_OK_AND_ASSIGN(Node * read,
                       graph.AddNode({.name = "read",
                                      .op = "ReadVariableOp",
                                      .inputs = {{handle, 0}},
                                      .attrs = {{"dtype", DT_FLOAT}}}));
  EXPECT_EQ(read->output_shape(0), PartialShape({5, 2}));
  EXPECT_THAT(graph.AddNode({.name = "wrong",
                             .op = "ReadVariableOp",
                             .inputs = {{handle, 0}},
                             .attrs = {{"dtype", DT_INT32}}}),
              StatusIs(kInvalid, "Expected float got int32"));
}

TEST_F(StateKernelsTest, SlicesAreAssigned) {
  const auto ints = [](std::initializer_list<int64_t> values) {
    return Tensor::Vector<int64_t>(values);
  };
  const Tensor before = Floats({2, 2}, {1, 2, 3, 4});
  const Tensor handle = Handle(before);
  const Tensor held = Read(handle, DT_FLOAT);
  EXPECT_OK(harness_.Run("ResourceStridedSliceAssign",
                         {handle, ints({0, 1}), ints({2, 2}), ints({1, 1}),
                          Floats({2, 1}, {8, 9})}));
  EXPECT_TRUE(SameBits(Read(handle, DT_FLOAT), Floats({2, 2}, {1, 8, 3, 9})));
  // A tensor read earlier keeps its value.
  EXPECT_TRUE(SameBits(held, before));
  const auto variable = Reference(before);
  EXPECT_OK(harness_.Run(
      "StridedSliceAssign",
      {variable, ints({1}), ints({0}), ints({-1}), Floats({1, 2}, {8, 9})}));
  EXPECT_TRUE(SameBits(*variable->Read(), Floats({2, 2}, {1, 2, 8, 9})));
  EXPECT_THAT(harness_.Run("StridedSliceAssign",
                           {variable, ints({0}), ints({2}), ints({1}),
                            Floats({3, 2}, {0, 0, 0, 0, 0, 0})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Cannot broadcast input shape [3,2] into final shape "
                       "[2,2]"));
  EXPECT_THAT(
      harness_.Run("StridedSliceAssign", {variable, ints({0}), ints({2}),
                                          ints({0}), Floats({1, 2}, {0, 0})}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(SameBits(*variable->Read(), Floats({2, 2}, {1, 2, 8, 9})));
  EXPECT_OK(harness_.Run(
      "StridedSliceAssign",
      {variable, ints({0}), ints({2}), ints({1}), Floats({1, 2, 1}, {5, 6})}));
  EXPECT_TRUE(SameBits(*variable->Read(), Floats({2, 2}, {5, 5, 6, 6})));
}

}  // namespace
}  // namespace weft
