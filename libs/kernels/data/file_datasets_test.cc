// Tests datasets of files: their elements, their errors for malformed files,
// and their saved positions.
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/kernels/data/testing/dataset_harness.h"
#include "libs/summary/record_writer.h"

namespace weft {
namespace {

using Texts = std::vector<std::string>;

Tensor Text(std::string text) {
  return Tensor::Scalar<std::string>(std::move(text));
}
Tensor Number(int64_t value) { return Tensor::Scalar<int64_t>(value); }
ElementSpec OneText() { return {{DT_STRING}, {PartialShape::Scalar()}}; }
Tensor Paths(const Texts& paths) { return Tensor::Vector<std::string>(paths); }

std::string Deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  compress(reinterpret_cast<Bytef*>(result.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  result.resize(size);
  return result;
}

std::string Gzipped(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(result.size() - stream.avail_out);
  deflateEnd(&stream);
  return result;
}

class FileDatasetsTest : public testing::Test {
 protected:
  void Write(const std::string& path, absl::string_view contents) {
    ASSERT_OK(harness_.files().WriteFileAtomically(path, contents));
  }
  void WriteRecords(const std::string& path, const Texts& records) {
    ASSERT_OK_AND_ASSIGN(auto file, harness_.files().NewWritableFile(path));
    summary::RecordWriter writer(std::move(file));
    for (const std::string& record : records) {
      ASSERT_OK(writer.WriteRecord(record));
    }
    ASSERT_OK(writer.Close());
  }
  std::string Contents(const std::string& path) {
    return harness_.files().ReadFile(path).value_or("");
  }

  absl::StatusOr<Tensor> Lines(const Texts& paths, std::string type = "") {
    return harness_.Make("TextLineDataset",
                         {Paths(paths), Text(std::move(type)), Number(0)}, {});
  }
  absl::StatusOr<Tensor> Records(const Texts& paths) {
    return harness_.Make("TFRecordDataset", {Paths(paths), Text(""), Number(0)},
                         {});
  }
  absl::StatusOr<Tensor> Batch(const Tensor& input, int64_t size, bool drop) {
    return harness_.Make("BatchDatasetV2",
                         {input, Number(size), Tensor::Scalar<bool>(drop)},
                         {{DT_STRING}, {PartialShape::Vector(-1)}});
  }
  absl::StatusOr<Tensor> Fixed(const Texts& paths, int64_t header,
                               int64_t record, int64_t footer,
                               std::string type = "") {
    return harness_.Make("FixedLengthRecordDatasetV2",
                         {Paths(paths), Number(header), Number(record),
                          Number(footer), Number(0), Text(std::move(type))},
                         {});
  }
  // Returns a CSV dataset of two columns: a required int32 and a string.
  absl::StatusOr<Tensor> Csv(const Texts& paths, bool has_header) {
    return harness_.Make(
        "CSVDataset",
        {Paths(paths), Text(""), Number(1 << 10),
         Tensor::Scalar<bool>(has_header), Text(","),
         Tensor::Scalar<bool>(true), Text("NA"), Tensor::Vector<int64_t>({}),
         Tensor::Vector<int32_t>({}), Tensor::Vector<std::string>({"none"})},
        {{DT_INT32, DT_STRING}, std::vector<PartialShape>(2)});
  }
  // Returns all elements of a dataset of strings. Checks that an iterator
  // restored at any position returns the same remaining elements.
  Texts All(const absl::StatusOr<Tensor>& dataset) {
    EXPECT_OK(dataset);
    if (!dataset.ok()) return {};
    auto whole = harness_.Walk(*dataset);
    EXPECT_OK(whole);
    const Texts all = harness_.Rest<std::string>(**whole);
    for (size_t i = 0; i <= all.size(); ++i) {
      auto walk = harness_.Walk(*dataset);
      harness_.Rest<std::string>(**walk, i);
      const auto state = harness_.Save(**walk);
      EXPECT_OK(state);
      auto restored = harness_.Walk(*dataset);
      EXPECT_OK(harness_.Restore(**restored, *state));
      EXPECT_EQ(harness_.Rest<std::string>(**restored),
                Texts(all.begin() + static_cast<int64_t>(i), all.end()))
          << "from element " << i << " on";
    }
    return all;
  }
  // Returns the codes and texts of the iterator's results.
  Texts Outcomes(const absl::StatusOr<Tensor>& dataset, int count) {
    EXPECT_OK(dataset);
    if (!dataset.ok()) return {};
    auto walk = harness_.Walk(*dataset);
    EXPECT_OK(walk);
    Texts outcomes;
    for (int i = 0; i < count; ++i) {
      const auto next = harness_.Next(**walk);
      if (next.ok() && next->dtype() == DT_STRING) {
        outcomes.push_back(next->scalar<std::string>());
      } else if (next.ok()) {
        outcomes.push_back(absl::StrCat(next->scalar<int32_t>()));
      } else {
        outcomes.push_back(
            absl::StrCat(absl::StatusCodeToString(next.status().code()), ": ",
                         next.status().message()));
      }
    }
    return outcomes;
  }

  DatasetHarness harness_;
};

TEST_F(FileDatasetsTest, LinesOfSeveralFiles) {
  Write("a", "one\n\nthree\r\nfour");
  Write("b", "");
  Write("c", "five\n");
  EXPECT_EQ(All(Lines({"a", "b", "c"})),
            (Texts{"one", "", "three", "four", "five"}));
  Write("z", Deflated("one\r\ntwo"));
  EXPECT_EQ(All(Lines({"z", "z"}, "ZLIB")),
            (Texts{"one", "two", "one", "two"}));
  EXPECT_EQ(All(Lines({})), Texts{});
}

// TensorFlow's dataset drops every carriage return, too.
TEST_F(FileDatasetsTest, LinesHaveNoCarriageReturns) {
  const std::pair<std::string, Texts> files[] = {
      {"a\rb\r\r\nc\r\n\r\n\nd\r", {"ab", "c", "", "", "d"}},
      {"x\n\r\r", {"x"}}};
  for (const auto& [bytes, expected] : files) {
    for (const std::string type : {"", "GZIP"}) {
      Write("a", type.empty() ? bytes : Gzipped(bytes));
      ASSERT_OK_AND_ASSIGN(const Tensor lines, Lines({"a"}, type));
      EXPECT_EQ(All(lines), expected);
      // Batches read the lines directly from the file.
      ASSERT_OK_AND_ASSIGN(const Tensor batches, Batch(lines, 10, false));
      ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(batches));
      ASSERT_OK_AND_ASSIGN(const Tensor batch, harness_.Next(*walk));
      const auto texts = batch.flat<std::string>();
      EXPECT_EQ(Texts(texts.begin(), texts.end()), expected);
    }
  }
}

// Batches take lines from their files without creating elements. Take works on
// elements only, and must yield the same lines.
TEST_F(FileDatasetsTest, LineBatchesEqualElementBatches) {
  Write("a", "one\n\nthree of more than fifteen bytes\r\nfour");
  Write("b", "");
  Write("c", "five\n");
  ASSERT_OK_AND_ASSIGN(const Tensor lines, Lines({"a", "b", "c"}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, Lines({"b"}));
  const auto counted = [&](const char* op, const Tensor& input, int64_t count) {
    return *harness_.Make(op, {input, Number(count)}, OneText());
  };
  const Tensor inputs[] = {lines,
                           none,
                           counted("RepeatDataset", lines, 3),
                           counted("RepeatDataset", lines, 0),
                           counted("RepeatDataset", none, -1),
                           counted("SkipDataset", lines, 2),
                           counted("SkipDataset", lines, -1),
                           *Lines({"a", "missing", "c"})};
  for (const Tensor& input : inputs) {
    const Tensor elements = counted("TakeDataset", input, -1);
    for (const int64_t size : {1, 2, 5, 7, 15, 16, 5000}) {
      for (const bool drop : {false, true}) {
        ASSERT_OK_AND_ASSIGN(const Tensor batches, Batch(input, size, drop));
        EXPECT_EQ(harness_.PullAll(batches, 30),
                  harness_.PullAll(Batch(elements, size, drop), 30));
      }
    }
  }
  EXPECT_EQ(harness_.PullAll(Batch(inputs[2], 7, false))[1],
            "[7] three of more than fifteen bytes four five one  three of more "
            "than fifteen bytes four");
}

TEST_F(FileDatasetsTest, LineBatchesResumeFromASavedPosition) {
  Write("a", "1\n2\n3\n4\n5\n");
  ASSERT_OK_AND_ASSIGN(const Tensor lines, Lines({"a"}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor repeated,
      harness_.Make("RepeatDataset", {lines, Number(2)}, OneText()));
  ASSERT_OK_AND_ASSIGN(const Tensor batches, Batch(repeated, 3, false));
  for (int taken = 0; taken <= 4; ++taken) {
    auto walk = harness_.Walk(batches);
    harness_.Pull(**walk, taken);
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(**walk));
    auto restored = harness_.Walk(batches);
    ASSERT_OK(harness_.Restore(**restored, state));
    EXPECT_EQ(harness_.Pull(**restored), harness_.Pull(**walk)) << taken;
  }
}

// Ten texts. The step is cancelled while the third one is read.
class CancelledWhileItReads : public Dataset {
 public:
  explicit CancelledWhileItReads(Cancellation& step)
      : Dataset("Ten", OneText()), step_(step) {}
  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator : public IteratorOf<CancelledWhileItReads> {
   public:
    using IteratorOf::IteratorOf;
    absl::StatusOr<bool> GetNext(IteratorContext& context,
                                 DatasetElement* element) override {
      std::string text;
      size_t done = 0;
      RETURN_IF_ERROR(GetTexts(context, absl::MakeSpan(&text, 1), &done));
      if (done == 1) element->assign(1, Text(std::move(text)));
      return done == 1;
    }
    bool GivesTexts() const override { return true; }
    absl::Status GetTexts(IteratorContext& context,
                          absl::Span<std::string> texts,
                          size_t* done) override {
      for (; *done < texts.size() && next_ < 10; ++next_, ++*done) {
        if (next_ == 2) dataset().step_.Cancel(absl::CancelledError("enough"));
        RETURN_IF_ERROR(context.cancellation().status());
        texts[*done] = absl::StrCat(next_);
      }
      return absl::OkStatus();
    }

   private:
    int next_ = 0;
  };

  Cancellation& step_;
};

TEST_F(FileDatasetsTest, CancelledBatchKeepsItsLinesForTheNextStep) {
  Cancellation step;
  const Tensor ten = ToTensor(std::make_shared<CancelledWhileItReads>(step));
  ASSERT_OK_AND_ASSIGN(const Tensor batches, Batch(ten, 4, false));
  ASSERT_OK_AND_ASSIGN(auto walk, harness_.Walk(batches));
  IteratorContext context = harness_.Context().With(step);
  DatasetElement element;
  EXPECT_THAT(walk->GetNext(context, &element).status(),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(harness_.Pull(*walk),
            (Texts{"[4] 0 1 2 3", "[4] 4 5 6 7", "[2] 8 9", "end"}));
}

TEST_F(FileDatasetsTest, MissingFileIsReportedTwice) {
  Write("a", "one\n");
  const Texts outcomes = Outcomes(Lines({"a", "missing", "a"}), 4);
  EXPECT_EQ(outcomes[0], "one");
  EXPECT_THAT(outcomes[1], testing::HasSubstr("NOT_FOUND"));
  EXPECT_THAT(outcomes[1], testing::HasSubstr("missing"));
  EXPECT_EQ(outcomes[2], outcomes[1]);
  EXPECT_EQ(outcomes[3], "one");
}

TEST_F(FileDatasetsTest, FilesThatCanNotBeReadAreIgnored) {
  Write("a", "one\n");
  const auto ignored = [&](const absl::StatusOr<Tensor>& dataset) {
    return harness_.PullAll(
        harness_.Make("IgnoreErrorsDataset", {*dataset}, OneText()), 5);
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(ignored(Records({"missing"})), Texts{"end"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("IgnoreErrorsDataset"),
                             testing::HasSubstr("the last one: NOT_FOUND"),
                             testing::HasSubstr("missing")));
  EXPECT_EQ(ignored(Lines({"missing", "a", "missing", "a"})),
            (Texts{"one", "one", "end"}));
  // The file is not compressed, so each attempt to read it fails.
  EXPECT_EQ(ignored(Lines({"a", "a"}, "GZIP")), Texts{"end"});
  EXPECT_EQ(harness_.PullAll(harness_.Make(
                "IgnoreErrorsDataset", {*Csv({"missing"}, true)},
                {{DT_INT32, DT_STRING}, std::vector<PartialShape>(2)})),
            Texts{"end"});
}

// An endless repetition that yields only errors fails with the last one.
TEST_F(FileDatasetsTest, RepeatedFilesThatAreAllMissingFail) {
  const auto repeated = [&](const Texts& paths) {
    return *harness_.Make("RepeatDataset", {*Lines(paths), Number(-1)},
                          OneText());
  };
  const auto missing =
      harness_.Make("IgnoreErrorsDataset", {repeated({"missing"})}, OneText());
  ASSERT_OK(missing);
  const Texts outcomes = Outcomes(missing, 2);
  EXPECT_THAT(outcomes[0],
              testing::HasSubstr("its input gave only errors in 2 whole "
                                 "passes, the last one: "));
  EXPECT_THAT(outcomes[0], testing::HasSubstr("NOT_FOUND"));
  EXPECT_THAT(outcomes[0], testing::HasSubstr("missing"));
  EXPECT_EQ(outcomes[1], "OUT_OF_RANGE: the end");
  Write("a", "one\n");
  const auto one = harness_.Make("IgnoreErrorsDataset",
                                 {repeated({"missing", "a"})}, OneText());
  EXPECT_EQ(Outcomes(one, 5), Texts(5, "one"));
}

// A temporary shortage of file descriptors or memory, or a transient disk
// error.
TEST_F(FileDatasetsTest, TransientErrorsSkipNoFile) {
  Write("a", "one\ntwo\n");
  FailingFileSystem files(harness_.files());
  harness_.kernels().set_file_system(files);
  for (const absl::Status& error :
       {absl::ResourceExhaustedError("open: Too many open files"),
        absl::InternalError("read: Input/output error")}) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(*Lines({"a"})));
    files.FailAllFrom(0, error);
    for (int i = 0; i < 4; ++i) {
      EXPECT_THAT(harness_.Next(*walk), StatusIs(error.code(), "a"));
    }
    files.Heal();
    EXPECT_EQ(harness_.Pull(*walk), (Texts{"one", "two", "end"}));
  }
  harness_.kernels().set_file_system(harness_.files());
}

// Examples are late renewal of credentials and a proxy that replies instead of
// the store. For a local file these errors would be permanent.
TEST_F(FileDatasetsTest, StoreRefusalsSkipNoFile) {
  ASSERT_OK(harness_.files().CreateDirectory("s3://bucket"));
  Write("s3://bucket/a", "one\ntwo\n");
  FailingFileSystem files(harness_.files());
  harness_.kernels().set_file_system(files);
  for (const absl::Status& error :
       {absl::PermissionDeniedError("403 Forbidden"),
        absl::FailedPreconditionError("404 Not Found")}) {
    ASSERT_OK_AND_ASSIGN(const auto walk,
                         harness_.Walk(*Lines({"s3://bucket/a"})));
    files.FailAllFrom(0, error);
    for (int i = 0; i < 4; ++i) {
      EXPECT_THAT(harness_.Next(*walk),
                  StatusIs(error.code(), "s3://bucket/a"));
    }
    files.Heal();
    EXPECT_EQ(harness_.Pull(*walk), (Texts{"one", "two", "end"}));
  }
  harness_.kernels().set_file_system(harness_.files());
}

// Errors may also occur in the middle of a file. Record files are then
// reopened.
TEST_F(FileDatasetsTest, UnavailableStoreSkipsNoRecord) {
  WriteRecords("a", {"one", "two"});
  FailingFileSystem files(harness_.files());
  harness_.kernels().set_file_system(files);
  for (int64_t n = 0; n < 5; ++n) {
    ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(*Records({"a"})));
    files.FailAllFrom(n, absl::UnavailableError("the store is away"));
    Texts texts = harness_.Pull(*walk, 4);
    files.Heal();
    absl::c_copy(harness_.Pull(*walk), std::back_inserter(texts));
    std::erase_if(texts, [](const std::string& text) {
      return absl::StrContains(text, "away");
    });
    texts.resize(std::min<size_t>(texts.size(), 3));
    EXPECT_EQ(texts, (Texts{"one", "two", "end"})) << n;
  }
  harness_.kernels().set_file_system(harness_.files());
}

// Emulates a store that keeps reading the version of an object that was opened.
class VersionedFiles : public FailingFileSystem {
 public:
  // `replaced` is the error of reading an outdated version.
  VersionedFiles(FileSystem& base, absl::Status replaced)
      : FailingFileSystem(base), base_(base), replaced_(std::move(replaced)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    ASSIGN_OR_RETURN(std::string contents, base_.ReadFile(path));
    return std::make_unique<Version>(*this, std::string(path),
                                     std::move(contents));
  }

 private:
  class Version : public RandomAccessFile {
   public:
    Version(VersionedFiles& store, std::string path, std::string contents)
        : store_(store),
          path_(std::move(path)),
          contents_(std::move(contents)) {}

    absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                                char* buffer) const override {
      ASSIGN_OR_RETURN(const std::string now, store_.base_.ReadFile(path_));
      if (now != contents_) return store_.replaced_;
      if (offset >= contents_.size()) return 0;
      return contents_.copy(buffer, size, static_cast<size_t>(offset));
    }
    std::string version() const override { return contents_; }

   private:
    VersionedFiles& store_;
    const std::string path_;
    const std::string contents_;
  };

  FileSystem& base_;
  const absl::Status replaced_;
};

// Otherwise records of two versions would be mixed. The files exceed the
// read-ahead.
TEST_F(FileDatasetsTest, ReplacedObjectsAreNotReadFurther) {
  constexpr size_t kBytes = 600000;
  const auto record = [](char c) { return std::string(kBytes, c); };
  ASSERT_OK(harness_.files().CreateDirectory("s3://bucket"));
  const std::string a = "s3://bucket/a", b = "s3://bucket/b";
  for (const bool has_lengths : {true, false}) {
    const auto write = [&](const std::string& path, const Texts& records) {
      if (has_lengths) return WriteRecords(path, records);
      Write(path, absl::StrJoin(records, ""));
    };
    for (const absl::Status& error :
         {absl::FailedPreconditionError("412 Precondition Failed"),
          absl::UnavailableError("503 Slow Down")}) {
      write(a, {record('1'), record('2')});
      write(b, {record('3')});
      VersionedFiles files(harness_.files(), error);
      harness_.kernels().set_file_system(files);
      ASSERT_OK_AND_ASSIGN(
          const Tensor dataset,
          has_lengths ? Records({a, b}) : Fixed({a, b}, 0, kBytes, 0));
      ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
      EXPECT_TRUE(harness_.Pull(*walk, 1) == Texts{record('1')});
      write(a, {record('4'), record('5')});
      EXPECT_THAT(harness_.Next(*walk), StatusIs(error.code(), a));
      EXPECT_THAT(harness_.Next(*walk),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           "s3://bucket/a: it was replaced"));
      EXPECT_TRUE(harness_.Pull(*walk) == (Texts{record('3'), "end"}));
    }
  }
  harness_.kernels().set_file_system(harness_.files());
}

// Each call would fail with the same error.
TEST_F(FileDatasetsTest, PermanentErrorsAreNotIgnored) {
  const auto ignored = [&](const absl::StatusOr<Tensor>& dataset) {
    return harness_.Make("IgnoreErrorsDataset", {*dataset}, OneText());
  };
  Write("a", "one\n");
  Write("damaged.weft_cache", std::string(40, 'x'));
  const auto cached = ignored(harness_.Make(
      "CacheDataset", {*Lines({"a"}), Text("damaged")}, OneText()));
  EXPECT_THAT(Outcomes(cached, 1)[0], testing::HasSubstr("DATA_LOSS"));
  const auto shuffled = ignored(harness_.Make(
      "ShuffleAndRepeatDataset",
      {*Lines({"a"}), Number(3), Number(1), Number(2), Number(-1)}, OneText(),
      {{"reshuffle_each_iteration", true}}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(*shuffled));
  EXPECT_EQ(harness_.Pull(*walk, 1), Texts{"one"});
  ASSERT_OK(harness_.files().DeleteFile("a"));
  // The buffer still holds two elements.
  EXPECT_EQ(harness_.Pull(*walk),
            (Texts{"one", "one",
                   "ShuffleAndRepeatDataset:test: its input gave only errors "
                   "in 2 whole passes, the last one: open a: No such file or "
                   "directory",
                   "end"}));
}

TEST_F(FileDatasetsTest, UncompressedFileIsNamed) {
  Write("a", "one\n");
  const Texts outcomes = Outcomes(Lines({"a"}, "ZLIB"), 1);
  EXPECT_THAT(outcomes[0], testing::HasSubstr("DATA_LOSS: a: inflate()"));
}

// OUT_OF_RANGE would mean the end of the data.
TEST_F(FileDatasetsTest, TruncatedCompressedFileIsNamed) {
  Write("lines", Deflated("one\ntwo\n"));
  ASSERT_OK_AND_ASSIGN(const Tensor lines, Lines({"lines"}, "ZLIB"));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(lines));
  EXPECT_EQ(harness_.Rest<std::string>(*walk, 1), Texts{"one"});
  ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
  Write("lines", Deflated("o"));
  ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(lines));
  EXPECT_THAT(harness_.Restore(*restored, state),
              StatusIs(absl::StatusCode::kDataLoss,
                       "lines: the file ends before offset 4"));
}

TEST_F(FileDatasetsTest, RecordsOfSeveralFiles) {
  WriteRecords("a", {"one", "", std::string(300000, 'x')});
  WriteRecords("b", {"two"});
  EXPECT_EQ(All(Records({"a", "b"})),
            (Texts{"one", "", std::string(300000, 'x'), "two"}));
}

// As in TensorFlow, a damaged file is followed by the next one.
TEST_F(FileDatasetsTest, DamagedRecords) {
  WriteRecords("good", {"one"});
  WriteRecords("bad", {"two", "three", "four"});
  std::string bytes = Contents("bad");
  bytes[19 + 12] ^= 1;
  Write("bad", bytes);
  Write("short", Contents("good").substr(0, 17));
  Write("shorter", Contents("good").substr(0, 9));
  EXPECT_EQ(
      Outcomes(Records({"bad", "short", "shorter", "good"}), 5),
      (Texts{"two", "DATA_LOSS: bad: corrupted record at 31",
             "DATA_LOSS: short: truncated record at 0: it has 3 bytes, and 2 "
             "bytes of it and its checksum are missing",
             "one", "OUT_OF_RANGE: the end"}));
}

TEST_F(FileDatasetsTest, RecordsStartAtByteOffsets) {
  WriteRecords("a", {"one", "two"});
  ASSERT_OK_AND_ASSIGN(
      const Tensor dataset,
      harness_.Make("TFRecordDatasetV2",
                    {Paths({"a", "a", "a"}), Text(""), Number(0),
                     Tensor::Vector<int64_t>({19, 0, 1000})},
                    {}));
  EXPECT_EQ(All(dataset), (Texts{"two", "one", "two"}));
  EXPECT_THAT(harness_.Make("TFRecordDatasetV2",
                            {Paths({"a", "a"}), Text(""), Number(0),
                             Tensor::Vector<int64_t>({1})},
                            {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "byte_offsets"));
}

TEST_F(FileDatasetsTest, RecordsOfOneLength) {
  Write("a", "Haaabbbcccf");
  Write("b", "Hdddf");
  EXPECT_EQ(All(Fixed({"a", "b"}, 1, 3, 1)),
            (Texts{"aaa", "bbb", "ccc", "ddd"}));
  Write("a", Deflated("HHaabbff"));
  EXPECT_EQ(All(Fixed({"a", "a"}, 2, 2, 2, "ZLIB")),
            (Texts{"aa", "bb", "aa", "bb"}));
}

TEST_F(FileDatasetsTest, FilesOfAnotherLength) {
  Write("a", "Haaabbbccf");
  EXPECT_THAT(
      Outcomes(Fixed({"a"}, 1, 3, 1), 1)[0],
      testing::HasSubstr("INVALID_ARGUMENT: Excluding the header (1 bytes) and "
                         "footer (1 bytes), input file \"a\" has body length 8 "
                         "bytes, which is not an exact multiple of the record "
                         "length (3 bytes)."));
  Write("z", Deflated("aabbc"));
  const Texts outcomes = Outcomes(Fixed({"z", "z"}, 0, 2, 0, "ZLIB"), 4);
  EXPECT_EQ(outcomes[1], "bb");
  EXPECT_THAT(outcomes[2], testing::HasSubstr("DATA_LOSS"));
  EXPECT_THAT(outcomes[2], testing::HasSubstr("body length 5 bytes"));
  EXPECT_EQ(outcomes[3], "aa");
  EXPECT_THAT(Outcomes(Fixed({"z"}, 100, 2, 0, "ZLIB"), 1)[0],
              testing::HasSubstr("z: the file ends within its header"));
}

// The length is known only after decompression. As in TensorFlow, the next file
// follows.
TEST_F(FileDatasetsTest, CompressedFilesThatEndWithinTheirHeader) {
  const std::string good = Gzipped("HHabcdefFF");
  Write("good", good);
  Write("short", Gzipped("H"));
  // gzip's own header has ten bytes. Eleven bytes decompress to nothing.
  Write("cut", good.substr(0, 11));
  ASSERT_OK_AND_ASSIGN(const Tensor dataset,
                       Fixed({"short", "cut", "good"}, 2, 3, 2, "GZIP"));
  const Texts outcomes = Outcomes(dataset, 5);
  EXPECT_EQ(
      outcomes[0],
      "INVALID_ARGUMENT: short: the file ends within its header of 2 bytes");
  EXPECT_THAT(outcomes[1], testing::HasSubstr("DATA_LOSS: cut: truncated"));
  EXPECT_EQ(Texts(outcomes.begin() + 2, outcomes.end()),
            (Texts{"abc", "def", "OUT_OF_RANGE: the end"}));
  EXPECT_EQ(All(harness_.Make("IgnoreErrorsDataset", {dataset}, OneText())),
            (Texts{"abc", "def"}));
}

TEST_F(FileDatasetsTest, InvalidArgumentsAreRejected) {
  const auto invalid = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, text);
  };
  EXPECT_THAT(Fixed({"a"}, 0, 0, 0), invalid("`record_bytes` must be > 0"));
  EXPECT_THAT(Fixed({"a"}, -1, 1, 0), invalid("`header_bytes` must be >= 0"));
  EXPECT_THAT(Fixed({"a"}, 0, 1, -1), invalid("`footer_bytes` must be >= 0"));
  EXPECT_THAT(Lines({"a"}, "BZ2"), invalid("Unsupported compression_type"));
  EXPECT_THAT(Fixed({"a"}, 0, int64_t{1} << 62, 0),
              StatusIs(absl::StatusCode::kResourceExhausted, "record_bytes"));
}

TEST_F(FileDatasetsTest, CsvRecords) {
  Write("a", "id,text\n1,a\r\n2,\"b\"\"c\nd\"\n3,NA\n4,");
  ASSERT_OK_AND_ASSIGN(const Tensor dataset, Csv({"a", "a"}, true));
  EXPECT_EQ(Outcomes(dataset, 9), (Texts{"1", "2", "3", "4", "1", "2", "3", "4",
                                         "OUT_OF_RANGE: the end"}));
  ASSERT_OK_AND_ASSIGN(const auto walk, harness_.Walk(dataset));
  IteratorContext context = harness_.Context();
  Texts texts;
  DatasetElement element;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(walk->GetNext(context, &element));
    texts.push_back(element[1].scalar<std::string>());
    // The walk can be restored at each position.
    ASSERT_OK_AND_ASSIGN(const Variant state, harness_.Save(*walk));
    ASSERT_OK_AND_ASSIGN(const auto restored, harness_.Walk(dataset));
    ASSERT_OK(harness_.Restore(*restored, state));
    EXPECT_EQ(harness_.Rest<int32_t>(*restored).size(), 7u - i);
  }
  EXPECT_EQ(texts, (Texts{"a", "b\"c\nd", "none", "none"}));
}

// As in TensorFlow, a malformed header is an error of its own. The records
// follow unless the header includes them.
TEST_F(FileDatasetsTest, MalformedCsvHeadersAreReported) {
  const std::string cannot = ": Can't read header of file: ";
  Write("good", "a,b\n1,x\n");
  Write("open", "\"a,b\n1,x\n");
  Write("empty", "");
  Write("quoted", "a\"b,c\n2,x\n3,y\n");
  EXPECT_EQ(Outcomes(Csv({"open", "good"}, true), 3),
            (Texts{absl::StrCat("INVALID_ARGUMENT: open", cannot,
                                "Reached end of file without closing quoted "
                                "field in record"),
                   "1", "OUT_OF_RANGE: the end"}));
  EXPECT_EQ(
      Outcomes(Csv({"empty", "good"}, true), 3),
      (Texts{absl::StrCat("INVALID_ARGUMENT: empty", cannot, "it is empty"),
             "1", "OUT_OF_RANGE: the end"}));
  EXPECT_EQ(Outcomes(Csv({"quoted", "good"}, true), 5),
            (Texts{absl::StrCat("INVALID_ARGUMENT: quoted", cannot,
                                "Unquoted fields cannot have quotes inside"),
                   "2", "3", "1", "OUT_OF_RANGE: the end"}));
  EXPECT_EQ(Outcomes(Csv({"empty", "good"}, false), 1),
            (Texts{"INVALID_ARGUMENT: good: Field 0 in record is not a valid "
                   "int32: a (line 1 of the file)"}));
}

// Texts and positions are TensorFlow's. A record with an error is read to the
// end of its last field, and an unescaped quote does not end the field.
TEST_F(FileDatasetsTest, MalformedCsvRecordsAreReported) {
  Write("a",
        "1,a\n\n2,\"b\nc\",3\n3\nx,y\n4,\"q\"z\n5,\"w\"\n,z\n6,u\"v\n7,\"end");
  EXPECT_EQ(
      Outcomes(Csv({"a"}, false), 12),
      (Texts{
          "1",
          "INVALID_ARGUMENT: a: Field 0 is required but missing in record! "
          "(line 2 of the file)",
          "INVALID_ARGUMENT: a: Expect 2 fields but have 3 in record (line 3 "
          "of the file)",
          "INVALID_ARGUMENT: a: Expect 2 fields but have 1 in record (line 5 "
          "of the file)",
          "INVALID_ARGUMENT: a: Field 0 in record is not a valid int32: x "
          "(line 6 of the file)",
          "INVALID_ARGUMENT: a: Quote inside a string has to be escaped by "
          "another quote (line 7 of the file)",
          "INVALID_ARGUMENT: a: Field 0 is required but missing in record! "
          "(line 9 of the file)",
          "INVALID_ARGUMENT: a: Unquoted fields cannot have quotes inside "
          "(line 10 of the file)",
          "INVALID_ARGUMENT: a: Reached end of file without closing quoted "
          "field in record (line 11 of the file)",
          "OUT_OF_RANGE: the end", "OUT_OF_RANGE: the end",
          "OUT_OF_RANGE: the end"}));
}

// Fields are counted as in the file, including columns that are not selected.
TEST_F(FileDatasetsTest, CsvErrorsCountFieldsAsInTheFile) {
  Write("a", "i,d,n\na,b,1\na,b,x\na,b\n");
  const auto dataset = harness_.Make(
      "CSVDataset",
      {Paths({"a"}), Text(""), Number(1 << 10), Tensor::Scalar<bool>(true),
       Text(","), Tensor::Scalar<bool>(true), Text(""),
       Tensor::Vector<int64_t>({2}), Tensor::Vector<int32_t>({})},
      {{DT_INT32}, {PartialShape::Scalar()}},
      {{"_column_names", Texts{"n"}},
       {"_type_reasons", Texts{"inferred from the first row"}}});
  EXPECT_EQ(Outcomes(dataset, 4),
            (Texts{"1",
                   "INVALID_ARGUMENT: a: Field 2 (column 'n') in record is not "
                   "a valid int32: x. The type is inferred from the first row "
                   "(line 3 of the file)",
                   "INVALID_ARGUMENT: a: Expect at least 3 fields but have 2 "
                   "in record (line 4 of the file)",
                   "OUT_OF_RANGE: the end"}));
}

// The expected results are TensorFlow's.
TEST_F(FileDatasetsTest, CsvRecordsAfterABadQuote) {
  const std::string end = "OUT_OF_RANGE: the end";
  const std::string unquoted = "Unquoted fields cannot have quotes inside";
  const std::string unescaped =
      "Quote inside a string has to be escaped by another quote";
  const std::string open =
      "Reached end of file without closing quoted field in record";
  struct Case {
    std::string file, error, next;
  };
  for (const Case& c :
       {Case{"\"a\"b,\"c\n1,2\n3\",4\n5,6", unescaped, "5"},
        Case{"\"a\"b,c\n1,2", open, end},
        Case{"x\"y,\"z\n1,2\n3,4", unquoted, end},
        Case{"x\"y,z\n1,2", unquoted, "1"}, Case{"1,\"x\"y,z\n1,2", open, end},
        Case{"1,\"a\"b\"\n6,7\n", unescaped, "6"},
        Case{"1,\"a\"\"\n6,7\n8,9\n", open, end},
        Case{"1,x\"y\"z,\"a\"b\",7\n6,7", unquoted, "6"},
        Case{"\"a\"b,c\n x, \"y\"\n3,1", unescaped, "3"}}) {
    Write("a", c.file);
    EXPECT_EQ(Outcomes(Csv({"a"}, false), 2),
              (Texts{absl::StrCat("INVALID_ARGUMENT: a: ", c.error,
                                  " (line 1 of the file)"),
                     c.next}))
        << c.file;
  }
}

}  // namespace
}  // namespace weft
