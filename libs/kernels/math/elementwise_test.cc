// Tests element-wise ops of one and two operands: values, broadcasting,
// domains, forwarding, and all registered types.
#include "libs/kernels/math/elementwise.h"

#include <cmath>
#include <complex>
#include <limits>

#include "libs/base/test_matchers.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return std::vector<T>(values.begin(), values.end());
}

Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Vector<float>(values);
}
Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector<int32_t>(values);
}

class MathElementwiseTest : public testing::Test {
 protected:
  std::vector<float> RunFloats(absl::string_view op,
                               std::vector<KernelInput> inputs) {
    absl::StatusOr<Tensor> result = harness_.RunOne(op, std::move(inputs));
    EXPECT_OK(result);
    return result.ok() ? ValuesOf<float>(*result) : std::vector<float>();
  }
  std::vector<int32_t> RunInts(absl::string_view op, Tensor x, Tensor y) {
    absl::StatusOr<Tensor> result = harness_.RunOne(op, {x, y});
    EXPECT_OK(result);
    return result.ok() ? ValuesOf<int32_t>(*result) : std::vector<int32_t>();
  }

  KernelTestHarness harness_{RegisterMathKernels};
};

TEST_F(MathElementwiseTest, BroadcastsAsNumPyDoes) {
  const Tensor column = Tensor::FromValues<float>(TensorShape({2, 1}), {1, 2});
  const Tensor row =
      Tensor::FromValues<float>(TensorShape({1, 1, 3}), {10, 20, 30});
  ASSERT_OK_AND_ASSIGN(Tensor sum, harness_.RunOne("AddV2", {column, row}));
  EXPECT_EQ(sum.shape(), TensorShape({1, 2, 3}));
  EXPECT_THAT(ValuesOf<float>(sum), ElementsAre(11, 21, 31, 12, 22, 32));
}

TEST_F(MathElementwiseTest, BroadcastsDimensionsInTheMiddle) {
  Tensor x(DT_INT32, TensorShape({2, 3, 2}));
  for (int i = 0; i < 12; ++i) x.mutable_flat<int32_t>()[i] = i;
  const Tensor y =
      Tensor::FromValues<int32_t>(TensorShape({2, 1, 2}), {100, 200, 300, 400});
  EXPECT_THAT(RunInts("Add", x, y), ElementsAre(100, 201, 102, 203, 104, 205,
                                                306, 407, 308, 409, 310, 411));
}

TEST_F(MathElementwiseTest, ScalarsCombineWithAnything) {
  EXPECT_THAT(RunFloats("Sub", {Floats({1, 2}), Tensor::Scalar(1.0f)}),
              ElementsAre(0, 1));
  EXPECT_THAT(RunFloats("Sub", {Tensor::Scalar(1.0f), Floats({1, 2})}),
              ElementsAre(0, -1));
  EXPECT_THAT(RunFloats("Mul", {Tensor::Scalar(3.0f), Tensor::Scalar(4.0f)}),
              ElementsAre(12));
}

// Finite values match TensorFlow's except for the last two digits.
TEST_F(MathElementwiseTest, PolygammaLeftOfZero) {
  EXPECT_THAT(
      RunFloats("Polygamma", {Tensor::Scalar(1.0f), Floats({-.5, -1.5})}),
      ElementsAre(FloatNear(8.934802f, 1e-5f), FloatNear(9.379247f, 1e-5f)));
  EXPECT_THAT(
      RunFloats("Polygamma", {Tensor::Scalar(2.0f), Floats({-2.5, -.3})}),
      ElementsAre(FloatNear(-0.10820405f, 1e-6f), FloatNear(67.63908f, 1e-4f)));
  // pi^2 / sin(pi / 2)^2 minus the trigamma function of 1000.5 + 1.
  EXPECT_THAT(RunFloats("Polygamma", {Tensor::Scalar(1.0f), Floats({-1000.5})}),
              ElementsAre(FloatNear(9.8686054f, 1e-5f)));
}

TEST_F(MathElementwiseTest, PolygammaAtThePoles) {
  const Tensor poles = Floats({0, -0.0f, -1, -7, -kInfinity});
  EXPECT_THAT(
      RunFloats("Polygamma", {Tensor::Scalar(1.0f), poles}),
      ElementsAre(kInfinity, kInfinity, kInfinity, kInfinity, kInfinity));
  for (const float order : {0.0f, 2.0f, 4.0f}) {
    EXPECT_THAT(RunFloats("Polygamma", {Tensor::Scalar(order), poles}),
                Each(IsNan()));
  }
}

// The factorial of 171 is infinite, so the result is infinite unless zeta is 0.
TEST_F(MathElementwiseTest, PolygammaOfOrdersWithoutFiniteFactorial) {
  const auto at = [&](double order, double x) {
    absl::StatusOr<Tensor> y = harness_.RunOne(
        "Polygamma", {Tensor::Scalar(order), Tensor::Scalar(x)});
    EXPECT_OK(y);
    return y.ok() ? y->scalar<double>() : 0;
  };
  constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(at(170, 2) / -2.4246705428834072e255, 1, 1e-12);
  EXPECT_EQ(at(171, 2), kDoubleInfinity);
  EXPECT_EQ(at(172, 2), -kDoubleInfinity);
  EXPECT_TRUE(std::isnan(at(1e6, 2)));
  EXPECT_TRUE(std::isnan(at(1.5, 2)));
  EXPECT_TRUE(std::isnan(at(-1, 2)));
}

TEST_F(MathElementwiseTest, DigammaKeepsDigitsFarLeftOfZero) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      harness_.RunOne("Digamma", {Tensor::Vector<double>({-1e6 - 0.25})}));
  // log(1000001.25) - 1 / 2000002.5 - pi / tan(-pi / 4).
  EXPECT_NEAR(y.flat<double>()[0], 16.957103961554, 1e-11);
}

TEST_F(MathElementwiseTest, EmptyTensorsStayEmpty) {
  ASSERT_OK_AND_ASSIGN(
      Tensor sum,
      harness_.RunOne(
          "AddV2", {Tensor(DT_FLOAT, TensorShape({0, 3})), Floats({1, 2, 3})}));
  EXPECT_EQ(sum.shape(), TensorShape({0, 3}));
}

TEST_F(MathElementwiseTest, RefusesShapesThatDoNotMatch) {
  EXPECT_THAT(harness_.Run("AddV2", {Floats({1, 2}), Floats({1, 2, 3})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Incompatible shapes: [2] vs. [3]"));
}

TEST_F(MathElementwiseTest, UnsharedOperandIsReused) {
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       harness_.Make("AddV2", {DT_FLOAT, DT_FLOAT}));
  const Tensor kept = Floats({1, 2});
  Tensor free = Floats({10, 20});
  const void* memory = free.data();
  std::vector<KernelInput> inputs;
  inputs.emplace_back(kept);
  inputs.emplace_back(std::move(free));
  ASSERT_OK_AND_ASSIGN(auto outputs, kernel->Run(std::move(inputs)));
  EXPECT_EQ(outputs[0].data(), memory);
  EXPECT_THAT(ValuesOf<float>(outputs[0]), ElementsAre(11, 22));
  EXPECT_THAT(ValuesOf<float>(kept), ElementsAre(1, 2));
}

TEST_F(MathElementwiseTest, LargeTensorsAreSplitWithoutLosingAnything) {
  const int64_t n = 300'000;
  Tensor x(DT_INT64, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) x.mutable_flat<int64_t>()[i] = i;
  ASSERT_OK_AND_ASSIGN(Tensor sum, harness_.RunOne("AddV2", {x, x}));
  ASSERT_OK_AND_ASSIGN(
      Tensor table,
      harness_.RunOne("Mul", {*x.Reshaped({n / 3, 3}),
                              Tensor::Vector<int64_t>({1, 2, 3})}));
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(sum.flat<int64_t>()[i], 2 * i);
    ASSERT_EQ(table.flat<int64_t>()[i], i * (i % 3 + 1));
  }
}

// Returns all bit patterns of a half or bfloat16.
template <typename T>
std::vector<T> AllNumbers() {
  std::vector<T> numbers(1 << 16);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i].bits = static_cast<uint16_t>(i);
  }
  return numbers;
}

// Returns, as floats, all numbers of T, the midpoints of adjacent numbers, and
// the float neighbors of both.
template <typename T>
std::vector<float> FloatsAround() {
  std::vector<float> floats;
  for (const T number : AllNumbers<T>()) {
    T next = number;
    next.bits = static_cast<uint16_t>(next.bits + 1);
    const float middle =
        (static_cast<float>(number) + static_cast<float>(next)) / 2;
    for (const float x : {static_cast<float>(number), middle}) {
      floats.push_back(x);
      floats.push_back(std::nextafter(x, kInfinity));
      floats.push_back(std::nextafter(x, -kInfinity));
    }
  }
  return floats;
}

template <typename T>
class NarrowTest : public MathElementwiseTest {};

using NarrowNumbers = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(NarrowTest, NarrowNumbers);

TYPED_TEST(NarrowTest, BulkConversionsEqualThoseOfSingleNumbers) {
  const std::vector<TypeParam> numbers = AllNumbers<TypeParam>();
  const std::vector<float> floats = FloatsAround<TypeParam>();
  for (const InstructionSet set : SupportedInstructionSets()) {
    const auto loops = NarrowLoopsFor<TypeParam>(set);
    std::vector<float> wide(numbers.size());
    loops.widen(numbers.data(), wide.data(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const float want = numbers[i];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(wide[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]),
                  std::bit_cast<uint32_t>(want))
            << i;
      }
    }
    std::vector<TypeParam> narrow(floats.size());
    loops.narrow(floats.data(), narrow.data(), floats.size());
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(narrow[i].bits, TypeParam(floats[i]).bits) << floats[i];
    }
  }
}

TYPED_TEST(NarrowTest, ConversionsOfAnyLengthWriteNoMore) {
  const std::vector<float> floats = FloatsAround<TypeParam>();
  for (const InstructionSet set : SupportedInstructionSets()) {
    const auto loops = NarrowLoopsFor<TypeParam>(set);
    for (int64_t n = 0; n < 70; ++n) {
      const float* const from = floats.data() + 12345 + n;
      std::vector<TypeParam> narrow(n + 2, TypeParam(7.0f));
      loops.narrow(from, narrow.data() + 1, n);
      std::vector<float> wide(n + 2, 7.0f);
      loops.widen(narrow.data() + 1, wide.data() + 1, n);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(narrow[i + 1].bits, TypeParam(from[i]).bits);
        ASSERT_EQ(wide[i + 1], static_cast<float>(narrow[i + 1]));
      }
      EXPECT_EQ(static_cast<float>(narrow.front()), 7.0f);
      EXPECT_EQ(static_cast<float>(narrow.back()), 7.0f);
      EXPECT_EQ(wide.front(), 7.0f);
      EXPECT_EQ(wide.back(), 7.0f);
    }
  }
}

// On some instruction sets Eigen's exponential of floats overflows at 88.38; it
// must overflow at 88.72.
TEST_F(MathElementwiseTest, ExpOverflowsAtTheLargestFloat) {
  for (const InstructionSet set : SupportedInstructionSets()) {
    const UnaryLoop exp =
        ForInstructionSet(set, &v1::Elementwise, &v3::Elementwise,
                          &v4::Elementwise)()
            .find_unary("Exp", LoopType::kFloat);
    const std::vector<float> x = {88.3f,     88.5f,  88.7f,   88.73f,
                                  kInfinity, -88.0f, -104.0f, -kInfinity};
    std::vector<float> y(x.size());
    exp(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = std::exp(x[i]);
      if (std::isinf(want)) {
        EXPECT_EQ(y[i], want) << x[i];
      } else {
        EXPECT_NEAR(y[i], want, want * 1e-5f) << x[i];
      }
    }
  }
}

// Each result is the float result, rounded once, wherever the element lies.
TYPED_TEST(NarrowTest, OpsComputeAsFloats) {
  const DataType type = DataTypeOf<TypeParam>::value;
  const auto cast = [&](Tensor x, DataType to) {
    return *this->harness_.RunOne("Cast", {x}, {{"DstT", to}});
  };
  for (const int64_t n : {1, 7, 128, 255, 511, 512, 513, 1300}) {
    Tensor x(DT_FLOAT, {n}), y(DT_FLOAT, {n});
    for (int64_t i = 0; i < n; ++i) {
      x.mutable_flat<float>()[i] = static_cast<float>(i % 37) / 8 - 2;
      y.mutable_flat<float>()[i] = static_cast<float>(i % 11) / 4 - 1;
    }
    x.mutable_flat<float>()[0] = -0.0f;
    x.mutable_flat<float>()[n - 1] = n % 2 == 0 ? kInfinity : kNan;
    const Tensor a = cast(x, type), b = cast(y, type);
    const Tensor scalar = cast(Tensor::Scalar(0.75f), type);
    const auto check = [&](const char* op, std::vector<KernelInput> narrow,
                           std::vector<KernelInput> wide) {
      ASSERT_OK_AND_ASSIGN(const Tensor got,
                           this->harness_.RunOne(op, std::move(narrow)));
      ASSERT_OK_AND_ASSIGN(Tensor want,
                           this->harness_.RunOne(op, std::move(wide)));
      want = cast(std::move(want), type);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(got.flat<TypeParam>()[i].bits, want.flat<TypeParam>()[i].bits)
            << op << " of " << n << " at " << i;
      }
    };
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Maximum", "Minimum"}) {
      check(op, {a, b}, {x, y});
      check(op, {a, scalar}, {x, Tensor::Scalar(0.75f)});
      check(op, {scalar, b}, {Tensor::Scalar(0.75f), y});
    }
    for (const char* op : {"Exp", "Tanh", "Sigmoid", "Square", "Neg", "Sqrt",
                           "Rsqrt", "Reciprocal", "Sin", "Cos"}) {
      check(op, {a}, {x});
    }
  }
}

// TensorFlow subtracts and multiplies numbers of that type, too.
TYPED_TEST(NarrowTest, ASquaredDifferenceIsTheSquareOfARoundedOne) {
  for (const int64_t n : {1, 255, 1300}) {
    Tensor x(DataTypeOf<TypeParam>::value, {n}), y(x.dtype(), {n});
    for (int64_t i = 0; i < n; ++i) {
      x.mutable_flat<TypeParam>()[i] =
          TypeParam(1 + static_cast<float>(i % 37) / 128);
      y.mutable_flat<TypeParam>()[i] =
          TypeParam(-0.3f - static_cast<float>(i % 11) / 97);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         this->harness_.RunOne("SquaredDifference", {x, y}));
    for (int64_t i = 0; i < n; ++i) {
      const TypeParam difference(static_cast<float>(x.flat<TypeParam>()[i]) -
                                 static_cast<float>(y.flat<TypeParam>()[i]));
      const float by = difference;
      ASSERT_EQ(got.flat<TypeParam>()[i].bits, TypeParam(by * by).bits) << i;
    }
  }
}

TEST_F(MathElementwiseTest, IntegerDivisionsRoundByTheirNames) {
  const Tensor x = Ints({7, -7, 7, -7});
  const Tensor y = Ints({2, 2, -2, -2});
  EXPECT_THAT(RunInts("FloorDiv", x, y), ElementsAre(3, -4, -4, 3));
  EXPECT_THAT(RunInts("Div", x, y), ElementsAre(3, -3, -3, 3));
  EXPECT_THAT(RunInts("TruncateDiv", x, y), ElementsAre(3, -3, -3, 3));
  const Tensor z = Ints({3, 3, -3, -3});
  EXPECT_THAT(RunInts("FloorMod", x, z), ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(RunInts("Mod", x, z), ElementsAre(1, -1, 1, -1));
}

// C++'s division of one element, rounded down.
template <typename T>
T Floored(T x, T y) {
  return static_cast<T>(x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
}

// Division of many dividends by one divisor has its own code path.
template <typename T>
void ExpectFlooredByOneDivisor(KernelTestHarness& harness) {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::min(), most = Limits::max();
  std::vector<T> numbers = {least, static_cast<T>(least + 1),
                            static_cast<T>(most - 1), most};
  for (T x = -300; x <= 300; ++x) numbers.push_back(x);
  for (T x = 3; x < most / 5; x *= 3) {
    for (const T near : {T(x - 1), x, T(x + 1)}) {
      numbers.insert(numbers.end(), {near, T(-near), T(most - near)});
    }
  }
  for (int bit = 0; bit < Limits::digits; ++bit) {
    const T power = static_cast<T>(T(1) << bit);
    numbers.insert(numbers.end(), {power, T(-power), T(power - 1)});
  }
  const Tensor x = Tensor::Vector(absl::Span<const T>(numbers));
  for (const T divisor : numbers) {
    if (divisor == 0 || divisor == -1) continue;
    const Tensor y = Tensor::Scalar(divisor);
    ASSERT_OK_AND_ASSIGN(const Tensor div, harness.RunOne("FloorDiv", {x, y}));
    ASSERT_OK_AND_ASSIGN(const Tensor mod, harness.RunOne("FloorMod", {x, y}));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const T quotient = Floored(numbers[i], divisor);
      const auto rest = static_cast<T>(static_cast<uint64_t>(numbers[i]) -
                                       static_cast<uint64_t>(quotient) *
                                           static_cast<uint64_t>(divisor));
      ASSERT_EQ(div.flat<T>()[i], quotient) << numbers[i] << " / " << divisor;
      ASSERT_EQ(mod.flat<T>()[i], rest) << numbers[i] << " % " << divisor;
    }
  }
}

TEST_F(MathElementwiseTest, FloorDivByOneDivisorMatchesElementwise) {
  ExpectFlooredByOneDivisor<int32_t>(harness_);
  ExpectFlooredByOneDivisor<int64_t>(harness_);
  const Tensor none(DT_INT64, TensorShape({0}));
  for (const Tensor& one :
       {Tensor::Scalar<int64_t>(2), Tensor::Vector<int64_t>({2})}) {
    for (const auto& [x, y] : {std::pair{none, one}, {one, none}}) {
      ASSERT_OK_AND_ASSIGN(const Tensor empty,
                           harness_.RunOne("FloorMod", {x, y}));
      EXPECT_EQ(empty.num_elements(), 0);
    }
  }
  EXPECT_THAT(
      harness_.Run("FloorDiv", {Ints({1, 2}), Tensor::Scalar(0)}),
      StatusIs(absl::StatusCode::kInvalidArgument, "Integer division by zero"));
}

TEST_F(MathElementwiseTest, IntegerDivisionByZeroIsAnError) {
  for (const char* op :
       {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod", "TruncateMod"}) {
    EXPECT_THAT(harness_.Run(op, {Ints({1, 2}), Ints({1, 0})}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "Integer division by zero"))
        << op;
  }
}

TEST_F(MathElementwiseTest, TheSmallestIntegerWrapsInsteadOfTrapping) {
  const int32_t lowest = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(RunInts("FloorDiv", Ints({lowest}), Ints({-1})),
              ElementsAre(lowest));
  EXPECT_THAT(RunInts("Mod", Ints({lowest}), Ints({-1})), ElementsAre(0));
  EXPECT_THAT(RunInts("Sub", Ints({lowest}), Ints({1})),
              ElementsAre(std::numeric_limits<int32_t>::max()));
}

TEST_F(MathElementwiseTest, PowersOfIntegers) {
  EXPECT_THAT(RunInts("Pow", Ints({2, 3, -2}), Ints({5, 0, 3})),
              ElementsAre(32, 1, -8));
  EXPECT_THAT(harness_.Run("Pow", {Ints({2}), Ints({-1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, "negative integer"));
}

TEST_F(MathElementwiseTest, NanWinsInMaximumAndMinimum) {
  for (const char* op : {"Maximum", "Minimum"}) {
    const auto values =
        RunFloats(op, {Floats({kNan, 1, 3}), Floats({1, kNan, 3})});
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << op;
    EXPECT_EQ(values[2], 3);
    // The same in vectorized loops.
    Tensor x(DT_FLOAT, TensorShape({64}));
    x.mutable_flat<float>()[5] = kNan;
    const Tensor zeros(DT_FLOAT, TensorShape({64}));
    EXPECT_TRUE(std::isnan(RunFloats(op, {x, zeros})[5])) << op;
    EXPECT_TRUE(std::isnan(RunFloats(op, {zeros, x})[5])) << op;
  }
}

TEST_F(MathElementwiseTest, StringsJoin) {
  ASSERT_OK_AND_ASSIGN(
      Tensor joined,
      harness_.RunOne("Add", {Tensor::Vector<std::string>({"a", "b"}),
                              Tensor::Scalar("-x")}));
  EXPECT_THAT(ValuesOf<std::string>(joined), ElementsAre("a-x", "b-x"));
}

TEST_F(MathElementwiseTest, ComparisonsKnowNan) {
  ASSERT_OK_AND_ASSIGN(
      Tensor equal,
      harness_.RunOne("Equal", {Floats({1, kNan}), Floats({1, kNan})}));
  EXPECT_THAT(ValuesOf<bool>(equal), ElementsAre(true, false));
}

template <typename T>
class IntegerDistanceTest : public MathElementwiseTest {};

using SignedIntegers = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerDistanceTest, SignedIntegers);

// The distance between the limits of the type overflows it.
TYPED_TEST(IntegerDistanceTest, FarIntegersAreNotNear) {
  constexpr TypeParam kLow = std::numeric_limits<TypeParam>::min();
  constexpr TypeParam kHigh = std::numeric_limits<TypeParam>::max();
  const Tensor x = Tensor::Vector<TypeParam>({kLow, kHigh, kLow, -1, 5});
  const Tensor y = Tensor::Vector<TypeParam>({kHigh, kLow, kLow + 2, 1, 8});
  ASSERT_OK_AND_ASSIGN(
      const Tensor near,
      this->harness_.RunOne("ApproximateEqual", {x, y}, {{"tolerance", 2.0f}}));
  EXPECT_THAT(ValuesOf<bool>(near),
              ElementsAre(false, false, true, true, false));
}

TEST_F(MathElementwiseTest, LenientEqualityTreatsShapesAsUnequal) {
  ASSERT_OK_AND_ASSIGN(
      Tensor equal, harness_.RunOne("NotEqual", {Ints({1, 2}), Ints({1, 2, 3})},
                                    {{"incompatible_shape_error", false}}));
  EXPECT_EQ(equal.shape(), TensorShape());
  EXPECT_TRUE(equal.scalar<bool>());
}

TEST_F(MathElementwiseTest, VectorMathKeepsSpecialValues) {
  // Long enough for vectors and a remainder.
  Tensor x(DT_FLOAT, TensorShape({19}));
  x.mutable_flat<float>()[3] = kInfinity;
  x.mutable_flat<float>()[4] = -kInfinity;
  x.mutable_flat<float>()[18] = kNan;
  const auto exp = RunFloats("Exp", {x});
  EXPECT_EQ(exp[3], kInfinity);
  EXPECT_NEAR(exp[4], 0, 1e-37);
  EXPECT_TRUE(std::isnan(exp[18]));
  const auto tanh = RunFloats("Tanh", {x});
  EXPECT_EQ(tanh[3], 1);
  EXPECT_EQ(tanh[4], -1);
  const auto sigmoid = RunFloats("Sigmoid", {x});
  EXPECT_EQ(sigmoid[0], 0.5f);
  EXPECT_EQ(sigmoid[3], 1);
  EXPECT_NEAR(sigmoid[4], 0, 1e-37);
}

// Real functions agree with the C library in every loop.
TEST_F(MathElementwiseTest, FunctionsAgreeWithTheCLibrary) {
  struct Function {
    const char* op;
    double (*reference)(double);
  };
  const Function functions[] = {
      {"Exp", std::exp},     {"Expm1", std::expm1}, {"Log", std::log},
      {"Log1p", std::log1p}, {"Sqrt", std::sqrt},   {"Sin", std::sin},
      {"Cos", std::cos},     {"Tan", std::tan},     {"Atan", std::atan},
      {"Sinh", std::sinh},   {"Cosh", std::cosh},   {"Tanh", std::tanh},
      {"Erf", std::erf},     {"Floor", std::floor}, {"Ceil", std::ceil},
      {"Rint", std::rint},   {"Round", std::rint}};
  for (const Function& function : functions) {
    Tensor x(DT_DOUBLE, TensorShape({37}));
    Tensor narrow(DT_FLOAT, TensorShape({37}));
    for (int i = 0; i < 37; ++i) {
      x.mutable_flat<double>()[i] = 0.1 + i * 0.15;
      narrow.mutable_flat<float>()[i] = static_cast<float>(0.1 + i * 0.15);
    }
    ASSERT_OK_AND_ASSIGN(Tensor wide_y, harness_.RunOne(function.op, {x}));
    ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne(function.op, {narrow}));
    for (int i = 0; i < 37; ++i) {
      const double want = function.reference(x.flat<double>()[i]);
      const double narrow_want = function.reference(narrow.flat<float>()[i]);
      EXPECT_NEAR(wide_y.flat<double>()[i], want, 1e-12 * (1 + std::fabs(want)))
          << function.op << " of " << x.flat<double>()[i];
      EXPECT_NEAR(y.flat<float>()[i], narrow_want,
                  2e-6 * (1 + std::fabs(narrow_want)))
          << function.op << " of " << x.flat<double>()[i];
    }
  }
}

// A naive log(1 + x) would be 0 or have the wrong sign here. Lengths that are
// not multiples of the vector size are covered, too.
TEST_F(MathElementwiseTest, Log1pIsRightNearZeroAndAtItsEnds) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {1e-8,  -1e-8, -0.0, 0.0,     -1.0,  -2.0,
                                      inf,   -inf,  1e-3, -0.9375, 1e-30, 0.25,
                                      -0.25, 3e38,  1e5,  -1e-20};
  for (int64_t n = 1; n <= 17; ++n) {
    Tensor x(DT_DOUBLE, TensorShape({n}));
    Tensor narrow(DT_FLOAT, TensorShape({n}));
    for (int64_t i = 0; i < n; ++i) {
      x.mutable_flat<double>()[i] = values[(i + n) % values.size()];
      narrow.mutable_flat<float>()[i] =
          static_cast<float>(values[(i + n) % values.size()]);
    }
    ASSERT_OK_AND_ASSIGN(Tensor wide_y, harness_.RunOne("Log1p", {x}));
    ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne("Log1p", {narrow}));
    const auto expect = [](double got, double of, double tolerance) {
      const double want = std::log1p(of);
      if (std::isfinite(want)) {
        EXPECT_NEAR(got, want, tolerance * std::fabs(want)) << of;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << of;
      } else {
        EXPECT_EQ(std::isnan(got), std::isnan(want)) << of;
        EXPECT_EQ(std::isinf(got), std::isinf(want)) << of;
      }
    };
    for (int64_t i = 0; i < n; ++i) {
      expect(wide_y.flat<double>()[i], x.flat<double>()[i], 1e-15);
      expect(y.flat<float>()[i], narrow.flat<float>()[i], 4e-7);
    }
  }
}

// Addition works for each type registered for it.
TEST_F(MathElementwiseTest, EveryTypeAddsAndMultiplies) {
  const DataType types[] = {DT_FLOAT,     DT_DOUBLE,    DT_HALF,  DT_BFLOAT16,
                            DT_INT8,      DT_UINT8,     DT_INT16, DT_UINT16,
                            DT_INT32,     DT_UINT32,    DT_INT64, DT_UINT64,
                            DT_COMPLEX64, DT_COMPLEX128};
  for (DataType type : types) {
    ASSERT_OK_AND_ASSIGN(Tensor x, harness_.RunOne("Cast", {Floats({1, 2, 3})},
                                                   {{"DstT", type}}));
    ASSERT_OK_AND_ASSIGN(Tensor sum, harness_.RunOne("AddV2", {x, x}));
    ASSERT_OK_AND_ASSIGN(Tensor product, harness_.RunOne("Mul", {sum, x}));
    ASSERT_OK_AND_ASSIGN(
        Tensor back, harness_.RunOne("Cast", {product}, {{"DstT", DT_FLOAT}}));
    EXPECT_THAT(ValuesOf<float>(back), ElementsAre(2, 8, 18))
        << DataTypeName(type);
  }
}

TEST_F(MathElementwiseTest, CastOutOfRangeGivesTheSmallestInteger) {
  ASSERT_OK_AND_ASSIGN(
      Tensor y, harness_.RunOne("Cast", {Floats({1e20f, -1e20f, kNan, -1.9f})},
                                {{"DstT", DT_INT32}}));
  const int32_t lowest = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(ValuesOf<int32_t>(y), ElementsAre(lowest, lowest, lowest, -1));
}

TEST_F(MathElementwiseTest, TruncatingCastDoesNotRound) {
  // 1 + 127/16384 lies just below a bfloat16. Truncation must not reach that
  // number.
  const Tensor x = Floats({1.00775146484375f});
  ASSERT_OK_AND_ASSIGN(Tensor rounded,
                       harness_.RunOne("Cast", {x}, {{"DstT", DT_BFLOAT16}}));
  ASSERT_OK_AND_ASSIGN(
      Tensor cut, harness_.RunOne("Cast", {x},
                                  {{"DstT", DT_BFLOAT16}, {"Truncate", true}}));
  EXPECT_EQ(static_cast<float>(rounded.flat<bfloat16>()[0]), 1.0078125f);
  EXPECT_EQ(static_cast<float>(cut.flat<bfloat16>()[0]), 1.0f);
}

// Covers vectors and remainders.
TEST_F(MathElementwiseTest, SelectChoosesAmongAnyNumberOfElements) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_INT16}) {
    for (const int64_t n : {1, 2, 3, 4, 5, 17}) {
      Tensor condition(DT_BOOL, TensorShape({n}));
      Tensor yes(DT_INT32, TensorShape({n})), no(DT_INT32, TensorShape({n}));
      Tensor want(DT_INT32, TensorShape({n}));
      for (int32_t i = 0; i < n; ++i) {
        condition.mutable_flat<bool>()[i] = i % 3 != 1;
        yes.mutable_flat<int32_t>()[i] = i + 1;
        no.mutable_flat<int32_t>()[i] = -i;
        want.mutable_flat<int32_t>()[i] = i % 3 != 1 ? i + 1 : -i;
      }
      const auto cast = [&](const Tensor& x, DataType to) {
        return *harness_.RunOne("Cast", {x}, {{"DstT", to}});
      };
      for (const char* op : {"Select", "SelectV2"}) {
        ASSERT_OK_AND_ASSIGN(
            Tensor got,
            harness_.RunOne(op, {condition, cast(yes, type), cast(no, type)}));
        EXPECT_TRUE(SameBits(cast(got, DT_INT32), want)) << op << " of " << n;
      }
    }
  }
}

TEST_F(MathElementwiseTest, SelectChoosesElementsOrRows) {
  const Tensor yes =
      Tensor::FromValues<int32_t>(TensorShape({2, 2}), {1, 2, 3, 4});
  const Tensor no =
      Tensor::FromValues<int32_t>(TensorShape({2, 2}), {-1, -2, -3, -4});
  const Tensor rows = Tensor::Vector<bool>({false, true});
  ASSERT_OK_AND_ASSIGN(Tensor chosen,
                       harness_.RunOne("Select", {rows, yes, no}));
  EXPECT_THAT(ValuesOf<int32_t>(chosen), ElementsAre(-1, -2, 3, 4));
  ASSERT_OK_AND_ASSIGN(Tensor columns,
                       harness_.RunOne("SelectV2", {rows, yes, no}));
  EXPECT_THAT(ValuesOf<int32_t>(columns), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(harness_.Run("Select", {Tensor::Vector<bool>({true}),
                                      Floats({1, 2}), Floats({3, 4})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "must have the same size and shape"));
}

// Computes x * 2 * half, where half has x's shape or another one.
class MulInTurnTest : public MathElementwiseTest {
 protected:
  absl::StatusOr<Tensor> Run(const Tensor& x, const Tensor& last,
                             std::initializer_list<int32_t> shape,
                             bool shape_first = false) {
    return harness_.RunOne("_MulInTurn",
                           {x, Tensor::Scalar(2.0f), last, Ints(shape)},
                           {{"N", 2}, {"shape_first", shape_first}});
  }
  // Computes the same with the nodes that _MulInTurn replaces.
  absl::StatusOr<Tensor> ByMul(const Tensor& x, const Tensor& last) {
    ASSIGN_OR_RETURN(Tensor twice,
                     harness_.RunOne("Mul", {x, Tensor::Scalar(2.0f)}));
    return harness_.RunOne("Mul", {twice, last});
  }
};

TEST_F(MulInTurnTest, EqualsTheReplacedProducts) {
  const Tensor third =
      Tensor::FromValues<float>(TensorShape({1, 1}), {1 / 3.0f});
  // Sizes beyond one block and one thread. Some values overflow to infinity or
  // underflow when doubled.
  for (const int64_t rows : {0, 1, 7, 900, 60001}) {
    Tensor x(DT_FLOAT, TensorShape({rows, 3}));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const float all[] = {-0.0f, 3e38f, 1e-45f, kNan, -kInfinity};
      x.mutable_flat<float>()[i] =
          i % 8 < 5 ? all[i % 8] : .7f * static_cast<float>(i);
    }
    ASSERT_OK_AND_ASSIGN(Tensor want, ByMul(x, third));
    ASSERT_OK_AND_ASSIGN(Tensor got,
                         Run(x, third, {static_cast<int32_t>(rows), 3}));
    EXPECT_TRUE(SameBits(got, want)) << rows;
  }
}

TEST_F(MulInTurnTest, OtherShapesBroadcastAsInMul) {
  const Tensor half = Tensor::Scalar(.5f);
  const Tensor row = Tensor::FromValues<float>(TensorShape({1, 2}), {1, 3});
  ASSERT_OK_AND_ASSIGN(Tensor rows, Run(row, half, {3, 2}));
  EXPECT_EQ(rows.shape(), TensorShape({3, 2}));
  EXPECT_THAT(ValuesOf<float>(rows), ElementsAre(1, 3, 1, 3, 1, 3));
  const Tensor column = Tensor::FromValues<float>(TensorShape({2, 1}), {1, 3});
  ASSERT_OK_AND_ASSIGN(Tensor columns, Run(column, half, {3}));
  EXPECT_THAT(ValuesOf<float>(columns), ElementsAre(1, 1, 1, 3, 3, 3));
  // The shape may be smaller than x's.
  ASSERT_OK_AND_ASSIGN(Tensor same, Run(row, half, {2}));
  EXPECT_EQ(same.shape(), TensorShape({1, 2}));
  EXPECT_THAT(ValuesOf<float>(same), ElementsAre(1, 3));
  ASSERT_OK_AND_ASSIGN(Tensor none, Run(row, half, {0, 2}));
  EXPECT_EQ(none.shape(), TensorShape({0, 2}));
}

TEST_F(MulInTurnTest, ShapeErrorsEqualThoseOfMul) {
  const Tensor half = Tensor::Scalar(.5f);
  const Tensor x = Floats({1, 2, 3});
  EXPECT_THAT(Run(x, half, {2}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "Incompatible shapes: [3] vs. [2]"));
  EXPECT_THAT(Run(x, half, {2}, /*shape_first=*/true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Incompatible shapes: [2] vs. [3]"));
  EXPECT_THAT(Run(x, Floats({1, 2}), {3}),
              StatusIs(absl::StatusCode::kInvalidArgument, "one"));
}

TEST_F(MulInTurnTest, RoundsSmallFloatsAfterEachProduct) {
  const auto small = [](float value) {
    return Tensor::Vector<bfloat16>({static_cast<bfloat16>(value)});
  };
  const Tensor factor = Tensor::Scalar(static_cast<bfloat16>(1.1f));
  ASSERT_OK_AND_ASSIGN(Tensor once,
                       harness_.RunOne("Mul", {small(3.3f), factor}));
  ASSERT_OK_AND_ASSIGN(Tensor want, harness_.RunOne("Mul", {once, factor}));
  ASSERT_OK_AND_ASSIGN(
      Tensor got,
      harness_.RunOne("_MulInTurn", {small(3.3f), factor, factor, Ints({1})},
                      {{"N", 2}}));
  EXPECT_TRUE(SameBits(got, want));
}

// In C++, shifts by negative numbers or by more bits than the type has are
// undefined.
TEST_F(MathElementwiseTest, OutOfRangeShiftsAreClamped) {
  const int32_t least = std::numeric_limits<int32_t>::min();
  const Tensor by = Ints({-1, least, 31, 32, 40});
  EXPECT_THAT(RunInts("LeftShift", Ints({5, 5, 5, 5, 5}), by),
              ElementsAre(5, 5, least, least, least));
  EXPECT_THAT(RunInts("RightShift", Ints({-5, -5, -5, 5, least}), by),
              ElementsAre(-5, -5, -1, 0, -1));
  const auto byte = [](std::initializer_list<uint8_t> values) {
    return Tensor::Vector<uint8_t>(values);
  };
  ASSERT_OK_AND_ASSIGN(
      Tensor shifted,
      harness_.RunOne("RightShift", {byte({255, 255}), byte({7, 200})}));
  EXPECT_THAT(ValuesOf<uint8_t>(shifted), ElementsAre(1, 1));
}

TEST_F(MathElementwiseTest, CountsTheBitsOfNegativeNumbers) {
  ASSERT_OK_AND_ASSIGN(
      Tensor counts,
      harness_.RunOne("PopulationCount",
                      {Ints({0, -1, std::numeric_limits<int32_t>::min()})}));
  EXPECT_THAT(ValuesOf<uint8_t>(counts), ElementsAre(0, 32, 1));
}

// Parts get their own memory, because they are smaller than the complex
// numbers.
TEST_F(MathElementwiseTest, ComplexNumbersAndTheirParts) {
  ASSERT_OK_AND_ASSIGN(
      Tensor joined,
      harness_.RunOne("Complex", {Floats({3, -1}), Tensor::Scalar(4.0f)}));
  EXPECT_THAT(
      ValuesOf<std::complex<float>>(joined),
      ElementsAre(std::complex<float>(3, 4), std::complex<float>(-1, 4)));
  EXPECT_THAT(RunFloats("Real", {joined}), ElementsAre(3, -1));
  EXPECT_THAT(RunFloats("Imag", {joined}), ElementsAre(4, 4));
  EXPECT_EQ(RunFloats("ComplexAbs", {joined})[0], 5);
  ASSERT_OK_AND_ASSIGN(Tensor conjugate, harness_.RunOne("Conj", {joined}));
  EXPECT_THAT(RunFloats("Imag", {conjugate}), ElementsAre(-4, -4));
}

TEST_F(MathElementwiseTest, ZeroTimesNaNIsZero) {
  EXPECT_THAT(
      RunFloats("MulNoNan", {Floats({kNan, kInfinity}), Floats({0, 0})}),
      ElementsAre(0, 0));
  EXPECT_THAT(RunFloats("Xlogy", {Floats({0, 0}), Floats({0, kNan})}),
              ElementsAre(0, 0));
  EXPECT_THAT(RunFloats("Xlog1py", {Floats({0, 0}), Floats({-1, kNan})}),
              ElementsAre(0, 0));
}

TEST_F(MathElementwiseTest, QuantilesAtTheirLimits) {
  const auto all = RunFloats("Ndtri", {Floats({0, 0.5f, 1, -1, kNan})});
  EXPECT_EQ(all[0], -kInfinity);
  EXPECT_EQ(all[1], 0);
  EXPECT_EQ(all[2], kInfinity);
  EXPECT_TRUE(std::isnan(all[3]) && std::isnan(all[4]));
  const auto inverse = RunFloats("Erfinv", {Floats({-1, 0, 1, 2, 0.5f})});
  EXPECT_EQ(inverse[0], -kInfinity);
  EXPECT_EQ(inverse[1], 0);
  EXPECT_EQ(inverse[2], kInfinity);
  EXPECT_TRUE(std::isnan(inverse[3]));
  EXPECT_NEAR(inverse[4], 0.47693628, 1e-6);
}

}  // namespace
}  // namespace weft
