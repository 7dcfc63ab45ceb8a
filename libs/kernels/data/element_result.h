// ElementResult is an element computed ahead of time, or its error.
#ifndef WEFT_LIBS_KERNELS_DATA_ELEMENT_RESULT_H_
#define WEFT_LIBS_KERNELS_DATA_ELEMENT_RESULT_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/data/dataset.h"

namespace weft {

struct ElementResult {
  absl::Status status;
  DatasetElement element;

  // Implements GetNext of an iterator: moves the element out, or returns the
  // error.
  absl::StatusOr<bool> MoveTo(DatasetElement* to) {
    if (!status.ok()) return std::move(status);
    *to = std::move(element);
    return true;
  }
  // The memory that it holds.
  int64_t TotalBytes() const;
};

// Writes the result as part of an iterator's state.
void WriteResult(IteratorStateWriter writer, absl::string_view name,
                 const ElementResult& result);
absl::StatusOr<ElementResult> ReadResult(const IteratorStateReader& reader,
                                         absl::string_view name);

absl::Status CheckResult(const ElementSpec& expected,
                         const ElementResult& result);

// Writes a container of results.
template <typename Results>
void WriteResults(IteratorStateWriter writer, absl::string_view name,
                  const Results& results) {
  IteratorStateWriter within = writer.Within(name);
  within.Write("size", static_cast<int64_t>(results.size()));
  int64_t i = 0;
  for (const ElementResult& result : results) {
    WriteResult(within, absl::StrCat(i++), result);
  }
}
// Checks that the elements have these types, or returns INVALID_ARGUMENT:
// callers rely on the types.
template <typename Results>
absl::Status ReadResults(const IteratorStateReader& reader,
                         absl::string_view name, const ElementSpec& expected,
                         Results& results) {
  const IteratorStateReader within = reader.Within(name);
  absl::StatusOr<int64_t> size = within.ReadInt("size");
  if (!size.ok()) return size.status();
  for (int64_t i = 0; i < *size; ++i) {
    // Stops at the first missing result, however large the stated size is.
    absl::StatusOr<ElementResult> result = ReadResult(within, absl::StrCat(i));
    if (!result.ok()) return result.status();
    const absl::Status fits = CheckResult(expected, *result);
    if (!fits.ok()) return fits;
    results.push_back(*std::move(result));
  }
  return absl::OkStatus();
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_RESULT_H_
