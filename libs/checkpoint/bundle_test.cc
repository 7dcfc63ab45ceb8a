// Tests of BundleWriter, BundleReader and MergeBundles: with files that
// TensorFlow 2.21 wrote (kept in integration_tests), with each other's files,
// and on failing disks.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/merge_bundles.h"
#include "libs/checkpoint/testing/crafted_table.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/counted_files.h"
#include "libs/tensor/variant.h"

namespace weft::checkpoint {
namespace {

using ::testing::HasSubstr;

constexpr char kTestdata[] =
    "integration_tests/testdata/conformance/checkpoints/";
constexpr char kPrefix[] = "/job/model.ckpt";

class BundleTest : public ::testing::Test {
 protected:
  BundleTest() : random_(NewSeededRandom(1)) {}

  std::unique_ptr<BundleWriter> NewWriter(absl::string_view prefix = kPrefix) {
    auto writer = BundleWriter::Create(fs_, prefix, *random_);
    EXPECT_OK(writer);
    return writer.ok() ? *std::move(writer) : nullptr;
  }
  absl::StatusOr<Tensor> Read(absl::string_view name,
                              absl::string_view prefix = kPrefix) {
    ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(fs_, prefix));
    return reader->Read(name, HeapAllocator());
  }
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                   absl::string_view slice) {
    ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(fs_, kPrefix));
    ASSIGN_OR_RETURN(const TensorSlice parsed, TensorSlice::Parse(slice));
    return reader->ReadSlice(name, parsed, HeapAllocator());
  }
  // Returns rows [begin, end) of a matrix whose elements are 0, 1, 2, ...
  static Tensor Rows(int64_t begin, int64_t end, int64_t columns) {
    Tensor tensor(DT_INT32, {end - begin, columns});
    int32_t next = static_cast<int32_t>(begin * columns);
    for (int32_t& value : tensor.mutable_flat<int32_t>()) value = next++;
    return tensor;
  }
  static TensorSlice Slice(absl::string_view text) {
    auto slice = TensorSlice::Parse(text);
    EXPECT_OK(slice);
    return *slice;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<Random> random_;
};

// Contents describes what a checkpoint must contain.
struct Contents {
  struct Part {
    std::string key;
    BundleEntry entry;
  };
  std::vector<Part> parts;  // with data, in the order of the data
};

absl::StatusOr<Contents> ContentsOf(BundleReader& reader) {
  Contents contents;
  RETURN_IF_ERROR(reader.ForEach(
      [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
        if (entry.slices.empty()) {
          contents.parts.push_back({std::string(key), entry});
        }
        return absl::OkStatus();
      }));
  std::stable_sort(contents.parts.begin(), contents.parts.end(),
                   [](const auto& a, const auto& b) {
                     return std::pair(a.entry.offset, a.entry.size) <
                            std::pair(b.entry.offset, b.entry.size);
                   });
  return contents;
}

// Copies everything in one shard of a checkpoint to another checkpoint.
absl::Status Copy(FileSystem& from, const std::string& from_prefix, int shard,
                  FileSystem& to, const std::string& to_prefix,
                  Random& random) {
  ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(from, from_prefix));
  ASSIGN_OR_RETURN(const Contents contents, ContentsOf(*reader));
  ASSIGN_OR_RETURN(const auto writer,
                   BundleWriter::Create(to, to_prefix, random));
  for (const auto& [key, entry] : contents.parts) {
    if (entry.shard != shard) continue;
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(key, HeapAllocator()));
    if (key[0] != '\0') {
      RETURN_IF_ERROR(writer->Add(key, tensor));
      continue;
    }
    ASSIGN_OR_RETURN(const TensorNameSlice slice, DecodeTensorNameSlice(key));
    ASSIGN_OR_RETURN(const auto whole, reader->Find(slice.name));
    RETURN_IF_ERROR(
        writer->AddSlice(slice.name, whole->shape, slice.slice, tensor));
  }
  return writer->Finish();
}

class TensorFlowFilesTest : public BundleTest {
 protected:
  void ExpectSameFile(const std::string& golden, const std::string& written) {
    ASSERT_OK_AND_ASSIGN(const std::string expected,
                         local_.ReadFile(kTestdata + golden));
    ASSERT_OK_AND_ASSIGN(const std::string got, fs_.ReadFile(written));
    EXPECT_EQ(got, expected) << golden;
  }

  LocalFileSystem local_;
};

TEST_F(TensorFlowFilesTest, ReadAndRewriteGivesTheSameBytes) {
  for (const std::string name : {"many_dtypes", "many_blocks", "partitioned"}) {
    const std::string copy = kPrefix + name;
    ASSERT_OK(
        Copy(local_, kTestdata + name + "/model.ckpt", 0, fs_, copy, *random_))
        << name;
    for (const std::string end : {".index", ".data-00000-of-00001"}) {
      ExpectSameFile(name + "/model.ckpt" + end, copy + end);
    }
  }
}

TEST_F(TensorFlowFilesTest, MergedShardsHaveTensorFlowsBytes) {
  const std::string golden = absl::StrCat(kTestdata, "sharded/model.ckpt");
  const std::vector<std::string> shards = {"/job/_temp_1/part-00000-of-00002",
                                           "/job/_temp_1/part-00001-of-00002"};
  for (int shard = 0; shard < 2; ++shard) {
    ASSERT_OK(Copy(local_, golden, shard, fs_, shards[shard], *random_));
  }
  ASSERT_OK(MergeBundles(fs_, shards, kPrefix, *random_));
  for (const std::string end :
       {".index", ".data-00000-of-00002", ".data-00001-of-00002"}) {
    ExpectSameFile("sharded/model.ckpt" + end, kPrefix + end);
  }
  ASSERT_OK_AND_ASSIGN(const auto left, fs_.ListDirectory("/job/_temp_1"));
  EXPECT_EQ(left, std::vector<std::string>());
}

TEST_F(TensorFlowFilesTest, ManyTypesAreListedAndRead) {
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      BundleReader::Open(local_,
                         absl::StrCat(kTestdata, "many_dtypes/model.ckpt")));
  EXPECT_EQ(reader->header().num_shards, 1);
  EXPECT_EQ(reader->header().producer, 1);
  ASSERT_OK_AND_ASSIGN(const Contents contents, ContentsOf(*reader));
  EXPECT_EQ(contents.parts.size(), 17u);
  ASSERT_OK_AND_ASSIGN(const auto entry, reader->Find("string"));
  EXPECT_EQ(entry->dtype, DT_STRING);
  EXPECT_EQ(entry->shape, TensorShape({2, 2}));
  EXPECT_EQ(entry->offset, 254);
  EXPECT_EQ(entry->size, 272);
  EXPECT_EQ(entry->masked_crc32c, 1207316935u);
  ASSERT_OK_AND_ASSIGN(const Tensor integers,
                       reader->Read("int16", HeapAllocator()));
  EXPECT_TRUE(SameBits(integers, Tensor::Vector<int16_t>({-8, 8, 4})));
  ASSERT_OK_AND_ASSIGN(const Tensor string,
                       reader->Read("scalar_string", HeapAllocator()));
  EXPECT_TRUE(SameBits(string, Tensor::Scalar("alone")));
}

// Corrupt files are rejected with the status codes and texts of TensorFlow.
TEST_F(TensorFlowFilesTest, CorruptFilesAreRejected) {
  const auto read = [&](const std::string& name) -> absl::Status {
    ASSIGN_OR_RETURN(
        const auto reader,
        BundleReader::Open(local_, absl::StrCat(kTestdata, "corrupt/", name)));
    ASSIGN_OR_RETURN(const Contents contents, ContentsOf(*reader));
    EXPECT_EQ(contents.parts.size(), 2u);
    for (const auto& part : contents.parts) {
      RETURN_IF_ERROR(reader->Read(part.key, HeapAllocator()).status());
    }
    return absl::OkStatus();
  };
  EXPECT_OK(read("intact"));
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(read("float_bit"), StatusIs(kLoss, "Checksum does not match"));
  EXPECT_THAT(read("string_bit"), StatusIs(kLoss, "Checksum does not match"));
  EXPECT_THAT(read("string_length"),
              StatusIs(kLoss, "The length checksum does not match"));
  EXPECT_THAT(read("data_short"), StatusIs(absl::StatusCode::kOutOfRange,
                                           "Read less bytes than requested"));
  EXPECT_THAT(read("index_short"), StatusIs(kLoss, "bad magic number"));
  EXPECT_THAT(read("index_bit"), StatusIs(kLoss, "block checksum mismatch"));
  EXPECT_THAT(read("index_magic"), StatusIs(kLoss, "bad magic number"));
  EXPECT_THAT(read("index_empty"), StatusIs(kLoss, "too short"));
  EXPECT_THAT(read("no_data"), StatusIs(absl::StatusCode::kNotFound,
                                        "no_data.data-00000-of-00001"));
  EXPECT_THAT(read("no_index"),
              StatusIs(absl::StatusCode::kNotFound, "no_index.index"));
}

TEST_F(TensorFlowFilesTest, SlicesOfPartitionedTensorAreRead) {
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      BundleReader::Open(local_,
                         absl::StrCat(kTestdata, "partitioned/model.ckpt")));
  ASSERT_OK_AND_ASSIGN(const auto entry, reader->Find("x"));
  EXPECT_EQ(entry->slices.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const Tensor whole, reader->Read("x", HeapAllocator()));
  ASSERT_EQ(whole.shape(), TensorShape({10, 2}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor across,
      reader->ReadSlice("x", Slice("2,6:1,1"), HeapAllocator()));
  ASSERT_EQ(across.shape(), TensorShape({6, 1}));
  for (int row = 0; row < 6; ++row) {
    EXPECT_EQ(across.flat<float>()[row],
              whole.flat<float>()[2 * (row + 2) + 1]);
  }
}

TEST_F(BundleTest, TensorsOfAllTypesRoundTrip) {
  std::vector<Tensor> tensors = {
      Tensor::Vector<float>({1.5f, -0.0f}),
      Tensor::Scalar<double>(2.5),
      Tensor::Vector<std::complex<double>>({{1, 2}, {3, 4}}),
      Tensor::Vector<bool>({true, false, true}),
      Tensor::Vector<uint64_t>({~uint64_t{0}}),
      Tensor::Vector<uint32_t>({1, 2, 3}),
      Tensor(DT_HALF, {0, 7}),
      Tensor(DT_STRING, {0}),
      Tensor::Vector<std::string>({"", std::string(127, 'a'),
                                   std::string(128, 'b'), std::string(256, 'c'),
                                   std::string(70000, 'd'),
                                   std::string("\0\xff", 2)})};
  const auto writer = NewWriter();
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_OK(writer->Add(absl::StrCat("t", i), tensors[i]));
  }
  ASSERT_OK(writer->Finish());
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor read, Read(absl::StrCat("t", i)));
    EXPECT_TRUE(SameBits(read, tensors[i])) << i;
  }
}

// The tensors are larger than one chunk, and their sizes are not multiples of a
// chunk.
TEST_F(BundleTest, LargeTensorsRoundTrip) {
  const Tensor large = Rows(0, 1000003, 3);
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add("large", large));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const Tensor read, Read("large"));
  EXPECT_TRUE(SameBits(read, large));
  ASSERT_OK_AND_ASSIGN(const Tensor part, ReadSlice("large", "7,999990:1,1"));
  ASSERT_EQ(part.shape(), TensorShape({999990, 1}));
  for (int64_t row = 0; row < 999990; ++row) {
    ASSERT_EQ(part.flat<int32_t>()[row], 3 * (row + 7) + 1);
  }
}

// A tensor is saved whole, in rows, in columns and as a chessboard of blocks.
// From each checkpoint, every part is read.
TEST_F(BundleTest, AnyPartitionCanBeReadInOtherParts) {
  const TensorShape shape({5, 4});
  const Tensor whole = Rows(0, 5, 4);
  const std::vector<std::vector<std::string>> partitions = {
      {"-:-"},
      {"0,5:0,4"},
      {"0,2:-", "2,3:-"},
      {"3,2:0,4", "0,1:0,4", "1,2:0,4"},
      {"-:0,1", "-:1,3"},
      {"0,2:0,2", "0,2:2,2", "2,3:0,2", "2,3:2,2"}};
  for (const auto& saved : partitions) {
    auto writer = NewWriter("/parts");
    auto all = NewWriter();
    ASSERT_OK(all->Add("x", whole));
    ASSERT_OK(all->Finish());
    for (const std::string& slice : saved) {
      ASSERT_OK_AND_ASSIGN(const Tensor part, ReadSlice("x", slice));
      ASSERT_OK(writer->AddSlice("x", shape, Slice(slice), part));
    }
    ASSERT_OK(writer->Finish());
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, "/parts"));
    ASSERT_OK_AND_ASSIGN(const Tensor read, reader->Read("x", HeapAllocator()));
    EXPECT_TRUE(SameBits(read, whole)) << saved[0];
    for (const auto& wanted : partitions) {
      for (const std::string& slice : wanted) {
        ASSERT_OK_AND_ASSIGN(const Tensor expected, ReadSlice("x", slice));
        ASSERT_OK_AND_ASSIGN(
            const Tensor got,
            reader->ReadSlice("x", Slice(slice), HeapAllocator()));
        EXPECT_TRUE(SameBits(got, expected)) << saved[0] << " as " << slice;
      }
    }
  }
}

TEST_F(BundleTest, StringTensorsCanBePartitioned) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->AddSlice("s", TensorShape({3}), Slice("2,1"),
                             Tensor::Vector<std::string>({"c"})));
  ASSERT_OK(writer->AddSlice("s", TensorShape({3}), Slice("0,2"),
                             Tensor::Vector<std::string>({"a", "b"})));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const Tensor read, ReadSlice("s", "1,2"));
  EXPECT_TRUE(SameBits(read, Tensor::Vector<std::string>({"b", "c"})));
}

TEST_F(BundleTest, MissingTensorIsNamed) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->AddSlice("x", TensorShape({5, 4}), Slice("0,2:-"),
                             Rows(0, 2, 4)));
  ASSERT_OK(writer->AddSlice("x", TensorShape({5, 4}), Slice("3,2:-"),
                             Rows(3, 5, 4)));
  ASSERT_OK(writer->Finish());
  EXPECT_OK(ReadSlice("x", "0,2:1,2"));
  EXPECT_THAT(Read("x"), StatusIs(kInvalid, "Does not have sufficient slices"));
  EXPECT_THAT(ReadSlice("x", "1,2:-"), StatusIs(kInvalid, "hold 4 of 8"));
  EXPECT_THAT(ReadSlice("x", "4,2:-"),
              StatusIs(kInvalid, "Extent in dimension 0 out of bounds"));
  EXPECT_THAT(Read("y"), StatusIs(absl::StatusCode::kNotFound,
                                  "Key y not found in checkpoint"));
  EXPECT_THAT(Read(""), StatusIs(absl::StatusCode::kNotFound));
}

// testdata/variants contains the state of an iterator, as TensorFlow's Saver
// wrote it.
TEST_F(BundleTest, VariantBytesMatchTensorFlow) {
  constexpr char kTensorFlows[] = "libs/checkpoint/testdata/variants/range";
  constexpr char kName[] = "IteratorV2:0_STATE";
  LocalFileSystem local;
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       BundleReader::Open(local, kTensorFlows));
  ASSERT_OK_AND_ASSIGN(const Tensor state,
                       reader->Read(kName, HeapAllocator()));
  ASSERT_EQ(state.shape(), TensorShape({1}));
  EXPECT_EQ(state.flat<Variant>()[0].type_name, "tensorflow::Iterator");
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add(kName, state));
  ASSERT_OK(writer->Finish());
  for (const std::string& file : {IndexFilename(""), DataFilename("", 0, 1)}) {
    EXPECT_EQ(*fs_.ReadFile(absl::StrCat(kPrefix, file)),
              *local.ReadFile(absl::StrCat(kTensorFlows, file)));
  }
}

TEST_F(BundleTest, VariantReadsAreChecked) {
  const Tensor inside = Tensor::Scalar<std::string>(std::string(300, 'x'));
  Tensor variants(DT_VARIANT, {2});
  variants.mutable_flat<Variant>()[1] = {
      .type_name = "a",
      .metadata = "b",
      .tensors = std::make_shared<std::vector<Tensor>>(1, inside)};
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add("v", variants));
  EXPECT_THAT(writer->AddSlice("s", TensorShape({4}), Slice("0,2"), variants),
              StatusIs(absl::StatusCode::kUnimplemented, "tensor_name = s"));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const Tensor read, Read("v"));
  EXPECT_EQ(read.flat<Variant>()[0].type_name, "");
  const Variant& second = read.flat<Variant>()[1];
  EXPECT_EQ(second.metadata, "b");
  EXPECT_EQ((*second.tensors)[0].scalar<std::string>(), std::string(300, 'x'));
  EXPECT_THAT(ReadSlice("v", "0,1"),
              StatusIs(absl::StatusCode::kUnimplemented));
  const std::string path = DataFilename(kPrefix, 0, 1);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, fs_.ReadFile(path));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_OK(fs_.WriteFileAtomically(path, damaged));
    EXPECT_THAT(Read("v"), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
}

TEST_F(BundleTest, ResourceTensorsAreRejected) {
  Tensor variant(DT_VARIANT, {});
  variant.mutable_scalar<Variant>().object = std::make_shared<VariantObject>();
  Tensor outer(DT_VARIANT, {});
  outer.mutable_scalar<Variant>().tensors =
      std::make_shared<std::vector<Tensor>>(1, variant);
  EXPECT_THAT(NewWriter()->Add("v", outer),
              StatusIs(absl::StatusCode::kUnimplemented, "object"));
}

// testdata/tensorflow/snappy is a checkpoint of TensorFlow 2.21 whose index was
// compressed afterwards. Many released models have a compressed index.
TEST_F(BundleTest, ReadsSnappyCompressedIndex) {
  LocalFileSystem local;
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      BundleReader::Open(local, "libs/checkpoint/testdata/tensorflow/snappy"));
  ASSERT_OK_AND_ASSIGN(const Tensor v, reader->Read("v", HeapAllocator()));
  EXPECT_EQ(v.dtype(), DT_FLOAT);
  EXPECT_EQ(v.shape(), TensorShape({2}));
  EXPECT_EQ(v.flat<float>()[0], 1.5f);
  EXPECT_EQ(v.flat<float>()[1], 2.5f);
}

TEST_F(BundleTest, InvalidTensorIsNamedInError) {
  const auto writer = NewWriter();
  const TensorShape shape({5, 4});
  ASSERT_OK(writer->Add("a", Tensor::Scalar<float>(1)));
  EXPECT_THAT(writer->Add("a", Tensor::Scalar<float>(2)),
              StatusIs(kInvalid, "Adding duplicate key: a"));
  EXPECT_THAT(writer->Add("", Tensor::Scalar<float>(2)),
              StatusIs(kInvalid, "empty name"));
  EXPECT_THAT(writer->AddSlice("", shape, Slice("0,2:-"), Rows(0, 2, 4)),
              StatusIs(kInvalid, "empty name"));
  EXPECT_THAT(writer->Add(std::string(65537, 'n'), Tensor::Scalar<float>(2)),
              StatusIs(kInvalid, "takes 65537 bytes in the index"));
  ASSERT_OK(writer->Add(std::string(65536, 'n'), Tensor::Scalar<float>(2)));
  EXPECT_THAT(writer->Add("r", Tensor(DT_RESOURCE, {})),
              StatusIs(absl::StatusCode::kUnimplemented, "tensor_name = r"));
  EXPECT_THAT(writer->AddSlice("x", shape, Slice("0,2:-"), Rows(0, 3, 4)),
              StatusIs(kInvalid, "does not match the shape of the tensor"));
  EXPECT_THAT(writer->AddSlice("x", shape, Slice("4,2:-"), Rows(0, 2, 4)),
              StatusIs(kInvalid, "out of bounds"));
  EXPECT_THAT(writer->AddSlice("a", shape, Slice("0,2:-"), Rows(0, 2, 4)),
              StatusIs(kInvalid, "which was added as"));
  ASSERT_OK(writer->AddSlice("x", shape, Slice("0,2:-"), Rows(0, 2, 4)));
  EXPECT_THAT(writer->AddSlice("x", shape, Slice("0,2:-"), Rows(0, 2, 4)),
              StatusIs(kInvalid, "Adding duplicate key"));
  EXPECT_THAT(
      writer->AddSlice("x", TensorShape({6, 4}), Slice("2,3:-"), Rows(2, 5, 4)),
      StatusIs(kInvalid, "which was added as"));
  EXPECT_THAT(
      writer->AddSlice("x", shape, Slice("2,3:-"), Tensor(DT_FLOAT, {3, 4})),
      StatusIs(kInvalid, "which was added as"));
  ASSERT_OK(writer->AddSlice("x", shape, Slice("2,3:-"), Rows(2, 5, 4)));
  // The rejected tensors left nothing in the checkpoint, so Finish succeeds.
  ASSERT_OK(writer->Finish());
  EXPECT_THAT(writer->Add("b", Tensor::Scalar<float>(2)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "finished"));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Read("x"));
  EXPECT_TRUE(SameBits(x, Rows(0, 5, 4)));
  EXPECT_THAT(BundleWriter::Create(fs_, "/job/", *random_),
              StatusIs(kInvalid, "has to end with a name"));
}

// If slices overlapped, their number of elements could be right although other
// elements are missing.
TEST_F(BundleTest, OverlappingSlicesAreRejected) {
  const auto writer = NewWriter();
  for (const char* slice : {"0,2:-", "1,2:-"}) {
    const TensorSlice parsed = Slice(slice);
    ASSERT_OK(
        writer->AddSlice("x", TensorShape({4, 1}), parsed, Rows(0, 2, 1)));
  }
  ASSERT_OK(writer->Finish());
  EXPECT_THAT(Read("x"),
              StatusIs(absl::StatusCode::kDataLoss, "Overlapping slices of x"));
}

// Without this check, a file of a few bytes could make a reader reserve any
// multiple of its size.
TEST_F(BundleTest, SlicesSharingBytesAreRejected) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->AddSlice("x", TensorShape({4, 1}), Slice("0,2:-"),
                             Rows(0, 2, 1)));
  ASSERT_OK(writer->AddSlice("x", TensorShape({4, 1}), Slice("2,2:-"),
                             Rows(2, 4, 1)));
  ASSERT_OK(writer->Finish());
  BundleEntries entries;
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, kPrefix));
  ASSERT_OK(reader->ForEach(
      [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
        entries.emplace(key, entry);
        return absl::OkStatus();
      }));
  for (auto& [key, entry] : entries) {
    if (entry.offset == 8) entry.offset = 4;
  }
  ASSERT_OK(WriteIndex(fs_, IndexFilename(kPrefix), reader->header(), entries));
  EXPECT_THAT(Read("x"), StatusIs(absl::StatusCode::kDataLoss,
                                  "two slices of x lie in the same bytes"));
  EXPECT_OK(ReadSlice("x", "0,2:-"));
}

// SmallAllocator has only a limited number of bytes.
class SmallAllocator : public Allocator {
 public:
  explicit SmallAllocator(size_t left) : left_(left) {}
  BufferPtr Allocate(size_t bytes) override {
    if (bytes > left_) return BufferPtr();
    left_ -= bytes;
    return HeapAllocator().Allocate(bytes);
  }

 private:
  size_t left_;
};

// An entry of a few bytes may name millions of slices.
TEST(BundleEntryTest, SliceListMemoryIsBounded) {
  constexpr int kSlices = 300'000;
  BundleEntry entry;
  entry.dtype = DT_FLOAT;
  entry.shape = TensorShape({int64_t{1} << 40});
  entry.slices.assign(kSlices, TensorSlice::Parse("0,1").value());
  const std::string bytes = SerializeBundleEntry(entry);
  SmallAllocator small(size_t{32} << 20);
  EXPECT_THAT(ParseBundleEntry("x", bytes, small),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(ParseBundleEntry("x", bytes));
}

TEST_F(BundleTest, TooLittleMemoryIsReported) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add(
      "s", Tensor::Vector<std::string>({std::string(100000, 's')})));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, kPrefix));
  SmallAllocator little(1000);
  EXPECT_THAT(reader->Read("s", little),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "no memory for 100007 bytes of strings"));
  SmallAllocator enough(101000);
  EXPECT_OK(reader->Read("s", enough));
}

// After the cancellation of its step, a read stops before the next chunk, both
// for a large tensor and for a tensor in slices.
TEST_F(BundleTest, CancellationStopsReading) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add("large", Rows(0, 1000003, 3)));
  ASSERT_OK(writer->AddSlice("x", TensorShape({2, 1}), Slice("0,1:-"),
                             Rows(0, 1, 1)));
  ASSERT_OK(writer->AddSlice("x", TensorShape({2, 1}), Slice("1,1:-"),
                             Rows(1, 2, 1)));
  ASSERT_OK(writer->Finish());
  Cancellation step;
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       BundleReader::Open(fs_, kPrefix, &step));
  EXPECT_OK(reader->Read("large", HeapAllocator()));
  step.Cancel(absl::AbortedError("enough"));
  for (const char* name : {"large", "x"}) {
    EXPECT_THAT(reader->Read(name, HeapAllocator()),
                StatusIs(absl::StatusCode::kAborted, "enough"))
        << name;
  }
}

// Returns all tensors of a checkpoint, by key.
absl::StatusOr<std::map<std::string, Tensor>> ReadEverything(FileSystem& fs) {
  ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(fs, kPrefix));
  std::map<std::string, Tensor> all;
  RETURN_IF_ERROR(reader->ForEach([&](absl::string_view key,
                                      const BundleEntry&) -> absl::Status {
    ASSIGN_OR_RETURN(all[std::string(key)], reader->Read(key, HeapAllocator()));
    return absl::OkStatus();
  }));
  return all;
}

// Returns the name and the offset of the tensor that contains byte `byte` of
// the data, as error texts state them.
std::string PlaceOf(const Contents& contents, size_t byte) {
  for (const auto& [key, entry] : contents.parts) {
    const auto begin = static_cast<size_t>(entry.offset);
    if (byte < begin || byte - begin >= static_cast<size_t>(entry.size)) {
      continue;
    }
    return absl::StrCat(absl::CHexEscape(key), ", from byte ", begin);
  }
  return "no tensor has that byte";
}

// If any bit in either file is flipped, reading must fail or return the same
// values.
TEST_F(BundleTest, BitFlipsNeverChangeValuesRead) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add("n", Tensor::Vector<int16_t>({1, -2, 300})));
  ASSERT_OK(writer->Add("s", Tensor::Vector<std::string>({"ab", "", "c"})));
  ASSERT_OK(writer->AddSlice("x", TensorShape({4, 1}), Slice("0,2:-"),
                             Rows(0, 2, 1)));
  ASSERT_OK(writer->AddSlice("x", TensorShape({4, 1}), Slice("2,2:-"),
                             Rows(2, 4, 1)));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const auto expected, ReadEverything(fs_));
  ASSERT_EQ(expected.size(), 5u);
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, kPrefix));
  ASSERT_OK_AND_ASSIGN(const Contents places, ContentsOf(*reader));
  int refused = 0;
  for (const std::string& path :
       {DataFilename(kPrefix, 0, 1), IndexFilename(kPrefix)}) {
    ASSERT_OK_AND_ASSIGN(std::string bytes, fs_.ReadFile(path));
    for (size_t i = 0; i < 8 * bytes.size(); ++i) {
      const auto turn = [&] {
        bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << (i % 8)));
      };
      turn();
      ASSERT_OK(fs_.WriteFileAtomically(path, bytes));
      const auto read = ReadEverything(fs_);
      turn();
      if (!read.ok()) {
        ++refused;
        // The error names the file and, for data, also the byte and the tensor.
        const absl::string_view told = read.status().message();
        ASSERT_THAT(told, HasSubstr(kPrefix)) << path << " bit " << i;
        if (!absl::EndsWith(path, ".index")) {
          ASSERT_THAT(told, HasSubstr(path)) << " bit " << i;
          ASSERT_THAT(told, HasSubstr(PlaceOf(places, i / 8))) << " bit " << i;
        }
        continue;
      }
      ASSERT_EQ(read->size(), expected.size()) << path << " bit " << i;
      for (const auto& [key, tensor] : *read) {
        ASSERT_TRUE(SameBits(tensor, expected.at(key))) << path << " bit " << i;
      }
    }
    ASSERT_OK(fs_.WriteFileAtomically(path, bytes));
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(BundleTest, UnfinishedWriterDeletesItsFiles) {
  {
    const auto writer = NewWriter();
    ASSERT_OK(writer->Add("a", Tensor::Scalar<float>(1)));
    ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory("/job"));
    ASSERT_EQ(names.size(), 1u);
    EXPECT_TRUE(absl::StrContains(names[0], ".tempstate"));
  }
  ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory("/job"));
  EXPECT_EQ(names, std::vector<std::string>());
}

// Elsewhere is a remote file system. It may not answer to DeleteLeftover.
class Elsewhere : public MemoryFileSystem {
 public:
  absl::Status DeleteLeftover(absl::string_view path) override {
    asked.emplace_back(path);
    return answer;
  }
  std::vector<std::string> asked;
  absl::Status answer;
};

TEST_F(BundleTest, CleanupStopsAtUnavailableFileSystem) {
  for (const bool is_silent : {false, true}) {
    Elsewhere files;
    if (is_silent) files.answer = absl::UnavailableError("no answer");
    // The writer is destroyed before it has written an index, and after.
    for (const bool has_index : {false, true}) {
      files.asked.clear();
      auto writer = BundleWriter::Create(files, kPrefix, *random_);
      ASSERT_OK(writer);
      Cancellation cancelled;
      cancelled.Cancel(absl::CancelledError("not wanted"));
      if (has_index) {
        EXPECT_THAT((*writer)->Finish(&cancelled),
                    StatusIs(absl::StatusCode::kCancelled));
      }
      writer->reset();
      EXPECT_EQ(files.asked.size(), has_index && !is_silent ? 2u : 1u);
    }
  }
}

// A lost connection cancels a save with its own status code while the disk
// still works. The writer must still delete its files.
TEST_F(BundleTest, CancelledWriterDeletesItsFiles) {
  for (const absl::Status& cause :
       {absl::CancelledError("closed"), absl::UnavailableError("lost"),
        absl::DeadlineExceededError("late")}) {
    auto writer = NewWriter();
    ASSERT_OK(writer->Add("a", Tensor::Scalar(1.0f)));
    Cancellation cancelled;
    cancelled.Cancel(cause);
    EXPECT_THAT(writer->Finish(&cancelled), StatusIs(cause.code()));
    writer.reset();
    EXPECT_EQ(fs_.ListDirectory("/job").value(), std::vector<std::string>());
  }
}

// The file system fails from its n-th operation on. A reader then finds the
// whole checkpoint or none, and finds it if the writer returned OK.
TEST_F(BundleTest, FailedWriteLeavesNoPartialCheckpoint) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem failing(disk);
    failing.FailAllFrom(n, absl::UnavailableError("gone"));
    absl::Status status;
    {
      auto writer = BundleWriter::Create(failing, kPrefix, *random_);
      status = writer.status();
      if (status.ok()) status = (*writer)->Add("a", Rows(0, 3, 4));
      if (status.ok()) status = (*writer)->Finish();
    }
    const auto reader = BundleReader::Open(disk, kPrefix);
    if (reader.ok()) {
      ASSERT_OK_AND_ASSIGN(const Tensor a,
                           (*reader)->Read("a", HeapAllocator()));
      EXPECT_TRUE(SameBits(a, Rows(0, 3, 4)));
    } else {
      EXPECT_EQ(reader.status().code(), absl::StatusCode::kNotFound);
    }
    if (status.ok()) {
      ASSERT_OK(reader.status());
      ASSERT_GT(n, 5);
      return;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  }
}

Tensor ReadA(FileSystem& disk) {
  const auto reader = BundleReader::Open(disk, kPrefix);
  EXPECT_OK(reader);
  if (!reader.ok()) return Tensor();
  return (*reader)->Read("a", HeapAllocator()).value_or(Tensor());
}

// If a write under an existing prefix fails, the prefix still has either the
// old checkpoint or the new one.
TEST_F(BundleTest, FailedOverwriteKeepsOldOrNewCheckpoint) {
  const Tensor old_a = Rows(0, 3, 4), new_a = Rows(7, 10, 4);
  const auto write = [&](FileSystem& files, const Tensor& a) {
    auto writer = BundleWriter::Create(files, kPrefix, *random_);
    absl::Status status = writer.status();
    if (status.ok()) status = (*writer)->Add("a", a);
    if (status.ok()) status = (*writer)->Finish();
    return status;
  };
  std::set<bool> seen;  // whether the new one was read
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk({.tracks_syncs = true});
    ASSERT_OK(write(disk, old_a));
    FailingFileSystem failing(disk);
    failing.FailAllFrom(n, absl::UnavailableError("gone"));
    const absl::Status status = write(failing, new_a);
    disk.LosePower(*NewSeededRandom(static_cast<uint64_t>(n)));
    const Tensor a = ReadA(disk);
    seen.insert(SameBits(a, new_a));
    EXPECT_TRUE(SameBits(a, old_a) || SameBits(a, new_a)) << n;
    // A later write succeeds although files of the failed write remain.
    ASSERT_OK(write(disk, new_a));
    EXPECT_TRUE(SameBits(ReadA(disk), new_a)) << n;
    if (status.ok()) break;
  }
  EXPECT_EQ(seen, (std::set<bool>{false, true}));
}

// Tasks write their shards to one directory. A task may find the directory
// already created by another task, which may not have synced it yet. So every
// task must sync the parent directory.
TEST_F(BundleTest, CheckpointSyncsFolderMadeByAnotherTask) {
  const Tensor a = Rows(0, 3, 4);
  const std::string prefix = "shards/part-00000-of-00001";
  for (uint64_t seed = 0; seed < 16; ++seed) {
    MemoryFileSystem disk({.tracks_syncs = true});
    ASSERT_OK(disk.CreateDirectory("shards"));
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         BundleWriter::Create(disk, prefix, *random_));
    ASSERT_OK(writer->Add("a", a));
    ASSERT_OK(writer->Finish());
    disk.LosePower(*NewSeededRandom(seed));
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(disk, prefix));
    ASSERT_OK_AND_ASSIGN(const Tensor read, reader->Read("a", HeapAllocator()));
    EXPECT_TRUE(SameBits(read, a));
  }
}

TEST_F(BundleTest, FullDiskIsReportedAndFilesAreDeleted) {
  FailingFileSystem failing(fs_);
  failing.LimitSpace(1000);
  ASSERT_OK_AND_ASSIGN(auto writer,
                       BundleWriter::Create(failing, kPrefix, *random_));
  EXPECT_THAT(writer->Add("a", Rows(0, 1000, 4)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(writer->Add("b", Rows(0, 1, 4)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kResourceExhausted));
  writer.reset();
  ASSERT_OK_AND_ASSIGN(const auto names, fs_.ListDirectory("/job"));
  EXPECT_EQ(names, std::vector<std::string>());
}

// Reads slices as RestoreV2 does: first the entry of the tensor, then each
// slice. The work must be linear in the number of slices, not quadratic.
TEST_F(BundleTest, TenThousandSlicesAreReadOneByOne) {
  constexpr int64_t kParts = 10000;
  constexpr int64_t kColumns = 3;
  const TensorShape shape({kParts, kColumns});
  const auto writer = NewWriter();
  for (int64_t i = 0; i < kParts; ++i) {
    ASSERT_OK(writer->AddSlice("x", shape, Slice(absl::StrCat(i, ",1:-")),
                               Rows(i, i + 1, kColumns)));
  }
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, kPrefix));
  for (int64_t i = 0; i < kParts; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto entry, reader->Find("x"));
    ASSERT_EQ(entry->slices.size(), static_cast<size_t>(kParts));
  }
  for (int64_t i = 0; i < kParts; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor part,
                         reader->ReadSlice("x", Slice(absl::StrCat(i, ",1:-")),
                                           HeapAllocator()));
    ASSERT_TRUE(SameBits(part, Rows(i, i + 1, kColumns))) << i;
  }
  EXPECT_EQ(reader->slices_parsed(), kParts);
  EXPECT_LE(reader->boxes_compared(), 2 * kParts);
  // The tensor can also be read in other slices and as a whole.
  ASSERT_OK_AND_ASSIGN(
      const Tensor some,
      reader->ReadSlice("x", Slice("5000,2500:-"), HeapAllocator()));
  EXPECT_TRUE(SameBits(some, Rows(5000, 7500, kColumns)));
  ASSERT_OK_AND_ASSIGN(const Tensor all, reader->Read("x", HeapAllocator()));
  EXPECT_TRUE(SameBits(all, Rows(0, kParts, kColumns)));
  EXPECT_EQ(reader->slices_parsed(), kParts);
  EXPECT_LE(reader->boxes_compared(), 4 * kParts);
}

// A checkpoint may have more data files than a process may have open files.
TEST_F(BundleTest, NumberOfOpenDataFilesIsBounded) {
  constexpr int kFiles = 130;
  std::vector<std::string> shards;
  for (int i = 0; i < kFiles; ++i) {
    shards.push_back(absl::StrCat("/job/part-", i));
    const auto writer = NewWriter(shards.back());
    ASSERT_OK(writer->AddSlice("x", TensorShape({kFiles, 3}),
                               Slice(absl::StrCat(i, ",1:-")),
                               Rows(i, i + 1, 3)));
    ASSERT_OK(writer->Finish());
  }
  ASSERT_OK(MergeBundles(fs_, shards, kPrefix, *random_));
  CountedFiles files(fs_);
  {
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(files, kPrefix));
    for (int times = 0; times < 2; ++times) {
      ASSERT_OK_AND_ASSIGN(const Tensor all,
                           reader->Read("x", HeapAllocator()));
      EXPECT_TRUE(SameBits(all, Rows(0, kFiles, 3)));
    }
    ASSERT_OK_AND_ASSIGN(
        const Tensor one,
        reader->ReadSlice("x", Slice("64,2:-"), HeapAllocator()));
    EXPECT_TRUE(SameBits(one, Rows(64, 66, 3)));
  }
  EXPECT_LE(files.most_open(), 9) << "with the index";
  EXPECT_EQ(files.num_open(), 0);
}

// An entry stays valid while the caller holds it, even after other lookups.
TEST_F(BundleTest, EntriesStayValidAfterLaterLookups) {
  const auto writer = NewWriter();
  ASSERT_OK(writer->Add("a", Rows(0, 1, 2)));
  ASSERT_OK(writer->Add("b", Rows(0, 3, 2)));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_, kPrefix));
  ASSERT_OK_AND_ASSIGN(const auto a, reader->Find("a"));
  ASSERT_OK_AND_ASSIGN(const auto b, reader->Find("b"));
  EXPECT_THAT(reader->Find("c"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(a->shape, TensorShape({1, 2}));
  EXPECT_EQ(b->shape, TensorShape({3, 2}));
}

class MergeTest : public BundleTest {
 protected:
  // Writes a shard that contains rows [begin, end) of "x", whose shape is [6,
  // 2], and one tensor that no other shard has.
  void WriteShard(const std::string& prefix, const std::string& slice,
                  int64_t begin, int64_t end) {
    const auto writer = NewWriter(prefix);
    ASSERT_OK(writer->AddSlice("x", TensorShape({6, 2}), Slice(slice),
                               Rows(begin, end, 2)));
    ASSERT_OK(writer->Add(absl::StrCat("own", begin),
                          Tensor::Scalar<int64_t>(begin)));
    ASSERT_OK(writer->Finish());
  }
};

TEST_F(MergeTest, SlicesOfShardsAreCombined) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "4,2:-", 4, 6));
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/b", "0,4:-", 0, 4));
  ASSERT_OK(MergeBundles(fs_, {"/t/a", "/t/b"}, kPrefix, *random_));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Read("x"));
  EXPECT_TRUE(SameBits(x, Rows(0, 6, 2)));
  ASSERT_OK_AND_ASSIGN(const Tensor own, Read("own4"));
  EXPECT_TRUE(SameBits(own, Tensor::Scalar<int64_t>(4)));
  ASSERT_OK_AND_ASSIGN(const auto left, fs_.ListDirectory("/t"));
  EXPECT_EQ(left, std::vector<std::string>());
}

// LateRenames is an object store in which copies complete long after their
// caller got an error.
class LateRenames : public MemoryFileSystem {
 public:
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    if (!are_late || absl::EndsWith(to, ".index")) {
      return MemoryFileSystem::RenameFile(from, to);
    }
    ASSIGN_OR_RETURN(std::string bytes, ReadFile(from));
    late_.emplace_back(to, std::move(bytes));
    return absl::DeadlineExceededError("no answer");
  }
  void EndThem() {
    for (const auto& [to, bytes] : late_) {
      ASSERT_OK(WriteFileAtomically(to, bytes));
    }
  }
  bool are_late = false;

 private:
  std::vector<std::pair<std::string, std::string>> late_;
};

// A rename of a failed save completes after the next save of the same prefix.
// The checkpoint of the next save must not change, whether a writer or a merge
// failed, and whether or not a checkpoint existed before.
TEST_F(MergeTest, LateRenameOfFailedSaveHasNoEffect) {
  const std::string prefix = "s3://bucket/job/model.ckpt";
  const std::string part = "s3://bucket/t/part";
  for (const bool merges : {false, true}) {
    for (const bool replaces : {false, true}) {
      SCOPED_TRACE(absl::StrCat(merges, replaces));
      LateRenames files;
      const auto save = [&](int64_t value, bool is_late) -> absl::Status {
        files.are_late = is_late && !merges;
        ASSIGN_OR_RETURN(
            auto writer,
            BundleWriter::Create(files, merges ? part : prefix, *random_));
        RETURN_IF_ERROR(writer->Add("a", Tensor::Scalar<int64_t>(value)));
        RETURN_IF_ERROR(writer->Finish());
        if (!merges) return absl::OkStatus();
        files.are_late = is_late;
        return MergeBundles(files, {part}, prefix, *random_);
      };
      if (replaces) ASSERT_OK(save(1, false));
      EXPECT_FALSE(save(2, true).ok());
      ASSERT_OK(save(3, false));
      files.EndThem();
      ASSERT_OK_AND_ASSIGN(const auto reader,
                           BundleReader::Open(files, prefix));
      ASSERT_OK_AND_ASSIGN(const Tensor a, reader->Read("a", HeapAllocator()));
      EXPECT_EQ(a.scalar<int64_t>(), 3);
      // The next save deletes the data of the checkpoint that it replaces.
      ASSERT_OK(save(4, false));
      ASSERT_OK_AND_ASSIGN(const auto names,
                           files.ListDirectory("s3://bucket/job"));
      EXPECT_EQ(names.size(), 3u);  // including the late data file
    }
  }
}

// Forgetful is a disk that loses a file because of a power failure right before
// the file is renamed to `lost`.
class Forgetful : public MemoryFileSystem {
 public:
  explicit Forgetful(std::string lost) : lost_(std::move(lost)) {}

  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    if (to == lost_) RETURN_IF_ERROR(DeleteFile(from));
    return MemoryFileSystem::RenameFile(from, to);
  }

 private:
  const std::string lost_;
};

// A save that fails because the disk lost its index returns UNAVAILABLE,
// because it is not the user's error.
TEST_F(MergeTest, LostIndexIsUnavailable) {
  Forgetful files(IndexFilename(kPrefix));
  ASSERT_OK_AND_ASSIGN(auto writer,
                       BundleWriter::Create(files, "/t/a", *random_));
  ASSERT_OK(writer->Add("a", Tensor::Scalar<int64_t>(1)));
  ASSERT_OK(writer->Finish());
  EXPECT_THAT(
      MergeBundles(files, {"/t/a"}, kPrefix, *random_),
      StatusIs(absl::StatusCode::kUnavailable, "as after a power failure"));
  EXPECT_FALSE(files.FileExists(IndexFilename(kPrefix)).ok());
}

TEST_F(MergeTest, LostShardIsUnavailable) {
  for (const std::string& lost :
       {DataFilename("/t/a", 0, 1), IndexFilename("/t/a")}) {
    SCOPED_TRACE(lost);
    Forgetful files(lost);
    ASSERT_OK_AND_ASSIGN(auto writer,
                         BundleWriter::Create(files, "/t/a", *random_));
    ASSERT_OK(writer->Add("a", Tensor::Scalar<int64_t>(1)));
    EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kUnavailable,
                                           "as after a power failure"));
    EXPECT_FALSE(files.FileExists(IndexFilename("/t/a")).ok());
  }
}

// The merged shards of a second save replace the checkpoint of the first save.
TEST_F(MergeTest, ExistingCheckpointIsReplacedAtomically) {
  std::set<int64_t> seen;
  bool is_cut_off = true;
  for (int64_t n = 0; is_cut_off; ++n) {
    MemoryFileSystem disk({.tracks_syncs = true});
    const auto shard = [&](const std::string& prefix, const char* name,
                           int64_t value) {
      ASSERT_OK_AND_ASSIGN(auto writer,
                           BundleWriter::Create(disk, prefix, *random_));
      ASSERT_OK(writer->Add(name, Tensor::Scalar<int64_t>(value)));
      ASSERT_OK(writer->Finish());
    };
    const auto value = [&](absl::string_view name) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(disk, kPrefix));
      ASSIGN_OR_RETURN(const Tensor read, reader->Read(name, HeapAllocator()));
      return read.scalar<int64_t>();
    };
    for (const int64_t save : {1, 2}) {
      ASSERT_NO_FATAL_FAILURE(shard("/t/a", "a", save));
      ASSERT_NO_FATAL_FAILURE(shard("/t/b", "b", save));
      FailingFileSystem failing(disk);
      if (save == 2) failing.FailAllFrom(n, absl::InternalError("no power"));
      is_cut_off =
          !MergeBundles(failing, {"/t/a", "/t/b"}, kPrefix, *random_).ok();
    }
    disk.LosePower(*NewSeededRandom(static_cast<uint64_t>(n)));
    ASSERT_OK_AND_ASSIGN(const int64_t a, value("a"));
    ASSERT_OK_AND_ASSIGN(const int64_t b, value("b"));
    EXPECT_EQ(a, b) << n;
    seen.insert(a);
  }
  EXPECT_EQ(seen, (std::set<int64_t>{1, 2}));
}

TEST_F(MergeTest, PrefixWithoutNameIsRejected) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "0,6:-", 0, 6));
  for (const char* prefix : {"/t/", "/", ""}) {
    EXPECT_THAT(MergeBundles(fs_, {"/t/a"}, prefix, *random_),
                StatusIs(kInvalid, "has to end with a name"));
  }
}

// Returns the bytes of an index with the given header and no tensors.
std::string IndexWith(const BundleHeader& header) {
  return CraftTable(CraftBlock(
      {CraftEntry(0, kHeaderKey, SerializeBundleHeader(header))}, {0}));
}

TEST_F(BundleTest, UnsupportedVersionIsRejected) {
  ASSERT_OK(fs_.CreateDirectories("/job"));
  const auto says = [&](const BundleHeader& header, absl::StatusCode code,
                        const char* text) {
    ASSERT_OK(
        fs_.WriteFileAtomically(IndexFilename(kPrefix), IndexWith(header)));
    const auto opened = BundleReader::Open(fs_, kPrefix);
    EXPECT_THAT(opened.status(), StatusIs(code, text));
    EXPECT_THAT(opened.status(), StatusIs(code, kPrefix));
  };
  says({.big_endian = true}, absl::StatusCode::kUnimplemented,
       "big-endian machine");
  says({.min_consumer = 1000}, kInvalid, "min consumer version 1000");
  says({.bad_consumers = {7, 1}}, kInvalid, "disallows consumer version 1");
  says({.num_shards = -1}, absl::StatusCode::kDataLoss, "-1 data files");
  ASSERT_OK(fs_.WriteFileAtomically(IndexFilename(kPrefix),
                                    IndexWith({.bad_consumers = {7}})));
  EXPECT_OK(BundleReader::Open(fs_, kPrefix).status());
}

TEST_F(MergeTest, DifferentFormatsAreRejected) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "0,6:-", 0, 6));
  ASSERT_OK(fs_.WriteFileAtomically(IndexFilename("/t/b"),
                                    IndexWith({.producer = 2})));
  ASSERT_OK_AND_ASSIGN(const auto before, fs_.ListDirectory("/t"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a", "/t/b"}, "/t/c", *random_),
              StatusIs(kInvalid, "/t/b differs from earlier prefixes"));
  EXPECT_EQ(fs_.ListDirectory("/t").value(), before);
}

// The merge must be rejected before any file is renamed.
TEST_F(MergeTest, FilesOfOtherByteOrderAreRejected) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "0,6:-", 0, 6));
  ASSERT_OK_AND_ASSIGN(const auto before, fs_.ListDirectory("/t"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a"}, "zmq://writer:1/t/b", *random_),
              StatusIs(kInvalid, "which is on another machine or file system"));
  EXPECT_EQ(fs_.ListDirectory("/t").value(), before);
}

TEST_F(MergeTest, CancelledMergeWritesNoCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "0,6:-", 0, 6));
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("the step has ended"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a"}, kPrefix, *random_, &cancellation),
              StatusIs(absl::StatusCode::kCancelled, "the step has ended"));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(fs_, kPrefix, *random_));
  ASSERT_OK(writer->Add("x", Rows(0, 6, 2)));
  EXPECT_THAT(writer->Finish(&cancellation),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(fs_.FileExists(IndexFilename(kPrefix)).ok());
  // The cancelled merge left its inputs complete, so another merge succeeds.
  ASSERT_OK(MergeBundles(fs_, {"/t/a"}, kPrefix, *random_));
  EXPECT_OK(Read("x").status());
}

TEST_F(MergeTest, SingleShardMayHaveTheFinalPrefix) {
  ASSERT_NO_FATAL_FAILURE(WriteShard(kPrefix, "0,6:-", 0, 6));
  ASSERT_OK(MergeBundles(fs_, {kPrefix}, kPrefix, *random_));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Read("x"));
  EXPECT_TRUE(SameBits(x, Rows(0, 6, 2)));
}

// The order of the merged keys differs from the order of the data files.
TEST_F(MergeTest, TwoDataFilesMayHaveTheFinalPrefix) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "4,2:-", 4, 6));
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/b", "0,4:-", 0, 4));
  ASSERT_OK(MergeBundles(fs_, {"/t/a", "/t/b"}, kPrefix, *random_));
  ASSERT_OK(MergeBundles(fs_, {kPrefix}, kPrefix, *random_));
  ASSERT_OK(MergeBundles(fs_, {kPrefix}, "/job/./model.ckpt", *random_));
  // Merging the checkpoint with an empty one must not rename a data file over
  // another.
  ASSERT_OK(NewWriter("/t/empty")->Finish());
  ASSERT_OK(MergeBundles(fs_, {kPrefix, "/t/empty"}, kPrefix, *random_));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Read("x"));
  EXPECT_TRUE(SameBits(x, Rows(0, 6, 2)));
}

TEST_F(MergeTest, DuplicatesAreRejectedAndInputsKept) {
  ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "0,4:-", 0, 4));
  const auto writer = NewWriter("/t/b");
  ASSERT_OK(writer->Add("own0", Tensor::Scalar<int64_t>(0)));
  ASSERT_OK(writer->Finish());
  const auto other = NewWriter("/t/c");
  ASSERT_OK(
      other->AddSlice("x", TensorShape({7, 2}), Slice("4,2:-"), Rows(4, 6, 2)));
  ASSERT_OK(other->Finish());
  EXPECT_THAT(MergeBundles(fs_, {"/t/a", "/t/b"}, kPrefix, *random_),
              StatusIs(kInvalid, "Duplicate tensor keyed by own0"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a", "/t/a"}, kPrefix, *random_),
              StatusIs(kInvalid, "Duplicate tensor keyed by"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a", "/t/c"}, kPrefix, *random_),
              StatusIs(kInvalid, "The parts of x"));
  EXPECT_THAT(MergeBundles(fs_, {"/t/a", "/t/none"}, kPrefix, *random_),
              StatusIs(absl::StatusCode::kNotFound, "/t/none.index"));
  EXPECT_THAT(MergeBundles(fs_, {}, kPrefix, *random_),
              StatusIs(kInvalid, "no checkpoints"));
  EXPECT_OK(Read("own0", "/t/a"));
  EXPECT_THAT(Read("x"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(MergeTest, FailedMergeLeavesNoPartialCheckpoint) {
  for (int64_t n = 0;; ++n) {
    ASSERT_NO_FATAL_FAILURE(WriteShard("/t/a", "4,2:-", 4, 6));
    ASSERT_NO_FATAL_FAILURE(WriteShard("/t/b", "0,4:-", 0, 4));
    FailingFileSystem failing(fs_);
    failing.FailAllFrom(n, absl::UnavailableError("gone"));
    const absl::Status status =
        MergeBundles(failing, {"/t/a", "/t/b"}, kPrefix, *random_);
    const auto x = Read("x");
    if (x.ok()) {
      EXPECT_TRUE(SameBits(*x, Rows(0, 6, 2)));
    } else {
      EXPECT_EQ(x.status().code(), absl::StatusCode::kNotFound);
    }
    if (status.ok()) {
      ASSERT_OK(x);
      ASSERT_GT(n, 5);
      return;
    }
    if (x.ok()) {
      ASSERT_OK(fs_.DeleteFile(IndexFilename(kPrefix)));
    }
  }
}

TEST(ShardOfDataFileTest, IsIndependentOfTemporaryNames) {
  for (const char* name :
       {"/d/m_temp/part-00007-of-00012.data-00000-of-00001.tempstate99",
        "/d/m_temp/part-00007-of-00012.data-00000-of-00001",
        "/d/m.data-00007-of-00012", "m-5.data-00007-of-00012.tempstate1",
        "12.data-00007-of-00012", ".data-00007-of-00012"}) {
    EXPECT_EQ(ShardOfDataFile(name), 7u) << name;
  }
  // These names were chosen by a user and belong to checkpoints of one data
  // file.
  for (const char* name :
       {"/d/fold-3-of-5_temp/part-00000-of-00001.data-00000-of-00001",
        "/d/fold-3-of-5.data-00000-of-00001", "part-3-of-5.data-00000-of-00001",
        "/d/part-3-of-5.data-00000-of-00002.tempstate5"}) {
    EXPECT_EQ(ShardOfDataFile(name), 0u) << name;
  }
  for (const char* name :
       {"", "m", "m.index", "-of-", "m.data-", "1-of-2", "m.data-1-of-",
        "m.data--of-2", "m.data-4294967296-of-4294967297", "m-00007-of-00012",
        "m-00007-of-00012.index", "m.data-00001-of-00002.index"}) {
    EXPECT_EQ(ShardOfDataFile(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace weft::checkpoint
