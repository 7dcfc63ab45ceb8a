#include "libs/kernels/data/record_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/lasting_error.h"

namespace weft {

absl::StatusOr<bool> RecordFile::ReadText(std::string&) {
  return absl::UnimplementedError("records of this file are no texts");
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

// How long an error of the machine (no descriptor, no memory, a disk that does
// not read) or of a store may come again before a file is given up.
constexpr absl::Duration kGiveUpAfter = absl::Seconds(10);

// Whether the file may be reached later, however long that takes.
bool MayPass(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error) ||
         absl::IsAborted(error) || absl::IsCancelled(error);
}

// Stores of objects refuse whatever there is while keys are renewed late, or
// where a proxy answers in their place.
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
  // What `read` reads of the first file that has a record; false at the end.
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

  // Returns `error`. The file at hand is given up where the error would come
  // again and again.
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
  // Whether an error that has come again will come each time.
  bool Stays(const absl::Status& error, absl::Time now) const {
    if (MayPass(error)) return false;
    const bool is_of_the_file =
        (IsOfTheFile(error) && !MayBeOfTheStore(error, name())) ||
        absl::IsOutOfRange(error) || absl::IsUnimplemented(error);
    return is_of_the_file || now - first_error_ >= kGiveUpAfter;
  }
  // Of a file that can't be read on after an error. Where the error may be that
  // of the way to the file, the next call opens it again.
  void GiveUp(const absl::Status& error) {
    if (!MayPass(error) && !MayBeOfTheStore(error, name())) {
      return GoToNextFile();
    }
    reopen_at_ = position();
    version_ = file_->version();
    file_.reset();
  }
  // Of a file that was opened again: whether it is another one by now, in which
  // that position means nothing.
  bool IsReplaced() const {
    const std::string version = file_->version();
    return !version_.empty() && !version.empty() && version != version_;
  }
  absl::Status GiveUpReplaced() {
    const absl::Status error = absl::FailedPreconditionError(absl::StrCat(
        name(), ": it was replaced while it was read, up to byte ", reopen_at_,
        ", so its other records can't be read. Write new data to files of "
        "other names."));
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
  // Of what opens a file; the file system has named it.
  absl::Status Named(const absl::Status& status) const {
    if (status.ok() || absl::StrContains(status.message(), name())) {
      return status;
    }
    return Annotate(status, name());
  }

  size_t index_ = 0;
  std::unique_ptr<RecordFile> file_;  // null before the first and between two
  uint64_t reopen_at_ = 0;            // where it goes on while it is null
  std::string version_;               // of the file that was given up there
  // Of the file at hand, and where it was at that.
  absl::StatusCode last_error_ = absl::StatusCode::kOk;
  uint64_t position_of_error_ = 0;
  absl::Time first_error_;  // of that code, there
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
        "it ends before ", position, ", where it should be gone on with"));
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
