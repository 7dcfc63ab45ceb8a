#include "tools/cli/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weft::tools {
namespace {

constexpr absl::string_view kGap = "  ";

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Returns the number of characters. UTF-8 represents some characters by several
// bytes.
size_t WidthOf(absl::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void AppendCell(absl::string_view text, size_t width, bool to_the_right,
                std::string& line) {
  const std::string padding(width - WidthOf(text), ' ');
  absl::StrAppend(&line, to_the_right ? padding : "", text,
                  to_the_right ? "" : padding);
}

}  // namespace

void Table::AddRow(std::vector<std::string> row) {
  row.resize(columns_.size());
  for (std::string& text : row) text = Printable(text);
  rows_.push_back(std::move(row));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  std::vector<std::string> headers;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headers.push_back(columns_[i].header);
    widths.push_back(WidthOf(headers.back()));
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], WidthOf(row[i]));
    }
  }
  std::string result;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) absl::StrAppend(&line, kGap);
      AppendCell(row[i], widths[i], columns_[i].is_number, line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&result, line, "\n");
  };
  append(headers);
  for (const auto& row : rows_) append(row);
  return result;
}

std::string Printable(absl::string_view text) {
  std::string result(text);
  std::replace_if(result.begin(), result.end(), IsControl, '?');
  return result;
}

std::string BytesText(int64_t bytes) {
  static constexpr absl::string_view kUnits[] = {"KiB", "MiB", "GiB",
                                                 "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // Values that would be printed as 1024.0 use the next unit.
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string CountText(int64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace weft::tools
