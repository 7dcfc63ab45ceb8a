#include "libs/base/near_names.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

std::string Suggested(absl::string_view unknown,
                      const std::vector<std::string>& known) {
  NearNames near(unknown);
  for (const std::string& name : known) near.Consider(name);
  return near.Suggestion();
}

TEST(NearNamesTest, TyposAreFound) {
  for (const char* typo :
       {"weihgts", "weigts", "weightss", "weighta", "Weights", "wheigts"}) {
    EXPECT_EQ(Suggested(typo, {"biases", "weights", "x"}),
              " Did you mean \"weights\"?")
        << typo;
  }
}

TEST(NearNamesTest, NamesInOtherScopesAreFound) {
  EXPECT_EQ(Suggested("loss", {"train/loss", "train/gloss/x"}),
            " Did you mean \"train/loss\"?");
  EXPECT_EQ(Suggested("tower_0/loss", {"loss"}), " Did you mean \"loss\"?");
}

TEST(NearNamesTest, NearestThreeNamesAreSuggestedInOrder) {
  EXPECT_EQ(Suggested("dense_1", {"dense_22", "dense_3", "dense_2", "dense",
                                  "sense_1", "conv_1"}),
            " Did you mean \"dense_2\", \"dense_3\" or \"sense_1\"?");
}

TEST(NearNamesTest, DuplicateNameIsSuggestedOnce) {
  EXPECT_EQ(Suggested("wroker", {"worker", "ps", "worker"}),
            " Did you mean \"worker\"?");
}

TEST(NearNamesTest, DistantNamesAreNotSuggested) {
  EXPECT_EQ(Suggested("x", {"y", "z", ""}), "");
  EXPECT_EQ(Suggested("", {"a", "b"}), "");
  EXPECT_EQ(Suggested("accuracy", {"global_step", "loss", "acc"}), "");
  EXPECT_EQ(Suggested("loss", {}), "");
}

// A client chooses the names, so the time must be linear in their length, not
// quadratic.
TEST(NearNamesTest, LongNamesAreCompared) {
  std::string known(2'000'000, 'a');
  std::string typo = known;
  typo[1'000'000] = 'b';
  known.insert(500, "c");
  EXPECT_NE(Suggested(typo, {known}), "");
  typo.append("bbb");
  EXPECT_EQ(Suggested(typo, {known}), "");
}

TEST(NearNamesTest, ManyEditsNearTheLimitAreCounted) {
  EXPECT_EQ(Suggested("abcdefghi", {"badcfeghi", "badcfehgi"}),
            " Did you mean \"badcfeghi\"?");
  EXPECT_EQ(Suggested("abcdefghij", {"xbcdxfghxj"}),
            " Did you mean \"xbcdxfghxj\"?");
  EXPECT_EQ(Suggested("abcdefghij", {"xbcdxfxhxj"}), "");
}

TEST(NearNamesTest, CaseOfASingleLetterMayDiffer) {
  EXPECT_EQ(Suggested("x", {"X", "Y"}), " Did you mean \"X\"?");
}

}  // namespace
}  // namespace weft
