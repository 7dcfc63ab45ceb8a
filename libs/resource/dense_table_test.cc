#include "libs/resource/dense_table.h"

#include <limits>
#include <memory>
#include <vector>

#include "libs/base/async/cancellation.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kEmpty = 0, kDeleted = -1;

DenseTableOptions Options(int64_t num_buckets) {
  return {.empty_key = Tensor::Scalar(kEmpty),
          .deleted_key = Tensor::Scalar(kDeleted),
          .value_type = DT_INT64,
          .num_buckets = num_buckets,
          .max_load_factor = 0.8f};
}

class DenseTableTest : public testing::Test {
 protected:
  void Make(int64_t num_buckets) {
    ASSERT_OK_AND_ASSIGN(table_, NewDenseTable(Options(num_buckets)));
  }
  absl::Status Insert(int64_t key, int64_t value) {
    return table_->Insert(step_, Tensor::Vector<int64_t>({key}),
                          Tensor::Vector<int64_t>({value}));
  }
  absl::Status Remove(int64_t key) {
    return table_->Remove(step_, Tensor::Vector<int64_t>({key}));
  }
  absl::StatusOr<int64_t> Find(int64_t key) {
    Tensor value(DT_INT64, {1});
    absl::Status status =
        table_->Find(Tensor::Vector<int64_t>({key}),
                     Tensor::Scalar<int64_t>(kNothing), value, charge_);
    if (!status.ok()) return status;
    return value.flat<int64_t>()[0];
  }
  std::vector<int64_t> Buckets() {
    const auto exported = table_->Export(charge_);
    if (!exported.ok()) return {};
    const auto keys = exported->first.flat<int64_t>();
    return {keys.begin(), keys.end()};
  }

  static constexpr int64_t kNothing = -100;
  Cancellation step_;
  std::shared_ptr<LookupTable> table_;
  HeapCharge charge_{HeapAllocator()};
};

TEST_F(DenseTableTest, CollidingKeysUseTheNextBuckets) {
  Make(8);
  ASSERT_OK(Insert(1, 10));
  ASSERT_OK(Insert(9, 90));
  EXPECT_THAT(Buckets(), ElementsAre(0, 1, 9, 0, 0, 0, 0, 0));
  EXPECT_EQ(ValueOf(Find(9)), 90);
}

TEST_F(DenseTableTest, KeyBehindARemovedKeyIsUpdatedInPlace) {
  Make(8);
  ASSERT_OK(Insert(1, 10));
  ASSERT_OK(Insert(9, 90));
  ASSERT_OK(Remove(1));
  ASSERT_OK(Insert(9, 91));
  EXPECT_EQ(table_->size(), 1);
  EXPECT_EQ(ValueOf(Find(9)), 91);
  ASSERT_OK(Remove(9));
  EXPECT_EQ(ValueOf(Find(9)), kNothing);
}

// If removed keys kept their buckets, no empty bucket would be left to end a
// search, and the table would grow for keys that it no longer has.
TEST_F(DenseTableTest, RemovedKeysFreeTheirBuckets) {
  Make(8);
  for (int64_t key = 1; key < 100; ++key) {
    ASSERT_OK(Insert(key, key));
    EXPECT_EQ(ValueOf(Find(key)), key);
    EXPECT_EQ(ValueOf(Find(key + 1000)), kNothing);
    ASSERT_OK(Remove(key));
  }
  EXPECT_EQ(Buckets().size(), 8);
  EXPECT_EQ(table_->size(), 0);
}

TEST_F(DenseTableTest, ImportMayFillAllBuckets) {
  Make(4);
  ASSERT_OK(table_->Import(step_,
                           Tensor::FromValues<int64_t>({4, 1}, {1, 2, 3, 4}),
                           Tensor::FromValues<int64_t>({4, 1}, {1, 2, 3, 4})));
  EXPECT_EQ(ValueOf(Find(5)), kNothing);
  ASSERT_OK(Insert(5, 50));
  for (int64_t key = 1; key < 5; ++key) {
    EXPECT_EQ(ValueOf(Find(key)), key);
  }
  EXPECT_EQ(ValueOf(Find(5)), 50);
}

TEST_F(DenseTableTest, ImportChecksTheBuckets) {
  Make(4);
  ASSERT_OK(Insert(1, 10));
  for (const int64_t rows : {0, 1, 2, 3, 6}) {
    const Tensor keys(DT_INT64, {rows, 1}), values(DT_INT64, {rows, 1});
    EXPECT_THAT(table_->Import(step_, keys, values),
                StatusIs(absl::StatusCode::kInvalidArgument, "power of 2"));
  }
  EXPECT_THAT(
      table_->Import(step_, Tensor(DT_INT64, {4, 1}), Tensor(DT_INT64, {4, 2})),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(ValueOf(Find(1)), 10);
}

TEST_F(DenseTableTest, EmptyAndDeletedKeysAreCopied) {
  DenseTableOptions options = Options(4);
  ASSERT_OK_AND_ASSIGN(table_, NewDenseTable(options));
  options.empty_key.mutable_flat<int64_t>()[0] = 7;
  EXPECT_OK(Insert(7, 70));
  EXPECT_EQ(ValueOf(Find(7)), 70);
}

TEST(DenseTableOptionsTest, RejectsInvalidOptions) {
  const auto why = [](auto change) {
    DenseTableOptions options = Options(4);
    change(options);
    return NewDenseTable(options).status();
  };
  for (const float load :
       {0.0f, 1.0f, -1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(
        why([&](auto& options) { options.max_load_factor = load; }),
        StatusIs(absl::StatusCode::kInvalidArgument, "max_load_factor"));
  }
  for (const int64_t buckets : {-4, 0, 1, 2, 3, 12}) {
    EXPECT_THAT(why([&](auto& options) { options.num_buckets = buckets; }),
                StatusIs(absl::StatusCode::kInvalidArgument, "power of 2"));
  }
  EXPECT_THAT(
      why([](auto& options) { options.deleted_key = options.empty_key; }),
      StatusIs(absl::StatusCode::kInvalidArgument, "equal"));
  EXPECT_FALSE(
      why([](auto& options) { options.num_buckets = int64_t{1} << 60; }).ok());
}

}  // namespace
}  // namespace weft
