#include "libs/kernels/sparse/sparse_kernels.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector(values);
}
Tensor Pairs(std::initializer_list<int64_t> values) {
  return Tensor::FromValues({static_cast<int64_t>(values.size()) / 2, 2},
                            values);
}
Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Vector(values);
}

class SparseKernelsTest : public testing::Test {
 protected:
  SparseKernelsTest() : harness_(RegisterSparseKernels) {}

  void Expect(const char* op, std::vector<KernelInput> inputs, AttrMap attrs,
              const std::vector<Tensor>& expected) {
    weft::ExpectOutputs(harness_, op, std::move(inputs), std::move(attrs),
                        expected);
  }

  KernelTestHarness harness_;
};

// Returns `size` ones of a 16-bit type.
template <typename T>
Tensor Ones(int64_t size) {
  Tensor ones(DataTypeOf<T>::value, {size});
  std::fill_n(ones.mutable_flat<T>().data(), size, T(1.0f));
  return ones;
}

// 1 + 2048 is 2048 in half, and 1 + 256 is 256 in bfloat16. TensorFlow adds
// products of half as floats, but products of bfloat16 as bfloat16.
TEST_F(SparseKernelsTest, ProductsOfHalfAreSummedAsFloats) {
  constexpr int64_t kCount = 4096;
  Tensor indices(DT_INT64, {kCount, 2});
  for (int64_t i = 0; i < kCount; ++i) {
    indices.mutable_flat<int64_t>()[2 * i] = 0;
    indices.mutable_flat<int64_t>()[2 * i + 1] = i;
  }
  const Tensor shape = Longs({1, kCount});
  const auto column = [](const Tensor& values) {
    return *values.Reshaped({kCount, 1});
  };
  const Tensor halves = Ones<half>(kCount), narrow = Ones<bfloat16>(kCount);
  Expect("SparseTensorDenseMatMul", {indices, halves, shape, column(halves)},
         {}, {Tensor::FromValues<half>({1, 1}, {half(4096.0f)})});
  Expect("SparseTensorDenseMatMul", {indices, narrow, shape, column(narrow)},
         {}, {Tensor::FromValues<bfloat16>({1, 1}, {bfloat16(256.0f)})});
}

TEST_F(SparseKernelsTest, FillEmptyRowsGradOfHalfSumsHalf) {
  const Tensor none = Tensor(DT_INT64, {0});
  for (const char* op :
       {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}) {
    Expect(op, {none, Ones<half>(4096)}, {},
           {Tensor(DT_HALF, {0}), Tensor::Scalar(half(2048.0f))});
  }
}

TEST_F(SparseKernelsTest, EachAdditionOfHalfIsRounded) {
  const Tensor values =
      Tensor::FromValues<half>({3}, {half(2048.0f), half(1.0f), half(1.0f)});
  Expect("SparseReduceSum",
         {Tensor::FromValues<int64_t>({3, 1}, {0, 1, 2}), values, Longs({3}),
          Tensor::Vector({0})},
         {}, {Tensor::Scalar(half(2048.0f))});
}

TEST_F(SparseKernelsTest, ToDense) {
  Expect("SparseToDense",
         {Pairs({0, 1, 2, 0}), Longs({3, 2}), Floats({5, 6}),
          Tensor::Scalar(-1.0f)},
         {}, {Tensor::FromValues<float>({3, 2}, {-1, 5, -1, -1, 6, -1})});
  Expect("SparseToDense",
         {Tensor::Vector({1, 3}), Tensor::Vector({5}), Tensor::Scalar("x"),
          Tensor::Scalar("")},
         {}, {Tensor::Vector<std::string>({"", "x", "", "x", ""})});
  const auto run = [&](const Tensor& indices, const Tensor& shape,
                       const Tensor& values, bool validate) {
    return harness_.Run("SparseToDense",
                        {indices, shape, values, Tensor::Scalar(0.0f)},
                        {{"validate_indices", validate}});
  };
  EXPECT_THAT(run(Pairs({5, 0}), Longs({3, 2}), Floats({1}), false),
              StatusIs(kInvalid,
                       "indices[0] = [5,0] is out of bounds: need 0 <= index < "
                       "[3,2]"));
  EXPECT_THAT(run(Pairs({1, 0, 0, 0}), Longs({3, 2}), Floats({1, 2}), true),
              StatusIs(kInvalid, "out of order"));
  EXPECT_THAT(run(Pairs({1, 0, 1, 0}), Longs({3, 2}), Floats({1, 2}), true),
              StatusIs(kInvalid, "is repeated"));
  EXPECT_THAT(run(Pairs({1, 0}), Longs({3, -2}), Floats({1}), true),
              StatusIs(kInvalid));
  EXPECT_THAT(run(Pairs({1, 0}), Longs({3, 2}), Floats({1, 2}), true),
              StatusIs(kInvalid, "sparse_values has incorrect shape"));
}

// The positions take no memory. A loop over all of them would practically never
// end.
TEST_F(SparseKernelsTest, ManyPositionsInAScalarTakeNoTime) {
  const Tensor many(DT_INT64, {int64_t{1} << 62, 0});
  const Tensor five = Tensor::Scalar(5.0f), zero = Tensor::Scalar(0.0f);
  EXPECT_THAT(harness_.Run("SparseToDense", {many, Longs({}), five, zero}),
              StatusIs(kInvalid, "is repeated"));
  Expect("SparseToDense", {many, Longs({}), five, zero},
         {{"validate_indices", false}}, {five});
  const Tensor none(DT_INT64, {0, 0});
  Expect("SparseToDense", {none, Longs({}), five, zero}, {}, {zero});
}

TEST_F(SparseKernelsTest, MatMul) {
  const Tensor indices = Pairs({0, 0, 1, 2});
  const Tensor values = Floats({2, 3});
  const Tensor shape = Longs({2, 3});
  const auto b = Tensor::FromValues<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  Expect("SparseTensorDenseMatMul", {indices, values, shape, b}, {},
         {Tensor::FromValues<float>({2, 2}, {0, 2, 12, 15})});
  const auto transposed = Tensor::FromValues<float>({2, 3}, {0, 2, 4, 1, 3, 5});
  Expect("SparseTensorDenseMatMul", {indices, values, shape, transposed},
         {{"adjoint_b", true}},
         {Tensor::FromValues<float>({2, 2}, {0, 2, 12, 15})});
  const auto c = Tensor::FromValues<float>({2, 1}, {1, 10});
  Expect("SparseTensorDenseMatMul", {indices, values, shape, c},
         {{"adjoint_a", true}},
         {Tensor::FromValues<float>({3, 1}, {2, 0, 30})});
  EXPECT_THAT(
      harness_.Run("SparseTensorDenseMatMul", {indices, values, shape, c}),
      StatusIs(kInvalid, "inner dimension does not match: 3 vs. 2"));
  EXPECT_THAT(harness_.Run("SparseTensorDenseMatMul",
                           {Pairs({0, 0, 2, 2}), values, shape, b}),
              StatusIs(kInvalid, "out of bounds"));
}

TEST_F(SparseKernelsTest, ShapesOfSums) {
  const auto shape = [&](ShapeInput sizes, ShapeInput axes,
                         bool keep_dims = false) -> std::string {
    const auto shapes = harness_.InferShapes(
        "SparseReduceSum",
        {{DT_INT64, PartialShape()}, {DT_FLOAT, PartialShape()}, sizes, axes},
        {{"keep_dims", keep_dims}});
    return shapes.ok() ? (*shapes)[0].ToString()
                       : std::string(shapes.status().message());
  };
  const Tensor sizes = Longs({2, 3, 4});
  EXPECT_EQ(shape(sizes, Tensor::Vector({1})), "[2,4]");
  EXPECT_EQ(shape(sizes, Tensor::Scalar(1)), "[2,4]");
  EXPECT_EQ(shape(sizes, Tensor::Vector({-1, 0})), "[3]");
  EXPECT_EQ(shape(sizes, Tensor::Vector({-1, 0}), true), "[1,3,1]");
  // Without axes nothing is reduced.
  EXPECT_EQ(shape(sizes, Tensor::Vector<int>({})), "[2,3,4]");
  EXPECT_EQ(shape(sizes, Tensor::Vector<int>({}), true), "[2,3,4]");
  EXPECT_EQ(shape(sizes, {DT_INT32, PartialShape()}), "<unknown>");
  EXPECT_EQ(shape({DT_INT64, PartialShape({3})}, Tensor::Vector({1})),
            "<unknown>");
  EXPECT_EQ(shape(sizes, Tensor::Vector({5})), "<unknown>");
  EXPECT_THAT(shape(Longs({}), Tensor::Vector({1})),
              testing::HasSubstr("Number of dims in shape tensor must not be 0 "
                                 "for 'test' (op: 'SparseReduceSum')"));
}

TEST_F(SparseKernelsTest, ReduceSum) {
  const Tensor indices = Pairs({0, 0, 1, 2, 1, 0});
  const Tensor values = Floats({2, 3, 4});
  const Tensor shape = Longs({2, 3});
  Expect("SparseReduceSum", {indices, values, shape, Tensor::Vector({1})}, {},
         {Floats({2, 7})});
  Expect("SparseReduceSum", {indices, values, shape, Tensor::Vector({-2})},
         {{"keep_dims", true}}, {Tensor::FromValues<float>({1, 3}, {6, 0, 3})});
  Expect("SparseReduceSum", {indices, values, shape, Tensor::Vector<int>({})},
         {}, {Tensor::FromValues<float>({2, 3}, {2, 0, 0, 4, 0, 3})});
  EXPECT_THAT(harness_.Run("SparseReduceSum",
                           {indices, values, shape, Tensor::Vector({2})}),
              StatusIs(kInvalid, "Invalid reduction dimension 2"));
}

TEST_F(SparseKernelsTest, ReshapeAndReorder) {
  Expect("SparseReshape", {Pairs({0, 1, 1, 2}), Longs({2, 3}), Longs({3, -1})},
         {}, {Pairs({0, 1, 2, 1}), Longs({3, 2})});
  for (const Tensor& wrong :
       {Longs({4, -1}), Longs({5}), Longs({-1, -1}), Longs({0, -1})}) {
    EXPECT_THAT(
        harness_.Run("SparseReshape", {Pairs({0, 1}), Longs({2, 3}), wrong}),
        StatusIs(kInvalid));
  }
  Expect("SparseReorder", {Pairs({1, 0, 0, 1}), Floats({1, 2}), Longs({2, 2})},
         {}, {Pairs({0, 1, 1, 0}), Floats({2, 1})});
}

TEST_F(SparseKernelsTest, SliceAndConcat) {
  Expect("SparseSlice",
         {Pairs({0, 0, 1, 2}), Floats({2, 3}), Longs({2, 3}), Longs({1, 1}),
          Longs({1, 9})},
         {}, {Pairs({0, 1}), Floats({3}), Longs({1, 2})});
  Expect("SparseSliceGrad",
         {Floats({7}), Pairs({0, 0, 1, 2}), Longs({1, 1}), Pairs({0, 1})}, {},
         {Floats({0, 7})});
  const Tensor a = Pairs({0, 0, 1, 1});
  const Tensor b = Pairs({0, 1});
  Expect("SparseConcat",
         {a, b, Floats({1, 2}), Floats({3}), Longs({2, 2}), Longs({2, 3})},
         {{"concat_dim", 1}, {"N", 2}},
         {Pairs({0, 0, 0, 3, 1, 1}), Floats({1, 3, 2}), Longs({2, 5})});
  EXPECT_THAT(harness_.Run("SparseConcat",
                           {a, b, Floats({1, 2}), Floats({3}), Longs({2, 2}),
                            Longs({2, 3})},
                           {{"concat_dim", 0}, {"N", 2}}),
              StatusIs(kInvalid, "Input shapes must match"));
}

TEST_F(SparseKernelsTest, FillEmptyRows) {
  Expect("SparseFillEmptyRows",
         {Pairs({2, 1, 0, 0}), Longs({6, 5}), Longs({4, 2}),
          Tensor::Scalar(int64_t{-1})},
         {},
         {Pairs({0, 0, 1, 0, 2, 1, 3, 0}), Longs({5, -1, 6, -1}),
          Tensor::Vector({false, true, false, true}), Longs({2, 0})});
  Expect("SparseFillEmptyRowsGrad", {Longs({2, 0}), Floats({1, 2, 4, 8})}, {},
         {Floats({4, 1}), Tensor::Scalar(10.0f)});
  EXPECT_THAT(harness_.Run("SparseFillEmptyRowsGrad",
                           {Longs({4}), Floats({1, 2, 4, 8})}),
              StatusIs(kInvalid, "must be in [0, 4) but got 4"));
  EXPECT_THAT(harness_.Run("SparseFillEmptyRows",
                           {Pairs({4, 0}), Longs({6}), Longs({4, 2}),
                            Tensor::Scalar(int64_t{-1})}),
              StatusIs(kInvalid, "indices(0, 0) is invalid: 4 >= 4"));
  // Only row indices are checked.
  Expect(
      "SparseFillEmptyRows",
      {Pairs({0, 9}), Longs({6}), Longs({2, -5}), Tensor::Scalar(int64_t{-1})},
      {},
      {Pairs({0, 9, 1, 0}), Longs({6, -1}), Tensor::Vector({false, true}),
       Longs({0})});
  for (const int64_t rows : {int64_t{-1}, int64_t{1} << 62}) {
    EXPECT_FALSE(
        harness_
            .Run("SparseFillEmptyRows", {Pairs({}), Longs({}), Longs({rows, 2}),
                                         Tensor::Scalar(int64_t{-1})})
            .ok());
  }
}

TEST_F(SparseKernelsTest, CrossesEachRowsFeatures) {
  const Tensor indices = Pairs({0, 0, 1, 0, 1, 1});
  const auto names = Tensor::Vector<std::string>({"a", "b", "c"});
  const auto dense = Tensor::FromValues<std::string>({2, 1}, {"x", "y"});
  const Tensor shape = Longs({2, 2});
  AttrMap attrs = {{"hashed_output", true},
                   {"num_buckets", 100},
                   {"hash_key", int64_t{956888297470}},
                   {"out_type", DT_INT64},
                   {"internal_type", DT_INT64},
                   {"sparse_types", DataTypeVector{DT_STRING}},
                   {"dense_types", DataTypeVector{DT_STRING}},
                   {"N", 1}};
  // Expected values are those of TensorFlow.
  Expect("SparseCross", {indices, names, shape, dense}, attrs,
         {indices, Longs({92, 5, 60}), Longs({2, 2})});
  // Every row has one entry.
  const Tensor one = Pairs({0, 0, 1, 0});
  Expect("SparseCross",
         {one, Tensor::Vector<std::string>({"a", "b"}), Longs({2, 9}), dense},
         attrs, {one, Longs({92, 5}), Longs({2, 1})});
  Expect("SparseCross",
         {Pairs({1, 0, 1, 1}), Tensor::Vector<std::string>({"b", "c"}), shape,
          dense},
         attrs, {Pairs({1, 0, 1, 1}), Longs({5, 60}), Longs({2, 2})});
  attrs["hashed_output"] = false;
  attrs["out_type"] = DT_STRING;
  attrs["internal_type"] = DT_STRING;
  Expect("SparseCross", {indices, names, shape, dense}, attrs,
         {indices, Tensor::Vector<std::string>({"a_X_x", "b_X_y", "c_X_y"}),
          Longs({2, 2})});
  EXPECT_THAT(harness_.Run("SparseCross",
                           {indices, names, Longs({3, 2}), dense}, attrs),
              StatusIs(kInvalid, "Expected batch size 3, got 2"));
  AttrMap no_values = attrs;
  no_values["sparse_types"] = DataTypeVector();
  no_values["dense_types"] = DataTypeVector();
  EXPECT_THAT(harness_.Run("SparseCross", {indices, shape}, no_values),
              StatusIs(kInvalid, "Expected as many values as indices, 1, got"));
  // Rows without features take neither memory nor time.
  constexpr int64_t kMany = int64_t{1} << 40;
  Expect("SparseCross",
         {indices, names, Longs({kMany, 2}), Tensor(DT_STRING, {kMany, 0})},
         attrs,
         {Tensor(DT_INT64, {0, 2}), Tensor(DT_STRING, {0}), Longs({kMany, 0})});
}

TEST_F(SparseKernelsTest, CrossesUnsortedRows) {
  const Tensor first = Pairs({2, 0, 0, 1, 2, 1, 0, 0});
  const Tensor second = Pairs({0, 0, 1, 0, 2, 0});
  Expect("SparseCross",
         {first, second, Tensor::Vector<std::string>({"a", "b", "c", "d"}),
          Longs({7, 8, 9}), Longs({3, 2}), Longs({3, 1})},
         {{"hashed_output", false},
          {"num_buckets", 0},
          {"hash_key", int64_t{1}},
          {"out_type", DT_STRING},
          {"internal_type", DT_STRING},
          {"sparse_types", DataTypeVector{DT_STRING, DT_INT64}},
          {"dense_types", DataTypeVector()},
          {"N", 2}},
         {Pairs({0, 0, 0, 1, 2, 0, 2, 1}),
          Tensor::Vector<std::string>({"b_X_7", "d_X_7", "a_X_9", "c_X_9"}),
          Longs({3, 2})});
}

// A row of 2**10 features, crossed with itself: 2**20 combinations.
TEST_F(SparseKernelsTest, CrossOfACancelledStepEnds) {
  const Tensor row(DT_INT64, {1, 1 << 10});
  harness_.cancellation().Cancel(absl::CancelledError("the step ended"));
  EXPECT_THAT(
      harness_.Run("SparseCross", {row, row},
                   {{"N", 0},
                    {"hashed_output", true},
                    {"num_buckets", 100},
                    {"hash_key", int64_t{1}},
                    {"out_type", DT_INT64},
                    {"internal_type", DT_INT64},
                    {"sparse_types", DataTypeVector()},
                    {"dense_types", DataTypeVector{DT_INT64, DT_INT64}}}),
      StatusIs(absl::StatusCode::kCancelled, "the step ended"));
}

// The fused op must match the sequence of ops that it replaces.
TEST_F(SparseKernelsTest, UniqueRowIds) {
  Expect("_UniqueRowIds",
         {Pairs({2, 1, 0, 0, 2, 0, 0, 1, 4, 0}), Longs({6, 5, -1, 6, 5}),
          Longs({5, 2}), Tensor::Scalar(int64_t{0})},
         {},
         {Longs({5, 6, 0}), Tensor::Vector<int32_t>({0, 1, 2, 1, 2, 0}),
          Tensor::Vector({false, true, false, true, false}),
          Tensor::Vector<int32_t>({0, 0, 1, 2, 3, 4})});
  // One entry per row; the last one may be negative.
  for (const int64_t last : {7, -7}) {
    Expect("_UniqueRowIds",
           {Pairs({0, 0, 1, 3, 2, 1}), Longs({7, 5, last}), Longs({3, 4}),
            Tensor::Scalar(int64_t{7})},
           {},
           {Longs({7, 5}), Tensor::Vector<int32_t>({0, 1, 0}),
            Tensor::Vector({false, false, last < 0}),
            Tensor::Vector<int32_t>({0, 1, 2})});
  }
  // As in SparseFillEmptyRows, only row indices are checked.
  Expect("_UniqueRowIds",
         {Pairs({0, 0, 1, 4}), Longs({7, 5}), Longs({2, 4}),
          Tensor::Scalar(int64_t{7})},
         {},
         {Longs({7, 5}), Tensor::Vector<int32_t>({0, 1}),
          Tensor::Vector({false, false}), Tensor::Vector<int32_t>({0, 1})});
  Expect("_UniqueRowIds",
         {Pairs({}), Longs({}), Longs({0, 2}), Tensor::Scalar(int64_t{0})}, {},
         {Longs({}), Tensor(DT_INT32, {0}), Tensor(DT_BOOL, {0}),
          Tensor(DT_INT32, {0})});
  EXPECT_THAT(
      harness_.Run("_UniqueRowIds", {Pairs({4, 0}), Longs({6}), Longs({4, 2}),
                                     Tensor::Scalar(int64_t{0})}),
      StatusIs(kInvalid, "indices(0, 0) is invalid: 4 >= 4"));
  // Dropped entries are not checked.
  EXPECT_OK(harness_.Run(
      "_UniqueRowIds",
      {Pairs({4, 0}), Longs({-6}), Longs({4, 2}), Tensor::Scalar(int64_t{0})}));
  EXPECT_THAT(harness_.Run("_UniqueRowIds", {Pairs({4, 0}), Longs({6}),
                                             Longs({int64_t{1} << 31, 2}),
                                             Tensor::Scalar(int64_t{0})}),
              StatusIs(kInvalid, "together 2^31 or more"));
}

TEST_F(SparseKernelsTest, CombinesRows) {
  const Tensor data = Tensor::FromValues<float>({3, 2}, {1, 2, 10, 20, 5, 7});
  const auto idx = Tensor::Vector<int32_t>({0, 1, 2, 1, 1});
  const auto rows = Tensor::Vector<int32_t>({0, 0, 1, 2, 2});
  const auto empty = Tensor::Vector({false, true, false});
  Expect("_CombineRows", {data, idx, rows, empty}, {{"combiner", "sum"}},
         {Tensor::FromValues<float>({3, 2}, {11, 22, 0, 0, 20, 40})});
  Expect("_CombineRows", {data, idx, rows, empty}, {{"combiner", "mean"}},
         {Tensor::FromValues<float>({3, 2}, {5.5, 11, 0, 0, 10, 20})});
  const Tensor grad = Tensor::FromValues<float>(
      {3, 2}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 3, 4, 6});
  Expect("_CombineRowsGrad", {grad, idx, rows, empty, data},
         {{"combiner", "sum"}},
         {Tensor::FromValues<float>({3, 2}, {1, 2, 9, 14, 0, 0})});
  Expect("_CombineRowsGrad", {grad, idx, rows, empty, data},
         {{"combiner", "mean"}},
         {Tensor::FromValues<float>({3, 2}, {0.5, 1, 4.5, 7, 0, 0})});
  const AttrMap sum = {{"combiner", "sum"}};
  EXPECT_THAT(harness_.Run("_CombineRows",
                           {data, Tensor::Vector<int32_t>({3}),
                            Tensor::Vector<int32_t>({0}), empty},
                           sum),
              StatusIs(kInvalid, "idx[0] == 3 out of range [0, 3)"));
  EXPECT_THAT(harness_.Run("_CombineRows",
                           {data, Tensor::Vector<int32_t>({0, 0}),
                            Tensor::Vector<int32_t>({1, 0}), empty},
                           sum),
              StatusIs(kInvalid, "row_ids must rise"));
  EXPECT_THAT(
      harness_.Run("_CombineRowsGrad",
                   {data, idx, rows, empty, Tensor(DT_FLOAT, {3, 1})}, sum),
      StatusIs(kInvalid, "grad must be of shape [3,1]"));
}

TEST_F(SparseKernelsTest, WhereHashed) {
  const auto texts =
      Tensor::FromValues<std::string>({2, 2}, {"Hello", "", "", "TensorFlow"});
  // Expected values are those of TensorFlow.
  Expect("_WhereHashed", {texts}, {{"num_buckets", 3}},
         {Pairs({0, 0, 1, 1}), Longs({0, 2})});
  Expect("_WhereHashed", {Tensor(DT_STRING, {3, 0})}, {{"num_buckets", 3}},
         {Tensor(DT_INT64, {0, 2}), Longs({})});
}

TEST_F(SparseKernelsTest, CountIds) {
  const AttrMap three = {{"depth", int64_t{3}}};
  const Tensor ids = Longs({2, 1, 2, -1, 3, 2});
  Expect("_CountIds",
         {Pairs({0, 0, 0, 2, 0, 3, 2, 0, 2, 1, 3, 0}), ids, Longs({4, 4})},
         three,
         {Tensor::FromValues<float>({4, 3},
                                    {0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1})});
  Expect("_CountIds", {Pairs({}), Longs({}), Longs({2, 0})}, three,
         {Tensor::FromValues<float>({2, 3}, {0, 0, 0, 0, 0, 0})});
  Expect("_CountIds", {Pairs({0, 0}), Longs({1}), Longs({2, 1})},
         {{"depth", int64_t{0}}}, {Tensor(DT_FLOAT, {2, 0})});
  EXPECT_THAT(harness_.Run("_CountIds",
                           {Pairs({4, 0}), Longs({1}), Longs({4, 2})}, three),
              StatusIs(kInvalid, "out of bounds"));
  EXPECT_THAT(
      harness_.Run("_CountIds",
                   {Pairs({1, 0, 0, 0}), Longs({1, 1}), Longs({4, 2})}, three),
      StatusIs(kInvalid, "out of order"));
  constexpr int64_t kMany = int64_t{1} << 62;
  EXPECT_FALSE(
      harness_
          .Run("_CountIds", {Pairs({}), Longs({}), Longs({kMany, 1})}, three)
          .ok());
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST_F(SparseKernelsTest, OverflowingPositionsAreRejected) {
  EXPECT_THAT(
      harness_.Run("SparseSliceGrad", {Floats({5}), Pairs({0, 0}),
                                       Longs({kMost, 0}), Pairs({kMost, 0})}),
      StatusIs(kInvalid, "aren't all propagated"));
}

TEST_F(SparseKernelsTest, SlicesMayBeginAndEndAnywhere) {
  const Tensor indices = Pairs({0, 0, 1, 2});
  const auto slice = [&](Tensor start, Tensor size, Tensor kept, Tensor values,
                         Tensor shape) {
    Expect("SparseSlice",
           {indices, Floats({2, 3}), Longs({2, 3}), std::move(start),
            std::move(size)},
           {}, {std::move(kept), std::move(values), std::move(shape)});
  };
  slice(Longs({-1, 0}), Longs({2, 9}), Pairs({1, 0}), Floats({2}),
        Longs({2, 3}));
  slice(Longs({kLeast, 0}), Longs({1, 9}), Pairs({}), Floats({}),
        Longs({1, 3}));
  slice(Longs({kMost, 0}), Longs({kMost, 9}), Pairs({}), Floats({}),
        Longs({0, 3}));
  slice(Longs({1, 1}), Longs({kMost, kMost}), Pairs({0, 1}), Floats({3}),
        Longs({1, 2}));
}

TEST_F(SparseKernelsTest, ReshapesIndicesThatAreFarOutOfBounds) {
  for (const int64_t far : {kMost, kLeast, kMost - 1}) {
    EXPECT_OK(harness_.Run(
        "SparseReshape", {Pairs({far, far}), Longs({3, 3}), Longs({9, 1, 1})}));
  }
  EXPECT_THAT(
      harness_.Run("SparseReshape", {Pairs({0, 0}), Longs({0, 3}), Longs({0})}),
      StatusIs(kInvalid, "is empty"));
}

TEST_F(SparseKernelsTest, ReductionsWriteWithinTheirOutput) {
  const auto run = [&](Tensor indices) {
    return harness_.Run("SparseReduceSum",
                        {std::move(indices), Floats({1}), Longs({3, 3}),
                         Tensor::Vector<int>({})});
  };
  EXPECT_OK(run(Pairs({2, 2})));
  for (const Tensor& bad :
       {Pairs({3, 0}), Pairs({0, -1}), Pairs({kMost, kMost}),
        Pairs({kLeast, 1}), Pairs({0, kMost})}) {
    const auto result = run(bad);
    if (!result.ok()) {
      EXPECT_THAT(result, StatusIs(kInvalid, "write index"));
    }
  }
}

TEST_F(SparseKernelsTest, DivisionByZeroIsRejected) {
  const auto divide = [&](Tensor values, Tensor dense) {
    return harness_.Run(
        "SparseDenseCwiseDiv",
        {Pairs({0, 1}), std::move(values), Longs({1, 2}), std::move(dense)});
  };
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(divide(Tensor::Vector<int32_t>({1}), Tensor::Scalar<int32_t>(0)),
              StatusIs(kInvalid, "zero"));
  EXPECT_THAT(divide(Floats({1}), Floats({0, 1})), StatusIs(kInvalid, "zero"));
  const auto wrapped =
      divide(Tensor::Vector<int32_t>({kLowest}), Tensor::Scalar<int32_t>(-1));
  ASSERT_OK(wrapped);
  EXPECT_EQ((*wrapped)[0].flat<int32_t>()[0], kLowest);
}

}  // namespace
}  // namespace weft
