#include "libs/csv/plain_record.h"

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstring>

namespace weft {
namespace {

bool IsLineEndOrQuote(char c) { return c == '\n' || c == '\r' || c == '"'; }

// Sixteen characters at a time. Each mask has a bit for each character, the
// first in the lowest bit.
constexpr size_t kStep = 16;

class Characters {
 public:
  // REQUIRES: there are this many characters.
  explicit Characters(const char* from)
      : all_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))) {}

  unsigned MaskOf(char c) const { return ToMask(Are(c)); }
  bool Has(char a, char b, char c) const {
    return ToMask(_mm_or_si128(Are(a), _mm_or_si128(Are(b), Are(c)))) != 0;
  }

 private:
  __m128i Are(char c) const { return _mm_cmpeq_epi8(all_, _mm_set1_epi8(c)); }
  static unsigned ToMask(__m128i which) {
    return static_cast<unsigned>(_mm_movemask_epi8(which));
  }

  const __m128i all_;
};

// Records the selected fields.
class WantedFields {
 public:
  WantedFields(absl::Span<const int64_t> selected,
               absl::Span<absl::string_view> fields)
      : selected_(selected), fields_(fields) {}

  // Returns false once no more fields are needed, or there is no room.
  bool Add(const char* begin, const char* end) {
    const bool is_wanted = selected_.empty() || selected_[found_] == column_;
    ++column_;
    if (!is_wanted) return true;
    if (found_ == fields_.size()) {
      is_too_many_ = true;
      return false;
    }
    fields_[found_] = {begin, static_cast<size_t>(end - begin)};
    ++found_;
    return selected_.empty() || found_ < fields_.size();
  }
  bool IsFull() const { return found_ == fields_.size() && !is_too_many_; }

 private:
  const absl::Span<const int64_t> selected_;
  const absl::Span<absl::string_view> fields_;
  size_t found_ = 0;
  int64_t column_ = 0;
  bool is_too_many_ = false;
};

}  // namespace

bool SplitPlainCsvRecord(absl::string_view record, const CsvFormat& format,
                         absl::Span<const int64_t> selected,
                         absl::Span<absl::string_view> fields) {
  if (record.empty()) return fields.empty();
  if (IsLineEndOrQuote(format.delimiter)) return false;
  const char quote = format.has_quotes ? '"' : '\n';
  WantedFields wanted(selected, fields);
  const char* begin = record.data();
  const char* const end = begin + record.size();
  for (const char* at = begin; at < end; at += kStep) {
    const size_t left = static_cast<size_t>(end - at);
    char padded[kStep] = {};
    if (left < kStep) std::memcpy(padded, at, left);
    const Characters characters(left < kStep ? padded : at);
    if (characters.Has(quote, '\n', '\r')) return false;
    unsigned found = characters.MaskOf(format.delimiter);
    if (left < kStep) found &= (1u << left) - 1;
    for (; found != 0; found &= found - 1) {
      const char* const delimiter = at + std::countr_zero(found);
      if (!wanted.Add(begin, delimiter)) return wanted.IsFull();
      begin = delimiter + 1;
    }
  }
  wanted.Add(begin, end);
  return wanted.IsFull();
}

}  // namespace weft
