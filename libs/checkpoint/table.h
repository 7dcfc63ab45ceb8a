// Table: a sorted map from strings to strings in one file that never changes,
// in LevelDB's format: what the index of a checkpoint is.
//
// Format: LevelDB, doc/table_format.md; of it, as TensorFlow writes it: blocks
// of 256 KiB, no filters, keys in the order of their bytes. Blocks are written
// as they are, and read also where Snappy has compressed them, as many released
// models have them. docs/design/checkpoint_format.md shows one.
//
// LevelDB's own code writes tables. It does not read them here: it trusts the
// lengths in a block whose checksum is right, so that a file which somebody
// made up ends the process (a handle of 2^63 bytes allocates as many; lengths
// whose sum overflows 32 bits read past the block).
#ifndef WEFT_LIBS_CHECKPOINT_TABLE_H_
#define WEFT_LIBS_CHECKPOINT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/cancellation.h"
#include "libs/fs/file_system.h"

namespace weft::checkpoint {

// Bytes that a key may have, here; the format knows no bound.
inline constexpr size_t kMaxKeySize = size_t{64} << 10;

// Writes one table. Used by one thread at a time.
class TableBuilder {
 public:
  // Appends to `file`, which outlives the builder.
  explicit TableBuilder(WritableFile& file);
  ~TableBuilder();

  // INTERNAL unless `key` comes after those before; INVALID_ARGUMENT if it is
  // longer than kMaxKeySize; else what the file said.
  absl::Status Add(absl::string_view key, absl::string_view value);
  // Writes what is left and the end of the table. The file is neither synced
  // nor closed. Nothing may be added afterwards.
  absl::Status Finish();

 private:
  class File;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads one table. Used by one thread at a time. The file may be anybody's: all
// that it says is checked before it is used, and every error is one of
//   DATA_LOSS      it is no table, cut off or damaged; the text says at which
//                  byte of which file, with TensorFlow's words
//   UNIMPLEMENTED  a block is compressed by other means than Snappy
// or what the file system said.
class Table {
 public:
  // Reads where the table's blocks are. `path` is for texts. `cancellation`,
  // which may be null, outlives the table and ends the reading of a large block
  // with its cause.
  static absl::StatusOr<std::unique_ptr<Table>> Open(
      std::unique_ptr<RandomAccessFile> file, uint64_t size, std::string path,
      const Cancellation* cancellation = nullptr);
  ~Table();

  // The value under `key`, if there is one. Reads one block of the file, or
  // none if the last call was about the same.
  absl::StatusOr<std::optional<std::string>> Find(absl::string_view key);
  // The same without a copy: valid until the next call of Find or FindView.
  absl::StatusOr<std::optional<absl::string_view>> FindView(
      absl::string_view key);
  // Frees the block that is kept for the next call of Find; ends views.
  void DropBlock();
  // Calls `visit`, which may use the table, with all keys and values, in order,
  // and ends with its first error. Checks the whole table.
  absl::Status ForEach(absl::FunctionRef<absl::Status(absl::string_view key,
                                                      absl::string_view value)>
                           visit);

  const std::string& path() const { return path_; }

 private:
  // Where a block is, without its trailer.
  struct Handle {
    uint64_t offset = 0;
    uint64_t size = 0;
    friend bool operator==(const Handle&, const Handle&) = default;
  };
  class Block;
  class Cursor;

  Table(std::unique_ptr<RandomAccessFile> file, uint64_t size, std::string path,
        const Cancellation* cancellation);

  absl::Status ReadFooter();
  // Takes a handle off the front of `bytes`; an error unless its block, with
  // its trailer, lies before `end`.
  absl::StatusOr<Handle> TakeHandle(absl::string_view* bytes,
                                    uint64_t end) const;
  absl::StatusOr<std::string> ReadBytes(uint64_t offset, uint64_t size) const;
  absl::StatusOr<std::unique_ptr<Block>> ReadBlock(const Handle& handle) const;
  // The bytes of a block that Snappy has compressed; memory for them is
  // reserved only if `compressed` is long enough to hold them.
  absl::StatusOr<std::string> Uncompress(absl::string_view compressed,
                                         uint64_t offset) const;
  // The block that an entry of the index names; it is kept for the next call.
  absl::StatusOr<const Block*> DataBlock(absl::string_view handle);
  absl::Status Damaged(uint64_t offset, absl::string_view what) const;

  const std::unique_ptr<RandomAccessFile> file_;
  const uint64_t size_;
  const std::string path_;
  const Cancellation* const cancellation_;  // may be null
  std::unique_ptr<Block> index_;
  Handle data_handle_;
  std::unique_ptr<Block> data_;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TABLE_H_
