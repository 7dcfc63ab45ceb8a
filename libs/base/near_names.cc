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
// A name in another scope ranks after any that differs in one or two
// characters.
constexpr int kOtherScope = 2;
constexpr int kFar = kMostEdits + 1;

bool IsInOtherScope(absl::string_view a, absl::string_view b) {
  return absl::EndsWith(a, absl::StrCat("/", b)) ||
         absl::EndsWith(b, absl::StrCat("/", a));
}

// Returns how many characters to insert, delete, replace or exchange with the
// next one; kFar for more than `limit`. Computes one row of the usual table at
// a time.
int EditDistance(absl::string_view a, absl::string_view b, int limit) {
  const int width = static_cast<int>(b.size());
  if (std::abs(static_cast<int>(a.size()) - width) > limit) return kFar;
  std::vector<int> before(width + 1), above(width + 1), row(width + 1);
  std::iota(above.begin(), above.end(), 0);
  for (int i = 1; i <= static_cast<int>(a.size()); ++i) {
    row[0] = i;
    for (int j = 1; j <= width; ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1,
                         above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool is_exchanged =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) > limit) return kFar;
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
