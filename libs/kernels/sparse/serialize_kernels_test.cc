#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Tensor Longs(std::initializer_list<int64_t> values) {
  return Tensor::Vector(values);
}
Tensor Rows(int64_t rank, std::initializer_list<int64_t> values) {
  return Tensor::FromValues({static_cast<int64_t>(values.size()) / rank, rank},
                            values);
}
Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Vector(values);
}

class SerializeKernelsTest : public testing::TestWithParam<DataType> {
 protected:
  SerializeKernelsTest() : harness_(RegisterSparseKernels) {}

  absl::StatusOr<Tensor> Serialize(const char* op, const Tensor& indices,
                                   const Tensor& values, const Tensor& shape) {
    return harness_.RunOne(op, {indices, values, shape},
                           {{"out_type", GetParam()}});
  }

  // Returns a serialized tensor of these parts, which need not be valid.
  Tensor Serialized(const std::vector<Tensor>& parts) const {
    Tensor out(GetParam(), {static_cast<int64_t>(parts.size())});
    for (size_t i = 0; i < parts.size(); ++i) {
      if (GetParam() == DT_STRING) {
        out.mutable_flat<std::string>()[i] = SerializeTensorProto(parts[i]);
      } else {
        out.mutable_flat<Variant>()[i] = {
            "tensorflow::Tensor", "",
            std::make_shared<const std::vector<Tensor>>(1, parts[i])};
      }
    }
    return out;
  }

  absl::Status Deserialize(const Tensor& serialized,
                           DataType dtype = DT_FLOAT) {
    return harness_.Run("DeserializeSparse", {serialized}, {{"dtype", dtype}})
        .status();
  }
  absl::Status DeserializeOne(const std::vector<Tensor>& parts) {
    return Deserialize(Serialized(parts));
  }

  void ExpectDeserialized(const Tensor& serialized, DataType dtype,
                          const std::vector<Tensor>& expected) {
    ExpectOutputs(harness_, "DeserializeSparse", {serialized},
                  {{"dtype", dtype}}, expected);
  }

  KernelTestHarness harness_;
};

INSTANTIATE_TEST_SUITE_P(Types, SerializeKernelsTest,
                         testing::Values(DT_STRING, DT_VARIANT),
                         [](const auto& type) {
                           return DataTypeName(type.param);
                         });

TEST_P(SerializeKernelsTest, SparseTensorSurvivesSerialization) {
  const Tensor indices = Rows(2, {0, 1, 1, 2});
  const auto words = Tensor::Vector<std::string>({"a", ""});
  ASSERT_OK_AND_ASSIGN(const Tensor one, Serialize("SerializeSparse", indices,
                                                   words, Longs({2, 3})));
  EXPECT_EQ(one.dtype(), GetParam());
  EXPECT_EQ(one.shape(), TensorShape({3}));
  ExpectDeserialized(one, DT_STRING, {indices, words, Longs({2, 3})});
  // An empty tensor, and a scalar.
  ASSERT_OK_AND_ASSIGN(const Tensor none,
                       Serialize("SerializeSparse", Tensor(DT_INT64, {0, 1}),
                                 Floats({}), Longs({4})));
  ExpectDeserialized(none, DT_FLOAT,
                     {Tensor(DT_INT64, {0, 1}), Floats({}), Longs({4})});
  ASSERT_OK_AND_ASSIGN(const Tensor scalar,
                       Serialize("SerializeSparse", Tensor(DT_INT64, {1, 0}),
                                 Floats({7}), Longs({})));
  ExpectDeserialized(scalar, DT_FLOAT,
                     {Tensor(DT_INT64, {1, 0}), Floats({7}), Longs({})});
}

TEST_P(SerializeKernelsTest, SerializedRowsDeserializeStacked) {
  const Tensor indices = Rows(3, {0, 1, 0, 0, 1, 2, 3, 0, 1});
  const Tensor values = Floats({1, -0.0f, 3});
  ASSERT_OK_AND_ASSIGN(
      const Tensor rows,
      Serialize("SerializeManySparse", indices, values, Longs({4, 2, 3})));
  EXPECT_EQ(rows.shape(), TensorShape({4, 3}));
  ExpectDeserialized(rows, DT_FLOAT, {indices, values, Longs({4, 2, 3})});
  ASSERT_OK_AND_ASSIGN(const Tensor square, rows.Reshaped({2, 2, 3}));
  ExpectDeserialized(square, DT_FLOAT,
                     {Rows(4, {0, 0, 1, 0, 0, 0, 1, 2, 1, 1, 0, 1}), values,
                      Longs({2, 2, 2, 3})});
  ASSERT_OK_AND_ASSIGN(const Tensor none, Serialize("SerializeManySparse",
                                                    Tensor(DT_INT64, {0, 2}),
                                                    Floats({}), Longs({0, 5})));
  EXPECT_EQ(none.shape(), TensorShape({0, 3}));
}

TEST_P(SerializeKernelsTest, StacksToTheLargestShape) {
  const Tensor parts =
      Serialized({Rows(2, {0, 1}), Floats({5}), Longs({2, 3}), Rows(2, {6, 0}),
                  Floats({6}), Longs({7, 1})});
  ASSERT_OK_AND_ASSIGN(const Tensor both, parts.Reshaped({2, 3}));
  ExpectDeserialized(
      both, DT_FLOAT,
      {Rows(3, {0, 0, 1, 1, 6, 0}), Floats({5, 6}), Longs({2, 7, 3})});
  if (GetParam() != DT_STRING) return;
  ExpectOutputs(
      harness_, "DeserializeManySparse", {both}, {{"dtype", DT_FLOAT}},
      {Rows(3, {0, 0, 1, 1, 6, 0}), Floats({5, 6}), Longs({2, 7, 3})});
}

TEST_P(SerializeKernelsTest, RejectsMalformedSparseTensors) {
  for (const char* op : {"SerializeSparse", "SerializeManySparse"}) {
    EXPECT_THAT(Serialize(op, Longs({0}), Floats({1}), Longs({2})),
                StatusIs(kInvalid,
                         "indices should be a matrix but received shape [1]"));
    EXPECT_THAT(
        Serialize(op, Rows(1, {0}), Tensor::Scalar(1.0f), Longs({2})),
        StatusIs(kInvalid, "values should be a vector but received shape []"));
    EXPECT_THAT(Serialize(op, Rows(1, {0}), Floats({1}), Rows(1, {2})),
                StatusIs(kInvalid,
                         "shape should be a vector but received shape [1,1]"));
    // A loop would nest variants without limit.
    EXPECT_THAT(
        Serialize(op, Rows(2, {0, 0}), Tensor(DT_VARIANT, {1}), Longs({2, 2})),
        StatusIs(kInvalid, "variant cannot be serialized"));
  }
}

TEST_P(SerializeKernelsTest, SplitsOnlySortedIndicesWithinTheShape) {
  const auto many = [&](const Tensor& indices, const Tensor& values,
                        const Tensor& shape) {
    return Serialize("SerializeManySparse", indices, values, shape);
  };
  EXPECT_THAT(many(Rows(1, {0}), Floats({1}), Longs({2})),
              StatusIs(kInvalid, "should be > 1, but saw rank: 1"));
  EXPECT_THAT(many(Rows(2, {7, 0}), Floats({1}), Longs({2, 2})),
              StatusIs(kInvalid,
                       "indices[0] = [7,0] is out of bounds: need 0 <= index < "
                       "[2,2]"));
  EXPECT_THAT(many(Rows(2, {0, -1}), Floats({1}), Longs({2, 2})),
              StatusIs(kInvalid, "out of bounds"));
  EXPECT_THAT(many(Rows(2, {1, 0, 0, 0}), Floats({1, 2}), Longs({2, 2})),
              StatusIs(kInvalid, "out of order"));
  EXPECT_THAT(many(Rows(2, {0, 1, 0, 1}), Floats({1, 2}), Longs({2, 2})),
              StatusIs(kInvalid, "indices[1] = [0,1] is repeated"));
  EXPECT_THAT(many(Rows(2, {0, 0, 1, 1}), Floats({1}), Longs({2, 2})),
              StatusIs(kInvalid, "one value for each of the 2 indices"));
  EXPECT_THAT(many(Rows(3, {0, 1, 2}), Floats({1}), Longs({2, 2})),
              StatusIs(kInvalid, "as many sizes as indices has columns"));
  EXPECT_THAT(many(Rows(2, {0, 1}), Floats({1}), Longs({-2, 2})),
              StatusIs(kInvalid));
  EXPECT_THAT(many(Rows(2, {0, 1}), Floats({1}), Longs({kMost, 2})),
              StatusIs(kInvalid));
  // Three parts per row overflow the number of elements.
  EXPECT_THAT(many(Tensor(DT_INT64, {0, 2}), Floats({}), Longs({kMost / 2, 1})),
              StatusIs(kInvalid));
}

TEST_P(SerializeKernelsTest, RejectsSerializedInputsOfWrongShape) {
  EXPECT_THAT(Deserialize(Tensor(GetParam(), {})),
              StatusIs(kInvalid, "should have non-zero rank []"));
  EXPECT_THAT(Deserialize(Tensor(GetParam(), {3, 2})),
              StatusIs(kInvalid, "should have 3 as the last dimension [3,2]"));
  EXPECT_THAT(Deserialize(Tensor(GetParam(), {2, 0, 3})),
              StatusIs(kInvalid, "has a zero dimension [2,0,3]"));
  // Empty strings and variants.
  EXPECT_THAT(Deserialize(Tensor(GetParam(), {3})),
              StatusIs(kInvalid, "serialized_sparse[0, 0]"));
}

TEST_P(SerializeKernelsTest, RefusesPartsThatDoNotFit) {
  const Tensor indices = Rows(1, {0});
  const Tensor values = Floats({1});
  const Tensor shape = Longs({2});
  EXPECT_THAT(
      DeserializeOne({Tensor::FromValues<float>({1, 1}, {0}), values, shape}),
      StatusIs(kInvalid,
               "Expected serialized_sparse[0, 0] to be a matrix of "
               "DT_INT64 but received dtype float"));
  EXPECT_THAT(DeserializeOne({Longs({0}), values, shape}),
              StatusIs(kInvalid,
                       "Expected serialized_sparse[0, 0] to represent an index "
                       "matrix but received shape [1]"));
  EXPECT_THAT(DeserializeOne({indices, Tensor::Scalar(1.0f), shape}),
              StatusIs(kInvalid,
                       "Expected serialized_sparse[0, 1] to represent a values "
                       "vector but received shape []"));
  EXPECT_THAT(DeserializeOne({indices, Tensor::Vector({1}), shape}),
              StatusIs(kInvalid,
                       "Requested SparseTensor of type float but "
                       "SparseTensor[0].values.dtype() == int32"));
  EXPECT_THAT(DeserializeOne({indices, values, Floats({2})}),
              StatusIs(kInvalid, "[0, 2] to be a vector of DT_INT64"));
  EXPECT_THAT(
      DeserializeOne({indices, values, Rows(1, {2})}),
      StatusIs(kInvalid, "to be a shape vector but its shape is [1,1]"));
  EXPECT_THAT(DeserializeOne({Rows(1, {0, 1}), values, shape}),
              StatusIs(kInvalid,
                       "Expected row counts of SparseTensor[0].indices and "
                       "SparseTensor[0].values to match but they do not: 2 vs. "
                       "1"));
  EXPECT_THAT(DeserializeOne({indices, values, Longs({2, 3})}),
              StatusIs(kInvalid,
                       "Expected column counts of SparseTensor[0].indices to "
                       "match size of SparseTensor[0].shape but they do not: 1 "
                       "vs. 2"));
}

TEST_P(SerializeKernelsTest, RefusesStacksThatDoNotFit) {
  const auto stacked = [&](const std::vector<Tensor>& parts) {
    const int64_t count = static_cast<int64_t>(parts.size()) / 3;
    return Deserialize(*Serialized(parts).Reshaped({count, 3}));
  };
  EXPECT_THAT(stacked({Rows(2, {0, 1}), Floats({5}), Longs({2, 3}),
                       Rows(1, {0}), Floats({6}), Longs({2})}),
              StatusIs(kInvalid,
                       "Inconsistent shape across SparseTensors: rank prior to "
                       "SparseTensor[1] was: 2 but rank of SparseTensor[1] is: "
                       "1"));
  // Each shape alone is valid; a shape that covers both is not.
  EXPECT_THAT(stacked({Rows(2, {0, 0}), Floats({5}), Longs({kMost, 1}),
                       Rows(2, {0, 0}), Floats({6}), Longs({1, kMost})}),
              StatusIs(kInvalid));
  EXPECT_THAT(stacked({Rows(1, {0}), Floats({5}), Longs({-2})}),
              StatusIs(kInvalid));
}

TEST_P(SerializeKernelsTest, RefusesDamagedStringsAndOtherVariants) {
  ASSERT_OK_AND_ASSIGN(const Tensor whole,
                       Serialize("SerializeSparse", Rows(1, {0, 1}),
                                 Floats({1, 2}), Longs({2})));
  for (int part = 0; part < 3; ++part) {
    ASSERT_OK_AND_ASSIGN(Tensor damaged, whole.DeepCopy(HeapAllocator()));
    if (GetParam() == DT_STRING) {
      std::string& text = damaged.mutable_flat<std::string>()[part];
      text.resize(text.size() - 1);
    } else {
      damaged.mutable_flat<Variant>()[part].type_name =
          "tensorflow::TensorList";
    }
    EXPECT_THAT(
        Deserialize(damaged),
        StatusIs(kInvalid, absl::StrCat("serialized_sparse[0, ", part, "]")));
  }
}

using Shapes = std::vector<PartialShape>;

TEST(SerializeShapesTest, AreInferred) {
  KernelTestHarness harness(RegisterSparseKernels);
  const auto shapes = [&](const char* op, std::vector<ShapeInput> inputs) {
    const bool is_back = inputs.size() == 1;
    return harness.InferShapes(
        op, std::move(inputs),
        is_back ? AttrMap{{"dtype", DT_FLOAT}} : AttrMap{});
  };
  const ShapeInput indices(DT_INT64, {5, 2}), values(DT_FLOAT, {5});
  const ShapeInput shape(DT_INT64, {2});
  const ShapeInput scalar(DT_INT64, PartialShape::Scalar());
  ASSERT_OK_AND_ASSIGN(const Shapes one,
                       shapes("SerializeSparse", {indices, values, shape}));
  EXPECT_EQ(one, Shapes({PartialShape({3})}));
  ASSERT_OK_AND_ASSIGN(const Shapes many,
                       shapes("SerializeManySparse", {indices, values, shape}));
  EXPECT_EQ(many, Shapes({PartialShape({-1, 3})}));
  EXPECT_THAT(shapes("SerializeManySparse", {indices, values, scalar}),
              StatusIs(kInvalid, "Shape must be rank 1 but is rank 0"));
  for (const char* op : {"DeserializeSparse", "DeserializeManySparse"}) {
    ASSERT_OK_AND_ASSIGN(
        const Shapes back,
        shapes(op, {ShapeInput(DT_STRING, PartialShape({4, 3}))}));
    EXPECT_EQ(back, Shapes({PartialShape({-1, -1}), PartialShape({-1}),
                            PartialShape({-1})}));
    EXPECT_THAT(shapes(op, {ShapeInput(DT_STRING, PartialShape({3, 2}))}),
                StatusIs(kInvalid, "Dimension must be 3 but is 2"));
  }
  EXPECT_THAT(shapes("DeserializeSparse",
                     {ShapeInput(DT_STRING, PartialShape::Scalar())}),
              StatusIs(kInvalid, "Shape must be at least rank 1"));
  EXPECT_THAT(shapes("DeserializeManySparse",
                     {ShapeInput(DT_STRING, PartialShape({3}))}),
              StatusIs(kInvalid, "Shape must be rank 2 but is rank 1"));
}

}  // namespace
}  // namespace weft
