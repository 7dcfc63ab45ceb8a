// Table: rows and columns as text for people: a header, columns as wide as
// what is in them. What it is given may come from other processes, so control
// characters are shown as "?".
//
// A value, not synchronised.
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
    bool is_number = false;  // to the right
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one text for each column.
  void AddRow(std::vector<std::string> row);

  // One line each, without spaces at its end; the header alone where there are
  // no rows.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// One line that a terminal can show.
std::string Printable(absl::string_view text);

// "0 B", "784 B", "30.6 KiB", "1.5 GiB".
std::string BytesText(int64_t bytes);

// "1 task", "2 tasks".
std::string CountText(int64_t count, absl::string_view what);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TABLE_H_
