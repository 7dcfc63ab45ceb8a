#include "libs/kernels/training/training_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/training_loops.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/resource/chunk_snapshot.h"
#include "libs/tensor/resource_handle.h"

namespace weft {
namespace {

// One update rule with the inputs of its op: slots and scalars by input name,
// and the update of one element.
struct RuleCase {
  std::string name;
  std::vector<std::pair<std::string, double>> slots;  // with initial values
  std::vector<std::pair<std::string, double>> scalars;
  AttrMap attrs;
  // v[0] is the variable, v[1] and later ones are slots; g is the gradient.
  std::function<void(std::vector<double>& v, double g)> step;
  bool has_sparse = true;
};

std::vector<RuleCase> RuleCases() {
  const auto shrink = [](double x, double by) {
    return std::copysign(std::max(std::abs(x) - by, 0.0), x);
  };
  std::vector<RuleCase> cases;
  cases.push_back({"GradientDescent",
                   {},
                   {{"alpha", 0.5}},
                   {},
                   [](auto& v, double g) { v[0] -= 0.5 * g; },
                   false});
  cases.push_back({"Momentum",
                   {{"accum", 0.25}},
                   {{"lr", 0.5}, {"momentum", 0.9}},
                   {},
                   [](auto& v, double g) {
                     v[1] = v[1] * 0.9 + g;
                     v[0] -= 0.5 * v[1];
                   }});
  cases.push_back({"Momentum",
                   {{"accum", 0.25}},
                   {{"lr", 0.5}, {"momentum", 0.9}},
                   {{"use_nesterov", true}},
                   [](auto& v, double g) {
                     v[1] = v[1] * 0.9 + g;
                     v[0] -= 0.5 * g + 0.5 * 0.9 * v[1];
                   }});
  cases.push_back(
      {"Adagrad", {{"accum", 0.25}}, {{"lr", 0.5}}, {}, [](auto& v, double g) {
         v[1] += g * g;
         v[0] -= 0.5 * g / std::sqrt(v[1]);
       }});
  cases.push_back(
      {"Adagrad",
       {{"accum", 0.25}},
       {{"lr", 0.5}},
       {{"update_slots", false}},
       [](auto& v, double g) { v[0] -= 0.5 * g / std::sqrt(v[1]); }});
  cases.push_back({"AdagradV2",
                   {{"accum", 0.25}},
                   {{"lr", 0.5}, {"epsilon", 0.125}},
                   {},
                   [](auto& v, double g) {
                     v[1] += g * g;
                     v[0] -= 0.5 * g / (std::sqrt(v[1]) + 0.125);
                   }});
  cases.push_back({"Adam",
                   {{"m", 0.25}, {"v", 0.5}},
                   {{"beta1_power", 0.75},
                    {"beta2_power", 0.5},
                    {"lr", 0.5},
                    {"beta1", 0.75},
                    {"beta2", 0.5},
                    {"epsilon", 0.125}},
                   {},
                   [](auto& v, double g) {
                     v[1] = 0.75 * v[1] + 0.25 * g;
                     v[2] = 0.5 * v[2] + 0.5 * g * g;
                     v[0] -= 0.5 * std::sqrt(1 - 0.5) / (1 - 0.75) * v[1] /
                             (std::sqrt(v[2]) + 0.125);
                   },
                   false});
  cases.push_back({"AdaMax",
                   {{"m", 0.25}, {"v", 0.5}},
                   {{"beta1_power", 0.75},
                    {"lr", 0.5},
                    {"beta1", 0.75},
                    {"beta2", 0.5},
                    {"epsilon", 0.125}},
                   {},
                   [](auto& v, double g) {
                     v[1] = 0.75 * v[1] + 0.25 * g;
                     v[2] = std::max(0.5 * v[2], std::abs(g));
                     v[0] -= 0.5 / (1 - 0.75) * v[1] / (v[2] + 0.125);
                   },
                   false});
  cases.push_back({"Adadelta",
                   {{"accum", 0.25}, {"accum_update", 0.5}},
                   {{"lr", 0.5}, {"rho", 0.75}, {"epsilon", 0.125}},
                   {},
                   [](auto& v, double g) {
                     v[1] = 0.75 * v[1] + 0.25 * g * g;
                     const double update =
                         std::sqrt(v[2] + 0.125) / std::sqrt(v[1] + 0.125) * g;
                     v[0] -= 0.5 * update;
                     v[2] = 0.75 * v[2] + 0.25 * update * update;
                   }});
  cases.push_back(
      {"AdagradDA",
       {{"gradient_accumulator", 0.25}, {"gradient_squared_accumulator", 0.5}},
       {{"lr", 0.5}, {"l1", 0.125}, {"l2", 0.25}, {"global_step", 3}},
       {},
       [shrink](auto& v, double g) {
         v[1] += g;
         v[2] += g * g;
         v[0] = -0.5 * shrink(v[1], 0.125 * 3) /
                (0.25 * 3 * 0.5 + std::sqrt(v[2]));
       }});
  cases.push_back(
      {"RMSProp",
       {{"ms", 0.25}, {"mom", 0.5}},
       {{"lr", 0.5}, {"rho", 0.75}, {"momentum", 0.5}, {"epsilon", 0.125}},
       {},
       [](auto& v, double g) {
         v[1] = 0.75 * v[1] + 0.25 * g * g;
         v[2] = 0.5 * v[2] + 0.5 * g / std::sqrt(v[1] + 0.125);
         v[0] -= v[2];
       }});
  cases.push_back(
      {"CenteredRMSProp",
       {{"mg", 0.25}, {"ms", 0.5}, {"mom", 0.25}},
       {{"lr", 0.5}, {"rho", 0.75}, {"momentum", 0.5}, {"epsilon", 0.125}},
       {},
       [](auto& v, double g) {
         v[1] = 0.75 * v[1] + 0.25 * g;
         v[2] = 0.75 * v[2] + 0.25 * g * g;
         v[3] = 0.5 * v[3] + 0.5 * g / std::sqrt(v[2] - v[1] * v[1] + 0.125);
         v[0] -= v[3];
       }});
  for (const double power : {-0.5, -0.25}) {
    cases.push_back(
        {"Ftrl",
         {{"accum", 0.25}, {"linear", 0.5}},
         {{"lr", 0.5}, {"l1", 0.125}, {"l2", 0.25}, {"lr_power", power}},
         {},
         [shrink, power](auto& v, double g) {
           const double accum = v[1] + g * g;
           v[2] += g - (std::pow(accum, -power) - std::pow(v[1], -power)) /
                           0.5 * v[0];
           v[1] = accum;
           v[0] = -shrink(v[2], 0.125) /
                  (std::pow(accum, -power) / 0.5 + 2 * 0.25);
         }});
  }
  for (const bool multiply : {false, true}) {
    cases.push_back({"FtrlV2",
                     {{"accum", 0.25}, {"linear", 0.5}},
                     {{"lr", 0.5},
                      {"l1", 0.125},
                      {"l2", 0.25},
                      {"l2_shrinkage", 0.75},
                      {"lr_power", -0.5}},
                     {{"multiply_linear_by_lr", multiply}},
                     [shrink, multiply](auto& v, double g) {
                       // The linear term is stored multiplied by the rate, 0.5,
                       // or unscaled.
                       const double linear = multiply ? v[2] / 0.5 : v[2];
                       const double accum = v[1] + g * g;
                       const double next =
                           linear + g + 2 * 0.75 * v[0] -
                           (std::sqrt(accum) - std::sqrt(v[1])) / 0.5 * v[0];
                       v[1] = accum;
                       v[2] = multiply ? next * 0.5 : next;
                       v[0] = -shrink(next, 0.125) /
                              (std::sqrt(accum) / 0.5 + 2 * 0.25);
                     }});
  }
  cases.push_back({"ProximalGradientDescent",
                   {},
                   {{"alpha", 0.5}, {"l1", 0.125}, {"l2", 0.25}},
                   {},
                   [shrink](auto& v, double g) {
                     v[0] =
                         shrink(v[0] - 0.5 * g, 0.5 * 0.125) / (1 + 0.25 * 0.5);
                   }});
  cases.push_back({"ProximalAdagrad",
                   {{"accum", 0.25}},
                   {{"lr", 0.5}, {"l1", 0.125}, {"l2", 0.25}},
                   {},
                   [shrink](auto& v, double g) {
                     v[1] += g * g;
                     const double rate = 0.5 / std::sqrt(v[1]);
                     v[0] = shrink(v[0] - rate * g, rate * 0.125) /
                            (1 + 0.25 * rate);
                   }});
  return cases;
}

template <typename T>
T Number(double x) {
  return static_cast<T>(static_cast<Wide<T>>(x));
}

class TrainingKernelsTest : public testing::Test {
 protected:
  TrainingKernelsTest() : harness_(RegisterTrainingKernels) {}

  // Creates a named variable on the device, and an input that refers to it.
  KernelInput MakeVariable(const std::string& name, const Tensor& value,
                           bool is_resource) {
    auto variable =
        std::make_shared<Variable>(name, value.dtype(), PartialShape());
    EXPECT_OK(variable->Assign(harness_.cancellation(), value));
    variables_.push_back(variable);
    if (!is_resource) return variable;
    harness_.resources()
        .Delete<Variable>(harness_.cancellation(), "", name)
        .IgnoreError();
    EXPECT_OK(harness_.resources().LookupOrCreate<Variable>(
        harness_.cancellation(), "", name,
        [&]() -> absl::StatusOr<std::shared_ptr<Variable>> {
          return variable;
        }));
    ResourceHandle handle;
    handle.container = "localhost";
    handle.name = name;
    handle.type_name = "Var";
    return Tensor::Scalar(handle);
  }

  template <typename T>
  void CheckRule(const RuleCase& rule, bool is_resource, bool is_sparse,
                 double tolerance);
  template <typename T>
  void CheckRowsOneByOne(int64_t width);

  KernelTestHarness harness_;
  std::vector<std::shared_ptr<Variable>> variables_;
};

// The variable has three rows of two. A sparse gradient covers rows 2 and 0.
template <typename T>
void TrainingKernelsTest::CheckRule(const RuleCase& rule, bool is_resource,
                                    bool is_sparse, double tolerance) {
  const std::string op = std::string(is_resource ? "Resource" : "") +
                         (is_sparse ? "Sparse" : "") + "Apply" + rule.name;
  SCOPED_TRACE(op);
  const OpDef* def = harness_.ops().Find(op);
  ASSERT_NE(def, nullptr);
  variables_.clear();
  Tensor var(DataTypeOf<T>::value, {3, 2});
  for (int i = 0; i < 6; ++i) {
    var.mutable_flat<T>()[i] = Number<T>(0.5 * i - 1);
  }
  Tensor gradient(DataTypeOf<T>::value,
                  is_sparse ? TensorShape({2, 2}) : TensorShape({3, 2}));
  for (int64_t i = 0; i < gradient.num_elements(); ++i) {
    gradient.mutable_flat<T>()[i] =
        Number<T>(0.75 - 0.5 * static_cast<double>(i));
  }
  std::vector<KernelInput> inputs;
  for (const ArgDef& input : def->inputs) {
    const auto named = [&](const auto& pair) {
      return pair.first == input.name;
    };
    const auto slot = std::find_if(rule.slots.begin(), rule.slots.end(), named);
    const auto scalar =
        std::find_if(rule.scalars.begin(), rule.scalars.end(), named);
    if (input.name == "var") {
      inputs.push_back(MakeVariable("var", var, is_resource));
    } else if (slot != rule.slots.end()) {
      Tensor value(DataTypeOf<T>::value, {3, 2});
      for (T& x : value.mutable_flat<T>()) x = Number<T>(slot->second);
      inputs.push_back(MakeVariable(slot->first, value, is_resource));
    } else if (input.name == "global_step") {
      inputs.push_back(Tensor::Scalar<int64_t>(scalar->second));
    } else if (scalar != rule.scalars.end()) {
      inputs.push_back(Tensor::Scalar(Number<T>(scalar->second)));
    } else if (input.name == "indices") {
      inputs.push_back(Tensor::Vector({2, 0}));
    } else {
      inputs.push_back(gradient);
    }
  }
  ASSERT_OK(harness_.Run(op, inputs, rule.attrs));
  const std::vector<int> rows =
      is_sparse ? std::vector<int>{2, 0} : std::vector<int>{0, 1, 2};
  std::vector<std::vector<double>> expected(6);
  for (int i = 0; i < 6; ++i) {
    expected[i] = {0.5 * i - 1};
    for (const auto& slot : rule.slots) expected[i].push_back(slot.second);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int c = 0; c < 2; ++c) {
      rule.step(expected[rows[r] * 2 + c],
                0.75 - 0.5 * static_cast<double>(r * 2 + c));
    }
  }
  for (size_t k = 0; k < variables_.size(); ++k) {
    ASSERT_OK_AND_ASSIGN(Tensor value, variables_[k]->Read());
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(static_cast<Wide<T>>(value.flat<T>()[i]), expected[i][k],
                  tolerance)
          << variables_[k]->name() << " " << i;
    }
  }
}

TEST_F(TrainingKernelsTest, EveryRuleMatchesItsReference) {
  for (const RuleCase& rule : RuleCases()) {
    for (const bool is_resource : {false, true}) {
      for (const bool is_sparse : {false, true}) {
        if (is_sparse && !rule.has_sparse) continue;
        CheckRule<float>(rule, is_resource, is_sparse, 1e-5);
        CheckRule<double>(rule, is_resource, is_sparse, 1e-12);
      }
    }
    CheckRule<half>(rule, false, false, 2e-2);
    CheckRule<bfloat16>(rule, true, false, 1e-1);
  }
}

// Checks that the cases above cover every op of the family.
TEST_F(TrainingKernelsTest, EveryOpHasAKernel) {
  for (const OpDef* op : harness_.ops().List()) {
    if (op->name.find("Apply") == std::string::npos) continue;
    if (op->name.find("Accumulator") != std::string::npos) continue;
    EXPECT_TRUE(harness_.kernels().Has(op->name, "CPU")) << op->name;
  }
}

Tensor Floats(const TensorShape& shape, std::vector<float> values) {
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}

TEST_F(TrainingKernelsTest, UpdatesHappenInPlace) {
  KernelInput v = MakeVariable("v", Floats({2}, {1, 2}), false);
  ASSERT_OK_AND_ASSIGN(Tensor before, v.variable->Read());
  const void* memory = before.data();
  before = Tensor();
  ASSERT_OK(harness_.Run("ApplyGradientDescent",
                         {v, Tensor::Scalar(1.0f), Floats({2}, {1, 1})}));
  ASSERT_OK_AND_ASSIGN(Tensor after, v.variable->Read());
  EXPECT_EQ(after.data(), memory);
  EXPECT_TRUE(SameBits(after, Floats({2}, {0, 1})));
}

// A tensor read earlier keeps its value. The new value has the same bits as an
// update in place, at any size, whichever of the variables were read.
TEST_F(TrainingKernelsTest, HeldValueIsWrittenToNewMemory) {
  const auto numbers = [](int64_t size, float scale) {
    Tensor result(DT_FLOAT, {size});
    for (int64_t i = 0; i < size; ++i) {
      result.mutable_flat<float>()[i] = scale * static_cast<float>(i % 1001);
    }
    return result;
  };
  for (const int64_t size : {0, 1, 4095, 4096, 4097, 100003}) {
    std::vector<std::vector<Tensor>> results;
    for (const int held : {0b00, 0b01, 0b10, 0b11}) {
      std::vector<KernelInput> inputs;
      std::vector<Tensor> holders;
      for (const int k : {0, 1}) {
        inputs.push_back(
            MakeVariable(k == 0 ? "v" : "accum", numbers(size, 0.25f), true));
        if (held & (1 << k)) holders.push_back(*variables_.back()->Read());
      }
      const std::vector<std::shared_ptr<Variable>> both(variables_.end() - 2,
                                                        variables_.end());
      inputs.push_back(Tensor::Scalar(0.5f));
      inputs.push_back(numbers(size, -0.125f));
      inputs.push_back(Tensor::Scalar(0.75f));
      ASSERT_OK(harness_.Run("ResourceApplyMomentum", inputs));
      for (const Tensor& holder : holders) {
        EXPECT_TRUE(SameBits(holder, numbers(size, 0.25f)));
      }
      results.push_back({*both[0]->Read(), *both[1]->Read()});
      EXPECT_EQ(both[0]->bytes_copied_on_write(), 0u);
      EXPECT_TRUE(SameBits(results.back()[0], results[0][0]));
      EXPECT_TRUE(SameBits(results.back()[1], results[0][1]));
    }
  }
}

// For a snapshot of a table and its slot, a sparse update copies only the
// chunks of the updated rows.
TEST_F(TrainingKernelsTest, SparseUpdatesCopyOnlyTheirSnapshotChunks) {
  constexpr int64_t kRow = ChunkSnapshot::kChunkBytes / sizeof(float);
  std::vector<KernelInput> inputs;
  for (const char* name : {"v", "accum"}) {
    inputs.push_back(
        MakeVariable(name, Tensor(DT_FLOAT, TensorShape({5, kRow})), true));
  }
  ASSERT_OK_AND_ASSIGN(auto snapshots,
                       ChunkSnapshot::TakeAll(variables_, HeapAllocator()));
  inputs.push_back(Tensor::Scalar(0.5f));
  inputs.push_back(Tensor(DT_FLOAT, TensorShape({3, kRow})));
  inputs.push_back(Tensor::Vector({4, 1, 4}));
  inputs.push_back(Tensor::Scalar(0.75f));
  ASSERT_OK(harness_.Run("ResourceSparseApplyMomentum", inputs));
  for (const auto& snapshot : snapshots) {
    EXPECT_EQ(snapshot->bytes_copied_aside(), 2 * ChunkSnapshot::kChunkBytes);
  }
  for (const auto& variable : variables_) {
    EXPECT_EQ(variable->bytes_copied_on_write(), 0u);
  }
}

// More elements than are converted to floats and back at a time.
TEST_F(TrainingKernelsTest, LongBfloat16UpdatesAreExact) {
  constexpr int kSize = 600;
  Tensor value(DT_BFLOAT16, {kSize});
  Tensor gradient(DT_BFLOAT16, {kSize});
  Tensor expected(DT_BFLOAT16, {kSize});
  for (int i = 0; i < kSize; ++i) {
    value.mutable_flat<bfloat16>()[i] = bfloat16(static_cast<float>(i % 100));
    gradient.mutable_flat<bfloat16>()[i] = bfloat16(static_cast<float>(i % 7));
    expected.mutable_flat<bfloat16>()[i] =
        bfloat16(static_cast<float>(i % 100 - i % 7));
  }
  KernelInput v = MakeVariable("v", value, false);
  ASSERT_OK(harness_.Run("ApplyGradientDescent",
                         {v, Tensor::Scalar(bfloat16(1.0f)), gradient}));
  EXPECT_TRUE(SameBits(*v.variable->Read(), expected));
}

TEST_F(TrainingKernelsTest, RepeatedRowsAreAppliedTwice) {
  KernelInput v = MakeVariable("v", Floats({2, 1}, {0, 0}), false);
  KernelInput accum = MakeVariable("a", Floats({2, 1}, {0, 0}), false);
  ASSERT_OK(
      harness_.Run("SparseApplyMomentum",
                   {v, accum, Tensor::Scalar(1.0f), Floats({2, 1}, {1, 1}),
                    Tensor::Vector<int64_t>({1, 1}), Tensor::Scalar(0.0f)}));
  EXPECT_TRUE(SameBits(*v.variable->Read(), Floats({2, 1}, {0, -2})));
}

// Short rows are updated in groups. The result must equal separate updates to
// the bit, in order if a row repeats.
template <typename T>
void TrainingKernelsTest::CheckRowsOneByOne(int64_t width) {
  constexpr int64_t kRows = 90, kUpdates = 300;
  const auto numbers = [](const TensorShape& shape, double by) {
    Tensor tensor(DataTypeOf<T>::value, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.mutable_flat<T>()[i] =
          Number<T>(by * std::sin(static_cast<double>(i)) + 1.5 * by);
    }
    return tensor;
  };
  const Tensor gradient = numbers({kUpdates, width}, 0.75);
  Tensor rows(DT_INT64, {kUpdates});
  for (int64_t i = 0; i < kUpdates; ++i) {
    rows.mutable_flat<int64_t>()[i] = i < kRows ? i : i * i % kRows;
  }
  const auto make = [&](const std::string& suffix) {
    std::vector<KernelInput> inputs;
    for (const char* name : {"var", "accum", "linear"}) {
      inputs.push_back(
          MakeVariable(name + suffix, numbers({kRows, width}, 0.5), false));
    }
    return inputs;
  };
  const auto apply = [&](std::vector<KernelInput> inputs, const Tensor& some,
                         const Tensor& at) {
    inputs.push_back(some);
    inputs.push_back(at);
    for (const double scalar : {0.5, 0.125, 0.25, -0.5}) {
      inputs.push_back(Tensor::Scalar(Number<T>(scalar)));
    }
    ASSERT_OK(harness_.Run("SparseApplyFtrl", inputs));
  };
  const std::vector<KernelInput> together = make(""), alone = make("_alone");
  apply(together, gradient, rows);
  for (int64_t i = 0; i < kUpdates; ++i) {
    Tensor one(DataTypeOf<T>::value, {1, width});
    for (int64_t c = 0; c < width; ++c) {
      one.mutable_flat<T>()[c] = gradient.flat<T>()[i * width + c];
    }
    apply(alone, one, Tensor::Vector<int64_t>({rows.flat<int64_t>()[i]}));
  }
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(
        SameBits(*together[k].variable->Read(), *alone[k].variable->Read()))
        << k << " of width " << width;
  }
}

TEST_F(TrainingKernelsTest, RowsAreUpdatedAsIfOneByOne) {
  for (const int64_t width : {1, 2, 3, 4, 5, 17}) {
    CheckRowsOneByOne<float>(width);
    CheckRowsOneByOne<double>(width);
    CheckRowsOneByOne<half>(width);
    CheckRowsOneByOne<bfloat16>(width);
  }
}

TEST_F(TrainingKernelsTest, BadArgumentsAreRefused) {
  const Tensor value = Floats({2, 2}, {1, 2, 3, 4});
  KernelInput v = MakeVariable("v", value, false);
  KernelInput small = MakeVariable("s", Floats({2}, {1, 2}), false);
  KernelInput accum = MakeVariable("a", value, false);
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_THAT(
      harness_.Run("ApplyGradientDescent", {v, one, Floats({2}, {1, 2})}),
      StatusIs(kInvalid, "var and delta do not have the same shape[2,2] [2]"));
  EXPECT_THAT(
      harness_.Run("ApplyGradientDescent", {v, Floats({1}, {1}), value}),
      StatusIs(kInvalid, "alpha is not a scalar: [1]"));
  EXPECT_THAT(harness_.Run("ApplyAdagrad", {v, small, one, value}),
              StatusIs(kInvalid, "var and accum do not have the same shape"));
  EXPECT_THAT(harness_.Run("ApplyAdagrad", {v, v, one, value}),
              StatusIs(kInvalid, "twice"));
  const auto sparse = [&](const Tensor& gradient, const Tensor& indices) {
    return harness_.Run("SparseApplyAdagrad",
                        {v, accum, one, gradient, indices});
  };
  const Tensor row = Floats({1, 2}, {1, 1});
  EXPECT_THAT(
      sparse(row, Tensor::Vector({2})),
      StatusIs(kInvalid, "Index 2 at offset 0 in indices is out of range"));
  EXPECT_THAT(sparse(row, Tensor::Vector({-1})),
              StatusIs(kInvalid, "out of range"));
  EXPECT_THAT(sparse(row, Tensor::Vector({0, 1})),
              StatusIs(kInvalid, "same size as indices"));
  EXPECT_THAT(sparse(row, Tensor::Scalar(0)),
              StatusIs(kInvalid, "indices must be one-dimensional"));
  EXPECT_THAT(sparse(Floats({1, 3}, {1, 1, 1}), Tensor::Vector({0})),
              StatusIs(kInvalid, "must match in dimension 1"));
  EXPECT_TRUE(SameBits(*v.variable->Read(), value));
}

// TensorFlow's dense ops accept any scalars; its sparse ops do not.
TEST_F(TrainingKernelsTest, SparseFtrlRejectsInvalidScalars) {
  struct Bad {
    int input;  // index into lr, l1, l2, l2_shrinkage, lr_power
    float value;
    std::string error;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Bad& bad : std::vector<Bad>{
           {0, 0, "lr is not a positive scalar"},
           {0, nan, "lr is not a positive scalar"},
           {1, -1, "l1 regularization strength is not a non-negative scalar"},
           {2, -1, "l2 regularization strength is not a non-negative scalar"},
           {3, -1,
            "l2 shrinkage regularization strength is not a non-negative"},
           {4, 1, "lr_power is not a non-positive scalar"}}) {
    SCOPED_TRACE(bad.error);
    const Tensor ones = Floats({1, 1}, {1});
    std::vector<KernelInput> inputs;
    for (const char* name : {"var", "accum", "linear"}) {
      inputs.push_back(MakeVariable(name, ones, false));
    }
    inputs.push_back(ones);
    std::vector<KernelInput> scalars;
    for (const float x : {0.5f, 0.5f, 0.5f, 0.5f, -0.5f}) {
      scalars.push_back(Tensor::Scalar(x));
    }
    scalars[bad.input] = Tensor::Scalar(bad.value);
    std::vector<KernelInput> sparse = inputs;
    sparse.push_back(Tensor::Vector({0}));
    sparse.insert(sparse.end(), scalars.begin(), scalars.end());
    EXPECT_THAT(harness_.Run("SparseApplyFtrlV2", sparse),
                StatusIs(kInvalid, bad.error));
    inputs.insert(inputs.end(), scalars.begin(), scalars.end());
    EXPECT_OK(harness_.Run("ApplyFtrlV2", inputs));
  }
}

// In 0 / 0, TensorFlow's dense ops return 0.
TEST_F(TrainingKernelsTest, DenseFtrlOfZerosIsZero) {
  const Tensor zeros = Floats({3}, {0, 0, 0});
  for (const char* op : {"ApplyFtrl", "ApplyFtrlV2"}) {
    for (const float power : {-0.5f, -0.7f}) {
      std::vector<KernelInput> inputs;
      for (const char* name : {"var", "accum", "linear"}) {
        inputs.push_back(MakeVariable(name, zeros, false));
      }
      inputs.push_back(zeros);
      for (const float x : {0.1f, 0.0f, 0.0f}) {
        inputs.push_back(Tensor::Scalar(x));
      }
      if (std::string(op) == "ApplyFtrlV2") {
        inputs.push_back(Tensor::Scalar(0.0f));  // l2_shrinkage
      }
      inputs.push_back(Tensor::Scalar(power));
      ASSERT_OK(harness_.Run(op, inputs));
      EXPECT_TRUE(SameBits(*inputs[0].variable->Read(), zeros))
          << op << " with power " << power << ": "
          << inputs[0].variable->Read()->ToString();
    }
  }
}

TEST_F(TrainingKernelsTest, ProximalAdagradNeedsAPositiveRate) {
  const Tensor ones = Floats({1, 1}, {1});
  for (const float rate : {0.0f, -1.0f}) {
    const KernelInput lr = Tensor::Scalar(rate), l = Tensor::Scalar(0.0f);
    EXPECT_THAT(
        harness_.Run("ApplyProximalAdagrad",
                     {MakeVariable("var", ones, false),
                      MakeVariable("accum", ones, false), lr, l, l, ones}),
        StatusIs(kInvalid, "lr is not a positive scalar"));
    EXPECT_THAT(harness_.Run("SparseApplyProximalAdagrad",
                             {MakeVariable("var", ones, false),
                              MakeVariable("accum", ones, false), lr, l, l,
                              ones, Tensor::Vector({0})}),
                StatusIs(kInvalid, "lr is not a positive scalar"));
  }
}

TEST_F(TrainingKernelsTest, UninitializedVariablesAreNamed) {
  auto v = std::make_shared<Variable>("w", DT_FLOAT, PartialShape({2}));
  EXPECT_THAT(
      harness_.Run("ApplyGradientDescent",
                   {v, Tensor::Scalar(1.0f), Floats({2}, {1, 1})}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "uninitialized value w"));
}

TEST_F(TrainingKernelsTest, CancelledStepChangesNoState) {
  KernelInput v = MakeVariable("v", Floats({1}, {1}), false);
  harness_.cancellation().Cancel(absl::AbortedError("over"));
  EXPECT_THAT(harness_.Run("ApplyGradientDescent",
                           {v, Tensor::Scalar(1.0f), Floats({1}, {1})}),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(SameBits(*v.variable->Read(), Floats({1}, {1})));
}

TEST_F(TrainingKernelsTest, Shapes) {
  const DataType ref = MakeRefType(DT_FLOAT);
  const auto infer = [&](const PartialShape& gradient,
                         const PartialShape& indices) {
    return harness_.InferShapes("SparseApplyAdagrad",
                                {{ref, PartialShape({4, 2})},
                                 {ref, PartialShape({4, 2})},
                                 {DT_FLOAT, PartialShape::Scalar()},
                                 {DT_FLOAT, gradient},
                                 {DT_INT32, indices}});
  };
  ASSERT_OK_AND_ASSIGN(auto out,
                       infer(PartialShape({-1, 2}), PartialShape({-1})));
  EXPECT_EQ(out[0], PartialShape({4, 2}));
  EXPECT_THAT(infer(PartialShape({3, 5}), PartialShape({3})),
              StatusIs(kInvalid));
  EXPECT_THAT(infer(PartialShape({3, 2}), PartialShape({3, 1})),
              StatusIs(kInvalid));
}

// Runs several steps of every optimizer on a variable and its slots.
class AllSteps {
 public:
  explicit AllSteps(const TrainingLoops<double>& loops) {
    for (int i = 0; i < kSize; ++i) {
      v_[0][i] = i % 7 - 3.0;
      gradient_[i] = std::sin(i);
    }
    for (int k = 1; k < 4; ++k) v_[k].assign(kSize, 1.0 + k);
    using T = double;
    Take(loops.gradient_descent, GradientDescentStep<T>{0.5});
    Take(loops.momentum, MomentumStep<T>{0.5, 0.9, false});
    Take(loops.momentum, MomentumStep<T>{0.5, 0.9, true});
    v_[1].assign(kSize, 1.0);  // reset: the momentum becomes a sum of squares
    Take(loops.adagrad, AdagradStep<T>{0.5, true});
    Take(loops.adagrad, AdagradStep<T>{0.5, false});
    Take(loops.adagrad_v2, AdagradV2Step<T>{0.5, 0.1, true});
    Take(loops.proximal_gradient_descent,
         ProximalGradientDescentStep<T>{0.5, 0.1, 0.1});
    Take(loops.proximal_adagrad, ProximalAdagradStep<T>{0.5, 0.1, 0.1});
    Take(loops.adadelta, AdadeltaStep<T>{0.5, 0.9, 1e-6});
    Take(loops.rms_prop, RMSPropStep<T>{0.5, 0.9, 0.5, 0.1});
    Take(loops.ftrl_square_root,
         FtrlStep<T, true>{{0.5, 1, 0.1, 0.1, 0.1, -0.5}});
    Take(loops.ftrl_power, FtrlStep<T, false>{{0.5, 1, 0.1, 0.1, 0, -0.7}});
    // Reset: the linear term becomes a sum of squares.
    v_[2].assign(kSize, 1.0);
    Take(loops.adagrad_da, AdagradDAStep<T>{0.5, 0.1, 0.1, 2});
    Take(loops.adam, AdamStep<T>{0.5, 0.9, 0.99, 1e-8, false});
    Take(loops.adam, AdamStep<T>{0.5, 0.9, 0.99, 1e-8, true});
    Take(loops.ada_max, AdaMaxStep<T>{0.5, 0.9, 0.99, 1e-8});
    v_[1].assign(kSize, 0.1);  // small compared to the mean of squares
    Take(loops.centered_rms_prop, CenteredRMSPropStep<T>{0.5, 0.9, 0.5, 1});
  }

  // Returns the variables after each step, in order.
  const std::vector<double>& seen() const { return seen_; }

 private:
  static constexpr int kSize = 101;

  template <typename Step>
  void Take(TrainingLoop<double, Step> loop, const Step& step) {
    double* v[4] = {v_[0].data(), v_[1].data(), v_[2].data(), v_[3].data()};
    loop(step, v, gradient_.data(), kSize);
    for (const std::vector<double>& values : v_) {
      seen_.insert(seen_.end(), values.begin(), values.end());
    }
  }

  std::vector<double> v_[4] = {std::vector<double>(kSize)};
  std::vector<double> gradient_ = std::vector<double>(kSize);
  std::vector<double> seen_;
};

// All instruction sets of this machine agree up to rounding.
TEST(TrainingLoopsTest, InstructionSetsAgree) {
  const AllSteps first(TrainingLoopsFor<double>(InstructionSet::kV1));
  for (InstructionSet set : SupportedInstructionSets()) {
    const AllSteps other(TrainingLoopsFor<double>(set));
    for (size_t i = 0; i < first.seen().size(); ++i) {
      ASSERT_NEAR(other.seen()[i], first.seen()[i],
                  1e-11 * (1 + std::abs(first.seen()[i])))
          << i;
    }
  }
}

}  // namespace
}  // namespace weft
