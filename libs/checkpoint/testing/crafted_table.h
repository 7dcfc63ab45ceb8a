// Functions that craft tables with arbitrary block contents and valid
// checksums, for tests and fuzzers of the readers of tables.
#ifndef WEFT_LIBS_CHECKPOINT_TESTING_CRAFTED_TABLE_H_
#define WEFT_LIBS_CHECKPOINT_TESTING_CRAFTED_TABLE_H_

#include <snappy.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/crc32c.h"
#include "libs/checkpoint/varint.h"

namespace weft::checkpoint {

inline void AppendFixed32(uint32_t value, std::string* bytes) {
  for (int i = 0; i < 4; ++i) {
    bytes->push_back(static_cast<char>(value >> (8 * i)));
  }
}

// Returns an entry. Its key consists of the first `shared` bytes of the
// previous key and of `ending`.
inline std::string CraftEntry(uint32_t shared, absl::string_view ending,
                              absl::string_view value) {
  std::string entry;
  AppendVarint(shared, &entry);
  AppendVarint(ending.size(), &entry);
  AppendVarint(value.size(), &entry);
  entry.append(ending.data(), ending.size());
  entry.append(value.data(), value.size());
  return entry;
}

inline std::string CraftBlock(const std::vector<std::string>& entries,
                              const std::vector<uint32_t>& restarts) {
  std::string block;
  for (const std::string& entry : entries) block += entry;
  for (const uint32_t restart : restarts) AppendFixed32(restart, &block);
  AppendFixed32(static_cast<uint32_t>(restarts.size()), &block);
  return block;
}

inline void AppendBlock(absl::string_view block, char type, std::string* file) {
  std::string checked(block);
  checked.push_back(type);
  *file += checked;
  AppendFixed32(MaskCrc32c(Crc32c(checked)), file);
}

// Appends to `file` an index that declares one block, with keys up to "zz", and
// the footer. Returns the result.
inline std::string FinishTable(std::string file, uint64_t offset,
                               uint64_t size) {
  std::string handle;
  AppendVarint(offset, &handle);
  AppendVarint(size, &handle);
  const uint64_t index_offset = file.size();
  const std::string index = CraftBlock({CraftEntry(0, "zz", handle)}, {0});
  AppendBlock(index, 0, &file);
  std::string footer(2, '\0');  // the handle of the filters
  AppendVarint(index_offset, &footer);
  AppendVarint(index.size(), &footer);
  footer.resize(40, '\0');
  AppendFixed32(0x8b80fb57u, &footer);
  AppendFixed32(0xdb477524u, &footer);
  return file + footer;
}

// Returns a table with one block.
inline std::string CraftTable(absl::string_view block, char type = 0) {
  std::string file;
  AppendBlock(block, type, &file);
  return FinishTable(std::move(file), 0, block.size());
}

// Returns a table with one Snappy-compressed block.
inline std::string CraftSnappyTable(absl::string_view block) {
  std::string compressed;
  snappy::Compress(block.data(), block.size(), &compressed);
  return CraftTable(compressed, /*type=*/1);
}

inline std::string CraftTableWithHandle(uint64_t offset, uint64_t size) {
  std::string file;
  AppendBlock(CraftBlock({CraftEntry(0, "a", "")}, {0}), 0, &file);
  return FinishTable(std::move(file), offset, size);
}

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TESTING_CRAFTED_TABLE_H_
