// Table is an immutable sorted map from strings to strings in one file, in
// LevelDB's format. The index of a checkpoint is a Table.
//
// Format: LevelDB, doc/table_format.md, in TensorFlow's variant: blocks of 256
// KiB, no filters, keys in byte order. Blocks are written uncompressed;
// Snappy-compressed blocks, which many released models have, can be read.
// docs/design/checkpoint_format.md shows an example.
//
// LevelDB's code is used to write tables, but not to read them. Its reader
// trusts the lengths in a block with a valid checksum, so a crafted file would
// crash the process: a handle of 2^63 bytes makes it allocate that many, and
// lengths whose sum overflows 32 bits make it read past the block.
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

// The maximum size of a key in bytes. The format itself has no limit.
inline constexpr size_t kMaxKeySize = size_t{64} << 10;

// TableBuilder writes one table. Only one thread at a time may use it.
class TableBuilder {
 public:
  // The table is appended to `file`, which must outlive the builder.
  explicit TableBuilder(WritableFile& file);
  ~TableBuilder();

  // Adds an entry. INTERNAL unless `key` sorts after the previous keys, and
  // INVALID_ARGUMENT if `key` is longer than kMaxKeySize. Other errors are
  // those of the file.
  absl::Status Add(absl::string_view key, absl::string_view value);
  // Writes the remaining blocks and the footer of the table. The file is
  // neither synced nor closed. Afterwards nothing may be added.
  absl::Status Finish();

 private:
  class File;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Table reads one table. Only one thread at a time may use it. The file is
// untrusted: all its contents are checked before they are used. Errors:
//   DATA_LOSS      it is not a table, or truncated or damaged; the text names
//                  the byte and the file, with TensorFlow's words
//   UNIMPLEMENTED  a block is compressed by other means than Snappy
// Other errors are those of the file system.
class Table {
 public:
  // Opens a table by reading the index of its blocks. `path` is used in error
  // texts. `cancellation` may be null and must outlive the table. It ends the
  // reading of a large block with its cause.
  static absl::StatusOr<std::unique_ptr<Table>> Open(
      std::unique_ptr<RandomAccessFile> file, uint64_t size, std::string path,
      const Cancellation* cancellation = nullptr);
  ~Table();

  // Returns the value of `key`, or nothing if the table does not have the key.
  // Reads one block of the file, or no block if the last call used the same
  // one.
  absl::StatusOr<std::optional<std::string>> Find(absl::string_view key);
  // Does the same as Find without a copy. The result is valid until the next
  // call of Find or FindView.
  absl::StatusOr<std::optional<absl::string_view>> FindView(
      absl::string_view key);
  // Frees the cached block and invalidates views of it.
  void DropBlock();
  // Calls `visit` with all keys and values, in order, and stops at the first
  // error of `visit`. Checks the whole table. `visit` may use the table.
  absl::Status ForEach(absl::FunctionRef<absl::Status(absl::string_view key,
                                                      absl::string_view value)>
                           visit);

  const std::string& path() const { return path_; }

 private:
  // Handle is the location of a block, without its trailer.
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
  // Consumes a handle from the front of `bytes`. Returns an error unless its
  // block, with trailer, ends before `end`.
  absl::StatusOr<Handle> TakeHandle(absl::string_view* bytes,
                                    uint64_t end) const;
  absl::StatusOr<std::string> ReadBytes(uint64_t offset, uint64_t size) const;
  absl::StatusOr<std::unique_ptr<Block>> ReadBlock(const Handle& handle) const;
  // Uncompresses a Snappy block. Memory is reserved only if `compressed` is
  // long enough for the declared size.
  absl::StatusOr<std::string> Uncompress(absl::string_view compressed,
                                         uint64_t offset) const;
  // Returns the block of an index entry. The block is cached for the next call.
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
