#include "libs/kernels/io/io_kernels.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/kernels/testing/expect_outputs.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/resource/chunk_snapshot.h"
#include "libs/tensor/resource_handle.h"

namespace weft {
namespace {

Tensor Texts(std::initializer_list<std::string> values) {
  return Tensor::Vector<std::string>(values);
}

AttrMap DTypes(DataTypeVector types) { return {{"dtypes", std::move(types)}}; }

class IoKernelsTest : public testing::Test {
 protected:
  IoKernelsTest() : harness_(RegisterIoKernels) {}
  ~IoKernelsTest() override { (void)files_.DeleteRecursively(folder_); }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(folder_, "/", name);
  }
  Tensor Prefix(absl::string_view name) const {
    return Tensor::Scalar<std::string>(Path(name));
  }
  // Saves a vector "v" of five numbers, and rows 1 and 2 of a matrix "m".
  absl::Status Save(absl::string_view name) {
    return harness_
        .Run("SaveV2", {Prefix(name), Texts({"v", "m"}),
                        Texts({"", "4 2 1,2:-"}), v_, m_})
        .status();
  }
  absl::StatusOr<Tensor> Restore(absl::string_view prefix,
                                 const std::string& name,
                                 const std::string& slice, DataType dtype) {
    return harness_.RunOne("RestoreV2",
                           {Prefix(prefix), Texts({name}), Texts({slice})},
                           DTypes({dtype}));
  }

  const std::string folder_ = absl::StrCat(
      testing::TempDir(), "/io_kernels_test/",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  const Tensor v_ = Tensor::Vector<int32_t>({1, 2, 3, 4, 5});
  const Tensor m_ = Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4});
  LocalFileSystem files_;
  KernelTestHarness harness_;
};

TEST_F(IoKernelsTest, SavedTensorsAreRestored) {
  ASSERT_OK(Save("a"));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> restored,
                       harness_.Run("RestoreV2",
                                    {Prefix("a"), Texts({"v", "m", "v"}),
                                     Texts({"", "4 2 2,1:0,2", "5 1,3"})},
                                    DTypes({DT_INT32, DT_FLOAT, DT_INT32})));
  ASSERT_EQ(restored.size(), 3u);
  EXPECT_TRUE(SameBits(restored[0], v_));
  EXPECT_TRUE(SameBits(restored[1], Tensor::FromValues<float>({1, 2}, {3, 4})));
  EXPECT_TRUE(SameBits(restored[2], Tensor::Vector<int32_t>({2, 3, 4})));
}

// Emulates a concurrent save to the same prefix between two file accesses of a
// reader. The save runs when the n-th file is opened or its size is requested.
class ReplacingFileSystem : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    Look();
    return FailingFileSystem::NewRandomAccessFile(path);
  }
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) override {
    Look();
    return FailingFileSystem::GetFileSize(path);
  }
  int looks_left = 0;
  std::function<void()> replace;

 private:
  void Look() {
    if (looks_left-- == 0) std::exchange(replace, nullptr)();
  }
};

TEST_F(IoKernelsTest, PrefixOverwrittenDuringReadIsRead) {
  ReplacingFileSystem replacing(files_);
  const Tensor x = Tensor::Vector<int32_t>({1, 2, 3});
  const Tensor y = Tensor::Vector<int32_t>({4, 5, 6});
  const auto save = [&](const Tensor& value, bool has_more) {
    std::vector<Tensor> inputs = {Prefix("a"), Texts({"v"}), Texts({""}),
                                  value};
    if (has_more) {
      inputs = {Prefix("a"), Texts({"v", "another"}), Texts({"", ""}), value,
                x};
    }
    return harness_.Run("SaveV2", {inputs.begin(), inputs.end()}).status();
  };
  // After two saves, the data file has its original name again.
  for (const int saves : {1, 2}) {
    for (int looks = 0;; ++looks) {
      (void)files_.DeleteRecursively(folder_);
      harness_.set_file_system(files_);
      ASSERT_OK(save(x, false));
      harness_.set_file_system(replacing);
      replacing.looks_left = looks;
      replacing.replace = [&] {
        replacing.looks_left = -1;
        for (int i = 0; i < saves; ++i) ASSERT_OK(save(y, true));
      };
      ASSERT_OK_AND_ASSIGN(const Tensor restored,
                           Restore("a", "v", "", DT_INT32));
      if (replacing.replace != nullptr) {
        EXPECT_GE(looks, 3);
        break;
      }
      EXPECT_TRUE(SameBits(restored, x) || SameBits(restored, y)) << looks;
    }
  }
}

// Emulates an object store in which an open file reports that another object
// now has its name.
class MovedFiles : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    ASSIGN_OR_RETURN(auto file, FailingFileSystem::NewRandomAccessFile(path));
    return std::make_unique<File>(*this, std::move(file));
  }
  int reads = 0;
  std::function<bool(int read)> is_moved;

 private:
  class File : public RandomAccessFile {
   public:
    File(MovedFiles& files, std::unique_ptr<RandomAccessFile> file)
        : files_(files), file_(std::move(file)) {}
    absl::StatusOr<size_t> Read(uint64_t offset, size_t bytes,
                                char* buffer) const override {
      if (files_.is_moved(files_.reads++)) {
        return absl::FailedPreconditionError("the service answers 412");
      }
      return file_->Read(offset, bytes, buffer);
    }

   private:
    MovedFiles& files_;
    const std::unique_ptr<RandomAccessFile> file_;
  };
};

TEST_F(IoKernelsTest, ReplacedFileIsReopened) {
  ASSERT_OK(Save("a"));
  MovedFiles moved(files_);
  harness_.set_file_system(moved);
  int at = 0;
  for (;; ++at) {
    moved.reads = 0;
    moved.is_moved = [&](int read) { return read == at; };
    ASSERT_OK_AND_ASSIGN(const Tensor restored,
                         Restore("a", "v", "", DT_INT32));
    EXPECT_TRUE(SameBits(restored, v_)) << at;
    if (moved.reads <= at) break;
  }
  EXPECT_GE(at, 3);  // the end and one block of the index, and the data
  // The number of retries is bounded.
  moved.is_moved = [](int) { return true; };
  EXPECT_THAT(Restore("a", "v", "", DT_INT32),
              StatusIs(absl::StatusCode::kFailedPrecondition, "412"));
}

TEST_F(IoKernelsTest, RestoreErrorsNameTheirCause) {
  ASSERT_OK(Save("a"));
  EXPECT_THAT(
      Restore("a", "w", "", DT_INT32),
      StatusIs(absl::StatusCode::kNotFound, "Key w not found in checkpoint"));
  EXPECT_THAT(Restore("a", "v", "", DT_FLOAT),
              StatusIs(kInvalid,
                       "tensor_name = v; expected dtype float does not equal "
                       "original dtype int32"));
  EXPECT_THAT(
      Restore("a", "v", "6 1,3", DT_INT32),
      StatusIs(kInvalid,
               "tensor_name = v; shape in shape_and_slice spec [6] does "
               "not match the shape stored in checkpoint: [5]"));
  EXPECT_THAT(Restore("a", "v", "5 4,3", DT_INT32),
              StatusIs(kInvalid, "Extent in dimension 0 out of bounds"));
  EXPECT_THAT(Restore("a", "m", "", DT_FLOAT),
              StatusIs(kInvalid, "Does not have sufficient slices"));
  EXPECT_THAT(Restore("nowhere", "v", "", DT_INT32),
              StatusIs(absl::StatusCode::kNotFound,
                       "Failed to find any matching files for"));
}

TEST_F(IoKernelsTest, SaveErrorsNameTheirCause) {
  const auto save = [&](Tensor prefix, Tensor names, Tensor slices) {
    return harness_.Run(
        "SaveV2", {std::move(prefix), std::move(names), std::move(slices), v_});
  };
  EXPECT_THAT(save(Texts({"a", "b"}), Texts({"v"}), Texts({""})),
              StatusIs(kInvalid, "prefix should have a single element"));
  EXPECT_THAT(save(Prefix("a"), Tensor::Scalar("v"), Texts({""})),
              StatusIs(kInvalid, "should be an 1-D tensors"));
  EXPECT_THAT(save(Prefix("a"), Texts({"v"}), Texts({"", ""})),
              StatusIs(kInvalid, "different number of elements: 1 vs. 2"));
  EXPECT_THAT(save(Prefix("a"), Texts({"v", "w"}), Texts({"", ""})),
              StatusIs(kInvalid, "Got 2 tensor names but 1 tensors."));
  EXPECT_THAT(save(Prefix("a"), Texts({"v"}), Texts({"6 1,3"})),
              StatusIs(kInvalid, "does not match the shape of the tensor"));
  EXPECT_THAT(save(Prefix("a"), Texts({"v"}), Texts({"5"})),
              StatusIs(kInvalid, "Need least two elements"));
  // Rejected saves leave no files behind.
  const auto left = files_.ListDirectory(folder_);
  if (left.ok()) {
    EXPECT_EQ(*left, std::vector<std::string>());
  }
}

TEST_F(IoKernelsTest, CancelledSaveLeavesNoFile) {
  harness_.cancellation().Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(Save("a"), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(files_.FileExists(Path("a.index")),
              StatusIs(absl::StatusCode::kNotFound));
}

// The shape and slice of "slot", the first half of a tensor.
constexpr char kSlot[] = "6 262147 0,3:-";

// Files of unknown length: each read returns all requested bytes.
class EndlessFiles : public FailingFileSystem {
 public:
  explicit EndlessFiles(FileSystem& files) : FailingFileSystem(files) {}
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view) override {
    return std::make_unique<File>(*this);
  }
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view) override {
    return size;
  }
  uint64_t size = 0;
  int64_t reads = 0;
  std::function<void()> when_read = [] {};

 private:
  class File : public RandomAccessFile {
   public:
    explicit File(EndlessFiles& files) : files_(files) {}
    absl::StatusOr<size_t> Read(uint64_t, size_t bytes, char*) const override {
      ++files_.reads;
      files_.when_read();
      return bytes;
    }

   private:
    EndlessFiles& files_;
  };
};

TEST_F(IoKernelsTest, FileBeyondMemoryIsNotRead) {
  EndlessFiles endless(files_);
  harness_.set_file_system(endless);
  for (const uint64_t size : {uint64_t{1} << 60, UINT64_MAX}) {
    endless.size = size;
    EXPECT_THAT(harness_.RunOne("ReadFile", {Prefix("all")}),
                StatusIs(absl::StatusCode::kResourceExhausted, "all"));
  }
  EXPECT_EQ(endless.reads, 0);
}

TEST_F(IoKernelsTest, EndlessReadEndsWithItsStep) {
  EndlessFiles endless(files_);
  harness_.set_file_system(endless);
  endless.when_read = [&] {
    harness_.cancellation().Cancel(absl::CancelledError("enough"));
  };
  EXPECT_THAT(harness_.RunOne("ReadFile", {Prefix("all")}),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

// Runs _SaveVariables with a value, a reference and two handles in an arbitrary
// order.
class SaveVariablesTest : public IoKernelsTest {
 protected:
  SaveVariablesTest() {
    slot_ = Variable("slot");
    table_ = Variable("table");
    reference_ = std::make_shared<weft::Variable>("reference", DT_FLOAT,
                                                  PartialShape({kRows, kRow}));
    for (const auto& variable : All()) Fill(*variable, 1);
  }

  // Creates the variable to which the handle of this name refers.
  std::shared_ptr<weft::Variable> Variable(const std::string& name) {
    auto variable = std::make_shared<weft::Variable>(
        name, DT_FLOAT, PartialShape({kRows, kRow}));
    EXPECT_OK(harness_.resources().LookupOrCreate<weft::Variable>(
        harness_.cancellation(), "", name,
        [&]() -> absl::StatusOr<std::shared_ptr<weft::Variable>> {
          return variable;
        }));
    return variable;
  }
  std::vector<std::shared_ptr<weft::Variable>> All() const {
    return {slot_, table_, reference_};
  }
  static Tensor Handle(const std::string& name) {
    ResourceHandle handle;
    handle.container = "localhost";
    handle.name = name;
    handle.type_name = "Var";
    return Tensor::Scalar(handle);
  }
  static Tensor Full(float value) {
    Tensor full(DT_FLOAT, {kRows, kRow});
    auto elements = full.mutable_flat<float>();
    std::fill(elements.begin(), elements.end(), value);
    return full;
  }
  void Fill(weft::Variable& variable, float value) {
    EXPECT_OK(variable.Assign(harness_.cancellation(), Full(value)));
  }

  static AttrMap Attrs(std::vector<int64_t> order,
                       std::vector<int64_t> groups = {0, 0, 0, 0}) {
    return {{"dtypes", DataTypeVector({DT_INT32})},
            {"reference_dtypes", DataTypeVector({DT_FLOAT})},
            {"N", int64_t{2}},
            {"handle_dtypes", DataTypeVector({DT_FLOAT, DT_FLOAT})},
            {"order", std::move(order)},
            {"snapshot_groups", std::move(groups)}};
  }
  absl::Status SaveAll(absl::string_view name, AttrMap attrs) {
    return harness_
        .Run("_SaveVariables",
             {Prefix(name), Texts({"reference", "slot", "table", "v"}),
              Texts({"", kSlot, "", ""}), v_, reference_, Handle("table"),
              Handle("slot")},
             std::move(attrs))
        .status();
  }

  static constexpr int64_t kRows = 3;
  static constexpr int64_t kRow =
      ChunkSnapshot::kChunkBytes / sizeof(float) + 3;
  std::shared_ptr<weft::Variable> slot_, table_, reference_;
};

TEST_F(SaveVariablesTest, WritesTheBytesOfSaveV2) {
  ASSERT_OK(SaveAll("a", Attrs({1, 3, 2, 0})));
  ASSERT_OK(harness_.Run(
      "SaveV2", {Prefix("b"), Texts({"reference", "slot", "table", "v"}),
                 Texts({"", kSlot, "", ""}), Full(1), Full(1), Full(1), v_}));
  for (const char* file : {".index", ".data-00000-of-00001"}) {
    ASSERT_OK_AND_ASSIGN(const std::string a,
                         files_.ReadFile(absl::StrCat(Path("a"), file)));
    ASSERT_OK_AND_ASSIGN(const std::string b,
                         files_.ReadFile(absl::StrCat(Path("b"), file)));
    EXPECT_TRUE(a == b) << file;
  }
}

// Calls a function when the first file is opened. The variables have been
// captured by then.
class TellingFileSystem : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (tell) std::exchange(tell, nullptr)();
    return FailingFileSystem::NewWritableFile(path);
  }
  std::function<void()> tell;
};

// Updates during the save do not wait, take effect, and are not in the
// checkpoint. For them, only pages of rows are copied.
TEST_F(SaveVariablesTest, DoesNotBlockUpdates) {
  TellingFileSystem telling(files_);
  harness_.set_file_system(telling);
  const Cancellation other_step;
  telling.tell = [&] {
    Fill(*reference_, 2);
    EXPECT_OK(slot_->Update(other_step, HeapAllocator(),
                            [](const Tensor& from, Tensor& to) {
                              const auto before = from.flat<float>();
                              std::transform(before.begin(), before.end(),
                                             to.mutable_flat<float>().begin(),
                                             [](float x) { return x + 1; });
                              return absl::OkStatus();
                            }));
    EXPECT_OK(table_->UpdateRows(
        other_step, HeapAllocator(),
        [](Variable::RowVisitor visit) { visit(2); },
        [](Tensor& value) {
          value.mutable_flat<float>()[2 * kRow] = 2;
          return absl::OkStatus();
        }));
  };
  ASSERT_OK(SaveAll("a", Attrs({1, 3, 2, 0})));
  EXPECT_EQ(telling.tell, nullptr);
  for (const auto& variable : All()) {
    EXPECT_EQ(variable->Read()->flat<float>()[2 * kRow], 2);
    EXPECT_EQ(variable->bytes_copied_on_write(), 0u);
    const std::string slice = variable == slot_ ? kSlot : "";
    ASSERT_OK_AND_ASSIGN(const Tensor saved,
                         Restore("a", variable->name(), slice, DT_FLOAT));
    EXPECT_TRUE(SameBits(saved, Full(1))) << variable->name();
  }
}

TEST_F(SaveVariablesTest, ErrorsNameTheirCause) {
  EXPECT_THAT(SaveAll("a", Attrs({1, 3, 2, 2})),
              StatusIs(kInvalid, "needs an order of all its tensors"));
  EXPECT_THAT(SaveAll("a", Attrs({1, 3, 2, 0}, {0})),
              StatusIs(kInvalid, "group"));
  AttrMap others = Attrs({1, 3, 2, 0});
  others["handle_dtypes"] = DataTypeVector({DT_FLOAT, DT_INT32});
  EXPECT_THAT(SaveAll("a", others),
              StatusIs(kInvalid, "Expected int32 got float (variable slot)"));
  EXPECT_OK(harness_.resources().Delete<weft::Variable>(harness_.cancellation(),
                                                        "", "table"));
  EXPECT_THAT(SaveAll("a", Attrs({1, 3, 2, 0})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Could not find variable table"));
  Variable("table");
  EXPECT_THAT(SaveAll("a", Attrs({1, 3, 2, 0})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Attempting to use uninitialized value table"));
  EXPECT_FALSE(files_.FileExists(Path("a.index")).ok());
}

// A variable under two names is saved under both.
TEST_F(SaveVariablesTest, OneVariableMayHaveTwoNames) {
  AttrMap attrs = Attrs({0, 1}, {0, 0});
  attrs["dtypes"] = DataTypeVector();
  attrs["reference_dtypes"] = DataTypeVector({DT_FLOAT, DT_FLOAT});
  attrs["N"] = int64_t{0};
  attrs["handle_dtypes"] = DataTypeVector();
  ASSERT_OK(harness_.Run(
      "_SaveVariables",
      {Prefix("a"), Texts({"x", "y"}), Texts({"", ""}), reference_, reference_},
      attrs));
  for (const char* name : {"x", "y"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor saved, Restore("a", name, "", DT_FLOAT));
    EXPECT_TRUE(SameBits(saved, Full(1)));
  }
}

TEST_F(IoKernelsTest, ShardsAreMerged) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor name,
      harness_.RunOne("ShardedFilename",
                      {Prefix("temp/part"), Tensor::Scalar<int32_t>(0),
                       Tensor::Scalar<int32_t>(1)}));
  EXPECT_EQ(name.scalar<std::string>(), Path("temp/part-00000-of-00001"));
  ASSERT_OK(Save("temp/part-00000-of-00001"));
  ASSERT_OK(harness_.Run("MergeV2Checkpoints",
                         {Texts({name.scalar<std::string>()}), Prefix("a")}));
  ASSERT_OK_AND_ASSIGN(const Tensor v, Restore("a", "v", "", DT_INT32));
  EXPECT_TRUE(SameBits(v, v_));
  // The folder of the shards is deleted with the last shard.
  EXPECT_THAT(files_.FileExists(Path("temp")),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(IoKernelsTest, MissingShardsAreAllowedOnRequest) {
  ASSERT_OK(Save("temp/there"));
  const Tensor prefixes = Texts({Path("temp/missing"), Path("temp/there")});
  EXPECT_THAT(harness_.Run("MergeV2Checkpoints", {prefixes, Prefix("a")}),
              StatusIs(absl::StatusCode::kNotFound, "missing.index"));
  ASSERT_OK(harness_.Run(
      "MergeV2Checkpoints", {prefixes, Prefix("a")},
      {{"allow_missing_files", true}, {"delete_old_dirs", false}}));
  EXPECT_OK(Restore("a", "v", "", DT_INT32));
  EXPECT_OK(files_.FileExists(Path("temp")));
}

TEST_F(IoKernelsTest, Shapes) {
  const ShapeInput prefix(DT_STRING, PartialShape::Scalar());
  const ShapeInput names(DT_STRING, PartialShape::Vector(2));
  ASSERT_OK_AND_ASSIGN(
      const auto restored,
      harness_.InferShapes("RestoreV2",
                           {prefix, names, Texts({"", "4 2 1,2:-"})},
                           DTypes({DT_INT32, DT_FLOAT})));
  ASSERT_EQ(restored.size(), 2u);
  EXPECT_FALSE(restored[0].has_rank());
  EXPECT_EQ(restored[1], PartialShape({2, 2}));
  EXPECT_THAT(harness_.InferShapes("RestoreV2", {prefix, names, names},
                                   DTypes({DT_INT32})),
              StatusIs(kInvalid, "Got 2 tensor names but 1 tensors."));
  EXPECT_THAT(harness_.InferShapes("RestoreV2", {names, names, names},
                                   DTypes({DT_INT32, DT_FLOAT})),
              StatusIs(kInvalid, "Shape must be rank 0"));
  EXPECT_THAT(
      harness_.InferShapes("RestoreV2", {prefix, names, Texts({"", "4 4,1"})},
                           DTypes({DT_INT32, DT_FLOAT})),
      StatusIs(kInvalid, "out of bounds"));
}

}  // namespace
}  // namespace weft
