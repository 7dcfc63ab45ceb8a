// ElementResult: an element that was made ahead of time, or its error.
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

  // What GetNext of an iterator gives: the element, or the error.
  absl::StatusOr<bool> MoveTo(DatasetElement* to) {
    if (!status.ok()) return std::move(status);
    *to = std::move(element);
    return true;
  }
  // What it holds in memory.
  int64_t TotalBytes() const;
};

// As part of an iterator's state.
void WriteResult(IteratorStateWriter writer, absl::string_view name,
                 const ElementResult& result);
absl::StatusOr<ElementResult> ReadResult(const IteratorStateReader& reader,
                                         absl::string_view name);

absl::Status CheckResult(const ElementSpec& expected,
                         const ElementResult& result);

// Results one after the other: a container of them.
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
// They are of these types, or INVALID_ARGUMENT: others reckon with that.
template <typename Results>
absl::Status ReadResults(const IteratorStateReader& reader,
                         absl::string_view name, const ElementSpec& expected,
                         Results& results) {
  const IteratorStateReader within = reader.Within(name);
  absl::StatusOr<int64_t> size = within.ReadInt("size");
  if (!size.ok()) return size.status();
  for (int64_t i = 0; i < *size; ++i) {
    // Ends at the first that is not there, however large the size.
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
