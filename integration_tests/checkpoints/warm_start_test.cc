// Tests training that starts from the values of another checkpoint (WarmStart).
// Unless a test states otherwise, matrices remapped by a vocabulary equal those
// of TensorFlow 2.21.
#include "libs/train/sessions/warm_start.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/train/saving/saver.h"
#include "libs/train/sessions/monitored_training_session.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using train::VocabInfo;
using train::WarmStartSettings;
using Floats = std::vector<float>;

class WarmStartTest : public testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  WarmStartTest() : process_(InMemory(files_)) {
    Write("/old", "mercury\nvenus\nmars\n");
    Write("/new", "venus\njupiter\nmercury\n");
    Write("/old_classes", "good\nbetter\nbest\n");
    Write("/new_classes", "good\nbest\nfantastic\n");
  }
  void Write(const std::string& path, const std::string& text) {
    EXPECT_OK(files_.WriteFileAtomically(path, text));
  }

  // Saves three variables: "w" of shape [3, 3] with the values 0 to 8, "b" with
  // the value 7, and "ema", which is not trainable, with the value 5.
  void SaveOld(const std::string& prefix, const ops::Partitioner& cut = {}) {
    const Scope root = Scope::Root();
    Floats values(9);
    for (int i = 0; i < 9; ++i) values[i] = static_cast<float>(i);
    const auto matrix = Tensor::FromValues<float>({3, 3}, values);
    const auto w = ops::GetPartitionedVariable(
        root, "w", {3, 3},
        {.initializer =
             [matrix](const Scope& scope, const TensorShape& shape, DataType,
                      const ops::PartitionInfo* part) {
               const int64_t row = part == nullptr ? 0 : part->offset[0];
               return ops::Slice(scope, matrix,
                                 Tensor::Vector<int64_t>({row, 0}),
                                 Tensor::Vector<int64_t>({shape.dim(0), 3}));
             },
         .partitioner = cut});
    ops::Variable b(root.WithName("b"), 7.0f);
    ops::Variable ema(root.WithName("ema"), 5.0f, {.trainable = false});
    train::Saver saver(root, {.file_system = &files_});
    const Operation init = ops::GlobalVariablesInitializer(root);
    auto session = Session::Connect("", root, {.process = &process_});
    ASSERT_OK(session.status());
    ASSERT_OK((*session)->Run(init));
    ASSERT_OK(saver.Save(**session, prefix, {.write_meta_graph = false}));
  }

  // Returns an op that initializes all variables with a warm start.
  absl::StatusOr<Operation> Warm(const Scope& root,
                                 const WarmStartSettings& settings) {
    ASSIGN_OR_RETURN(const auto scaffold, WarmScaffold(root, settings));
    RETURN_IF_ERROR(scaffold->Finalize(root));
    return scaffold->init_op();
  }
  absl::StatusOr<std::shared_ptr<train::Scaffold>> WarmScaffold(
      const Scope& root, const WarmStartSettings& settings) {
    train::ScaffoldOptions options;
    ASSIGN_OR_RETURN(options.initializers,
                     train::WarmStart(root, settings, &files_, &logger_));
    return std::make_shared<train::Scaffold>(std::move(options));
  }
  // Runs `init` in a new session and returns `value`, fetched afterwards.
  absl::StatusOr<Floats> Begin(const Scope& root, const Operation& init,
                               const Output& value) {
    ASSIGN_OR_RETURN(const auto session,
                     Session::Connect("", root, {.process = &process_}));
    RETURN_IF_ERROR(session->Run(init));
    ASSIGN_OR_RETURN(const Tensor fetched, session->Run(value));
    const auto numbers = fetched.flat<float>();
    return Floats(numbers.begin(), numbers.end());
  }

  // Returns a matrix "w" of shape `shape` in `parts` parts after a warm start
  // that remaps it by a vocabulary.
  absl::StatusOr<Floats> ByVocabulary(const TensorShape& shape, int parts,
                                      const VocabInfo& info) {
    const Scope root = Scope::Root();
    const auto w = ops::GetPartitionedVariable(
        root, "w", shape,
        {.initializer = ops::initializers::Constant(99.0f),
         .partitioner = ops::FixedSizePartitioner(parts)});
    ASSIGN_OR_RETURN(const Operation init,
                     Warm(root, {.ckpt_to_initialize_from = "/job/ck",
                                 .var_name_to_vocab_info = {{"w", info}}}));
    return Begin(root, init, w.AsTensor(root));
  }
  static VocabInfo Words(int64_t buckets) {
    return {.new_vocab = "/new",
            .new_vocab_size = 3,
            .num_oov_buckets = buckets,
            .old_vocab = "/old",
            .backup_initializer = ops::initializers::Constant(-1.0f)};
  }
  static VocabInfo Classes(int64_t buckets) {
    return {.new_vocab = "/new_classes",
            .new_vocab_size = 3,
            .num_oov_buckets = buckets,
            .old_vocab = "/old_classes",
            .backup_initializer = ops::initializers::Constant(-1.0f),
            .axis = 1};
  }

  MemoryFileSystem files_;
  Process process_;
  RecordingLogger logger_;
};

TEST_F(WarmStartTest, CheckpointInitializesTrainableVariables) {
  SaveOld("/job/ck");
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  ops::Variable ema(root.WithName("ema"), 2.0f, {.trainable = false});
  ops::Variable by_reference(root.WithName("c"), 3.0f, {.use_resource = false});
  ASSERT_OK_AND_ASSIGN(
      const Operation init,
      Warm(root, {.ckpt_to_initialize_from = "/job",
                  .var_name_to_prev_var_name = {{"c", "ema"}}}));
  const Output all =
      ops::Stack(root, {b.value(), ema.value(), by_reference.value()});
  EXPECT_THAT(ValueOf(Begin(root, init, all)), ElementsAre(7, 2, 5));
}

TEST_F(WarmStartTest, RegularExpressionsMatchGlobalVariables) {
  SaveOld("/job/ck");
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  ops::Variable ema(root.WithName("ema"), 2.0f, {.trainable = false});
  ops::Variable other(root.WithName("other"), 3.0f);
  ASSERT_OK_AND_ASSIGN(const Operation init,
                       Warm(root, {.ckpt_to_initialize_from = "/job/ck",
                                   .vars_to_warm_start =
                                       std::vector<std::string>{"em", "e.*"}}));
  const Output all = ops::Stack(root, {b.value(), ema.value(), other.value()});
  EXPECT_THAT(ValueOf(Begin(root, init, all)), ElementsAre(1, 5, 3));
}

TEST_F(WarmStartTest, UnmatchedExpressionLogsAWarning) {
  SaveOld("/job/ck");
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  ASSERT_OK_AND_ASSIGN(
      const Operation init,
      Warm(root,
           {.ckpt_to_initialize_from = "/job/ck",
            .vars_to_warm_start = std::vector<std::string>{"b", "dnn/kernl"}}));
  EXPECT_THAT(ValueOf(Begin(root, init, b.value())), ElementsAre(7));
  EXPECT_THAT(logger_.lines(),
              testing::Contains(
                  "W vars_to_warm_start: 'dnn/kernl' matches the beginning of "
                  "no variable's name, so it warm-starts nothing. The names "
                  "are: [b:0]"));
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(testing::HasSubstr("'b'"))));
}

TEST_F(WarmStartTest, MissingCheckpointIsNamedInTheError) {
  SaveOld("/job/ck");
  ASSERT_OK(files_.DeleteFile("/job/ck.index"));
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  EXPECT_THAT(Warm(root, {.ckpt_to_initialize_from = "/job"}).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "/job/checkpoint names the checkpoint /job/ck"));
}

// Each part is initialized with its own rows, whatever the partitioning of the
// saved tensor was.
TEST_F(WarmStartTest, PartsAreInitializedWithTheirRows) {
  SaveOld("/job/ck", ops::FixedSizePartitioner(2));
  for (const int parts : {1, 3}) {
    const Scope root = Scope::Root();
    const auto w = ops::GetPartitionedVariable(
        root, "w", {3, 3}, {.partitioner = ops::FixedSizePartitioner(parts)});
    ASSERT_OK_AND_ASSIGN(const Operation init,
                         Warm(root, {.ckpt_to_initialize_from = "/job/ck"}));
    EXPECT_THAT(ValueOf(Begin(root, init, w.AsTensor(root))),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8))
        << parts;
  }
}

TEST_F(WarmStartTest, RowsFollowTheVocabulary) {
  SaveOld("/job/ck");
  EXPECT_THAT(ValueOf(ByVocabulary({3, 3}, 1, Words(0))),
              ElementsAre(3, 4, 5, -1, -1, -1, 0, 1, 2));
  for (const int parts : {1, 2, 3, 5}) {
    EXPECT_THAT(
        ValueOf(ByVocabulary({5, 3}, parts, Words(2))),
        ElementsAre(3, 4, 5, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1, -1))
        << parts;
  }
}

TEST_F(WarmStartTest, NewWordsDefaultToZero) {
  SaveOld("/job/ck");
  VocabInfo info = Words(0);
  info.backup_initializer = nullptr;
  info.old_vocab_size = 1;
  EXPECT_THAT(ValueOf(ByVocabulary({3, 3}, 1, info)),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 2));
}

TEST_F(WarmStartTest, ColumnsFollowTheVocabulary) {
  SaveOld("/job/ck");
  EXPECT_THAT(ValueOf(ByVocabulary({3, 3}, 1, Classes(0))),
              ElementsAre(0, 2, -1, 3, 5, -1, 6, 8, -1));
  for (const int parts : {1, 2}) {
    EXPECT_THAT(ValueOf(ByVocabulary({3, 4}, parts, Classes(1))),
                ElementsAre(0, 2, -1, -1, 3, 5, -1, -1, 6, 8, -1, -1))
        << parts;
  }
  // TensorFlow ignores old_vocab_size here, Weft does not.
  VocabInfo info = Classes(0);
  info.old_vocab_size = 1;
  EXPECT_THAT(ValueOf(ByVocabulary({3, 3}, 1, info)),
              ElementsAre(0, -1, -1, 3, -1, -1, 6, -1, -1));
}

TEST_F(WarmStartTest, VocabularySelectsVariables) {
  SaveOld("/job/ck");
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  const auto w = ops::GetVariable(root, "w", {3, 3});
  ASSERT_OK_AND_ASSIGN(
      const Operation init,
      Warm(root, {.ckpt_to_initialize_from = "/job/ck",
                  .vars_to_warm_start = std::monostate(),
                  .var_name_to_vocab_info = {{"w", Words(0)}}}));
  EXPECT_THAT(ValueOf(Begin(root, init, b.value())), ElementsAre(1));
  EXPECT_THAT(ValueOf(Begin(root, init, w.value())),
              ElementsAre(3, 4, 5, -1, -1, -1, 0, 1, 2));
}

TEST_F(WarmStartTest, RestartPrefersItsOwnCheckpoint) {
  SaveOld("/job/ck");
  for (const float expected : {8.0f, 9.0f}) {
    const Scope root = Scope::Root();
    const ops::Variable step = train::GetOrCreateGlobalStep(root);
    ops::Variable b(root.WithName("b"), 1.0f);
    const Operation counted(ops::AssignAdd(root, step, int64_t{1}));
    const Output more = ops::AssignAdd(
        root.WithName("more").WithControlDependencies({counted}), b, 1.0f);
    train::MonitoredTrainingSessionOptions options;
    ASSERT_OK_AND_ASSIGN(
        options.scaffold,
        WarmScaffold(root, {.ckpt_to_initialize_from = "/job/ck"}));
    options.checkpoint_dir = "/mine";
    options.config.process = &process_;
    options.logger = &logger_;
    ASSERT_OK_AND_ASSIGN(auto session,
                         train::MonitoredTrainingSession(root, options));
    ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(more));
    EXPECT_EQ(value.scalar<float>(), expected);
    ASSERT_OK(session->Close());
  }
}

TEST_F(WarmStartTest, ErrorsNameTheVariable) {
  SaveOld("/job/ck");
  const auto refuses = [&](const WarmStartSettings& settings,
                           absl::StatusCode code, const std::string& why) {
    const Scope root = Scope::Root();
    ops::Variable b(root.WithName("b"), Tensor::Vector<float>({1, 2}));
    ops::Variable gone(root.WithName("gone"), 1.0f);
    ops::Variable ema(root.WithName("ema"), Tensor::Scalar(1.0),
                      {.trainable = false});
    const auto w = ops::GetVariable(root, "w", {4, 3});
    EXPECT_THAT(Warm(root, settings).status(), StatusIs(code, why));
  };
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  constexpr auto kWrong = absl::StatusCode::kInvalidArgument;
  const std::string ck = "/job/ck";
  refuses({.ckpt_to_initialize_from = ck, .vars_to_warm_start = "gone"},
          kNotFound,
          "Variable 'gone' can't be warm-started: Tensor gone is not found in "
          "/job/ck checkpoint");
  refuses({.ckpt_to_initialize_from = ck, .vars_to_warm_start = "b"}, kWrong,
          "Variable 'b' can't be warm-started: its shape [2] doesn't match "
          "with shape of tensor b ([])");
  refuses({.ckpt_to_initialize_from = ck,
           .vars_to_warm_start = std::vector<std::string>{"ema"}},
          kWrong,
          "it is double, but tensor ema of checkpoint /job/ck is float");
  refuses({.ckpt_to_initialize_from = ck, .vars_to_warm_start = "(["}, kWrong,
          "'([' is not a regular expression");
  refuses({.ckpt_to_initialize_from = ck,
           .var_name_to_prev_var_name = {{"wrong", "w"}}},
          kWrong,
          "that were not used: wrong.  Perhaps you misspelled them?  Here is "
          "the list of viable variable names: b, gone, w");
  refuses({.ckpt_to_initialize_from = ck,
           .var_name_to_vocab_info = {{"wrong", Words(1)}}},
          kWrong, "var_name_to_vocab_info that were not used: wrong");
  refuses({.ckpt_to_initialize_from = ck,
           .vars_to_warm_start = std::monostate(),
           .var_name_to_vocab_info = {{"w", Words(0)}}},
          kWrong,
          "its vocabulary of 3 words and 0 buckets wants 3 rows, but it has "
          "shape [4,3]");
  refuses({.ckpt_to_initialize_from = ck,
           .vars_to_warm_start = std::monostate(),
           .var_name_to_vocab_info = {{"b", Words(0)}}},
          kWrong, "requires a float matrix");
  refuses({.ckpt_to_initialize_from = ck,
           .vars_to_warm_start = std::monostate(),
           .var_name_to_vocab_info = {{"w", VocabInfo{.new_vocab = "/new"}}}},
          kWrong, "Must provide all of");
  refuses({.ckpt_to_initialize_from = "/nothing"}, kNotFound,
          "warm start from /nothing");
  refuses({}, kWrong, "ckpt_to_initialize_from must be given");
}

TEST_F(WarmStartTest, CustomInitOpIsRejected) {
  const Scope root = Scope::Root();
  ops::Variable b(root.WithName("b"), 1.0f);
  train::Scaffold scaffold({.init_op = b.initializer()});
  EXPECT_THAT(
      scaffold.SetInitializers({{b.handle().node(), b.initializer()}}),
      StatusIs(absl::StatusCode::kInvalidArgument, "leave init_op out"));
  EXPECT_OK(scaffold.SetInitializers({}));
}

// The old vocabulary does not match the matrix in the checkpoint. The step that
// initializes fails, and the error names the node.
TEST_F(WarmStartTest, WrongOldVocabularyIsRejected) {
  SaveOld("/job/ck");
  Write("/old", "a\nb\nc\nd\nvenus\n");
  EXPECT_THAT(ByVocabulary({3, 3}, 1, Words(0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Row 4 and column 2 are requested from tensor w"));
  Write("/new", "venus\n");
  EXPECT_THAT(ByVocabulary({3, 3}, 1, Words(0)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "/new has 1 lines, not 0 + 3"));
}

}  // namespace
}  // namespace weft
