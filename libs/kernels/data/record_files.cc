#include "libs/kernels/data/record_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/status.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/lasting_error.h"

namespace weft {

absl::StatusOr<bool> RecordFile::ReadText(std::string&) {
  return absl::UnimplementedError("records of this file are not strings");
}

absl::StatusOr<bool> TextFile::Read(Allocator& allocator,
                                    DatasetElement* element) {
  ASSIGN_OR_RETURN(Tensor record,
                   Tensor::Allocate(allocator, DT_STRING, TensorShape()));
  element->resize(1);
  (*element)[0] = std::move(record);
  return ReadText((*element)[0].mutable_scalar<std::string>());
}

namespace {

// The time for which a local error (no descriptor, no memory, a disk that
// cannot be read) is retried before a file is given up.
constexpr absl::Duration kGiveUpAfter = absl::Seconds(10);

// Returns whether the file may become reachable later.
bool MayPass(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error) ||
         absl::IsAborted(error) || absl::IsCancelled(error);
}

}  // namespace

class FilesDataset::Iterator : public IteratorOf<FilesDataset> {
 public:
  using IteratorOf::IteratorOf;

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) override {
    return Next(context, [&](RecordFile& file) {
      return file.Read(context.allocator(), element);
    });
  }

  bool GivesTexts() const override { return dataset().HoldsTexts(); }
  absl::Status GetTexts(IteratorContext& context, absl::Span<std::string> texts,
                        size_t* done) override {
    for (; *done < texts.size(); ++*done) {
      ASSIGN_OR_RETURN(const bool has, Next(context, [&](RecordFile& file) {
                         return file.ReadText(texts[*done]);
                       }));
      if (!has) break;
    }
    return absl::OkStatus();
  }

  absl::Status Save(IteratorContext&, IteratorStateWriter writer) override {
    writer.Write("file", static_cast<int64_t>(index_));
    const uint64_t position = file_ == nullptr ? 0 : file_->position();
    writer.Write("position", static_cast<int64_t>(position));
    writer.Write("is_open", int64_t{file_ != nullptr});
    return absl::OkStatus();
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    ASSIGN_OR_RETURN(const int64_t index, reader.ReadInt("file"));
    ASSIGN_OR_RETURN(const int64_t position, reader.ReadInt("position"));
    ASSIGN_OR_RETURN(const bool is_open, reader.ReadBool("is_open"));
    const auto count = static_cast<int64_t>(names().size());
    if (index < 0 || index > count || position < 0 ||
        (is_open && index == count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the saved state of an iterator is at ", position,
                       " of file ", index, ", and there are ", count));
    }
    index_ = static_cast<size_t>(index);
    file_.reset();
    last_error_ = absl::StatusCode::kOk;
    if (!is_open) return absl::OkStatus();
    return Named(Open(context, static_cast<uint64_t>(position)));
  }

 private:
  // Applies `read` to the first file that has a record; returns false at the
  // end.
  template <typename Read>
  absl::StatusOr<bool> Next(IteratorContext& context, const Read& read) {
    while (index_ < names().size()) {
      RETURN_IF_ERROR(context.cancellation().status());
      if (file_ == nullptr) {
        const absl::Status opened = Named(Open(context, 0));
        if (!opened.ok()) return Failed(context, opened);
      }
      const absl::StatusOr<bool> has = read(*file_);
      if (has.ok() && *has) return true;
      if (!has.ok()) {
        return Failed(context, Annotate(has.status(), name()));
      }
      GoToNextFile();
    }
    return false;
  }

  // Returns `error`. Gives up the current file if the error would recur
  // forever.
  absl::Status Failed(IteratorContext& context, const absl::Status& error) {
    const absl::Time now = context.scheduler().clock().Now();
    const uint64_t position = file_ == nullptr ? 0 : file_->position();
    const bool comes_again =
        error.code() == last_error_ && position == position_of_error_;
    if (!comes_again) {
      last_error_ = error.code();
      position_of_error_ = position;
      first_error_ = now;
    }
    const bool stays = IsOfTheFile(error) || absl::IsOutOfRange(error) ||
                       absl::IsUnimplemented(error) ||
                       now - first_error_ >= kGiveUpAfter;
    if ((comes_again && stays && !MayPass(error)) ||
        (file_ != nullptr && file_->IsGivenUpAfterError())) {
      GoToNextFile();
    }
    return error;
  }
  void GoToNextFile() {
    file_.reset();
    ++index_;
    last_error_ = absl::StatusCode::kOk;
  }

  const std::vector<std::string>& names() const { return dataset().files_; }
  const std::string& name() const { return names()[index_]; }

  absl::Status Open(IteratorContext& context, uint64_t position) {
    ASSIGN_OR_RETURN(file_,
                     dataset().Open(context.file_system(), index_, position));
    return absl::OkStatus();
  }
  // The error of opening a file; the file system has named it.
  absl::Status Named(const absl::Status& status) const {
    if (status.ok() || absl::StrContains(status.message(), name())) {
      return status;
    }
    return Annotate(status, name());
  }

  size_t index_ = 0;
  // null before the first file and between two
  std::unique_ptr<RecordFile> file_;
  // The last error of the current file, and the position.
  absl::StatusCode last_error_ = absl::StatusCode::kOk;
  uint64_t position_of_error_ = 0;
  absl::Time first_error_;  // of that code, at that position
};

absl::StatusOr<std::unique_ptr<DatasetIterator>> FilesDataset::NewIterator(
    IteratorContext&) const {
  return std::make_unique<Iterator>(*this);
}

absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(FileSystem& files,
                                                        const std::string& path,
                                                        Compression compression,
                                                        uint64_t position) {
  ASSIGN_OR_RETURN(auto file, files.NewRandomAccessFile(path));
  auto stream = NewInputStream(std::move(file), compression);
  if (compression == Compression::kNone) {
    stream->GoTo(position);
    return stream;
  }
  const absl::Status status = SkipBytes(*stream, position);
  if (absl::IsOutOfRange(status)) {
    return absl::DataLossError(absl::StrCat(
        "the file ends before offset ", position, ", where reading resumes"));
  }
  RETURN_IF_ERROR(status);
  return stream;
}

absl::StatusOr<Compression> CompressionInput(const OpKernelContext& context,
                                             int i) {
  ASSIGN_OR_RETURN(const std::string type,
                   ScalarInput<std::string>(context, i, "compression_type"));
  if (type.empty()) return Compression::kNone;
  if (type == "ZLIB") return Compression::kZlib;
  if (type == "GZIP") return Compression::kGzip;
  return absl::InvalidArgumentError(
      absl::StrCat("Unsupported compression_type: ", type));
}

}  // namespace weft
