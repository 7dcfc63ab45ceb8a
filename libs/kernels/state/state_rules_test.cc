// Tests rules for all ops that change state which outlives a step.
//
// An aborted step must not change state: each op runs in a cancelled step and
// must change nothing; then it runs in a live step and must change the state. A
// new op that is stateful, or takes or produces a handle or a reference, must
// be added here or be exempted by name.
//
// A cheap kernel must not wait for the lock of a variable.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/ops/standard_ops.h"
#include "libs/tensor/resource_handle.h"

namespace weft {
namespace {

using Inputs = std::vector<KernelInput>;

// Ops that change no state that outlives a step, with the reason.
const std::map<std::string, std::string>& Excused() {
  static const char kReads[] = "only reads";
  static const char kStep[] = "changes only state of the step";
  static const char kPasses[] = "forwards a reference";
  static const char kExecutor[] = "handled by the executor";
  static const char kCalls[] = "the called ops check cancellation";
  static const auto* const excused = new std::map<std::string, std::string>{
      {"ReadVariableOp", kReads},
      {"VarIsInitializedOp", kReads},
      {"VariableShape", kReads},
      {"IsVariableInitialized", kReads},
      {"ResourceGather", kReads},
      {"WaitForVariable", kReads},
      {"WaitForRefVariable", kReads},
      {"LoadAndRemapMatrix", kReads},
      {"Restore", kReads},
      {"RestoreSlice", kReads},
      {"RestoreV2", kReads},
      {"_MarkVariables", "only a save after a successful mark sees the mark"},
      {"DisableCopyOnRead", "does nothing"},
      {"PyFunc", "changes only the program's own state"},
      {"EagerPyFunc", "changes only the program's own state"},
      {"VarHandleOp",
       "creates a handle; the variable is created with its value"},
      {"QueueSize", kReads},
      {"QueueSizeV2", kReads},
      {"QueueIsClosed", kReads},
      {"QueueIsClosedV2", kReads},
      {"LookupTableFind", kReads},
      {"LookupTableFindV2", kReads},
      {"LookupTableSize", kReads},
      {"LookupTableSizeV2", kReads},
      {"LookupTableExport", kReads},
      {"LookupTableExportV2", kReads},
      {"AccumulatorNumAccumulated", kReads},
      {"ResourceAccumulatorNumAccumulated", kReads},
      {"ReaderNumRecordsProduced", kReads},
      {"ReaderNumRecordsProducedV2", kReads},
      {"ReaderNumWorkUnitsCompleted", kReads},
      {"ReaderNumWorkUnitsCompletedV2", kReads},
      {"ReaderSerializeState", kReads},
      {"ReaderSerializeStateV2", kReads},
      {"BarrierReadySize", kReads},
      {"BarrierIncompleteSize", kReads},
      {"StagePeek", kReads},
      {"StageSize", kReads},
      {"MapPeek", kReads},
      {"MapSize", kReads},
      {"MapIncompleteSize", kReads},
      {"OrderedMapPeek", kReads},
      {"OrderedMapSize", kReads},
      {"OrderedMapIncompleteSize", kReads},
      {"CheckNumerics", kReads},
      {"Assert", kReads},
      {"Print", "prints its input"},
      {"PrintV2", "prints its input"},
      {"StatelessRandomGetAlg", "returns a constant of the device"},
      {"TemporaryVariable", kStep},
      {"DestroyTemporaryVariable", kStep},
      {"StatefulPartitionedCall", kCalls},
      {"If", kCalls},
      {"Case", kCalls},
      {"While", kCalls},
      {"AnonymousIterator", kStep},
      {"AnonymousIteratorV2", kStep},
      {"AnonymousIteratorV3", kStep},
      {"AnonymousMemoryCache", kStep},
      {"AnonymousSeedGenerator", kStep},
      {"AnonymousRandomSeedGenerator", kStep},
      {"DeleteIterator", kStep},
      {"DeleteMemoryCache", kStep},
      {"DeleteSeedGenerator", kStep},
      {"DeleteRandomSeedGenerator", kStep},
      {"DummyMemoryCache", "creates a handle of no resource"},
      {"DummySeedGenerator", "creates a handle of no resource"},
      {"IteratorToStringHandle", kReads},
      {"IteratorFromStringHandle", kReads},
      {"IteratorFromStringHandleV2", kReads},
      {"SerializeIterator", kReads},
      {"RefIdentity", kPasses},
      {"RefSwitch", kPasses},
      {"RefMerge", kPasses},
      {"RefSelect", kPasses},
      {"RefEnter", kPasses},
      {"RefExit", kPasses},
      {"RefNextIteration", kPasses},
      {"_Send", kExecutor},
      {"_Recv", kExecutor},
      {"_Arg", kExecutor},
      {"_Retval", kExecutor},
  };
  return *excused;
}

bool IsExcused(const std::string& op) {
  // TensorArrays and stacks live as long as their step. Datasets are values,
  // and a step has its own iterators over them.
  return Excused().contains(op) || absl::StrContains(op, "Dataset") ||
         absl::StartsWith(op, "TensorArray") || absl::StartsWith(op, "Stack");
}

bool MayChangeState(const OpDef& op) {
  bool may = op.is_stateful;
  for (const ArgDef& input : op.inputs) {
    may = may || input.is_ref || input.type == DT_RESOURCE;
  }
  for (const ArgDef& output : op.outputs) may = may || output.is_ref;
  return may;
}

// State provides the resources and files that one op needs, and describes the
// state that the op may change.
class State {
 public:
  State() : harness_(RegisterStandardKernels) {}
  ~State() { (void)files_.DeleteRecursively(folder_); }

  KernelTestHarness& harness() { return harness_; }
  // Returns the path of a file with that name.
  Tensor Path(absl::string_view name) const {
    return Tensor::Scalar<std::string>(absl::StrCat(folder_, "/", name));
  }

  // Returns a description of all state that outlives a step.
  std::string Describe() {
    std::string text;
    for (const auto& entry : harness_.resources().List()) {
      absl::StrAppend(&text, entry.container, "/", entry.name, ": ",
                      entry.description, "\n");
    }
    for (const auto& variable : variables()) {
      absl::StrAppend(&text, variable->name(), " version ", variable->version(),
                      "\n");
    }
    for (const std::string& file :
         files_.ListDirectory(folder_).value_or(std::vector<std::string>())) {
      absl::StrAppend(&text, "file ", file, "\n");
    }
    return text;
  }

  KernelInput Reference(const std::string& name, Tensor value) {
    auto variable = std::make_shared<Variable>(name, value.dtype(),
                                               PartialShape(value.shape()));
    EXPECT_OK(variable->Assign(harness_.cancellation(), std::move(value)));
    references_.push_back(variable);
    return variable;
  }
  KernelInput Handle(const std::string& name, const Tensor& value) {
    auto handle = harness_.RunOne("VarHandleOp", {},
                                  {{"dtype", value.dtype()},
                                   {"shape", PartialShape(value.shape())},
                                   {"shared_name", name}});
    EXPECT_OK(handle);
    EXPECT_OK(harness_.Run("AssignVariableOp", {*handle, value}));
    return *handle;
  }
  KernelInput VariableOf(const ArgDef& arg, const Tensor& value) {
    return arg.is_ref ? Reference(arg.name, value) : Handle(arg.name, value);
  }

  // Returns the variables created so far.
  std::vector<std::shared_ptr<Variable>> variables() {
    std::vector<std::shared_ptr<Variable>> result = references_;
    for (const auto& entry : harness_.resources().List()) {
      if (entry.type_name != Variable::kTypeName) continue;
      result.push_back(
          *harness_.resources().Lookup<Variable>(entry.container, entry.name));
    }
    return result;
  }

  // Returns the handle that `op` creates: a reference or a resource.
  KernelInput Make(const std::string& op, AttrMap attrs) {
    attrs["shared_name"] = std::string("shared");
    auto kernel = harness_.Make(op, {}, std::move(attrs));
    EXPECT_OK(kernel);
    Slot out;
    EXPECT_OK((*kernel)->RunSlots({}, absl::MakeSpan(&out, 1)));
    kernels_.push_back(*std::move(kernel));
    if (out.is_ref()) return out.variable;
    return out.tensor;
  }

 private:
  LocalFileSystem files_;
  const std::string folder_ =
      absl::StrCat(testing::TempDir(), "/state_rules_test");
  KernelTestHarness harness_;
  std::vector<std::shared_ptr<Variable>> references_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

struct Call {
  Inputs inputs;
  AttrMap attrs;
};
using Prepare = std::function<Call(State&, const OpDef&)>;

// Saves one number to the given file.
Call Save(const State& state, const std::string& file) {
  return {{state.Path(file), Tensor::Vector<std::string>({"x"}),
           Tensor::Vector<std::string>({""}), Tensor::Scalar(1.0f)},
          {}};
}

Call SaveOne(State& state, const OpDef&) { return Save(state, "saved"); }

// Saves to a file in V1 format.
Call SaveWhole(State& state, const OpDef&) {
  return {{state.Path("saved"), Tensor::Vector<std::string>({"x"}),
           Tensor::Scalar(1.0f)},
          {}};
}

Call SaveVariables(State& state, const OpDef&) {
  Call call = Save(state, "saved");
  call.inputs.back() = state.Reference("x", Tensor::Scalar(1.0f));
  call.attrs = {{"dtypes", DataTypeVector()},
                {"reference_dtypes", DataTypeVector({DT_FLOAT})},
                {"N", int64_t{0}},
                {"handle_dtypes", DataTypeVector()},
                {"order", std::vector<int64_t>({0})},
                {"snapshot_groups", std::vector<int64_t>({0})}};
  return call;
}

Call WriteOne(State& state, const OpDef&) {
  return {{state.Path("written"), Tensor::Scalar<std::string>("text")}, {}};
}

Call MergeOne(State& state, const OpDef&) {
  const Call shard = Save(state, "shard");
  EXPECT_OK(state.harness().Run("SaveV2", shard.inputs));
  const std::string prefix = state.Path("shard").scalar<std::string>();
  return {{Tensor::Vector<std::string>({prefix}), state.Path("merged")}, {}};
}

Tensor Two() { return Tensor::Vector<float>({1, 2}); }
Tensor One() { return Tensor::Vector<float>({4}); }
Tensor FirstRow() { return Tensor::Vector<int64_t>({0}); }

// Creates variables of two elements. The update is as large or one row; other
// arguments are scalars.
Call ChangeVariables(State& state, const OpDef& op) {
  const bool has_rows = absl::StrContains(op.name, "Sparse") ||
                        absl::StrContains(op.name, "Scatter");
  const bool is_nd = absl::StrContains(op.name, "ScatterNd");
  Call call;
  for (const ArgDef& arg : op.inputs) {
    if (arg.is_ref || arg.type == DT_RESOURCE) {
      call.inputs.push_back(state.VariableOf(arg, Two()));
    } else if (arg.name == "indices") {
      call.inputs.push_back(is_nd ? Tensor::FromValues<int64_t>({1, 1}, {0})
                                  : FirstRow());
    } else if (arg.name == "grad" || arg.name == "delta" ||
               arg.name == "value" || arg.name == "updates") {
      call.inputs.push_back(has_rows ? One() : Two());
    } else if (arg.name == "global_step") {
      call.inputs.push_back(Tensor::Scalar(int64_t{1}));
    } else if (arg.name == "begin") {
      call.inputs.push_back(FirstRow());
    } else if (arg.name == "end" || arg.name == "strides") {
      const int64_t number = arg.name == "end" ? 2 : 1;
      call.inputs.push_back(Tensor::Vector<int64_t>({number}));
    } else {
      // Ftrl's lr_power must not be positive
      const bool is_power = arg.name == "lr_power";
      call.inputs.push_back(Tensor::Scalar(is_power ? -0.5f : 0.5f));
    }
  }
  return call;
}

Call CountUp(State& state, const OpDef& op) {
  const Tensor zero = Tensor::Scalar(int64_t{0});
  return {{state.VariableOf(op.inputs[0], zero)},
          {{"limit", int64_t{9}}, {"T", DT_INT64}}};
}

Call Destroy(State& state, const OpDef&) {
  return {{state.Handle("gone", Two())}, {}};
}

AttrMap QueueAttrs() {
  return {{"component_types", DataTypeVector{DT_FLOAT}},
          {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}},
          {"capacity", int64_t{9}}};
}

// Ops on references and on resources have the same names except for the
// version.
bool TakesReference(const OpDef& op) { return op.inputs[0].is_ref; }

KernelInput QueueOfTwo(State& state, const OpDef& op) {
  const bool is_ref = TakesReference(op);
  KernelInput queue =
      state.Make(is_ref ? "FIFOQueue" : "FIFOQueueV2", QueueAttrs());
  EXPECT_OK(state.harness().Run(
      is_ref ? "QueueEnqueueMany" : "QueueEnqueueManyV2", {queue, Two()}));
  return queue;
}

Prepare OnQueue(Inputs rest, AttrMap attrs = {}) {
  return [rest, attrs](State& state, const OpDef& op) {
    Call call{{QueueOfTwo(state, op)}, attrs};
    for (const KernelInput& input : rest) call.inputs.push_back(input);
    return call;
  };
}

KernelInput NamesReader(State& state, const OpDef& op) {
  return state.Make(TakesReference(op) ? "IdentityReader" : "IdentityReaderV2",
                    {});
}

Call ReadNames(State& state, const OpDef& op) {
  const bool is_ref = TakesReference(op);
  AttrMap attrs = QueueAttrs();
  attrs["component_types"] = DataTypeVector{DT_STRING};
  KernelInput queue = state.Make(is_ref ? "FIFOQueue" : "FIFOQueueV2", attrs);
  EXPECT_OK(
      state.harness().Run(is_ref ? "QueueEnqueueMany" : "QueueEnqueueManyV2",
                          {queue, Tensor::Vector<std::string>({"a", "b"})}));
  Call call{{NamesReader(state, op), queue}, {}};
  if (absl::StartsWith(op.name, "ReaderReadUpTo")) {
    call.inputs.push_back(Tensor::Scalar(int64_t{1}));
  }
  return call;
}

Call ResetReader(State& state, const OpDef& op) {
  const Call read = ReadNames(state, op);
  EXPECT_OK(state.harness().Run(
      TakesReference(op) ? "ReaderRead" : "ReaderReadV2", read.inputs));
  return {{read.inputs[0]}, {}};
}

// The state of a reader that began one work unit and read it.
Call RestoreReader(State& state, const OpDef& op) {
  return {{NamesReader(state, op), Tensor::Scalar("\x08\x01\x10\x01")}, {}};
}

Call InsertIntoBarrier(State& state, const OpDef&) {
  AttrMap attrs = QueueAttrs();
  attrs.erase("capacity");
  return {{state.Make("Barrier", attrs), Tensor::Vector<std::string>({"key"}),
           One()},
          {{"component_index", int64_t{0}}}};
}

Prepare OnBarrier(Inputs rest, AttrMap attrs) {
  return [rest, attrs](State& state, const OpDef& op) {
    const Call insert = InsertIntoBarrier(state, op);
    EXPECT_OK(
        state.harness().Run("BarrierInsertMany", insert.inputs, insert.attrs));
    Call call{{insert.inputs[0]}, attrs};
    for (const KernelInput& input : rest) call.inputs.push_back(input);
    return call;
  };
}

// Returns a value for staging areas with and without keys.
Call StageOne(State&, const OpDef& op) {
  Call call{{},
            {{"dtypes", DataTypeVector{DT_FLOAT}},
             {"shared_name", std::string("area")}}};
  if (op.name != "Stage") {
    call.inputs = {Tensor::Scalar(int64_t{7}), Tensor::Vector({0})};
  }
  call.inputs.push_back(Tensor::Scalar(1.0f));
  return call;
}

Call OnStagingArea(State& state, const OpDef& op) {
  const std::string stage = absl::StartsWith(op.name, "Ordered")
                                ? "OrderedMapStage"
                            : absl::StartsWith(op.name, "Map") ? "MapStage"
                                                               : "Stage";
  Call call = StageOne(state, *state.harness().ops().Find(stage));
  EXPECT_OK(state.harness().Run(stage, call.inputs, call.attrs));
  call.inputs.clear();
  for (const ArgDef& input : op.inputs) {
    call.inputs.push_back(input.name == "key"
                              ? KernelInput(Tensor::Scalar(int64_t{7}))
                              : KernelInput(Tensor::Vector({0})));
  }
  return call;
}

KernelInput Table(State& state, const OpDef& op, bool is_mutable) {
  return state.Make(absl::StrCat(is_mutable ? "MutableHashTable" : "HashTable",
                                 TakesReference(op) ? "" : "V2"),
                    {{"key_dtype", DT_INT64}, {"value_dtype", DT_FLOAT}});
}

Call FillTable(State& state, const OpDef& op) {
  const bool is_mutable = !absl::StartsWith(op.name, "Initialize");
  return {{Table(state, op, is_mutable), FirstRow(), One()}, {}};
}

Call MakeDenseTable(State&, const OpDef&) {
  return {{Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2})},
          {{"shared_name", std::string("shared")},
           {"value_dtype", DT_FLOAT},
           {"initial_num_buckets", int64_t{8}}}};
}

Call RemoveFromTable(State& state, const OpDef& op) {
  KernelInput table = Table(state, op, /*is_mutable=*/true);
  EXPECT_OK(
      state.harness().Run("LookupTableInsertV2", {table, FirstRow(), One()}));
  return {{table, FirstRow()}, {}};
}

Call FillTableFromFile(State& state, const OpDef& op) {
  const std::string path =
      absl::StrCat(std::getenv("TEST_TMPDIR"), "/vocabulary");
  std::ofstream(path) << "1\t2.5\n";
  return {{Table(state, op, /*is_mutable=*/false), Tensor::Scalar(path)},
          {{"key_index", int64_t{0}}, {"value_index", int64_t{1}}}};
}

KernelInput Accumulator(State& state, const OpDef& op) {
  const std::string kind = absl::StartsWith(op.name, "Sparse")     ? "Sparse"
                           : absl::StartsWith(op.name, "Resource") ? "Resource"
                                                                   : "";
  return state.Make(kind + "ConditionalAccumulator",
                    {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}});
}

Inputs Gradient(bool is_sparse) {
  const Tensor step = Tensor::Scalar(int64_t{0});
  if (!is_sparse) return {step, Two()};
  return {step, FirstRow(), One(), Tensor::Vector<int64_t>({2})};
}

Call ApplyGradient(State& state, const OpDef& op) {
  const bool is_sparse = absl::StartsWith(op.name, "Sparse");
  Call call{{Accumulator(state, op)}, {}};
  for (KernelInput& input : Gradient(is_sparse)) call.inputs.push_back(input);
  if (is_sparse) call.attrs["has_known_shape"] = true;
  return call;
}

Call TakeGradient(State& state, const OpDef& op) {
  const std::string apply =
      absl::StrCat(op.name.substr(0, op.name.find("Take")), "ApplyGradient");
  Call call = ApplyGradient(state, *state.harness().ops().Find(apply));
  EXPECT_OK(state.harness().Run(apply, call.inputs, call.attrs));
  return {{call.inputs[0], Tensor::Scalar(1)}, {{"dtype", DT_FLOAT}}};
}

Call SetGlobalStep(State& state, const OpDef& op) {
  return {{Accumulator(state, op), Tensor::Scalar(int64_t{7})}, {}};
}

// Prepares an op that creates the resource of its handle.
Prepare Maker(AttrMap attrs) {
  attrs["shared_name"] = std::string("shared");
  return [attrs](State&, const OpDef&) { return Call{{}, attrs}; };
}

AttrMap IteratorAttrs() {
  return {{"output_types", DataTypeVector{DT_INT64}},
          {"output_shapes", std::vector<PartialShape>{PartialShape::Scalar()}}};
}

// Creates an iterator over ten numbers, one of which was consumed.
Call OnIterator(State& state, const OpDef& op) {
  AttrMap attrs = IteratorAttrs();
  attrs["container"] = std::string();
  const KernelInput iterator = state.Make("IteratorV2", attrs);
  KernelTestHarness& harness = state.harness();
  const auto numbers =
      harness.RunOne("RangeDataset",
                     {Tensor::Scalar(int64_t{0}), Tensor::Scalar(int64_t{10}),
                      Tensor::Scalar(int64_t{1})},
                     IteratorAttrs());
  EXPECT_OK(numbers);
  if (op.name == "MakeIterator") return {{*numbers, iterator}, {}};
  EXPECT_OK(harness.Run("MakeIterator", {*numbers, iterator}));
  EXPECT_OK(harness.Run("IteratorGetNext", {iterator}, IteratorAttrs()));
  if (op.name != "DeserializeIterator") return {{iterator}, IteratorAttrs()};
  const auto saved = harness.RunOne("SerializeIterator", {iterator});
  EXPECT_OK(saved);
  return {{iterator, *saved}, {}};
}

// Returns the cases by prefix of the op's name, except random ops.
std::vector<std::pair<std::string, Prepare>> Cases() {
  const Tensor one_element = Tensor::Scalar(1.0f);
  const AttrMap floats = {{"component_types", DataTypeVector{DT_FLOAT}}};
  const AttrMap declared = {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}};
  const AttrMap table = {{"key_dtype", DT_INT64}, {"value_dtype", DT_FLOAT}};
  AttrMap table_of_rows = table;
  table_of_rows["value_shape"] = PartialShape{2};
  AttrMap priority = QueueAttrs();
  priority["component_types"] = DataTypeVector{};
  priority["shapes"] = std::vector<PartialShape>{};
  AttrMap barrier = QueueAttrs();
  barrier.erase("capacity");
  AttrMap iterator = IteratorAttrs();
  iterator["container"] = std::string();
  AttrMap one_shot = IteratorAttrs();
  one_shot["dataset_factory"] = NameAttrList{"factory", nullptr};
  return {
      {"IteratorGetNext", OnIterator},
      {"MakeIterator", OnIterator},
      {"DeserializeIterator", OnIterator},
      {"Iterator", Maker(iterator)},
      {"OneShotIterator", Maker(one_shot)},
      {"CountUpTo", CountUp},
      {"ResourceCountUpTo", CountUp},
      {"DestroyResourceOp", Destroy},
      {"VariableV2", Maker(declared)},
      {"Variable", Maker(declared)},
      {"FIFOQueue", Maker(QueueAttrs())},
      {"PaddingFIFOQueue", Maker(QueueAttrs())},
      {"RandomShuffleQueue", Maker(QueueAttrs())},
      {"PriorityQueue", Maker(priority)},
      {"QueueEnqueueMany", OnQueue({Two()})},
      {"QueueEnqueue", OnQueue({one_element})},
      {"QueueDequeueMany", OnQueue({Tensor::Scalar(1)}, floats)},
      {"QueueDequeueUpTo", OnQueue({Tensor::Scalar(1)}, floats)},
      {"QueueDequeue", OnQueue({}, floats)},
      {"QueueClose", OnQueue({}, {{"cancel_pending_enqueues", true}})},
      {"TextLineReader", Maker({})},
      {"FixedLengthRecordReader", Maker({{"record_bytes", int64_t{1}}})},
      {"TFRecordReader", Maker({})},
      {"WholeFileReader", Maker({})},
      {"IdentityReader", Maker({})},
      {"ReaderRead", ReadNames},
      {"ReaderReset", ResetReader},
      {"ReaderRestoreState", RestoreReader},
      {"BarrierInsertMany", InsertIntoBarrier},
      {"BarrierTakeMany", OnBarrier({Tensor::Scalar(1)}, floats)},
      {"BarrierClose", OnBarrier({}, {})},
      {"Barrier", Maker(barrier)},
      {"StageClear", OnStagingArea},
      {"Stage", StageOne},
      {"Unstage", OnStagingArea},
      {"MapStage", StageOne},
      {"OrderedMapStage", StageOne},
      {"Map", OnStagingArea},
      {"OrderedMap", OnStagingArea},
      {"HashTable", Maker(table)},
      {"MutableHashTableOfTensors", Maker(table_of_rows)},
      {"MutableHashTable", Maker(table)},
      {"MutableDenseHashTableV2", MakeDenseTable},
      {"InitializeTableFromTextFile", FillTableFromFile},
      {"InitializeTable", FillTable},
      {"LookupTableImport", FillTable},
      {"LookupTableInsert", FillTable},
      {"LookupTableRemove", RemoveFromTable},
      {"ConditionalAccumulator", Maker(declared)},
      {"ResourceConditionalAccumulator", Maker(declared)},
      {"SparseConditionalAccumulator", Maker(declared)},
      {"AccumulatorApplyGradient", ApplyGradient},
      {"ResourceAccumulatorApplyGradient", ApplyGradient},
      {"SparseAccumulatorApplyGradient", ApplyGradient},
      {"AccumulatorTakeGradient", TakeGradient},
      {"ResourceAccumulatorTakeGradient", TakeGradient},
      {"SparseAccumulatorTakeGradient", TakeGradient},
      {"AccumulatorSetGlobalStep", SetGlobalStep},
      {"ResourceAccumulatorSetGlobalStep", SetGlobalStep},
      {"SaveV2", SaveOne},
      {"SaveSlices", SaveOne},
      {"Save", SaveWhole},
      {"_SaveVariables", SaveVariables},
      {"MergeV2Checkpoints", MergeOne},
      {"WriteFile", WriteOne},
      {"Assign", ChangeVariables},
      {"Scatter", ChangeVariables},
      {"ResourceScatter", ChangeVariables},
      {"Apply", ChangeVariables},
      {"SparseApply", ChangeVariables},
      {"ResourceApply", ChangeVariables},
      {"ResourceSparseApply", ChangeVariables},
      {"StridedSliceAssign", ChangeVariables},
      {"ResourceStridedSliceAssign", ChangeVariables},
  };
}

// Returns the ops that draw from a stream that persists across steps.
std::map<std::string, Call> RandomCases() {
  const AttrMap seeded = {{"seed", int64_t{3}}};
  const auto with = [&](AttrMap attrs) {
    attrs.insert(seeded.begin(), seeded.end());
    return attrs;
  };
  const Tensor shape = Tensor::Vector({4});
  const AttrMap floats = with({{"dtype", DT_FLOAT}});
  return {
      {"RandomUniform", {{shape}, floats}},
      {"RandomStandardNormal", {{shape}, floats}},
      {"TruncatedNormal", {{shape}, floats}},
      {"RandomUniformInt",
       {{shape, Tensor::Scalar(0), Tensor::Scalar(1 << 30)}, seeded}},
      {"RandomShuffle",
       {{Tensor::Vector({1, 2, 3, 4, 5, 6, 7, 8, 9})}, seeded}},
      {"Multinomial",
       {{Tensor::FromValues<float>({1, 4}, {1, 1, 1, 1}), Tensor::Scalar(9)},
        seeded}},
      {"LogUniformCandidateSampler",
       {{Tensor::FromValues<int64_t>({1, 1}, {1})},
        with({{"num_true", int64_t{1}},
              {"num_sampled", int64_t{4}},
              {"unique", false},
              {"range_max", int64_t{1000}}})}},
  };
}

// Returns null if there is no case.
Prepare FindCase(const std::string& op) {
  for (const auto& [prefix, prepare] : Cases()) {
    if (absl::StartsWith(op, prefix)) return prepare;
  }
  return nullptr;
}

// Returns the ops with a kernel that may change state that outlives a step.
std::set<std::string> StatefulOps(KernelTestHarness& harness) {
  std::set<std::string> names;
  for (const KernelDef* def : harness.kernels().List()) {
    const OpDef* op = harness.ops().Find(def->op);
    if (op != nullptr && MayChangeState(*op)) names.insert(def->op);
  }
  return names;
}

TEST(StateRulesTest, AbortedStepChangesNoState) {
  KernelTestHarness all(RegisterStandardKernels);
  const absl::Status cause = absl::AbortedError("the step is over");
  for (const std::string& op : StatefulOps(all)) {
    if (IsExcused(op) || RandomCases().contains(op)) continue;
    SCOPED_TRACE(op);
    const Prepare prepare = FindCase(op);
    if (prepare == nullptr) {
      ADD_FAILURE() << op << " may change what outlives a step: add a case, or "
                    << "excuse it";
      continue;
    }
    State state;
    const Call call = prepare(state, *state.harness().ops().Find(op));
    const std::string before = state.Describe();
    state.harness().cancellation().Cancel(cause);
    EXPECT_EQ(state.harness().Run(op, call.inputs, call.attrs).status(), cause);
    EXPECT_EQ(state.Describe(), before);
    state.harness().NewStep();
    EXPECT_OK(state.harness().Run(op, call.inputs, call.attrs));
    EXPECT_NE(state.Describe(), before);
  }
}

TEST(StateRulesTest, AbortedStepDrawsNoRandomNumbers) {
  for (const auto& [op, call] : RandomCases()) {
    SCOPED_TRACE(op);
    State state;
    KernelTestHarness& harness = state.harness();
    std::vector<DataType> types;
    for (const KernelInput& input : call.inputs) {
      types.push_back(input.tensor.dtype());
    }
    ASSERT_OK_AND_ASSIGN(auto kernel, harness.Make(op, types, call.attrs));
    ASSERT_OK_AND_ASSIGN(auto fresh, harness.Make(op, types, call.attrs));
    harness.cancellation().Cancel(absl::AbortedError("the step is over"));
    EXPECT_THAT(kernel->Run(call.inputs),
                StatusIs(absl::StatusCode::kAborted, "over"));
    harness.NewStep();
    ASSERT_OK_AND_ASSIGN(auto first, fresh->Run(call.inputs));
    ASSERT_OK_AND_ASSIGN(auto drawn, kernel->Run(call.inputs));
    EXPECT_TRUE(SameBits(drawn[0], first[0]));
    ASSERT_OK_AND_ASSIGN(auto next, kernel->Run(call.inputs));
    EXPECT_FALSE(SameBits(next[0], first[0]));
  }
}

// Runs a kernel on its own thread while the caller's thread holds the lock of a
// variable that the kernel changes.
class KernelThread {
 public:
  KernelThread(State& state, const std::string& op, const Call& call)
      : over_(state.harness().scheduler().NewEvent()) {
    for (const KernelInput& input : call.inputs) {
      Slot& slot = inputs_.emplace_back();
      slot.tensor = input.tensor;
      slot.variable = input.variable;
      types_.push_back(input.variable ? MakeRefType(input.variable->dtype())
                                      : input.tensor.dtype());
    }
    auto kernel = state.harness().Make(op, types_, call.attrs);
    EXPECT_OK(kernel);
    kernel_ = *std::move(kernel);
    outputs_.resize(kernel_->node().num_outputs());
  }

  // Returns false if the kernel waits.
  bool Start(const Clock& clock) {
    thread_ = std::thread([this] {
      status_ = Run();
      over_->Set();
    });
    return over_->WaitUntil(clock.Now() + absl::Seconds(2));
  }
  absl::Status Join() {
    thread_.join();
    return status_;
  }
  absl::Status Run() {
    return kernel_->RunSlots(absl::MakeSpan(inputs_), absl::MakeSpan(outputs_));
  }

 private:
  std::unique_ptr<Event> over_;
  std::vector<Slot> inputs_, outputs_;
  std::vector<DataType> types_;
  std::unique_ptr<KernelTestHarness::Kernel> kernel_;
  absl::Status status_;
  std::thread thread_;
};

void ExpectDoesNotWait(const std::string& op, const Prepare& prepare) {
  State state;
  KernelTestHarness& harness = state.harness();
  const Call call = prepare(state, *harness.ops().Find(op));
  KernelThread kernel(state, op, call);
  const std::string before = state.Describe();
  harness.set_when_locked(WhenLocked::kGiveUp);
  ASSERT_OK(state.variables()[0]->ReadPart([&](const Tensor&) {
    EXPECT_TRUE(kernel.Start(harness.scheduler().clock())) << "it waits";
    return absl::OkStatus();
  }));
  const absl::Status status = kernel.Join();
  EXPECT_TRUE(IsGivenUp(status)) << status;
  EXPECT_EQ(state.Describe(), before);
  // The kernel still has its inputs and can run again.
  harness.set_when_locked(WhenLocked::kWait);
  EXPECT_OK(kernel.Run());
  EXPECT_NE(state.Describe(), before);
}

TEST(StateRulesTest, CheapKernelsDoNotWaitForVariables) {
  KernelTestHarness all(RegisterStandardKernels);
  std::set<std::string> tried;
  int num_exercised = 0;
  for (const KernelDef* def : all.kernels().List()) {
    if (!def->is_cheap || !tried.insert(def->op).second) continue;
    const OpDef* op = all.ops().Find(def->op);
    if (op == nullptr || !MayChangeState(*op) || IsExcused(def->op)) continue;
    if (op->inputs.empty()) continue;
    const Prepare prepare = FindCase(def->op);
    // Other ops on handles hold locks only briefly.
    if (prepare == nullptr || absl::StartsWith(def->op, "Queue")) continue;
    if (absl::StrContains(def->op, "tage")) continue;
    if (def->op == "DestroyResourceOp") continue;
    SCOPED_TRACE(def->op);
    ExpectDoesNotWait(def->op, prepare);
    ++num_exercised;
  }
  EXPECT_GE(num_exercised, 30);
}

}  // namespace
}  // namespace weft
