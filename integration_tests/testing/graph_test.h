// GraphTest is a fixture for tests that build a graph and run it in this
// process.
//
// Single-threaded.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_TEST_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {

class GraphTest : public ::testing::Test {
 protected:
  // Returns a Const with a float matrix of these rows.
  Output Matrix(const std::vector<std::vector<float>>& rows) {
    std::vector<float> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return ops::Const(
        root_,
        Tensor::FromValues(TensorShape({static_cast<int64_t>(rows.size()),
                                        static_cast<int64_t>(rows[0].size())}),
                           absl::Span<const float>(all)));
  }
  // Returns multiples of 1 / divisor with either sign, including -0.
  static Tensor NumbersOfEitherSign(const TensorShape& shape, int seed,
                                    float divisor) {
    Tensor floats(DT_FLOAT, shape);
    int64_t i = 0;
    for (float& x : floats.mutable_flat<float>()) {
      const auto k = static_cast<float>((i++ * 7919 + seed * 31) % 1000 - 500);
      x = k == 0 ? -0.0f : k / divisor;
    }
    return floats;
  }
  Output Vector(const std::vector<float>& values) {
    return ops::Const(root_, Tensor::Vector(absl::Span<const float>(values)));
  }

  Session& session() {
    if (session_ == nullptr) {
      auto connected = Session::Connect("", root_, options_);
      EXPECT_TRUE(connected.ok()) << connected.status();
      session_ = *std::move(connected);
    }
    return *session_;
  }
  // Runs a step and returns the elements of a float tensor. After an error,
  // fails the test and returns an empty vector.
  std::vector<float> Run(const FeedList& feeds, const Output& fetch) {
    EXPECT_OK(root_.status());
    if (!root_.ok()) return {};
    absl::StatusOr<Tensor> value = session().Run(feeds, fetch);
    EXPECT_OK(value);
    if (!value.ok() || value->dtype() != DT_FLOAT) return {};
    return {value->flat<float>().begin(), value->flat<float>().end()};
  }
  std::vector<float> Run(const Output& fetch) { return Run({}, fetch); }
  void RunOperation(const Operation& operation) {
    ASSERT_OK(root_.status());
    ASSERT_OK(session().Run(operation));
  }
  void InitializeVariables() {
    RunOperation(ops::GlobalVariablesInitializer(root_));
    RunOperation(ops::LocalVariablesInitializer(root_));
  }
  const Node* Find(const std::string& name) {
    return root_.graph().FindNode(name);
  }

  Process process_{{.compute_threads = 2}};
  SessionOptions options_{.process = &process_};
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

// Matches floats that differ from `expected` only by rounding.
inline auto FloatsNear(const std::vector<float>& expected,
                       float tolerance = 1e-5f) {
  std::vector<::testing::Matcher<float>> matchers;
  for (const float value : expected) {
    const float allowed = tolerance * std::max(1.0f, std::abs(value));
    matchers.push_back(::testing::FloatNear(value, allowed));
  }
  return ::testing::ElementsAreArray(matchers);
}

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_TEST_H_
