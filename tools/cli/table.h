// Table formats rows and columns as text, with a header and with columns as
// wide as their contents. Contents may come from other processes, so control
// characters are shown as "?".
//
// A value type, not thread-safe.
#ifndef WEFT_TOOLS_CLI_TABLE_H_
#define WEFT_TOOLS_CLI_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft::tools {

class Table {
 public:
  struct Column {
    std::string header;
    bool is_number = false;  // aligns the column to the right
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row. REQUIRES: one text per column.
  void AddRow(std::vector<std::string> row);

  // Returns one line per row, without trailing spaces. Returns only the header
  // if there are no rows.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns text that is safe to print on a terminal.
std::string Printable(absl::string_view text);

// Returns a number of bytes as text, for example "0 B", "784 B", "30.6 KiB" or
// "1.5 GiB".
std::string BytesText(int64_t bytes);

// Returns a count with a noun, for example "1 task" or "2 tasks".
std::string CountText(int64_t count, absl::string_view what);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TABLE_H_
