// The equations of Einsum, the shapes that follow from them, and TensorFlow's
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/linalg/linalg_ops.h"
#include "libs/ops/math/einsum_equation.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using testing::ElementsAre;

// The shape of an einsum of operands with these shapes.
absl::StatusOr<std::string> ShapeOf(const char* equation,
                                    const std::vector<PartialShape>& shapes) {
  const Scope root = Scope::Root();
  InputList operands;
  for (const PartialShape& shape : shapes) {
    operands.emplace_back(ops::Placeholder(root, DT_FLOAT, {.shape = shape}));
  }
  const Output y = ops::Einsum(root, operands, equation);
  if (!root.ok()) return root.status();
  return y.shape().ToString();
}

TEST(EinsumEquationTest, IsReadAndWritten) {
  ASSERT_OK_AND_ASSIGN(const EinsumEquation product,
                       ParseEinsum("...ij,jk->...ik"));
  EXPECT_THAT(product.inputs, ElementsAre(".ij", "jk"));
  EXPECT_EQ(product.output, ".ik");
  EXPECT_EQ(product.ToString(), "...ij,jk->...ik");
  ASSERT_OK_AND_ASSIGN(const EinsumEquation sum, ParseEinsum("ij->"));
  EXPECT_THAT(sum.inputs, ElementsAre("ij"));
  EXPECT_EQ(sum.output, "");
  EXPECT_EQ(sum.ToString(), "ij->");
}

TEST(EinsumEquationTest, MalformedEquationsAreRejected) {
  const struct {
    std::string equation;
    const char* says;
  } cases[] = {
      {"ij,jk", "Expecting exactly one '->' in einsum equation: ij,jk"},
      {"ij->j->i", "Expecting exactly one '->'"},
      {"i,j,k->ijk",
       "Expecting 1 or 2 input subscripts in equation "
       "'i,j,k->ijk' but got: 3"},
      {"..i->i", "found 2 periods (.) in the input subscript: ..i"},
      {".i..->i", "found 3 periods (.) in the input subscript: .i.."},
      {"...i...->i", "found 6 periods"},
      {"ij->ik",
       "Einsum output subscripts for equation 'ij->ik' has label 'k' "
       "which is not present in the input subscripts"},
      {std::string(300, 'i') + "->", "has more than 254 dimensions"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseEinsum(c.equation), StatusIs(kInvalid, c.says));
  }
}

TEST(EinsumEquationTest, EllipsisStandsForTheOtherDimensions) {
  EXPECT_EQ(*EllipsisDims(".ij", 0, 5), 3);
  EXPECT_EQ(*EllipsisDims(".ij", 0, 2), 0);
  EXPECT_EQ(*EllipsisDims("ij", 0, 2), 0);
  EXPECT_THAT(EllipsisDims(".ij", 1, 1),
              StatusIs(kInvalid,
                       "Expected input 1 to have rank at least 2 but got: 1"));
  EXPECT_THAT(EllipsisDims("ij", 0, 3),
              StatusIs(kInvalid, "Expected input 0 to have rank 2 but got: 3"));
}

TEST(EinsumShapeTest, LabelsHaveTheSizesOfTheOperands) {
  EXPECT_EQ(*ShapeOf("ij,jk->ik", {{2, 3}, {3, 4}}), "[2,4]");
  EXPECT_EQ(*ShapeOf("ij->ji", {{2, 3}}), "[3,2]");
  EXPECT_EQ(*ShapeOf("ij->", {{2, 3}}), "[]");
  EXPECT_EQ(*ShapeOf("ii->i", {{3, 3}}), "[3]");
  EXPECT_EQ(*ShapeOf("i,j->ij", {{2}, {3}}), "[2,3]");
}

// One operand may know what the other does not.
TEST(EinsumShapeTest, UnknownSizesAreFilledIn) {
  EXPECT_EQ(*ShapeOf("ij,jk->ijk", {{-1, -1}, {3, 4}}), "[?,3,4]");
  EXPECT_EQ(*ShapeOf("ij,jk->ik", {PartialShape(), {3, 4}}), "[?,4]");
  EXPECT_EQ(*ShapeOf("...i->...", {PartialShape()}), "<unknown>");
}

TEST(EinsumShapeTest, EllipsesBroadcast) {
  EXPECT_EQ(*ShapeOf("...ij,...jk->...ik", {{5, 1, 2, 3}, {6, 3, 4}}),
            "[5,6,2,4]");
  EXPECT_EQ(*ShapeOf("i...,i->...", {{3, 2, 7}, {3}}), "[2,7]");
}

TEST(EinsumShapeTest, ContradictingOperandsAreRejected) {
  const struct {
    const char* equation;
    std::vector<PartialShape> shapes;
    const char* says;
  } cases[] = {
      {"ij,jk->ik", {{2, 3}, {4, 5}}, "must be equal"},
      {"ii->i", {{2, 3}}, "must be equal"},
      {"ij->i", {{2, 3, 4}}, "Expected input 0 to have rank 2 but got: 3"},
      {"ij,jk->ik",
       {{2, 3}},
       "Expected 2 inputs for equation ij,jk->ik but "
       "got: 1"},
      {"...i->i",
       {{2, 3}},
       "Output contains 1 broadcasting dimension(s) but no ellipsis (...) was "
       "found in the output subscripts."},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ShapeOf(c.equation, c.shapes), StatusIs(kInvalid, c.says))
        << c.equation;
  }
}

class LinalgShapeTest : public testing::Test {
 protected:
  Output In(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  const Scope root_ = Scope::Root();
};

TEST_F(LinalgShapeTest, FactorsOfQrAreAsSmallAsPossible) {
  const auto shapes = [&](const PartialShape& shape, bool full) {
    const Node* qr =
        root_.AddNode("Qr", {In(shape)}, {{"full_matrices", full}});
    EXPECT_OK(root_.status());
    return qr->output_shape(0).ToString() + qr->output_shape(1).ToString();
  };
  EXPECT_EQ(shapes({4, 2}, false), "[4,2][2,2]");
  EXPECT_EQ(shapes({2, 4}, false), "[2,2][2,4]");
  EXPECT_EQ(shapes({4, 2}, true), "[4,4][4,2]");
  EXPECT_EQ(shapes({7, -1, 4}, false), "[7,?,?][7,?,4]");
}

TEST_F(LinalgShapeTest, TriangularSystemsBroadcast) {
  EXPECT_EQ(ops::MatrixTriangularSolve(root_, In({5, 1, 3, 3}), In({6, 3, 2}))
                .shape(),
            (PartialShape{5, 6, 3, 2}));
  ASSERT_OK(root_.status());
  EXPECT_FALSE(ops::MatrixTriangularSolve(root_, In({3, 4}), In({3, 2})));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "must be equal"));
}

}  // namespace
}  // namespace weft
