#include "libs/train/optimizers/slot_keys.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SlotKeysTest, KeysAreEqualOutsideOfVariableScopes) {
  const SlotKeys keys = KeysOfSlot("emb", "emb/part_1", "emb/part_1/Adam");
  EXPECT_EQ(keys.of_all_parts, "emb/Adam");
  EXPECT_EQ(keys.of_part, "emb/Adam");
  EXPECT_EQ(keys.of_first_part, "emb/Adam");
}

TEST(SlotKeysTest, TensorFlowTruncatesKeysInVariableScope) {
  const SlotKeys keys =
      KeysOfSlot("m/emb", "m/emb/part_1", "m/m/emb/part_1/Adam");
  EXPECT_EQ(keys.of_all_parts, "m/emb/Adam");
  EXPECT_EQ(keys.of_part, "m/emb/1/Adam");
  EXPECT_EQ(keys.of_first_part, "m/emb/0/Adam");
}

TEST(SlotKeysTest, PartNumbersMayHaveSeveralDigits) {
  const SlotKeys keys =
      KeysOfSlot("m/emb", "m/emb/part_12", "m/m/emb/part_12/Adam_1");
  EXPECT_EQ(keys.of_all_parts, "m/emb/Adam_1");
  // TensorFlow's key has only the last digit of the part's number.
  EXPECT_EQ(keys.of_part, "m/emb/2/Adam_1");
  EXPECT_EQ(keys.of_first_part, "m/emb/0/Adam_1");
}

TEST(SlotKeysTest, SlotIsRestoredFromEitherForm) {
  const SlotKeys keys =
      KeysOfSlot("m/emb", "m/emb/part_1", "m/m/emb/part_1/Adam");
  EXPECT_THAT(OtherKeys(keys, "m/emb/Adam"),
              ElementsAre("m/emb/1/Adam", "m/emb/0/Adam"));
  EXPECT_THAT(OtherKeys(keys, "m/emb/1/Adam"),
              ElementsAre("m/emb/Adam", "m/emb/0/Adam"));
}

TEST(SlotKeysTest, EachKeyIsTriedOnce) {
  const SlotKeys keys =
      KeysOfSlot("m/emb", "m/emb/part_0", "m/m/emb/part_0/Adam");
  EXPECT_THAT(OtherKeys(keys, "m/emb/Adam"), ElementsAre("m/emb/0/Adam"));
  const SlotKeys equal = KeysOfSlot("emb", "emb/part_1", "emb/part_1/Adam");
  EXPECT_THAT(OtherKeys(equal, "emb/Adam"), IsEmpty());
}

TEST(SlotKeysTest, UnrelatedKeyHasNoOtherKeys) {
  const SlotKeys keys =
      KeysOfSlot("m/emb", "m/emb/part_1", "m/m/emb/part_1/Adam");
  EXPECT_THAT(OtherKeys(keys, "m/emb"), IsEmpty());
}

}  // namespace
}  // namespace weft::train
