// Tests strings outside the allocator: kernels that create strings from others
// must fail before they create strings that exceed the memory bound.
#include "libs/kernels/common/string_charge.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/testing/small_allocator.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
// The memory for charges, in addition to HeapCharge::kFreeBytes and the
// elements of outputs.
constexpr size_t kRoom = kMiB / 2;

Tensor Text(size_t size) { return Tensor::Scalar(std::string(size, 'a')); }
Tensor Texts(int count, size_t size) {
  return Tensor::Vector<std::string>(
      std::vector<std::string>(count, std::string(size, 'a')));
}
Tensor Square(size_t size) { return *Texts(4, size).Reshaped({2, 2}); }
Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector<int32_t>(values);
}
Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector<int64_t>(values);
}
Tensor Int(int32_t value) { return Tensor::Scalar(value); }

// A run of an op that needs at least 2 MiB for strings or their parts.
struct Case {
  std::string op;
  std::vector<KernelInput> inputs;
  AttrMap attrs = {};
};

std::vector<Case> JoiningCases() {
  const Tensor text = Text(kMiB), texts = Texts(4, kMiB);
  return {
      {"StringJoin", {text, text, text, text}},
      {"ReduceJoin", {texts, Int(0)}},
      {"UnsortedSegmentJoin", {texts, Ints({0, 0, 0, 0}), Int(1)}},
      {"Add", {text, Texts(4, 0)}},
      {"StringNGrams",
       {texts, Longs({0, 4})},
       {{"separator", " "},
        {"ngram_widths", std::vector<int64_t>{2}},
        {"left_pad", ""},
        {"right_pad", ""},
        {"pad_width", 0},
        {"preserve_short_sequences", false}}},
      {"ConcatV2", {texts, texts, Int(0)}, {{"N", 2}}},
      {"Pack", {texts, texts}, {{"N", 2}}},
  };
}

std::vector<Case> RepeatingCases() {
  const Tensor text = Text(kMiB);
  const Tensor one = Texts(1, kMiB);
  const Tensor paddings =
      Tensor::FromValues<int32_t>(TensorShape({1, 2}), {0, 4});
  return {
      {"Fill", {Ints({4}), text}},
      {"Tile", {one, Ints({4})}},
      {"BroadcastTo", {one, Ints({4})}},
      {"PadV2", {one, paddings, text}},
      {"MirrorPad", {Texts(4, kMiB), paddings}, {{"mode", "SYMMETRIC"}}},
      {"GatherV2", {one, Ints({0, 0, 0, 0}), Int(0)}},
      {"GatherNd",
       {one, Tensor::FromValues<int32_t>(TensorShape({4, 1}), {0, 0, 0, 0})}},
      {"OneHot", {Ints({0}), Int(4), text, text}},
      {"SelectV2",
       {Tensor::Vector<bool>({true, true, true, true}), text, Text(0)}},
      {"SparseToDense", {Ints({0}), Ints({5}), Text(0), text}},
      {"Substr", {text, Ints({0, 0, 0, 0}), Ints({-1, -1, -1, -1})}},
  };
}

std::vector<Case> ChangingCases() {
  const Tensor text = Text(4 * kMiB);
  return {
      {"EncodeBase64", {text}},
      {"StringUpper", {text}},
      {"StringStrip", {text}},
      {"AsString", {text}},
      {"AsString", {Texts(1000, 1)}, {{"width", 5000}}},
      {"RegexReplace", {Text(kMiB / 16), Text(1), Text(20)}},
      {"StaticRegexReplace",
       {Text(10 * 1024)},
       {{"pattern", "a"}, {"rewrite", std::string(1024, 'b')}}},
      {"StringSplitV2", {Texts(1, kMiB / 16), Text(1)}},
      {"StringSplit", {Texts(1, kMiB / 16), Text(0)}},
      {"ReverseV2", {Texts(4, kMiB), Ints({0})}},
      {"Transpose", {Square(kMiB), Ints({1, 0})}},
      {"Slice", {Texts(9, kMiB), Ints({1}), Ints({4})}},
      {"Unique", {Texts(1, 4 * kMiB)}},
  };
}

class StringChargeTest : public ::testing::Test {
 protected:
  // Runs the ops with memory for the elements, but not for the strings.
  void ExpectNoRoom(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      SmallAllocator allocator(kRoom, kRoom);
      harness_.set_allocator(allocator);
      EXPECT_THAT(harness_.Run(test.op, test.inputs, test.attrs),
                  StatusIs(absl::StatusCode::kResourceExhausted,
                           "strings or containers"))
          << test.op;
    }
    harness_.set_allocator(HeapAllocator());
  }
  // Does the same, and then runs each op successfully with enough memory.
  void ExpectRefused(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      ExpectNoRoom({test});
      EXPECT_OK(harness_.Run(test.op, test.inputs, test.attrs)) << test.op;
    }
  }

  // Returns the first output of a kernel, which stays alive.
  Tensor Make(const char* op, AttrMap attrs,
              std::vector<KernelInput> inputs = {}) {
    std::vector<DataType> types;
    for (const KernelInput& input : inputs) {
      types.push_back(input.tensor.dtype());
    }
    auto kernel = harness_.Make(op, types, std::move(attrs));
    if (!kernel.ok()) Fail(op, kernel.status());
    kernels_.push_back(*std::move(kernel));
    auto outputs = kernels_.back()->Run(std::move(inputs));
    if (!outputs.ok()) Fail(op, outputs.status());
    return outputs->front();
  }
  void Run(const char* op, std::vector<KernelInput> inputs) {
    EXPECT_OK(harness_.Run(op, std::move(inputs))) << op;
  }

  KernelTestHarness harness_{RegisterStandardKernels};

 private:
  [[noreturn]] static void Fail(const char* op, const absl::Status& status) {
    throw std::runtime_error(absl::StrCat(op, ": ", status.ToString()));
  }

  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

TEST_F(StringChargeTest, JoinedStringsAreBounded) {
  ExpectRefused(JoiningCases());
}

TEST_F(StringChargeTest, RepeatedStringsAreBounded) {
  ExpectRefused(RepeatingCases());
}

TEST_F(StringChargeTest, ChangedStringsAreBounded) {
  ExpectRefused(ChangingCases());
}

// Each absent key gets a copy of the default value, so the copies are charged.
TEST_F(StringChargeTest, ValuesOfTablesAreBounded) {
  const AttrMap types = {{"key_dtype", DT_INT64}, {"value_dtype", DT_STRING}};
  const Tensor keys = Longs({1, 2, 3, 4});
  AttrMap rows = types;
  rows["value_shape"] = PartialShape({1});
  const Tensor plain = Make("MutableHashTableV2", types);
  const Tensor of_rows = Make("MutableHashTableOfTensorsV2", rows);
  const Tensor dense =
      Make("MutableDenseHashTableV2", {{"value_dtype", DT_STRING}},
           {Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2})});
  ExpectRefused({{"LookupTableFindV2", {plain, keys, Text(kMiB)}},
                 {"LookupTableFindV2", {of_rows, keys, Texts(1, kMiB)}},
                 {"LookupTableFindV2", {dense, keys, Text(kMiB)}},
                 {"LookupTableInsertV2", {plain, keys, Texts(4, kMiB)}},
                 {"LookupTableExportV2",
                  {plain},
                  {{"Tkeys", DT_INT64}, {"Tvalues", DT_STRING}}}});
}

TEST_F(StringChargeTest, RowsOfVariablesAreBounded) {
  const Tensor variable =
      Make("VarHandleOp", {{"dtype", DT_STRING}, {"shape", PartialShape({1})}});
  Run("AssignVariableOp", {variable, Texts(1, kMiB)});
  ExpectRefused({{"ResourceGather",
                  {variable, Ints({0, 0, 0, 0})},
                  {{"dtype", DT_STRING}}}});
}

TEST_F(StringChargeTest, BatchesOfQueuesAreBounded) {
  const Tensor queue = Make(
      "FIFOQueueV2",
      {{"component_types", DataTypeVector{DT_STRING}},
       {"shapes", std::vector<PartialShape>{PartialShape(TensorShape())}}});
  const Tensor text = Text(kMiB);
  // Enqueues enough elements for a run that fails and one that succeeds.
  for (int i = 0; i < 8; ++i) Run("QueueEnqueueV2", {queue, text});
  ExpectRefused({{"QueueDequeueManyV2",
                  {queue, Int(4)},
                  {{"component_types", DataTypeVector{DT_STRING}}}}});
}

TEST_F(StringChargeTest, ElementsOfTensorArraysAreBoundedTogether) {
  const Tensor array =
      Make("TensorArrayV3", {{"dtype", DT_STRING}, {"clear_after_read", false}},
           {Int(1)});
  const Tensor flow = Tensor::Scalar(0.0f);
  Run("TensorArrayWriteV3", {array, Int(0), Text(kMiB), flow});
  ExpectRefused({{"TensorArrayGatherV3",
                  {array, Ints({0, 0, 0, 0}), flow},
                  {{"dtype", DT_STRING}}}});
}

TEST_F(StringChargeTest, PartsOfRaggedTensorsAreBounded) {
  ExpectRefused({{"RaggedGather",
                  {Longs({0, 1}), Texts(1, kMiB), Ints({0, 0, 0, 0})},
                  {{"PARAMS_RAGGED_RANK", 1}, {"OUTPUT_RAGGED_RANK", 1}}}});
}

// Variants share the tensors, but stacked values are copies.
TEST_F(StringChargeTest, SerializedTensorsAreBounded) {
  const Tensor index = Tensor::FromValues<int64_t>(TensorShape({1, 1}), {0});
  const Tensor pair = Tensor::FromValues<int64_t>(TensorShape({1, 2}), {0, 0});
  ASSERT_OK_AND_ASSIGN(
      const Tensor parts,
      harness_.RunOne("SerializeSparse", {index, Texts(1, kMiB), Longs({1})},
                      {{"out_type", DT_VARIANT}}));
  Tensor stacked(DT_VARIANT, {4, 3});
  for (int i = 0; i < 12; ++i) {
    stacked.mutable_flat<Variant>()[i] = parts.flat<Variant>()[i % 3];
  }
  ExpectRefused(
      {{"SerializeSparse", {index, Texts(1, 4 * kMiB), Longs({1})}},
       {"SerializeManySparse", {pair, Texts(1, 4 * kMiB), Longs({1, 1})}},
       {"DeserializeSparse", {stacked}, {{"dtype", DT_STRING}}}});
}

// Positions has the indices of `count` consecutive values of a sparse tensor.
struct Positions {
  explicit Positions(int64_t count, int64_t rank = 1)
      : indices(DT_INT64, {count, rank}), shape(DT_INT64, {rank}) {
    const auto to = indices.mutable_flat<int64_t>();
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<int64_t>(i) / rank;
    }
    for (int64_t& size : shape.mutable_flat<int64_t>()) size = count;
  }
  Tensor indices, shape;
};

// Appends `tensor` `count` times.
void Append(const Tensor& tensor, int count, std::vector<KernelInput>& inputs) {
  inputs.insert(inputs.end(), count, tensor);
}

// Returns field `number` of a message with the value `bytes`.
std::string Field(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) {
    field += static_cast<char>(0x80 | (size & 0x7f));
  }
  return field + static_cast<char>(size) + bytes;
}

// Each op gets the same input four times.
TEST_F(StringChargeTest, FormattedAndMergedTextsAreBounded) {
  const Tensor text = Text(kMiB);
  const Tensor summary =
      Tensor::Scalar(Field(1, Field(7, std::string(kMiB, 'a'))));
  ExpectRefused(
      {{"StringFormat",
        {text, text, text, text},
        {{"template", "{}{}{}{}"}, {"placeholder", "{}"}, {"summarize", -1}}},
       {"MergeSummary", {summary, summary, summary, summary}, {{"N", 4}}}});
}

// The summary has one tag for each image.
TEST_F(StringChargeTest, TagsOfSummariesAreBounded) {
  const Tensor tag = Text(kMiB);
  ExpectRefused({{"ImageSummary",
                  {tag, Tensor(DT_UINT8, {4, 1, 1, 1})},
                  {{"max_images", 4}}},
                 {"AudioSummary",
                  {tag, Tensor(DT_FLOAT, {4, 1})},
                  {{"max_outputs", 4}, {"sample_rate", 1.0f}}},
                 {"TensorSummary", {tag}}});
}

// Nothing is printed, because the texts do not fit.
TEST_F(StringChargeTest, PrintedTextsAreBounded) {
  const Tensor text = Text(kMiB), no = Tensor::Scalar(false);
  const AttrMap all = {{"summarize", -1}};
  ExpectNoRoom({{"Assert", {no, text, text, text, text}, all},
                {"Print", {no, text, text, text, text}, all},
                {"PrintV2", {Text(4 * kMiB)}}});
}

// Crosses 16 strings of 16 KiB with themselves.
TEST_F(StringChargeTest, CrossedTextsAreBounded) {
  const Tensor row = *Texts(16, 16 << 10).Reshaped({1, 16});
  ExpectRefused({{"SparseCross",
                  {row, row},
                  {{"N", 0},
                   {"hashed_output", false},
                   {"num_buckets", 0},
                   {"hash_key", int64_t{1}},
                   {"out_type", DT_STRING},
                   {"internal_type", DT_STRING},
                   {"sparse_types", DataTypeVector()},
                   {"dense_types", DataTypeVector{DT_STRING, DT_STRING}}}}});
}

// Each element of each input takes 16 bytes, even if the inputs are the same
// tensor.
TEST_F(StringChargeTest, ElementsOfJoinedSparseTensorsAreBounded) {
  constexpr int kParts = 64;
  constexpr int64_t kElements = 1 << 12;
  const Positions at(kElements);
  std::vector<KernelInput> inputs;
  Append(at.indices, kParts, inputs);
  Append(Tensor(DT_BOOL, {kElements}), kParts, inputs);
  Append(at.shape, kParts, inputs);
  ExpectRefused({{"SparseConcat", inputs, {{"concat_dim", 0}, {"N", kParts}}}});
}

TEST_F(StringChargeTest, SparseScratchIsBounded) {
  constexpr int64_t kElements = 1 << 18;
  const Positions at(kElements), pairs(kElements, 2);
  const Tensor bools(DT_BOOL, {kElements}), floats(DT_FLOAT, {kElements});
  const Tensor zero = Longs({0});
  ExpectNoRoom(
      {{"SparseReorder", {at.indices, bools, at.shape}},
       {"SparseSoftmax", {pairs.indices, floats, pairs.shape}},
       {"SparseSlice", {at.indices, bools, at.shape, zero, at.shape}},
       {"SparseSplit",
        {Tensor::Scalar(int64_t{0}), at.indices, bools, at.shape},
        {{"num_split", 1}}},
       {"SparseAdd",
        {at.indices, floats, at.shape, at.indices, floats, at.shape,
         Tensor::Scalar(0.0f)}},
       {"SparseSparseMaximum",
        {at.indices, floats, at.shape, at.indices, floats, at.shape}}});
}

// Returns a tf.Example, or the context of a tf.SequenceExample, with one
// feature "x".
std::string Example(const std::string& text) {
  const std::string feature = Field(1, Field(1, text));
  return Field(1, Field(1, Field(1, "x") + Field(2, feature)));
}

// Returns attrs of a string feature "x", sparse or dense.
AttrMap ExampleAttrs(bool is_sparse) {
  const int64_t num_sparse = is_sparse ? 1 : 0;
  const int64_t num_dense = 1 - num_sparse;
  return {{"Nsparse", num_sparse},
          {"Ndense", num_dense},
          {"sparse_types", DataTypeVector(num_sparse, DT_STRING)},
          {"Tdense", DataTypeVector(num_dense, DT_STRING)},
          {"dense_shapes",
           std::vector<PartialShape>(num_dense, PartialShape(TensorShape()))}};
}
AttrMap SequenceAttrs(bool is_sparse) {
  using Strings = std::vector<std::string>;
  const int64_t num_sparse = is_sparse ? 1 : 0;
  const int64_t num_dense = 1 - num_sparse;
  return {{"Ncontext_sparse", num_sparse},
          {"Ncontext_dense", num_dense},
          {"Nfeature_list_sparse", 0},
          {"Nfeature_list_dense", 0},
          {"context_sparse_types", DataTypeVector(num_sparse, DT_STRING)},
          {"Tcontext_dense", DataTypeVector(num_dense, DT_STRING)},
          {"feature_list_dense_types", DataTypeVector()},
          {"feature_list_sparse_types", DataTypeVector()},
          {"context_dense_shapes",
           std::vector<PartialShape>(num_dense, PartialShape(TensorShape()))},
          {"feature_list_dense_shapes", std::vector<PartialShape>()},
          {"context_sparse_keys", Strings(num_sparse, "x")},
          {"context_dense_keys", Strings(num_dense, "x")},
          {"feature_list_sparse_keys", Strings()},
          {"feature_list_dense_keys", Strings()},
          {"feature_list_dense_missing_assumed_empty", Strings()}};
}

// Defaults are copied for each record that lacks the feature.
TEST_F(StringChargeTest, FeaturesOfExamplesAreBounded) {
  const Tensor none(DT_STRING, {0}), text = Text(kMiB);
  const Tensor name = Tensor::Scalar(std::string("x"));
  const Tensor empty = Texts(4, 0);
  const Tensor full =
      Tensor::Vector<std::string>({Example(std::string(4 * kMiB, 'a'))});
  ExpectRefused(
      {{"ParseExample", {empty, none, name, text}, ExampleAttrs(false)},
       {"ParseExample", {full, none, name, Text(0)}, ExampleAttrs(false)},
       {"ParseExample", {full, none, name}, ExampleAttrs(true)},
       {"ParseSequenceExample", {empty, none, text}, SequenceAttrs(false)},
       {"ParseSequenceExample", {full, none, Text(0)}, SequenceAttrs(false)},
       {"ParseSequenceExample", {full, none}, SequenceAttrs(true)}});
}

// Returns a TensorProto of four strings that contains a single value of 1 MiB.
std::string RepeatedText() {
  return "\x08\x07" + Field(2, Field(2, "\x08\x04")) +
         Field(8, std::string(kMiB, 'a'));
}

TEST_F(StringChargeTest, RepeatedTextsThatAreParsedAreBounded) {
  ASSERT_OK_AND_ASSIGN(Tensor one, harness_.RunOne("SerializeSparse",
                                                   {Tensor(DT_INT64, {4, 1}),
                                                    Texts(4, 0), Longs({1})},
                                                   {{"out_type", DT_STRING}}));
  one.mutable_flat<std::string>()[1] = RepeatedText();
  Tensor two(DT_STRING, {2, 3});
  for (int i = 0; i < 6; ++i) {
    two.mutable_flat<std::string>()[i] = one.flat<std::string>()[i % 3];
  }
  const AttrMap texts = {{"dtype", DT_STRING}};
  ExpectRefused({{"ParseTensor",
                  {Tensor::Scalar(RepeatedText())},
                  {{"out_type", DT_STRING}}},
                 {"DeserializeSparse", {one}, texts},
                 {"DeserializeSparse", {two}, texts},
                 {"DeserializeManySparse", {two}, texts}});
}

// The maximum size of a string counts only while the string is created.
TEST_F(StringChargeTest, StringsThatFitAreNotRefused) {
  const Tensor texts = Texts(40, 10 << 10);
  SmallAllocator allocator(kRoom, kRoom);
  harness_.set_allocator(allocator);
  EXPECT_OK(harness_.Run("RegexReplace",
                         {texts, Tensor::Scalar(std::string("z")), Text(20)}));
  EXPECT_OK(harness_.Run("StringUpper", {texts}, {{"encoding", "utf-8"}}));
}

// Defaults count only where a field is missing.
TEST_F(StringChargeTest, UnusedCsvDefaultsAreNotCounted) {
  const AttrMap attrs = {{"OUT_TYPE", DataTypeVector{DT_STRING, DT_STRING}}};
  const auto run_with = [&](const std::string& record) {
    const Tensor records =
        Tensor::Vector<std::string>(std::vector<std::string>(40, record));
    const Tensor text = Texts(1, 100 << 10);
    return Case{"DecodeCSV", {records, text, text}, attrs};
  };
  ExpectRefused({run_with(",")});
  SmallAllocator allocator(kRoom, kRoom);
  harness_.set_allocator(allocator);
  const Case given = run_with("a,b");
  EXPECT_OK(harness_.Run(given.op, given.inputs, given.attrs));
}

// The number of a slice takes eight bytes, also for other index types.
TEST_F(StringChargeTest, SlicesOfTuplesAreBounded) {
  constexpr int64_t kTuples = 1 << 18;
  const Tensor tuples(DT_INT32, {kTuples, 1});
  const Tensor one(DT_BOOL, {1}), updates(DT_BOOL, {kTuples});
  const Tensor variable =
      Make("VarHandleOp", {{"dtype", DT_BOOL}, {"shape", PartialShape({1})}});
  Run("AssignVariableOp", {variable, one});
  ExpectNoRoom({{"GatherNd", {one, tuples}},
                {"ScatterNd", {tuples, updates, Ints({1})}},
                {"TensorScatterUpdate", {one, tuples, updates}},
                {"ResourceScatterNdUpdate", {variable, tuples, updates}},
                {"OneHot",
                 {Tensor(DT_UINT8, {kTuples}), Int(0), Tensor::Scalar(true),
                  Tensor::Scalar(false)}}});
}

// Each tuple selects the whole tensor. Tuples without bytes may be many.
TEST_F(StringChargeTest, EmptyTuplesTakeNoMemory) {
  constexpr int64_t kTuples = 1 << 18;
  const Tensor one = Tensor::Vector<bool>({true});
  const Tensor tuples(DT_INT32, {kTuples, 0});
  SmallAllocator allocator(kRoom, kRoom);
  harness_.set_allocator(allocator);
  ASSERT_OK_AND_ASSIGN(const Tensor rows,
                       harness_.RunOne("GatherNd", {one, tuples}));
  EXPECT_EQ(rows.shape(), TensorShape({kTuples, 1}));
  EXPECT_EQ(absl::c_count(rows.flat<bool>(), true), kTuples);
  ASSERT_OK_AND_ASSIGN(const Tensor sum,
                       harness_.RunOne("ScatterNd", {tuples, rows, Ints({1})}));
  EXPECT_TRUE(sum.flat<bool>()[0]);
  harness_.cancellation().Cancel(absl::CancelledError("the step ended"));
  harness_.set_allocator(HeapAllocator());
  EXPECT_THAT(harness_.Run("GatherNd", {one, tuples}),
              StatusIs(absl::StatusCode::kCancelled, "the step ended"));
}

// The order of a row, or its cumulative weights, takes eight bytes per column.
TEST_F(StringChargeTest, SelectionScratchIsBounded) {
  const TensorShape row({1, 1 << 20});
  const Tensor bytes(DT_INT8, row), halves(DT_HALF, row);
  ExpectRefused({{"TopKV2", {bytes, Int(2)}},
                 {"Multinomial", {halves, Int(1)}},
                 {"NthElement", {halves, Int(2)}}});
  SmallAllocator allocator(kRoom, kRoom);
  harness_.set_allocator(allocator);
  EXPECT_OK(harness_.Run("TopKV2", {bytes, Int(2)}, {{"sorted", false}}));
}

}  // namespace
}  // namespace weft
