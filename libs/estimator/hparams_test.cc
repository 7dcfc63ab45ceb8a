#include "libs/estimator/hparams.h"

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HParams Params() {
  return HParams({{"rate", 0.1},
                  {"units", int64_t{20}},
                  {"shuffle", true},
                  {"name", std::string("wide")},
                  {"layers", std::vector<int64_t>{10, 20}},
                  {"rates", std::vector<double>{0.5}},
                  {"columns", std::vector<std::string>{"age"}}});
}

TEST(HParamsTest, TextSetsValuesOfTheirTypes) {
  HParams params = Params();
  ASSERT_OK(params.Parse("rate=0.25,units=7,shuffle=false,name=deep"));
  EXPECT_EQ(params.Get<double>("rate"), 0.25);
  EXPECT_EQ(params.Get<int64_t>("units"), 7);
  EXPECT_FALSE(params.Get<bool>("shuffle"));
  EXPECT_EQ(params.Get<std::string>("name"), "deep");
}

TEST(HParamsTest, ListsAreInBrackets) {
  HParams params = Params();
  ASSERT_OK(
      params.Parse("layers=[1, 2,3],rates=[],columns=[job , city],rate=1"));
  EXPECT_THAT(params.Get<std::vector<int64_t>>("layers"), ElementsAre(1, 2, 3));
  EXPECT_THAT(params.Get<std::vector<double>>("rates"), IsEmpty());
  EXPECT_THAT(params.Get<std::vector<std::string>>("columns"),
              ElementsAre("job", "city"));
  EXPECT_EQ(params.Get<double>("rate"), 1);
}

TEST(HParamsTest, SpacesAndFinalCommaAreIgnored) {
  HParams params = Params();
  ASSERT_OK(params.Parse("  units = 7 , name = deep model ,"));
  EXPECT_EQ(params.Get<int64_t>("units"), 7);
  EXPECT_EQ(params.Get<std::string>("name"), "deep model");
  EXPECT_OK(params.Parse(""));
  EXPECT_OK(params.Parse("  "));
}

TEST(HParamsTest, EmptyValueIsAnEmptyString) {
  HParams params = Params();
  ASSERT_OK(params.Parse("name=,units=3"));
  EXPECT_EQ(params.Get<std::string>("name"), "");
  EXPECT_EQ(params.Get<int64_t>("units"), 3);
}

TEST(HParamsTest, MalformedTextChangesNoValue) {
  for (const char* text :
       {"units=7,rate=fast", "units=7,unknown=1", "units=7,units=8",
        "units=7,rate", "units=7,layers=[1,2", "units=7,layers=[1]2"}) {
    HParams params = Params();
    EXPECT_THAT(params.Parse(text), StatusIs(kInvalid)) << text;
    EXPECT_EQ(params.Get<int64_t>("units"), 20) << text;
  }
}

TEST(HParamsTest, ErrorsNameTheHyperparameter) {
  HParams params = Params();
  EXPECT_THAT(params.Parse("units=1.5"),
              StatusIs(kInvalid, "'units' is an integer, which '1.5' is not"));
  EXPECT_THAT(params.Parse("shuffle=maybe"),
              StatusIs(kInvalid, "'shuffle' is a bool, which 'maybe' is not"));
  EXPECT_THAT(params.Parse("layers=3"),
              StatusIs(kInvalid, "'layers' is a list of integers"));
  EXPECT_THAT(params.Parse("layers=[1,x]"),
              StatusIs(kInvalid, "which '[1,x]' is not"));
  EXPECT_THAT(params.Parse("width=1"),
              StatusIs(kInvalid,
                       "Unknown hyperparameter 'width' in 'width=1'; "
                       "there are: columns, layers, name, rate, "
                       "rates, shuffle, units"));
  EXPECT_THAT(params.Parse("units=1,units=2"),
              StatusIs(kInvalid, "Multiple assignments to variable 'units'"));
  EXPECT_THAT(params.Parse("units"),
              StatusIs(kInvalid, "Could not parse hparam values: 'units'"));
}

TEST(HParamsTest, ProgramSetsValuesOfTheSameType) {
  HParams params = Params();
  EXPECT_OK(params.SetHParam("units", int64_t{3}));
  EXPECT_EQ(params.Get<int64_t>("units"), 3);
  EXPECT_OK(params.SetHParam("rate", int64_t{2})) << "an integer is a number";
  EXPECT_EQ(params.Get<double>("rate"), 2);
  EXPECT_THAT(params.SetHParam("units", 2.5),
              StatusIs(kInvalid,
                       "'units' is an integer, but was to be set to "
                       "a float"));
  EXPECT_THAT(params.SetHParam("width", int64_t{3}),
              StatusIs(kInvalid, "There is no hyperparameter 'width'"));
}

TEST(HParamsTest, NameCanBeAddedOnlyOnce) {
  HParams params;
  EXPECT_FALSE(params.Contains("rate"));
  EXPECT_OK(params.AddHParam("rate", 0.1));
  EXPECT_TRUE(params.Contains("rate"));
  EXPECT_THAT(params.AddHParam("rate", 0.2),
              StatusIs(absl::StatusCode::kAlreadyExists, "rate"));
  EXPECT_EQ(params.Get<double>("rate"), 0.1);
}

}  // namespace
}  // namespace weft::estimator
