// Tests of TensorSliceReader, TensorSliceWriter and CheckpointReader with V1
// checkpoints: TensorFlow 2.21's (testdata/tensorflow/v1ckpt), Weft's own, and
// damaged ones.
#include "libs/checkpoint/tensor_slice_reader.h"

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/saved_slices.h"
#include "libs/checkpoint/tensor_slice_writer.h"
#include "libs/checkpoint/testing/crafted_table.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/testing/small_allocator.h"
#include "schemas/tf/saved_tensor_slice.pb.h"

namespace weft::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTensorFlows[] = "libs/checkpoint/testdata/tensorflow/v1ckpt";
constexpr char kPath[] = "/job/model.ckpt-1";
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct Part {
  std::string name;
  TensorShape whole;
  std::string slice;  // empty: the whole tensor
  Tensor values;
};

class TensorSliceReaderTest : public ::testing::Test {
 protected:
  absl::Status Write(const std::string& path, const std::vector<Part>& parts,
                     const Cancellation* cancellation = nullptr) {
    TensorSliceWriter writer(fs_, path, *random_);
    for (const Part& part : parts) {
      TensorSlice slice(part.whole.rank());
      if (!part.slice.empty()) slice = Slice(part.slice);
      RETURN_IF_ERROR(writer.Add(part.name, part.whole, slice, part.values));
    }
    return writer.Finish(cancellation);
  }
  absl::StatusOr<Tensor> Read(const std::string& name,
                              const std::string& prefix = kPath) {
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(fs_, prefix));
    return reader->Read(name, HeapAllocator());
  }
  absl::StatusOr<Tensor> ReadSlice(const std::string& name,
                                   const std::string& slice,
                                   const std::string& prefix = kPath) {
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(fs_, prefix));
    return reader->ReadSlice(name, Slice(slice), HeapAllocator());
  }
  // Writes a table of these records. Its blocks have valid checksums.
  absl::Status WriteRecords(const tf::SavedTensorSlices& list,
                            const std::string& key, const std::string& record) {
    RETURN_IF_ERROR(fs_.CreateDirectories("/job"));
    ASSIGN_OR_RETURN(auto file, fs_.NewWritableFile(kPath));
    TableBuilder builder(*file);
    RETURN_IF_ERROR(builder.Add("", list.SerializeAsString()));
    RETURN_IF_ERROR(builder.Add(key, record));
    RETURN_IF_ERROR(builder.Finish());
    return file->Close();
  }
  // Returns a list with one tensor "x" of floats, which is stored whole.
  static tf::SavedTensorSlices ListOf(const std::vector<int64_t>& shape) {
    tf::SavedTensorSlices list;
    tf::SavedSliceMeta& meta = *list.mutable_meta()->add_tensor();
    meta.set_name("x");
    meta.set_type(tf::DT_FLOAT);
    auto* const slice = meta.add_slice();
    for (const int64_t dim : shape) {
      meta.mutable_shape()->add_dim()->set_size(dim);
      slice->add_extent();
    }
    return list;
  }
  static std::string KeyOf(int rank) {
    return EncodeTensorNameSlice("x", TensorSlice(rank));
  }
  static std::string Floats(int count) {
    tf::SavedTensorSlices record;
    for (int i = 0; i < count; ++i) {
      record.mutable_data()->mutable_data()->add_float_val(
          static_cast<float>(i));
    }
    return record.SerializeAsString();
  }
  static TensorSlice Slice(absl::string_view text) {
    auto slice = TensorSlice::Parse(text);
    EXPECT_OK(slice);
    return *slice;
  }
  // Returns rows [begin, end) of a matrix whose elements are 0, 1, 2, ...
  static Tensor Rows(int64_t begin, int64_t end, int64_t columns) {
    Tensor tensor(DT_INT32, {end - begin, columns});
    int32_t next = static_cast<int32_t>(begin * columns);
    for (int32_t& value : tensor.mutable_flat<int32_t>()) value = next++;
    return tensor;
  }
  static void ExpectSame(const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.dtype(), b.dtype());
    ASSERT_EQ(a.shape(), b.shape());
    if (a.dtype() == DT_STRING) {
      EXPECT_EQ(a.flat<std::string>(), b.flat<std::string>());
      return;
    }
    const auto bytes = [](const Tensor& tensor) {
      return std::string(static_cast<const char*>(tensor.data()),
                         tensor.num_bytes());
    };
    EXPECT_EQ(bytes(a), bytes(b)) << DataTypeName(a.dtype());
  }

  MemoryFileSystem fs_;
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
};

// The path is not the prefix of a checkpoint, but looks like one.
TEST_F(TensorSliceReaderTest, WrongPrefixHintsAtTheLikelyOne) {
  ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_, kPath, *random_));
  ASSERT_OK(writer->Add("x", Rows(0, 1, 1)));
  ASSERT_OK(writer->Finish());
  for (const char* ending : {".index", ".data-00000-of-00001", ".meta"}) {
    EXPECT_THAT(CheckpointReader::Open(fs_, absl::StrCat(kPath, ending)),
                StatusIs(absl::StatusCode::kNotFound,
                         absl::StrCat("is a file of a checkpoint. Expected the "
                                      "prefix of its files, ",
                                      kPath)))
        << ending;
  }
  for (const char* directory : {"/job", "/job/"}) {
    EXPECT_THAT(CheckpointReader::Open(fs_, directory),
                StatusIs(absl::StatusCode::kNotFound,
                         absl::StrCat(directory,
                                      " is a directory. Expected the prefix "
                                      "of a checkpoint's files, such as "
                                      "/job/model.ckpt-100")))
        << directory;
  }
}

TEST_F(TensorSliceReaderTest, TensorFlowsFileIsRead) {
  LocalFileSystem local;
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       CheckpointReader::Open(local, kTensorFlows));
  EXPECT_EQ(reader->format(), 1);
  EXPECT_EQ(reader->num_data_files(), 1);
  ASSERT_OK_AND_ASSIGN(const auto tensors, reader->ListTensors());
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors.at("v").dtype, DT_FLOAT);
  EXPECT_EQ(tensors.at("v").bytes, 8);
  EXPECT_EQ(tensors.at("v").slices.size(), 0u);
  ASSERT_OK_AND_ASSIGN(const Tensor v, reader->Read("v", HeapAllocator()));
  ExpectSame(v, Tensor::Vector<float>({1.5, 2.5}));
  EXPECT_OK(reader->Verify("v", HeapAllocator()));
}

TEST_F(TensorSliceReaderTest, FileHasTensorFlowsBytes) {
  LocalFileSystem local;
  const Tensor v = Tensor::Vector<float>({1.5, 2.5});
  ASSERT_OK(Write(kPath, {{"v", v.shape(), "", v}}));
  ASSERT_OK_AND_ASSIGN(const std::string theirs, local.ReadFile(kTensorFlows));
  ASSERT_OK_AND_ASSIGN(const std::string ours, fs_.ReadFile(kPath));
  EXPECT_EQ(ours, theirs);
  ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory("/job"));
  EXPECT_THAT(names, ElementsAre("model.ckpt-1"));
}

TEST_F(TensorSliceReaderTest, AllTypesRoundTrip) {
  const std::vector<Tensor> all = {
      Tensor::Vector<float>({-1.5, 2}),
      Tensor::Vector<double>({-1.5, 2}),
      Tensor::Vector<int32_t>({-7, 2147483647}),
      Tensor::Vector<uint8_t>({0, 255}),
      Tensor::Vector<int16_t>({-32768, 3}),
      Tensor::Vector<int8_t>({-128, 127}),
      Tensor::Vector<std::string>({"", std::string("a\0b", 3)}),
      Tensor::Vector<std::complex<float>>({{1, -2}, {3, 4}}),
      Tensor::Vector<int64_t>({INT64_MIN, 5}),
      Tensor::Vector<bool>({true, false}),
      Tensor::Vector<uint16_t>({65535, 1}),
      Tensor::Vector<std::complex<double>>({{1, -2}, {3, 4}}),
      Tensor::Vector<half>({half(1.5f), half(-2.0f)}),
      Tensor::Vector<uint32_t>({4294967295u, 1}),
      Tensor::Vector<uint64_t>({UINT64_MAX, 1}),
      AsType(Tensor::Vector<int8_t>({-128, 127}), kQInt8),
      AsType(Tensor::Vector<uint8_t>({0, 255}), kQUInt8),
      AsType(Tensor::Vector<int16_t>({-32768, 3}), kQInt16),
      AsType(Tensor::Vector<uint16_t>({65535, 1}), kQUInt16),
      AsType(Tensor::Vector<int32_t>({-7, 3}), kQInt32)};
  for (const Tensor& tensor : all) {
    SCOPED_TRACE(DataTypeName(tensor.dtype()));
    ASSERT_OK(Write(kPath, {{"whole", {2}, "", tensor},
                            {"parts", {4}, "0,2", tensor},
                            {"parts", {4}, "2,2", tensor}}));
    ASSERT_OK_AND_ASSIGN(const Tensor whole, Read("whole"));
    ExpectSame(whole, tensor);
    ASSERT_OK_AND_ASSIGN(const Tensor half, ReadSlice("parts", "2,2"));
    ExpectSame(half, tensor);
    ASSERT_OK_AND_ASSIGN(const Tensor parts, Read("parts"));
    EXPECT_EQ(parts.shape(), TensorShape({4}));
  }
}

TEST_F(TensorSliceReaderTest, ScalarsAndEmptyTensorsAreRead) {
  const Tensor scalar = Tensor::Scalar<int64_t>(7);
  const Tensor empty(DT_FLOAT, {0, 3});
  ASSERT_OK(
      Write(kPath, {{"scalar", {}, "", scalar}, {"empty", {0, 3}, "", empty}}));
  ASSERT_OK_AND_ASSIGN(const Tensor read, Read("scalar"));
  ExpectSame(read, scalar);
  ASSERT_OK_AND_ASSIGN(const Tensor read_empty, Read("empty"));
  ExpectSame(read_empty, empty);
}

TEST_F(TensorSliceReaderTest, SlicesAreReadAcrossShards) {
  for (int i = 0; i < 12; ++i) {
    ASSERT_OK(Write(
        absl::StrFormat("/job/m-%05d-of-00012", i),
        {{"m", {24, 3}, absl::StrCat(2 * i, ",2:-"), Rows(2 * i, 2 * i + 2, 3)},
         {absl::StrCat("own_", i), {}, "", Tensor::Scalar<int32_t>(i)}}));
  }
  const std::string pattern = "/job/m-\?\?\?\?\?-of-00012";
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::Open(fs_, pattern));
  EXPECT_EQ(reader->num_data_files(), 12);
  ASSERT_OK_AND_ASSIGN(const auto info, reader->FindTensor("m"));
  EXPECT_EQ(info->slices.size(), 12u);
  ASSERT_OK_AND_ASSIGN(const Tensor whole, reader->Read("m", HeapAllocator()));
  ExpectSame(whole, Rows(0, 24, 3));
  ASSERT_OK_AND_ASSIGN(
      const Tensor part,
      reader->ReadSlice("m", Slice("3,18:-"), HeapAllocator()));
  ExpectSame(part, Rows(3, 21, 3));
  ASSERT_OK_AND_ASSIGN(
      const Tensor column,
      reader->ReadSlice("m", Slice("22,2:1,1"), HeapAllocator()));
  ExpectSame(column, Tensor::FromValues<int32_t>({2, 1}, {67, 70}));
  ASSERT_OK_AND_ASSIGN(const Tensor own,
                       reader->Read("own_7", HeapAllocator()));
  EXPECT_EQ(own.scalar<int32_t>(), 7);
  EXPECT_OK(reader->Verify("m", HeapAllocator()));
  ASSERT_OK_AND_ASSIGN(const auto tensors, reader->ListTensors());
  EXPECT_EQ(tensors.at("m").bytes, 24 * 3 * 4);
  EXPECT_EQ(tensors.at("m").files.size(), 12u);
  EXPECT_THAT(tensors.at("own_7").files, ElementsAre(7));
}

TEST_F(TensorSliceReaderTest, SliceOfWholeTensorIsRead) {
  ASSERT_OK(Write(kPath, {{"m", {4, 2}, "", Rows(0, 4, 2)}}));
  ASSERT_OK_AND_ASSIGN(const Tensor part, ReadSlice("m", "1,2:-"));
  ExpectSame(part, Rows(1, 3, 2));
  EXPECT_THAT(ReadSlice("m", "3,2:-"), StatusIs(kInvalid, "tensor_name = m"));
}

TEST_F(TensorSliceReaderTest, MissingTensorIsNamed) {
  ASSERT_OK(Write(kPath, {{"m", {4, 2}, "1,2:-", Rows(1, 3, 2)}}));
  EXPECT_THAT(Read("x"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Tensor name \"x\" not found in checkpoint files "
                       "/job/model.ckpt-1"));
  EXPECT_THAT(Read("m"), StatusIs(kInvalid, "hold 4 of 8 elements"));
  ASSERT_OK_AND_ASSIGN(const Tensor part, ReadSlice("m", "2,1:-"));
  ExpectSame(part, Rows(2, 3, 2));
  EXPECT_THAT(Read("m", "/job/none"),
              StatusIs(absl::StatusCode::kNotFound, "none.index"));
  EXPECT_THAT(Read("m", "/job"),
              StatusIs(absl::StatusCode::kNotFound, "/job is a directory"));
}

TEST_F(TensorSliceReaderTest, FormatV2IsPreferred) {
  ASSERT_OK(Write(kPath, {{"x", {}, "", Tensor::Scalar<int32_t>(1)}}));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(fs_, kPath, *random_));
  ASSERT_OK(writer->Add("x", Tensor::Scalar<int32_t>(2)));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const Tensor x, Read("x"));
  EXPECT_EQ(x.scalar<int32_t>(), 2);
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::Open(fs_, kPath));
  EXPECT_EQ(reader->format(), 2);
}

TEST_F(TensorSliceReaderTest, NamesMayContainGlobCharacters) {
  ASSERT_OK(Write("/job/m[1]?", {{"x", {}, "", Tensor::Scalar<int32_t>(1)}}));
  EXPECT_OK(Read("x", "/job/m[1]?"));
  ASSERT_OK_AND_ASSIGN(const bool exists, CheckpointExists(fs_, "/job/m[1]?"));
  EXPECT_TRUE(exists);
  ASSERT_OK_AND_ASSIGN(const bool none, CheckpointExists(fs_, "/job/m"));
  EXPECT_FALSE(none);
}

TEST_F(TensorSliceReaderTest, ConflictingShardsAreRejected) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2});
  ASSERT_OK(Write("/m-0", {{"x", {4}, "0,2", x}}));
  const auto read = [&] { return Read("x", "/m-?"); };
  ASSERT_OK(Write("/m-1", {{"x", {5}, "2,2", x}}));
  EXPECT_THAT(read(), StatusIs(kDataLoss, "Incompatible tensor shapes"));
  ASSERT_OK(Write("/m-1", {{"x", {4}, "2,2", Tensor::Vector<float>({1, 2})}}));
  EXPECT_THAT(read(), StatusIs(kDataLoss,
                               "Incompatible tensor types detected for tensor "
                               "x: existing = int32, new = float in /m-1"));
  ASSERT_OK(Write("/m-1", {{"x", {4}, "1,2", x}}));
  EXPECT_THAT(read(), StatusIs(kDataLoss, "Overlapping slices of x"));
  ASSERT_OK(Write("/m-1", {{"x", {4}, "2,2", x}}));
  EXPECT_OK(read());
}

TEST_F(TensorSliceReaderTest, OtherFilesAreRejected) {
  ASSERT_OK(fs_.CreateDirectories("/job"));
  ASSERT_OK(fs_.WriteFileAtomically(kPath, std::string(100, 'x')));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss,
                                  "Unable to open table file "
                                  "/job/model.ckpt-1: not an sstable"));
  ASSERT_OK(fs_.WriteFileAtomically(
      kPath, CraftTable(CraftBlock({CraftEntry(0, "a", "b")}, {0}))));
  EXPECT_THAT(Read("x"),
              StatusIs(kDataLoss,
                       "Failed to find the saved tensor slices at the "
                       "beginning of the checkpoint file: /job/model.ckpt-1"));
  // The index of a V2 checkpoint is also a table, but not of a V1 checkpoint.
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(fs_, "/job/v2", *random_));
  ASSERT_OK(writer->Add("x", Tensor::Scalar<int32_t>(2)));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const std::string index, fs_.ReadFile("/job/v2.index"));
  ASSERT_OK(fs_.WriteFileAtomically("/job/copy", index));
  EXPECT_THAT(Read("x", "/job/copy"),
              StatusIs(kDataLoss, "does not list its tensors"));
}

TEST_F(TensorSliceReaderTest, UnsupportedVersionsAreRejected) {
  tf::SavedTensorSlices list = ListOf({2});
  list.mutable_meta()->mutable_versions()->set_min_consumer(2);
  ASSERT_OK(WriteRecords(list, KeyOf(1), Floats(2)));
  EXPECT_THAT(Read("x"), StatusIs(kInvalid, "min consumer version 2"));
  list.mutable_meta()->mutable_versions()->set_min_consumer(1);
  list.mutable_meta()->mutable_versions()->add_bad_consumers(1);
  ASSERT_OK(WriteRecords(list, KeyOf(1), Floats(2)));
  EXPECT_THAT(Read("x"), StatusIs(kInvalid, "disallows consumer version 1"));
}

TEST_F(TensorSliceReaderTest, MismatchedRecordsAreNamed) {
  const std::string place =
      "/job/model.ckpt-1, \\x00x\\x00\\x01\\x01\\x01\\x80\\x7f";
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(1), Floats(2)));
  ASSERT_OK(Read("x"));
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(1), Floats(3)));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "3 values of type float"));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, place));
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(1), Floats(1)));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "1 values of type float"));
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(1), "garbage"));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "not a slice of a tensor"));
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(2), Floats(2)));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "but does not hold it"));
  // Format V1 does not use the field tensor_content.
  tf::SavedTensorSlices record;
  record.mutable_data()->mutable_data()->set_tensor_content("12345678");
  ASSERT_OK(WriteRecords(ListOf({2}), KeyOf(1), record.SerializeAsString()));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "0 values of type float"));
}

// A declared size may be false. No memory is reserved for more data than the
// file can hold.
TEST_F(TensorSliceReaderTest, DeclaredSizesAreBounded) {
  ASSERT_OK(WriteRecords(ListOf({int64_t{1} << 40}), KeyOf(1), Floats(2)));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "cannot be in a file of"));
  EXPECT_THAT(ReadSlice("x", "5,1000000"),
              StatusIs(kDataLoss, "cannot be in a file of"));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{-1}, {int64_t{1} << 40, int64_t{1} << 40}}) {
    ASSERT_OK(WriteRecords(ListOf(shape), KeyOf(1), Floats(2)));
    EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "tensor 'x'"));
  }
  tf::SavedTensorSlices list = ListOf({4});
  auto* const extent =
      list.mutable_meta()->mutable_tensor(0)->mutable_slice(0)->mutable_extent(
          0);
  extent->set_start(3);
  extent->set_length(2);
  ASSERT_OK(WriteRecords(list, KeyOf(1), Floats(2)));
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "tensor 'x'"));
}

TEST_F(TensorSliceReaderTest, SizeBoundDependsOnType) {
  constexpr int64_t kCount = 2000;
  ASSERT_OK(WriteRecords(ListOf({kCount}), KeyOf(1), Floats(2)));
  ASSERT_OK_AND_ASSIGN(const int64_t size, fs_.GetFileSize(kPath));
  ASSERT_LT(kCount / 22, size);
  ASSERT_LT(size, kCount * 4 / 22);
  EXPECT_THAT(Read("x"), StatusIs(kDataLoss, "cannot be in a file of"));
}

// Each slice takes two bytes of the list, but many times more in memory.
TEST_F(TensorSliceReaderTest, MoreSlicesThanElementsAreRejected) {
  for (const auto& shape : {std::vector<int64_t>{}, {1}, {0}, {2, 0}}) {
    tf::SavedTensorSlices list = ListOf(shape);
    tf::SavedSliceMeta& meta = *list.mutable_meta()->mutable_tensor(0);
    *meta.add_slice() = meta.slice(0);
    ASSERT_OK(WriteRecords(list, KeyOf(static_cast<int>(shape.size())), ""));
    EXPECT_THAT(CheckpointReader::Open(fs_, kPath).status(),
                StatusIs(kDataLoss, "Overlapping slices of x"));
  }
}

// The list is small, and its slices are not too many for the tensor, but they
// need too much memory.
TEST_F(TensorSliceReaderTest, SliceListMemoryIsBounded) {
  constexpr int kSlices = 1'000'000;
  tf::SavedTensorSlices list = ListOf({int64_t{1} << 40});
  tf::SavedSliceMeta& meta = *list.mutable_meta()->mutable_tensor(0);
  meta.mutable_slice(0)->mutable_extent(0)->set_length(1);
  for (int i = 1; i < kSlices; ++i) *meta.add_slice() = meta.slice(0);
  ASSERT_OK(WriteRecords(list, KeyOf(1), ""));
  constexpr size_t kMemory = size_t{64} << 20;
  weft::SmallAllocator small(kMemory, kMemory);
  EXPECT_THAT(CheckpointReader::Open(fs_, kPath, nullptr, small).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "tensor 'x'"));
}

TEST_F(TensorSliceReaderTest, SlicesWithinBoundsNeedLittleMemory) {
  ASSERT_OK(Write(kPath, {{"x", {4, 2}, "0,2:-", Rows(0, 2, 2)},
                          {"x", {4, 2}, "2,2:-", Rows(2, 4, 2)}}));
  weft::SmallAllocator none(0, 0);
  EXPECT_OK(CheckpointReader::Open(fs_, kPath, nullptr, none));
}

TEST_F(TensorSliceReaderTest, OverlapIsDetectedWhenRead) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2});
  ASSERT_OK(Write("/m-0", {{"x", {6}, "0,2", x}, {"y", {2}, "", x}}));
  ASSERT_OK(Write("/m-1", {{"x", {6}, "1,2", x}, {"x", {6}, "4,2", x}}));
  EXPECT_THAT(Read("x", "/m-?"),
              StatusIs(kDataLoss, "Overlapping slices of x"));
  EXPECT_OK(ReadSlice("x", "4,2", "/m-?"));
  EXPECT_OK(Read("y", "/m-?"));
}

TEST_F(TensorSliceReaderTest, UnsupportedTypesAreNamed) {
  tf::SavedTensorSlices list = ListOf({2});
  list.mutable_meta()->mutable_tensor(0)->set_type(
      static_cast<tf::DataType>(DT_RESOURCE));
  ASSERT_OK(WriteRecords(list, KeyOf(1), Floats(2)));
  EXPECT_THAT(Read("x"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Restoring data type resource not yet supported"));
}

// If any bit is flipped, reading must fail or return the same values.
TEST_F(TensorSliceReaderTest, BitFlipsNeverChangeValuesRead) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2});
  ASSERT_OK(Write(kPath, {{"x", {2}, "", x}}));
  ASSERT_OK_AND_ASSIGN(std::string bytes, fs_.ReadFile(kPath));
  int refused = 0;
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      ASSERT_OK(fs_.WriteFileAtomically(kPath, bytes));
      const auto read = Read("x");
      if (read.ok()) {
        ExpectSame(*read, x);
      } else {
        ++refused;
        EXPECT_EQ(read.status().code(), kDataLoss);
      }
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  EXPECT_GT(refused, 8 * (static_cast<int>(bytes.size()) - 60));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_OK(fs_.WriteFileAtomically(kPath, bytes.substr(0, size)));
    EXPECT_EQ(Read("x").status().code(), kDataLoss) << size;
  }
}

TEST_F(TensorSliceReaderTest, WriterRejectsMismatchedTensors) {
  TensorSliceWriter writer(fs_, kPath, *random_);
  const Tensor x = Tensor::Vector<float>({1, 2});
  ASSERT_OK(writer.Add("x", {4}, Slice("0,2"), x));
  EXPECT_THAT(writer.Add("x", {4}, Slice("0,2"), x),
              StatusIs(kInvalid, "slice 0,2 was added before"));
  EXPECT_THAT(writer.Add("x", {4}, Slice("1,3"), x),
              StatusIs(kInvalid, "its slice has shape [3], its values [2]"));
  EXPECT_THAT(writer.Add("x", {5}, Slice("2,2"), x),
              StatusIs(kInvalid, "its slices differ in type"));
  EXPECT_THAT(
      writer.Add("x", {4}, Slice("2,2"), Tensor::Vector<int32_t>({1, 2})),
      StatusIs(kInvalid, "its slices differ in type"));
  EXPECT_THAT(writer.Add("r", {1}, TensorSlice(1), Tensor(DT_RESOURCE, {1})),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "Saving data type resource not yet supported"));
}

// In a record, a uint8 takes at most two bytes and a uint16 at most three, so
// large tensors of them fit. The test never touches the memory of the tensors.
TEST_F(TensorSliceReaderTest, LargeTensorsOfSmallIntegersCanBeSaved) {
  const auto check = [](DataType dtype, int64_t count) {
    const auto values = Tensor::Allocate(HeapAllocator(), dtype, {count});
    return CheckSliceCanBeSerialized("x", TensorSlice(1), values.value());
  };
  EXPECT_OK(check(DT_UINT8, int64_t{1} << 28));
  EXPECT_OK(check(kQUInt8, int64_t{1} << 28));
  EXPECT_OK(check(DT_UINT16, int64_t{1} << 28));
  EXPECT_THAT(check(DT_INT8, int64_t{1} << 28),
              StatusIs(kInvalid, "too large to serialize"));
}

TEST_F(TensorSliceReaderTest, FailedOrCancelledSaveLeavesNoFile) {
  const Tensor x = Tensor::Vector<float>({1, 2});
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(Write(kPath, {{"x", {2}, "", x}}, &cancellation),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  FailingFileSystem failing(fs_);
  failing.LimitSpace(20);
  TensorSliceWriter writer(failing, kPath, *random_);
  ASSERT_OK(writer.Add("x", {2}, TensorSlice(1), x));
  EXPECT_EQ(writer.Finish().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory("/job"));
  EXPECT_THAT(names, ElementsAre());
}

TEST_F(TensorSliceReaderTest, ReadingCanBeCancelled) {
  ASSERT_OK(Write(kPath, {{"m", {4, 2}, "", Rows(0, 4, 2)}}));
  Cancellation cancellation;
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       CheckpointReader::Open(fs_, kPath, &cancellation));
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(reader->Read("m", HeapAllocator()),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

}  // namespace
}  // namespace weft::checkpoint
