#include "libs/base/near_names.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr size_t kMostSuggested = 3;
constexpr int kMostEdits = 3;
// The distance of a name in another scope. It ranks after any name that differs
// in one or two characters.
constexpr int kOtherScope = 2;
constexpr int kFar = kMostEdits + 1;

bool IsInOtherScope(absl::string_view a, absl::string_view b) {
  return absl::EndsWith(a, absl::StrCat("/", b)) ||
         absl::EndsWith(b, absl::StrCat("/", a));
}

// Returns how many characters of `a` must be inserted, deleted, replaced or
// exchanged with the next character to get `b`. Returns kFar for more than
// `limit`.
// Computes one row of the dynamic-programming table at a time, and only the
// cells near the diagonal that matter, because a client chooses both names and
// they may be very long.
int EditDistance(absl::string_view a, absl::string_view b, int limit) {
  const int height = static_cast<int>(a.size());
  const int width = static_cast<int>(b.size());
  if (std::abs(height - width) > limit) return kFar;
  std::vector<int> before(width + 1, kFar), above(width + 1, kFar),
      row(width + 1, kFar);
  std::iota(above.begin(), above.begin() + std::min(width, limit) + 1, 0);
  for (int i = 1; i <= height; ++i) {
    const int first = std::max(i - limit, 0);
    const int last = std::min(i + limit, width);
    // The next row also reads the adjacent cells on both sides.
    if (first > 0) row[first - 1] = kFar;
    if (last < width) row[last + 1] = kFar;
    for (int j = first; j <= last; ++j) {
      if (j == 0) {
        row[0] = i;
        continue;
      }
      row[j] = std::min({above[j] + 1, row[j - 1] + 1,
                         above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool is_exchanged =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    const int least =
        *std::min_element(row.begin() + first, row.begin() + last + 1);
    if (least > limit) return kFar;
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[width] <= limit ? above[width] : kFar;
}

}  // namespace

NearNames::NearNames(absl::string_view unknown)
    : unknown_(absl::AsciiStrToLower(unknown)) {}

void NearNames::Consider(absl::string_view known) {
  if (unknown_.empty() || known.empty()) return;
  const std::string name = absl::AsciiStrToLower(known);
  const int longest = static_cast<int>(std::max(unknown_.size(), name.size()));
  int distance =
      EditDistance(unknown_, name, std::min(kMostEdits, longest / 3));
  if (IsInOtherScope(unknown_, name)) {
    distance = std::min(distance, kOtherScope);
  }
  if (distance == kFar) return;
  const std::pair<int, std::string> near(distance, known);
  if (absl::c_linear_search(nearest_, near)) return;
  nearest_.push_back(near);
  std::sort(nearest_.begin(), nearest_.end());
  if (nearest_.size() > kMostSuggested) nearest_.pop_back();
}

std::string NearNames::Suggestion() const {
  std::string text;
  for (size_t i = 0; i < nearest_.size(); ++i) {
    const bool is_last = i + 1 == nearest_.size();
    absl::StrAppend(&text,
                    i == 0    ? ""
                    : is_last ? " or "
                              : ", ",
                    "\"", nearest_[i].second, "\"");
  }
  return text.empty() ? "" : absl::StrCat(" Did you mean ", text, "?");
}

}  // namespace weft
