// Runs lookups in partitioned tables, and gradients of squares, in fused and in
// unchanged graphs. The results must have the same bits, and the errors must be
// equal.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

constexpr int kRowsOfTable = 101;

struct LookupCase {
  std::string strategy;
  int parts;
  DataType type;  // type of the table
  DataType ids;
  int64_t width;
  bool is_matrix = false;  // whether the ids are a matrix instead of a vector
};

std::string NameOf(const LookupCase& c) {
  return absl::StrCat(c.strategy, "_", c.parts, "_parts_", c.width,
                      c.is_matrix ? "_of_a_matrix" : "");
}

class PartedLookupsTest : public GraphTest,
                          public ::testing::WithParamInterface<LookupCase> {
 protected:
  // Returns the values of one part. Their sum depends on the order of the
  // additions.
  static Tensor Part(const TensorShape& shape, int seed) {
    return NumbersOfEitherSign(shape, seed, 3);
  }

  std::vector<Output> Table(const LookupCase& c) {
    std::vector<Output> parts;
    for (int i = 0; i < c.parts; ++i) {
      const int64_t rows =
          kRowsOfTable / c.parts + (i < kRowsOfTable % c.parts ? 1 : 0);
      Output part = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, c.width}});
      feeds_.emplace_back(part, Part(TensorShape({rows, c.width}), i));
      parts.push_back(c.type == DT_FLOAT ? part
                                         : ops::Cast(root_, part, c.type));
    }
    return parts;
  }

  static Tensor Ids(const LookupCase& c, const std::vector<int64_t>& values) {
    const auto n = static_cast<int64_t>(values.size());
    const TensorShape shape =
        c.is_matrix ? TensorShape({n / 2, 2}) : TensorShape({n});
    Tensor ids(c.ids, shape);
    const int64_t count = ids.num_elements();
    for (int64_t i = 0; i < count; ++i) {
      if (c.ids == DT_INT32) {
        ids.mutable_flat<int32_t>()[i] = static_cast<int32_t>(values[i]);
      } else {
        ids.mutable_flat<int64_t>()[i] = values[i];
      }
    }
    return ids;
  }

  void Build(const LookupCase& c) {
    const std::vector<Output> table = Table(c);
    ids_ = ops::Placeholder(
        root_, c.ids,
        {.shape = c.is_matrix ? PartialShape({-1, 2}) : PartialShape({-1})});
    const Output rows = nn::EmbeddingLookup(root_, table, ids_, {c.strategy});
    fetches_ = {rows};
    if (!IsFloatingType(c.type)) return;
    const Output loss = ops::Mul(root_, ops::Square(root_, rows), rows);
    auto grads = AddGradients(root_, {loss}, table);
    ASSERT_OK(grads);
    for (const Gradient& grad : *grads) {
      ASSERT_TRUE(grad.IsSparse());
      fetches_.push_back(grad.values);
      fetches_.push_back(grad.indices);
    }
  }

  // Whether the graph is unchanged or rewritten. A session for each is created
  // once.
  enum Way : int { kPlain = 0, kFused = 1 };

  // Returns the fetches or the error of a lookup. Sets `graph` to the graph as
  // it was executed.
  absl::StatusOr<std::vector<Tensor>> Look(Way way, const Tensor& ids,
                                           std::string* graph) {
    std::unique_ptr<Session>& session = sessions_[way];
    if (session == nullptr) {
      SessionOptions options{.process = &process_};
      if (way == kPlain) options.graph_options = NoRewrites();
      ASSIGN_OR_RETURN(session, Session::Connect("", root_, options));
    }
    FeedList feeds = feeds_;
    feeds.emplace_back(ids_, ids);
    RunMetadata metadata;
    ASSIGN_OR_RETURN(
        std::vector<Tensor> values,
        session->Run(feeds, fetches_, {}, {.output_partition_graphs = true},
                     &metadata));
    graph->clear();
    for (const std::string& part : metadata.partition_graphs) *graph += part;
    return values;
  }

  FeedList feeds_;
  Output ids_;
  std::vector<Output> fetches_;
  std::unique_ptr<Session> sessions_[2];  // index: Way
};

TEST_P(PartedLookupsTest, FusedNodesGiveTheSameBits) {
  const LookupCase& c = GetParam();
  ASSERT_NO_FATAL_FAILURE(Build(c));
  ASSERT_OK(root_.status());
  std::vector<int64_t> many(3001);  // enough work for two threads
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<int64_t>(i * i * 31 % kRowsOfTable);
  }
  std::string few, all;
  for (const std::vector<int64_t>& ids : {std::vector<int64_t>{},
                                          {7, 7, 7, 7},
                                          {100, 0, 3, 100, 99, 1, 0},
                                          many}) {
    SCOPED_TRACE(ids.size());
    const auto fused = Look(kFused, Ids(c, ids), &few);
    const auto plain = Look(kPlain, Ids(c, ids), &all);
    ASSERT_OK(fused);
    ASSERT_OK(plain);
    for (size_t i = 0; i < plain->size(); ++i) {
      EXPECT_TRUE(SameBits((*fused)[i], (*plain)[i]))
          << i << ": " << (*fused)[i].ToString() << " for "
          << (*plain)[i].ToString();
    }
  }
  const auto is_run = [&](const char* op) {
    return absl::StrContains(few, op);
  };
  EXPECT_EQ(is_run("_UniquePartition"), c.parts > 1 && c.strategy == "mod");
  // If the ids are not a vector, the gradient needs the shape of the stitched
  // rows, so the rows are stitched separately.
  const bool has_gradient = IsFloatingType(c.type);
  EXPECT_EQ(is_run("_GatherStitched"),
            c.parts > 1 && !(has_gradient && c.is_matrix));
  EXPECT_EQ(is_run("_SumToParts"), c.parts > 1 && has_gradient);
  for (const char* op :
       {"_UniquePartition", "_GatherStitched", "_SumToParts"}) {
    EXPECT_FALSE(absl::StrContains(all, op)) << op;
  }
}

// An id beyond the table is an error, which names the same node in both graphs.
TEST_P(PartedLookupsTest, InvalidIdsGiveTheSameErrors) {
  const LookupCase& c = GetParam();
  ASSERT_NO_FATAL_FAILURE(Build(c));
  fetches_.resize(1);
  std::string graph;
  for (const int64_t id : {int64_t{kRowsOfTable}, int64_t{-1}, int64_t{-77}}) {
    const Tensor ids = Ids(c, {5, 5, 0, id});
    const absl::Status fused = Look(kFused, ids, &graph).status();
    const absl::Status plain = Look(kPlain, ids, &graph).status();
    EXPECT_EQ(fused.code(), absl::StatusCode::kInvalidArgument) << fused;
    // With the strategy "div", two nodes divide the ids, and either of them may
    // report the error first.
    if (c.strategy == "mod") {
      EXPECT_EQ(fused, plain);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, PartedLookupsTest,
    ::testing::Values(LookupCase{"mod", 1, DT_FLOAT, DT_INT32, 3},
                      LookupCase{"mod", 2, DT_FLOAT, DT_INT64, 64},
                      LookupCase{"mod", 3, DT_DOUBLE, DT_INT32, 17},
                      LookupCase{"mod", 4, DT_HALF, DT_INT64, 5},
                      LookupCase{"mod", 5, DT_FLOAT, DT_INT32, 1},
                      LookupCase{"mod", 3, DT_FLOAT, DT_INT64, 33, true},
                      LookupCase{"mod", 2, DT_INT32, DT_INT64, 3, true},
                      LookupCase{"div", 2, DT_BFLOAT16, DT_INT32, 21},
                      LookupCase{"div", 5, DT_FLOAT, DT_INT64, 19},
                      LookupCase{"div", 3, DT_FLOAT, DT_INT32, 2, true}),
    [](const auto& instance) {
      return absl::StrCat(NameOf(instance.param), "_", instance.index);
    });

// The parts have rows of different widths, which are unknown when the graph is
// built.
TEST_F(GraphTest, MismatchedPartsFailTheSameNode) {
  const auto one = ops::Placeholder(root_, DT_FLOAT);
  const auto other = ops::Placeholder(root_, DT_FLOAT);
  const auto ids = ops::Placeholder(root_, DT_INT32, {.shape = {-1}});
  const Output rows =
      nn::EmbeddingLookup(root_, std::vector<Output>{one, other}, ids);
  ASSERT_OK(root_.status());
  std::vector<std::string> texts;
  for (const GraphOptions& options : {GraphOptions(), NoRewrites()}) {
    auto session = Session::Connect(
        "", root_, {.graph_options = options, .process = &process_});
    ASSERT_OK(session);
    const auto result =
        (*session)->Run({{one, Tensor(DT_FLOAT, {2, 3})},
                         {other, Tensor(DT_FLOAT, {2, 4})},
                         {ids, Tensor::Vector<int32_t>({0, 1})}},
                        rows);
    texts.emplace_back(result.status().message());
  }
  EXPECT_THAT(texts[1], ::testing::HasSubstr("Need data[0].shape[1:]"));
  EXPECT_EQ(absl::StrReplaceAll(texts[0],
                                {{"_GatherStitched", "ParallelDynamicStitch"}}),
            texts[1]);
}

// The gradient of a mean of squares has too many elements for a constant. A
// single node reads and writes each of them once
// (libs/passes/scaling_fusion.h).
TEST_F(GraphTest, GradientOfSquaresIsScaledByOneNode) {
  const auto x = ops::Placeholder(root_, DT_FLOAT, {.shape = {700, 64}});
  const Output loss = ops::Mean(root_, ops::Square(root_, x), {0, 1});
  const auto gradients = AddGradients(root_, {loss}, {x});
  ASSERT_OK(gradients);
  Tensor value(DT_FLOAT, TensorShape({700, 64}));
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const auto k = static_cast<float>(i * 7919 % 1000 - 500);
    value.mutable_flat<float>()[i] = k == 0 ? -0.0f : k / 3;
  }
  std::vector<Tensor> results;
  for (const GraphOptions& options : {GraphOptions(), NoRewrites()}) {
    auto session = Session::Connect(
        "", root_, {.graph_options = options, .process = &process_});
    ASSERT_OK(session);
    RunMetadata metadata;
    const auto result =
        (*session)->Run({{x, value}}, {(*gradients)[0].dense}, {},
                        {.output_partition_graphs = true}, &metadata);
    ASSERT_OK(result);
    results.push_back((*result)[0]);
    ASSERT_EQ(metadata.partition_graphs.size(), 1u);
    const std::string& graph = metadata.partition_graphs[0];
    const bool is_first = results.size() == 1;
    EXPECT_EQ(absl::StrContains(graph, "_MulInTurn"), is_first);
    EXPECT_EQ(absl::StrContains(graph, "BroadcastTo"), !is_first);
  }
  EXPECT_TRUE(SameBits(results[0], results[1]));
}

}  // namespace
}  // namespace weft
