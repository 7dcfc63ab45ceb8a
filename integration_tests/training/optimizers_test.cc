// Runs three steps of each optimizer on sum(w ^ 2), for reference and resource
// variables, with dense gradients and with repeated rows. Also tests
// initializers. The expected numbers and names are those of TensorFlow 2.21
// (tf.compat.v1).
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<train::Optimizer>(
    const ops::Variable& global_step)>;

struct Case {
  std::string name;
  MakeOptimizer make;
  // node names of the slots in the order of their creation
  std::vector<std::string> slots;
  std::vector<float> dense;  // w after three steps
  std::vector<float> sparse;
};

template <typename T, typename... Args>
MakeOptimizer Make(Args... args) {
  return [=](const ops::Variable&) { return std::make_unique<T>(args...); };
}

std::vector<Case> Cases() {
  const train::FtrlOptions ftrl = {.l1_regularization_strength = 0.01,
                                   .l2_regularization_strength = 0.1};
  const train::FtrlOptions steep = {.learning_rate_power = -0.3,
                                    .initial_accumulator_value = 0};
  const train::FtrlOptions shrinking = {
      .l1_regularization_strength = 0.01,
      .l2_regularization_strength = 0.1,
      .l2_shrinkage_regularization_strength = 0.2};
  const train::FtrlOptions steep_and_shrinking = {
      .learning_rate_power = -0.3,
      .initial_accumulator_value = 0,
      .l2_shrinkage_regularization_strength = 0.2};
  const train::RmsPropOptions with_momentum = {.momentum = 0.5};
  const train::RmsPropOptions centered = {.centered = true};
  const train::ProximalOptions proximal = {.l1_regularization_strength = 0.01,
                                           .l2_regularization_strength = 0.1};
  const train::ProximalAdagradOptions proximal_adagrad = {
      .l1_regularization_strength = 0.01, .l2_regularization_strength = 0.1};
  const train::AdagradDaOptions dual = {.l1_regularization_strength = 0.01,
                                        .l2_regularization_strength = 0.1};
  const train::MomentumOptions nesterov = {.use_nesterov = true};
  return {
      {"Adadelta",
       Make<train::Adadelta>(1.0),
       {"w/Adadelta", "w/Adadelta_1"},
       {0.99864346f, 1.9986433f, 2.9986432f, -3.9986429f, 0.49864376f,
        0.24864444f},
       {0.99864346f, 1.9986433f, 3, -4, 0.49864376f, 0.24864444f}},
      {"AdagradDA",
       [dual](const ops::Variable& step) {
         return std::make_unique<train::AdagradDa>(0.5, step, dual);
       },
       {"w/AdagradDA", "w/AdagradDA_1"},
       {-0.11812773f, -0.2625145f, -0.33173996f, 0.37049708f, -0.0051266574f,
        0.0022310065f},
       {-0.11937697f, -0.26693442f, 3, -4, -0.0051266574f, 0.002231006f}},
      {"RMSProp",
       Make<train::RmsProp>(0.1, with_momentum),
       {"w/RMSProp", "w/RMSProp_1"},
       {0.38715401f, 1.131669f, 2.0348711f, -2.9910452f, 0.14605863f,
        0.065115027f},
       {0.20267978f, 1.0266469f, 3, -4, 0.14605866f, 0.06511502f}},
      {"RMSProp",
       Make<train::RmsProp>(0.1, centered),
       {"w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"},
       {0.5589304f, 1.3636529f, 2.2872608f, -3.2522416f, 0.24856156f,
        0.11930048f},
       {0.42121875f, 1.2821227f, 3, -4, 0.24856159f, 0.11930048f}},
      {"Ftrl",
       Make<train::Ftrl>(0.5, ftrl),
       {"w/Ftrl", "w/Ftrl_1"},
       {0.10189763f, 0.84655917f, 1.7721732f, -2.7382014f, -0.0024305668f, 0},
       {0.12613545f, 0.91290545f, 3, -4, -0.0024305668f, 0}},
      {"Ftrl",
       Make<train::Ftrl>(0.5, steep),
       {"w/Ftrl", "w/Ftrl_1"},
       {0.044799391f, 0.41249791f, 0.96773899f, -1.6144865f, 0, -0.021119168f},
       {0.0023180554f, 0.17714442f, 3, -4, 0, -0.021119168f}},
      {"Ftrl",
       Make<train::Ftrl>(0.5, shrinking),
       {"w/Ftrl", "w/Ftrl_1"},
       {0.048166949f, 0.6962055f, 1.5908434f, -2.5431216f, -6.3705666e-05f,
        -0.0031021286f},
       {0.090506665f, 0.8319639f, 3, -4, -6.3705666e-05f, -0.0031021286f}},
      {"Ftrl",
       Make<train::Ftrl>(0.5, steep_and_shrinking),
       {"w/Ftrl", "w/Ftrl_1"},
       {0.0099491095f, 0.25075763f, 0.70513481f, -1.2717122f, -0.0034494421f,
        -0.057823211f},
       {7.806193e-05f, 0.1140366f, 3, -4, -0.0034494421f, -0.057823211f}},
      {"AdaMax",
       Make<train::AdaMax>(0.1),
       {"beta1_power", "w/AdaMax", "w/AdaMax_1"},
       {0.71549952f, 1.7076483f, 2.7050097f, -3.7036862f, 0.23090976f,
        0.010561556f},
       {0.71549952f, 1.7076483f, 3, -4, 0.23090976f, 0.010561556f}},
      {"ProximalGradientDescent",
       Make<train::ProximalGradientDescent>(0.1, proximal),
       {},
       {0.49454665f, 0.99148858f, 1.488431f, -1.9853734f, 0.2460756f,
        0.12184002f},
       {0.20771983f, 0.41736731f, 3, -4, 0.2460756f, 0.12184002f}},
      {"ProximalAdagrad",
       Make<train::ProximalAdagrad>(0.5, proximal_adagrad),
       {"w/ProximalAdagrad"},
       {0.14512882f, 0.94986063f, 1.8940213f, -2.8683751f, 0, -0.021606982f},
       {0.14938924f, 0.96604091f, 3, -4, 0, -0.021606982f}},
      {"Momentum",
       Make<train::Momentum>(0.1, 0.9, nesterov),
       {"w/Momentum"},
       {-0.10835198f, -0.21670395f, -0.3250559f, 0.4334079f, -0.054175988f,
        -0.027087994f},
       {-0.43329594f, -0.86659187f, 3, -4, -0.054175988f, -0.027087994f}},
  };
}

struct Form {
  Case optimizer;
  bool use_resource;
  bool is_sparse;
};

std::vector<Form> Forms() {
  std::vector<Form> forms;
  for (const Case& optimizer : Cases()) {
    for (const bool use_resource : {false, true}) {
      for (const bool is_sparse : {false, true}) {
        forms.push_back({optimizer, use_resource, is_sparse});
      }
    }
  }
  return forms;
}

class OptimizersTest : public GraphTest,
                       public testing::WithParamInterface<Form> {
 protected:
  ops::Variable MakeW() {
    return ops::Variable(root_.WithName("w"),
                         Tensor::FromValues<float>(TensorShape({3, 2}),
                                                   {1, 2, 3, -4, .5f, .25f}),
                         {.use_resource = GetParam().use_resource});
  }
  // Returns sum(x ^ 2), where x is all of w, or rows 0, 2 and 0 of w.
  Output Loss(const ops::Variable& w) {
    Output x = w;
    if (GetParam().is_sparse) {
      const Tensor rows = Tensor::Vector<int32_t>({0, 2, 0});
      x = GetParam().use_resource
              ? ops::ResourceGather(root_, w.handle(), rows, DT_FLOAT)
              : ops::Gather(root_, w, rows);
    }
    return ops::Sum(root_, ops::Mul(root_, x, x), {0, 1});
  }
};

TEST_P(OptimizersTest, ThreeStepsMatchTensorFlow) {
  const Case& expected = GetParam().optimizer;
  const ops::Variable w = MakeW();
  const ops::Variable step = train::GetOrCreateGlobalStep(root_);
  const auto optimizer = expected.make(step);
  const Operation train =
      optimizer->Minimize(root_, Loss(w), {.global_step = step});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), expected.name);
  std::vector<std::string> slots;
  for (const ops::Variable& variable : ops::GlobalVariables(root_)) {
    if (variable == w || variable == step) continue;
    EXPECT_EQ(variable.is_resource(), GetParam().use_resource);
    slots.push_back(variable.name());
  }
  EXPECT_EQ(slots, expected.slots);
  InitializeVariables();
  for (int i = 0; i < 3; ++i) RunOperation(train);
  EXPECT_THAT(Run(w), FloatsNear(GetParam().is_sparse ? expected.sparse
                                                      : expected.dense));
}

INSTANTIATE_TEST_SUITE_P(All, OptimizersTest, testing::ValuesIn(Forms()),
                         [](const testing::TestParamInfo<Form>& form) {
                           return form.param.optimizer.name +
                                  std::to_string(form.index) +
                                  (form.param.use_resource ? "Resource"
                                                           : "Reference") +
                                  (form.param.is_sparse ? "Sparse" : "Dense");
                         });

class OptimizerOptionsTest : public GraphTest {
 protected:
  // Minimizes w ^ 2 with `optimizer`. Returns the status of the scope.
  static absl::Status Minimize(train::Optimizer&& optimizer) {
    const Scope scope = Scope::Root();
    const ops::Variable w(scope.WithName("w"), 1.0f);
    optimizer.Minimize(scope, ops::Mul(scope, w, w));
    return scope.status();
  }
};

TEST_F(OptimizerOptionsTest, InvalidOptionsAreRejected) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Minimize(train::Ftrl(0.1, {.learning_rate_power = 0.5})),
              StatusIs(kInvalid,
                       "learning_rate_power 0.5 needs to be negative "
                       "or zero"));
  EXPECT_THAT(Minimize(train::Ftrl(0.1, {.initial_accumulator_value = -1})),
              StatusIs(kInvalid, "needs to be positive or zero"));
  for (const double bad : {-1.0, nan}) {
    EXPECT_THAT(Minimize(train::Ftrl(0.1, {.l1_regularization_strength = bad})),
                StatusIs(kInvalid, "l1_regularization_strength"));
    EXPECT_THAT(Minimize(train::Ftrl(0.1, {.l2_regularization_strength = bad})),
                StatusIs(kInvalid, "l2_regularization_strength"));
    EXPECT_THAT(Minimize(train::Ftrl(
                    0.1, {.l2_shrinkage_regularization_strength = bad})),
                StatusIs(kInvalid, "l2_shrinkage_regularization_strength"));
  }
  EXPECT_THAT(
      Minimize(train::ProximalAdagrad(0.1, {.initial_accumulator_value = 0})),
      StatusIs(kInvalid, "initial_accumulator_value must be positive"));
}

TEST_F(OptimizerOptionsTest, DualAveragingNeedsGlobalStep) {
  EXPECT_THAT(Minimize(train::AdagradDa(0.1, ops::Variable())),
              StatusIs(kInvalid, "AdagradDA: global_step must not be null"));
}

TEST_F(OptimizerOptionsTest, LearningRatesMayBeComputed) {
  const Output rate = ops::Placeholder(root_, DT_FLOAT, {.shape = {}});
  const ops::Variable w(root_.WithName("w"), 1.0f);
  const Operation train = train::ProximalGradientDescent(rate).Minimize(
      root_, ops::Mul(root_, w, w));
  InitializeVariables();
  ASSERT_OK(session().Run({{rate, Tensor::Scalar(0.25f)}}, train));
  EXPECT_THAT(Run(w), FloatsNear({0.5f}));
}

// With l2_shrinkage = 0, FTRL uses the op of TensorFlow 1.0.
TEST_F(OptimizerOptionsTest, FtrlUsesV2OpOnlyForShrinkage) {
  const auto op_for = [](double shrinkage) {
    const Scope scope = Scope::Root();
    const ops::Variable w(scope.WithName("w"), 1.0f);
    train::Ftrl(0.1, {.l2_shrinkage_regularization_strength = shrinkage})
        .Minimize(scope, ops::Mul(scope, w, w));
    std::string found;
    for (const Node* node : scope.graph().nodes()) {
      if (absl::StrContains(node->type(), "ApplyFtrl")) found += node->type();
    }
    return found;
  };
  EXPECT_EQ(op_for(0), "ResourceApplyFtrl");
  EXPECT_EQ(op_for(0.5), "ResourceApplyFtrlV2");
}

TEST_F(OptimizerOptionsTest, AdaMaxCorrectionFollowsItsOptions) {
  const ops::Variable w(root_.WithName("w"), 1.0f);
  const Operation train = train::AdaMax(0.5, {.beta1 = 0.5f, .beta2 = 0.75f})
                              .Minimize(root_, ops::Mul(root_, w, w));
  InitializeVariables();
  RunOperation(train);
  for (const ops::Variable& variable : ops::GlobalVariables(root_)) {
    if (variable.name() != "beta1_power") continue;
    EXPECT_THAT(Run(variable), FloatsNear({0.25f}));
  }
  // The step has the size of the learning rate and the direction of the sign.
  EXPECT_THAT(Run(w), FloatsNear({0.5f}));
}

// ---- initializers ----

class InitializersTest : public GraphTest {
 protected:
  std::vector<float> Initial(const ops::Initializer& initializer,
                             const PartialShape& shape = {3, 2}) {
    root_.SetGraphSeed(7);
    const ops::Variable w =
        ops::GetVariable(root_, "w" + std::to_string(count_++), shape,
                         {.initializer = initializer});
    InitializeVariables();
    return Run(w);
  }
  int count_ = 0;
};

TEST_F(InitializersTest, MatchTensorFlowForTheSameSeeds) {
  EXPECT_THAT(Initial(ops::initializers::HeNormal(3)),
              FloatsNear({0.87690419f, -0.89740592f, 0.74738604f, 1.2097795f,
                          -0.20307891f, -0.74713337f}));
  EXPECT_THAT(Initial(ops::initializers::HeUniform(3)),
              FloatsNear({-0.27976573f, -0.34835207f, -0.53940141f, -1.1650981f,
                          0.69595516f, -0.12810755f}));
  EXPECT_THAT(Initial(ops::initializers::LecunNormal(3)),
              FloatsNear({0.62006491f, -0.63456184f, 0.52848172f, 0.8554433f,
                          -0.14359848f, -0.52830309f}));
  EXPECT_THAT(Initial(ops::initializers::LecunUniform(3)),
              FloatsNear({-0.19782424f, -0.24632215f, -0.38141441f,
                          -0.82384872f, 0.49211454f, -0.090585709f}));
  EXPECT_THAT(Initial(ops::initializers::UniformUnitScaling(1.4, 3)),
              FloatsNear({-0.27695394f, -0.34485102f, -0.53398019f, -1.1533881f,
                          0.68896043f, -0.12681997f}));
}

TEST_F(InitializersTest, OrthogonalMatchesTensorFlow) {
  EXPECT_THAT(Initial(ops::initializers::Orthogonal(1.5, 3)),
              FloatsNear({1.1248775f, -0.80321592f, 0.9587338f, 1.1068714f,
                          0.25589108f, -0.61618179f}));
  EXPECT_THAT(Initial(ops::initializers::Orthogonal(1.5, 3), {2, 3}),
              FloatsNear({1.1248775f, 0.9587338f, 0.25589108f, -0.80321592f,
                          1.1068714f, -0.61618179f}));
  EXPECT_THAT(Initial(ops::initializers::Orthogonal(1.5, 3), {2, 2, 3}),
              FloatsNear({0.75398487f, -0.88297307f, 0.22852767f, 1.0401995f,
                          0.97199088f, -0.43356806f, 0.70456606f, -0.64284521f,
                          -0.24105169f, 0.32105842f, 0.33517501f, 1.3970284f}));
}

TEST_F(InitializersTest, OrthogonalNodeNamesMatchTensorFlow) {
  ops::GetVariable(root_, "w", {2, 3},
                   {.initializer = ops::initializers::Orthogonal(1.5)});
  for (const char* name :
       {"random_normal", "Qr", "DiagPart", "Sign", "mul",
        "matrix_transpose/transpose/perm", "matrix_transpose/transpose",
        "Reshape/shape", "Reshape", "mul_1/x", "mul_1"}) {
    EXPECT_NE(Find(std::string("w/Initializer/") + name), nullptr) << name;
  }
}

TEST_F(InitializersTest, OrthogonalNeedsFloatMatrix) {
  const auto refused = [](const PartialShape& shape, DataType dtype) {
    const Scope scope = Scope::Root();
    ops::GetVariable(
        scope, "w", shape,
        {.dtype = dtype, .initializer = ops::initializers::Orthogonal()});
    return scope.status();
  };
  EXPECT_THAT(refused({3}, DT_FLOAT),
              StatusIs(kInvalid,
                       "must be at least two-dimensional. Received "
                       "shape=[3]"));
  EXPECT_THAT(refused({3, 3}, DT_INT32),
              StatusIs(kInvalid, "expected to be floating point"));
}

TEST_F(InitializersTest, IdentityMatchesTensorFlow) {
  EXPECT_THAT(Initial(ops::initializers::Identity(2)),
              FloatsNear({2, 0, 0, 2, 0, 0}));
  EXPECT_THAT(Initial(ops::initializers::Identity(), {2, 3}),
              FloatsNear({1, 0, 0, 0, 1, 0}));
}

TEST_F(InitializersTest, PartsOfIdentityMatchTensorFlow) {
  const ops::PartitionInfo part = {TensorShape({4, 4}), {2, 1}};
  EXPECT_THAT(Run(ops::initializers::Identity()(root_, TensorShape({2, 3}),
                                                DT_FLOAT, &part)),
              FloatsNear({0, 1, 0, 0, 0, 1}));
}

TEST_F(InitializersTest, IdentityMustBeMatrix) {
  ops::GetVariable(root_, "w", {3},
                   {.initializer = ops::initializers::Identity()});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "2D matrices"));
}

}  // namespace
}  // namespace weft
