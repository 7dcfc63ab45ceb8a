// Tests vocabulary remapping. Unless a test states otherwise, results and error
// texts are those of TensorFlow 2.21.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class RemappingKernelsTest : public testing::Test {
 protected:
  RemappingKernelsTest() : harness_(RegisterIoKernels) {
    harness_.set_file_system(files_);
    Write("old", "mercury\nvenus\nmars\n");
    Write("new", "venus\njupiter\nmercury");
  }

  void Write(const std::string& path, const std::string& text) {
    EXPECT_OK(files_.WriteFileAtomically(path, text));
  }

  struct Vocab {
    std::string new_file = "new", old_file = "old";
    int64_t offset = 0, size = 3, old_size = -1;
  };
  // Returns the remapping, followed by num_present.
  absl::StatusOr<Ids> Generate(const Vocab& vocab) {
    auto outputs = harness_.Run("GenerateVocabRemapping",
                                {Tensor::Scalar<std::string>(vocab.new_file),
                                 Tensor::Scalar<std::string>(vocab.old_file)},
                                {{"new_vocab_offset", vocab.offset},
                                 {"num_new_vocab", vocab.size},
                                 {"old_vocab_size", vocab.old_size}});
    if (!outputs.ok()) return outputs.status();
    const auto ids = (*outputs)[0].flat<int64_t>();
    Ids result(ids.begin(), ids.end());
    result.push_back((*outputs)[1].scalar<int32_t>());
    return result;
  }

  // Saves a matrix "w" of 3 rows and 4 columns with the values 0 to 11; "p",
  // [5, 2], in two slices with the values 0 to 9; and tensors that are not
  // float matrices.
  void SaveCheckpoint() {
    Floats numbers(12);
    for (int i = 0; i < 12; ++i) numbers[i] = static_cast<float>(i);
    const Floats top(numbers.begin(), numbers.begin() + 6);
    const Floats rest(numbers.begin() + 6, numbers.begin() + 10);
    EXPECT_OK(harness_.Run(
        "SaveV2",
        {Tensor::Scalar<std::string>("ck"),
         Tensor::Vector<std::string>({"w", "p", "p", "i", "vec"}),
         Tensor::Vector<std::string>({"", "5 2 0,3:-", "5 2 3,2:-", "", ""}),
         Tensor::FromValues<float>({3, 4}, numbers),
         Tensor::FromValues<float>({3, 2}, top),
         Tensor::FromValues<float>({2, 2}, rest),
         Tensor::FromValues<int32_t>({1, 2}, {1, 2}),
         Tensor::Vector<float>({1, 2, 3})}));
  }

  struct Load {
    std::string name = "w";
    Ids rows, columns = {};
    Floats values = {};
    int64_t num_rows = 1, num_columns = 4, max_rows = -1;
  };
  absl::StatusOr<Floats> Run(const Load& load) {
    auto outputs = harness_.Run("LoadAndRemapMatrix",
                                {Tensor::Scalar<std::string>("ck"),
                                 Tensor::Scalar<std::string>(load.name),
                                 Tensor::Vector<int64_t>(load.rows),
                                 Tensor::Vector<int64_t>(load.columns),
                                 Tensor::Vector<float>(load.values)},
                                {{"num_rows", load.num_rows},
                                 {"num_cols", load.num_columns},
                                 {"max_rows_in_memory", load.max_rows}});
    if (!outputs.ok()) return outputs.status();
    EXPECT_EQ((*outputs)[0].shape(),
              TensorShape({load.num_rows, load.num_columns}));
    const auto numbers = (*outputs)[0].flat<float>();
    return Floats(numbers.begin(), numbers.end());
  }

  MemoryFileSystem files_;
  KernelTestHarness harness_;
};

TEST_F(RemappingKernelsTest, EntriesAreFoundInTheOldVocabulary) {
  EXPECT_THAT(ValueOf(Generate({})), ElementsAre(1, -1, 0, 2));
  EXPECT_THAT(ValueOf(Generate({.offset = 1, .size = 2})),
              ElementsAre(-1, 0, 1));
  EXPECT_THAT(ValueOf(Generate({.size = 0})), ElementsAre(0));
  EXPECT_THAT(ValueOf(Generate({.offset = 3, .size = 0})), ElementsAre(0));
  EXPECT_THAT(ValueOf(Generate({.old_size = 1})), ElementsAre(-1, -1, 0, 1));
}

TEST_F(RemappingKernelsTest, NewVocabularyMayRepeatAnEntry) {
  Write("twice", "mars\r\nmars\r\nearth\r\n");
  EXPECT_THAT(ValueOf(Generate({.new_file = "twice"})),
              ElementsAre(2, 2, -1, 2));
  EXPECT_THAT(
      Generate({.old_file = "twice"}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "Key mars has 0 and trying to add value 1: line 1 of twice"));
}

TEST_F(RemappingKernelsTest, EmptyLinesAreRefused) {
  Write("gap", "venus\n\r\nmars\n");
  const std::string why = "Invalid content in gap: empty line found at line 2";
  EXPECT_THAT(Generate({.new_file = "gap"}),
              StatusIs(absl::StatusCode::kInvalidArgument, why));
  EXPECT_THAT(Generate({.old_file = "gap"}),
              StatusIs(absl::StatusCode::kInvalidArgument, why));
  EXPECT_OK(Generate({.old_file = "gap", .old_size = 1}));
}

// TensorFlow rejects empty files and an old_vocab_size of 0.
TEST_F(RemappingKernelsTest, EmptyOldVocabularyMatchesNoEntry) {
  Write("empty", "");
  EXPECT_THAT(ValueOf(Generate({.old_file = "empty"})),
              ElementsAre(-1, -1, -1, 0));
  EXPECT_THAT(ValueOf(Generate({.old_size = 0})), ElementsAre(-1, -1, -1, 0));
}

TEST_F(RemappingKernelsTest, ShortVocabulariesAreRejected) {
  EXPECT_THAT(Generate({.offset = 2, .size = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "lookup table size must be larger than last new vocab "
                       "entry's line: new has 3 lines, not 2 + 2"));
  EXPECT_THAT(Generate({.old_size = 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Invalid vocab_size in old: expected 4 but got 3"));
  EXPECT_THAT(Generate({.old_file = "gone"}),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
}

TEST_F(RemappingKernelsTest, RowsAreReordered) {
  SaveCheckpoint();
  EXPECT_THAT(
      ValueOf(Run({.rows = {1, -1, 0}, .values = {9, 8, 7, 6}, .num_rows = 3})),
      ElementsAre(4, 5, 6, 7, 9, 8, 7, 6, 0, 1, 2, 3));
  EXPECT_THAT(ValueOf(Run({.rows = {}, .num_rows = 0})), IsEmpty());
  EXPECT_THAT(ValueOf(Run({.rows = {-7}, .values = {1, 2, 3, 4}})),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(RemappingKernelsTest, RowsAndColumnsAreReordered) {
  SaveCheckpoint();
  EXPECT_THAT(ValueOf(Run({.rows = {1, -1, 0},
                           .columns = {0, 3, -1},
                           .values = {1, 2, 3, 4, 5},
                           .num_rows = 3,
                           .num_columns = 3})),
              ElementsAre(4, 7, 1, 2, 3, 4, 0, 3, 5));
}

TEST_F(RemappingKernelsTest, SlicedMatrixIsReadInRowBlocks) {
  SaveCheckpoint();
  for (const int64_t max_rows : {-1, 1, 2, 100}) {
    EXPECT_THAT(ValueOf(Run({.name = "p",
                             .rows = {4, 0, 2},
                             .columns = {1},
                             .num_rows = 3,
                             .num_columns = 1,
                             .max_rows = max_rows})),
                ElementsAre(9, 1, 5))
        << max_rows;
  }
}

TEST_F(RemappingKernelsTest, MismatchedArgumentsAreRejected) {
  SaveCheckpoint();
  const auto refuses = [&](const Load& load, const std::string& why) {
    EXPECT_THAT(Run(load), StatusIs(absl::StatusCode::kInvalidArgument, why));
  };
  refuses({.rows = {1, -1}, .num_rows = 3},
          "Size of row_remapping is 2 instead of being equal to num_rows=3");
  refuses({.rows = {0}, .columns = {0, 1}, .num_columns = 3},
          "Provided col_remapping, but its size is 2 instead of being equal to "
          "num_cols=3");
  refuses({.rows = {0}, .num_columns = 3},
          "the size of its 2nd dimension is 4 instead of being equal to "
          "num_cols=3");
  refuses({.name = "i", .rows = {0}, .num_columns = 2},
          "Tensor i has invalid type int32 instead of expected type float");
  refuses({.name = "vec", .rows = {0}, .num_columns = 3},
          "of invalid rank 1 instead of expected shape of rank 2");
  refuses({.rows = {-1}, .values = {7, 7, 7}},
          "contained 3 elements, but more missing values remain");
  refuses({.rows = {0}, .values = {7}},
          "contained 1 elements, but only 0 elements were used");
  EXPECT_THAT(Run({.rows = {0, 0}, .num_rows = 2}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Old ID 0 is mapped to both new ID 0 and 1"));
  EXPECT_THAT(Run({.name = "no", .rows = {0}}),
              StatusIs(absl::StatusCode::kNotFound, "no"));
}

// For a missing row TensorFlow returns INTERNAL. For a missing column it leaves
// zeros.
TEST_F(RemappingKernelsTest, OldMatrixTooSmallIsRejected) {
  SaveCheckpoint();
  EXPECT_THAT(Run({.rows = {5}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Row 5 and column 3 are requested from tensor w"));
  EXPECT_THAT(Run({.rows = {std::numeric_limits<int64_t>::max()}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Old ID 9223372036854775807 is larger"));
  EXPECT_THAT(Run({.rows = {0}, .columns = {9}, .num_columns = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Row 0 and column 9 are requested from tensor w"));
}

}  // namespace
}  // namespace weft
