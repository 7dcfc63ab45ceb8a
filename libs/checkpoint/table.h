// Table is an immutable sorted map from strings to strings in one file, in
// LevelDB's format. The index of a checkpoint is a Table.
//
// Format: LevelDB, doc/table_format.md, in TensorFlow's variant: blocks of 256
// KiB, no filters, keys in byte order. Blocks are written uncompressed;
// Snappy-compressed blocks, which many released models have, can be read.
// docs/design/checkpoint_format.md shows an example.
//
// LevelDB's own code writes tables, but does not read them here: it trusts the
// lengths in a block with a valid checksum, so that a crafted file crashes the
// process (a handle of 2^63 bytes allocates that many; lengths whose sum
// overflows 32 bits read past the block).
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
#include "libs/base/async/cancellation.h"
#include "libs/fs/file_system.h"

namespace weft::checkpoint {

// Maximum size of a key in bytes; the format has no limit.
inline constexpr size_t kMaxKeySize = size_t{64} << 10;

// TableBuilder writes one table. Threads: one at a time.
class TableBuilder {
 public:
  // Appends to `file`, which must outlive the builder.
  explicit TableBuilder(WritableFile& file);
  ~TableBuilder();

  // INTERNAL unless `key` sorts after the previous ones; INVALID_ARGUMENT if it
  // is longer than kMaxKeySize; otherwise errors of the file.
  absl::Status Add(absl::string_view key, absl::string_view value);
  // Writes the rest and the footer of the table. The file is neither synced nor
  // closed. Nothing may be added afterwards.
  absl::Status Finish();

 private:
  class File;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Table reads one table. Threads: one at a time. The file is untrusted: all its
// contents are checked before they are used. Errors:
//   DATA_LOSS      it is not a table, or truncated or damaged; the text names
//                  the byte and the file, with TensorFlow's words
//   UNIMPLEMENTED  a block is compressed by other means than Snappy
// or what the file system said.
class Table {
 public:
  // Reads the index of the table's blocks. `path` is used in error texts.
  // `cancellation`, which may be null, must outlive the table and ends reading
  // of a large block with its cause.
  static absl::StatusOr<std::unique_ptr<Table>> Open(
      std::unique_ptr<RandomAccessFile> file, uint64_t size, std::string path,
      const Cancellation* cancellation = nullptr);
  ~Table();

  // Returns the value of `key`, if any. Reads one block of the file, or none if
  // the last call used the same block.
  absl::StatusOr<std::optional<std::string>> Find(absl::string_view key);
  // As Find without a copy: valid until the next call of Find or FindView.
  absl::StatusOr<std::optional<absl::string_view>> FindView(
      absl::string_view key);
  // Frees the cached block; invalidates views.
  void DropBlock();
  // Calls `visit`, which may use the table, with all keys and values in order,
  // and stops at its first error. Checks the whole table.
  absl::Status ForEach(absl::FunctionRef<absl::Status(absl::string_view key,
                                                      absl::string_view value)>
                           visit);

  const std::string& path() const { return path_; }

 private:
  // Location of a block, without its trailer.
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
  // Consumes a handle from the front of `bytes`; an error unless its block,
  // with trailer, is before `end`.
  absl::StatusOr<Handle> TakeHandle(absl::string_view* bytes,
                                    uint64_t end) const;
  absl::StatusOr<std::string> ReadBytes(uint64_t offset, uint64_t size) const;
  absl::StatusOr<std::unique_ptr<Block>> ReadBlock(const Handle& handle) const;
  // Uncompresses a Snappy block; memory is reserved only if `compressed` is
  // long enough for the declared size.
  absl::StatusOr<std::string> Uncompress(absl::string_view compressed,
                                         uint64_t offset) const;
  // Returns the block that an index entry names; it is cached for the next
  // call.
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
