#include "libs/kernels/data/record_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/permanent_error.h"

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
// cannot be read) or an error of an object store is retried before a file is
// given up.
constexpr absl::Duration kGiveUpAfter = absl::Seconds(10);

// Returns whether the file may become reachable later.
bool MayPass(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error) ||
         absl::IsAborted(error) || absl::IsCancelled(error);
}

// Returns whether an object store may have refused access to an existing file,
// for example because credentials are renewed late or a proxy answered.
bool MayBeOfTheStore(const absl::Status& error, absl::string_view path) {
  return !SchemeAndHost(path).empty() &&
         (absl::IsPermissionDenied(error) || absl::IsFailedPrecondition(error));
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
    writer.Write("position", static_cast<int64_t>(position()));
    writer.Write("is_open", int64_t{file_ != nullptr || reopen_at_ > 0});
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
    reopen_at_ = 0;
    version_.clear();
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
        const absl::Status opened = Named(Open(context, reopen_at_));
        if (!opened.ok()) return Failed(context, opened);
        if (IsReplaced()) return GiveUpReplaced();
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
    const bool comes_again =
        error.code() == last_error_ && position() == position_of_error_;
    if (!comes_again) {
      last_error_ = error.code();
      position_of_error_ = position();
      first_error_ = now;
    }
    if (comes_again && Stays(error, now)) {
      GoToNextFile();
    } else if (file_ != nullptr && file_->IsGivenUpAfterError()) {
      GiveUp(error);
    }
    return error;
  }
  // Returns whether an error that has recurred will recur forever.
  bool Stays(const absl::Status& error, absl::Time now) const {
    if (MayPass(error)) return false;
    const bool is_of_the_file =
        (IsOfTheFile(error) && !MayBeOfTheStore(error, name())) ||
        absl::IsOutOfRange(error) || absl::IsUnimplemented(error);
    return is_of_the_file || now - first_error_ >= kGiveUpAfter;
  }
  // Closes a file that cannot be read further after an error. If access to the
  // file may have failed rather than the file itself, the next call reopens it.
  void GiveUp(const absl::Status& error) {
    if (!MayPass(error) && !MayBeOfTheStore(error, name())) {
      return GoToNextFile();
    }
    reopen_at_ = position();
    version_ = file_->version();
    file_.reset();
  }
  // Returns whether a reopened file is a new version, in which the old position
  // is meaningless.
  bool IsReplaced() const {
    const std::string version = file_->version();
    return !version_.empty() && !version.empty() && version != version_;
  }
  absl::Status GiveUpReplaced() {
    const absl::Status error = absl::FailedPreconditionError(absl::StrCat(
        name(), ": it was replaced after it had been read up to byte ",
        reopen_at_,
        ", so its remaining records cannot be read. Write new data to files "
        "with new names."));
    GoToNextFile();
    return error;
  }
  void GoToNextFile() {
    file_.reset();
    reopen_at_ = 0;
    version_.clear();
    ++index_;
    last_error_ = absl::StatusCode::kOk;
  }

  const std::vector<std::string>& names() const { return dataset().files_; }
  const std::string& name() const { return names()[index_]; }
  uint64_t position() const {
    return file_ == nullptr ? reopen_at_ : file_->position();
  }

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
  uint64_t reopen_at_ = 0;  // the position to continue at while file_ is null
  std::string version_;     // of the file that was closed at reopen_at_
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
  return OpenStream(std::move(file), compression, position);
}

absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression,
    uint64_t position) {
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
