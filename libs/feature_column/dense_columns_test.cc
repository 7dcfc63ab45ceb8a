// Tests of indicator and embedding columns.
#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/input_layer.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/partitioners.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::feature_column {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DenseColumnTest : public testing::Test {
 protected:
  DenseColumnTest() {
    for (const char* key : {"item", "last"}) {
      features_[key] = ops::Placeholder(root_, DT_INT64, {.shape = {-1, 2}});
    }
  }
  std::vector<const Node*> NodesOf(const std::string& type) {
    std::vector<const Node*> found;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) found.push_back(node);
    }
    return found;
  }
  std::vector<std::string> VariableNames() {
    std::vector<std::string> names;
    for (const auto& variable : ops::GlobalVariables(root_)) {
      names.push_back(variable.name());
    }
    return names;
  }
  // Returns the text of the Const that is input `input` of a node of type
  // `type`.
  std::string TextInput(const std::string& type, int input) {
    const auto nodes = NodesOf(type);
    if (nodes.size() != 1) return "?";
    const auto* const value =
        nodes[0]->input(input).node->attr<Tensor>("value");
    return value == nullptr ? "?" : value->flat<std::string>()[0];
  }

  const Scope root_ = Scope::Root();
  Features features_;
  const FeatureColumn item_ = CategoricalColumnWithIdentity("item", 9);
  const FeatureColumn last_ = CategoricalColumnWithIdentity("last", 9);
};

TEST_F(DenseColumnTest, TableHasOneRowPerId) {
  ColumnsToVariables variables;
  const Output net = InputLayer(root_, features_, {EmbeddingColumn(item_, 3)},
                                {.cols_to_vars = &variables});
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape().dim(1), 3);
  ASSERT_THAT(variables["item_embedding"], SizeIs(1));
  const ops::Variable& table = variables["item_embedding"][0];
  EXPECT_EQ(table.shape(), PartialShape({9, 3}));
  EXPECT_EQ(table.dtype(), DT_FLOAT);
  EXPECT_TRUE(table.trainable());
}

TEST_F(DenseColumnTest, TableIsPartitionedByTheScope) {
  const Scope scope = ops::VariableScope(
      root_, "dnn", {.partitioner = ops::FixedSizePartitioner(3)});
  InputLayer(scope, features_, {EmbeddingColumn(item_, 4)});
  ASSERT_OK(root_.status());
  const std::string prefix =
      "dnn/input_layer/item_embedding/embedding_weights/part_";
  EXPECT_THAT(VariableNames(),
              ElementsAre(prefix + "0", prefix + "1", prefix + "2"));
}

TEST_F(DenseColumnTest, TableStartsAsTruncatedNormal) {
  InputLayer(root_, features_, {EmbeddingColumn(item_, 4)});
  ASSERT_OK(root_.status());
  EXPECT_THAT(NodesOf("TruncatedNormal"), SizeIs(1));
  // The standard deviation is 1 / sqrt(4).
  const Node* deviation = root_.graph().FindNode(
      "input_layer/item_embedding/embedding_weights/Initializer/"
      "truncated_normal/stddev");
  ASSERT_NE(deviation, nullptr);
  EXPECT_EQ(deviation->attr<Tensor>("value")->scalar<float>(), 0.5f);
}

TEST_F(DenseColumnTest, InitializerMayBeGiven) {
  InputLayer(
      root_, features_,
      {EmbeddingColumn(item_, 4, {.initializer = ops::initializers::Zeros()})});
  ASSERT_OK(root_.status());
  EXPECT_THAT(NodesOf("TruncatedNormal"), IsEmpty());
}

TEST_F(DenseColumnTest, FixedTableIsNotTrained) {
  InputLayer(root_, features_,
             {EmbeddingColumn(item_, 4, {.trainable = false})});
  ASSERT_OK(root_.status());
  EXPECT_THAT(VariableNames(), SizeIs(1));
  EXPECT_THAT(ops::TrainableVariables(root_), IsEmpty());
}

TEST_F(DenseColumnTest, TableMayComeFromACheckpoint) {
  InputLayer(root_, features_,
             {EmbeddingColumn(item_, 4,
                              {.ckpt_to_load_from = "/models/model.ckpt-7",
                               .tensor_name_in_ckpt = "table"})});
  ASSERT_OK(root_.status());
  EXPECT_EQ(TextInput("RestoreV2", 0), "/models/model.ckpt-7");
  EXPECT_EQ(TextInput("RestoreV2", 1), "table");
  EXPECT_EQ(TextInput("RestoreV2", 2), "") << "the whole tensor";
}

TEST_F(DenseColumnTest, PartitionsRestoreTheirSlices) {
  const Scope scope = ops::VariableScope(
      root_, "dnn", {.partitioner = ops::FixedSizePartitioner(3)});
  InputLayer(scope, features_,
             {EmbeddingColumn(item_, 4,
                              {.ckpt_to_load_from = "/models/model.ckpt-7",
                               .tensor_name_in_ckpt = "table"})});
  ASSERT_OK(root_.status());
  std::vector<std::string> slices;
  for (const Node* restore : NodesOf("RestoreV2")) {
    slices.push_back(
        restore->input(2).node->attr<Tensor>("value")->flat<std::string>()[0]);
  }
  EXPECT_THAT(slices, ElementsAre("9 4 0,3:0,4", "9 4 3,3:0,4", "9 4 6,3:0,4"));
}

TEST_F(DenseColumnTest, MissingCheckpointIsExplained) {
  MemoryFileSystem files;
  ASSERT_OK(files.CreateDirectory("/models"));
  ASSERT_OK(files.WriteFileAtomically(
      "/models/checkpoint", "model_checkpoint_path: \"model.ckpt-7\"\n"));
  InputLayer(root_, features_,
             {EmbeddingColumn(item_, 4,
                              {.ckpt_to_load_from = "/models",
                               .tensor_name_in_ckpt = "table",
                               .file_system = &files})});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "'item_embedding': ckpt_to_load_from is a "
                       "folder whose newest checkpoint"));
}

TEST_F(DenseColumnTest, EmbeddingOptionsAreChecked) {
  for (const char* combiner : {"mean", "sqrtn", "sum"}) {
    EXPECT_OK(EmbeddingColumn(item_, 4, {.combiner = combiner}).status());
  }
  EXPECT_THAT(EmbeddingColumn(item_, 4, {.combiner = "Mean"}).status(),
              StatusIs(kInvalid, "not 'Mean'"));
  EXPECT_THAT(EmbeddingColumn(item_, -1).status(),
              StatusIs(kInvalid, "dimension must be at least 1, but is -1"));
  EXPECT_THAT(EmbeddingColumn(FeatureColumn(), 4).status(),
              StatusIs(kInvalid, "'?_embedding': it has no column"));
  EXPECT_THAT(
      EmbeddingColumn(CategoricalColumnWithIdentity("item", 0), 4).status(),
      StatusIs(kInvalid, "'item': num_buckets"));
}

TEST_F(DenseColumnTest, LargeIndicatorIsRejected) {
  const auto many = CategoricalColumnWithHashBucket("item", int64_t{1} << 31);
  EXPECT_THAT(IndicatorColumn(many).status(),
              StatusIs(kInvalid, "use an EmbeddingColumn"));
  EXPECT_OK(EmbeddingColumn(many, 4).status());
}

// ---- shared embeddings ----

TEST_F(DenseColumnTest, SharedTableMayBeNamed) {
  const auto columns = SharedEmbeddingColumns({item_, last_}, 4, {}, "items");
  const Output net = InputLayer(root_, features_, columns);
  ASSERT_OK(root_.status());
  EXPECT_EQ(net.shape().dim(1), 8);
  EXPECT_THAT(VariableNames(),
              ElementsAre("input_layer/items/embedding_weights"));
  EXPECT_THAT(root_.GetCollection("items"), SizeIs(1));
}

TEST_F(DenseColumnTest, SharedTableServesSeveralLayers) {
  const auto columns = SharedEmbeddingColumns({item_, last_}, 4);
  InputLayer(root_, features_, {columns[0]});
  InputLayer(root_, features_, {columns[1]});
  ASSERT_OK(root_.status());
  EXPECT_THAT(VariableNames(), SizeIs(1));
}

TEST_F(DenseColumnTest, SharedTablesOfOneNameMustMatch) {
  InputLayer(root_, features_,
             SharedEmbeddingColumns({item_, last_}, 4, {}, "items"));
  ASSERT_OK(root_.status());
  InputLayer(root_, features_,
             SharedEmbeddingColumns({item_, last_}, 5, {}, "items"));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid,
                       "has a shared embedding 'items' of another "
                       "shape already"));
}

TEST_F(DenseColumnTest, SharingColumnsMustBeOfTheSameKind) {
  const auto hashed = CategoricalColumnWithHashBucket("last", 9);
  for (const auto& column : SharedEmbeddingColumns({item_, hashed}, 4)) {
    EXPECT_THAT(column.status(),
                StatusIs(kInvalid,
                         "'item' is identity with 9 and 'last' hash "
                         "bucket with 9"));
  }
}

TEST_F(DenseColumnTest, WeightedColumnsMayShareATable) {
  features_["w"] = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 2}});
  const auto columns =
      SharedEmbeddingColumns({WeightedCategoricalColumn(item_, "w"), last_}, 4);
  InputLayer(root_, features_, columns);
  ASSERT_OK(root_.status());
  EXPECT_THAT(VariableNames(), SizeIs(1));
}

}  // namespace
}  // namespace weft::feature_column
