// The shapes and types of ops on strings.
#include "libs/ops/string/string_ops.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

Output In(const Scope& scope, const PartialShape& shape,
          DataType dtype = DT_FLOAT) {
  return ops::Placeholder(scope, dtype, {.shape = shape});
}

TEST(StringOpsTest, JoinedStringsBroadcastScalars) {
  const Scope root = Scope::Root();
  const auto text = [&](const PartialShape& shape) {
    return In(root, shape, DT_STRING);
  };
  EXPECT_EQ(ops::StringJoin(root, {text({4}), "/", text({-1})}).shape(),
            (PartialShape{4}));
  EXPECT_EQ(ops::StringJoin(root, {"a", "b"}).shape(), PartialShape::Scalar());
  ASSERT_OK(root.status());
  ops::StringJoin(root, {text({4}), text({5})});
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid,
                       "Shapes of inputs 0 and 1 must be equal, but are [4] "
                       "and [5]"));
}

TEST(StringOpsTest, PartsAreASparseMatrix) {
  const Scope root = Scope::Root();
  const auto parts = ops::StringSplit(root, In(root, {4}, DT_STRING), " ");
  ASSERT_OK(root.status());
  EXPECT_EQ(parts.indices.shape(), (PartialShape{-1, 2}));
  EXPECT_EQ(parts.values.dtype(), DT_STRING);
  EXPECT_EQ(parts.shape.shape(), (PartialShape{2}));
}

TEST(StringOpsTest, DecodedBytesHaveADimensionMore) {
  const Scope root = Scope::Root();
  const Output raw = ops::DecodeRaw(root, In(root, {4}, DT_STRING), DT_INT16);
  ASSERT_OK(root.status());
  EXPECT_EQ(raw.shape(), (PartialShape{4, -1}));
  EXPECT_EQ(raw.dtype(), DT_INT16);
}

TEST(StringOpsTest, PatternMustBeAScalar) {
  const Scope root = Scope::Root();
  ops::RegexFullMatch(root, In(root, {4}, DT_STRING), In(root, {2}, DT_STRING));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "rank 0"));
}

}  // namespace
}  // namespace weft
