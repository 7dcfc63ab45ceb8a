// Lasting errors: errors of a dataset that each further call would meet again,
// so that IgnoreErrors, which would ask for ever, returns them.
#ifndef WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_
#define WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"

namespace weft {

inline constexpr char kLastingErrorUrl[] = "weft/lasting_dataset_error";

inline absl::Status MarkLasting(absl::Status status) {
  status.SetPayload(kLastingErrorUrl, absl::Cord());
  return status;
}

// Whether a file itself is the reason of the error, so that each try to open or
// read it meets it again.
inline bool IsOfTheFile(const absl::Status& error) {
  return absl::IsNotFound(error) || absl::IsPermissionDenied(error) ||
         absl::IsDataLoss(error) || absl::IsInvalidArgument(error) ||
         absl::IsFailedPrecondition(error);
}

inline bool IsLasting(const absl::Status& status) {
  return status.GetPayload(kLastingErrorUrl).has_value();
}

// Counts the passes through an input, in a row, that give errors only. It makes
// an endless repetition of them end.
class BarrenPasses {
 public:
  void NoteElement() { has_element_ = true; }
  void NoteError(absl::Status error) { last_error_ = std::move(error); }

  // After a pass; `is_endless`: another one follows in any case. The last error
  // as a lasting one, after so many passes without an element.
  absl::Status EndPass(absl::string_view dataset, bool is_endless) {
    absl::Status error = std::exchange(last_error_, absl::OkStatus());
    const bool is_barren = !std::exchange(has_element_, false) && !error.ok();
    count_ = is_barren ? count_ + 1 : 0;
    if (!is_endless || count_ < kMost) return absl::OkStatus();
    has_failed_ = true;
    return MarkLasting(Annotate(
        error, absl::StrCat(dataset, ": its input gave only errors in ", count_,
                            " whole passes, the last one")));
  }
  // Whether EndPass has returned an error: then there is no further pass.
  bool has_failed() const { return has_failed_; }

 private:
  static constexpr int kMost = 2;

  bool has_element_ = false;  // in this pass
  int count_ = 0;             // of passes, in a row
  absl::Status last_error_;   // in this pass
  bool has_failed_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_LASTING_ERROR_H_
