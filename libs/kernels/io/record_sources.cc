#include "libs/kernels/io/record_sources.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/bounded_file.h"
#include "libs/summary/record_reader.h"

namespace weft {
namespace {

// The number of lines skipped between checks for cancellation.
constexpr int64_t kLinesAtOnce = 1 << 16;
constexpr uint64_t kBytesAtOnce = 64 << 20;

class TextLineSource : public RecordSource {
 public:
  explicit TextLineSource(int64_t skip_header_lines)
      : skip_header_lines_(skip_header_lines) {}

  absl::Status Start(const Place& place, const std::string& work) override {
    ASSIGN_OR_RETURN(auto file, place.files.NewRandomAccessFile(work));
    path_ = work;
    stream_ = NewInputStream(std::move(file), Compression::kNone);
    lines_.emplace(*stream_);
    line_number_ = 0;
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation&) override {
    while (true) {
      const absl::Status status = lines_->ReadLine(record.value);
      if (absl::IsOutOfRange(status)) return Outcome::kEnd;
      RETURN_IF_ERROR(status);
      if (++line_number_ > skip_header_lines_) break;
      if (line_number_ % kLinesAtOnce == 0) return Outcome::kNotYet;
    }
    record.key = absl::StrCat(path_, ":", line_number_);
    return Outcome::kRecord;
  }

  bool HasNext() const override {
    return line_number_ >= skip_header_lines_ && lines_->HasLine();
  }

  void Stop() override {
    lines_.reset();
    stream_.reset();
  }

 private:
  const int64_t skip_header_lines_;
  std::string path_;
  std::unique_ptr<InputStream> stream_;
  std::optional<LineReader> lines_;  // of the stream
  int64_t line_number_ = 0;
};

class FixedLengthSource : public RecordSource {
 public:
  FixedLengthSource(const FixedLengthLayout& layout, Compression compression)
      : header_(static_cast<uint64_t>(layout.header)),
        record_(static_cast<uint64_t>(layout.record)),
        footer_(static_cast<uint64_t>(layout.footer)),
        hop_(static_cast<uint64_t>(layout.hop == 0 ? layout.record
                                                   : layout.hop)),
        most_(layout.most),
        compression_(compression) {}

  absl::Status Start(const Place& place, const std::string& work) override {
    ASSIGN_OR_RETURN(auto file, place.files.NewRandomAccessFile(work));
    path_ = work;
    stream_ = NewInputStream(std::move(file), compression_);
    record_number_ = 0;
    position_ = 0;
    to_skip_ = header_;
    ahead_.clear();
    is_too_long_ = false;
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation&) override {
    const absl::Status status = ReadAhead();
    if (absl::IsOutOfRange(status)) return Outcome::kEnd;
    RETURN_IF_ERROR(status);
    if (to_skip_ > 0) return Outcome::kNotYet;
    record.value = ahead_.substr(0, static_cast<size_t>(record_));
    record.key = absl::StrCat(path_, ":", record_number_++);
    to_skip_ = hop_;
    return Outcome::kRecord;
  }

  void Stop() override {
    stream_.reset();
    ahead_.clear();
  }

 private:
  // Reads until `ahead_` begins with the next record and holds at least the
  // footer's size after it, or until there is more to skip. After an error it
  // continues at that position.
  absl::Status ReadAhead() {
    if (is_too_long_) return TooLong();
    const uint64_t passed = std::min<uint64_t>(to_skip_, ahead_.size());
    ahead_.erase(0, static_cast<size_t>(passed));
    to_skip_ -= passed;
    const uint64_t skipped = std::min(to_skip_, kBytesAtOnce);
    stream_->GoTo(position_);
    RETURN_IF_ERROR(SkipBytes(*stream_, skipped));
    position_ += skipped;
    to_skip_ -= skipped;
    if (to_skip_ > 0) return absl::OkStatus();
    const uint64_t wanted = record_ + footer_;
    if (ahead_.size() >= wanted) return absl::OkStatus();
    const uint64_t missing = std::min(wanted, most_ + 1) - ahead_.size();
    RETURN_IF_ERROR(AppendBytes(*stream_, missing, ahead_));
    position_ += missing;
    if (ahead_.size() <= most_) return absl::OkStatus();
    is_too_long_ = true;
    std::string().swap(ahead_);
    return TooLong();
  }

  absl::Status TooLong() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        path_, ": record ", record_number_, " of ", record_,
        " bytes (record_bytes) and the ", footer_,
        " bytes after it (footer_bytes) exceed ", most_, " bytes"));
  }

  const uint64_t header_, record_, footer_, hop_, most_;
  const Compression compression_;
  std::string path_;
  std::unique_ptr<InputStream> stream_;
  int64_t record_number_ = 0;
  std::string ahead_;      // bytes read, but not consumed
  uint64_t position_ = 0;  // position after ahead_
  uint64_t to_skip_ = 0;   // bytes before the next record
  bool is_too_long_ = false;
};

class TFRecordSource : public RecordSource {
 public:
  explicit TFRecordSource(Compression compression)
      : compression_(compression) {}

  absl::Status Start(const Place& place, const std::string& work) override {
    ASSIGN_OR_RETURN(auto file, place.files.NewRandomAccessFile(work));
    path_ = work;
    reader_.emplace(std::move(file),
                    summary::RecordReaderOptions{.compression = compression_});
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation&) override {
    record.key = absl::StrCat(path_, ":", reader_->offset());
    const absl::Status status = reader_->ReadRecord(record.value);
    if (absl::IsOutOfRange(status)) return Outcome::kEnd;
    RETURN_IF_ERROR(status);
    return Outcome::kRecord;
  }

  void Stop() override { reader_.reset(); }

 private:
  const Compression compression_;
  std::string path_;
  std::optional<summary::RecordReader> reader_;
};

class WholeFileSource : public RecordSource {
 public:
  absl::Status Start(const Place& place, const std::string& work) override {
    files_ = &place.files;
    allocator_ = &place.allocator;
    path_ = work;
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation& step) override {
    record.key = path_;
    ASSIGN_OR_RETURN(BoundedFile file,
                     ReadBoundedFile(*files_, path_, *allocator_, &step));
    record.value = std::move(file.contents);
    return Outcome::kLastRecord;
  }

  void Stop() override {}

 private:
  FileSystem* files_ = nullptr;
  Allocator* allocator_ = nullptr;
  std::string path_;
};

class IdentitySource : public RecordSource {
 public:
  absl::Status Start(const Place&, const std::string& work) override {
    work_ = work;
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Read(ReaderRecord& record,
                               const Cancellation&) override {
    record.key = work_;
    record.value = work_;
    return Outcome::kLastRecord;
  }

  void Stop() override {}

 private:
  std::string work_;
};

}  // namespace

std::unique_ptr<RecordSource> NewTextLineSource(int64_t skip_header_lines) {
  return std::make_unique<TextLineSource>(skip_header_lines);
}

std::unique_ptr<RecordSource> NewFixedLengthSource(
    const FixedLengthLayout& layout, Compression compression) {
  return std::make_unique<FixedLengthSource>(layout, compression);
}

std::unique_ptr<RecordSource> NewTFRecordSource(Compression compression) {
  return std::make_unique<TFRecordSource>(compression);
}

std::unique_ptr<RecordSource> NewWholeFileSource() {
  return std::make_unique<WholeFileSource>();
}

std::unique_ptr<RecordSource> NewIdentitySource() {
  return std::make_unique<IdentitySource>();
}

}  // namespace weft
