#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/input_layer.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/resource/lookup_ops.h"

namespace weft::feature_column {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CategoricalColumnTest : public testing::Test {
 protected:
  void Give(const std::string& key, DataType dtype) {
    features_[key] = ops::Placeholder(root_, dtype, {.shape = {-1, 2}});
  }
  // Uses the column in an indicator column, and returns its number of ids.
  int64_t IdsOf(const FeatureColumn& column) {
    const Output net = InputLayer(root_, features_, {IndicatorColumn(column)});
    return net ? net.shape().dim(1) : -1;
  }
  std::vector<const Node*> NodesOf(const std::string& type) {
    std::vector<const Node*> found;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == type) found.push_back(node);
    }
    return found;
  }
  std::string WriteVocabulary(const std::string& lines) {
    const auto* const info =
        testing::UnitTest::GetInstance()->current_test_info();
    const std::string path =
        JoinPath(testing::TempDir(), absl::StrCat("vocabulary_", info->name()));
    LocalFileSystem files;
    EXPECT_OK(files.WriteFileAtomically(path, lines));
    return path;
  }

  const Scope root_ = Scope::Root();
  Features features_;
};

TEST_F(CategoricalColumnTest, AnyIntegerIsAnId) {
  for (const DataType dtype : {DT_INT32, DT_INT64, DT_UINT8}) {
    Give("item", dtype);
    EXPECT_EQ(IdsOf(CategoricalColumnWithIdentity("item", 7)), 7);
    ASSERT_OK(root_.status()) << DataTypeName(dtype);
  }
}

TEST_F(CategoricalColumnTest, DefaultReplacesIdsOutOfRange) {
  Give("item", DT_INT64);
  IdsOf(CategoricalColumnWithIdentity("item", 7));
  EXPECT_THAT(NodesOf("SelectV2"), IsEmpty());
  IdsOf(CategoricalColumnWithIdentity("item", 7, 3));
  ASSERT_OK(root_.status());
  const auto select = NodesOf("SelectV2");
  ASSERT_THAT(select, SizeIs(1));
  const auto* const value = select[0]->input(2).node->attr<Tensor>("value");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->scalar<int64_t>(), 3);
}

TEST_F(CategoricalColumnTest, IdentityOptionsAreChecked) {
  EXPECT_THAT(CategoricalColumnWithIdentity("item", 0).status(),
              StatusIs(kInvalid, "'item': num_buckets must be at least 1"));
  EXPECT_THAT(CategoricalColumnWithIdentity("item", 3, -1).status(),
              StatusIs(kInvalid, "default_value -1 is not in range [0, 3)"));
  EXPECT_OK(CategoricalColumnWithIdentity("item", 3, 2).status());
}

TEST_F(CategoricalColumnTest, StringsAreHashedIntoBuckets) {
  Give("job", DT_STRING);
  EXPECT_EQ(IdsOf(CategoricalColumnWithHashBucket("job", 10)), 10);
  ASSERT_OK(root_.status());
  const auto hash = NodesOf("StringToHashBucketFast");
  ASSERT_THAT(hash, SizeIs(1));
  EXPECT_EQ(*hash[0]->attr<int64_t>("num_buckets"), 10);
  EXPECT_THAT(NodesOf("AsString"), IsEmpty());
}

TEST_F(CategoricalColumnTest, IntegersAreHashedAsText) {
  Give("zip", DT_INT64);
  IdsOf(CategoricalColumnWithHashBucket("zip", 10, DT_INT64));
  ASSERT_OK(root_.status());
  EXPECT_THAT(NodesOf("AsString"), SizeIs(1));
}

TEST_F(CategoricalColumnTest, HashedTypeIsStringOrInteger) {
  EXPECT_THAT(CategoricalColumnWithHashBucket("x", 10, DT_FLOAT).status(),
              StatusIs(kInvalid, "must be string or integer, but is float"));
}

TEST_F(CategoricalColumnTest, FeatureMustHaveTypeOfColumn) {
  Give("zip", DT_STRING);
  IdsOf(CategoricalColumnWithHashBucket("zip", 10, DT_INT64));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "is string, but the column takes integers"));
}

// ---- vocabularies ----

TEST_F(CategoricalColumnTest, VocabularyTableHasAnInitializer) {
  Give("job", DT_STRING);
  const auto column = CategoricalColumnWithVocabularyList(
      "job", {std::string("cook"), "baker", "smith"});
  EXPECT_EQ(IdsOf(column), 3);
  ASSERT_OK(root_.status());
  EXPECT_THAT(root_.GetOperations(collection::kTableInitializers), SizeIs(1));
  const auto find = NodesOf("LookupTableFindV2");
  ASSERT_THAT(find, SizeIs(1));
  const auto* const missing = find[0]->input(2).node->attr<Tensor>("value");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->scalar<int64_t>(), -1) << "others are dropped";
}

TEST_F(CategoricalColumnTest, UnknownValuesMayGetADefault) {
  Give("job", DT_STRING);
  EXPECT_EQ(IdsOf(CategoricalColumnWithVocabularyList(
                "job", {std::string("cook"), "baker"}, {.default_value = 1})),
            2);
  const auto find = NodesOf("LookupTableFindV2");
  ASSERT_THAT(find, SizeIs(1));
  EXPECT_EQ(find[0]->input(2).node->attr<Tensor>("value")->scalar<int64_t>(),
            1);
}

TEST_F(CategoricalColumnTest, UnknownValuesMayBeHashed) {
  Give("job", DT_STRING);
  EXPECT_EQ(IdsOf(CategoricalColumnWithVocabularyList(
                "job", {std::string("cook"), "baker"}, {.num_oov_buckets = 5})),
            7);
  const auto hash = NodesOf("StringToHashBucketFast");
  ASSERT_THAT(hash, SizeIs(1));
  EXPECT_EQ(*hash[0]->attr<int64_t>("num_buckets"), 5);
}

TEST_F(CategoricalColumnTest, IntegersMayBeAVocabulary) {
  Give("year", DT_INT32);
  EXPECT_EQ(IdsOf(CategoricalColumnWithVocabularyList(
                "year", std::vector<int64_t>{1999, 2024})),
            2);
  EXPECT_OK(root_.status());
}

TEST_F(CategoricalColumnTest, VocabularyOptionsAreChecked) {
  const auto says = [](const VocabularyOptions& options, const char* text) {
    EXPECT_THAT(CategoricalColumnWithVocabularyList(
                    "job", {std::string("a"), "b"}, options)
                    .status(),
                StatusIs(kInvalid, text));
  };
  says({.default_value = 0, .num_oov_buckets = 1}, "give one of them");
  says({.num_oov_buckets = -1}, "num_oov_buckets must not be negative");
  says({.default_value = 2}, "default_value 2 is not in range [0, 2)");
  says({.default_value = -2}, "default_value -2 is not in range");
  says({.dtype = DT_INT64}, "dtype int64 and the vocabulary, string, do not");
  EXPECT_THAT(
      CategoricalColumnWithVocabularyList("job", std::vector<std::string>())
          .status(),
      StatusIs(kInvalid, "must not be empty"));
}

TEST_F(CategoricalColumnTest, LinesOfVocabularyFileAreCounted) {
  Give("job", DT_STRING);
  const std::string path = WriteVocabulary("cook\nbaker\nsmith\n");
  EXPECT_EQ(IdsOf(CategoricalColumnWithVocabularyFile("job", path)), 3);
  ASSERT_OK(root_.status());
  const auto table = NodesOf("InitializeTableFromTextFileV2");
  ASSERT_THAT(table, SizeIs(1));
  EXPECT_EQ(*table[0]->attr<int64_t>("vocab_size"), 3);
  // The file is in this collection, so that exporting a model copies it.
  EXPECT_THAT(root_.GetCollection(ops::kAssetFilepaths), SizeIs(1));
}

TEST_F(CategoricalColumnTest, GivenSizeNeedsNoFileHere) {
  Give("job", DT_STRING);
  EXPECT_EQ(IdsOf(CategoricalColumnWithVocabularyFile("job", "/on/workers", 4,
                                                      {.num_oov_buckets = 1})),
            5);
  EXPECT_OK(root_.status());
}

TEST_F(CategoricalColumnTest, DeletedVocabularyFileIsExplained) {
  Give("job", DT_STRING);
  const std::string path = WriteVocabulary("cook\n");
  const auto column = CategoricalColumnWithVocabularyFile("job", path);
  ASSERT_OK(column.status());
  LocalFileSystem files;
  ASSERT_OK(files.DeleteFile(path));
  IdsOf(column);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "was there when the column was made"));
}

TEST_F(CategoricalColumnTest, EmptyVocabularyFileIsRejected) {
  EXPECT_THAT(
      CategoricalColumnWithVocabularyFile("job", WriteVocabulary("")).status(),
      StatusIs(kInvalid, "must not be empty"));
}

// ---- missing values ----

TEST_F(CategoricalColumnTest, DenseFeatureMayMissValues) {
  Give("job", DT_STRING);
  Give("item", DT_INT64);
  IdsOf(CategoricalColumnWithHashBucket("job", 10));
  IdsOf(CategoricalColumnWithIdentity("item", 10));
  ASSERT_OK(root_.status());
  const auto is_value = NodesOf("NotEqual");
  ASSERT_THAT(is_value, SizeIs(2));
  const auto* const no_text = is_value[0]->input(1).node->attr<Tensor>("value");
  const auto* const no_id = is_value[1]->input(1).node->attr<Tensor>("value");
  ASSERT_TRUE(no_text != nullptr && no_id != nullptr);
  EXPECT_EQ(no_text->scalar<std::string>(), "");
  EXPECT_EQ(no_id->scalar<int64_t>(), -1);
}

TEST_F(CategoricalColumnTest, SparseFeatureIsUsedAsItIs) {
  const Output values = ops::Placeholder(root_, DT_INT64, {.shape = {-1}});
  features_["tags"] = ops::SparseOutputs{
      ops::Placeholder(root_, DT_INT64, {.shape = {-1, 2}}), values,
      ops::Placeholder(root_, DT_INT64, {.shape = {2}})};
  IdsOf(CategoricalColumnWithIdentity("tags", 10));
  ASSERT_OK(root_.status());
  EXPECT_THAT(NodesOf("NotEqual"), IsEmpty());
}

}  // namespace
}  // namespace weft::feature_column
