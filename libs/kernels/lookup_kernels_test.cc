#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/standard_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Texts(std::initializer_list<std::string> values) {
  return Tensor::Vector<std::string>(values);
}
Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector(values);
}

class LookupKernelsTest : public testing::Test {
 protected:
  LookupKernelsTest() : harness_(RegisterLookupKernels) {}

  absl::StatusOr<Tensor> MakeTable(const char* op) {
    auto kernel = harness_.Make(
        op, {}, {{"key_dtype", DT_STRING}, {"value_dtype", DT_INT64}});
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

TEST_F(LookupKernelsTest, ATableIsFilledOnce) {
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

TEST_F(LookupKernelsTest, AMutableTableChanges) {
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
  EXPECT_THAT(load(fields, both),
              StatusIs(kInvalid, "Field x in line 2 is not a valid int64."));
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

// The ops of old graphs, whose handles are references to two strings.
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

TEST_F(LookupKernelsTest, StringsThatNameNoTableAreRefused) {
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
