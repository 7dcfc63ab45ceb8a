// Tests the output of `weft checkpoint` for its users: lists, values,
// checksums, differences, and other partitionings.
#include "tools/cli/checkpoint_commands.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/checkpoint/tensor_slice_writer.h"
#include "libs/fs/memory_file_system.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"
#include "nlohmann/json.hpp"

namespace weft::tools {
namespace {

using checkpoint::BundleWriter;
using checkpoint::TensorSlice;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

Tensor Count(const TensorShape& shape, float first = 0) {
  Tensor tensor(DT_FLOAT, shape);
  for (float& x : tensor.mutable_flat<float>()) x = first++;
  return tensor;
}

class CheckpointCommandsTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Run(const std::vector<std::string>& words,
                                  bool is_terminal = true) {
    std::vector<std::string> all = {"checkpoint"};
    all.insert(all.end(), words.begin(), words.end());
    const auto invocation = ParseInvocation(all, {.is_terminal = is_terminal});
    if (!invocation.ok()) return invocation.status();
    return RunCheckpointCommand(files_, *random_, *invocation);
  }
  std::string Text(const std::vector<std::string>& words) {
    const auto text = Run(words);
    EXPECT_OK(text);
    return text.value_or("");
  }
  Json JsonOf(const std::vector<std::string>& words) {
    const auto text = Run(words, /*is_terminal=*/false);
    EXPECT_OK(text);
    return Json::parse(text.value_or("{}"));
  }

  // Saves w of shape [5, 2] in two slices, b of shape [3], and the string
  // tensor s.
  void Save(const std::string& prefix, float first = 0) {
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         BundleWriter::Create(files_, prefix, *random_));
    ASSERT_OK(writer->Add("b", Count({3}, first)));
    ASSERT_OK(writer->Add("s", Tensor::Vector<std::string>({"x\n", "y"})));
    ASSERT_OK(writer->AddSlice(
        "net/w", {5, 2}, TensorSlice::Parse("0,3:-").value(), Count({3, 2})));
    ASSERT_OK(writer->AddSlice("net/w", {5, 2},
                               TensorSlice::Parse("3,2:-").value(),
                               Count({2, 2}, 6)));
    ASSERT_OK(writer->Finish());
  }
  Tensor Read(const std::string& prefix, const std::string& name) {
    auto reader = checkpoint::BundleReader::Open(files_, prefix);
    EXPECT_OK(reader);
    auto tensor = (*reader)->Read(name, HeapAllocator());
    EXPECT_OK(tensor);
    return tensor.value_or(Tensor());
  }

  MemoryFileSystem files_;
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
};

TEST_F(CheckpointCommandsTest, ListsTensorsOfCheckpoint) {
  Save("/job/m-1");
  const std::string text = Text({"ls", "/job/m-1"});
  EXPECT_THAT(text,
              HasSubstr("net/w   float   [5,2]   40 B  0     0,3:- 3,2:-"));
  EXPECT_THAT(text, HasSubstr("3 tensors, "));
  EXPECT_THAT(text, HasSubstr(" in 1 data file of format V2\n"));
  const Json json = JsonOf({"ls", "/job/m-1"});
  EXPECT_EQ(json["format"], "V2");
  EXPECT_EQ(json["tensors"].size(), 3u);
  EXPECT_EQ(json["tensors"][0]["name"], "b");
  EXPECT_EQ(json["tensors"][0]["bytes"], 12);
  // In object stores, the names of data files contain the number of the save.
  Save("s3://bucket/m-1");
  EXPECT_THAT(Text({"ls", "s3://bucket/m-1"}), HasSubstr(" in 1 data file of"));
}

TEST_F(CheckpointCommandsTest, ReadsFilesOfFormatV1) {
  const auto save = [&](const std::string& path, const std::string& slice,
                        const Tensor& values) {
    checkpoint::TensorSliceWriter writer(files_, path, *random_);
    ASSERT_OK(
        writer.Add("w", {5, 2}, TensorSlice::Parse(slice).value(), values));
    ASSERT_OK(writer.Finish());
  };
  save("/job/m-0-of-2", "0,3:-", Count({3, 2}));
  save("/job/m-1-of-2", "3,2:-", Count({2, 2}, 6));
  const std::string text = Text({"ls", "/job/m-?-of-2"});
  EXPECT_THAT(text,
              HasSubstr("w       float  [5,2]   40 B  0,1   0,3:- 3,2:-"));
  EXPECT_THAT(text, HasSubstr("1 tensor, 40 B in 2 data files of format V1\n"));
  EXPECT_EQ(JsonOf({"ls", "/job/m-?-of-2"})["format"], "V1");
  EXPECT_THAT(Text({"show", "/job/m-?-of-2", "w", "--slice=2,2:-"}),
              HasSubstr("[[4.0,5.0],[6.0,7.0]]"));
  EXPECT_THAT(Text({"verify", "/job/m-?-of-2"}), HasSubstr("1 tensor, 40 B"));
  EXPECT_THAT(Run({"verify", "/job/m-0-of-2"}),
              StatusIs(absl::StatusCode::kDataLoss, "hold 6 of 10 elements"));
  Text({"convert", "/job/m-?-of-2", "/job/new"});
  EXPECT_THAT(Text({"diff", "/job/m-?-of-2", "/job/new"}),
              HasSubstr("no difference"));
  EXPECT_THAT(Text({"ls", "/job/new"}), HasSubstr("of format V2"));
  checkpoint::CheckpointState state;
  state.model_checkpoint_path = "/job/m-?-of-2";
  ASSERT_OK(checkpoint::WriteCheckpointState(files_, "/job", state));
  EXPECT_THAT(Text({"show", "/job", "w"}), HasSubstr("[8.0,9.0]"));
}

TEST_F(CheckpointCommandsTest, ListsCheckpointsOfDirectory) {
  Save("/job/m-1");
  Save("/job/m-2");
  checkpoint::CheckpointState state;
  state.model_checkpoint_path = "/job/m-2";
  state.all_model_checkpoint_paths = {"/job/m-0", "/job/m-1", "/job/m-2"};
  ASSERT_OK(checkpoint::WriteCheckpointState(files_, "/job", state));
  const Json json = JsonOf({"ls", "/job"});
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["error"], "gone");
  EXPECT_EQ(json[1]["tensors"], 3);
  EXPECT_EQ(json[2]["newest"], true);
  EXPECT_THAT(Text({"ls", "/job"}), HasSubstr("newest"));
  // For other verbs, a directory stands for its newest checkpoint.
  EXPECT_THAT(Text({"verify", "/job"}), HasSubstr("/job/m-2: 3 tensors"));
}

TEST_F(CheckpointCommandsTest, ShowsValuesAndStatistics) {
  Save("/m");
  EXPECT_THAT(Text({"show", "/m", "net/w"}),
              HasSubstr("[[0.0,1.0],[2.0,3.0],[4.0,5.0],[6.0,7.0],[8.0,9.0]]"));
  EXPECT_THAT(Text({"show", "/m", "net/w", "--slice=1,1:-"}),
              HasSubstr("[[2.0,3.0]]"));
  EXPECT_THAT(Text({"show", "/m", "net/w", "--limit=2"}),
              HasSubstr("[0.0,1.0]\nand 8 more"));
  const Json json = JsonOf({"show", "/m", "net/w"});
  EXPECT_EQ(json["statistics"]["count"], 10);
  EXPECT_EQ(json["statistics"]["min"], 0);
  EXPECT_EQ(json["statistics"]["max"], 9);
  EXPECT_EQ(json["statistics"]["mean"], 4.5);
  EXPECT_NEAR(json["statistics"]["standard_deviation"], 2.8722813, 1e-6);
  EXPECT_EQ(json["statistics"]["zeros"], 1);
  EXPECT_THAT(Text({"show", "/m", "s"}), HasSubstr(R"(["x\n","y"])"));
}

TEST_F(CheckpointCommandsTest, ShowsBytesAndQuantizedNumbers) {
  const auto save = [&](const std::string& prefix, uint8_t last) {
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         BundleWriter::Create(files_, prefix, *random_));
    ASSERT_OK(writer->Add("bytes", Tensor::Scalar("\377\330\001")));
    ASSERT_OK(
        writer->Add("q", AsType(Tensor::Vector<uint8_t>({3, last}), kQUInt8)));
    ASSERT_OK(writer->Finish());
  };
  save("/a", 250);
  save("/b", 251);
  EXPECT_EQ(JsonOf({"show", "/a", "bytes"})["values"], Json({{"b64", "/9gB"}}));
  EXPECT_THAT(Text({"show", "/a", "bytes"}), HasSubstr(R"({"b64":"/9gB"})"));
  const Json q = JsonOf({"show", "/a", "q"});
  EXPECT_EQ(q["dtype"], "quint8");
  EXPECT_EQ(q["values"], Json({3, 250}));
  EXPECT_EQ(q["statistics"]["max"], 250);
  EXPECT_THAT(Run({"diff", "/a", "/b"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "1 of 2 elements, the first at 1, by 1 at most"));
}

TEST_F(CheckpointCommandsTest, CountsNonFiniteNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(files_, "/m", *random_));
  ASSERT_OK(writer->Add(
      "x", Tensor::Vector<float>({inf, -inf, -0.0f, 2.0f, std::nanf("")})));
  ASSERT_OK(writer->Add("none", Tensor(DT_FLOAT, TensorShape({0, 3}))));
  ASSERT_OK(writer->Finish());
  const Json of = JsonOf({"show", "/m", "x"})["statistics"];
  EXPECT_EQ(of["nans"], 1);
  EXPECT_EQ(of["infinities"], 2);
  EXPECT_EQ(of["zeros"], 1);
  EXPECT_EQ(of["max"], 2);
  EXPECT_EQ(of["mean"], 1);
  EXPECT_EQ(JsonOf({"show", "/m", "none"})["statistics"]["count"], 0);
}

TEST_F(CheckpointCommandsTest, VerifyNamesEachCorruptTensor) {
  Save("/m");
  EXPECT_THAT(Text({"verify", "/m"}), HasSubstr("all checksums right"));
  const std::string data = checkpoint::DataFilename("/m", 0, 1);
  ASSERT_OK_AND_ASSIGN(std::string bytes, files_.ReadFile(data));
  bytes[0] ^= 1;  // a byte of tensor b
  ASSERT_OK(files_.WriteFileAtomically(data, bytes));
  const auto result = Run({"verify", "/m"});
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, "1 of 3 tensors"));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, "\nb: "));
}

// Each slice can be read, but the tensors are incomplete or have overlapping
// slices.
TEST_F(CheckpointCommandsTest, VerifyFindsIncompleteSlices) {
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(files_, "/m", *random_));
  const std::vector<std::pair<const char*, const char*>> slices = {
      {"lacks", "0,2:-"}, {"twice", "0,2:-"}, {"twice", "1,2:-"}};
  for (const auto& [name, slice] : slices) {
    ASSERT_OK(writer->AddSlice(name, {3, 2}, TensorSlice::Parse(slice).value(),
                               Count({2, 2})));
  }
  ASSERT_OK(writer->Add("whole", Count({3})));
  ASSERT_OK(writer->Finish());
  const auto result = Run({"verify", "/m"});
  for (const char* text :
       {"2 of 3 tensors", "lacks: Does not have sufficient slices",
        "hold 4 of 6 elements", "twice: /m.index: Overlapping slices"}) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, text));
  }
}

TEST_F(CheckpointCommandsTest, VerifyReadsLargeTensorsInChunks) {
  Tensor large(DT_FLOAT, TensorShape({3 << 20}));
  large.mutable_flat<float>()[(3 << 20) - 1] = 1;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(files_, "/m", *random_));
  ASSERT_OK(writer->Add("large", large));
  ASSERT_OK(writer->Finish());
  EXPECT_THAT(Text({"verify", "/m"}), HasSubstr("all checksums right"));
  const std::string data = checkpoint::DataFilename("/m", 0, 1);
  ASSERT_OK_AND_ASSIGN(std::string bytes, files_.ReadFile(data));
  bytes.back() ^= 1;
  ASSERT_OK(files_.WriteFileAtomically(data, bytes));
  EXPECT_THAT(Run({"verify", "/m"}),
              StatusIs(absl::StatusCode::kDataLoss, "large: "));
}

// Iterator states are saved as an iterator saves them, with the states of two
// iterators in one tensor.
TEST_F(CheckpointCommandsTest, IteratorStatesAreShownAndCompared) {
  const auto save = [this](const std::string& prefix, int64_t position) {
    Tensor states(DT_VARIANT, TensorShape({2}));
    for (Variant& state : states.mutable_flat<Variant>()) {
      state = {.type_name = "tensorflow::data::IteratorStateVariant",
               .metadata = std::string(100, 'm'),
               .tensors = std::make_shared<std::vector<Tensor>>(
                   1, Tensor::Scalar<int64_t>(position))};
    }
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         BundleWriter::Create(files_, prefix, *random_));
    ASSERT_OK(writer->Add("Iterator:0_STATE", states));
    ASSERT_OK(writer->Finish());
  };
  save("/a", 3);
  save("/same", 3);
  save("/later", 4);
  EXPECT_THAT(Text({"show", "/a", "Iterator:0_STATE", "--limit=1"}),
              HasSubstr("and 1 more"));
  EXPECT_THAT(Text({"verify", "/a"}), HasSubstr("all checksums right"));
  EXPECT_THAT(Text({"diff", "/a", "/same"}), HasSubstr("no difference"));
  EXPECT_THAT(Run({"diff", "/a", "/later"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "Iterator:0_STATE: 1 of 2 elements"));
}

TEST_F(CheckpointCommandsTest, DiffShowsDifferencesAndTheirSize) {
  Save("/a");
  Save("/b");
  EXPECT_THAT(Text({"diff", "/a", "/b"}), HasSubstr("no difference"));
  Save("/c", 0.5f);
  const auto differs = Run({"diff", "/a", "/c"});
  EXPECT_THAT(differs,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "b: 3 of 3 elements, the first at 0, by 0.5 at most"));
  EXPECT_THAT(Text({"diff", "/a", "/c", "--atol=0.6"}),
              HasSubstr("no difference"));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       BundleWriter::Create(files_, "/d", *random_));
  ASSERT_OK(writer->Add("b", Count({4})));
  ASSERT_OK(writer->Add("new", Count({1})));
  ASSERT_OK(writer->Finish());
  const auto others = Run({"diff", "/a", "/d"});
  for (const char* line : {"b: float [3] and float [4]", "- net/w", "+ new"}) {
    EXPECT_THAT(others, StatusIs(absl::StatusCode::kFailedPrecondition, line));
  }
}

TEST_F(CheckpointCommandsTest, ConvertCutsMergesAndRenames) {
  Save("/a");
  EXPECT_THAT(
      Text({"convert", "/a", "/cut", "--parts=net/w=0:3", "--rename=b=bias"}),
      HasSubstr("3 tensors written to /cut"));
  EXPECT_THAT(Text({"ls", "/cut"}), HasSubstr("0,2:- 2,2:- 4,1:-"));
  EXPECT_TRUE(SameBits(Read("/cut", "net/w"), Count({5, 2})));
  EXPECT_TRUE(SameBits(Read("/cut", "bias"), Count({3})));
  Text({"convert", "/cut", "/whole", "--merge", "--rename=bias=b"});
  EXPECT_THAT(Text({"ls", "/whole"}), Not(HasSubstr("0,2")));
  EXPECT_THAT(Text({"diff", "/a", "/whole"}), HasSubstr("no difference"));
  Text({"convert", "/a", "/same"});
  EXPECT_THAT(Text({"ls", "/same"}), HasSubstr("0,3:- 3,2:-"));
}

TEST_F(CheckpointCommandsTest, ConvertDoesNotOverwrite) {
  Save("/a");
  Save("/b", 1);
  EXPECT_THAT(Run({"convert", "/a", "/b"}),
              StatusIs(absl::StatusCode::kAlreadyExists, "/b.index"));
  EXPECT_TRUE(SameBits(Read("/b", "b"), Count({3}, 1)));
  // The rename gives two tensors the same name.
  EXPECT_FALSE(Run({"convert", "/a", "/c", "--rename=b=s"}).ok());
  EXPECT_FALSE(files_.FileExists("/c.index").ok());
}

TEST_F(CheckpointCommandsTest, InvalidCallsAreExplained) {
  Save("/m");
  const auto invalid = [this](const std::vector<std::string>& words,
                              const std::string& text) {
    EXPECT_THAT(Run(words), StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  invalid({"ls", "/m.index"}, "its prefix is /m");
  invalid({"ls", "/m.data-00000-of-00001"}, "its prefix is /m");
  invalid({"show", "/m"}, "needs two arguments; there are 1");
  invalid({"lsx", "/m"}, "ls, show, verify, diff or convert");
  invalid({"ls", "/m", "--limit=3"}, "`weft checkpoint show` has");
  invalid({"show", "/m", "b", "--limit=x"}, "--limit=x");
  invalid({"show", "/m", "net/w", "--slice=9,1:-"}, "");
  invalid({"diff", "/m", "/m", "--atol=-1"}, "--atol=-1");
  invalid({"convert", "/m", "/n", "--parts=net/w"}, "NAME=AXIS:COUNT");
  invalid({"convert", "/m", "/n", "--parts=net/w=2:1"}, "[5,2]");
  invalid({"convert", "/m", "/n", "--parts=net/w=0:6"}, "[5,2]");
  invalid({"convert", "/m", "/n", "--rename=b"}, "OLD=NEW");
  EXPECT_THAT(Run({"show", "/m", "w"}),
              StatusIs(absl::StatusCode::kNotFound, "it has net/w"));
  EXPECT_THAT(Run({"ls", "/none"}),
              StatusIs(absl::StatusCode::kNotFound, "/none"));
  ASSERT_OK(files_.CreateDirectory("/empty"));
  EXPECT_THAT(Run({"verify", "/empty"}),
              StatusIs(absl::StatusCode::kNotFound, "/empty"));
}

}  // namespace
}  // namespace weft::tools
