// Permanent errors are errors of a dataset that every further call would return
// again. IgnoreErrors returns them, because it would otherwise retry forever.
#ifndef WEFT_LIBS_KERNELS_DATA_PERMANENT_ERROR_H_
#define WEFT_LIBS_KERNELS_DATA_PERMANENT_ERROR_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"

namespace weft {

inline constexpr char kPermanentErrorUrl[] = "weft/lasting_dataset_error";

inline absl::Status MarkPermanent(absl::Status status) {
  status.SetPayload(kPermanentErrorUrl, absl::Cord());
  return status;
}

// Returns whether the file itself causes the error, so that every attempt to
// open or read it fails in the same way.
inline bool IsOfTheFile(const absl::Status& error) {
  return absl::IsNotFound(error) || absl::IsPermissionDenied(error) ||
         absl::IsDataLoss(error) || absl::IsInvalidArgument(error) ||
         absl::IsFailedPrecondition(error);
}

inline bool IsPermanent(const absl::Status& status) {
  return status.GetPayload(kPermanentErrorUrl).has_value();
}

// EmptyPasses counts consecutive passes through an input that return only
// errors, to end an endless repetition of them.
class EmptyPasses {
 public:
  void NoteElement() { has_element_ = true; }
  void NoteError(absl::Status error) { last_error_ = std::move(error); }

  // Must be called after each pass; `is_endless` means that another one always
  // follows. After too many passes without an element, returns the last error
  // as a lasting one.
  absl::Status EndPass(absl::string_view dataset, bool is_endless) {
    absl::Status error = std::exchange(last_error_, absl::OkStatus());
    const bool is_barren = !std::exchange(has_element_, false) && !error.ok();
    count_ = is_barren ? count_ + 1 : 0;
    if (!is_endless || count_ < kMost) return absl::OkStatus();
    has_failed_ = true;
    return MarkPermanent(Annotate(
        error, absl::StrCat(dataset, ": its input gave only errors in ", count_,
                            " whole passes, the last one")));
  }
  // Returns whether EndPass has returned an error: then no pass follows.
  bool has_failed() const { return has_failed_; }

 private:
  static constexpr int kMost = 2;

  bool has_element_ = false;  // in this pass
  int count_ = 0;             // consecutive passes without an element
  absl::Status last_error_;   // in this pass
  bool has_failed_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_PERMANENT_ERROR_H_
