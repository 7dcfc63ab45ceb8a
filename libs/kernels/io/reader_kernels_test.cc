#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/io/record_sources.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

using Strings = std::vector<std::string>;

void RegisterReadersAndQueues(KernelRegistry& registry) {
  RegisterReaderKernels(registry);
  RegisterQueueKernels(registry);
}

class ReaderKernelsTest : public testing::Test {
 protected:
  ReaderKernelsTest() : harness_(RegisterReadersAndQueues) {
    harness_.set_file_system(files_);
  }

  // Creates a reader or queue, with a handle of either kind. It lives as long
  // as the test.
  absl::StatusOr<KernelInput> Make(const std::string& op, AttrMap attrs) {
    auto kernel = harness_.Make(op, {}, std::move(attrs));
    if (!kernel.ok()) return kernel.status();
    Slot out;
    const absl::Status status =
        (*kernel)->RunSlots({}, absl::MakeSpan(&out, 1));
    if (!status.ok()) return status;
    kernels_.push_back(*std::move(kernel));
    if (out.is_ref()) return KernelInput(out.variable);
    return KernelInput(out.tensor);
  }

  // Returns a closed queue of these paths.
  KernelInput Queue(const Strings& paths) {
    auto queue =
        Make("FIFOQueueV2",
             {{"component_types", DataTypeVector{DT_STRING}},
              {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}}});
    EXPECT_OK(queue);
    EXPECT_OK(harness_.Run("QueueEnqueueManyV2",
                           {*queue, Tensor::Vector<std::string>(paths)}));
    EXPECT_OK(harness_.Run("QueueCloseV2", {*queue}));
    return *queue;
  }

  // Reads one file "f" with these contents. Returns "KEY=VALUE" of all records,
  // and expects the code `end` at the end.
  Strings ReadAll(const std::string& op, const AttrMap& attrs,
                  absl::string_view contents,
                  absl::StatusCode end = absl::StatusCode::kOutOfRange) {
    EXPECT_OK(files_.WriteFileAtomically("f", contents));
    auto reader = Make(op, attrs);
    EXPECT_OK(reader);
    const KernelInput queue = Queue({"f"});
    Strings records;
    while (true) {
      auto record = harness_.Run("ReaderReadV2", {*reader, queue});
      if (!record.ok()) {
        EXPECT_EQ(record.status().code(), end) << record.status();
        return records;
      }
      records.push_back(absl::StrCat((*record)[0].scalar<std::string>(), "=",
                                     (*record)[1].scalar<std::string>()));
    }
  }

  KernelTestHarness harness_;
  MemoryFileSystem files_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

AttrMap Layout(int64_t header, int64_t record, int64_t footer, int64_t hop) {
  return {{"header_bytes", header},
          {"record_bytes", record},
          {"footer_bytes", footer},
          {"hop_bytes", hop}};
}

TEST_F(ReaderKernelsTest, FixedLengthReaderSkipsHeaderAndFooter) {
  const std::string op = "FixedLengthRecordReaderV2";
  EXPECT_THAT(ReadAll(op, Layout(2, 3, 1, 0), "hhabcdeff"),
              ElementsAre("f:0=abc", "f:1=def"));
  // Trailing bytes that form no record are skipped.
  EXPECT_THAT(ReadAll(op, Layout(2, 3, 2, 0), "hhabcdeff"),
              ElementsAre("f:0=abc"));
  EXPECT_THAT(ReadAll(op, Layout(0, 3, 0, 1), "abcde"),
              ElementsAre("f:0=abc", "f:1=bcd", "f:2=cde"));
  EXPECT_THAT(ReadAll(op, Layout(0, 2, 0, 5), "ab---cd---e"),
              ElementsAre("f:0=ab", "f:1=cd"));
  EXPECT_THAT(ReadAll(op, Layout(0, 2, 2, 3), "ab-cd-ef-"),
              ElementsAre("f:0=ab", "f:1=cd"));
  EXPECT_THAT(ReadAll(op, Layout(9, 3, 0, 0), "short"), ElementsAre());
  EXPECT_THAT(ReadAll(op, Layout(0, 3, 0, 0), ""), ElementsAre());
  // No memory is reserved for missing bytes.
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_THAT(ReadAll(op, Layout(0, kHuge, kHuge, 0), "ab"), ElementsAre());
  EXPECT_THAT(ReadAll(op, Layout(kHuge, 1, 0, 0), "ab"), ElementsAre());
}

// The header is skipped in pieces.
TEST_F(ReaderKernelsTest, HeaderMayBeLong) {
  constexpr int64_t kLines = 200'000, kBytes = (int64_t{64} << 20) + 1;
  std::string lines;
  for (int64_t i = 0; i < kLines; ++i) lines += '\n';
  EXPECT_THAT(ReadAll("TextLineReaderV2", {{"skip_header_lines", kLines}},
                      lines + "a\nb"),
              ElementsAre("f:200001=a", "f:200002=b"));
  EXPECT_THAT(ReadAll("FixedLengthRecordReaderV2", Layout(kBytes, 2, 1, 0),
                      std::string(kBytes, 'h') + "abcdf"),
              ElementsAre("f:0=ab", "f:1=cd"));
}

TEST_F(ReaderKernelsTest, FileBeyondTheMemoryBoundIsRejected) {
  ASSERT_OK(files_.WriteFileAtomically("f", std::string(100, 'x')));
  const auto source = NewWholeFileSource();
  Cancellation step;
  ReaderRecord record;
  SmallAllocator small(99, 1000);
  ASSERT_OK(source->Start({files_, small}, "f"));
  EXPECT_THAT(
      source->Read(record, step),
      StatusIs(absl::StatusCode::kResourceExhausted, "The contents of f"));
  SmallAllocator enough(100, 100);
  ASSERT_OK(source->Start({files_, enough}, "f"));
  ASSERT_OK(source->Read(record, step));
  EXPECT_EQ(record.value, std::string(100, 'x'));
  step.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(source->Read(record, step),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TEST_F(ReaderKernelsTest, RecordBeyondTheMemoryBoundIsRejected) {
  ASSERT_OK(files_.WriteFileAtomically("f", "abcdefghij"));
  ASSERT_OK(files_.WriteFileAtomically("short", "abc"));
  const auto source = NewFixedLengthSource(
      {.record = 4, .footer = 3, .most = 5}, Compression::kNone);
  const Cancellation step;
  ReaderRecord record;
  ASSERT_OK(source->Start({files_, HeapAllocator()}, "f"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(source->Read(record, step),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         "f: record 0 of 4 bytes"));
  }
  ASSERT_OK(source->Start({files_, HeapAllocator()}, "short"));
  ASSERT_OK_AND_ASSIGN(const auto outcome, source->Read(record, step));
  EXPECT_EQ(outcome, RecordSource::Outcome::kEnd);
  const auto fits = NewFixedLengthSource({.record = 4, .footer = 1, .most = 5},
                                         Compression::kNone);
  ASSERT_OK(fits->Start({files_, HeapAllocator()}, "f"));
  for (const char* wanted : {"abcd", "efgh"}) {
    ASSERT_OK(fits->Read(record, step));
    EXPECT_EQ(record.value, wanted);
  }
}

TEST_F(ReaderKernelsTest, LinesAreCountedWithTheHeader) {
  EXPECT_THAT(ReadAll("TextLineReaderV2", {{"skip_header_lines", int64_t{2}}},
                      "h\nh\n\r\nlast"),
              ElementsAre("f:3=", "f:4=last"));
  EXPECT_THAT(ReadAll("TextLineReaderV2", {{"skip_header_lines", int64_t{9}}},
                      "one\ntwo"),
              ElementsAre());
  const std::string zeros(1 << 20, '\0');
  EXPECT_THAT(ReadAll("TextLineReaderV2", {}, zeros),
              ElementsAre(absl::StrCat("f:1=", zeros)));
}

TEST_F(ReaderKernelsTest, InvalidAttrsAreRejected) {
  const auto expect = [&](const std::string& op, const AttrMap& attrs,
                          const std::string& text) {
    EXPECT_THAT(Make(op, attrs), StatusIs(kInvalid, text));
  };
  expect("TextLineReaderV2", {{"skip_header_lines", int64_t{-1}}},
         "skip_header_lines must be >= 0 not -1");
  const std::string fixed = "FixedLengthRecordReaderV2";
  expect(fixed, Layout(-1, 1, 0, 0), "header_bytes must be >= 0 not -1");
  expect(fixed, Layout(0, -2, 0, 0), "record_bytes must be >= 0 not -2");
  expect(fixed, Layout(0, 1, -3, 0), "footer_bytes must be >= 0 not -3");
  expect(fixed, Layout(0, 1, 0, -4), "hop_bytes must be >= 0 not -4");
  expect(fixed, Layout(1, 0, 1, 0), "endlessly many records");
  AttrMap snappy = Layout(0, 1, 0, 0);
  snappy["encoding"] = std::string("SNAPPY");
  expect(fixed, snappy, "Unsupported encoding: SNAPPY");
  expect("TFRecordReaderV2", {{"compression_type", std::string("gzip")}},
         "Unsupported compression_type: gzip; there are '', 'GZIP' and 'ZLIB'");
}

TEST_F(ReaderKernelsTest, CountsAndStatesAreChecked) {
  auto reader = Make("IdentityReaderV2", {});
  ASSERT_OK(reader);
  const KernelInput queue = Queue({"a"});
  EXPECT_THAT(harness_.Run("ReaderReadUpToV2",
                           {*reader, queue, Tensor::Scalar(int64_t{-1})}),
              StatusIs(kInvalid, "num_records must be >= 0 not -1"));
  EXPECT_THAT(
      harness_.Run("ReaderReadUpToV2", {*reader, queue, Tensor(DT_INT64, {2})}),
      StatusIs(kInvalid, "num_records must be a scalar"));
  EXPECT_THAT(
      harness_.Run("ReaderRestoreStateV2", {*reader, Tensor(DT_STRING, {1})}),
      StatusIs(kInvalid, "Reader state must be scalar, but had shape: [1]"));
  const auto restore = [&](absl::string_view state) {
    return harness_
        .Run("ReaderRestoreStateV2",
             {*reader, Tensor::Scalar(std::string(state))})
        .status();
  };
  EXPECT_THAT(restore("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
              StatusIs(kInvalid, "Unexpected negative value"));
  EXPECT_THAT(restore("\x08\x02\x10\x01"),
              StatusIs(kInvalid, "Inconsistent work started vs. finished"));
  EXPECT_OK(restore("\x08\x02\x10\x02\x18\x05"));
  EXPECT_EQ(harness_.RunOne("ReaderNumRecordsProducedV2", {*reader})
                ->scalar<int64_t>(),
            5);
  // A huge num_records must not reserve memory.
  ASSERT_OK_AND_ASSIGN(
      const auto records,
      harness_.Run("ReaderReadUpToV2",
                   {*reader, queue, Tensor::Scalar(INT64_MAX)}));
  EXPECT_TRUE(SameBits(records[1], Tensor::Vector<std::string>({"a"})));
}

// Graphs of old versions have handles by reference.
TEST_F(ReaderKernelsTest, HandlesMayBeReferences) {
  ASSERT_OK(files_.WriteFileAtomically("f", "whole"));
  auto reader = Make("WholeFileReader", {});
  ASSERT_OK(reader);
  auto queue =
      Make("FIFOQueue",
           {{"component_types", DataTypeVector{DT_STRING}},
            {"shapes", std::vector<PartialShape>{PartialShape::Scalar()}}});
  ASSERT_OK(queue);
  ASSERT_OK(harness_.Run("QueueEnqueue", {*queue, Tensor::Scalar("f")}));
  ASSERT_OK_AND_ASSIGN(const auto record,
                       harness_.Run("ReaderRead", {*reader, *queue}));
  EXPECT_EQ(record[1].scalar<std::string>(), "whole");
  EXPECT_EQ(harness_.RunOne("ReaderNumWorkUnitsCompleted", {*reader})
                ->scalar<int64_t>(),
            1);
  EXPECT_OK(harness_.Run("ReaderReset", {*reader}));
  EXPECT_EQ(
      harness_.RunOne("ReaderNumRecordsProduced", {*reader})->scalar<int64_t>(),
      0);
}

}  // namespace
}  // namespace weft
