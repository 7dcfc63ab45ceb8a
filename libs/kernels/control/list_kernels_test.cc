#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

class ListKernelsTest : public ::testing::Test {
 protected:
  // Returns an empty list of float vectors of size 2.
  Tensor Empty(int max = -1) {
    return One("EmptyTensorList", {Tensor::Vector({2}), Tensor::Scalar(max)},
               {{"element_dtype", DT_FLOAT}});
  }
  Tensor One(absl::string_view op, std::vector<KernelInput> inputs,
             AttrMap attrs = {}) {
    auto result = harness_.RunOne(op, std::move(inputs), std::move(attrs));
    EXPECT_OK(result.status());
    return result.ok() ? *std::move(result) : Tensor();
  }
  Tensor Push(Tensor list, Tensor element) {
    // The inputs are moved, so that the kernel owns them alone.
    std::vector<KernelInput> inputs;
    inputs.emplace_back(std::move(list));
    inputs.emplace_back(std::move(element));
    return One("TensorListPushBack", std::move(inputs));
  }
  absl::StatusOr<std::vector<Tensor>> Pop(Tensor list) {
    return harness_.Run("TensorListPopBack",
                        {std::move(list), Tensor::Vector({2})},
                        {{"element_dtype", DT_FLOAT}});
  }
  absl::StatusOr<Tensor> Get(const Tensor& list, int index,
                             Tensor shape = Tensor::Scalar(-1)) {
    return harness_.RunOne("TensorListGetItem",
                           {list, Tensor::Scalar(index), std::move(shape)},
                           {{"element_dtype", DT_FLOAT}});
  }
  absl::StatusOr<Tensor> Stack(const Tensor& list, int64_t size = -1,
                               Tensor shape = Tensor::Scalar(-1)) {
    return harness_.RunOne(
        "TensorListStack", {list, std::move(shape)},
        {{"element_dtype", DT_FLOAT}, {"num_elements", AttrValue(size)}});
  }
  int Length(const Tensor& list) {
    return One("TensorListLength", {list}).scalar<int32_t>();
  }

  const Tensor a_ = Tensor::Vector<float>({1, 2});
  const Tensor b_ = Tensor::Vector<float>({3, 4});
  KernelTestHarness harness_{RegisterListKernels};
};

TEST_F(ListKernelsTest, ElementsArePoppedInReverseOrder) {
  const Tensor list = Push(Push(Empty(), a_), b_);
  EXPECT_EQ(Length(list), 2);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> popped, Pop(list));
  EXPECT_TRUE(SameBits(popped[1], b_));
  EXPECT_EQ(Length(popped[0]), 1);
  // The previous list is unchanged.
  EXPECT_EQ(Length(list), 2);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> again, Pop(popped[0]));
  EXPECT_TRUE(SameBits(again[1], a_));
  EXPECT_THAT(Pop(again[0]), StatusIs(kInvalid, "pop from an empty list"));
}

TEST_F(ListKernelsTest, SoleReferenceToAListIsNotCopied) {
  Tensor list = Push(Empty(), a_);
  const auto* tensors = list.scalar<Variant>().tensors.get();
  list = Push(std::move(list), b_);
  EXPECT_EQ(list.scalar<Variant>().tensors.get(), tensors);
  const Tensor other = Push(list, b_);
  EXPECT_NE(other.scalar<Variant>().tensors.get(), tensors);
  EXPECT_EQ(Length(list), 2);
}

TEST_F(ListKernelsTest, PushChecksTypeShapeAndMaxSize) {
  EXPECT_THAT(
      harness_.RunOne("TensorListPushBack", {Empty(), Tensor::Vector({1, 2})}),
      StatusIs(kInvalid, "op elements int32 but list elements float"));
  EXPECT_THAT(harness_.RunOne("TensorListPushBack",
                              {Empty(), Tensor::Vector<float>({1, 2, 3})}),
              StatusIs(kInvalid, "Op element shape: [3] list shape: [2]"));
  EXPECT_THAT(harness_.RunOne("TensorListPushBack", {Push(Empty(1), a_), a_}),
              StatusIs(kInvalid, "full list list size: 1 max_num_elements: 1"));
  EXPECT_THAT(harness_.RunOne("TensorListLength", {One("OptionalNone", {})}),
              StatusIs(kInvalid, "holds no list"));
  EXPECT_THAT(harness_.RunOne("EmptyTensorList",
                              {Tensor::Scalar(3), Tensor::Scalar(-1)},
                              {{"element_dtype", DT_FLOAT}}),
              StatusIs(kInvalid, "element_shape"));
}

TEST_F(ListKernelsTest, ReservedElementsAreZerosUntilTheyAreSet) {
  const AttrMap attrs = {{"element_dtype", DT_FLOAT}};
  const Tensor list =
      One("TensorListReserve", {Tensor::Scalar(-1), Tensor::Scalar(3)}, attrs);
  EXPECT_THAT(Get(list, 0), StatusIs(kInvalid, "not fully defined"));
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, Get(list, 0, Tensor::Vector({2})));
  EXPECT_TRUE(SameBits(zeros, Tensor::Vector<float>({0, 0})));
  const Tensor set =
      One("TensorListSetItem", {list, Tensor::Scalar(1), b_}, attrs);
  ASSERT_OK_AND_ASSIGN(const Tensor item, Get(set, 1));
  EXPECT_TRUE(SameBits(item, b_));
  ASSERT_OK_AND_ASSIGN(const Tensor stacked, Stack(set, 3));
  EXPECT_TRUE(
      SameBits(stacked, Tensor::FromValues<float>({3, 2}, {0, 0, 3, 4, 0, 0})));
  for (const int index : {-1, 3}) {
    EXPECT_THAT(harness_.RunOne("TensorListSetItem",
                                {list, Tensor::Scalar(index), b_}, attrs),
                StatusIs(kInvalid, "in a list with 3 elements"));
    EXPECT_THAT(Get(list, index),
                StatusIs(kInvalid, "in a list with 3 elements"));
  }
  const Tensor longer = One(
      "TensorListSetItem", {list, Tensor::Scalar(4), b_},
      {{"element_dtype", DT_FLOAT}, {"resize_if_index_out_of_bounds", true}});
  EXPECT_EQ(Length(longer), 5);
  EXPECT_THAT(harness_.RunOne("TensorListReserve",
                              {Tensor::Scalar(-1), Tensor::Scalar(-2)}, attrs),
              StatusIs(kInvalid, "num_elements"));
}

TEST_F(ListKernelsTest, ElementsAreGatheredAndScattered) {
  const AttrMap attrs = {{"element_dtype", DT_FLOAT}};
  const Tensor list = Push(Push(Empty(), a_), b_);
  const auto gather = [&](const Tensor& from, Tensor indices,
                          Tensor shape = Tensor::Scalar(-1)) {
    return harness_.RunOne("TensorListGather",
                           {from, std::move(indices), std::move(shape)}, attrs);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor rows,
                       gather(list, Tensor::Vector({1, 0, 1})));
  EXPECT_TRUE(
      SameBits(rows, Tensor::FromValues<float>({3, 2}, {3, 4, 1, 2, 3, 4})));
  ASSERT_OK_AND_ASSIGN(const Tensor none,
                       gather(list, Tensor::Vector<int32_t>({})));
  EXPECT_EQ(none.shape(), TensorShape({0, 2}));
  for (const int index : {-1, 2}) {
    EXPECT_THAT(gather(list, Tensor::Vector({index})),
                StatusIs(kInvalid, "list only has 2 elements"));
  }
  EXPECT_THAT(gather(list, Tensor::Scalar(0)), StatusIs(kInvalid, "vector"));
  const auto scatter = [&](Tensor tensor, Tensor indices) {
    return harness_.RunOne("TensorListScatterIntoExistingList",
                           {list, std::move(tensor), std::move(indices)},
                           attrs);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor set,
                       scatter(rows, Tensor::Vector({0, 3, 0})));
  EXPECT_EQ(Length(set), 4);
  ASSERT_OK_AND_ASSIGN(const Tensor all, Stack(set));
  EXPECT_TRUE(SameBits(
      all, Tensor::FromValues<float>({4, 2}, {3, 4, 3, 4, 0, 0, 1, 2})));
  EXPECT_EQ(Length(list), 2);
  EXPECT_THAT(scatter(rows, Tensor::Vector({0, 1, 2, 3})),
              StatusIs(kInvalid, "but saw: 4 vs. 3"));
  EXPECT_THAT(scatter(rows, Tensor::Vector({1 << 24, 0, 0})),
              StatusIs(kInvalid, "between 0"));
  EXPECT_THAT(scatter(rows, Tensor::Vector({0, 0, -1})),
              StatusIs(kInvalid, "between 0"));
  EXPECT_THAT(scatter(Tensor::Vector<float>({1}), Tensor::Vector({0})),
              StatusIs(kInvalid, "list shape: [2]"));
}

TEST_F(ListKernelsTest, ElementsOfAnyLengthAreJoinedAndSplit) {
  const AttrMap attrs = {{"element_dtype", DT_FLOAT}};
  const Tensor rows =
      Tensor::FromValues<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto split = [&](std::vector<int64_t> lengths, Tensor shape) {
    return harness_.RunOne(
        "TensorListSplit",
        {rows, std::move(shape), Tensor::Vector<int64_t>(lengths)}, attrs);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor list,
                       split({3, 0, 1}, Tensor::Vector({-1, 2})));
  EXPECT_EQ(Length(list), 3);
  const auto concat = [&](const Tensor& of, Tensor shape,
                          std::vector<int64_t> leading = {}) {
    return harness_.Run(
        "TensorListConcatV2",
        {of, std::move(shape), Tensor::Vector<int64_t>(leading)}, attrs);
  };
  ASSERT_OK_AND_ASSIGN(const auto joined, concat(list, Tensor::Scalar(-1)));
  EXPECT_TRUE(SameBits(joined[0], rows));
  EXPECT_TRUE(SameBits(joined[1], Tensor::Vector<int64_t>({3, 0, 1})));
  ASSERT_OK_AND_ASSIGN(const auto old,
                       harness_.Run("TensorListConcat", {list}, attrs));
  EXPECT_TRUE(SameBits(old[0], rows));
  EXPECT_THAT(split({3}, Tensor::Scalar(-1)),
              StatusIs(kInvalid, "Unused values"));
  EXPECT_THAT(split({3, 2}, Tensor::Scalar(-1)),
              StatusIs(kInvalid, "slice [3, 2 more] from tensor with"));
  EXPECT_THAT(split({5, -1}, Tensor::Scalar(-1)), StatusIs(kInvalid));
  EXPECT_THAT(split({4}, Tensor::Vector({4, 3})),
              StatusIs(kInvalid, "compatible with element_shape [?,3]"));
  EXPECT_THAT(split({4}, Tensor::Vector<int32_t>({})),
              StatusIs(kInvalid, "at least of rank 1, but saw: []"));
  // The first size of element_shape is not checked here, but when an element is
  // taken out.
  ASSERT_OK_AND_ASSIGN(const Tensor other,
                       split({1, 3}, Tensor::Vector({3, 2})));
  EXPECT_EQ(Length(other), 2);
  ASSERT_OK_AND_ASSIGN(const auto rejoined, concat(other, Tensor::Scalar(-1)));
  EXPECT_TRUE(SameBits(rejoined[0], rows));
  EXPECT_THAT(concat(list, Tensor::Vector({-1, 3})), StatusIs(kInvalid));
  EXPECT_THAT(concat(Push(Empty(), a_), Tensor::Vector<int32_t>({})),
              StatusIs(kInvalid));
  const Tensor nothing =
      One("EmptyTensorList", {Tensor::Scalar(-1), Tensor::Scalar(-1)}, attrs);
  EXPECT_THAT(concat(nothing, Tensor::Scalar(-1)),
              StatusIs(kInvalid, "empty tensor list"));
  ASSERT_OK_AND_ASSIGN(const auto empty,
                       concat(nothing, Tensor::Vector({-1, 2})));
  EXPECT_EQ(empty[0].shape(), TensorShape({0, 2}));
  // Elements that were never set have the requested length.
  const Tensor reserved =
      One("TensorListReserve", {Tensor::Scalar(-1), Tensor::Scalar(2)}, attrs);
  EXPECT_THAT(concat(reserved, Tensor::Vector({-1, 2})), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(const auto zeros,
                       concat(reserved, Tensor::Vector({-1, 2}), {1, 2}));
  EXPECT_EQ(zeros[0].shape(), TensorShape({3, 2}));
  EXPECT_TRUE(SameBits(zeros[1], Tensor::Vector<int64_t>({1, 2})));
}

TEST_F(ListKernelsTest, ListsConvertFromAndToTensors) {
  const Tensor rows = Tensor::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor list = One("TensorListFromTensor", {rows, Tensor::Scalar(-1)});
  ASSERT_OK_AND_ASSIGN(const Tensor stacked, Stack(list));
  EXPECT_TRUE(SameBits(stacked, rows));
  EXPECT_THAT(Stack(list, 2),
              StatusIs(kInvalid,
                       "expected a list with 2 elements but got a "
                       "list with 3 elements"));
  EXPECT_THAT(Stack(list, 3, Tensor::Vector({5})), StatusIs(kInvalid, ""));
  ASSERT_OK_AND_ASSIGN(const Tensor none, Stack(Empty()));
  EXPECT_EQ(none.shape(), TensorShape({0, 2}));
  const Tensor unknown =
      One("EmptyTensorList", {Tensor::Scalar(-1), Tensor::Scalar(-1)},
          {{"element_dtype", DT_FLOAT}});
  EXPECT_THAT(Stack(unknown), StatusIs(kInvalid, "non-fully-defined"));
  const Tensor shape =
      One("TensorListElementShape", {Empty()}, {{"shape_type", DT_INT64}});
  EXPECT_TRUE(SameBits(shape, Tensor::Vector<int64_t>({2})));
  EXPECT_TRUE(SameBits(
      One("TensorListElementShape", {unknown}, {{"shape_type", DT_INT32}}),
      Tensor::Scalar(-1)));
}

TEST_F(ListKernelsTest, OptionalReportsWhetherItHasAValue) {
  const Tensor there =
      One("OptionalFromValue", {a_, Tensor::Scalar(std::string("s"))});
  const Tensor none = One("OptionalNone", {});
  EXPECT_TRUE(One("OptionalHasValue", {there}).scalar<bool>());
  EXPECT_FALSE(One("OptionalHasValue", {none}).scalar<bool>());
  const AttrMap attrs = {{"output_types", DataTypeVector{DT_FLOAT, DT_STRING}},
                         {"output_shapes", std::vector<PartialShape>(2)}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                       harness_.Run("OptionalGetValue", {there}, attrs));
  EXPECT_TRUE(SameBits(values[0], a_));
  EXPECT_EQ(values[1].scalar<std::string>(), "s");
  EXPECT_THAT(harness_.Run("OptionalGetValue", {none}, attrs),
              StatusIs(kInvalid, "does not have a value"));
  EXPECT_THAT(harness_.Run("OptionalGetValue", {there},
                           {{"output_types", DataTypeVector{DT_FLOAT}},
                            {"output_shapes", std::vector<PartialShape>(1)}}),
              StatusIs(kInvalid, "has 2 components, expected 1"));
  EXPECT_THAT(
      harness_.Run("OptionalGetValue", {there},
                   {{"output_types", DataTypeVector{DT_INT32, DT_STRING}},
                    {"output_shapes", std::vector<PartialShape>(2)}}),
      StatusIs(kInvalid, "component 0 of type float"));
}

TEST_F(ListKernelsTest, ListsReceivedFromPeersAreChecked) {
  // The metadata claims float elements and no nesting.
  Tensor list(DT_VARIANT, {});
  list.mutable_scalar<Variant>() = {
      "tensorflow::TensorList", "1 -1 1 1 2",
      std::make_shared<const std::vector<Tensor>>(
          2, Tensor::Vector<std::string>({"a", "b"}))};
  const auto is_refused = StatusIs(
      kInvalid, "list is of float elements, but an element is of string");
  EXPECT_THAT(Get(list, 0), is_refused);
  EXPECT_THAT(Stack(list), is_refused);
  EXPECT_THAT(Pop(list), is_refused);
  // A shape may have any number of rows without elements.
  EXPECT_THAT(
      harness_.RunOne("TensorListFromTensor",
                      {Tensor(DT_FLOAT, TensorShape({int64_t{1} << 40, 0})),
                       Tensor::Vector({0})}),
      StatusIs(kInvalid, "has 1099511627776 rows"));
}

// Destroying a value recurses through the values inside it.
TEST_F(ListKernelsTest, NestingDepthIsLimited) {
  const auto wrap = [&](Tensor inner, bool as_list) -> absl::StatusOr<Tensor> {
    if (!as_list) {
      return harness_.RunOne("OptionalFromValue", {std::move(inner)});
    }
    const Tensor empty =
        One("EmptyTensorList", {Tensor::Scalar(-1), Tensor::Scalar(-1)},
            {{"element_dtype", DT_VARIANT}});
    return harness_.RunOne("TensorListPushBack", {empty, std::move(inner)});
  };
  Tensor value = Empty();
  for (int depth = 1; depth < 1000; ++depth) {
    ASSERT_OK_AND_ASSIGN(value, wrap(value, depth % 2 == 0));
  }
  for (const bool as_list : {false, true}) {
    EXPECT_THAT(wrap(value, as_list),
                StatusIs(kInvalid, "more than 1000 deep"));
  }
}

TEST(ToBoolTest, FollowsTensorFlow) {
  KernelTestHarness harness(RegisterFunctionalKernels);
  const auto is_true = [&](Tensor value) {
    const auto result = harness.RunOne("ToBool", {std::move(value)});
    EXPECT_OK(result.status());
    return result.ok() && result->scalar<bool>();
  };
  EXPECT_TRUE(is_true(Tensor::Scalar(true)));
  EXPECT_FALSE(is_true(Tensor::Scalar(0)));
  EXPECT_TRUE(is_true(Tensor::Scalar(int64_t{-1})));
  EXPECT_FALSE(is_true(Tensor::Scalar(-0.0f)));
  EXPECT_TRUE(is_true(Tensor::Scalar(0.0f / 0.0f)));
  EXPECT_FALSE(is_true(Tensor::Scalar(std::string())));
  EXPECT_TRUE(is_true(Tensor::Scalar(std::string("False"))));
  EXPECT_TRUE(is_true(Tensor::Vector<float>({0})));
  EXPECT_FALSE(is_true(Tensor(DT_FLOAT, {0})));
  EXPECT_THAT(harness.RunOne("ToBool", {Tensor(DT_COMPLEX64, {})}),
              StatusIs(kInvalid, "cannot be converted"));
}

}  // namespace
}  // namespace weft
