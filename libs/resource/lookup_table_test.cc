// Tests lookup tables that run out of memory during a change.
#include "libs/resource/lookup_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/exceptions.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using ::testing::AnyOf;
using ::testing::Each;

constexpr int kKeys = 40;  // enough to make the table grow

class LookupTableTest : public ::testing::Test {
 protected:
  // Inserts 40 keys with the values. Repeats the insertion with the first,
  // second, ... allocation failing. After each failure a key must have all of
  // its values or be absent.
  void InsertWithoutMemory(LookupTable& table, const Tensor& values,
                           int64_t row_size) {
    absl::Status status = absl::UnknownError("nothing was inserted");
    for (int64_t nth = 1; !status.ok(); ++nth) {
      {
        const FailingMemory failing(nth);
        status =
            CatchExceptions([&] { return table.Insert(step_, keys_, values); });
      }
      ASSERT_THAT(status.code(), AnyOf(absl::StatusCode::kOk,
                                       absl::StatusCode::kResourceExhausted));
      const auto found = Find(table, row_size);
      ASSERT_THAT(found, Each(AnyOf(5, kNothing)));
      for (int64_t i = 0; i < static_cast<int64_t>(found.size()); ++i) {
        ASSERT_EQ(found[i], found[i / row_size * row_size])
            << "in row of " << i;
      }
    }
    EXPECT_EQ(table.size(), kKeys);
    EXPECT_THAT(Find(table, row_size), Each(5));
  }

  std::vector<int64_t> Find(const LookupTable& table, int64_t row_size) {
    Tensor values(DT_INT64, {kKeys * row_size});
    EXPECT_OK(table.Find(
        keys_,
        Tensor::Vector<int64_t>(std::vector<int64_t>(row_size, kNothing)),
        values, charge_));
    const auto all = values.flat<int64_t>();
    return {all.begin(), all.end()};
  }

  static Tensor Names() {
    std::vector<std::string> names;
    for (int i = 0; i < kKeys; ++i) {
      names.push_back(absl::StrCat("a_key_that_is_not_short_", i));
    }
    return Tensor::Vector<std::string>(names);
  }
  static Tensor Fives(int64_t count) {
    return Tensor::Vector<int64_t>(std::vector<int64_t>(count, 5));
  }

  static constexpr int64_t kNothing = -100;
  Cancellation step_;
  const Tensor keys_ = Names();
  HeapCharge charge_{HeapAllocator()};
};

TEST_F(LookupTableTest, FailedInsertionsLeaveTheTableValid) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       NewLookupTable(DT_STRING, DT_INT64, true));
  InsertWithoutMemory(*table, Fives(kKeys), 1);
}

TEST_F(LookupTableTest, FailedInsertionsLeaveNoPartialRow) {
  ASSERT_OK_AND_ASSIGN(const auto table, NewTableOfTensors(DT_STRING, DT_INT64,
                                                           PartialShape({3})));
  InsertWithoutMemory(*table, Fives(3 * kKeys), 3);
}

}  // namespace
}  // namespace weft
