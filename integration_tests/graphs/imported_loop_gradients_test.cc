// Checks that Weft can differentiate loops and branches in graphs written by
// TensorFlow. Weft's gradients must equal those that TensorFlow added to the
// same graph.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/import/graph_def.h"

namespace weft {
namespace {

// `fetches` names TensorFlow's gradients of `y` with respect to `xs`.
struct Gradients {
  std::string y;
  std::vector<std::string> xs;
  std::vector<std::string> fetches;
};
struct Case {
  std::string file;
  std::vector<Gradients> gradients;
  std::vector<std::vector<std::pair<std::string, Tensor>>> feeds;
  std::string initializer;
};

Tensor Floats(const TensorShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.8f, 0.8f);
  Tensor tensor(DT_FLOAT, shape);
  for (float& value : tensor.mutable_flat<float>()) value = uniform(random);
  return tensor;
}
Tensor Int(int value) { return Tensor::Scalar(value); }

Case Plain() {
  Case c = {"control_flow/loop_gradients/graph.pb", {}, {}, ""};
  for (const char* loop : {"p1_s0", "p1_s1", "p10_s0", "p10_s1"}) {
    const auto out = [&](int i) { return absl::StrCat(loop, "_", i, ":0"); };
    c.gradients.push_back({out(0), {"x:0", "w:0"}, {out(1), out(2)}});
  }
  for (int n : {0, 1, 6}) {
    c.feeds.push_back({{"n:0", Int(n)},
                       {"x:0", Floats({2, 3}, 1)},
                       {"w:0", Floats({3, 3}, 2)}});
  }
  return c;
}

Case Nested() {
  Case c = {"control_flow/nested_loop_gradients/graph.pb",
            {{"out_0:0", {"x:0", "w:0"}, {"out_2:0", "out_3:0"}},
             {"out_1:0", {"x:0", "w:0"}, {"out_4:0", "out_5:0"}}},
            {},
            ""};
  for (const auto& [n, m] : {std::pair(3, 2), {1, 4}, {0, 0}, {2, 0}}) {
    c.feeds.push_back({{"n:0", Int(n)},
                       {"m:0", Int(m)},
                       {"x:0", Floats({2}, 3)},
                       {"w:0", Floats({2}, 4)}});
  }
  return c;
}

Case Branches() {
  Case c = {"control_flow/cond_and_loop_gradients/graph.pb",
            {{"out_0:0", {"x:0", "w:0"}, {"out_2:0", "out_3:0"}},
             {"out_1:0", {"x:0", "w:0"}, {"out_4:0", "out_5:0"}}},
            {},
            ""};
  for (const bool p : {false, true}) {
    for (int n : {0, 1, 5}) {
      c.feeds.push_back({{"n:0", Int(n)},
                         {"p:0", Tensor::Scalar(p)},
                         {"x:0", Floats({3}, 5)},
                         {"w:0", Floats({3}, 6)}});
    }
  }
  return c;
}

Case Arrays() {
  Case c = {"control_flow/tensor_array_loops/graph.pb",
            {{"out_4:0", {"x:0", "w:0"}, {"out_5:0", "out_6:0"}}},
            {},
            ""};
  for (int rows : {1, 4}) {
    c.feeds.push_back(
        {{"x:0", Floats({rows, 2}, 7)}, {"w:0", Floats({2, 2}, 8)}});
  }
  return c;
}

Case Folds() {
  Case c = {"control_flow/scan_and_fold_gradients/graph.pb",
            {{"out_6:0", {"x:0", "w:0"}, {"out_7:0", "out_8:0"}}},
            {},
            ""};
  for (int rows : {1, 5}) {
    c.feeds.push_back(
        {{"x:0", Floats({rows, 2}, 9)}, {"w:0", Floats({2}, 10)}});
  }
  return c;
}

Case Recurrent() {
  return {
      "control_flow/recurrent_loop/graph.pb",
      {{"out_2:0", {"x:0", "w:0", "b:0"}, {"out_3:0", "out_4:0", "out_5:0"}}},
      {{{"x:0", Floats({3, 4, 2}, 11)},
        {"length:0", Tensor::Vector({4, 0, 2})}}},
      "init"};
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return absl::StrReplaceAll(info.param.file, {{"/", "_"}, {".pb", ""}});
}

// Returns a graph whose While nodes call functions, with the TensorLists that
// TensorFlow's gradients use.
Case FunctionalLoops(const std::string& file) {
  Case c = {absl::StrCat("functions/while_v2_gradient/", file),
            {{"value:0", {"x:0", "w:0"}, {"dx:0", "dw:0"}}},
            {},
            ""};
  for (int n : {0, 1, 4}) {
    c.feeds.push_back({{"n:0", Int(n)},
                       {"x:0", Floats({2}, 12)},
                       {"w:0", Floats({2, 2}, 13)}});
  }
  return c;
}

Case FunctionalBranches(const std::string& file) {
  Case c = {absl::StrCat("functions/cond_v2_gradient/", file),
            {{"value:0", {"x:0", "w:0"}, {"dx:0", "dw:0"}}},
            {},
            ""};
  for (const auto& [p, q] :
       {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
    c.feeds.push_back({{"p:0", Tensor::Scalar(p)},
                       {"q:0", Tensor::Scalar(q)},
                       {"x:0", Floats({2, 2}, 14)},
                       {"w:0", Floats({2, 2}, 15)}});
  }
  return c;
}

// Returns a graph with a function whose gradient function is in its library.
Case GradientOfItsOwn() {
  return {"functions/symbolic_gradient/graph.pb",
          {{"z:0", {"x:0"}, {"gz:0"}}},
          {{{"x:0", Floats({3}, 16)}, {"w:0", Floats({3}, 17)}}},
          ""};
}

class ImportedLoopGradientsTest : public testing::TestWithParam<Case> {};

void ExpectClose(const Tensor& ours, const Tensor& theirs) {
  ASSERT_EQ(ours.shape(), theirs.shape());
  for (int64_t i = 0; i < ours.num_elements(); ++i) {
    const float a = ours.flat<float>()[i], b = theirs.flat<float>()[i];
    EXPECT_NEAR(a, b, 1e-5 + 1e-4 * std::abs(b)) << i;
  }
}

TEST_P(ImportedLoopGradientsTest, GradientsMatchTensorFlow) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(
      const std::string graph_def,
      LocalFileSystem().ReadFile(
          absl::StrCat("integration_tests/testdata/conformance/", one.file)));
  const Scope root = Scope::Root();
  ASSERT_OK(ImportGraphDef(graph_def, root.graph()));
  const auto find = [&](const std::string& name) {
    const auto found = root.graph().FindOutputTensor(name);
    EXPECT_THAT(found, IsOk());
    return found.ok() ? Output(*found) : Output();
  };
  std::vector<Output> ours, theirs;
  for (const Gradients& gradients : one.gradients) {
    std::vector<Output> xs;
    for (const std::string& x : gradients.xs) xs.push_back(find(x));
    ASSERT_OK_AND_ASSIGN(const auto made,
                         AddGradients(root, {find(gradients.y)}, xs));
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_FALSE(made[i].IsNone()) << gradients.xs[i];
      ours.push_back(ToDense(root, made[i]));
      theirs.push_back(find(gradients.fetches[i]));
    }
  }
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  if (!one.initializer.empty()) {
    ASSERT_OK(session->Run(Operation(root.graph().FindNode(one.initializer))));
  }
  for (const auto& named : one.feeds) {
    FeedList feeds;
    for (const auto& [name, value] : named) {
      feeds.emplace_back(find(name), value);
    }
    ASSERT_OK_AND_ASSIGN(const auto got, session->Run(feeds, ours));
    ASSERT_OK_AND_ASSIGN(const auto want, session->Run(feeds, theirs));
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(theirs[i].name());
      ExpectClose(got[i], want[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ImportedLoopGradientsTest,
                         testing::Values(Plain(), Nested(), Branches(),
                                         Arrays(), Folds(), Recurrent(),
                                         FunctionalLoops("graph.pb"),
                                         FunctionalLoops("functional.pb"),
                                         FunctionalBranches("graph.pb"),
                                         FunctionalBranches("functional.pb"),
                                         GradientOfItsOwn()),
                         NameOf);

// The library has two functions: the square of x, and x times a random number.
constexpr char kLibrary[] = R"(
library {
  function {
    signature {
      name: 'square'
      input_arg { name: 'x' type: DT_FLOAT }
      output_arg { name: 'y' type: DT_FLOAT }
    }
    node_def {
      name: 'm' op: 'Mul' input: 'x' input: 'x'
      attr { key: 'T' value { type: DT_FLOAT } }
    }
    ret { key: 'y' value: 'm:z:0' }
  }
  function {
    signature {
      name: 'noisy' is_stateful: true
      input_arg { name: 'x' type: DT_FLOAT }
      output_arg { name: 'y' type: DT_FLOAT }
    }
    node_def {
      name: 'shape' op: 'Shape' input: 'x'
      attr { key: 'T' value { type: DT_FLOAT } }
    }
    node_def {
      name: 'drawn' op: 'RandomUniform' input: 'shape:output:0'
      attr { key: 'T' value { type: DT_INT32 } }
      attr { key: 'dtype' value { type: DT_FLOAT } }
    }
    node_def {
      name: 'm' op: 'Mul' input: 'x' input: 'drawn:output:0'
      attr { key: 'T' value { type: DT_FLOAT } }
    }
    ret { key: 'y' value: 'm:z:0' }
  }
})";

Output Call(const Scope& scope, const char* function, const Output& x) {
  return scope.AddOutput(
      "StatefulPartitionedCall", {x},
      {{"Tin", DataTypeVector{DT_FLOAT}},
       {"Tout", DataTypeVector{DT_FLOAT}},
       {"f", NameAttrList{function, std::make_shared<AttrMap>()}}});
}

// Computes x^(2^n) by calling a square function n times. The gradient is 2^n
// x^(2^n - 1).
TEST(CallGradientsTest, CallsInALoopAreDifferentiated) {
  const Scope root = Scope::Root();
  ASSERT_OK(ImportGraphDefText(kLibrary, root.graph()));
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Output n = ops::Placeholder(root, DT_INT32, {.shape = {}});
  const std::vector<Output> last = ops::WhileLoop(
      root, {0, x},
      [&](const Scope& s, const std::vector<Output>& v) {
        return ops::Less(s, v[0], n);
      },
      [](const Scope& s, const std::vector<Output>& v) {
        return std::vector{ops::Add(s, v[0], 1), Call(s, "square", v[1])};
      },
      {.shape_invariants = {PartialShape::Scalar(), PartialShape()}});
  ASSERT_OK(root.status());
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root, {last[1]}, {x}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  for (const int count : {0, 1, 3}) {
    ASSERT_OK_AND_ASSIGN(
        const auto got,
        session->Run({{x, Tensor::Scalar(2.0f)}, {n, Tensor::Scalar(count)}},
                     std::vector{last[1], gradients[0].dense}));
    const auto power = static_cast<float>(1 << count);
    EXPECT_EQ(got[0].scalar<float>(), std::pow(2.0f, power));
    EXPECT_EQ(got[1].scalar<float>(), power * std::pow(2.0f, power - 1));
  }
}

TEST(CallGradientsTest, RandomOpsAreNotRecomputed) {
  const Scope root = Scope::Root();
  ASSERT_OK(ImportGraphDefText(kLibrary, root.graph()));
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  EXPECT_THAT(AddGradients(root, {Call(root, "noisy", x)}, {x}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "changes state or draws random numbers"));
}

}  // namespace
}  // namespace weft
