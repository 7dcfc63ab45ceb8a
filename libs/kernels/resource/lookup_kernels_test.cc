#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

Tensor Texts(std::initializer_list<std::string> values) {
  return Tensor::Vector<std::string>(values);
}
Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector(values);
}

class LookupKernelsTest : public testing::Test {
 protected:
  LookupKernelsTest() : harness_(RegisterLookupKernels) {}

  absl::StatusOr<Tensor> MakeTable(const char* op, DataType keys = DT_STRING) {
    auto kernel =
        harness_.Make(op, {}, {{"key_dtype", keys}, {"value_dtype", DT_INT64}});
    if (!kernel.ok()) return kernel.status();
    kernels_.push_back(*std::move(kernel));
    auto outputs = kernels_.back()->Run({});
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }
  absl::Status Fill(const char* op, const Tensor& table, const Tensor& keys,
                    const Tensor& values) {
    return harness_.Run(op, {table, keys, values}).status();
  }
  absl::StatusOr<Tensor> Find(const Tensor& table, const Tensor& keys) {
    return harness_.RunOne("LookupTableFindV2",
                           {table, keys, Tensor::Scalar(int64_t{-1})});
  }

  KernelTestHarness harness_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

// Empty values cost a program nothing, so it can request any number of buckets.
TEST_F(LookupKernelsTest, BucketsWithoutValuesAreBounded) {
  const Tensor nothing(DT_INT64, {0});
  EXPECT_THAT(harness_.Run("MutableDenseHashTableV2", {nothing, nothing},
                           {{"value_dtype", DT_FLOAT},
                            {"value_shape", PartialShape({0})},
                            {"initial_num_buckets", int64_t{1} << 50}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "1125899906842624 buckets of a MutableDenseHashTable"));
}

// DestroyResourceOp takes handles of any kind.
TEST(DestroyResourceTest, TablesAndQueuesCanBeDestroyed) {
  KernelTestHarness harness([](KernelRegistry& registry) {
    RegisterLookupKernels(registry);
    RegisterQueueKernels(registry);
    RegisterStateKernels(registry);
  });
  const AttrMap table = {{"key_dtype", DT_STRING}, {"value_dtype", DT_INT64}};
  const AttrMap queue = {{"component_types", DataTypeVector{DT_FLOAT}}};
  for (const bool is_shared : {false, true}) {
    for (const bool is_table : {false, true}) {
      SCOPED_TRACE(is_table);
      AttrMap attrs = is_table ? table : queue;
      if (is_shared) attrs["shared_name"] = std::string("named");
      ASSERT_OK_AND_ASSIGN(
          auto made,
          harness.Make(is_table ? "HashTableV2" : "FIFOQueueV2", {}, attrs));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> handles, made->Run({}));
      const char* const size = is_table ? "LookupTableSizeV2" : "QueueSizeV2";
      ASSERT_OK(harness.Run(size, {handles[0]}));
      ASSERT_OK(harness.Run("DestroyResourceOp", {handles[0]},
                            {{"ignore_lookup_error", false}}));
      EXPECT_THAT(harness.Run(size, {handles[0]}),
                  StatusIs(absl::StatusCode::kNotFound));
      EXPECT_THAT(harness.Run("DestroyResourceOp", {handles[0]},
                              {{"ignore_lookup_error", false}}),
                  StatusIs(absl::StatusCode::kNotFound));
      // The kernel creates the resource again, as for variables.
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> again, made->Run({}));
      EXPECT_OK(harness.Run(size, {again[0]}));
    }
  }
}

TEST_F(LookupKernelsTest, TableIsInitializedOnce) {
  ASSERT_OK_AND_ASSIGN(const Tensor table, MakeTable("HashTableV2"));
  const Tensor keys = Texts({"a", "b"});
  EXPECT_THAT(Find(table, keys), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          "Table not initialized."));
  EXPECT_THAT(
      Fill("InitializeTableV2", table, Texts({"a", "a"}), Longs({0, 1})),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "HashTable has different value for same key. Key a has "
               "0 and trying to add value 1"));
  ASSERT_OK(Fill("InitializeTableV2", table, keys, Longs({0, 1})));
  ASSERT_OK(Fill("InitializeTableV2", table, keys, Longs({0, 1})));
  EXPECT_THAT(Fill("InitializeTableV2", table, Texts({"c"}), Longs({0})),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Fill("LookupTableInsertV2", table, keys, Longs({0, 1})),
              StatusIs(absl::StatusCode::kUnimplemented));
  ASSERT_OK_AND_ASSIGN(
      Tensor values,
      Find(table, Tensor::FromValues<std::string>({1, 3}, {"b", "zz", "a"})));
  EXPECT_TRUE(
      SameBits(values, Tensor::FromValues<int64_t>({1, 3}, {1, -1, 0})));
}

TEST_F(LookupKernelsTest, MutableTableCanBeChanged) {
  ASSERT_OK_AND_ASSIGN(const Tensor table, MakeTable("MutableHashTableV2"));
  ASSERT_OK(
      Fill("LookupTableInsertV2", table, Texts({"a", "b"}), Longs({1, 2})));
  ASSERT_OK(Fill("LookupTableInsertV2", table, Texts({"a"}), Longs({3})));
  ASSERT_OK(harness_.Run("LookupTableRemoveV2", {table, Texts({"b", "x"})}));
  const auto exported = [&] {
    return harness_.Run("LookupTableExportV2", {table},
                        {{"Tkeys", DT_STRING}, {"Tvalues", DT_INT64}});
  };
  ASSERT_OK_AND_ASSIGN(auto all, exported());
  EXPECT_TRUE(SameBits(all[0], Texts({"a"})));
  EXPECT_TRUE(SameBits(all[1], Longs({3})));
  ASSERT_OK(
      Fill("LookupTableImportV2", table, Texts({"d", "c"}), Longs({1, 2})));
  ASSERT_OK_AND_ASSIGN(all, exported());
  EXPECT_TRUE(SameBits(all[0], Texts({"c", "d"})));
  EXPECT_TRUE(SameBits(all[1], Longs({2, 1})));
  ASSERT_OK_AND_ASSIGN(Tensor size,
                       harness_.RunOne("LookupTableSizeV2", {table}));
  EXPECT_EQ(size.scalar<int64_t>(), 2);
  EXPECT_THAT(Fill("LookupTableInsertV2", table, Texts({"a", "b"}), Longs({7})),
              StatusIs(kInvalid, "Expected shape [2] for value, got [1]"));
  EXPECT_THAT(Fill("LookupTableInsertV2", table, Longs({1}), Longs({7})),
              StatusIs(kInvalid, "Key must be type string but got int64"));
}

TEST_F(LookupKernelsTest, TablesHoldAllTheirTypes) {
  const Tensor keys[] = {Texts({"b", "a"}), Longs({1, int64_t{-1} << 40}),
                         Tensor::Vector<int32_t>({1, -5})};
  const Tensor values[] = {
      Texts({"x", "y"}),
      Longs({-7, int64_t{1} << 50}),
      Tensor::Vector<int32_t>({-7, 9}),
      Tensor::Vector<float>({-0.5f, 3e38f}),
      Tensor::Vector<double>({-0.5, 1e300}),
      Tensor::Vector<bool>({true, false}),
  };
  for (const Tensor& k : keys) {
    for (const Tensor& v : values) {
      SCOPED_TRACE(DataTypeName(k.dtype()) + " to " + DataTypeName(v.dtype()));
      auto kernel =
          harness_.Make("MutableHashTableV2", {},
                        {{"key_dtype", k.dtype()}, {"value_dtype", v.dtype()}});
      ASSERT_OK(kernel);
      ASSERT_OK_AND_ASSIGN(auto handle, (*kernel)->Run({}));
      ASSERT_OK(Fill("LookupTableInsertV2", handle[0], k, v));
      ASSERT_OK_AND_ASSIGN(
          Tensor found,
          harness_.RunOne("LookupTableFindV2",
                          {handle[0], k, Tensor(v.dtype(), TensorShape())}));
      EXPECT_TRUE(SameBits(found, v)) << found.ToString();
      ASSERT_OK_AND_ASSIGN(
          auto all,
          harness_.Run("LookupTableExportV2", {handle[0]},
                       {{"Tkeys", k.dtype()}, {"Tvalues", v.dtype()}}));
      const auto reversed = [](const Tensor& tensor) {
        return absl::StrCat(
            tensor.SliceRows(1, 2, HeapAllocator())->ToString(),
            tensor.SliceRows(0, 1, HeapAllocator())->ToString());
      };
      const auto in_order = [](const Tensor& tensor) {
        return absl::StrCat(
            tensor.SliceRows(0, 1, HeapAllocator())->ToString(),
            tensor.SliceRows(1, 2, HeapAllocator())->ToString());
      };
      EXPECT_EQ(in_order(all[0]), reversed(k));
      EXPECT_EQ(in_order(all[1]), reversed(v));
      ASSERT_OK(harness_.Run("LookupTableRemoveV2", {handle[0], k}));
      ASSERT_OK_AND_ASSIGN(Tensor size,
                           harness_.RunOne("LookupTableSizeV2", {handle[0]}));
      EXPECT_EQ(size.scalar<int64_t>(), 0);
    }
  }
}

// Inserting a key twice is allowed if the values are numerically equal.
TEST_F(LookupKernelsTest, KeyMayRepeatWithAnEqualValue) {
  const auto fill = [&](const Tensor& values) {
    auto kernel = harness_.Make(
        "HashTableV2", {},
        {{"key_dtype", DT_INT32}, {"value_dtype", values.dtype()}});
    EXPECT_OK(kernel);
    auto handle = (*kernel)->Run({});
    EXPECT_OK(handle);
    return Fill("InitializeTableV2", (*handle)[0],
                Tensor::Vector<int32_t>({-3, -3}), values);
  };
  EXPECT_OK(fill(Tensor::Vector<float>({0.0f, -0.0f})));
  EXPECT_OK(fill(Tensor::Vector<double>({0.0, -0.0})));
  EXPECT_OK(fill(Tensor::Vector<bool>({true, true})));
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(fill(Tensor::Vector<float>({NAN, NAN})), StatusIs(kPrecondition));
  EXPECT_THAT(fill(Tensor::Vector<double>({NAN, NAN})),
              StatusIs(kPrecondition));
  EXPECT_THAT(
      fill(Tensor::Vector<float>({0.5f, -2})),
      StatusIs(kPrecondition, "Key -3 has 0.5 and trying to add value -2"));
  EXPECT_THAT(fill(Tensor::Vector<bool>({true, false})),
              StatusIs(kPrecondition, "has 1 and trying to add value 0"));
}

// Compute threads must not block on files.
TEST_F(LookupKernelsTest, NoComputeThreadWaitsForAFile) {
  ASSERT_OK_AND_ASSIGN(
      const auto kernel,
      harness_.Make("InitializeTableFromTextFileV2", {DT_RESOURCE, DT_STRING},
                    {{"key_index", 0}, {"value_index", -1}}));
  EXPECT_NE(kernel->kernel().AsAsync(), nullptr);
}

TEST_F(LookupKernelsTest, AFileIsATable) {
  const std::string path = testing::TempDir() + "/vocabulary.txt";
  std::ofstream(path) << "red\t7\ngreen\t8\nblue\tx\n";
  const auto load = [&](const Tensor& table, AttrMap attrs) {
    return harness_
        .Run("InitializeTableFromTextFileV2", {table, Tensor::Scalar(path)},
             std::move(attrs))
        .status();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor numbers, MakeTable("HashTableV2"));
  ASSERT_OK(load(numbers, {{"key_index", 0}, {"value_index", -1}}));
  ASSERT_OK_AND_ASSIGN(Tensor values, Find(numbers, Texts({"blue", "pink"})));
  EXPECT_TRUE(SameBits(values, Longs({2, -1})));
  ASSERT_OK_AND_ASSIGN(const Tensor fields, MakeTable("HashTableV2"));
  const AttrMap both = {{"key_index", 0}, {"value_index", 1}};
  EXPECT_THAT(
      load(fields, both),
      StatusIs(kInvalid, "Field x in line 3 of " + path + " is not a valid"));
  AttrMap two = both;
  two["vocab_size"] = 2;
  ASSERT_OK(load(fields, two));
  ASSERT_OK_AND_ASSIGN(values, Find(fields, Texts({"green"})));
  EXPECT_TRUE(SameBits(values, Longs({8})));
  AttrMap wrong = both;
  wrong["vocab_size"] = 4;
  EXPECT_THAT(load(fields, wrong), StatusIs(kInvalid, "Invalid vocab_size"));
  EXPECT_THAT(load(fields, {{"key_index", 0}, {"value_index", 2}}),
              StatusIs(kInvalid, "Invalid number of columns"));
  EXPECT_THAT(load(fields, {{"key_index", -1}, {"value_index", 1}}),
              StatusIs(kInvalid, "only int64"));
}

TEST_F(LookupKernelsTest, WholeLinesMayBeIntegers) {
  const std::string path = testing::TempDir() + "/integers.txt";
  std::ofstream(path) << "007\n 8\n9\r\nnine\n";
  const auto load = [&](const Tensor& table, int64_t vocab_size) {
    return harness_
        .Run("InitializeTableFromTextFileV2", {table, Tensor::Scalar(path)},
             {{"key_index", -2},
              {"value_index", -1},
              {"vocab_size", vocab_size}})
        .status();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor table, MakeTable("HashTableV2", DT_INT64));
  EXPECT_THAT(load(table, 4), StatusIs(kInvalid, "Field nine in line 4 of " +
                                                     path + " is not a valid"));
  ASSERT_OK(load(table, 3));
  ASSERT_OK_AND_ASSIGN(const Tensor ids, Find(table, Longs({7, 8, 9, 10})));
  EXPECT_TRUE(SameBits(ids, Longs({0, 1, 2, -1})));
}

TEST_F(LookupKernelsTest, EmptyAndRepeatedLinesAreNamed) {
  const std::string path = testing::TempDir() + "/words.txt";
  const auto load = [&](const std::string& text, int64_t vocab_size = -1) {
    std::ofstream(path) << text;
    const auto table = MakeTable("HashTableV2");
    EXPECT_OK(table);
    return harness_
        .Run("InitializeTableFromTextFileV2", {*table, Tensor::Scalar(path)},
             {{"key_index", -2},
              {"value_index", -1},
              {"vocab_size", vocab_size}})
        .status();
  };
  EXPECT_THAT(load("a\n\nb\n"),
              StatusIs(kInvalid, "Invalid content in " + path +
                                     ": empty line found at line 2"));
  EXPECT_THAT(load("a\r\n\r\nb\r\n"),
              StatusIs(kInvalid, "empty line found at line 2"));
  EXPECT_OK(load("a\n\nb\n", 1));
  EXPECT_OK(load("a\nb"));
  EXPECT_THAT(load("a\nb\na\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "(" + path + " has 'a' in line 1 and again in line 3"));
}

// Old graphs have handles by reference, with two strings.
TEST_F(LookupKernelsTest, OldHandlesAreReferences) {
  const auto make = [&](const char* op) {
    auto kernel = harness_.Make(
        op, {}, {{"key_dtype", DT_STRING}, {"value_dtype", DT_INT64}});
    EXPECT_OK(kernel);
    kernels_.push_back(*std::move(kernel));
    Slot handle;
    EXPECT_OK(kernels_.back()->RunSlots({}, absl::MakeSpan(&handle, 1)));
    return handle.variable;
  };
  const auto table = make("HashTable");
  const auto find = [&](const std::shared_ptr<Variable>& in) {
    return harness_.RunOne("LookupTableFind", {in, Texts({"b", "z"}),
                                               Tensor::Scalar(int64_t{-1})});
  };
  EXPECT_THAT(find(table), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    "Table not initialized."));
  ASSERT_OK(harness_.Run("InitializeTable",
                         {table, Texts({"a", "b"}), Longs({1, 2})}));
  ASSERT_OK_AND_ASSIGN(const Tensor values, find(table));
  EXPECT_TRUE(SameBits(values, Longs({2, -1})));
  ASSERT_OK_AND_ASSIGN(const Tensor size,
                       harness_.RunOne("LookupTableSize", {table}));
  EXPECT_TRUE(SameBits(size, Tensor::Scalar(int64_t{2})));
  EXPECT_THAT(
      harness_.Run("LookupTableInsert", {table, Texts({"c"}), Longs({3})}),
      StatusIs(absl::StatusCode::kUnimplemented));
  const auto changing = make("MutableHashTable");
  ASSERT_OK(
      harness_.Run("LookupTableInsert", {changing, Texts({"b"}), Longs({7})}));
  ASSERT_OK_AND_ASSIGN(const Tensor found, find(changing));
  EXPECT_TRUE(SameBits(found, Longs({7, -1})));
}

TEST_F(LookupKernelsTest, InvalidTableNamesAreRejected) {
  const auto size_of = [&](const Tensor& names) {
    auto handle =
        std::make_shared<Variable>("handle", DT_STRING, PartialShape());
    EXPECT_OK(handle->Assign(harness_.cancellation(), names));
    return harness_.Run("LookupTableSize", {handle});
  };
  EXPECT_THAT(size_of(Texts({"localhost", "none"})),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(size_of(Texts({"one"})),
              StatusIs(kInvalid, "must have two elements"));
}

}  // namespace
}  // namespace weft
