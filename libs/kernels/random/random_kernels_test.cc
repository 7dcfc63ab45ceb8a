#include "libs/kernels/random/random_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/random_loops.h"
#include "libs/kernels/random/distributions.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

// Values that TensorFlow 2.21 returns for these seeds in two runs of one
// session: the first three and last three values of each run. Smaller tensors
// have fewer values; for [1000] there are only the last three.
struct Golden {
  const char* op;
  DataType dtype;
  int64_t seed, seed2;
  std::vector<int64_t> shape;
  std::vector<double> first, second;
};

const std::vector<Golden>& Goldens() {
  static const auto& goldens = *new std::vector<Golden>{
      {"RandomUniform",
       DT_FLOAT,
       1,
       2,
       {3, 5},
       {0.406396747, 0.857599616, 0.0553958416, 0.0683386326, 0.4921664,
        0.701320887},
       {0.799734831, 0.561814547, 0.31857717, 0.231591821, 0.586137533,
        0.0153930187}},
      {"RandomUniform",
       DT_DOUBLE,
       1,
       2,
       {3, 5},
       {0.2511744980841868, 0.44316677020093853, 0.2972296290781924,
        0.5936427778434465, 0.3907310486926916, 0.7558655786906048},
       {0.3978791973773661, 0.5486180582932871, 0.8947313030755384,
        0.43856497154424834, 0.5760130928442333, 0.3939470127031037}},
      {"RandomStandardNormal",
       DT_FLOAT,
       1,
       2,
       {3, 5},
       {-1.04677927, 0.839704573, 1.23583639, 0.113976203, -2.31377816,
        -0.740855873},
       {-0.253177971, -0.618749559, 1.45091975, -0.881178021, -1.46597505,
        0.0914778635}},
      {"RandomStandardNormal",
       DT_DOUBLE,
       1,
       2,
       {3, 5},
       {0.58105877128258, -1.557429113677359, 1.555896998265924,
        0.6473490593146949, -0.7898697643631827, -0.6675454492897834},
       {-0.4083097658111086, -1.2947960546121513, 0.3867130737983019,
        -0.5901654647078225, -1.140262840367051, 1.2653711493051825}},
      {"TruncatedNormal",
       DT_FLOAT,
       1,
       2,
       {3, 5},
       {-1.04677927, 0.839704573, 1.23583639, -1.21130085, 1.44758058,
        0.0252180267},
       {-0.253177971, -0.618749559, 1.45091975, 1.051458, 0.00389765506,
        -0.110115424}},
      {"TruncatedNormal",
       DT_DOUBLE,
       1,
       2,
       {3, 5},
       {0.58105877128258, -1.557429113677359, -1.1295845092323191,
        1.4214151757493292, -0.3081369815335189, 0.6232369128501177},
       {-0.4083097658111086, -1.2947960546121513, 0.5139110622209512,
        1.0060890312010677, -0.017822313215825267, -0.5608496671204645}},
      {"RandomUniform", DT_FLOAT, 1, 2, {1}, {0.406396747}, {0.431598425}},
      {"RandomStandardNormal",
       DT_FLOAT,
       1,
       2,
       {1},
       {-1.04677927},
       {0.388690919}},
      {"TruncatedNormal", DT_FLOAT, 1, 2, {1}, {-1.04677927}, {0.388690919}},
      {"RandomUniform",
       DT_FLOAT,
       1,
       2,
       {1000},
       {0.911401272, 0.0297430754, 0.587522388},
       {0.578856349, 0.241594434, 0.278514743}},
      {"RandomStandardNormal",
       DT_FLOAT,
       1,
       2,
       {1000},
       {0.74484551, -1.38570988, -2.26055884},
       {-0.908601463, 1.65854347, -0.30037111}},
      {"TruncatedNormal",
       DT_FLOAT,
       1,
       2,
       {1000},
       {-0.74585861, -0.336080402, 0.924533844},
       {0.60220021, 1.45336282, 1.15734601}},
      {"RandomUniform",
       DT_FLOAT,
       87654321,
       0,
       {3, 5},
       {0.100862622, 0.970166802, 0.848764181, 0.377897859, 0.691187143,
        0.99544394},
       {0.0519235134, 0.702796698, 0.244817972, 0.787624717, 0.697576642,
        0.829712629}},
      {"RandomUniform",
       DT_DOUBLE,
       87654321,
       0,
       {3, 5},
       {0.8069013021330662, 0.7901137267207379, 0.3881851579574396,
        0.36222383554411786, 0.81743623679288, 0.2506923189499555},
       {0.4153890417940853, 0.9585441900911225, 0.17297787365495743,
        0.023872385267398766, 0.5533881401217615, 0.37031924607002753}},
      {"RandomStandardNormal",
       DT_FLOAT,
       87654321,
       0,
       {3, 5},
       {-0.399157614, 2.10443926, 0.171072245, -1.30091202, -0.503875673,
        0.0201360397},
       {-2.32608175, -0.710851908, -0.278277427, -0.653843105, -0.22350888,
        -0.610877633}},
      {"RandomStandardNormal",
       DT_DOUBLE,
       87654321,
       0,
       {3, 5},
       {-0.6343666478739839, 0.16336094033631432, -1.3748021513104913,
        -1.2990999152463176, 0.5859396438454619, -0.7846589924586692},
       {-0.34138064533435, 1.2808351769628208, 1.3767160340906797,
        -0.8997280656289034, -2.5808051535009504, -1.1596940651882117}},
      {"TruncatedNormal",
       DT_FLOAT,
       87654321,
       0,
       {3, 5},
       {-0.399157614, 0.171072245, 0.546518147, 0.981086731, -0.406833261,
        -0.043395102},
       {-0.710851908, -0.278277427, -1.65440094, 1.71294737, 0.205185428,
        0.784354985}},
      {"TruncatedNormal",
       DT_DOUBLE,
       87654321,
       0,
       {3, 5},
       {-0.6343666478739839, 0.16336094033631432, -0.8530359674444843,
        -1.0728911729123896, -0.19937148984927924, 1.2480238691356165},
       {-0.34138064533435, 1.2808351769628208, -0.17575926925506452,
        0.13968581179833978, 0.21827185020442794, 0.868570561600342}},
      {"RandomUniform",
       DT_FLOAT,
       87654321,
       0,
       {1},
       {0.100862622},
       {0.472894788}},
      {"RandomStandardNormal",
       DT_FLOAT,
       87654321,
       0,
       {1},
       {-0.399157614},
       {-1.19450116}},
      {"TruncatedNormal",
       DT_FLOAT,
       87654321,
       0,
       {1},
       {-0.399157614},
       {-1.19450116}},
      {"RandomUniform",
       DT_FLOAT,
       87654321,
       0,
       {1000},
       {0.675964355, 0.445483565, 0.866417289},
       {0.187322378, 0.413898468, 0.916107297}},
      {"RandomStandardNormal",
       DT_FLOAT,
       87654321,
       0,
       {1000},
       {-0.342075557, -0.946380258, 0.849443614},
       {0.510252178, -0.668167591, 1.14796388}},
      {"TruncatedNormal",
       DT_FLOAT,
       87654321,
       0,
       {1000},
       {-0.468034983, 0.0550440066, 1.31474721},
       {-0.12479239, 0.723687768, 1.3058418}},
      {"RandomUniform",
       DT_FLOAT,
       0,
       7,
       {3, 5},
       {0.971553445, 0.719886899, 0.748594642, 0.248731256, 0.773135781,
        0.80381906},
       {0.987677813, 0.347155213, 0.523687601, 0.366344094, 0.968604445,
        0.103792667}},
      {"RandomUniform",
       DT_DOUBLE,
       0,
       7,
       {3, 5},
       {0.7724281190333644, 0.9887573187648224, 0.43000580153281853,
        0.7467198266256718, 0.2553471749920204, 0.5858943958224248},
       {0.9014228328078151, 0.18950082583072203, 0.4059428861952481,
        0.7938206206968761, 0.02736771895266865, 0.28378516382808683}},
      {"RandomStandardNormal",
       DT_FLOAT,
       0,
       7,
       {3, 5},
       {-0.235958233, -0.0451852269, 0.133451104, -1.65056777, 0.241641238,
        -0.660390198},
       {0.129031628, -0.0902679935, 1.05353224, -0.277746677, 1.38968384,
        2.06514502}},
      {"RandomStandardNormal",
       DT_DOUBLE,
       0,
       7,
       {3, 5},
       {-0.05072188245958234, 0.7168402467140261, -1.1928227384880832,
        0.7638529651527145, -0.0256730510667576, -0.4953687416523305},
       {0.42306818650039585, 0.16904137628633298, -0.7803315777395128,
        0.11627890636242105, 0.6695332250811782, -1.5392937388488253}},
      {"TruncatedNormal",
       DT_FLOAT,
       0,
       7,
       {3, 5},
       {-0.235958233, -0.0451852269, 0.133451104, 0.192992792, -0.342383355,
        1.15601003},
       {0.129031628, -0.0902679935, 1.05353224, 1.28418732, 1.26288247,
        0.586943567}},
      {"TruncatedNormal",
       DT_DOUBLE,
       0,
       7,
       {3, 5},
       {-0.05072188245958234, 0.7168402467140261, -1.1687211534914121,
        0.5092211837203278, -1.2436262673398224, -1.979789728420087},
       {0.42306818650039585, 0.16904137628633298, -0.29574319511013486,
        0.006524490510837849, 1.043717286259805, 0.9341842150378349}},
      {"RandomUniform", DT_FLOAT, 0, 7, {1}, {0.971553445}, {0.778921962}},
      {"RandomStandardNormal",
       DT_FLOAT,
       0,
       7,
       {1},
       {-0.235958233},
       {-0.272417575}},
      {"TruncatedNormal", DT_FLOAT, 0, 7, {1}, {-0.235958233}, {-0.272417575}},
      {"RandomUniform",
       DT_FLOAT,
       0,
       7,
       {1000},
       {0.992867351, 0.575070977, 0.348913312},
       {0.833660841, 0.626802325, 0.786262393}},
      {"RandomStandardNormal",
       DT_FLOAT,
       0,
       7,
       {1000},
       {0.728599072, 0.855218291, -0.61247468},
       {0.467050433, -0.941584945, 0.218324915}},
      {"TruncatedNormal",
       DT_FLOAT,
       0,
       7,
       {1000},
       {0.262597412, 0.720220685, 0.0366298482},
       {1.25257885, -0.631861269, 1.65047514}},
  };
  return goldens;
}

std::vector<double> Values(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    values.push_back(tensor.dtype() == DT_FLOAT ? tensor.flat<float>()[i]
                                                : tensor.flat<double>()[i]);
  }
  return values;
}

std::vector<double> Excerpt(const Tensor& tensor) {
  const std::vector<double> all = Values(tensor);
  std::vector<double> result;
  if (all.size() < 1000) {
    result.assign(all.begin(), all.begin() + std::min<size_t>(3, all.size()));
  }
  if (all.size() > 1) result.insert(result.end(), all.end() - 3, all.end());
  return result;
}

void ExpectSame(const Tensor& tensor, const std::vector<double>& expected,
                bool exact) {
  const std::vector<double> values = Excerpt(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    // The last bit of logarithm and sine differs between libraries.
    const double tolerance = exact ? 5e-10 : 2e-6 * std::abs(expected[i]);
    EXPECT_NEAR(values[i], expected[i], tolerance) << "value " << i;
  }
}

TEST(RandomKernelsTest, StreamsMatchTensorFlow) {
  KernelTestHarness harness(RegisterRandomKernels);
  for (const Golden& golden : Goldens()) {
    SCOPED_TRACE(absl::StrCat(golden.op, " ", DataTypeName(golden.dtype), " ",
                              golden.seed, " ", golden.seed2));
    ASSERT_OK_AND_ASSIGN(auto kernel, harness.Make(golden.op, {DT_INT64},
                                                   {{"seed", golden.seed},
                                                    {"seed2", golden.seed2},
                                                    {"dtype", golden.dtype}}));
    const Tensor shape =
        Tensor::Vector(absl::Span<const int64_t>(golden.shape));
    const bool exact = std::string(golden.op) == "RandomUniform";
    ASSERT_OK_AND_ASSIGN(auto first, kernel->Run({shape}));
    ExpectSame(first[0], golden.first, exact);
    ASSERT_OK_AND_ASSIGN(auto second, kernel->Run({shape}));
    ExpectSame(second[0], golden.second, exact);
  }
}

// Returns the values of the first run, followed by those of the second.
template <typename T>
void ExpectRuns(KernelTestHarness& harness, const char* op,
                std::vector<DataType> types, AttrMap attrs,
                const std::vector<KernelInput>& inputs,
                const std::vector<std::vector<T>>& expected) {
  ASSERT_OK_AND_ASSIGN(auto kernel, harness.Make(op, types, std::move(attrs)));
  for (const std::vector<T>& run : expected) {
    ASSERT_OK_AND_ASSIGN(auto outputs, kernel->Run(inputs));
    const auto values = outputs[0].flat<T>();
    EXPECT_EQ(std::vector<T>(values.begin(), values.end()), run) << op;
  }
}

TEST(RandomKernelsTest, IntegersMatchTensorFlow) {
  KernelTestHarness harness(RegisterRandomKernels);
  const AttrMap seeds = {{"seed", int64_t{1}}, {"seed2", int64_t{2}}};
  ExpectRuns<int32_t>(
      harness, "RandomUniformInt", {DT_INT32, DT_INT32, DT_INT32}, seeds,
      {Tensor::Vector({4, 4}), Tensor::Scalar(-5), Tensor::Scalar(9)},
      {{0, -2, 1, -2, 4, 7, -4, -4, 8, 4, 7, 4, 1, 4, -5, -5},
       {-3, -2, 4, 4, 4, 6, -5, 4, 5, 8, 4, 5, 1, 6, 6, 0}});
  ExpectRuns<int64_t>(harness, "RandomUniformInt",
                      {DT_INT32, DT_INT64, DT_INT64}, seeds,
                      {Tensor::Vector({7}), Tensor::Scalar(int64_t{0}),
                       Tensor::Scalar(int64_t{1} << 40)},
                      {{910117045455, 950245201718, 355269394803, 1044823416721,
                        771281075797, 908942197830, 343027531602},
                       {380846432220, 161776542082, 406267695788, 393805947517,
                        731328424989, 665876687149, 412864055948}});
}

TEST(RandomKernelsTest, MultinomialMatchesTensorFlow) {
  KernelTestHarness harness(RegisterRandomKernels);
  const AttrMap seeds = {{"seed", int64_t{1}}, {"seed2", int64_t{2}}};
  ExpectRuns<int32_t>(
      harness, "RandomShuffle", {DT_INT32}, seeds,
      {Tensor::Vector({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {{9, 0, 8, 6, 1, 3, 7, 2, 4, 5}, {8, 7, 4, 3, 2, 1, 9, 5, 6, 0}});
  ExpectRuns<int64_t>(harness, "Multinomial", {DT_FLOAT, DT_INT32}, seeds,
                      {Tensor::FromValues<float>({2, 3}, {0, 1, -1, 5, 0, 0}),
                       Tensor::Scalar(6)},
                      {{1, 1, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0},
                       {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}});
}

TEST(RandomKernelsTest, StatelessMultinomialMatchesTensorFlow) {
  KernelTestHarness harness(RegisterRandomKernels);
  const Tensor logits = Tensor::FromValues<float>({2, 3}, {0, 1, -1, 5, 0, 0});
  const auto choose = [&](const Tensor& seed, DataType type) {
    return harness.RunOne("StatelessMultinomial",
                          {logits, Tensor::Scalar(6), seed},
                          {{"output_dtype", type}});
  };
  const Tensor seed = Tensor::Vector({int64_t{1}, int64_t{2}});
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor chosen, choose(seed, DT_INT64));
    EXPECT_THAT(chosen.flat<int64_t>(),
                testing::ElementsAre(1, 2, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0));
  }
  ASSERT_OK_AND_ASSIGN(
      const Tensor others,
      choose(Tensor::Vector({-7, std::numeric_limits<int32_t>::max()}),
             DT_INT32));
  EXPECT_THAT(others.flat<int32_t>(),
              testing::ElementsAre(1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(
      choose(Tensor::Vector({1}), DT_INT64),
      StatusIs(absl::StatusCode::kInvalidArgument, "seed must have shape [2]"));
}

TEST(RandomKernelsTest, ShuffleKeepsRowsTogether) {
  KernelTestHarness harness(RegisterRandomKernels);
  ASSERT_OK_AND_ASSIGN(
      Tensor strings,
      harness.RunOne("RandomShuffle",
                     {Tensor::FromValues<std::string>(
                         {3, 2}, {"a", "A", "b", "B", "c", "C"})}));
  std::vector<std::string> rows;
  for (size_t i = 0; i < 6; i += 2) {
    rows.push_back(strings.flat<std::string>()[i] +
                   strings.flat<std::string>()[i + 1]);
  }
  EXPECT_THAT(rows, testing::UnorderedElementsAre("aA", "bB", "cC"));
}

TEST(RandomKernelsTest, UnseededKernelsDiffer) {
  KernelTestHarness harness(RegisterRandomKernels);
  const AttrMap attrs = {{"dtype", DT_FLOAT}};
  ASSERT_OK_AND_ASSIGN(
      Tensor a, harness.RunOne("RandomUniform", {Tensor::Vector({8})}, attrs));
  ASSERT_OK_AND_ASSIGN(
      Tensor b, harness.RunOne("RandomUniform", {Tensor::Vector({8})}, attrs));
  EXPECT_FALSE(SameBits(a, b));
}

// More values than one thread produces: the stream must not depend on the
// number of threads.
TEST(RandomKernelsTest, LargeTensorsHaveTheSameStream) {
  KernelTestHarness harness(RegisterRandomKernels);
  const AttrMap attrs = {
      {"dtype", DT_FLOAT}, {"seed", int64_t{3}}, {"seed2", int64_t{4}}};
  for (const char* op :
       {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    ASSERT_OK_AND_ASSIGN(Tensor large,
                         harness.RunOne(op, {Tensor::Vector({300001})}, attrs));
    ASSERT_OK_AND_ASSIGN(Tensor small,
                         harness.RunOne(op, {Tensor::Vector({997})}, attrs));
    for (int i = 0; i < 997; ++i) {
      ASSERT_EQ(large.flat<float>()[i], small.flat<float>()[i]) << op << i;
    }
    const auto values = large.flat<float>();
    double sum = 0;
    for (float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    EXPECT_NEAR(mean, std::string(op) == "RandomUniform" ? 0.5 : 0, 0.01);
  }
}

TEST(RandomKernelsTest, SixteenBitTypesStayInRange) {
  KernelTestHarness harness(RegisterRandomKernels);
  ASSERT_OK_AND_ASSIGN(Tensor halves,
                       harness.RunOne("RandomUniform", {Tensor::Vector({1000})},
                                      {{"dtype", DT_HALF}}));
  for (half value : halves.flat<half>()) {
    EXPECT_GE(static_cast<float>(value), 0);
    EXPECT_LT(static_cast<float>(value), 1);
  }
  ASSERT_OK_AND_ASSIGN(
      Tensor brains, harness.RunOne("TruncatedNormal", {Tensor::Vector({999})},
                                    {{"dtype", DT_BFLOAT16}}));
  for (bfloat16 value : brains.flat<bfloat16>()) {
    EXPECT_LE(std::abs(static_cast<float>(value)), 2);
  }
}

TEST(RandomKernelsTest, BadInputsAreRefused) {
  KernelTestHarness harness(RegisterRandomKernels);
  const AttrMap attrs = {{"dtype", DT_FLOAT}};
  EXPECT_THAT(
      harness.RunOne("RandomUniform", {Tensor::Scalar(3)}, attrs),
      StatusIs(absl::StatusCode::kInvalidArgument, "shape must be a vector"));
  EXPECT_THAT(harness.RunOne("RandomUniform", {Tensor::Vector({-1})}, attrs),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      harness.RunOne("RandomUniform",
                     {Tensor::Vector({int64_t{1} << 40, int64_t{1} << 40})},
                     attrs),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(harness.RunOne(
                  "RandomUniformInt",
                  {Tensor::Vector({2}), Tensor::Scalar(5), Tensor::Scalar(5)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Need minval < maxval, got 5 >= 5"));
  EXPECT_THAT(harness.RunOne("Multinomial",
                             {Tensor::Vector({1.0f}), Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "matrix"));
  EXPECT_THAT(
      harness.RunOne("Multinomial",
                     {Tensor(DT_FLOAT, {1, 2}), Tensor::Scalar(-1)}),
      StatusIs(absl::StatusCode::kInvalidArgument, "nonnegative, got -1"));
}

TEST(RandomOpsTest, Shapes) {
  KernelTestHarness harness(RegisterRandomKernels);
  ASSERT_OK_AND_ASSIGN(
      auto uniform,
      harness.InferShapes("RandomUniform", {Tensor::Vector({3, 5})},
                          {{"dtype", DT_FLOAT}}));
  EXPECT_EQ(uniform[0], PartialShape({3, 5}));
  ASSERT_OK_AND_ASSIGN(
      auto multinomial,
      harness.InferShapes("Multinomial", {{DT_FLOAT, PartialShape({2, 3})},
                                          Tensor::Scalar(6)}));
  EXPECT_EQ(multinomial[0], PartialShape({2, 6}));
}

// More rows than one 32-bit number can distinguish. The lower half of the
// counter overflows, too.
TEST(PhiloxNumbersTest, LargeBoundsTakeTwoNumbers) {
  constexpr uint64_t k32Bits = uint64_t{1} << 32;
  PhiloxNumbers drawn(Philox(1, 2));
  std::vector<uint64_t> expected;
  for (int i = 0; i < 5; ++i) expected.push_back(drawn.Next());
  PhiloxNumbers numbers(Philox(1, 2));
  EXPECT_EQ(numbers.NextBelow(7), expected[0] % 7);
  EXPECT_EQ(numbers.NextBelow(k32Bits - 1), expected[1] % (k32Bits - 1));
  EXPECT_EQ(numbers.NextBelow(k32Bits), expected[2]);
  EXPECT_EQ(numbers.NextBelow(k32Bits + 3),
            (expected[3] + (expected[4] << 32)) % (k32Bits + 3));
}

TEST(PhiloxNumbersTest, ShufflesReserveAllTheirNumbers) {
  constexpr uint64_t k32Bits = uint64_t{1} << 32;
  EXPECT_EQ(PhiloxNumbers::NumbersToShuffle(0), 0u);
  EXPECT_EQ(PhiloxNumbers::NumbersToShuffle(1), 0u);
  EXPECT_EQ(PhiloxNumbers::NumbersToShuffle(5), 4u);
  EXPECT_EQ(PhiloxNumbers::NumbersToShuffle(k32Bits), k32Bits - 1);
  EXPECT_EQ(PhiloxNumbers::NumbersToShuffle(k32Bits + 2), k32Bits + 1 + 2);
}

TEST(PhiloxFillTest, InstructionSetsGiveTheSamplesOfPhilox) {
  constexpr int64_t kSamples = 150;
  for (uint64_t skipped : {uint64_t{0}, ~uint64_t{70}}) {
    Philox philox(0x123456789abcdef, 0xffffffff);
    philox.Skip(skipped);
    std::vector<Philox::Sample> expected;
    for (Philox next = philox; expected.size() < kSamples;) {
      expected.push_back(next.Next());
    }
    for (InstructionSet set : SupportedInstructionSets()) {
      for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{64}, kSamples}) {
        std::vector<Philox::Sample> samples(kSamples, Philox::Sample{});
        PhiloxFillFor(set)(philox.key().data(), philox.counter().data(),
                           samples[0].data(), count);
        for (int64_t i = 0; i < kSamples; ++i) {
          ASSERT_EQ(samples[i], i < count ? expected[i] : Philox::Sample{})
              << i << " of " << count;
        }
      }
    }
  }
}

// ---- Without state ----

class StatelessRandomTest : public testing::Test {
 protected:
  absl::StatusOr<Tensor> Make(const char* op, const Tensor& shape,
                              const Tensor& seed, DataType dtype = DT_FLOAT) {
    return harness_.RunOne(op, {shape, seed}, {{"dtype", dtype}});
  }

  KernelTestHarness harness_{RegisterRandomKernels};
  const Tensor seed_ = Tensor::Vector<int64_t>({12345, -7});
};

// Numbers must not depend on the size of the tensor or on the number of
// threads.
TEST_F(StatelessRandomTest, NumbersDependOnPositionOnly) {
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal",
                         "StatelessTruncatedNormal"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor many,
                         Make(op, Tensor::Vector<int32_t>({100003}), seed_));
    for (const int32_t size : {1, 3, 5, 1027}) {
      ASSERT_OK_AND_ASSIGN(const Tensor some,
                           Make(op, Tensor::Vector<int32_t>({size}), seed_));
      EXPECT_TRUE(std::equal(some.flat<float>().begin(),
                             some.flat<float>().end(),
                             many.flat<float>().begin()))
          << op << " " << size;
    }
  }
}

// The first versions of the ops derive the same key and counter from their
// seeds.
TEST_F(StatelessRandomTest, ASeedIsAKeyAndACounter) {
  ASSERT_OK_AND_ASSIGN(const auto parts,
                       harness_.Run("StatelessRandomGetKeyCounter", {seed_}));
  const Tensor shape = Tensor::Vector<int32_t>({7});
  ASSERT_OK_AND_ASSIGN(const Tensor by_seed,
                       Make("StatelessRandomUniform", shape, seed_));
  ASSERT_OK_AND_ASSIGN(
      const Tensor by_key,
      harness_.RunOne("StatelessRandomUniformV2",
                      {shape, parts[0], parts[1], Tensor::Scalar(1)}));
  EXPECT_TRUE(SameBits(by_seed, by_key));
}

TEST_F(StatelessRandomTest, BadInputsAreErrors) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const char* const op = "StatelessRandomUniform";
  const Tensor shape = Tensor::Vector<int32_t>({7});
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THAT(Make(op, Tensor::Vector<int32_t>({-1}), seed_),
              StatusIs(kInvalid));
  EXPECT_THAT(Make(op, Tensor::Vector<int64_t>({huge, huge, huge}), seed_),
              StatusIs(kInvalid));
  EXPECT_THAT(Make(op, Tensor::Vector<int64_t>({huge << 10}), seed_),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Make(op, Tensor::Scalar(7), seed_), StatusIs(kInvalid));
  EXPECT_THAT(Make(op, shape, Tensor::Vector<int64_t>({1})),
              StatusIs(kInvalid, "seed must have shape [2]"));
  EXPECT_THAT(Make("StatelessRandomUniformFullInt", shape,
                   Tensor::Vector<uint64_t>({1, 2}), DT_INT32),
              StatusIs(kInvalid, "Invalid seed type: uint64"));
  const Tensor key = Tensor::Vector<uint64_t>({1});
  // TensorFlow accepts this input and reads out of bounds.
  EXPECT_THAT(harness_.Run("StatelessRandomUniformV2",
                           {shape, key, key, Tensor::Scalar(1)}),
              StatusIs(kInvalid, "length at least 2"));
  const Tensor counter = Tensor::Vector<uint64_t>({1, 2});
  EXPECT_THAT(harness_.Run("StatelessRandomUniformV2",
                           {shape, key, counter, Tensor::Scalar(2)}),
              StatusIs(kInvalid, "Unsupported algorithm id: 2"));
  EXPECT_THAT(harness_.Run("StatelessRandomUniformIntV2",
                           {shape, key, counter, Tensor::Scalar(1),
                            Tensor::Scalar(3), Tensor::Scalar(3)}),
              StatusIs(kInvalid, "minval < maxval"));
}

}  // namespace
}  // namespace weft
