// Tests embedding lookups in tables of one or several parts, and the updates of
// these tables. The expected values are computed in double by the formulas of
// tf.nn.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

constexpr int kDim = 3;

float Element(int64_t id, int column) {
  return static_cast<float>(id) + 0.125f * static_cast<float>(column) - 2;
}

// Returns in which part row `id` is, and its position there, if `rows` rows are
// partitioned into `parts` parts.
struct Place {
  int64_t part, row;
};
Place PlaceOf(const std::string& strategy, int64_t id, int64_t rows,
              int64_t parts) {
  if (strategy == "mod") return {id % parts, id / parts};
  for (int64_t part = 0;; ++part) {
    const int64_t size = rows / parts + (part < rows % parts ? 1 : 0);
    if (id < size) return {part, id};
    id -= size;
  }
}

class EmbeddingTest : public GraphTest {
 protected:
  // Creates a table in which row i has the values Element(i, ...), wherever the
  // strategy places the row.
  std::vector<ops::Variable> Table(const std::string& strategy, int rows,
                                   int parts) {
    std::vector<std::vector<float>> values(parts);
    for (int part = 0; part < parts; ++part) {
      values[part].resize((rows / parts + (part < rows % parts)) * kDim);
    }
    for (int id = 0; id < rows; ++id) {
      const Place at = PlaceOf(strategy, id, rows, parts);
      for (int c = 0; c < kDim; ++c) {
        values[at.part][at.row * kDim + c] = Element(id, c);
      }
    }
    std::vector<ops::Variable> result;
    for (const std::vector<float>& part : values) {
      const TensorShape shape({static_cast<int64_t>(part.size()) / kDim, kDim});
      result.emplace_back(
          root_.WithName("table"),
          Tensor::FromValues(shape, absl::Span<const float>(part)));
    }
    return result;
  }

  static std::vector<float> RowsOf(const std::vector<int64_t>& ids) {
    std::vector<float> rows;
    for (const int64_t id : ids) {
      for (int c = 0; c < kDim; ++c) rows.push_back(Element(id, c));
    }
    return rows;
  }

  // Returns the sparse tensor whose row i contains the values rows[i].
  template <typename T>
  ops::SparseOutputs Sparse(const std::vector<std::vector<T>>& rows) {
    std::vector<int64_t> indices;
    std::vector<T> values;
    int64_t width = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < rows[i].size(); ++j) {
        indices.insert(indices.end(),
                       {static_cast<int64_t>(i), static_cast<int64_t>(j)});
        values.push_back(rows[i][j]);
      }
      width = std::max(width, static_cast<int64_t>(rows[i].size()));
    }
    const auto count = static_cast<int64_t>(values.size());
    return {ops::Const(root_,
                       Tensor::FromValues(TensorShape({count, 2}),
                                          absl::Span<const int64_t>(indices))),
            ops::Const(root_, Tensor::Vector(absl::Span<const T>(values))),
            ops::Const(root_, Tensor::Vector<int64_t>(
                                  {static_cast<int64_t>(rows.size()), width}))};
  }

  // Returns the expected result of tf.nn.embedding_lookup_sparse.
  static std::vector<float> Combined(
      const std::vector<std::vector<int64_t>>& ids,
      const std::vector<std::vector<float>>& weights,
      const std::string& combiner) {
    std::vector<float> result;
    for (size_t i = 0; i < ids.size(); ++i) {
      for (int c = 0; c < kDim; ++c) {
        double sum = 0, total = 0, squares = 0;
        for (size_t j = 0; j < ids[i].size(); ++j) {
          const double w = weights.empty() ? 1 : weights[i][j];
          sum += w * Element(ids[i][j], c);
          total += w;
          squares += w * w;
        }
        if (combiner == "mean") sum /= total;
        if (combiner == "sqrtn") sum /= std::sqrt(squares);
        result.push_back(static_cast<float>(sum));
      }
    }
    return result;
  }
};

TEST_F(EmbeddingTest, EachIdGetsItsRow) {
  const std::vector<int64_t> all = {12, 0, 7, 7, 3, 0, 11, 5, 12, 1};
  for (const std::string strategy : {"mod", "div"}) {
    for (const int parts : {1, 2, 3, 5, 13}) {
      SCOPED_TRACE(absl::StrCat(strategy, " ", parts));
      const auto table = Table(strategy, 13, parts);
      const auto narrow = ops::Placeholder(root_, DT_INT32);
      const auto wide = ops::Placeholder(root_, DT_INT64, {.shape = {2, -1}});
      const Output of_narrow =
          nn::EmbeddingLookup(root_, table, narrow, {strategy});
      const Output of_wide =
          nn::EmbeddingLookup(root_, table, wide, {strategy});
      ASSERT_OK(root_.status());
      EXPECT_EQ(of_wide.shape(), PartialShape({2, -1, kDim}));
      session_ = nullptr;
      InitializeVariables();
      EXPECT_THAT(
          Run({{wide, Tensor::FromValues(TensorShape({2, 5}),
                                         absl::Span<const int64_t>(all))}},
              of_wide),
          FloatsNear(RowsOf(all)));
      EXPECT_THAT(Run({{narrow, Tensor::Scalar<int32_t>(9)}}, of_narrow),
                  FloatsNear(RowsOf({9})));
      EXPECT_THAT(Run({{narrow, Tensor(DT_INT32, {0})}}, of_narrow),
                  FloatsNear({}));
    }
  }
}

TEST_F(EmbeddingTest, NodeNamesMatchTensorFlow) {
  const auto table = Table("mod", 5, 2);
  nn::EmbeddingLookup(root_, table, Tensor::Vector<int64_t>({1, 2}));
  ASSERT_OK(root_.status());
  for (const char* name :
       {"embedding_lookup/FloorMod", "embedding_lookup/floordiv",
        "embedding_lookup/Cast", "embedding_lookup/range",
        "embedding_lookup/DynamicPartition",
        "embedding_lookup/DynamicPartition_1"}) {
    EXPECT_NE(Find(name), nullptr) << name;
  }
  ASSERT_NE(Find("embedding_lookup"), nullptr);
  EXPECT_EQ(Find("embedding_lookup")->type(), "ParallelDynamicStitch");
  const auto sparse = Sparse<int64_t>({{1, 2}, {1}});
  EXPECT_EQ(nn::EmbeddingLookupSparse(root_, table, sparse).name(),
            "embedding_lookup_sparse:0");
}

TEST_F(EmbeddingTest, RowsOutsideTheTableAreRejected) {
  const auto ids = ops::Placeholder(root_, DT_INT64, {.shape = {-1}});
  const auto of = [&](const std::string& strategy, int parts) {
    return nn::EmbeddingLookup(root_, Table(strategy, 13, parts), ids,
                               {strategy});
  };
  const Output one = of("mod", 1), mod = of("mod", 5), div = of("div", 5);
  InitializeVariables();
  const auto expect = [&](const Output& rows, int64_t id,
                          const std::string& text) {
    EXPECT_THAT(
        session().Run({{ids, Tensor::Vector<int64_t>({0, 0, id})}}, rows),
        StatusIs(kInvalid, text));
  };
  expect(one, 13, "indices[1] = 13 is not in [0, 13)");
  expect(one, -1, "indices[1] = -1 is not in [0, 13)");
  // The id 3 << 32 would be valid if a part number were truncated to int32.
  const std::pair<Output, std::string> tables[] = {{mod, "table_1"},
                                                   {div, "table_6"}};
  for (const int64_t id : {int64_t{13}, int64_t{-1}, int64_t{3} << 32}) {
    for (const auto& [rows, table] : tables) {
      expect(rows, id,
             absl::StrCat("id ", id, " has no row in table '", table,
                          "', which has 13 rows: ids must be in [0, 13)"));
    }
  }
  EXPECT_THAT(Run({{ids, Tensor::Vector<int64_t>({12})}}, mod),
              FloatsNear(RowsOf({12})));
}

TEST_F(EmbeddingTest, TableMayBePartitionedVariableOrTensors) {
  const auto table = ops::GetPartitionedVariable(
      root_, "table", TensorShape({7, 2}),
      {.initializer = ops::initializers::Ones(),
       .partitioner = ops::FixedSizePartitioner(3)});
  const Output ids = ops::Const(root_, Tensor::Vector<int64_t>({6, 0, 6}));
  const Output rows = nn::EmbeddingLookup(root_, table, ids, {"div"});
  const Output of_tensors = nn::EmbeddingLookup(
      root_, std::vector<Output>{Matrix({{1, 2}, {3, 4}}), Matrix({{5, 6}})},
      {2, 1, 0, 2});
  const auto unknown = ops::Placeholder(root_, DT_FLOAT);
  const Output of_unknown = nn::EmbeddingLookup(
      root_, std::vector<Output>{unknown, Matrix({{5, 6}})}, {2, 1, 0},
      {.partition_strategy = "div", .max_norm = 5.0f});
  InitializeVariables();
  EXPECT_THAT(Run(rows), FloatsNear({1, 1, 1, 1, 1, 1}));
  EXPECT_THAT(Run(of_tensors), FloatsNear({3, 4, 5, 6, 1, 2, 3, 4}));
  const float scale = 5 / std::sqrt(61.0f);
  EXPECT_THAT(Run({{unknown, Tensor::FromValues<float>(TensorShape({2, 2}),
                                                       {1, 2, 3, 4})}},
                  of_unknown),
              FloatsNear({5 * scale, 6 * scale, 3, 4, 1, 2}));
}

TEST_F(EmbeddingTest, RowsAreClippedToMaxNorm) {
  const std::vector<Output> table = {Matrix({{3, 4}, {0, 0}}),
                                     Matrix({{.3f, .4f}})};
  const Output rows =
      nn::EmbeddingLookup(root_, table, {0, 1, 2, 0}, {.max_norm = 1.0f});
  EXPECT_THAT(Run(rows), FloatsNear({.6f, .8f, .3f, .4f, 0, 0, .6f, .8f}));
  auto grads = AddGradients(root_, {rows}, {table[0]});
  ASSERT_OK(grads);
  // The gradient of x / |x| is (1 - x x^T / |x|^2) / |x|. Row 0 is looked up
  // twice. For x = 0 the gradient is that of x / max_norm.
  EXPECT_THAT(Run(ToDense(root_, (*grads)[0])),
              FloatsNear({2 * (.64f - .48f) / 5, 2 * (.36f - .48f) / 5, 1, 1}));
}

TEST_F(EmbeddingTest, GradientOfAPartHasEachRowOnce) {
  for (const std::string strategy : {"mod", "div"}) {
    const auto table = Table(strategy, 7, 3);
    const std::vector<int64_t> ids = {6, 0, 6, 3};
    const Output rows = nn::EmbeddingLookup(
        root_, table,
        ops::Const(root_, Tensor::Vector(absl::Span<const int64_t>(ids))),
        {strategy});
    const Output weights = Matrix({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}});
    std::vector<Output> handles;
    for (const auto& part : table) handles.push_back(part.handle());
    auto grads = AddGradients(root_, {ops::Mul(root_, rows, weights)}, handles);
    ASSERT_OK(grads);
    std::vector<std::vector<float>> expected(3);
    for (int i = 0; i < 3; ++i) expected[i].resize((i == 0 ? 3 : 2) * kDim);
    for (size_t i = 0; i < ids.size(); ++i) {
      const float sums[4][kDim] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}};
      const Place at = PlaceOf(strategy, ids[i], 7, 3);
      for (int c = 0; c < kDim; ++c) {
        expected[at.part][at.row * kDim + c] += sums[i][c];
      }
    }
    session_ = nullptr;
    InitializeVariables();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*grads)[i].IsSparse());
      EXPECT_TRUE((*grads)[i].is_distinct);
      EXPECT_THAT(Run(ToDense(root_, (*grads)[i])), FloatsNear(expected[i]));
    }
  }
}

// Trains a partitioned table, and the same table in one part that is read as a
// whole. Both get the same values.
TEST_F(EmbeddingTest, PartitionedTrainingMatchesWholeTable) {
  const auto ids = ops::Placeholder(root_, DT_INT64, {.shape = {-1}});
  const auto parts = Table("div", 13, 5);
  const auto whole = Table("div", 13, 1)[0];
  const Output gathered =
      ops::GatherV2(root_, ops::Identity(root_, whole), ids, 0);
  const auto loss = [&](const Output& rows) {
    return ops::Sum(root_, ops::Square(root_, rows), {0, 1});
  };
  const Output loss_of_parts =
      loss(nn::EmbeddingLookup(root_, parts, ids, {"div"}));
  const Output loss_of_whole = loss(gathered);
  std::vector<Operation> trains;
  for (const auto& [of, vars] :
       {std::pair{loss_of_parts, parts}, {loss_of_whole, {whole}}}) {
    trains.push_back(
        train::Adagrad(0.1f).Minimize(root_, of, {.var_list = vars}));
    trains.push_back(
        train::GradientDescent(0.01f).Minimize(root_, of, {.var_list = vars}));
  }
  const Output joined =
      ops::Concat(root_, InputList(parts.begin(), parts.end()), 0);
  InitializeVariables();
  for (const std::vector<int64_t>& batch :
       {std::vector<int64_t>{1, 1, 12}, {}, {4, 3, 4, 4, 0}}) {
    for (const Operation& train : trains) {
      ASSERT_OK(session().Run(
          {{ids, Tensor::Vector(absl::Span<const int64_t>(batch))}}, {},
          {train}));
    }
  }
  EXPECT_THAT(Run(joined), FloatsNear(Run(whole)));
}

TEST_F(EmbeddingTest, GatherOfRefVariableIsColocated) {
  const ops::Variable w(root_.WithName("w").WithDevice("/job:ps/task:1"),
                        Tensor(DT_FLOAT, {4, 2}), {.use_resource = false});
  const Scope worker = root_.WithDevice("/job:worker/task:0");
  for (const Output& rows :
       {w.SparseRead(worker, {1}), ops::Gather(worker, w, {1, 1}),
        ops::GatherV2(worker, w, {1}, 0), ops::GatherV2(worker, w, {1}, 1)}) {
    EXPECT_EQ(rows.node()->type(), "GatherV2");
    EXPECT_EQ(rows.node()->requested_device(), "/job:ps/task:1");
  }
}

TEST_F(EmbeddingTest, GatherOfResourceVariableIsColocated) {
  const ops::Variable w(root_.WithName("w").WithDevice("/job:ps/task:1"),
                        Tensor(DT_FLOAT, {4, 2}));
  const Scope worker = root_.WithDevice("/job:worker/task:0");
  for (const Output& rows :
       {w.SparseRead(worker, {1}), ops::Gather(worker, w, {1, 1}),
        ops::GatherV2(worker, w, {1}, 0)}) {
    EXPECT_EQ(rows.node()->type(), "ResourceGather");
    EXPECT_EQ(rows.node()->requested_device(), "/job:ps/task:1");
  }
  const Output columns = ops::GatherV2(worker, w, {1}, 1);
  EXPECT_EQ(columns.node()->type(), "GatherV2");
  EXPECT_EQ(columns.node()->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(ops::Gather(worker, w, {1, 1}).name(), "ResourceGather_3:0");
}

TEST_F(EmbeddingTest, SparseIdsAreCombined) {
  const std::vector<std::vector<int64_t>> ids = {{1, 4, 1}, {12}, {0, 4}};
  const std::vector<std::vector<float>> weights = {
      {1, .5f, 2}, {3}, {.25f, -1}};
  for (const std::string strategy : {"mod", "div"}) {
    const auto table = Table(strategy, 13, 3);
    session_ = nullptr;
    InitializeVariables();
    for (const std::string combiner : {"sum", "mean", "sqrtn"}) {
      SCOPED_TRACE(combiner);
      EXPECT_THAT(Run(nn::EmbeddingLookupSparse(
                      root_, table, Sparse(ids), {},
                      {.partition_strategy = strategy, .combiner = combiner})),
                  FloatsNear(Combined(ids, {}, combiner)));
      EXPECT_THAT(Run(nn::EmbeddingLookupSparse(
                      root_, table, Sparse(ids), Sparse(weights),
                      {.partition_strategy = strategy, .combiner = combiner})),
                  FloatsNear(Combined(ids, weights, combiner)));
    }
  }
}

TEST_F(EmbeddingTest, SparseIdsMayBeEmptyOrNegative) {
  const auto table = Table("div", 13, 3);
  InitializeVariables();
  // -1 is not a valid id, and row 1 has no ids.
  const auto ids = Sparse<int64_t>({{5, -1, 2}, {}, {-7}, {0}});
  const auto weights = Sparse<float>({{1, 1, 3}, {}, {1}, {-2}});
  const std::vector<float> zeros(kDim, 0);
  const auto join = [](std::vector<std::vector<float>> rows) {
    std::vector<float> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  EXPECT_THAT(Run(nn::SafeEmbeddingLookupSparse(root_, table, ids)),
              FloatsNear(join({Combined({{5, 2}}, {}, "mean"), zeros, zeros,
                               RowsOf({0})})));
  EXPECT_THAT(Run(nn::SafeEmbeddingLookupSparse(root_, table, ids, {},
                                                {.default_id = 3})),
              FloatsNear(join({Combined({{5, 2}}, {}, "mean"), RowsOf({3}),
                               RowsOf({3}), RowsOf({0})})));
  // Ids whose weight is not positive are dropped, except by the combiner "sum".
  EXPECT_THAT(Run(nn::SafeEmbeddingLookupSparse(root_, table, ids, weights)),
              FloatsNear(join({Combined({{5, 2}}, {{1, 3}}, "mean"), zeros,
                               zeros, zeros})));
  EXPECT_THAT(Run(nn::SafeEmbeddingLookupSparse(root_, table, ids, weights,
                                                {.combiner = "sum"})),
              FloatsNear(join({Combined({{5, 2}}, {{1, 3}}, "sum"), zeros,
                               zeros, Combined({{0}}, {{-2}}, "sum")})));
  const auto none = Sparse<int64_t>({{}, {}});
  EXPECT_THAT(Run(nn::SafeEmbeddingLookupSparse(root_, table, none)),
              FloatsNear(join({zeros, zeros})));
}

TEST_F(EmbeddingTest, SafeLookupsKeepOuterDimensions) {
  const auto table = Table("div", 4, 2);
  const ops::SparseOutputs ids = {
      ops::Const(root_, Tensor::FromValues<int64_t>(TensorShape({2, 3}),
                                                    {0, 1, 0, 1, 0, 1})),
      ops::Const(root_, Tensor::Vector<int32_t>({3, 2})),
      ops::Const(root_, Tensor::Vector<int64_t>({2, 2, 2}))};
  InitializeVariables();
  auto value = session().Run(nn::SafeEmbeddingLookupSparse(root_, table, ids));
  ASSERT_OK(value);
  EXPECT_EQ(value->shape(), TensorShape({2, 2, kDim}));
  std::vector<float> expected(kDim, 0);
  for (const float x : RowsOf({3, 2})) expected.push_back(x);
  expected.resize(4 * kDim, 0);
  EXPECT_THAT(value->flat<float>(), FloatsNear(expected));
}

TEST_F(EmbeddingTest, InvalidLookupsAreRejected) {
  const auto expect = [&](const std::string& text, const auto& build) {
    root_ = Scope::Root();
    build();
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  };
  const auto ids = [&] { return ops::Placeholder(root_, DT_INT64); };
  expect("Need at least one param",
         [&] { nn::EmbeddingLookup(root_, std::vector<Output>{}, ids()); });
  expect("Unrecognized partition strategy: hash", [&] {
    nn::EmbeddingLookup(root_, Table("mod", 4, 2), ids(), {"hash"});
  });
  expect("ids must be int32 or int64",
         [&] { nn::EmbeddingLookup(root_, Table("mod", 4, 2), Vector({1})); });
  expect(
      "params[1] is float [1,3], which does not match params[0], float [1,2]",
      [&] {
        nn::EmbeddingLookup(
            root_, std::vector<Output>{Matrix({{1, 2}}), Matrix({{1, 2, 3}})},
            ids());
      });
  expect("is a scalar",
         [&] { nn::EmbeddingLookup(root_, ops::Const(root_, 1.0f), ids()); });
  expect("needs a row in each part, but there are 1 rows in 2 parts", [&] {
    nn::EmbeddingLookup(
        root_,
        std::vector<Output>{Matrix({{1}}),
                            ops::Const(root_, Tensor(DT_FLOAT, {0, 1}))},
        ids(), {"div"});
  });
  expect("is cut along dimension 1", [&] {
    nn::EmbeddingLookup(root_,
                        ops::GetPartitionedVariable(
                            root_, "t", TensorShape({4, 6}),
                            {.partitioner = ops::FixedSizePartitioner(2, 1)}),
                        ids());
  });
  expect("combiner must be one of 'mean', 'sqrtn' or 'sum', not 'max'", [&] {
    nn::EmbeddingLookupSparse(root_, Table("mod", 4, 2), Sparse<int64_t>({{1}}),
                              {}, {.combiner = "max"});
  });
  expect("sparse ids need indices, values and a shape",
         [&] { nn::SafeEmbeddingLookupSparse(root_, Table("mod", 4, 2), {}); });
}

// A table exceeds the machine's memory. Lookups are rejected before any of the
// table is allocated, and the session stays usable.
class LargeTableTest : public EmbeddingTest {
 protected:
  static constexpr int64_t kBound = int64_t{1} << 30;

  LargeTableTest() { options_.process = &bounded_; }
  // The session must be destroyed before the process.
  ~LargeTableTest() override { session_ = nullptr; }

  Process bounded_{
      {.compute_threads = 2, .memory_bound = [] { return kBound; }}};
};

TEST_F(LargeTableTest, LookupInLargeTableIsRejected) {
  using ops::initializers::Zeros;
  for (const auto& [name, initializer] :
       {std::pair{"uniform", ops::initializers::RandomUniform()},
        {"normal", ops::initializers::TruncatedNormal()},
        {"zeros", Zeros()},
        {"constant", ops::initializers::Constant(.5f)}}) {
    const auto table = ops::GetPartitionedVariable(
        root_, name, TensorShape({1'000'000'000, 20}),
        {.initializer = initializer,
         .partitioner = ops::FixedSizePartitioner(3)});
    ASSERT_OK(root_.status());
    const absl::Status refused = session().Run(table.parts()[0].initializer());
    EXPECT_THAT(refused,
                StatusIs(absl::StatusCode::kResourceExhausted,
                         absl::StrCat("/job:localhost/replica:0/task:0 needs "
                                      "26666666720 bytes (the largest: ",
                                      name, "/part_0, 26666666720)")));
    // A step that computes only the initial value does not create the variable.
    const absl::Status status =
        session().Run(table.parts()[0].initial_value()).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 "26666666720 bytes"));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 absl::StrCat(name, "/part_0/Initializer")));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kResourceExhausted,
                         "on /job:localhost/replica:0/task:0/device:CPU:0"));
  }
  EXPECT_LT(bounded_.buffers().stats().peak_bytes_in_use, 1 << 20);
  const auto small = ops::GetPartitionedVariable(
      root_, "small", TensorShape({1'000'000, 20}),
      {.initializer = ops::initializers::RandomUniform(),
       .partitioner = ops::FixedSizePartitioner(3)});
  const Output rows = nn::EmbeddingLookup(root_, small, {999'999, 0}, {"div"});
  for (const auto& part : small.parts()) RunOperation(part.initializer());
  EXPECT_EQ(Run(rows).size(), 40u);
}

// The classes and biases are partitioned by either strategy. The losses and
// trained values equal those of unpartitioned tables.
TEST_F(EmbeddingTest, SampledLossesWorkOnPartitionedTables) {
  const Output labels =
      ops::Reshape(root_, Tensor::Vector<int64_t>({2, 4}), {2, 1});
  const Output x = Matrix({{1, -2, 3}, {.5f, 4, -1}});
  const nn::SampledValues sampled = {
      ops::Const(root_, Tensor::Vector<int64_t>({1, 4, 0})),
      Matrix({{.5f}, {.25f}}), Vector({.3f, .2f, .6f})};
  std::vector<Output> losses;
  const auto add = [&](const std::string& strategy, int parts) {
    const auto weights = Table(strategy, 6, parts);
    std::vector<Output> biases;  // the bias of class i is i / 8
    for (int part = 0; part < parts; ++part) {
      std::vector<float> values;
      for (int id = 0; id < 6; ++id) {
        const Place at = PlaceOf(strategy, id, 6, parts);
        if (at.part == part) values.push_back(static_cast<float>(id) / 8);
      }
      biases.push_back(Vector(values));
    }
    const nn::SampledLossOptions options = {.remove_accidental_hits = true,
                                            .partition_strategy = strategy};
    losses.push_back(
        nn::NceLoss(root_, weights, biases, labels, x, sampled, 1, options));
    losses.push_back(nn::SampledSoftmaxLoss(root_, weights, biases, labels, x,
                                            sampled, 1, options));
  };
  add("mod", 1);
  add("mod", 4);
  add("div", 4);
  InitializeVariables();
  const std::vector<float> nce = Run(losses[0]), softmax = Run(losses[1]);
  ASSERT_EQ(nce.size(), 2u);
  for (const size_t i : {2, 4}) {
    EXPECT_THAT(Run(losses[i]), FloatsNear(nce));
    EXPECT_THAT(Run(losses[i + 1]), FloatsNear(softmax));
  }
}

// Trains an embedding, an indicator and a linear model of texts. An example may
// have no text, or the same text twice. The test parameter is the combiner.
class TrainedLookupsTest : public EmbeddingTest,
                           public ::testing::WithParamInterface<std::string> {
 protected:
  TrainedLookupsTest() {
    // NOLINT: programs of users begin like this
    using namespace feature_column;
    const auto column = CategoricalColumnWithHashBucket("text", 7);
    const Features features = {{"text", Feature(texts_)}};
    const Output embedded = InputLayer(
        root_, features,
        {EmbeddingColumn(column, kDim,
                         {.combiner = GetParam(),
                          .initializer = ops::initializers::Constant(0.25f)}),
         IndicatorColumn(column)});
    const auto linear =
        LinearModel(root_, features, {column}, {.sparse_combiner = GetParam()});
    const Output sums = ops::Sum(root_, ops::Mul(root_, embedded, embedded),
                                 Tensor::Vector<int32_t>({1}));
    const Output logits =
        ops::Reshape(root_, linear.logits, Tensor::Vector<int32_t>({-1}));
    const Output loss = ops::Sum(
        root_, ops::Mul(root_, ops::Sub(root_, sums, logits), weights_),
        Tensor::Vector<int32_t>({0}));
    step_ = train::Ftrl(0.2f).Minimize(root_, loss);
    for (const auto& variable : ops::TrainableVariables(root_)) {
      values_.push_back(variable.value());
    }
  }

  // Returns the variables after three steps. Sets `graph` to the graph of the
  // last step as it was executed.
  std::vector<Tensor> Train(const GraphOptions& options, std::string* graph) {
    auto session = Session::Connect(
        "", root_, {.graph_options = options, .process = &process_});
    EXPECT_OK(session);
    if (!session.ok()) return {};
    EXPECT_OK((*session)->Run(ops::GlobalVariablesInitializer(root_)));
    const FeedList feeds = {
        {texts_, Tensor::FromValues<std::string>(
                     {4, 2}, {"a", "b", "", "", "b", "b", "", "c"})},
        {weights_, Tensor::Vector<float>({1, -2, 0.5, 3})}};
    RunMetadata metadata;
    for (int i = 0; i < 3; ++i) {
      EXPECT_OK((*session)->Run(feeds, step_, {.output_partition_graphs = true},
                                &metadata));
    }
    for (const std::string& part : metadata.partition_graphs) *graph += part;
    auto values = (*session)->Run({}, values_);
    EXPECT_OK(values);
    return values.ok() ? *std::move(values) : std::vector<Tensor>();
  }

  const Output texts_ =
      ops::Placeholder(root_, DT_STRING, {.shape = PartialShape({-1, 2})});
  const Output weights_ =
      ops::Placeholder(root_, DT_FLOAT, {.shape = PartialShape({-1})});
  Operation step_;
  std::vector<Output> values_;
};

TEST_P(TrainedLookupsTest, FusedNodesGiveTheSameBits) {
  ASSERT_OK(root_.status());
  std::string few, all;
  const std::vector<Tensor> fused = Train({}, &few);
  const std::vector<Tensor> plain = Train(NoRewrites(), &all);
  for (const char* op : {"_WhereHashed", "_UniqueRowIds", "_CombineRows",
                         "_CombineRowsGrad", "_CountIds"}) {
    EXPECT_TRUE(absl::StrContains(few, op)) << op;
    EXPECT_FALSE(absl::StrContains(all, op)) << op;
  }
  ASSERT_EQ(fused.size(), 3);
  ASSERT_EQ(plain.size(), 3);
  for (size_t i = 0; i < fused.size(); ++i) {
    EXPECT_EQ(fused[i].flat<float>(), plain[i].flat<float>()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Combiners, TrainedLookupsTest,
                         ::testing::Values("sum", "mean", "sqrtn"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace weft
