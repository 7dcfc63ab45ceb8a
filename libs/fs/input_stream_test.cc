#include "libs/fs/input_stream.h"

#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;

std::string Compressed(const std::string& text, Compression compression) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                         ZlibWindowBits(compression), 9, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

class InputStreamTest : public testing::Test {
 protected:
  std::unique_ptr<InputStream> Open(
      const std::string& bytes, Compression compression = Compression::kNone) {
    EXPECT_OK(files_.WriteFileAtomically("file", bytes));
    auto file = failing_.NewRandomAccessFile("file");
    EXPECT_OK(file);
    return NewInputStream(*std::move(file), compression);
  }

  // Returns all lines, and checks that reading ends with the status code `end`.
  std::vector<std::string> Lines(InputStream& stream, absl::StatusCode end,
                                 const LineReaderOptions& options = {}) {
    LineReader reader(stream, options);
    std::vector<std::string> lines;
    std::string line;
    absl::Status status;
    while ((status = reader.ReadLine(line)).ok()) lines.push_back(line);
    EXPECT_EQ(status.code(), end) << status;
    EXPECT_EQ(reader.ReadLine(line).code(), end);
    return lines;
  }
  std::vector<std::string> LinesOf(const std::string& bytes) {
    const auto stream = Open(bytes);
    return Lines(*stream, kOutOfRange);
  }

  MemoryFileSystem files_;
  FailingFileSystem failing_{files_};
};

using Strings = std::vector<std::string>;

TEST_F(InputStreamTest, LinesEndAsInTensorFlow) {
  EXPECT_EQ(LinesOf(""), Strings{});
  EXPECT_EQ(LinesOf("one\ntwo"), (Strings{"one", "two"}));
  EXPECT_EQ(LinesOf("one\n\ntwo\n"), (Strings{"one", "", "two"}));
  EXPECT_EQ(LinesOf("one\r\n\r\na\rb\r\r\n"), (Strings{"one", "", "a\rb\r"}));
  EXPECT_EQ(LinesOf("last\r"), Strings{"last"});
  EXPECT_EQ(LinesOf("\r"), Strings{});
  EXPECT_EQ(LinesOf(std::string("\0\0\n\0", 4)),
            (Strings{std::string(2, '\0'), std::string(1, '\0')}));
}

TEST_F(InputStreamTest, CarriageReturnsAreRemovedFromLines) {
  const auto lines_of = [&](const std::string& bytes) {
    const auto stream = Open(bytes);
    return Lines(*stream, kOutOfRange, {.drops_returns = true});
  };
  EXPECT_EQ(lines_of("a\rb\r\r\nc\r\n\r\n\nd\r"),
            (Strings{"ab", "c", "", "", "d"}));
  EXPECT_EQ(lines_of("x\n\r\r"), Strings{"x"});
  EXPECT_EQ(lines_of("\r\r\n"), Strings{""});
}

TEST_F(InputStreamTest, LinesMayCrossTheEndOfTheBuffer) {
  for (const size_t size : {size_t{256} << 10, size_t{1} << 20}) {
    for (const size_t off : {size_t{0}, size_t{1}, size_t{2}}) {
      const std::string line(size - off, 'x');
      EXPECT_EQ(LinesOf(line + "\r\nend"), (Strings{line, "end"}));
      EXPECT_EQ(LinesOf(line), Strings{line});
    }
  }
}

TEST_F(InputStreamTest, TooLongLineIsRejected) {
  const auto stream = Open("ab\n" + std::string(3 << 20, '\0'));
  LineReader reader(*stream, {.max_line_bytes = 1 << 20});
  std::string line;
  EXPECT_OK(reader.ReadLine(line));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(reader.ReadLine(line),
                StatusIs(absl::StatusCode::kResourceExhausted, "1048576"));
    EXPECT_TRUE(line.empty());
  }
}

TEST_F(InputStreamTest, FailedLineCanBeReadAgain) {
  const std::string first(400'000, 'a');
  const auto stream = Open(first + "\nsecond\n");
  LineReader reader(*stream);
  failing_.FailOperation(1, absl::UnavailableError("the network"));
  std::string line;
  EXPECT_THAT(reader.ReadLine(line), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(line.empty());
  EXPECT_OK(reader.ReadLine(line));
  EXPECT_EQ(line, first);
  EXPECT_OK(reader.ReadLine(line));
  EXPECT_EQ(line, "second");
}

TEST_F(InputStreamTest, CompressedFilesAreDecompressed) {
  const std::string text = std::string(700'000, 'z') + "\nlast";
  for (const Compression compression :
       {Compression::kZlib, Compression::kGzip}) {
    const std::string bytes = Compressed(text, compression);
    EXPECT_EQ(Lines(*Open(bytes, compression), kOutOfRange),
              (Strings{std::string(700'000, 'z'), "last"}));
    // The last line is incomplete because of the truncation, so it is not
    // returned.
    const std::string broken = bytes.substr(0, bytes.size() - 3);
    EXPECT_EQ(Lines(*Open(broken, compression), kDataLoss),
              Strings{std::string(700'000, 'z')});
    EXPECT_EQ(Lines(*Open("no stream", compression), kDataLoss), Strings{});
    EXPECT_EQ(Lines(*Open("", compression), kOutOfRange), Strings{});
  }
}

TEST_F(InputStreamTest, CompressedFileErrorIsKept) {
  // The text is hardly compressible, so that several reads of the file are
  // needed.
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 1'000'000; ++i) {
    random = random * 1664525 + 1013904223;
    text += static_cast<char>(random >> 24);
  }
  const auto stream =
      Open(Compressed(text, Compression::kZlib), Compression::kZlib);
  failing_.FailOperation(1, absl::UnavailableError("the network"));
  std::string got;
  EXPECT_THAT(AppendBytes(*stream, text.size(), got),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(AppendBytes(*stream, 1, got),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(got.empty());
}

TEST_F(InputStreamTest, BytesAreSkippedAndAppended) {
  const auto stream = Open(std::string(600'000, 'a') + "bcd");
  EXPECT_OK(SkipBytes(*stream, 0));
  EXPECT_OK(SkipBytes(*stream, 600'000));
  std::string got = ">";
  EXPECT_OK(AppendBytes(*stream, 0, got));
  EXPECT_OK(AppendBytes(*stream, 2, got));
  EXPECT_EQ(got, ">bc");
  // A wrong length makes AppendBytes allocate only little memory.
  EXPECT_THAT(AppendBytes(*stream, UINT64_MAX, got), StatusIs(kOutOfRange));
  EXPECT_EQ(got, ">bc");
  EXPECT_THAT(SkipBytes(*stream, UINT64_MAX), StatusIs(kOutOfRange));
}

TEST_F(InputStreamTest, AppendedBytesAreReadAfterGoTo) {
  const auto stream = Open("ab");
  std::string got;
  EXPECT_THAT(AppendBytes(*stream, 3, got), StatusIs(kOutOfRange));
  auto file = files_.NewAppendableFile("file");
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append("c"));
  ASSERT_OK((*file)->Close());
  stream->GoTo(0);
  EXPECT_OK(AppendBytes(*stream, 3, got));
  EXPECT_EQ(got, "abc");
}

}  // namespace
}  // namespace weft
