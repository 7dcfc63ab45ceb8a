#include "libs/fs/paced_file_system.h"

#include <algorithm>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Long appends are split into chunks of this size. Cancellation is checked
// before each chunk.
constexpr size_t kPacedPiece = size_t{1} << 20;
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

}  // namespace

class PacedFileSystem::File : public WritableFile {
 public:
  File(PacedFileSystem& files, std::unique_ptr<WritableFile> base)
      : files_(files), base_(std::move(base)) {}

  absl::Status Append(absl::string_view data) override {
    while (!data.empty()) {
      const absl::string_view piece = data.substr(0, kPacedPiece);
      RETURN_IF_ERROR(files_.Wait(piece.size()));
      RETURN_IF_ERROR(base_->Append(piece));
      if (files_.options_.written_bytes != nullptr) {
        files_.options_.written_bytes->Add(piece.size());
      }
      data.remove_prefix(piece.size());
    }
    return absl::OkStatus();
  }
  absl::Status Flush() override { return base_->Flush(); }
  absl::Status Sync() override { return base_->Sync(); }
  absl::Status Close() override { return base_->Close(); }
  void Abandon() override { base_->Abandon(); }

 private:
  PacedFileSystem& files_;
  const std::unique_ptr<WritableFile> base_;
};

PacedFileSystem::PacedFileSystem(FileSystem& base, PacedOptions options)
    : base_(base), options_(options) {}

// Reserves time for `bytes`. Time in which nothing was written is not credited:
// later writes keep the rate.
absl::Time PacedFileSystem::TakeTurn(size_t bytes) {
  const absl::Duration takes =
      absl::Seconds(static_cast<double>(bytes) /
                    static_cast<double>(options_.max_bytes_per_second));
  absl::MutexLock lock(&mutex_);
  const absl::Time begin = std::max(due_, options_.scheduler->clock().Now());
  due_ = begin + takes;
  return begin;
}

absl::Status PacedFileSystem::Wait(size_t bytes) {
  const absl::Time turn = options_.max_bytes_per_second > 0
                              ? TakeTurn(bytes)
                              : absl::InfinitePast();
  while (true) {
    if (options_.cancellation != nullptr) {
      RETURN_IF_ERROR(options_.cancellation->status());
    }
    if (turn == absl::InfinitePast()) return absl::OkStatus();
    const absl::Time now = options_.scheduler->clock().Now();
    if (now >= turn) return absl::OkStatus();
    options_.scheduler->NewEvent()->WaitUntil(std::min(turn, now + kLookAgain));
  }
}

absl::StatusOr<std::unique_ptr<WritableFile>> PacedFileSystem::Paced(
    absl::StatusOr<std::unique_ptr<WritableFile>> file) {
  RETURN_IF_ERROR(file.status());
  return std::make_unique<File>(*this, *std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>> PacedFileSystem::NewWritableFile(
    absl::string_view path) {
  return Paced(base_.NewWritableFile(path));
}

absl::StatusOr<std::unique_ptr<WritableFile>>
PacedFileSystem::NewAppendableFile(absl::string_view path) {
  return Paced(base_.NewAppendableFile(path));
}

}  // namespace weft
